//! Exchanges: messages to several ranks and from several ranks at a time.
//!
//! Messages of an [`Exchange`] are packed into the buffers of persistent requests, and unpacked when all have
//! arrived. So MPI never uses memory of the program: parts of it may be lent meanwhile, and a guard may be
//! forgotten. Calls that end only when all has arrived may go [`directly`] instead.

use std::{fmt, os::raw::c_int, sync::Arc};

use super::{
    attach::Companion,
    carried::Carried,
    persistent::Persistent,
    receive::{PostedTyped, receive},
    request::Address,
    send::Sending,
    sendable::sealed::{Read, Write},
    transfer::{Making, is_faster_typed},
    waiting::meanwhile,
};
use crate::{
    Error,
    mpi::{Usable, ready},
};

/// A message of an exchange: the other rank with the tag, and the number of bytes.
pub(super) struct Planned {
    pub peer: Address,
    pub size: usize,
}

/// Messages that are sent and received together, again and again. Their sizes stay the same.
pub(super) struct Exchange {
    requests: Persistent,
    /// The numbers of the requests that send.
    sends: Vec<usize>,
    /// The numbers of the requests that receive, and the ranks of the senders.
    receives: Vec<(usize, c_int)>,
    // Dropped after the requests, which are on its communicator.
    _companion: Arc<Companion>,
}

impl Exchange {
    /// Prepares messages on a companion.
    pub fn new(
        mpi: &Usable,
        companion: Arc<Companion>,
        sends: &[Planned],
        receives: &[Planned],
    ) -> Result<Self, Error> {
        let mut requests = Persistent::on(companion.communicator);
        let receives = receives.iter().map(|Planned { peer, size }| {
            Ok::<_, Error>((requests.add_receive(mpi, *size, *peer)?, peer.rank))
        });
        let receives = receives.collect::<Result<_, _>>()?;
        let sends = sends.iter().map(|Planned { peer, size }| requests.add_send(mpi, *size, *peer));
        let sends = sends.collect::<Result<_, _>>()?;
        Ok(Self { requests, sends, receives, _companion: companion })
    }

    /// Tells the ranks of planned messages of an error of this one, and returns it: each gets an empty
    /// message, which is an error there, and what comes from others is dropped. So none waits.
    pub fn refuse(
        mpi: &Usable,
        companion: Arc<Companion>,
        planned: Result<[Vec<Planned>; 2], Error>,
        error: Error,
    ) -> Error {
        let refused = planned.and_then(|[mut sends, receives]| {
            for message in &mut sends {
                message.size = 0;
            }
            let mut exchange = Self::new(mpi, companion, &sends, &receives)?;
            exchange.start(mpi, |_, _| Ok(()))?;
            exchange.settle(mpi)
        });
        // This rank has its error already.
        drop(refused);
        error
    }

    /// Returns `true` if the exchange can be started again. After some errors it must be prepared again.
    pub fn is_whole(&self) -> bool {
        self.requests.is_whole()
    }

