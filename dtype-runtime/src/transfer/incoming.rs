//! Places without type parameters, which messages are received into, and what is made of messages.

use std::ops::Range;

use dtype_engine::{Error as PackError, Plan, Spacing};

use super::{
    Wire,
    address::Address,
    attach::descriptions_on,
    blocks::MemoryBlocks,
    carried::{Carried, NOT_STARTED, carried, failed},
    frame::are_plain,
    making::Transfer,
    receive::{Found, Posted, is_of, receive, unpack},
    sendable::{
        Span, Typed,
        sealed::{self, Read, Write},
        the_same_as,
    },
    waiting::{Waiting, is_awaited, is_nothing_awaited},
};
use crate::{
    Error, FromMessage,
    message::{Message, OwnedMemory, PlainValues, PlainValuesMut, malformed},
    mpi::Usable,
    types::ValueType,
};

/// The error for a receive of unknown size on the wire of segments.
pub(crate) const OF_ANY_SIZE: Error = Error::Wire {
    wire: "segments",
    reason: "its receiver must know the size: use `receive_into` with a slice, an array or a view",
};

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
    fn values(&self) -> Option<&'static ValueType> {
        None
    }

    /// See [`MpiMessage::KEPT`](crate::MpiMessage).
    fn kept(&self) -> usize {
        0
    }

    /// See [`FromMessage::lend`].
    fn lend(&mut self, _size: usize) -> Option<OwnedMemory> {
        None
    }

    /// See [`FromMessage::arrived_into`].
    fn arrived_into(&mut self, message: Message<'_>) -> Result<(), Error>;

    /// Returns the value as a message.
    fn carried(&self) -> Result<Carried<'_>, Error>;

    /// See [`FromMessage::elements`].
    fn elements(&mut self) -> Option<PlainValuesMut<'_>> {
        None
    }
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
    fn elements(&mut self) -> Option<PlainValuesMut<'_>> {
        T::elements(self)
    }
}

/// A slice of owned values, which takes a sequence of as many.
pub(crate) struct OwnedSlice<'a, T>(pub &'a mut [T]);

impl<T: FromMessage> Arrives for OwnedSlice<'_, T> {
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

    /// Returns the place as one of exact size: a `Vec` takes as many plain values as it has.
    ///
    /// # Errors
    /// `Unsupported` for a value of another type that takes what comes.
    pub(crate) fn sized(self) -> Result<Exact<'a>, Error> {
        let values = match self {
            Self::Exact(exact) => return Ok(exact),
            Self::Any(value) => value.elements(),
            Self::Each(_) => None,
        };
        let reason = "memory holds no owned values, such as a `String`: read plain values or bytes";
        values.map(Exact::Values).ok_or(Error::Wire { wire: "packed", reason })
    }

    /// Writes a message that a prepared call has brought.
    pub(crate) fn unpack(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match self.split() {
            Ok(exact) => {
                are_plain(exact, bytes, bytes.len())?;
                exact.unpack(bytes)
            }
            Err(value) => made_into(bytes, value),
        }
    }

    /// Receives a message, and returns the address of the sender.
    pub(crate) fn receive(&mut self, mpi: &Usable, wire: Wire, from: Address) -> Result<Address, Error> {
        if !is_nothing_awaited() && wire != Wire::Segments {
            let found = Waiting::new(mpi, from, self.kept())?.wait(mpi)?;
            return self.take(mpi, found);
        }
        match self.split() {
            Ok(exact) => match wire.transfer() {
                Transfer::Segments => super::segments::receive(mpi, exact.write(), from),
                Transfer::Whole(making) => match exact {
                    Exact::Values(values) => receive(mpi, values, making, from),
                    Exact::Part(part) => receive(mpi, &mut **part, making, from),
                },
            },
            Err(_) if wire == Wire::Segments => Err(OF_ANY_SIZE),
            Err(value) => {
                let found = Found::wait_for(mpi, from, value.kept(), |size| value.lend(size))?;
                self.take(mpi, found)
            }
        }
    }

    /// Returns the alignment of received memory that the value can keep, or 0.
    pub(crate) fn kept(&mut self) -> usize {
        self.split().map_or_else(|value| value.kept(), |_| 0)
    }

    /// Writes a message that has arrived, and returns the address of the sender.
    pub(crate) fn take(&mut self, mpi: &Usable, found: Found) -> Result<Address, Error> {
        let sender = found.sender;
        let taken = match self.split() {
            Ok(exact) => found.read(|message| {
                let descriptions = descriptions_on(mpi, sender.communicator)?;
                unpack(mpi, exact, message.bytes(), sender, descriptions.as_deref())
            }),
            Err(value) => {
                let values = value.values();
                found.read(|message| {
                    made_of(mpi, values, sender, message, |message| value.arrived_into(message))
                })
            }
        };
        taken.map_err(|error| is_of(error, sender))?;
        Ok(sender)
    }
}

