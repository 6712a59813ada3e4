//! Messages without type parameters: what is sent, and how. The public traits of messages return them, so
//! each transfer is compiled once. Each is one MPI message, except on the wire of segments.

use std::{marker::PhantomData, ops::Range, sync::OnceLock};

use dtype_engine::{Plan, Spacing};

use super::{
    Wire,
    address::Address,
    attach::{descriptions_on, is_companion},
    descriptions::announce,
    frame::checks,
    making::{Making, Transfer, is_faster_typed, is_typed},
    request::{Outgoing, Request},
    segments,
    sendable::{
        Span, Typed, pack_with_room,
        sealed::{self, Read},
        the_same_as,
    },
    waiting::{is_nothing_awaited, meanwhile},
};
use crate::{
    Error, MpiMessage,
    message::{Encoded, Fingerprint, PlainValues, Writer, is_message, malformed},
    mpi::Usable,
};

/// The greatest number of blocks that MPI sends from where they are. More are copied first.
const MOST_BLOCKS: usize = 32;

/// A message that is sent.
pub enum Carried<'a> {
    /// Plain values.
    Values(PlainValues<'a>),
    /// A part of an array, or of other memory.
    Part(&'a (dyn Read + 'a)),
    /// A value in the format of messages.
    Owned(Encoded<'a>),
}

/// The message of a rank that has nothing to send in a collective call, because of an error. All ranks
/// complete the call, and those that receive the message get an error.
struct Failed;

impl MpiMessage for Failed {
    fn describe(of: &mut Fingerprint) {
        of.add("dtype: a rank has nothing to send");
    }

    fn write<'a>(&'a self, _: &mut Writer<'a>) -> Result<(), Error> {
        Ok(())
    }
}

/// Returns the error of a message that a rank has sent because it had nothing to send, if the bytes are such
/// a message.
pub(crate) fn failed(bytes: &[u8]) -> Option<Error> {
    static FAILED: OnceLock<Vec<u8>> = OnceLock::new();
    let failed =
        || FAILED.get_or_init(|| Encoded::of(&Failed, false).map_or(Vec::new(), Encoded::into_bytes));
    (is_message(bytes, bytes.len()) && bytes == failed())
        .then(|| malformed("that rank had no value to send, and got an error itself"))
}

