//! Messages of any length between two ranks: owned values, and vectors of values whose number the receiver
//! does not know (MPI 4.1 sections 3.7 and 3.8).

use std::{any::type_name, fmt, mem};

use ::mpi::{
    Tag,
    point_to_point::{Destination, Message as Probed, Source, Status},
    request::Scope,
};

use super::{
    attach::descriptions_on,
    blocks::MemoryBlocks,
    frame::checks,
    immediate::Registered,
    receive::status_of_nobody,
    request::{Address, Bytes, Matched, Outgoing, Request, any_tag, bytes_of},
    sendable::Span,
};
use crate::{
    Error, FromMessage, MpiDatatype, MpiMessage,
    message::{Encoded, Message, OwnedMemory, Reader, is_message, keep, malformed, read_values, spare},
    mpi::{Usable, ready},
    types::ValueType,
};

/// The least size of a message in bytes that is received into memory of its own, which may become a `Vec`.
pub(super) const LONG: usize = 64 << 10;

/// The greatest number of blocks that MPI sends from where they are. More are copied first.
const MOST_BLOCKS: usize = 32;

/// Calls that send a value of any shape as one message: see [`message`](crate::message).
pub trait SendMessage: Destination {
    /// Sends a value. [`receive_message`](ReceiveMessage::receive_message) receives it.
    ///
    /// ```no_run
    /// use dtype_runtime::{MpiMessage, traits::*};
    /// use mpi::traits::*;
    ///
    /// #[derive(MpiMessage)]
    /// struct Task { name: String, input: Vec<f64> }
    ///
    /// let universe = mpi::initialize().unwrap();
    /// let world = universe.world();
    /// if world.rank() == 0 {
    ///     let task = Task { name: "first".to_owned(), input: vec![0.5; 1000] };
    ///     world.process_at_rank(1).send_message(&task)?;
    /// } else if world.rank() == 1 {
    ///     let (task, status) = world.any_process().receive_message::<Task>()?;
    ///     println!("{} from rank {}", task.name, status.source_rank());
    /// }
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsendable`] if values are nested too deeply. [`Error::Tag`] and [`Error::Rank`] if these are
    /// out of range. An error before `MPI_Init`, after `MPI_Finalize`, on a thread that may not call MPI, and
    /// if an MPI call fails.
    fn send_message<M: MpiMessage + ?Sized>(&self, message: &M) -> Result<(), Error> {
        self.send_message_with_tag(message, Tag::default())
    }

    /// Sends a value with a tag.
    ///
    /// # Errors
    /// The errors of [`send_message`](Self::send_message).
    fn send_message_with_tag<M: MpiMessage + ?Sized>(&self, message: &M, tag: Tag) -> Result<(), Error> {
        let mpi = &ready()?;
        let to = Address::destination(mpi, self, tag)?;
        let encoded = whole(Encoded::of(message, true)?);
        // SAFETY: the message is borrowed, and `encoded` lives until it has been sent.
        unsafe { outgoing(&encoded) }?.send(mpi, to)?;
        encoded.keep();
        Ok(())
    }

    /// Starts to send a value, which is borrowed until it has been sent.
    ///
    /// # Errors
    /// The errors of [`send_message`](Self::send_message).
    fn immediate_send_message<'a, Sc: Scope<'a>, M: MpiMessage + ?Sized>(
        &self,
        scope: Sc,
        message: &'a M,
    ) -> Result<PendingMessage<'a, Sc>, Error> {
        self.immediate_send_message_with_tag(scope, message, Tag::default())
    }

    /// Starts to send a value with a tag.
    ///
    /// # Errors
    /// The errors of [`send_message`](Self::send_message).
    fn immediate_send_message_with_tag<'a, Sc: Scope<'a>, M: MpiMessage + ?Sized>(
        &self,
        scope: Sc,
        message: &'a M,
        tag: Tag,
    ) -> Result<PendingMessage<'a, Sc>, Error> {
        let mpi = &ready()?;
        let registered = Registered::with(scope);
        let to = Address::destination(mpi, self, tag)?;
        let encoded = whole(Encoded::of(message, false)?);
        // SAFETY: the message is borrowed until the request is dropped, and `encoded` is kept as long.
        let request = unsafe { outgoing(&encoded) }?.start(mpi, to)?;
        Ok(PendingMessage { request, encoded: Some(encoded), _registered: registered })
    }
}

impl<D: Destination + ?Sized> SendMessage for D {}

/// Returns the message with at most [`MOST_BLOCKS`] blocks.
pub(super) fn whole(encoded: Encoded<'_>) -> Encoded<'_> {
    if encoded.parts().0.len() <= MOST_BLOCKS { encoded } else { encoded.copied() }
}

/// Returns a message as arguments of an MPI call.
///
/// # Safety
/// 1. The message and its value stay as they are until the message has been sent.
pub(super) unsafe fn outgoing(encoded: &Encoded<'_>) -> Result<Outgoing, Error> {
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

/// A message that is being sent. Dropping it waits until the message has been sent.
#[must_use = "dropping it waits for the message to be sent"]
pub struct PendingMessage<'a, Sc: Scope<'a>> {
    request: Request,
    // Both are dropped after the request, which reads the message.
    encoded: Option<Encoded<'a>>,
    _registered: Registered<'a, Sc>,
}

impl<'a, Sc: Scope<'a>> PendingMessage<'a, Sc> {
    /// Returns `true` if the message has been sent (MPI 4.1 section 3.7.3, `MPI_Test`).
    ///
    /// # Errors
    /// If MPI reports an error, and after `MPI_Finalize`.
    pub fn is_done(&mut self) -> Result<bool, Error> {
        let mpi = &ready()?;
        self.request.is_sent(mpi, false)
    }

    /// Waits until the message has been sent.
    ///
    /// # Errors
    /// If MPI reports an error, and after `MPI_Finalize`.
    pub fn wait(mut self) -> Result<(), Error> {
        let mpi = &ready()?;
        self.request.is_sent(mpi, true).map(|_| ())
    }
}

impl<'a, Sc: Scope<'a>> Drop for PendingMessage<'a, Sc> {
    fn drop(&mut self) {
        if !self.request.end() {
            mem::forget(self.encoded.take());
        }
    }
}

impl<'a, Sc: Scope<'a>> fmt::Debug for PendingMessage<'a, Sc> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingMessage").finish_non_exhaustive()
    }
}

/// Calls that receive messages of unknown length.
pub trait ReceiveMessage: Source {
    /// Receives a value that [`send_message`](SendMessage::send_message) sent, with any tag.
    ///
    /// # Errors
    /// [`Error::Message`] if the message is not a value of this type; [`Error::InvalidValue`] if a `bool`,
    /// `char`, `NonZero` or enum has no such value. The message has then been received, and there is no
    /// value. An error for a receive from `MPI_PROC_NULL`, from which there is no value. An error before
    /// `MPI_Init`, after `MPI_Finalize`, on a thread that may not call MPI, if an MPI call fails, and if
    /// there is no memory for the message.
    fn receive_message<M: FromMessage>(&self) -> Result<(M, Status), Error> {
        self.receive_message_with_tag(any_tag())
    }

    /// Receives a value with a tag.
    ///
    /// # Errors
    /// The errors of [`receive_message`](Self::receive_message).
    fn receive_message_with_tag<M: FromMessage>(&self, tag: Tag) -> Result<(M, Status), Error> {
        let mpi = &ready()?;
        let from = someone(Address::source(mpi, self, tag)?)?;
        make(mpi, Matched::wait_for(mpi, from)?)
    }

    /// Receives a value with any tag, if one has arrived (`MPI_Improbe`). Otherwise returns `None` at once.
    ///
    /// # Errors
    /// The errors of [`receive_message`](Self::receive_message).
    fn immediate_receive_message<M: FromMessage>(&self) -> Result<Option<(M, Status)>, Error> {
        self.immediate_receive_message_with_tag(any_tag())
    }

    /// Receives a value with a tag, if one has arrived.
    ///
    /// # Errors
    /// The errors of [`receive_message`](Self::receive_message).
    fn immediate_receive_message_with_tag<M: FromMessage>(
        &self,
        tag: Tag,
    ) -> Result<Option<(M, Status)>, Error> {
        let mpi = &ready()?;
        let from = someone(Address::source(mpi, self, tag)?)?;
        Matched::look_for(mpi, from)?.map(|matched| make(mpi, matched)).transpose()
    }

    /// Receives a value in place of an old one, with any tag. The memory that the old value owns is used
    /// again where that is possible.
    ///
    /// # Errors
    /// The errors of [`receive_message`](Self::receive_message). The old value is unchanged then, except that
    /// one of its `Vec`s of 64 KiB or more may be empty.
    fn receive_message_into<M: FromMessage>(&self, message: &mut M) -> Result<Status, Error> {
        self.receive_message_into_with_tag(message, any_tag())
    }

    /// Receives a value in place of an old one, with a tag.
    ///
    /// # Errors
    /// The errors of [`receive_message_into`](Self::receive_message_into).
    fn receive_message_into_with_tag<M: FromMessage>(
        &self,
        message: &mut M,
        tag: Tag,
    ) -> Result<Status, Error> {
        let mpi = &ready()?;
        let from = someone(Address::source(mpi, self, tag)?)?;
        let matched = Matched::wait_for(mpi, from)?;
        let (status, size) = (Status::from_raw(matched.status), matched.size);
        let memory = if M::KEPT.is_power_of_two() && size >= LONG { message.lend(size) } else { None };
        let memory = memory.filter(|memory| memory.room() >= size);
        let read = match memory {
            Some(memory) => take(mpi, matched, memory).and_then(|arrived| arrived.make_into(message)),
            None => receive(mpi, matched, M::KEPT, |arrived| arrived.make_into(message)),
        };
        read.map_err(|error| error.sent_by(status.source_rank()))?;
        Ok(status)
    }

    /// Receives values of a type with [`MpiDatatype`], of any number and with any tag. The sender may use any
    /// call that sends such values: those of [`SendOver`](super::SendOver) except on the wire of segments,
    /// and the plain calls of rsmpi, C or Fortran. For types that rsmpi's `receive_vec` does not take, too:
    /// enums, types that hold a `char` or `NonZero`, and types with skipped fields, which get their default
    /// values.
    ///
    /// ```no_run
    /// use dtype_runtime::{MpiDatatype, traits::*};
    /// use mpi::traits::*;
    ///
    /// #[derive(MpiDatatype, Clone)]
    /// #[repr(C)]
    /// struct Particle { position: [f64; 3], species: Species }
    ///
    /// #[derive(MpiDatatype, Clone)]
    /// #[repr(u8)]
    /// enum Species { Electron, Ion }
    ///
    /// let universe = mpi::initialize().unwrap();
    /// let world = universe.world();
    /// match world.rank() {
    ///     0 => {
    ///         let leaving = vec![Particle { position: [0.5; 3], species: Species::Ion }; 100];
    ///         world.process_at_rank(1).send_packed(&leaving)?;
    ///     }
    ///     _ => {
    ///         let (arrived, _) = world.any_process().receive_values::<Particle>()?;
    ///         println!("{} particles", arrived.len());
    ///     }
    /// }
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] if the message does not consist of whole values; [`Error::InvalidValue`]; with
    /// `DTYPE_CHECK=1`, [`Error::Mismatch`] if the message holds other base types. Otherwise those of
    /// [`receive_message`](Self::receive_message). From `MPI_PROC_NULL`, no values are received.
    fn receive_values<T: MpiDatatype + FromMessage>(&self) -> Result<(Vec<T>, Status), Error> {
        self.receive_values_with_tag(any_tag())
    }

    /// Receives values with a tag, of any number.
    ///
    /// # Errors
    /// The errors of [`receive_values`](Self::receive_values).
    fn receive_values_with_tag<T: MpiDatatype + FromMessage>(
        &self,
        tag: Tag,
    ) -> Result<(Vec<T>, Status), Error> {
        let mpi = &ready()?;
        let from = Address::source(mpi, self, tag)?;
        if from.is_nobody() {
            return Ok((Vec::new(), status_of_nobody()));
        }
        values(mpi, Matched::wait_for(mpi, from)?)
    }

    /// Receives values with any tag, if a message has arrived (`MPI_Improbe`). Otherwise returns `None` at
    /// once.
    ///
    /// # Errors
    /// The errors of [`receive_values`](Self::receive_values).
    fn immediate_receive_values<T: MpiDatatype + FromMessage>(
        &self,
    ) -> Result<Option<(Vec<T>, Status)>, Error> {
        self.immediate_receive_values_with_tag(any_tag())
    }

    /// Receives values with a tag, if a message has arrived.
    ///
    /// # Errors
    /// The errors of [`receive_values`](Self::receive_values).
    fn immediate_receive_values_with_tag<T: MpiDatatype + FromMessage>(
        &self,
        tag: Tag,
    ) -> Result<Option<(Vec<T>, Status)>, Error> {
        let mpi = &ready()?;
        let from = Address::source(mpi, self, tag)?;
        if from.is_nobody() {
            return Ok(Some((Vec::new(), status_of_nobody())));
        }
        Matched::look_for(mpi, from)?.map(|matched| values(mpi, matched)).transpose()
    }
}

