//! Messages without type parameters: what is sent, and what is received into. The public traits of messages
//! return them, so each transfer is compiled once.

use std::{marker::PhantomData, ops::Range, sync::OnceLock};

use ::mpi::ffi::MPI_Status;

use super::{
    Wire,
    attach::descriptions_on,
    blocks::MemoryBlocks,
    frame::{checks, fits},
    owned::{self, LONG},
    receive::{Posted, is_of, receive},
    request::{Address, Matched, Request},
    send,
    sendable::{
        Span, Typed,
        sealed::{self, Read, Write},
        the_same_as,
    },
    transfer::{Making, Transfer, is_faster_typed},
    waiting::{Found, Waiting, is_awaited, is_nothing_awaited, meanwhile},
};
use crate::{
    Error, FromMessage, MpiMessage,
    engine::{Plan, Spacing},
    message::{
        Encoded, Fingerprint, Message, OwnedMemory, PlainValues, PlainValuesMut, Writer, is_message,
        malformed,
    },
    mpi::Usable,
    types::ValueType,
};

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
pub(super) fn failed(bytes: &[u8]) -> Option<Error> {
    static FAILED: OnceLock<Vec<u8>> = OnceLock::new();
    let failed =
        || FAILED.get_or_init(|| Encoded::of(&Failed, false).map_or(Vec::new(), Encoded::into_bytes));
    (is_message(bytes) && bytes == failed())
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
                let encoded = owned::whole(encoded);
                // SAFETY: 1, since the value is borrowed, and the message lives until it has been sent.
                unsafe { owned::outgoing(&encoded) }?.send(mpi, to)?;
                encoded.keep();
                Ok(())
            }
            Self::Values(values) => send::send(mpi, &values, wire, to),
            Self::Part(part) => send::send(mpi, part, wire, to),
        }
    }

    /// Sends the message in synchronous mode, and waits until the receiver has begun to receive it.
    pub(crate) fn send_synchronous(&self, mpi: &Usable, wire: Wire, to: Address) -> Result<(), Error> {
        let Transfer::Whole(making) = wire.transfer() else {
            return Err(Error::Wire { wire: "segments", reason: "it has no synchronous mode" });
        };
        let outgoing = match self {
            // SAFETY: 1, since the message is borrowed until it has been sent.
            Self::Owned(encoded) => unsafe { owned::outgoing(encoded) }?,
            _ => send::outgoing(mpi, self.read(), making, to)?,
        };
        let mut sending = outgoing.start_synchronous(mpi, to)?;
        meanwhile(mpi, || sending.is_sent(mpi, false))
    }

    /// Starts to send the message in the fastest way. It is borrowed until the request is complete.
    pub(crate) fn start_borrowed<'m>(&'m self, mpi: &Usable, to: Address) -> Result<Borrowing<'m>, Error> {
        // SAFETY: 1, since the request is dropped before the borrow ends.
        let request = unsafe { self.start_unborrowed(mpi, Wire::Auto, to) }?;
        Ok(Borrowing { request, message: PhantomData })
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
        let making = |message: &dyn Read| match wire.transfer() {
            Transfer::Whole(Making::Fastest) if is_faster_typed(message) => Ok(Making::Typed),
            Transfer::Whole(making) => Ok(making),
            Transfer::Segments => Err(Error::Wire { wire: "segments", reason: NOT_STARTED }),
        };
        let outgoing = match self {
            // SAFETY: 1.
            Self::Owned(encoded) => unsafe { owned::outgoing(encoded) }?,
            Self::Values(values) => send::outgoing(mpi, values, making(values)?, to)?,
            Self::Part(part) => send::outgoing(mpi, *part, making(*part)?, to)?,
        };
        outgoing.start(mpi, to)
    }

    /// Packs the message, and starts to send it. Nothing is borrowed afterwards.
    ///
    /// # Errors
    /// [`Error::Wire`] on wires whose messages are not packed bytes.
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
            (Wire::Typed | Wire::Bytes | Wire::Packed | Wire::Auto, _) => {}
        }
        let outgoing = send::outgoing(mpi, self.read(), Making::Packed, to)?;
        if is_synchronous { outgoing.start_synchronous(mpi, to) } else { outgoing.start(mpi, to) }
    }
}

const NOT_STARTED: &str = "further segments are sent only while the call waits: use `send`";

/// A message that is being sent, and is borrowed.
pub(crate) struct Borrowing<'m> {
    request: Request,
    message: PhantomData<&'m ()>,
}

