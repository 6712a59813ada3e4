//! Messages between two ranks (MPI 4.1 chapter 3).

use std::{marker::PhantomData, mem::MaybeUninit};

use ::mpi::Tag;

use dtype_engine::Error as PackError;

use super::{Message, Pending, Place, Preparing, Starting};
use crate::{
    Error, FromMessage, Result, Wire,
    message::fixed,
    mpi::{Usable, ready, returning_errors},
    transfer::{
        address::{Address, Channel},
        incoming::{OF_ANY_SIZE, value_of},
        making::Transfer,
        receive::{Found, receive},
        request::{Matched, Request},
        waiting::{Waiting, is_awaited, is_nothing_awaited, meanwhile, progress},
    },
};

/// Another rank, to send to and to receive from.
///
/// Options come before the verb: `world.peer(1).tag(7).send(&x)?`. Without them, messages are sent with tag 0
/// and received with any tag, as by rsmpi's calls. MPI's rules of order and matching hold (MPI 4.1 section
/// 3.5).
///
/// ```no_run
/// use dtype_runtime::{Result, run};
///
/// fn main() {
///     run(|world| -> Result {
///         if world.rank() == 0 {
///             world.peer(1).send(&vec![0.5; 1000])?;
///         } else if world.rank() == 1 {
///             let numbers: Vec<f64> = world.peer(0).receive()?;
///             println!("{} numbers", numbers.len());
///         }
///         Ok(())
///     });
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Peer<'c> {
    channel: Channel,
    rank: usize,
    pub(super) options: Options,
    communicator: PhantomData<&'c ()>,
}

/// The options of a message.
#[derive(Clone, Copy, Default)]
pub(super) struct Options {
    tag: Option<Tag>,
    pub wire: Wire,
    pub is_synchronous: bool,
}

impl<'c> Peer<'c> {
    pub(super) fn new(channel: Channel, rank: usize) -> Self {
        Self { channel, rank, options: Options::default(), communicator: PhantomData }
    }

    /// Returns the rank.
    pub fn rank(self) -> usize {
        self.rank
    }

    /// Sends, or receives, with this tag.
    #[must_use]
    pub fn tag(mut self, tag: Tag) -> Self {
        self.options.tag = Some(tag);
        self
    }

    /// Sends, or receives, on this wire. Every wire but [`Wire::Segments`] is received by every call; an
    /// owned message travels in one way only.
    #[must_use]
    pub fn wire(mut self, wire: Wire) -> Self {
        self.options.wire = wire;
        self
    }

    /// Sends in synchronous mode (MPI 4.1 section 3.4, `MPI_Ssend`): a message has been sent only when the
    /// receiver has begun to receive it.
    #[must_use]
    pub fn synchronous(mut self) -> Self {
        self.options.is_synchronous = true;
        self
    }

    pub(super) fn destination(&self, mpi: &Usable) -> Result<Address> {
        self.channel.address(mpi, Some(self.rank), Some(self.options.tag.unwrap_or_default()))
    }

    pub(super) fn source(&self, mpi: &Usable) -> Result<Address> {
        self.channel.address(mpi, Some(self.rank), self.options.tag)
    }

    /// Returns the address of messages of any size, which are not those of the wire of segments.
    fn source_of_any_size(&self, mpi: &Usable) -> Result<Address> {
        if self.options.wire == Wire::Segments { Err(OF_ANY_SIZE) } else { self.source(mpi) }
    }

    /// Sends a message (`MPI_Send`).
    ///
    /// # Errors
    /// `Argument` if the rank or the tag is out of range, or if the message cannot be sent, such as a value
    /// that is nested too deeply; `Unsupported` if it cannot travel on the wire that was named. An error
    /// before `MPI_Init`, after `MPI_Finalize`, on a thread that may not call MPI, if an MPI call fails, and
    /// if there is no memory for a buffer.
    #[doc(alias = "send_packed")]
    #[doc(alias = "send_over")]
    #[doc(alias = "send_message")]
    pub fn send<M: Message + ?Sized>(&self, message: &M) -> Result {
        let mpi = &ready()?;
        let to = self.destination(mpi)?;
        let Options { wire, is_synchronous, .. } = self.options;
        if is_synchronous {
            return message.carried(false)?.send_synchronous(mpi, wire, to);
        }
        message.carried(true)?.send(mpi, wire, to)
    }

    /// Receives a value (`MPI_Recv`).
    ///
    /// ```no_run
    /// use dtype_runtime::{MpiMessage, Result, run};
    ///
    /// #[derive(MpiMessage)]
    /// struct Task { name: String, input: Vec<f64> }
    ///
    /// fn main() {
    ///     run(|world| -> Result {
    ///         if world.rank() == 0 {
    ///             let task = Task { name: "first".to_owned(), input: vec![0.5; 1000] };
    ///             world.peer(1).send(&task)?;
    ///         } else if world.rank() == 1 {
    ///             let task: Task = world.peer(0).receive()?;
    ///             println!("{} of {} numbers", task.name, task.input.len());
    ///         }
    ///         Ok(())
    ///     });
    /// }
    /// ```
    ///
    /// # Errors
    /// `Size` if the message is not one value, or does not consist of whole values; `Type` if it is not an
    /// owned message of this type, or, with `DTYPE_CHECK=1` and on an [attached](crate::Comm::attach)
    /// communicator, if it holds other base types; `Value` if it holds an invalid value. The message has then
    /// been received, and there is no value. Otherwise those of [`send`](Self::send).
    #[doc(alias = "receive_message")]
    #[doc(alias = "receive_values")]
    pub fn receive<T: FromMessage>(&self) -> Result<T> {
        let mpi = &ready()?;
        value(mpi, self.options.wire, self.source(mpi)?).map(|(value, _)| value)
    }

