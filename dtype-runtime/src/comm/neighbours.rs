//! Collective calls among neighbours (MPI 4.1 sections 8.6 and 8.7).

use std::marker::PhantomData;

use ::mpi::{ffi::MPI_Comm, topology::SimpleCommunicator};

use super::{Comm, Handle, Message, Pending, Place, Preparing, Starting, message::outgoing};
use crate::{
    Error, FromMessage, Result, Wire,
    mpi::{Usable, ready},
    transfer::{
        address::Address,
        carried::Carried,
        exchange::{Around, Started, at_once, misfit},
        incoming::made,
        topology::{around, graph, neighbours, topology},
        waiting::matched_meanwhile,
    },
};

impl<C: Handle> Comm<C> {
    /// Returns the neighbours in the topology of the communicator: a Cartesian grid, a graph, or a
    /// [distributed graph](Self::graph).
    pub fn neighbours(&self) -> Neighbours<'_> {
        Neighbours { communicator: self.channel().communicator, borrow: PhantomData }
    }

    /// Creates a communicator with the same ranks whose topology is a distributed graph: this rank receives
    /// from `sources` and sends to `destinations` (`MPI_Dist_graph_create_adjacent`, MPI 4.1 section 8.5.4).
    /// All ranks must make this call. A rank may be named more than once, and may be this rank itself.
    ///
    /// ```no_run
    /// use dtype_runtime::{Result, run};
    ///
    /// fn main() {
    ///     run(|world| -> Result {
    ///         // Every rank reports to rank 0.
    ///         let is_root = world.rank() == 0;
    ///         let all: Vec<usize> = if is_root { (0..world.size()).collect() } else { Vec::new() };
    ///         let star = world.graph(&all, &[0])?;
    ///         let reports = star.neighbours().all_gather(&world.rank())?;
    ///         assert_eq!(reports, all);
    ///         Ok(())
    ///     });
    /// }
    /// ```
    ///
    /// # Errors
    /// `Argument` if a neighbour is no rank of the communicator; `Elsewhere` if another rank has an error;
    /// `Unsupported` on an intercommunicator; an error if an MPI call fails.
    #[doc(alias = "distributed_graph")]
    pub fn graph(&self, sources: &[usize], destinations: &[usize]) -> Result<Comm<SimpleCommunicator>> {
        let mpi = &ready()?;
        let numbers = |ranks: &[usize]| -> Vec<i32> {
            ranks.iter().map(|rank| i32::try_from(*rank).unwrap_or(i32::MAX)).collect()
        };
        let members = self.members(mpi);
        let (sources, destinations) = (numbers(sources), numbers(destinations));
        graph(mpi, members.communicator, [self.rank(), members.ranks], &sources, &destinations)
            .map(Comm::from)
    }
}

/// The neighbours of this rank, in MPI's order.
///
/// In a Cartesian grid, neighbour `2k` is the one below in dimension `k`, and neighbour `2k + 1` the one
/// above. At the end of a dimension that is not periodic there is none: nothing is sent there, and what would
/// be received stays as it is. All ranks must make the same calls in the same order.
#[derive(Clone, Copy)]
pub struct Neighbours<'c> {
    communicator: MPI_Comm,
    borrow: PhantomData<&'c ()>,
}

