//! Exchanges: messages to several ranks and from several ranks at a time.
//!
//! Messages of an [`Exchange`] are packed into the buffers of persistent requests, and unpacked when all have
//! arrived. So MPI never uses memory of the program: parts of it may be lent meanwhile, and a guard may be
//! forgotten. Calls that end only when all has arrived may go [`directly`] instead.

use std::{mem, os::raw::c_int, sync::Arc};

use dtype_engine::Error as PackError;

use super::{
    Wire,
    address::Address,
    agreement::together,
    attach::{Companion, companion},
    carried::{Carried, outgoing},
    incoming::{Incoming, Receiving},
    making::{Making, is_faster_typed},
    members::{Members, intracommunicator},
    persistent::Persistent,
    receive::{PostedTyped, receive},
    request::Request,
    sendable::{
        pack_exactly,
        sealed::{Read, Write},
    },
    unwinding::before_waiting,
    waiting::meanwhile,
};
use crate::{
    Error,
    mpi::{Usable, ready},
};

/// A message of an exchange: the other rank with the tag, and the number of bytes.
pub(crate) struct Planned {
    pub peer: Address,
    pub size: usize,
}

/// Messages that are sent and received together, again and again. Their sizes stay the same.
pub(crate) struct Exchange {
    requests: Persistent,
    /// The ranks of the senders. The first requests are their receives, and the others are the sends.
    senders: Vec<c_int>,
    /// The number of sends.
    sends: usize,
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
        for Planned { peer, size } in receives {
            requests.add_receive(mpi, *size, *peer)?;
        }
        for Planned { peer, size } in sends {
            requests.add_send(mpi, *size, *peer)?;
        }
        let senders = receives.iter().map(|message| message.peer.rank).collect();
        Ok(Self { requests, senders, sends: sends.len(), _companion: companion })
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
        for i in 0..self.sends {
            pack(i, self.requests.outgoing(self.senders.len() + i))?;
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
    /// `Size` if a message has another size; the errors of `check` and `unpack`; an error if an
    /// MPI call fails.
    pub fn finish(
        &mut self,
        mpi: &Usable,
        value: usize,
        mut check: impl FnMut(usize, &[u8]) -> Result<(), Error>,
        mut unpack: impl FnMut(usize, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.requests.wait(mpi)?;
        for (i, rank) in self.senders.iter().enumerate() {
            check(i, self.requests.incoming(mpi, i, value).map_err(|error| misfit(error, *rank))?)?;
        }
        for i in 0..self.senders.len() {
            unpack(i, self.requests.incoming(mpi, i, value)?)?;
        }
        Ok(())
    }
}

/// Sends messages and receives others, once, from the memory of the program and into it. Their bytes are
/// those of an [`Exchange`]. `meanwhile` runs while messages are under way.
///
/// After an error, the other messages are sent and received nevertheless, and the first error is returned.
pub(crate) fn directly<S: Read, R: Write>(
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
        match outgoing(mpi, message, making, *to).and_then(|outgoing| outgoing.start(mpi, *to)) {
            Ok(request) => under_way.push(request),
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
        first = first.and(sending.is_sent(mpi, true).map(|_| ()));
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
    let (under_way, mut first) = start_each(mpi, sends, |message, to| message.start_borrowed(mpi, to));
    for number in 0..receives {
        first = first.and(receive(number));
    }
    for mut sending in under_way {
        first = first.and(meanwhile(mpi, || sending.is_sent(mpi, false)));
    }
    first
}

/// Starts to send messages, and returns those that are under way, with the first error. The receiver of a
/// message that cannot be sent gets one that says so.
fn start_each<'m, 'c, T: From<Request>>(
    mpi: &Usable,
    sends: &'m [(Address, Carried<'c>)],
    start: impl Fn(&'m Carried<'c>, Address) -> Result<T, Error>,
) -> (Vec<T>, Result<(), Error>) {
    let mut first = Ok(());
    let mut under_way = Vec::new();
    for (to, message) in sends {
        match start(message, *to) {
            Ok(sending) => under_way.push(sending),
            Err(error) => {
                first = first.and(Err(error));
                let told = Carried::failed().start(mpi, Wire::Packed, false, *to);
                under_way.extend(told.map(T::from));
            }
        }
    }
    (under_way, first)
}

/// Messages to some ranks and from some ranks that have been started. Dropping them waits for all, because
/// the other ranks wait for this one.
pub(crate) struct Started<'a> {
    sends: Vec<Request>,
    /// The receives, with the ranks of the senders.
    receives: Vec<(c_int, Receiving<'a>)>,
    /// The first error of a send.
    sent: Result<(), Error>,
    // Dropped after the requests, which are on its communicator.
    _companion: Arc<Companion>,
}

impl<'a> Started<'a> {
    /// Starts to send and to receive. Nothing is borrowed of the messages. There must be a place for each
    /// message that comes.
    pub(crate) fn new(
        mpi: &Usable,
        around: Around,
        messages: &[(Address, Carried<'_>)],
        places: Vec<Incoming<'a>>,
    ) -> Result<Self, Error> {
        let Around { companion, ends } = around;
        let mut places: Vec<_> = places.into_iter().map(Some).collect();
        let receives = ends.receives.iter().filter_map(|(at, from)| {
            let place = places.get_mut(*at)?.take()?;
            Some(Receiving::start(mpi, place, Wire::Auto, *from).map(|receiving| (from.rank, receiving)))
        });
        let receives = receives.collect::<Result<_, _>>()?;
        let start = |message: &Carried<'_>, to| message.start(mpi, Wire::Auto, false, to);
        let (sends, sent) = start_each(mpi, messages, start);
        Ok(Self { sends, receives, sent, _companion: companion })
    }

    /// Makes progress without waiting. Returns `true` if all messages have been sent and received.
    pub(crate) fn is_done(&mut self, mpi: &Usable) -> bool {
        let Self { sends, receives, sent, .. } = self;
        sends.retain_mut(|sending| match sending.is_sent(mpi, false) {
            Ok(is_sent) => !is_sent,
            Err(error) => {
                *sent = sent.clone().and(Err(error));
                false
            }
        });
        let mut are_done = sends.is_empty();
        for (_, receiving) in receives {
            are_done &= receiving.advance(mpi);
        }
        are_done
    }

    /// Waits for all messages, and returns the first error.
    pub(crate) fn finish(mut self, mpi: &Usable) -> Result<(), Error> {
        meanwhile(mpi, || Ok(self.is_done(mpi)))?;
        let outcomes = mem::take(&mut self.receives)
            .into_iter()
            .map(|(rank, receiving)| receiving.outcome().map(drop).map_err(|error| misfit(error, rank)));
        outcomes.fold(self.sent.clone(), Result::and)
    }
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        if let Ok(mpi) = &ready() {
            let _ = meanwhile(mpi, || {
                let is_done = self.is_done(mpi);
                if !is_done {
                    before_waiting();
                }
                Ok(is_done)
            });
        }
    }
}

/// Returns the error for a message that does not fit, without the tag, which is not the program's.
pub(crate) fn misfit(error: Error, rank: c_int) -> Error {
    match error {
        Error::Fit { value, expected, found, .. } => Error::Neighbour { rank, value, expected, found },
        error => error,
    }
}

/// The places of messages in lists of the program, with the ranks at the other end.
pub(crate) struct Ends {
    pub sends: Vec<(usize, Address)>,
    pub receives: Vec<(usize, Address)>,
    /// The lengths of the lists.
    pub lengths: [usize; 2],
}

/// The messages of some calls to a set of ranks and from one, in lists of the program, with the companion and
/// the tags of these calls.
pub(crate) struct Around {
    // Keeps the communicator of the ends.
    pub(crate) companion: Arc<Companion>,
    pub(crate) ends: Ends,
}

impl Around {
    /// Returns the ends of messages between all ranks. All ranks must make this call.
    pub(crate) fn all(Members { mpi, communicator, ranks }: Members<'_>) -> Result<Self, Error> {
        intracommunicator(mpi, communicator)?;
        let (companion, tag) = companion(mpi, communicator, 1)?;
        let peer = |i: usize| Address { communicator: companion.communicator, rank: i as c_int, tag };
        let all = || (0..ranks).map(|i| (i, peer(i))).collect();
        let ends = Ends { sends: all(), receives: all(), lengths: [ranks; 2] };
        Ok(Self { companion, ends })
    }