    /// Starts all messages. `pack` writes the message with a number. Messages of an exchange that was
    /// forgotten arrive first.
    pub fn start(
        &mut self,
        mpi: &Usable,
        mut pack: impl FnMut(usize, &mut [u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.requests.settle(mpi)?;
        for (i, number) in self.sends.iter().enumerate() {
            pack(i, self.requests.outgoing(*number))?;
        }
        self.requests.start(mpi)
    }

    /// Waits for messages of an exchange that was forgotten.
    pub fn settle(&mut self, mpi: &Usable) -> Result<(), Error> {
        self.requests.settle(mpi)
    }

    /// Returns `true` if all messages have been sent and received.
    pub fn is_done(&mut self, mpi: &Usable) -> Result<bool, Error> {
        self.requests.is_done(mpi)
    }

    /// Waits for all messages. Then `check` gets each message that has been received, and after that
    /// `unpack`: nothing is unpacked if a message does not fit or is wrong. `value` is the size of one value
    /// in bytes.
    ///
    /// # Errors
    /// [`Error::Neighbour`] if a message has another size; the errors of `check` and `unpack`; an error if an
    /// MPI call fails.
    pub fn finish(
        &mut self,
        mpi: &Usable,
        value: usize,
        mut check: impl FnMut(usize, &[u8]) -> Result<(), Error>,
        mut unpack: impl FnMut(usize, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.requests.wait(mpi)?;
        for (i, (number, rank)) in self.receives.iter().enumerate() {
            check(i, self.requests.incoming(mpi, *number, value).map_err(|error| misfit(error, *rank))?)?;
        }
        for (i, (number, _)) in self.receives.iter().enumerate() {
            unpack(i, self.requests.incoming(mpi, *number, value)?)?;
        }
        Ok(())
    }
}

/// Sends messages and receives others, once, from the memory of the program and into it. Their bytes are
/// those of an [`Exchange`]. `meanwhile` runs while messages are under way.
///
/// After an error, the other messages are sent and received nevertheless, and the first error is returned.
pub(super) fn directly<S: Read, R: Write>(
    mpi: &Usable,
    sends: impl Iterator<Item = (Address, S)>,
    receives: impl Iterator<Item = (Address, R)>,
    meanwhile: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    let sends: Vec<_> = sends.collect();
    let (mut posted, mut others, mut under_way) = (Vec::new(), Vec::new(), Vec::new());
    let mut first = Ok(());
    for (from, into) in receives {
        match PostedTyped::new(mpi, into, from) {
            Ok(receive) => posted.push((from.rank, receive)),
            Err(into) => others.push((from, into)),
        }
    }
    for (to, message) in &sends {
        let making = if is_faster_typed(message) { Making::Typed } else { Making::Fastest };
        match Sending::whole(mpi, message, making, *to) {
            Ok(sending) => under_way.push(sending),
            Err(error) => first = first.and(Err(error)),
        }
    }
    first = first.and(meanwhile());
    for (from, mut into) in others {
        let received = receive(mpi, &mut into, Making::Fastest, from);
        first = first.and(received.map(|_| ()).map_err(|error| misfit(error, from.rank)));
    }
    for (rank, receive) in posted {
        first = first.and(receive.wait(mpi).map_err(|error| misfit(error, rank)));
    }
    for mut sending in under_way {
        first = first.and(sending.advance(mpi, true).map(|_| ()));
    }
    first
}

/// Sends messages and receives others, once. `receive` receives the message with a number. All sends are
/// started before, so no rank waits for another one that waits as well.
///
/// After an error, the other messages are sent and received nevertheless, and the first error is returned.
pub(crate) fn at_once(
    mpi: &Usable,
    sends: &[(Address, Carried<'_>)],
    receives: usize,
    mut receive: impl FnMut(usize) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut first = Ok(());
    let mut under_way = Vec::new();
    for (to, message) in sends {
        match message.start_borrowed(mpi, *to) {
            Ok(sending) => under_way.push(sending),
            Err(error) => first = first.and(Err(error)),
        }
    }
    for number in 0..receives {
        first = first.and(receive(number));
    }
    for mut sending in under_way {
        first = first.and(meanwhile(mpi, || sending.is_sent(mpi, false)));
    }
    first
}

/// Returns the error for a message that does not fit, without the tag, which is not the program's.
pub(crate) fn misfit(error: Error, rank: c_int) -> Error {
    match error {
        Error::Fit { value, expected, found, .. } => Error::Neighbour { rank, value, expected, found },
        error => error,
    }
}

/// A value, or a borrow of one.
pub(super) enum Lent<'a, V> {
    Own(V),
    Borrowed(&'a mut V),
}

impl<V> Lent<'_, V> {
    pub fn get(&mut self) -> &mut V {
        match self {
            Self::Own(value) => value,
            Self::Borrowed(value) => value,
        }
    }
}

/// The places of messages in lists of the program, with the ranks at the other end.
pub(crate) struct Ends {
    pub sends: Vec<(usize, Address)>,
    pub receives: Vec<(usize, Address)>,
    /// The lengths of the lists.
    pub lengths: [usize; 2],
}

/// Messages to some ranks and from some ranks, prepared once and exchanged many times
/// (MPI 4.1 section 6.13, `MPI_Alltoallw_init`). Each message may have a layout of its own. The numbers of
/// packed bytes stay as they were when the exchange was prepared; the values may lie elsewhere each time.
///
/// The calls that begin with `prepare` return it: those of [`PackedCollectives`](super::PackedCollectives)
/// and [`NeighbourCollectives`](super::NeighbourCollectives).
pub struct PreparedExchange {
    ends: Ends,
    companion: Arc<Companion>,
    /// The requests; `None` if they must be made again.
    exchange: Option<Exchange>,
    sizes: [Vec<usize>; 2],
}

impl PreparedExchange {
    /// Prepares an exchange for messages of these sizes.
    pub(super) fn new<S: Read, R: Write>(
        companion: Arc<Companion>,
        ends: Ends,
        messages: &[S],
        into: &[R],
    ) -> Result<Self, Error> {
        ends.check(messages.len(), into.len())?;
        let sends = ends.sends.iter().map(|(at, _)| messages[*at].packed_size()).collect();
        let receives = ends.receives.iter().map(|(at, _)| into[*at].packed_size()).collect();
        Ok(Self { ends, companion, exchange: None, sizes: [sends, receives] })
    }

    /// Sends a message to each rank, and receives one from each into the destination at its place. All ranks
    /// must make this call.
    ///
    /// # Errors
    /// [`Error::Messages`] if the lists have other lengths than when the exchange was prepared, and
    /// [`Error::Length`] if a message has another size: then empty messages are sent. [`Error::Neighbour`] if
    /// a rank sent another number of bytes than is received here, or has an error: then nothing has been
    /// written. [`Error::InvalidValue`] if a rank sent invalid values: then earlier messages have been
    /// written. An error if an MPI call fails.
    pub fn exchange<S: Read, R: Write>(&mut self, messages: &[S], into: &mut [R]) -> Result<(), Error> {
        let mpi = &ready()?;
        self.send(mpi, messages, into)?;
        self.receive(mpi, into)
    }

    /// Starts to send and to receive. The destinations are borrowed until
    /// [`finish`](PendingExchange::finish). They are not touched before, so the guard may be forgotten; then
    /// the messages are lost.
    ///
    /// # Errors
    /// [`Error::Messages`] and [`Error::Length`] as for [`exchange`](Self::exchange); an error if an MPI call
    /// fails.
    pub fn start<'a, S: Read, R: Write>(
        &'a mut self,
        messages: &[S],
        into: &'a mut [R],
    ) -> Result<PendingExchange<'a, R>, Error> {
        let mpi = &ready()?;
        self.send(mpi, messages, into)?;
        Ok(PendingExchange { exchange: Lent::Borrowed(self), into })
    }

    /// Like [`start`](Self::start), for an exchange that is made once.
    pub(super) fn start_once<'a, S: Read, R: Write>(
        mpi: &Usable,
        companion: Arc<Companion>,
        ends: Ends,
        messages: &[S],
        into: &'a mut [R],
    ) -> Result<PendingExchange<'a, R>, Error> {
        if let Err(error) = ends.check(messages.len(), into.len()) {
            return Err(ends.refuse(mpi, companion, error));
        }
        let mut exchange = Self::new(companion, ends, messages, into)?;
        exchange.send(mpi, messages, into)?;
        Ok(PendingExchange { exchange: Lent::Own(exchange), into })
    }