impl Carried<'_> {
    /// Returns the message of a rank that has nothing to send.
    pub(crate) fn failed() -> Self {
        Self::Owned(Encoded::of(&Failed, false).unwrap_or_else(|_| Encoded::nothing()))
    }

    /// Returns the message for reading.
    pub(crate) fn read(&self) -> &dyn Read {
        match self {
            Self::Values(values) => values,
            Self::Part(part) => *part,
            Self::Owned(encoded) => encoded,
        }
    }

    /// Sends the message, and waits until it has been sent.
    pub(crate) fn send(self, mpi: &Usable, wire: Wire, to: Address) -> Result<(), Error> {
        if !is_nothing_awaited() && wire != Wire::Segments {
            // SAFETY: 1, since the message lives until the request has been dropped.
            let mut sending = unsafe { self.start_unborrowed(mpi, wire, to) }?;
            return meanwhile(mpi, || sending.is_sent(mpi, false));
        }
        match self {
            Self::Owned(encoded) => {
                let has_many = encoded.parts().0.len() > MOST_BLOCKS;
                let encoded = if has_many { encoded.copied() } else { encoded };
                // SAFETY: 1, since the value is borrowed, and the message lives until it has been sent.
                unsafe { outgoing_owned(&encoded) }?.send(mpi, to)?;
                encoded.keep();
                Ok(())
            }
            Self::Values(values) => send(mpi, &values, wire, to),
            Self::Part(part) => send(mpi, part, wire, to),
        }
    }

    /// Sends the message in synchronous mode, and waits until the receiver has begun to receive it.
    pub(crate) fn send_synchronous(&self, mpi: &Usable, wire: Wire, to: Address) -> Result<(), Error> {
        let Transfer::Whole(making) = wire.transfer() else {
            return Err(Error::Wire { wire: "segments", reason: "it has no synchronous mode" });
        };
        let outgoing = match self {
            // SAFETY: 1, since the message is borrowed until it has been sent.
            Self::Owned(encoded) => unsafe { outgoing_owned(encoded) }?,
            _ => outgoing(mpi, self.read(), making, to)?,
        };
        let mut sending = outgoing.start_synchronous(mpi, to)?;
        meanwhile(mpi, || sending.is_sent(mpi, false))
    }

    /// Starts to send the message in the fastest way. It is borrowed until the request is complete.
    pub(crate) fn start_borrowed<'m>(&'m self, mpi: &Usable, to: Address) -> Result<Borrowing<'m>, Error> {
        // SAFETY: 1, since the request is dropped before the borrow ends.
        unsafe { self.start_unborrowed(mpi, Wire::Auto, to) }.map(Borrowing::from)
    }

    /// Starts to send the message on a wire, from where it is.
    ///
    /// # Safety
    /// 1. The message stays as it is until the request has been dropped.
    pub(crate) unsafe fn start_unborrowed(
        &self,
        mpi: &Usable,
        wire: Wire,
        to: Address,
    ) -> Result<Request, Error> {
        let outgoing = match (self, wire.transfer()) {
            // SAFETY: 1.
            (Self::Owned(encoded), _) => unsafe { outgoing_owned(encoded) }?,
            (_, Transfer::Segments) => return Err(Error::Wire { wire: "segments", reason: NOT_STARTED }),
            (_, Transfer::Whole(making)) => {
                let is_typed = matches!(making, Making::Fastest) && is_faster_typed(self.read());
                outgoing(mpi, self.read(), if is_typed { Making::Typed } else { making }, to)?
            }
        };
        outgoing.start(mpi, to)
    }

    /// Packs the message, and starts to send it. Nothing is borrowed afterwards.
    ///
    /// # Errors
    /// `Unsupported` on wires whose messages are not packed bytes.
    pub(crate) fn start(
        &self,
        mpi: &Usable,
        wire: Wire,
        is_synchronous: bool,
        to: Address,
    ) -> Result<Request, Error> {
        match (wire, self) {
            (Wire::Typed, Self::Values(_) | Self::Part(_)) => {
                let reason = "a message that is started is packed, so that it is free at once: use a scope";
                return Err(Error::Wire { wire: "typed", reason });
            }
            (Wire::Segments, _) => return Err(Error::Wire { wire: "segments", reason: NOT_STARTED }),
            (Wire::Bytes, Self::Values(_) | Self::Part(_)) if self.read().span().is_none() => {
                return Err(NOT_AS_IT_LIES);
            }
            (Wire::Typed | Wire::Bytes | Wire::Packed | Wire::Auto, _) => {}
        }
        let outgoing = outgoing(mpi, self.read(), Making::Packed, to)?;
        if is_synchronous { outgoing.start_synchronous(mpi, to) } else { outgoing.start(mpi, to) }
    }
}

/// Sends a message that is not owned.
#[inline]
fn send<M: Read + ?Sized>(mpi: &Usable, message: &M, wire: Wire, to: Address) -> Result<(), Error> {
    // This shorter way saves a short message some 20 ns.
    if wire == Wire::Auto && !checks() {
        return match message.span() {
            // SAFETY: 1, since the message is borrowed until it has been sent.
            Some(span) => unsafe { Outgoing::of_span(span) }?.send(mpi, to),
            // SAFETY: 1, as above.
            None => unsafe { scattered(message) }?.send(mpi, to),
        };
    }
    match wire.transfer() {
        Transfer::Segments => segments::send(mpi, message, to),
        Transfer::Whole(making) => outgoing(mpi, message, making, to)?.send(mpi, to),
    }
}

/// Returns the arguments of the MPI call for a message that is sent whole: its packed bytes, or a datatype
/// from which MPI makes the same bytes. In the checked mode, sends its description.
#[inline]
pub(crate) fn outgoing<M: Read + ?Sized>(
    mpi: &Usable,
    message: &M,
    making: Making,
    to: Address,
) -> Result<Outgoing, Error> {
    let span = matches!(making, Making::InPlace | Making::Fastest).then(|| message.span()).flatten();
    // SAFETY: 1 of all, since the message is borrowed until it has been sent.
    let outgoing = unsafe {
        match (making, span) {
            (Making::Packed, _) => packed(message),
            (Making::Typed, _) => typed(message),
            (Making::InPlace, None) => Err(NOT_AS_IT_LIES),
            (Making::Fastest, None) => scattered(message),
            (Making::InPlace | Making::Fastest, Some(span)) => Outgoing::of_span(span),
        }
    }?;
    // The messages of a companion are not compared.
    if checks() && !is_companion(mpi, to.communicator)? {
        announce(mpi, descriptions_on(mpi, to.communicator)?.as_deref(), message, to)?;
    }
    Ok(outgoing)
}