impl Borrowing<'_> {
    /// See [`Request::is_sent`].
    pub(crate) fn is_sent(&mut self, mpi: &Usable, wait: bool) -> Result<bool, Error> {
        self.request.is_sent(mpi, wait)
    }
}

the_same_as!(read [] Carried<'_>, |message| message.read());
the_same_as!(write [] Exact<'_>, |place| place.read(), place.write(), {
    match place {
        Self::Values(values) => values.any_pattern(),
        Self::Part(part) => part.any_pattern(),
    }
});

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
    unsafe fn pack(&self, packed: *mut u8) -> Result<(), Error> {
        // SAFETY: the caller has room for `packed_size` bytes, which are only written.
        let packed = unsafe { std::slice::from_raw_parts_mut(packed, self.bytes.len()) };
        self.whole.pack_range(self.bytes.clone(), packed)
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

/// A place that a message is received into.
pub enum Incoming<'a> {
    /// A place for a message of exactly its size.
    Exact(Exact<'a>),
    /// A value that takes what arrives.
    Any(&'a mut (dyn Arrives + 'a)),
    /// A slice of owned values.
    Each(Box<dyn Arrives + 'a>),
}

/// A place for a message of exactly its size.
pub enum Exact<'a> {
    /// Plain values.
    Values(PlainValuesMut<'a>),
    /// A part of an array, or of other memory.
    Part(&'a mut (dyn Write + 'a)),
}

impl Exact<'_> {
    fn read(&self) -> &dyn Read {
        match self {
            Self::Values(values) => values,
            Self::Part(part) => &**part,
        }
    }

    /// Returns the place for writing.
    pub(crate) fn write(&mut self) -> &mut dyn Write {
        match self {
            Self::Values(values) => values,
            Self::Part(part) => &mut **part,
        }
    }
}

/// A value that takes messages of any length.
pub trait Arrives {
    /// See [`MpiMessage::VALUES`](crate::MpiMessage).
    fn values(&self) -> Option<&'static ValueType>;

    /// See [`MpiMessage::KEPT`](crate::MpiMessage).
    fn kept(&self) -> usize;

    /// See [`FromMessage::lend`].
    fn lend(&mut self, size: usize) -> Option<OwnedMemory>;

    /// See [`FromMessage::arrived_into`].
    fn arrived_into(&mut self, message: Message<'_>) -> Result<(), Error>;

    /// Returns the value as a message.
    fn carried(&self) -> Result<Carried<'_>, Error>;
}

impl<T: FromMessage> Arrives for T {
    fn values(&self) -> Option<&'static ValueType> {
        T::VALUES
    }
    fn kept(&self) -> usize {
        T::KEPT
    }
    fn lend(&mut self, size: usize) -> Option<OwnedMemory> {
        T::lend(self, size)
    }
    fn arrived_into(&mut self, message: Message<'_>) -> Result<(), Error> {
        T::arrived_into(self, message)
    }
    fn carried(&self) -> Result<Carried<'_>, Error> {
        carried(self, false)
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

/// A slice of owned values, which takes a sequence of as many.
pub(crate) struct OwnedSlice<'a, T>(pub &'a mut [T]);

impl<T: FromMessage> Arrives for OwnedSlice<'_, T> {
    fn values(&self) -> Option<&'static ValueType> {
        None
    }
    fn kept(&self) -> usize {
        0
    }
    fn lend(&mut self, _: usize) -> Option<OwnedMemory> {
        None
    }
    fn arrived_into(&mut self, message: Message<'_>) -> Result<(), Error> {
        let values = Vec::<T>::arrived(message)?;
        if values.len() != self.0.len() {
            let (found, expected) = (values.len(), self.0.len());
            return Err(malformed(format!("it has {found} values, but its destination has {expected}")));
        }
        self.0.iter_mut().zip(values).for_each(|(place, value)| *place = value);
        Ok(())
    }
    fn carried(&self) -> Result<Carried<'_>, Error> {
        carried(&*self.0, false)
    }
}