impl Neighbours<'_> {
    /// Returns the ranks that this rank receives from; `None` where there is no neighbour.
    ///
    /// # Errors
    /// `Argument` if the communicator has no topology; an error if an MPI call fails.
    pub fn sources(self) -> Result<Vec<Option<usize>>> {
        self.ranks().map(|[sources, _]| sources)
    }

    /// Returns the ranks that this rank sends to; `None` where there is no neighbour.
    ///
    /// # Errors
    /// The errors of [`sources`](Self::sources).
    pub fn destinations(self) -> Result<Vec<Option<usize>>> {
        self.ranks().map(|[_, destinations]| destinations)
    }

    fn ranks(self) -> Result<[Vec<Option<usize>>; 2]> {
        let mpi = &ready()?;
        let found = neighbours(mpi, self.communicator, topology(mpi, self.communicator)?)?;
        // `MPI_PROC_NULL` is negative in every library.
        Ok(found.map(|ranks| ranks.into_iter().map(|rank| usize::try_from(rank).ok()).collect()))
    }

    /// Sends a value to each neighbour, and returns those of the neighbours that there are, in their order
    /// (`MPI_Neighbor_allgather`, `MPI_Neighbor_allgatherv`).
    ///
    /// # Errors
    /// `Argument` if the communicator has no topology; otherwise those of [`Peer::send`](super::Peer::send)
    /// and [`Peer::receive`](super::Peer::receive).
    #[doc(alias = "neighbour_all_gather_packed")]
    pub fn all_gather<T: FromMessage>(self, value: &T) -> Result<Vec<T>> {
        self.make(None, |_| value)
    }

    /// Sends a message to each neighbour, and receives one from neighbour `i` into place `i`.
    ///
    /// # Errors
    /// The errors of [`all_to_all_into`](Self::all_to_all_into).
    #[doc(alias = "neighbour_all_gather_varcount_packed")]
    pub fn all_gather_into<S: Message + ?Sized, R: Place>(self, message: &S, places: &mut [R]) -> Result {
        self.fill(None, |_| message, places)
    }

    /// Sends value `i` to neighbour `i`, and returns those of the neighbours that there are, in their order
    /// (`MPI_Neighbor_alltoall`, `MPI_Neighbor_alltoallv`).
    ///
    /// # Errors
    /// `Argument` if there are not as many values as neighbours; otherwise those of
    /// [`all_gather`](Self::all_gather).
    #[doc(alias = "neighbour_all_to_all_packed")]
    #[doc(alias = "neighbour_all_to_all_vec")]
    pub fn all_to_all<T: FromMessage>(self, values: &[T]) -> Result<Vec<T>> {
        self.make(Some(values.len()), |i| &values[i])
    }

    /// Sends message `i` to neighbour `i`, and receives from neighbour `i` into place `i`
    /// (`MPI_Neighbor_alltoallw`). Each message and each place may have a layout of its own.
    ///
    /// # Errors
    /// `Argument` if there are not as many messages, or places, as neighbours, or if the communicator has no
    /// topology; `Size` if a message has another size than its place; otherwise those of
    /// [`Peer::receive_into`](super::Peer::receive_into). After an error, the other messages are sent and
    /// received nevertheless.
    #[doc(alias = "neighbour_all_to_all_varcount_packed")]
    pub fn all_to_all_into<S: Message, R: Place>(self, messages: &[S], places: &mut [R]) -> Result {
        self.fill(Some(messages.len()), |i| &messages[i], places)
    }

    /// Starts exchanges instead of waiting for them.
    pub fn start(self) -> Starting<Self> {
        Starting(self)
    }

    /// Prepares exchanges that are made many times.
    pub fn prepare(self) -> Preparing<Self> {
        Preparing(self)
    }

    /// Asks the communicator for the neighbours. All ranks must make this call.
    pub(super) fn around(self, mpi: &Usable) -> Result<Around> {
        around(mpi, self.communicator)
    }

    /// Sends message `of(i)` to neighbour `i`, and returns the values that come. `count` is the number of
    /// messages, if there is a list of them.
    fn make<'m, T: FromMessage + 'm>(
        self,
        count: Option<usize>,
        of: impl Fn(usize) -> &'m T,
    ) -> Result<Vec<T>> {
        let mpi = &ready()?;
        let around = self.around(mpi)?;
        let (sends, checked) = outgoing_each(&around, count, of);
        let mut values = Vec::new();
        let received = at_once(mpi, &sends, around.ends.receives.len(), |number| {
            let matched = matched_meanwhile(mpi, around.ends.receives[number].1)?;
            let (size, rank) = (matched.size, matched.sender().rank);
            let arrived = matched.receive(mpi)?;
            values.push(made(&arrived[..size]).map_err(|error: Error| error.sent_by(rank))?);
            Ok(())
        });
        checked?;
        received.map(|()| values)
    }

    /// Sends message `of(i)` to neighbour `i`, and receives into the places. `count` is the number of
    /// messages, if there is a list of them.
    fn fill<'m, S: Message + ?Sized + 'm, R: Place>(
        self,
        count: Option<usize>,
        of: impl Fn(usize) -> &'m S,
        places: &mut [R],
    ) -> Result {
        let mpi = &ready()?;
        let around = self.around(mpi)?;
        let (sends, checked) = outgoing_each(&around, count, of);
        let checked = checked.and_then(|()| around.ends.check_places(places.len()));
        let mut places: Vec<_> = places.iter_mut().map(Place::incoming).collect();
        let received = at_once(mpi, &sends, around.ends.receives.len(), |number| {
            let (at, from) = around.ends.receives[number];
            let received = match places.get_mut(at) {
                Some(place) => place.receive(mpi, Wire::Auto, from).map(|_| ()),
                None => discard(mpi, from),
            };
            received.map_err(|error| misfit(error, from.rank))
        });
        checked?;
        received
    }
}