const NOT_RECEIVED: Error = Error::NotStarted { what: "the receive" };

/// A receive that has been started, into a place.
pub(crate) struct Receiving<'a> {
    place: Incoming<'a>,
    how: How,
    outcome: Option<Result<Address, Error>>,
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
    ///
    /// # Errors
    /// `Unsupported` on the wire of segments.
    pub(crate) fn start(
        mpi: &Usable,
        mut place: Incoming<'a>,
        wire: Wire,
        from: Address,
    ) -> Result<Self, Error> {
        if wire == Wire::Segments {
            return Err(Error::Wire { wire: "segments", reason: NOT_STARTED });
        }
        let kept = place.kept();
        let how = match place.split() {
            Ok(exact) if !is_awaited(from) => How::Posted(Posted::new(mpi, exact, from)?),
            _ => How::Awaited(Waiting::new(mpi, from, kept)?),
        };
        Ok(Self { place, how, outcome: None })
    }

    /// Makes progress without waiting. Returns `true` if the message has been received.
    pub(crate) fn advance(&mut self, mpi: &Usable) -> bool {
        let Self { place, how, outcome } = self;
        if outcome.is_none() {
            *outcome = match how {
                How::Posted(posted) => match place.split() {
                    Ok(exact) => posted.advance(mpi, exact).transpose(),
                    Err(_) => Some(Err(NOT_RECEIVED)),
                },
                How::Awaited(waiting) if waiting.is_done(mpi) => {
                    Some(waiting.wait(mpi).and_then(|found| place.take(mpi, found)))
                }
                How::Awaited(_) => None,
            };
        }
        outcome.is_some()
    }

    /// Returns the outcome of a receive that is complete: the address of the sender.
    pub(crate) fn outcome(self) -> Result<Address, Error> {
        self.outcome.unwrap_or(Err(NOT_RECEIVED))
    }
}

/// Makes a value of a message that has arrived.
pub(crate) fn value_of<T: FromMessage>(mpi: &Usable, found: Found) -> Result<(T, Address), Error> {
    let sender = found.sender;
    let made = found.read(|message| made_of(mpi, T::VALUES, sender, message, |message| T::arrived(message)));
    Ok((made.map_err(|error| is_of(error, sender))?, sender))
}

/// Makes something of a message: see [`packed`]. In the checked mode, its description is compared.
fn made_of<R>(
    mpi: &Usable,
    values: Option<&'static ValueType>,
    sender: Address,
    message: Message<'_>,
    make: impl FnOnce(Message<'_>) -> Result<R, Error>,
) -> Result<R, Error> {
    if let Some(of) = values
        && is_whole(of, message.bytes().len())
        && let Some(descriptions) = descriptions_on(mpi, sender.communicator)?
    {
        let described = PlainValues::described(of, message.bytes().len());
        descriptions.compare(mpi, &described, message.bytes(), sender)?;
    }
    packed(values, message, make)
}

/// Returns `true` if a message of this size consists of whole values.
fn is_whole(of: &ValueType, size: usize) -> bool {
    size.checked_rem(of.facts.wire_size).unwrap_or(size) == 0
}

/// Passes a message to `make`. `values` is the type of its plain values, if it has any: then `make` gets
/// their packed bytes, to which the transferred bytes are converted if they differ. Otherwise it gets a
/// message in the format of messages.
fn packed<R>(
    values: Option<&'static ValueType>,
    message: Message<'_>,
    make: impl FnOnce(Message<'_>) -> Result<R, Error>,
) -> Result<R, Error> {
    failed(message.bytes()).map_or(Ok(()), Err)?;
    let Some(of) = values else { return make(message) };
    let (size, found) = (of.facts.wire_size, message.bytes().len());
    are_plain(&PlainValues::described(of, found), message.bytes(), found)?;
    if !is_whole(of, found) {
        return Err(PackError::Length { what: (of.name)(), expected: size, found }.into());
    }
    match MemoryBlocks::of_values(of)? {
        Some(blocks) => make(Message::Borrowed(&blocks.to_packed(message.bytes())?)),
        None => make(message),
    }
}

/// Makes a value of the bytes of a message, which a collective call has brought.
pub(crate) fn made<T: FromMessage>(bytes: &[u8]) -> Result<T, Error> {
    packed(T::VALUES, Message::Borrowed(bytes), |message| T::arrived(message))
}

/// Makes a value of the bytes of a message, which a collective call has brought, in place of another one.
pub(crate) fn made_into(bytes: &[u8], value: &mut dyn Arrives) -> Result<(), Error> {
    packed(value.values(), Message::Borrowed(bytes), |message| value.arrived_into(message))
}

the_same_as!(write [] Exact<'_>, |place| place.read(), place.write(), {
    match place {
        Self::Values(values) => values.any_pattern(),
        Self::Part(part) => part.any_pattern(),
    }
});
