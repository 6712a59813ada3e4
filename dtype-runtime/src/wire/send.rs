//! Sends: each is one MPI message, except on the wire of segments.

use super::{
    Wire,
    attach::descriptions_on,
    auto::is_typed,
    descriptions::announce,
    frame::checks,
    request::{Address, Outgoing, Request},
    segments,
    sendable::{Typed, pack_with_room, sealed::Read},
    transfer::{Making, Transfer},
};
use crate::{Error, mpi::Usable};

/// Sends a message.
#[inline]
pub(super) fn send<M: Read + ?Sized>(
    mpi: &Usable,
    message: &M,
    wire: Wire,
    to: Address,
) -> Result<(), Error> {
    match wire.transfer() {
        Transfer::Segments => {
            segments::SendingPieces::new(mpi, message, to, false)?.advance(mpi, true).map(|_| ())
        }
        Transfer::Whole(making) => outgoing(mpi, message, making, to)?.send(mpi, to),
    }
}

/// Packs a message and starts to send it.
pub(super) fn start_packed<M: Read + ?Sized>(
    mpi: &Usable,
    message: &M,
    to: Address,
) -> Result<Request, Error> {
    outgoing(mpi, message, Making::Packed, to)?.start(mpi, to)
}

/// A message that is being sent. It is borrowed until it has been sent.
pub(super) enum Sending<'a, M: ?Sized> {
    Whole(Request),
    Segments(segments::SendingPieces<'a, M>),
}

impl<'a, M: Read + ?Sized> Sending<'a, M> {
    /// Starts to send a message. If `all` is set, the whole message has been passed to MPI when the call
    /// returns.
    pub fn new(mpi: &Usable, message: &'a M, wire: Wire, to: Address, all: bool) -> Result<Self, Error> {
        Ok(match wire.transfer() {
            Transfer::Segments => Self::Segments(segments::SendingPieces::new(mpi, message, to, all)?),
            Transfer::Whole(making) => Self::whole(mpi, message, making, to)?,
        })
    }

    /// Starts to send a message whole.
    pub fn whole(mpi: &Usable, message: &'a M, making: Making, to: Address) -> Result<Self, Error> {
        Ok(Self::Whole(outgoing(mpi, message, making, to)?.start(mpi, to)?))
    }

    /// Makes progress; if `wait` is set, waits until the message has been sent. Returns `true` if it has been
    /// sent.
    pub fn advance(&mut self, mpi: &Usable, wait: bool) -> Result<bool, Error> {
        match self {
            Self::Whole(request) => request.is_sent(mpi, wait),
            Self::Segments(segments) => segments.advance(mpi, wait),
        }
    }
}

/// Returns the arguments of the MPI call for a message that is sent whole: its packed bytes, or a datatype
/// from which MPI makes the same bytes.
#[inline]
pub(super) fn outgoing<M: Read + ?Sized>(
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
    if checks() {
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

const NOT_AS_IT_LIES: Error = Error::Wire {
    wire: "bytes",
    reason: "its bytes in memory differ from its packed bytes, because it has padding, reordered fields or \
             several blocks, and the receiver cannot detect that; send it packed, or put `#[mpi(wire = \
             \"bytes\")]` on a `#[repr(C)]` struct, so that its padding is sent on every wire",
};
