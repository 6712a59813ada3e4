//! Sends: each is one MPI message, except on the wire of segments.

use super::{
    Wire,
    address::Address,
    attach::{descriptions_on, is_companion},
    descriptions::announce,
    frame::checks,
    making::{Making, Transfer, is_typed},
    request::Outgoing,
    segments,
    sendable::{Typed, pack_with_room, sealed::Read},
};
use crate::{Error, mpi::Usable};

/// Sends a message.
#[inline]
pub(crate) fn send<M: Read + ?Sized>(
    mpi: &Usable,
    message: &M,
    wire: Wire,
    to: Address,
) -> Result<(), Error> {
    // This shorter way saves a short message some 30 ns.
    if wire == Wire::Auto
        && !checks()
        && let Some(span) = message.span()
    {
        // SAFETY: 1, since the message is borrowed until it has been sent.
        return unsafe { Outgoing::of_span(span) }?.send(mpi, to);
    }
    match wire.transfer() {
        Transfer::Segments => segments::send(mpi, message, to),
        Transfer::Whole(making) => outgoing(mpi, message, making, to)?.send(mpi, to),
    }
}

/// Returns the arguments of the MPI call for a message that is sent whole: its packed bytes, or a datatype
/// from which MPI makes the same bytes.
#[inline]
pub(crate) fn outgoing<M: Read + ?Sized>(
    mpi: &Usable,
    message: &M,
    making: Making,
    to: Address,
) -> Result<Outgoing, Error> {
    let (span, typed): (_, Option<Typed>) = match making {
        Making::Packed => (None, None),
        Making::InPlace => (Some(message.span().ok_or(NOT_AS_IT_LIES)?), None),
        Making::Typed => (None, Some(message.typed()?)),
        Making::Fastest => match message.span() {
            Some(span) => (Some(span), None),
            None if is_typed(mpi, message, to)? => (None, Some(message.typed()?)),
            None => (None, None),
        },
    };
    // The messages of a companion are not compared.
    if checks() && !is_companion(mpi, to.communicator)? {
        announce(mpi, descriptions_on(mpi, to.communicator)?.as_deref(), message, to)?;
    }
    match (span, typed) {
        // SAFETY: 1, since the message is borrowed until it has been sent.
        (Some(span), _) => unsafe { Outgoing::of_span(span) },
        // SAFETY: 1, since the datatype's memory is borrowed until the message has been sent.
        (_, Some(typed)) => Ok(unsafe { Outgoing::of_typed(typed) }),
        _ => {
            let size = message.packed_size();
            Outgoing::of_buffer(pack_with_room(message, size)?, size)
        }
    }
}

pub(crate) const NOT_AS_IT_LIES: Error = Error::Wire {
    wire: "bytes",
    reason: "its bytes in memory differ from its packed bytes, because it has padding, reordered fields or \
             several blocks, and the receiver cannot detect that; send it packed, or put `#[mpi(wire = \
             \"bytes\")]` on a `#[repr(C)]` struct, so that its padding is sent on every wire",
};
