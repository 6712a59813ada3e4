//! Wires: the ways in which values travel from rank to rank, with the same calls.
//!
//! - [`Wire::Typed`]: the least-cost MPI datatype, as one MPI message. Every call here receives it, and every
//!   plain MPI call with a datatype of the same values, on every machine.
//! - [`Wire::Packed`]: the values one after the other, packed by generated code, as one MPI message of
//!   `MPI_PACKED`. The same calls receive it, between processes of one kind of machine.
//! - [`Wire::Bytes`]: the memory itself, where it is the packed bytes in their order, as one MPI message. The
//!   same calls receive it.
//! - [`Wire::Segments`]: packed bytes in pieces, so that packing, transfer and unpacking of long messages
//!   overlap. [`receive_over`](ReceiveOver::receive_over) with the same wire receives it, between ranks of
//!   a communicator to which it was [attached](attach()).
//!
//! [`Wire::Auto`] is the fastest of the first three, as far as that was measured: here, if the program calls
//! [`calibrate()`], or where this was built. All three are the same bytes in the same order, so
//! [`receive_values_into`](ReceiveOver::receive_values_into) need not know which was used, and never guesses:
//! a message is as many packed bytes as what it is received into has, or there is an
//! [`Error::Fit`](crate::Error::Fit), and the destination is as it was. `bool`s, `char`s and enums are looked
//! at as well. Padding travels only if the type says so on both sides, with `#[mpi(wire = "bytes")]`.
//!
//! MPI's rules of order and matching hold as for plain calls (MPI 4.1 section 3.5), also between both. (MPICH
//! 4 and 5 report an error where a plain receive meets `MPI_PACKED` of 8 KiB and more with the datatype of a
//! struct: send typed to those.) Neither messages nor collective calls are limited by MPI's counts: more than
//! 2,147,483,647 values or bytes are counted in larger units, except in collective calls on
//! intercommunicators.
//!
//! # Checked mode
//!
//! That `{f64, u32}` is received as `{u32, f64}` nobody sees: the sizes are equal. With `DTYPE_CHECK=1` in
//! the environment of all ranks each message of the calls here, also in collective ones, is described: which
//! base types it holds, and how many. Others than are received into are an
//! [`Error::Mismatch`](crate::Error::Mismatch) that prints both. Between two ranks that is so on
//! [attached](attach()) communicators, where descriptions travel by themselves: messages are as ever, also
//! to `probe` and to plain MPI calls on either side. (If a plain call receives a message, its description is
//! left over. A later message of a plain call is taken for that one only if it has the same bytes, from the
//! same rank with the same tag.)
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
//!     world.process_at_rank(1).send_over(Wire::Auto, &values)?;
//! } else {
//!     world.process_at_rank(0).receive_values_into(&mut values)?;
//!     world.process_at_rank(0).receive_values_into(&mut values)?;
//! }
//! # Ok::<(), dtype_runtime::Error>(())
//! ```

mod attach;
mod auto;
mod blocks;
mod broadcast;
mod calibrate;
mod collective;
mod descriptions;
mod frame;
mod immediate;
mod members;
mod message;
mod parts;
mod point_to_point;
mod receive;
mod request;
mod segments;
mod send;
mod table;

pub use attach::attach;
pub use calibrate::{Calibration, calibrate, calibrate_with};
pub use collective::{PackedCollectives, PackedRoot};
pub use immediate::{PendingReceive, PendingSend};
pub use message::{Receivable, Sendable};
pub use point_to_point::{
    ReceiveOver, SendOver, send_receive_over, send_receive_over_with_tags, send_receive_packed,
};
pub use table::{table_followed, table_library, table_line, table_row};

/// How a message travels: see the [module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wire {
    /// As its least-cost MPI datatype.
    Typed,
    /// As it lies in memory, which must be its packed bytes in their order.
    Bytes,
    /// Packed by generated code.
    #[default]
    Packed,
    /// In the way of these three that was measured to be the fastest for such messages: as it lies, if its
    /// memory is its packed bytes. Structs with padding are packed; parts of arrays go typed or packed, by
    /// the size, by how their blocks lie and how long they are, and by the MPI library.
    ///
    /// On a communicator on which [`calibrate()`] was called, by what was measured there. Elsewhere by a
    /// table that is built in; or by the file that the environment variable `DTYPE_WIRES` names when the
    /// first message is sent, which is the text of a [`Calibration`], or what `cargo xtask bench pingpong
    /// --wires FILE` writes. Another file is an [`Error::Table`](crate::Error::Table). Sender and receiver
    /// need not have the same table.
    Auto,
    /// Packed, in pieces that overlap: both sides name it, on a communicator to which it was
    /// [attached](attach()).
    Segments,
}
