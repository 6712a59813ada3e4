//! The transfers behind all calls: how the bytes of a message are made, sent, received and taken apart,
//! between two ranks, in collective calls, and in exchanges that are made again and again.
//!
//! A message comes here without its type ([`carried`]): values of a value type, a part of memory, or an
//! encoded value. The room knows nothing of [`comm`](crate::comm), whose calls use it.
//!
//! - Messages: `carried` and `incoming` (what is sent, and the places), `sendable` (what can be read and
//!   written), `values` and `blocks` (their bytes).
//! - Between two ranks: `address`, `bytes` and `request` (the calls of MPI), `receive`, `waiting`
//!   (receives whose size is not known), `segments` and `pieces`, `persistent`.
//! - All ranks: `collective`, `broadcast`, `reduce`, `parts` (the division of a buffer), `frame` (seals),
//!   `agreement`, `members`, `topology`.
//! - Several ranks at a time: `exchange`, `places`.
//! - The choice of a wire: `making`.
//! - What is kept on a communicator: `attach`, `descriptions`.
//! - Panics: `unwinding`.

pub(crate) mod address;
pub(crate) mod agreement;
pub(crate) mod attach;
pub(crate) mod blocks;
pub(crate) mod broadcast;
pub(crate) mod bytes;
pub(crate) mod carried;
pub(crate) mod collective;
pub(crate) mod descriptions;
pub(crate) mod exchange;
pub(crate) mod frame;
pub(crate) mod incoming;
pub(crate) mod making;
pub(crate) mod members;
pub(crate) mod parts;
pub(crate) mod patience;
pub(crate) mod persistent;
mod pieces;
pub(crate) mod places;
pub(crate) mod receive;
pub(crate) mod reduce;
pub(crate) mod request;
pub(crate) mod segments;
pub(crate) mod sendable;
pub(crate) mod topology;
pub(crate) mod unwinding;
mod values;
pub(crate) mod waiting;

/// The way that a plain message is transferred: an option of a [`Peer`](crate::Peer). Without it, messages
/// travel on [`Wire::Auto`].
///
/// All wires but [`Segments`](Self::Segments) transfer the same bytes in the same order, so every call
/// receives them, and never guesses. If a message does not have as many bytes as its place, the error is
/// `Size`. Padding is transferred only if the type says so on both sides, with `#[mpi(wire = "bytes")]`.
/// MPI's rules of order and matching hold as for plain calls (MPI 4.1 section 3.5), and also between plain
/// calls and calls of this crate. (MPICH 4 and 5 report an error if a plain receive with the datatype of a
/// struct meets packed bytes of 8 KiB or more: send such messages on [`Typed`](Self::Typed).) MPI's counts
/// limit neither messages nor collective calls.
///
/// ```no_run
/// use dtype_runtime::{Result, Wire, run};
///
/// fn main() {
///     run(|world| -> Result {
///         if world.rank() == 0 {
///             world.peer(1).wire(Wire::Typed).send(&vec![(0u8, 0.5f64); 1000])?;
///         } else if world.rank() == 1 {
///             println!("{}", world.peer(0).receive::<Vec<(u8, f64)>>()?.len());
///         }
///         Ok(())
///     });
/// }
/// ```
///
/// # Checked mode
///
/// MPI does not notice if `{f64, u32}` is received as `{u32, f64}`, because the sizes are equal. With
/// `DTYPE_CHECK=1` in the environment of all ranks, each message has a description: its base types and their
/// numbers. If a message holds other base types than its place, the error is `Type`, which prints both.
/// Between two ranks, this works on [attached](crate::Comm::attach) communicators, where descriptions are
/// separate messages. The messages themselves do not change, neither for a probe nor for plain MPI calls on
/// either side. (If a plain call receives a message, the description is left over. It is taken for that of a
/// later plain message only if both messages have the same bytes, rank and tag.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wire {
    /// The least-cost MPI datatype of the message.
    Typed,
    /// The memory itself, which must consist of the packed bytes in their order.
    Bytes,
    /// The packed bytes, packed by generated code.
    Packed,
    /// The fastest of these three for such messages, by recorded prices. If the receiver is plain
    /// MPI code, name [`Typed`](Self::Typed) instead: MPICH does not receive packed bytes as structs.
    ///
    /// If the memory of a message consists of its packed bytes, the memory is sent directly. Structs with
    /// padding and parts of arrays are sent typed or packed, depending on their size, their blocks, and the
    /// recorded prices of the MPI library.
    #[default]
    Auto,
    /// Packed bytes in pieces that overlap. Both sides must name this wire, on an
    /// [attached](crate::Comm::attach) communicator.
    Segments,
}