impl Starting<Neighbours<'_>> {
    /// Starts [`Neighbours::all_to_all_into`] (`MPI_Ineighbor_alltoallw`). The messages are free when the
    /// call returns; the places are borrowed until [`finish`](Pending::finish). Dropping the exchange waits
    /// for all messages.
    ///
    /// # Errors
    /// `Argument` if there are not as many messages, or places, as neighbours, or if the communicator has no
    /// topology; an error if an MPI call fails. The other errors are those of [`finish`](Pending::finish).
    #[doc(alias = "start_neighbour_all_to_all_varcount_packed")]
    pub fn all_to_all_into<'a, S, R>(self, messages: &[S], places: &'a mut [R]) -> Result<Pending<'a>>
    where
        S: Message,
        R: Place,
    {
        let mpi = &ready()?;
        start_exchange(mpi, self.0.around(mpi)?, messages, places)
    }
}

impl<C: Handle> Starting<&Comm<C>> {
    /// Starts [`Comm::all_to_all_into`] (`MPI_Ialltoallw`). The messages are free when the call returns; the
    /// places are borrowed until [`finish`](Pending::finish). Dropping the exchange waits for all messages.
    ///
    /// # Errors
    /// `Argument` if there are not as many messages, or places, as ranks; `Unsupported` on an
    /// intercommunicator; an error if an MPI call fails. The other errors are those of
    /// [`finish`](Pending::finish).
    #[doc(alias = "start_all_to_all_varcount_packed")]
    pub fn all_to_all_into<'a, S, R>(self, messages: &[S], places: &'a mut [R]) -> Result<Pending<'a>>
    where
        S: Message,
        R: Place,
    {
        let mpi = &ready()?;
        start_exchange(mpi, Around::all(self.0.members(mpi))?, messages, places)
    }
}

/// Starts to send a message to each rank, and to receive one from each.
fn start_exchange<'a, S: Message, R: Place>(
    mpi: &Usable,
    around: Around,
    messages: &[S],
    places: &'a mut [R],
) -> Result<Pending<'a>> {
    let (sends, checked) = outgoing_each(&around, Some(messages.len()), |i| &messages[i]);
    let checked = checked.and_then(|()| around.ends.check_places(places.len()));
    if let Err(error) = checked {
        // The other ranks get messages that say so. Theirs are received, so that none of them waits.
        let receives = &around.ends.receives;
        let _ = at_once(mpi, &sends, receives.len(), |number| discard(mpi, receives[number].1));
        return Err(error);
    }
    let places = places.iter_mut().map(Place::incoming).collect();
    let started = Started::new(mpi, around, &sends, places)?;
    Ok(Pending::new(started, |started, mpi| Ok(started.is_done(mpi)), Started::finish))
}

/// Receives a message that no place takes.
fn discard(mpi: &Usable, from: Address) -> Result {
    matched_meanwhile(mpi, from)?.receive(mpi).map(|_| ())
}

/// Returns the messages to the neighbours with their addresses. If this rank has an error, they say so, and
/// the error is returned.
fn outgoing_each<'m, S: Message + ?Sized + 'm>(
    around: &Around,
    count: Option<usize>,
    of: impl Fn(usize) -> &'m S,
) -> (Vec<(Address, Carried<'m>)>, Result) {
    let checked = count.map_or(Ok(()), |count| around.ends.check_messages(count));
    let mut failed = Ok(());
    let sends = around.ends.sends.iter().map(|(at, to)| {
        let (carried, error) = outgoing(checked.is_ok().then(|| of(*at)));
        failed = failed.clone().and(error);
        (*to, carried)
    });
    let sends = sends.collect();
    (sends, checked.and(failed))
}

debug!([] Neighbours<'_>);