    /// Checks that messages have the sizes that were prepared.
    fn check<S: Read, R: Write>(&self, messages: &[S], into: &[R]) -> Result<(), Error> {
        let Self { ends, sizes: [sends, receives], .. } = self;
        ends.check(messages.len(), into.len())?;
        for ((at, _), size) in ends.sends.iter().zip(sends) {
            Error::unless_exactly("a prepared message", *size, messages[*at].packed_size())?;
        }
        for ((at, _), size) in ends.receives.iter().zip(receives) {
            Error::unless_exactly("a prepared destination", *size, into[*at].packed_size())?;
        }
        Ok(())
    }

    fn send<S: Read, R: Write>(&mut self, mpi: &Usable, messages: &[S], into: &[R]) -> Result<(), Error> {
        let checked = self.check(messages, into);
        let Self { ends, companion, exchange, sizes: [sends, receives] } = self;
        if checked.is_err() || !exchange.as_ref().is_some_and(Exchange::is_whole) {
            // Messages of an exchange that was forgotten arrive first.
            *exchange = None;
            let planned = ends.planned([sends, receives]);
            if let Err(error) = checked {
                return Err(Exchange::refuse(mpi, Arc::clone(companion), Ok(planned), error));
            }
            *exchange = Some(Exchange::new(mpi, Arc::clone(companion), &planned[0], &planned[1])?);
        }
        let Some(exchange) = exchange else { return Ok(()) };
        // SAFETY: an outgoing message has as many bytes as the message, by the check above.
        exchange.start(mpi, |i, packed| unsafe { messages[ends.sends[i].0].pack(packed.as_mut_ptr()) })
    }