    /// Prepares exchanges of messages of these sizes. All ranks must make this call: if one of them has an
    /// error, each returns one.
    ///
    /// # Errors
    /// `Argument` if the lists have other lengths than the ends; `Elsewhere`.
    pub(crate) fn prepare(
        self,
        mpi: &Usable,
        sizes: Result<[Vec<usize>; 2], Error>,
    ) -> Result<Repeated, Error> {
        let all = self.companion.communicator;
        let checked = sizes.and_then(|sizes| {
            self.ends.check(sizes.each_ref().map(Vec::len))?;
            Ok(Repeated { around: self, exchange: None, sizes })
        });
        together(mpi, all, checked)
    }
}

/// Messages to some ranks and from some ranks, prepared once and exchanged many times (MPI 4.1 section 6.13).
pub(crate) struct Repeated {
    around: Around,
    /// The requests; `None` if they must be made again.
    exchange: Option<Exchange>,
    /// The sizes of the messages, and those of the places, in the order of the lists.
    sizes: [Vec<usize>; 2],
}

impl Repeated {
    /// Starts to send and to receive. If this rank has an error, the others get messages without bytes.
    ///
    /// # Errors
    /// `Argument` if the lists have other lengths than before; `Size` if a message, or a
    /// place of exact size, has another size; the error of `messages`.
    pub(crate) fn start(
        &mut self,
        mpi: &Usable,
        messages: Result<Vec<Carried<'_>>, Error>,
        places: &mut [Incoming<'_>],
    ) -> Result<(), Error> {
        let checked = messages.and_then(|messages| self.check(&messages, places).map(|()| messages));
        let Self { around: Around { companion, ends }, exchange, sizes } = self;
        if checked.is_err() || !exchange.as_ref().is_some_and(Exchange::is_whole) {
            // Messages of an exchange that was forgotten arrive first.
            *exchange = None;
            let planned = ends.planned(sizes);
            if let Err(error) = checked {
                return Err(Exchange::refuse(mpi, Arc::clone(companion), Ok(planned), error));
            }
            *exchange = Some(Exchange::new(mpi, Arc::clone(companion), &planned[0], &planned[1])?);
        }
        let (Some(exchange), Ok(messages)) = (exchange, checked) else { return Ok(()) };
        exchange.start(mpi, |i, packed| pack_exactly(messages[ends.sends[i].0].read(), packed))
    }

    /// Checks that messages have the sizes that were prepared.
    fn check(&self, messages: &[Carried<'_>], places: &mut [Incoming<'_>]) -> Result<(), Error> {
        let [sends, receives] = &self.sizes;
        self.around.ends.check([messages.len(), places.len()])?;
        for (message, size) in messages.iter().zip(sends) {
            PackError::unless_exactly("a prepared message", *size, message.packed_size())?;
        }
        for (place, size) in places.iter_mut().zip(receives) {
            if let Ok(exact) = place.split() {
                PackError::unless_exactly("a prepared destination", *size, exact.packed_size())?;
            }
        }
        Ok(())
    }

    /// Returns `true` if all messages have been sent and received.
    pub(crate) fn is_done(&mut self, mpi: &Usable) -> Result<bool, Error> {
        self.exchange.as_mut().map_or(Ok(true), |exchange| exchange.is_done(mpi))
    }

    /// Waits for all messages, and writes them to their places.
    ///
    /// # Errors
    /// `Size` if a rank sent another number of bytes than was prepared here, or has an error:
    /// then nothing has been written. `Value` if a rank sent invalid values: then earlier
    /// messages have been written. An error if an MPI call fails.
    pub(crate) fn finish(&mut self, mpi: &Usable, places: &mut [Incoming<'_>]) -> Result<(), Error> {
        let Self { around: Around { ends, .. }, exchange, .. } = self;
        let Some(exchange) = exchange else { return Ok(()) };
        meanwhile(mpi, || exchange.is_done(mpi))?;
        exchange.finish(mpi, 1, |_, _| Ok(()), |i, packed| places[ends.receives[i].0].unpack(packed))
    }
}

impl Ends {
    /// Returns the messages of these sizes, which are in the order of the lists.
    fn planned(&self, [sends, receives]: &[Vec<usize>; 2]) -> [Vec<Planned>; 2] {
        let planned = |ends: &[(usize, Address)], sizes: &[usize]| -> Vec<_> {
            ends.iter().map(|(at, peer)| Planned { peer: *peer, size: sizes[*at] }).collect()
        };
        [planned(&self.sends, sends), planned(&self.receives, receives)]
    }

    /// Checks the number of messages to send.
    pub(crate) fn check_messages(&self, found: usize) -> Result<(), Error> {
        check_number("messages to send", found, self.lengths[0])
    }

    /// Checks the number of places to receive into.
    pub(crate) fn check_places(&self, found: usize) -> Result<(), Error> {
        check_number("places to receive into", found, self.lengths[1])
    }

    fn check(&self, [messages, places]: [usize; 2]) -> Result<(), Error> {
        self.check_messages(messages)?;
        self.check_places(places)
    }
}

fn check_number(what: &'static str, found: usize, ranks: usize) -> Result<(), Error> {
    if found == ranks { Ok(()) } else { Err(Error::Messages { what, found, ranks }) }
}