impl<'a> Incoming<'a> {
    /// Returns the place if it takes a message of exactly its size, and otherwise the value that takes what
    /// arrives.
    pub(crate) fn split(&mut self) -> Result<&mut Exact<'a>, &mut (dyn Arrives + 'a)> {
        match self {
            Self::Exact(exact) => Ok(exact),
            Self::Any(value) => Err(&mut **value),
            Self::Each(slice) => Err(&mut **slice),
        }
    }

    /// Receives a message, and returns the address of the sender. Nothing is written if the source is
    /// `MPI_PROC_NULL`.
    pub(crate) fn receive(&mut self, mpi: &Usable, wire: Wire, from: Address) -> Result<Address, Error> {
        if from.is_nobody() {
            return Ok(from);
        }
        if !is_nothing_awaited() && wire != Wire::Segments {
            let found = Waiting::new(from, self.kept()).wait(mpi)?;
            return self.take(mpi, found);
        }
        match self.split() {
            Ok(exact) => {
                let status = match wire.transfer() {
                    Transfer::Segments => super::segments::receive(mpi, exact.write(), from)?,
                    Transfer::Whole(making) => match exact {
                        Exact::Values(values) => receive(mpi, values, making, from)?,
                        Exact::Part(part) => receive(mpi, &mut **part, making, from)?,
                    },
                };
                Ok(Address { rank: status.source_rank(), tag: status.tag(), ..from })
            }
            Err(value) => {
                let matched = Matched::wait_for(mpi, from)?;
                let sender = matched.sender();
                arrive_into(mpi, matched, value)?;
                Ok(sender)
            }
        }
    }

    /// Returns the alignment of received memory that the value can keep, or 0.
    pub(crate) fn kept(&mut self) -> usize {
        if checks() { 0 } else { self.split().map_or_else(|value| value.kept(), |_| 0) }
    }

    /// Writes a message that has arrived, and returns the address of the sender.
    pub(crate) fn take(&mut self, mpi: &Usable, found: Found) -> Result<Address, Error> {
        let (sender, status) = (found.sender, found.status);
        let taken = match self.split() {
            Ok(exact) => found.read(|message| {
                let bytes = message.bytes();
                if checks()
                    && let Some(descriptions) = descriptions_on(mpi, sender.communicator)?
                {
                    descriptions.compare(mpi, exact, bytes, &status)?;
                }
                fits(exact, bytes.len(), Some((sender.rank, sender.tag)))?;
                exact.unpack(bytes)
            }),
            Err(value) => {
                let values = value.values();
                found.read(|message| {
                    made_of(mpi, values, (sender, &status), message, |message| value.arrived_into(message))
                })
            }
        };
        taken.map_err(|error| is_of(error, sender))?;
        Ok(sender)
    }
}

/// A receive that has been started, into a place.
pub(crate) struct Receiving<'a> {
    place: Incoming<'a>,
    how: How,
    outcome: Option<Result<(), Error>>,
}

/// The way in which a message is received into a place.
enum How {
    /// MPI receives it: the place takes a message of its size.
    Posted(Posted),
    /// It is looked for: the place takes what comes, or an earlier receive could take the message.
    Awaited(Waiting),
}

impl<'a> Receiving<'a> {
    /// Starts to receive a message.
    pub(crate) fn start(mpi: &Usable, mut place: Incoming<'a>, from: Address) -> Result<Self, Error> {
        let kept = place.kept();
        let how = match place.split() {
            Ok(exact) if from.is_nobody() || !is_awaited(from) => How::Posted(Posted::new(mpi, exact, from)?),
            _ => How::Awaited(Waiting::new(from, kept)),
        };
        let is_nothing = from.is_nobody() && matches!(how, How::Awaited(_));
        Ok(Self { place, how, outcome: is_nothing.then_some(Ok(())) })
    }

    /// Makes progress without waiting. Returns `true` if the message has been received.
    pub(crate) fn advance(&mut self, mpi: &Usable) -> bool {
        let Self { place, how, outcome } = self;
        if outcome.is_none() {
            *outcome = match how {
                How::Posted(posted) => match place.split() {
                    Ok(exact) => posted.advance(mpi, exact, false).map(|done| done.map(|_| ())).transpose(),
                    Err(_) => Some(Ok(())),
                },
                How::Awaited(waiting) if waiting.is_done(mpi) => {
                    Some(waiting.wait(mpi).and_then(|found| place.take(mpi, found)).map(|_| ()))
                }
                How::Awaited(_) => None,
            };
        }
        outcome.is_some()
    }

    /// Returns the outcome of a receive that is complete.
    pub(crate) fn outcome(self) -> Result<(), Error> {
        self.outcome.unwrap_or(Err(Error::NotStarted { what: "the receive" }))
    }
}