    /// Receives a message into memory that is there.
    ///
    /// A value, array, slice or view takes a message of exactly its size. A `Vec`, a `String`, or any other
    /// type that owns memory takes what comes, and uses its memory again.
    ///
    /// # Errors
    /// `Size` if the message has another size than the place. Otherwise those of
    /// [`receive`](Self::receive). After an error, the place is unchanged, with three exceptions: on the
    /// segments wire, some values may have been written; a `Vec` of 64 KiB or more may be empty; and with
    /// Intel MPI, contiguous memory of more than 16 KiB may hold a part of a message of another size.
    #[doc(alias = "receive_values_into")]
    #[doc(alias = "receive_over")]
    #[doc(alias = "receive_message_into")]
    pub fn receive_into<M: Place + ?Sized>(&self, place: &mut M) -> Result {
        let mpi = &ready()?;
        place.incoming().receive(mpi, self.options.wire, self.source(mpi)?).map(|_| ())
    }

    /// Receives a value if a message has arrived. Otherwise returns `None` at once (`MPI_Improbe`).
    ///
    /// # Errors
    /// The errors of [`receive`](Self::receive).
    #[doc(alias = "immediate_receive_message")]
    #[doc(alias = "immediate_receive_values")]
    pub fn try_receive<T: FromMessage>(&self) -> Result<Option<T>> {
        let mpi = &ready()?;
        Ok(arrived_value(mpi, self.source_of_any_size(mpi)?)?.map(|(value, _)| value))
    }

    /// Returns what has arrived, without receiving it, or `None` if there is nothing (`MPI_Iprobe`).
    ///
    /// # Errors
    /// `Argument` if the rank or the tag is out of range; `Unsupported` on the wire of segments; an error if
    /// an MPI call fails.
    pub fn probe(&self) -> Result<Option<Arrived<'c>>> {
        let mpi = &ready()?;
        Arrived::look_for(mpi, self.channel, self.source_of_any_size(mpi)?)
    }

    /// Sends a message, and receives another one of equal size in its place
    /// (MPI 4.1 section 3.10, `MPI_Sendrecv_replace`).
    ///
    /// # Errors
    /// The errors of [`receive_into`](Self::receive_into). The message has been sent nevertheless. Before it
    /// is sent: `Argument` if the rank or the tag is out of range; `Unsupported` on the wire of segments.
    #[doc(alias = "send_receive_replace")]
    pub fn swap<M: Message + Place + ?Sized>(&self, message: &mut M) -> Result {
        let mpi = &ready()?;
        let Options { wire, is_synchronous, .. } = self.options;
        if wire == Wire::Segments {
            let reason =
                "a swap sends while it receives, and segments are sent only one by one: use another wire";
            return Err(Error::Wire { wire: "segments", reason });
        }
        let (to, from) = (self.destination(mpi)?, self.source(mpi)?);
        let mut sending = message.carried(false)?.start(mpi, Wire::Packed, is_synchronous, to)?;
        let received = message.incoming().receive(mpi, wire, from);
        meanwhile(mpi, || sending.is_sent(mpi, false))?;
        received.map(|_| ())
    }

    /// Starts transfers instead of waiting for them.
    pub fn start(self) -> Starting<Self> {
        Starting(self)
    }

    /// Prepares messages that are sent, or received, many times (MPI 4.1 section 3.9).
    pub fn prepare(self) -> Preparing<Self> {
        Preparing(self)
    }
}

/// Receives a value, and returns the address of its sender.
pub(super) fn value<T: FromMessage>(mpi: &Usable, wire: Wire, from: Address) -> Result<(T, Address)> {
    if !is_nothing_awaited() && wire != Wire::Segments {
        return value_of(mpi, Waiting::new(mpi, from, T::KEPT)?.wait(mpi)?);
    }
    if let (Some(plain), Transfer::Whole(making)) = (const { fixed::<T>() }, wire.transfer()) {
        let mut value = MaybeUninit::uninit();
        // SAFETY: 1, since `receive` returns an error unless it has received all bytes.
        let mut place = unsafe { plain.uninit(&mut value) };
        let sender = receive(mpi, &mut place, making, from)?;
        // SAFETY: all packed bytes have been received, and are those of a valid value.
        return Ok((unsafe { value.assume_init() }, sender));
    }
    if wire == Wire::Segments {
        return Err(OF_ANY_SIZE);
    }
    value_of(mpi, Found::wait_for(mpi, from, T::KEPT, |_| None)?)
}