impl<S: Source + ?Sized> ReceiveMessage for S {}

/// Calls that receive a message which rsmpi's `matched_probe` has matched (MPI 4.1 section 3.8.3).
///
/// ```no_run
/// use dtype_runtime::traits::*;
/// use mpi::traits::*;
///
/// let universe = mpi::initialize().unwrap();
/// let world = universe.world();
/// let probed = world.any_process().matched_probe();
/// let (text, status) = probed.matched_receive_message::<String>()?;
/// println!("rank {}: {text}", status.source_rank());
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
pub trait MatchedMessage: Sized {
    /// Receives a value that [`send_message`](SendMessage::send_message) sent.
    ///
    /// # Errors
    /// The errors of [`receive_message`](ReceiveMessage::receive_message).
    fn matched_receive_message<M: FromMessage>(self) -> Result<(M, Status), Error>;

    /// Receives values of any number.
    ///
    /// # Errors
    /// The errors of [`receive_values`](ReceiveMessage::receive_values).
    fn matched_receive_values<T: MpiDatatype + FromMessage>(self) -> Result<(Vec<T>, Status), Error>;
}

impl MatchedMessage for (Probed, Status) {
    fn matched_receive_message<M: FromMessage>(self) -> Result<(M, Status), Error> {
        let mpi = &ready()?;
        let status = self.1;
        let (arrived, size) = Matched::receive_probed(mpi, self)?;
        let value = Message::Borrowed(&arrived[..size]).make();
        Ok((value.map_err(|error| error.sent_by(status.source_rank()))?, status))
    }