/// Makes a value of a message that has arrived.
pub(crate) fn value_of<T: FromMessage>(mpi: &Usable, found: Found) -> Result<(T, Address), Error> {
    let (sender, status) = (found.sender, found.status);
    let made = found
        .read(|message| made_of(mpi, T::VALUES, (sender, &status), message, |message| T::arrived(message)));
    Ok((made.map_err(|error| is_of(error, sender))?, sender))
}

/// Receives a message that has been matched, and makes its value.
pub(crate) fn arrive<T: FromMessage>(mpi: &Usable, matched: Matched) -> Result<T, Error> {
    arrive_with(mpi, matched, T::VALUES, T::KEPT, |message| T::arrived(message))
}

/// Receives a message that has been matched into a value.
pub(crate) fn arrive_into(mpi: &Usable, matched: Matched, value: &mut dyn Arrives) -> Result<(), Error> {
    let (size, sender) = (matched.size, matched.sender());
    let is_kept = value.kept().is_power_of_two() && size >= LONG && !checks();
    let memory = if is_kept { value.lend(size) } else { None };
    if let Some(memory) = memory.filter(|memory| memory.room() >= size) {
        let arrived = owned::take(mpi, matched, memory);
        return arrived.and_then(|message| value.arrived_into(message)).map_err(|error| is_of(error, sender));
    }
    let (values, kept) = (value.values(), value.kept());
    arrive_with(mpi, matched, values, kept, |message| value.arrived_into(message))
}

/// Receives a message that has been matched. `values` is the type of its plain values, if it has any, and
/// `kept` the alignment of memory that can be kept. `make` gets packed bytes, or a message in the format of
/// messages.
fn arrive_with<R>(
    mpi: &Usable,
    matched: Matched,
    values: Option<&'static ValueType>,
    kept: usize,
    make: impl FnOnce(Message<'_>) -> Result<R, Error>,
) -> Result<R, Error> {
    let (sender, status) = (matched.sender(), matched.status);
    let kept = if checks() && values.is_some() { 0 } else { kept };
    let made =
        owned::receive(mpi, matched, kept, |message| made_of(mpi, values, (sender, &status), message, make));
    made.map_err(|error| is_of(error, sender))
}

/// Makes something of a message: see [`arrive_with`]. In the checked mode, its description is compared.
fn made_of<R>(
    mpi: &Usable,
    values: Option<&'static ValueType>,
    (sender, status): (Address, &MPI_Status),
    message: Message<'_>,
    make: impl FnOnce(Message<'_>) -> Result<R, Error>,
) -> Result<R, Error> {
    if checks()
        && let Some(of) = values
        && let Some(descriptions) = descriptions_on(mpi, sender.communicator)?
    {
        let described = PlainValues::described(of, message.bytes().len());
        descriptions.compare(mpi, &described, message.bytes(), status)?;
    }
    packed(values, message, make)
}

/// Passes a message to `make`: see [`arrive_with`]. The transferred bytes of plain values are converted to
/// packed bytes, if they differ.
fn packed<R>(
    values: Option<&ValueType>,
    message: Message<'_>,
    make: impl FnOnce(Message<'_>) -> Result<R, Error>,
) -> Result<R, Error> {
    let Some(of) = values else { return make(message) };
    let (size, found) = (of.facts.wire_size, message.bytes().len());
    let is_whole = if size == 0 { found == 0 } else { found % size == 0 };
    if !is_whole {
        return Err(if is_message(message.bytes()) {
            malformed("it holds an owned value, such as a `String` or an `Option`: receive that type")
        } else {
            Error::Length { what: (of.name)(), expected: size, found }
        });
    }
    if of.facts.has_blocks() {
        let packed = MemoryBlocks::of_values(of)?.to_packed(message.bytes())?;
        return make(Message::Borrowed(&packed));
    }
    make(message)
}

/// Makes a value of the bytes of a message, which a collective call has brought.
pub(crate) fn made<T: FromMessage>(bytes: &[u8]) -> Result<T, Error> {
    failed(bytes).map_or(Ok(()), Err)?;
    packed(T::VALUES, Message::Borrowed(bytes), |message| T::arrived(message))
}

/// Makes a value of the bytes of a message, which a collective call has brought, in place of another one.
pub(crate) fn made_into(bytes: &[u8], value: &mut dyn Arrives) -> Result<(), Error> {
    failed(bytes).map_or(Ok(()), Err)?;
    packed(value.values(), Message::Borrowed(bytes), |message| value.arrived_into(message))
}
