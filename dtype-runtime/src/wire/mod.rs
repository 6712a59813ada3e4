//! Wires: the ways in which values travel from rank to rank, with the same calls.
//!
//! | wire | what travels | where it may be used |
//! |---|---|---|
//! | [`Wire::Typed`] | the least-cost MPI datatype | everywhere; the only one that every other MPI call and every machine understands |
//! | [`Wire::Bytes`] | one contiguous block, padding included | between processes of one kind of machine; where a message lies in memory without gaps, or with less padding than data |
//! | [`Wire::Packed`] | the values one after the other, packed by generated code | between processes of one kind of machine |
//!
//! [`Wire::auto`] picks one for each message. Whatever was chosen, [`receive_packed_into`](ReceivePacked::receive_packed_into) receives it, and
//! finds out before it writes anything whether the message is one of as many bytes as its layout has: otherwise there is an
//! [`Error::Fit`](crate::Error::Fit), and the destination is as it was. `bool`s, `char`s and enums are looked at as well.
//!
//! A packed message of up to 512 KiB is one MPI message of `MPI_PACKED`, which a receiver may as well receive with a datatype of its
//! own (250 KB of structs not on MPICH 4.0.2, which says that they are truncated). Longer ones travel in segments, so that packing,
//! transfer and unpacking overlap; both sides must then use the calls here. As all messages of one sender with one tag they arrive in
//! order, unless two threads send with one tag to one rank at the same time, which
//! [`Error::Interleaved`](crate::Error::Interleaved) tells of. Neither messages nor collective calls are limited by MPI's
//! counts: more than 2,147,483,647 values or bytes are counted in larger units.
//!
//! ```no_run
//! use dtype_runtime::{MpiDatatype, Wire, layout, traits::*};
//! use mpi::traits::*;
//!
//! #[derive(MpiDatatype, Clone, Copy, Default)]
//! #[repr(C)]
//! struct Mixed { flag: u8, value: f64, level: i16, weight: f32 }
//!
//! let universe = mpi::initialize().unwrap();
//! let world = universe.world();
//! let mut values = vec![Mixed::default(); 10_000];
//! if world.rank() == 0 {
//!     world.process_at_rank(1).send_packed(&values)?;
//!     world.process_at_rank(1).send_over(Wire::auto(), &values)?;
//! } else {
//!     world.process_at_rank(0).receive_packed_into(&mut values)?;
//!     world.process_at_rank(0).receive_packed_into(&mut values)?;
//! }
//! # Ok::<(), dtype_runtime::Error>(())
//! ```

mod auto;
mod collective;
mod immediate;
mod message;
mod parts;
mod point_to_point;
mod pool;
mod transfer;

pub use auto::{table_library, table_row};
pub use collective::{PackedCollectives, PackedRoot};
pub use immediate::{PackedReceive, PackedSend};
pub use message::{Message, MessageMut};
pub use point_to_point::{
    ReceivePacked, SendPacked, send_receive_over, send_receive_over_with_tags, send_receive_packed,
};

/// How a message travels: see the [module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wire {
    /// As its least-cost MPI datatype.
    Typed,
    /// As it lies in memory, with its padding.
    Bytes,
    /// Packed by generated code, in segments if it is long.
    #[default]
    Packed,
    /// In the way that was measured to be the fastest for such messages.
    Auto,
}

impl Wire {
    /// The way that was measured to be the fastest for a message: by its size; by whether it is contiguous, how much padding there is, or
    /// how its blocks lie and how long they are; and by the MPI library.
    ///
    /// What was measured is built in. If the environment variable `DTYPE_WIRES` names a file when the first message is sent, that is read
    /// instead: `cargo xtask bench pingpong --wires FILE` writes one for the machine it runs on. It has the form of
    /// `dtype-runtime/src/wire/wires.txt`. Sender and receiver need not have the same table.
    pub const fn auto() -> Self {
        Self::Auto
    }
}