    fn matched_receive_values<T: MpiDatatype + FromMessage>(self) -> Result<(Vec<T>, Status), Error> {
        let mpi = &ready()?;
        let status = self.1;
        let (arrived, size) = Matched::receive_probed(mpi, self)?;
        let values = unpacked::<T>(&arrived[..size]);
        Ok((values.map_err(|error| error.sent_by(status.source_rank()))?, status))
    }
}

/// The number of values in a message, from its status.
pub trait StatusCount {
    /// Returns the number of values of type `T`, whatever call sent them. (rsmpi's `count` gives the number
    /// of elements of a datatype, and −32766 or another negative number if they do not make up the message.)
    ///
    /// ```no_run
    /// use dtype_runtime::traits::*;
    /// use mpi::traits::*;
    ///
    /// let universe = mpi::initialize().unwrap();
    /// let world = universe.world();
    /// let mut values = vec![(0u8, 0.5f64); 100];
    /// let status = world.any_process().receive_values_into(&mut values)?;
    /// assert_eq!(status.count_of::<(u8, f64)>()?, 100);
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] if the message does not consist of whole values.
    fn count_of<T: MpiDatatype>(&self) -> Result<usize, Error>;
}

impl StatusCount for Status {
    fn count_of<T: MpiDatatype>(&self) -> Result<usize, Error> {
        let (size, found) = (T::FACTS.wire_size, bytes_of(self)?);
        match found.checked_rem(size) {
            Some(0) => Ok(found / size),
            None if found == 0 => Ok(0),
            _ => Err(Error::Length { what: type_name::<T>(), expected: size, found }),
        }
    }
}