/// Returns a message that is not contiguous in the faster way: by its datatype, or packed.
///
/// # Safety
/// 1. The message stays as it is until it has been sent.
#[inline]
unsafe fn scattered<M: Read + ?Sized>(message: &M) -> Result<Outgoing, Error> {
    // SAFETY: 1.
    if is_typed(message) { unsafe { typed(message) } } else { packed(message) }
}

/// Returns a message by its datatype.
///
/// # Safety
/// 1. The message stays as it is until it has been sent.
#[inline]
unsafe fn typed<M: Read + ?Sized>(message: &M) -> Result<Outgoing, Error> {
    // SAFETY: 1, since the datatype names memory of the message.
    message.typed().map(|typed| unsafe { Outgoing::of_typed(typed) })
}

/// Returns the packed bytes of a message.
#[inline]
fn packed<M: Read + ?Sized>(message: &M) -> Result<Outgoing, Error> {
    let size = message.packed_size();
    Outgoing::of_buffer(pack_with_room(message, size)?, size)
}

const NOT_AS_IT_LIES: Error = Error::Wire {
    wire: "bytes",
    reason: "its bytes in memory differ from its packed bytes, because it has padding, reordered fields or \
             several blocks, and the receiver cannot detect that; send it packed, or put `#[mpi(wire = \
             \"bytes\")]` on a `#[repr(C)]` struct, so that its padding is sent on every wire",
};

/// Returns an owned message as arguments of an MPI call.
///
/// # Safety
/// 1. The message and its value stay as they are until the message has been sent.
unsafe fn outgoing_owned(encoded: &Encoded<'_>) -> Result<Outgoing, Error> {
    let (blocks, rest) = encoded.parts();
    if blocks.is_empty() {
        let span = Span { place: rest.as_ptr().cast_mut(), size: rest.len() };
        // SAFETY: 1, by the caller's condition.
        return unsafe { Outgoing::of_span(span) };
    }
    let parts: Vec<_> = blocks.iter().copied().chain([rest]).collect();
    // SAFETY: 1, by the caller's condition.
    unsafe { Outgoing::of_parts(&parts) }
}

pub(crate) const NOT_STARTED: &str =
    "further segments are transferred only while the call waits: do not start it";

/// A message that is being sent, and is borrowed.
pub(crate) struct Borrowing<'m> {
    request: Request,
    message: PhantomData<&'m ()>,
}

impl From<Request> for Borrowing<'_> {
    fn from(request: Request) -> Self {
        Self { request, message: PhantomData }
    }
}

impl Borrowing<'_> {
    /// See [`Request::is_sent`].
    pub(crate) fn is_sent(&mut self, mpi: &Usable, wait: bool) -> Result<bool, Error> {
        self.request.is_sent(mpi, wait)
    }
}

the_same_as!(read [] Carried<'_>, |message| message.read());

/// A range of the packed bytes of a message.
pub(crate) struct RangeOf<'a> {
    pub whole: &'a dyn Read,
    /// The range, which begins and ends between values.
    pub bytes: Range<usize>,
}

// SAFETY: 1, since the range does not change; 2, since no memory is named.
unsafe impl Read for RangeOf<'_> {
    fn packed_size(&self) -> usize {
        self.bytes.len()
    }
    fn pack_range(&self, bytes: Range<usize>, packed: &mut [u8]) -> Result<(), Error> {
        let start = self.bytes.start;
        self.whole.pack_range(start + bytes.start..start + bytes.end, packed)
    }
    fn step(&self) -> usize {
        self.whole.step()
    }
    fn span(&self) -> Option<Span> {
        None
    }
    fn typed(&self) -> Result<Typed, Error> {
        Err(Error::Wire { wire: "typed", reason: "a part of a message is packed" })
    }
    fn plan(&self) -> Plan {
        self.whole.plan()
    }
}

/// Returns a value as a message. `spare` says that it is sent at once: its memory may be that of an earlier
/// message.
#[inline]
pub(crate) fn carried<M: MpiMessage + ?Sized>(message: &M, spare: bool) -> Result<Carried<'_>, Error> {
    match message.plain() {
        Some(values) => Ok(Carried::Values(values)),
        None => Encoded::of(message, spare).map(Carried::Owned),
    }
}
