//! Wires: the ways to transfer values from rank to rank, with the same calls.
//!
//! - [`Wire::Typed`]: the least-cost MPI datatype, as one MPI message. Every call of this module receives the
//!   message. So does every plain MPI call with a datatype of the same values, on every machine.
//! - [`Wire::Packed`]: the values one after another, packed by generated code, as one MPI message of
//!   `MPI_PACKED`. The same calls receive the message, between processes on machines of one kind.
//! - [`Wire::Bytes`]: the memory itself, if it consists of the packed bytes in their order, as one MPI
//!   message. The same calls receive the message.
//! - [`Wire::Segments`]: packed bytes in pieces, so that packing, transfer and unpacking of long messages
//!   overlap. [`receive_over`](ReceiveOver::receive_over) with the same wire receives the message, between
//!   ranks of an [attached](attach()) communicator.
//!
//! [`Wire::Auto`] is the fastest of the first three, according to measurements. If the program calls
//! [`calibrate()`], its own ranks are measured. Otherwise built-in measurements decide. All three transfer
//! the same bytes in the same order. Therefore [`receive_values_into`](ReceiveOver::receive_values_into) need
//! not know which wire was used, and never guesses. If a message does not have as many packed bytes as its
//! destination, the call returns [`Error::Fit`](crate::Error::Fit) and leaves the destination unchanged.
//! `bool`s, `char`s and enums are checked as well. Padding is transferred only if the type says so on both
//! sides, with `#[mpi(wire = "bytes")]`.
//!
//! MPI's rules of order and matching hold as for plain calls (MPI 4.1 section 3.5), and also between plain
//! calls and calls of this module. (MPICH 4 and 5 report an error if a plain receive with the datatype of a
//! struct meets `MPI_PACKED` of 8 KiB or more. Messages to such receives must be sent typed.) MPI's counts
//! limit neither messages nor collective calls: more than 2,147,483,647 values or bytes are counted in larger
//! units. Collective calls on intercommunicators are an exception.
//!
//! # Unknown lengths and owned data
//!
//! [`receive_values`](ReceiveMessage::receive_values) receives values of any number, from any of the first
//! three wires and from plain MPI calls. [`StatusCount::count_of`] counts the values of a message.
//! [`send_message`](SendMessage::send_message) and
//! [`receive_message`](ReceiveMessage::receive_message) carry one value of any shape, such as a struct with a
//! `String` and a `Vec`: see [`message`](crate::message). [`MessageCollectives`] and [`MessageRoot`] have the
//! collective calls for such values.
//!
//! # Errors
//!
//! Errors of MPI are returned as values, and the program's error handlers stay as they are. The error
//! [`Error::Fit`](crate::Error::Fit) has the sizes of the message and of its destination, as far as MPI
//! reports them.
//!
//! If a rank leaves `main` with an error, it waits in `MPI_Finalize` for the other ranks before the error is
//! printed. So a program of several ranks should print the error itself and call `world.abort(1)`, as
//! [`Error`](crate::Error) shows.
//!
//! # Checked mode
//!
//! MPI does not notice if `{f64, u32}` is received as `{u32, f64}`, because the sizes are equal. With
//! `DTYPE_CHECK=1` in the environment of all ranks, each message of this module's calls, including collective
//! calls, has a description: its base types and their numbers. If a message holds other base types than its
//! destination, the error is [`Error::Mismatch`](crate::Error::Mismatch), which prints both. Between two
//! ranks, this works on [attached](attach()) communicators, where descriptions are separate messages. The
//! messages themselves do not change, neither for `probe` nor for plain MPI calls on either side. (If a plain
//! call receives a message, the description is left over. It is taken for that of a later plain message only
//! if both messages have the same bytes, rank and tag.)
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

pub(crate) mod agreement;
pub(crate) mod attach;
mod auto;
mod blocks;
pub(crate) mod broadcast;
mod calibrate;
pub(crate) mod carried;
pub(crate) mod collective;
mod descriptions;
pub(crate) mod exchange;
mod file;
pub(crate) mod frame;
mod halo;
mod immediate;
pub(crate) mod members;
pub(crate) mod neighbours;
pub(crate) mod owned;
mod owned_collective;
pub(crate) mod parts;
mod persistent;
mod places;
mod point_to_point;
mod prepared;
pub(crate) mod receive;
mod redistribution;
pub(crate) mod reduce;
pub(crate) mod request;
mod segments;
mod send;
pub(crate) mod sendable;
mod table;
pub(crate) mod transfer;
pub(crate) mod waiting;
mod window;

pub use attach::attach;
pub use calibrate::{Calibration, calibrate, calibrate_with};
pub use collective::{PackedCollectives, PackedRoot};
pub use exchange::{PendingExchange, PreparedExchange};
pub use file::{File, FileOptions, FileView, PendingRead, PendingWrite};
pub use halo::{HaloExchange, PendingHalo};
pub use immediate::{PendingReceive, PendingSend};
pub use neighbours::{NeighbourCollectives, distributed_graph};
pub use owned::{MatchedMessage, PendingMessage, ReceiveMessage, SendMessage, StatusCount};
pub use owned_collective::{MessageCollectives, MessageRoot};
pub use point_to_point::{
    ReceiveOver, SendOver, send_receive_over, send_receive_over_with_tags, send_receive_packed,
    send_receive_replace_packed,
};
pub use prepared::{PartitionedReceive, PartitionedSend, PreparedReceive, PreparedSend};
pub use redistribution::{PendingRedistribution, Redistribution};
pub use reduce::{Reductions, RootReductions};
pub use sendable::{Receivable, Sendable};
pub use table::{table_followed, table_library, table_line, table_row};
pub use window::{Epoch, Lock, PassiveWindow, Window, passive_window, window};

/// The way that a message is transferred: see the [module](self).
///
/// ```no_run
/// use dtype_runtime::{Wire, traits::*};
/// use mpi::traits::*;
///
/// let universe = mpi::initialize().unwrap();
/// let world = universe.world();
/// world.process_at_rank(1).send_over(Wire::Auto, &vec![(0u8, 0.5f64); 1000])?;
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wire {
    /// The least-cost MPI datatype of the message.
    Typed,
    /// The memory itself, which must consist of the packed bytes in their order.
    Bytes,
    /// The packed bytes, packed by generated code.
    #[default]
    Packed,
    /// The one of these three that was measured to be the fastest for such messages. If the receiver is plain
    /// MPI code, name [`Typed`](Self::Typed) instead: MPICH does not receive packed bytes as structs.
    ///
    /// If the memory of a message consists of its packed bytes, the memory is sent directly. Structs with
    /// padding are packed. Parts of arrays are sent typed or packed, depending on their size, the arrangement
    /// and length of their blocks, and the MPI library.
    ///
    /// On a communicator on which [`calibrate()`] was called, its measurements decide. On other communicators
    /// a built-in table decides, or the file that the environment variable `DTYPE_WIRES` names when the first
    /// message is sent. The file contains the text of a [`Calibration`], or the output of
    /// `cargo xtask bench pingpong --wires FILE`. Any other file is an [`Error::Table`](crate::Error::Table).
    /// Sender and receiver need not have the same table.
    Auto,
    /// Packed bytes in pieces that overlap. Both sides must name this wire, on an [attached](attach())
    /// communicator.
    Segments,
}