/// Receives a value if a message has arrived that no started receive takes, and returns the address of its
/// sender.
pub(super) fn arrived_value<T: FromMessage>(mpi: &Usable, from: Address) -> Result<Option<(T, Address)>> {
    if !is_nothing_awaited() {
        let waiting = Waiting::new(mpi, from, T::KEPT)?;
        return if waiting.is_done(mpi) { value_of(mpi, waiting.wait(mpi)?).map(Some) } else { Ok(None) };
    }
    let found = returning_errors(mpi, from.communicator, || {
        let matched = Matched::look_for(mpi, from)?;
        matched.map(|matched| Found::receive(mpi, matched, T::KEPT, |_| None)).transpose()
    });
    found?.map(|found| value_of(mpi, found)).transpose()
}

/// A message that has arrived and has not been received (MPI 4.1 section 3.8).
#[derive(Debug)]
pub struct Arrived<'c> {
    from: Peer<'c>,
    size: usize,
}

impl<'c> Arrived<'c> {
    pub(super) fn look_for(mpi: &Usable, channel: Channel, from: Address) -> Result<Option<Self>> {
        let (sender, size) = loop {
            if !is_nothing_awaited() {
                progress(mpi);
            }
            match from.probe(mpi)? {
                None => return Ok(None),
                // It has arrived since the receives that were started looked for it.
                Some((sender, _)) if is_awaited(sender) => {}
                Some(found) => break found,
            }
        };
        let rank = usize::try_from(sender.rank).unwrap_or(usize::MAX);
        Ok(Some(Self { from: Peer::new(channel, rank).tag(sender.tag), size }))
    }

    /// Returns the sender, with the tag of the message: `arrived.from().receive()` receives it.
    pub fn from(&self) -> Peer<'c> {
        self.from
    }

    /// Returns the tag of the message.
    pub fn tag(&self) -> Tag {
        self.from.options.tag.unwrap_or_default()
    }

    /// Returns the size of the message in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the number of values of type `T` in a plain message.
    ///
    /// # Errors
    /// `Size` if the message does not consist of whole values.
    #[doc(alias = "count_of")]
    pub fn count<T: crate::MpiDatatype>(&self) -> Result<usize> {
        match self.size.checked_rem(T::FACTS.wire_size) {
            Some(0) => Ok(self.size / T::FACTS.wire_size),
            None if self.size == 0 => Ok(0),
            _ => Err(PackError::Length {
                what: std::any::type_name::<T>(),
                expected: T::FACTS.wire_size,
                found: self.size,
            }
            .into()),
        }
    }
}

impl<'c> Starting<Peer<'c>> {
    /// Starts to send a message (`MPI_Isend`). The message is free when the call returns: it has been packed.
    /// To send long messages without a copy, use a [scope](super::Comm::scope).
    ///
    /// # Errors
    /// The errors of [`Peer::send`].
    #[doc(alias = "immediate_send")]
    pub fn send<M: Message + ?Sized>(&self, message: &M) -> Result<Pending<'static>> {
        let mpi = &ready()?;
        let Options { wire, is_synchronous, .. } = self.0.options;
        let to = self.0.destination(mpi)?;
        let request = message.carried(false)?.start(mpi, wire, is_synchronous, to)?;
        let is_done = |request: &mut Request, mpi: &Usable| {
            progress(mpi);
            request.is_sent(mpi, false)
        };
        Ok(Pending::new(request, is_done, |mut request, mpi| meanwhile(mpi, || request.is_sent(mpi, false))))
    }

    /// Starts to receive a value (`MPI_Irecv`). Calls of this thread that wait for a message of a rank or of
    /// a neighbour, and [`is_done`](Pending::is_done), look for the message. Collective calls do not, and the
    /// sender of a long message waits meanwhile: if it makes the collective call only then, call
    /// [`finish`](Pending::finish) before it.
    ///
    /// # Errors
    /// The errors of [`Peer::receive`], from [`finish`](Pending::finish).
    #[doc(alias = "immediate_receive")]
    pub fn receive<T: FromMessage + 'c>(&self) -> Result<Pending<'c, T>> {
        let mpi = &ready()?;
        let from = self.0.source_of_any_size(mpi)?;
        Pending::value(mpi, from, |value, _| value)
    }

    /// Starts to receive a message into memory that is there. The memory is borrowed until
    /// [`finish`](Pending::finish), which writes it.
    ///
    /// # Errors
    /// The errors of [`Peer::receive_into`], from [`finish`](Pending::finish).
    #[doc(alias = "immediate_receive_into")]
    pub fn receive_into<'a, M: Place + ?Sized>(&self, place: &'a mut M) -> Result<Pending<'a>>
    where
        'c: 'a,
    {
        let mpi = &ready()?;
        let from = self.0.source(mpi)?;
        Pending::place(mpi, place.incoming(), self.0.options.wire, from, drop)
    }
}

debug!([] Peer<'_>, |peer| rank: peer.rank, tag: peer.options.tag);