/// Returns the source of a message, which must not be `MPI_PROC_NULL`.
pub(crate) fn someone(from: Address) -> Result<Address, Error> {
    if from.is_nobody() {
        return Err(malformed("nothing arrives from `MPI_PROC_NULL`"));
    }
    Ok(from)
}

/// Receives a message into memory that is large enough for it.
pub(super) fn received(mpi: &Usable, matched: Matched, memory: OwnedMemory) -> Result<OwnedMemory, Error> {
    let (size, bytes) = (matched.size, Bytes::of(matched.size)?);
    // SAFETY: MPI writes `size` bytes, and `receive_at` returns an error if not. There is room for them, so
    // that 1 and 2 of `receive_at` hold.
    unsafe { memory.filled(size, |place| matched.receive_at(mpi, place.cast(), bytes.count, bytes.datatype)) }
}

/// Receives a message of any shape into memory that is large enough for it.
pub(super) fn take<'m>(mpi: &Usable, matched: Matched, memory: OwnedMemory) -> Result<Message<'m>, Error> {
    received(mpi, matched, memory).map(Message::Owned)
}

/// Receives a message: into memory of its own, if that may become a `Vec` of the alignment `kept`.
pub(super) fn receive<R>(
    mpi: &Usable,
    matched: Matched,
    kept: usize,
    read: impl FnOnce(Message<'_>) -> Result<R, Error>,
) -> Result<R, Error> {
    let size = matched.size;
    if kept.is_power_of_two() && size >= LONG {
        let memory = OwnedMemory::with_room(size, kept)?;
        return read(take(mpi, matched, memory)?);
    }
    let (mut memory, bytes) = (spare(), Bytes::of(size)?);
    memory.clear();
    memory.try_reserve(size).map_err(|_| Error::Memory { bytes: size })?;
    // SAFETY: there is room for `size` bytes, which MPI writes, unless it returns an error.
    unsafe {
        matched.receive_at(mpi, memory.as_mut_ptr().cast(), bytes.count, bytes.datatype)?;
        memory.set_len(size);
    }
    let read = read(Message::Borrowed(&memory));
    keep(memory);
    read
}

/// Receives a message and makes its value.
fn make<M: FromMessage>(mpi: &Usable, matched: Matched) -> Result<(M, Status), Error> {
    let status = Status::from_raw(matched.status);
    let value = receive(mpi, matched, M::KEPT, |arrived| -> Result<M, Error> { arrived.make() });
    Ok((value.map_err(|error| error.sent_by(status.source_rank()))?, status))
}

/// Receives values of any number.
fn values<T: MpiDatatype + FromMessage>(mpi: &Usable, matched: Matched) -> Result<(Vec<T>, Status), Error> {
    let (raw, from, size) = (matched.status, matched.sender(), matched.size);
    let status = Status::from_raw(raw);
    let wire_size = T::FACTS.wire_size;
    let values: Vec<T> = if T::PLAIN.is_some_and(|plain| plain.of.slice_align() > 0)
        && T::FACTS.any_pattern
        && !checks()
        && size % wire_size == 0
        && size > 0
    {
        // The memory of the values is the message.
        let memory = OwnedMemory::with_room(size, align_of::<T>())?;
        read_values(size / wire_size, &mut Reader::of_memory(received(mpi, matched, memory)?))?
    } else {
        let descriptions = descriptions_on(mpi, from.communicator)?;
        let arrived = matched.receive(mpi)?;
        let arrived = &arrived[..size];
        let values = unpacked::<T>(arrived).map_err(|error| error.sent_by(status.source_rank()))?;
        if let Some(descriptions) = descriptions {
            descriptions.compare(mpi, &values[..], arrived, &raw)?;
        }
        values
    };
    Ok((values, status))
}

/// Makes values from their transferred bytes.
fn unpacked<T: MpiDatatype + FromMessage>(arrived: &[u8]) -> Result<Vec<T>, Error> {
    let (size, found) = (T::FACTS.wire_size, arrived.len());
    if size == 0 || found % size != 0 {
        return if found == 0 {
            Ok(Vec::new())
        } else if is_message(arrived) {
            Err(malformed("it was sent with `send_message`: receive it with `receive_message`"))
        } else {
            Err(Error::Length { what: type_name::<T>(), expected: size, found })
        };
    }
    if const { T::FACTS.has_blocks() } {
        let packed = MemoryBlocks::of_values(ValueType::of::<T>())?.to_packed(arrived)?;
        return read_values(found / size, &mut Reader::of_packed(&packed));
    }
    read_values(found / size, &mut Reader::of_packed(arrived))
}