    fn receive<R: Write>(&mut self, mpi: &Usable, into: &mut [R]) -> Result<(), Error> {
        let Self { ends, exchange, .. } = self;
        let Some(exchange) = exchange else { return Ok(()) };
        let at = |i: usize| ends.receives[i].0;
        exchange.finish(mpi, 1, |_, _| Ok(()), |i, packed| into[at(i)].unpack(packed))
    }
}

impl Ends {
    /// Returns the messages of these sizes.
    pub(super) fn planned(&self, [sends, receives]: [&[usize]; 2]) -> [Vec<Planned>; 2] {
        let planned = |ends: &[(usize, Address)], sizes: &[usize]| -> Vec<_> {
            ends.iter().zip(sizes).map(|((_, peer), size)| Planned { peer: *peer, size: *size }).collect()
        };
        [planned(&self.sends, sends), planned(&self.receives, receives)]
    }

    /// Sends messages without bytes, so that no rank waits for this one, which has an error.
    pub(super) fn refuse(&self, mpi: &Usable, companion: Arc<Companion>, error: Error) -> Error {
        let nothing = [vec![0; self.sends.len()], vec![0; self.receives.len()]];
        Exchange::refuse(mpi, companion, Ok(self.planned(nothing.each_ref().map(Vec::as_slice))), error)
    }

    /// Checks the lengths of the lists of messages and destinations.
    pub(super) fn check(&self, messages: usize, into: usize) -> Result<(), Error> {
        let [sends, receives] = self.lengths;
        for (what, found, ranks) in
            [("messages to send", messages, sends), ("messages to receive into", into, receives)]
        {
            if found != ranks {
                return Err(Error::Messages { what, found, ranks });
            }
        }
        Ok(())
    }
}

/// An exchange under way.
#[must_use = "the messages are not received before `finish`"]
pub struct PendingExchange<'a, R> {
    exchange: Lent<'a, PreparedExchange>,
    into: &'a mut [R],
}

impl<R: Write> PendingExchange<'_, R> {
    /// Returns `true` if all messages have been sent and received (`MPI_Testall`). Most libraries make
    /// progress only during calls, so long computations should call this now and then.
    ///
    /// # Errors
    /// If an MPI call fails.
    pub fn is_done(&mut self) -> Result<bool, Error> {
        let mpi = &ready()?;
        self.exchange.get().exchange.as_mut().map_or(Ok(true), |exchange| exchange.is_done(mpi))
    }

    /// Waits for all messages, and unpacks them.
    ///
    /// # Errors
    /// The errors of [`PreparedExchange::exchange`].
    pub fn finish(mut self) -> Result<(), Error> {
        let mpi = &ready()?;
        self.exchange.get().receive(mpi, self.into)
    }
}

impl fmt::Debug for PreparedExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedExchange").field("packed_sizes", &self.sizes).finish_non_exhaustive()
    }
}

impl<R> fmt::Debug for PendingExchange<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingExchange").field("destinations", &self.into.len()).finish_non_exhaustive()
    }
}
