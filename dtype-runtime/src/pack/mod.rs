//! Packing and unpacking in plain Rust, without MPI: from values to bytes in the order of their type map, and
//! back.
//!
//! If the compiler knows a layout, it generates straight-line code: [`pack`], [`pack_into`] and
//! [`unpack_into`] for values, and views of static layouts. A layout that is known only at run time is
//! compiled into a [`Plan`]: loops over contiguous blocks. [`Data`] and [`DataMut`] join a plan to memory,
//! and offer all other operations (the crate `dtype-engine`):
//!
//! - pack and unpack all packed bytes, or any range of them ([`Data::pack_range`],
//!   [`DataMut::unpack_range`]);
//! - pack part by part from any position ([`Packer`], a `Read` and `Seek`);
//! - unpack parts in any order, even if they are lost, arrive twice or end within a value ([`Unpacker`]);
//! - pack and unpack with a checksum (CRC-32C), and in the byte order of another machine or as MPI's
//!   `external32`;
//! - count the contiguous blocks, list them, pass them to vectored I/O, or visit them with the caller's code
//!   ([`LeafVisitor`]);
//! - copy directly from one layout into another with the same values ([`Transpack`]).
//!
//! ```rust
//! use dtype_runtime::{MpiDatatype, layout, pack, unpack_into};
//!
//! #[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
//! struct Reading { sensor: u16, value: f64, valid: bool }
//!
//! let readings = [Reading { sensor: 4, value: 0.25, valid: true }; 3];
//! let bytes = pack(&readings); // 11 bytes each, no padding
//! let mut copies = [Reading::default(); 3];
//! unpack_into(&bytes, &mut copies)?; // checks the length, and every `bool`
//! assert_eq!(copies, readings);
//!
//! let board = [[1u8, 2, 3], [4, 5, 6]];
//! assert_eq!(layout!(u8[2][3] => [.., 0..3;2]).of(&board).pack(), [1, 3, 4, 6]);
//! # Ok::<(), dtype_runtime::Error>(())
//! ```

pub(crate) mod message;
mod plan;
mod values;

pub use dtype_engine::{
    Block, Data, DataMut, Error, LeafVisitor, PackBuffer, Packer, Plan, Representation, Transpack, Unpacker,
};
pub use plan::{data_of, data_of_mut, plan_of};
pub(crate) use values::copy_known;
pub use values::{pack, pack_into, packed_size, unpack_into};
