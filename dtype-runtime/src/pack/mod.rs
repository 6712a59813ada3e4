//! Packing and unpacking in plain Rust, without MPI: values to bytes in the order of their type map, and
//! back.
//!
//! Where the compiler knows a layout, it is compiled into straight-line code: [`pack`], [`pack_into`] and
//! [`unpack_into`] for values, and views of static layouts. What is known only while the program runs is
//! compiled into a [`Plan`]: loops over contiguous blocks. [`Data`] and [`DataMut`] join a plan to memory,
//! and are what everything else is done with:
//!
//! - pack and unpack all of it or any range of its packed bytes ([`Data::pack_range`],
//!   [`DataMut::unpack_range`]);
//! - one part after the other, from any position on ([`Packer`], a `Read` and `Seek`), and in any order, with
//!   parts that are lost, come twice or end within a value ([`Unpacker`]), both with a checksum (CRC-32C) and
//!   in the byte order of another machine, also as MPI's `external32`;
//! - look at the contiguous blocks: count them, list them, hand them to vectored I/O, or visit them with code
//!   of one's own ([`LeafVisitor`]);
//! - copy straight from one layout into another with the same values ([`Transpack`]).

mod buffer;
mod data;
mod encoding;
mod plan;
mod stream;
mod values;

pub use buffer::PackBuffer;
pub use data::{Data, DataMut};
pub use encoding::Representation;
pub use stream::{Packer, Unpacker};
#[cfg(feature = "mpi")]
pub(crate) use values::pack_raw;
pub(crate) use values::{Copying, copy_known, written};
pub use values::{pack, pack_into, packed_size, unpack_into};

pub use crate::engine::{
    Plan,
    blocks::{Block, LeafVisitor},
    transpack::Transpack,
};
