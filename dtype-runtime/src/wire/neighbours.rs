//! Collective calls among neighbours, on packed bytes (MPI 4.1 sections 8.6 and 8.7).
//!
//! Each call is one message to each neighbour and one from each, of any layout and size. The neighbours are
//! those of the communicator's topology, in MPI's order.

use std::{os::raw::c_int, sync::Arc};

use ::mpi::{
    Rank,
    ffi::{self, MPI_Comm},
    topology::{Communicator, SimpleCommunicator},
    traits::FromRaw,
};

use super::{
    Receivable, Sendable,
    agreement::together,
    attach::{Companion, companion},
    exchange::{Ends, PendingExchange, PreparedExchange},
    members::{Members, intracommunicator, members},
    request::Address,
    sendable::{Borrowed, pack_with_room},
};
use crate::{
    Error,
    mpi::{Usable, called, ready},
    types::ValuesMut,
};

/// Collective calls among neighbours, on packed bytes. The communicator has a topology: it is Cartesian, a
/// graph, or a [distributed graph](distributed_graph).
///
/// In a Cartesian grid, neighbour `2k` is the one below in dimension `k`, and neighbour `2k + 1` the one
/// above. At the end of a dimension that is not periodic there is none: nothing is sent there, and what would
/// be received stays as it is. All ranks must make the same calls in the same order.
///
/// ```no_run
/// use dtype_runtime::{layout, layout::split_mut, traits::*};
/// use mpi::traits::*;
///
/// let universe = mpi::initialize().unwrap();
/// let world = universe.world();
/// let ring = world.create_cartesian_communicator(&[world.size()], &[true], false).unwrap();
/// let n = 6;
/// let column = |j: usize| layout!(f64[n][n] => [.., j]);
/// let mut cells = vec![f64::from(ring.rank()); n * n];
/// // The columns next to the outermost ones are sent, and the outermost ones received.
/// let (inner, mut outer) = split_mut(&mut cells, &[column(0)?, column(n - 1)?])?;
/// let sent = [inner.of(&column(1)?)?, inner.of(&column(n - 2)?)?];
/// ring.neighbour_all_to_all_varcount_packed(&sent, &mut outer)?;
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
pub trait NeighbourCollectives: Communicator {
    /// Sends the same values to each neighbour that receives from this rank, and receives equal parts of
    /// `into`, one from each neighbour (`MPI_Neighbor_allgather`).
    ///
    /// # Errors
    /// [`Error::Parts`] if the values of `into` cannot be divided equally; otherwise those of
    /// [`neighbour_all_to_all_varcount_packed`](Self::neighbour_all_to_all_varcount_packed).
    fn neighbour_all_gather_packed<S, R>(&self, message: &S, into: &mut R) -> Result<(), Error>
    where
        S: Sendable + ?Sized,
        R: Receivable + ?Sized,
    {
        let mpi = &ready()?;
        let around = Around::on(mpi, self.as_raw())?;
        let sent = around.ends.sends(|| Borrowed(message));
        receive_parts(mpi, around, &sent, into)
    }

    /// Sends the same values to each neighbour that receives from this rank, and receives into destination
    /// `i` from neighbour `i` (`MPI_Neighbor_allgatherv`, but each destination may have another layout, too).
    ///
    /// # Errors
    /// The errors of [`neighbour_all_to_all_varcount_packed`](Self::neighbour_all_to_all_varcount_packed).
    fn neighbour_all_gather_varcount_packed<S, R>(&self, message: &S, into: &mut [R]) -> Result<(), Error>
    where
        S: Sendable + ?Sized,
        R: Receivable,
    {
        let mpi = &ready()?;
        let around = Around::on(mpi, self.as_raw())?;
        let sent = around.ends.sends(|| Borrowed(message));
        around.exchange(mpi, &sent, into)
    }

    /// Sends an equal part of this rank's values to each neighbour, and receives equal parts of `into`, one
    /// from each (`MPI_Neighbor_alltoall`).
    ///
    /// # Errors
    /// [`Error::Parts`] if values cannot be divided equally; otherwise those of
    /// [`neighbour_all_to_all_varcount_packed`](Self::neighbour_all_to_all_varcount_packed).
    fn neighbour_all_to_all_packed<S, R>(&self, message: &S, into: &mut R) -> Result<(), Error>
    where
        S: Sendable + ?Sized,
        R: Receivable + ?Sized,
    {
        let mpi = &ready()?;
        let around = Around::on(mpi, self.as_raw())?;
        let [neighbours, _] = around.ends.lengths;
        let size = match part_of(message.packed_size(), message.step(), neighbours) {
            Ok(size) => size,
            Err(error) => return Err(around.send_nothing(mpi, error)),
        };
        let packed = match pack_with_room(message, 0) {
            Ok(packed) => packed,
            Err(error) => return Err(around.send_nothing(mpi, error)),
        };
        let sent: Vec<_> = (0..neighbours).map(|i| Borrowed(&packed[i * size..][..size])).collect();
        receive_parts(mpi, around, &sent, into)
    }

    /// Sends message `i` to neighbour `i`, and receives from neighbour `i` into destination `i`
    /// (`MPI_Neighbor_alltoallv`, and `MPI_Neighbor_alltoallw`, since each message may have another layout).
    ///
    /// # Errors
    /// [`Error::Messages`] if there are not as many messages as neighbours; [`Error::NoNeighbours`];
    /// otherwise those of [`PreparedExchange::exchange`].
    fn neighbour_all_to_all_varcount_packed<S, R>(&self, messages: &[S], into: &mut [R]) -> Result<(), Error>
    where
        S: Sendable,
        R: Receivable,
    {
        let mpi = &ready()?;
        Around::on(mpi, self.as_raw())?.exchange(mpi, messages, into)
    }

    /// Starts [`neighbour_all_to_all_varcount_packed`](Self::neighbour_all_to_all_varcount_packed), and
    /// returns without waiting (`MPI_Ineighbor_alltoallw`).
    ///
    /// # Errors
    /// The errors of [`neighbour_all_to_all_varcount_packed`](Self::neighbour_all_to_all_varcount_packed).
    fn start_neighbour_all_to_all_varcount_packed<'a, S, R>(
        &self,
        messages: &[S],
        into: &'a mut [R],
    ) -> Result<PendingExchange<'a, R>, Error>
    where
        S: Sendable,
        R: Receivable,
    {
        let mpi = &ready()?;
        let Around { companion, ends } = Around::on(mpi, self.as_raw())?;
        PreparedExchange::start_once(mpi, companion, ends, messages, into)
    }

    /// Prepares [`neighbour_all_to_all_varcount_packed`](Self::neighbour_all_to_all_varcount_packed) for
    /// messages and destinations of these sizes (`MPI_Neighbor_alltoallw_init`).
    ///
    /// # Errors
    /// [`Error::Messages`] if there are not as many messages as neighbours; [`Error::NoNeighbours`];
    /// [`Error::Elsewhere`] if another rank has an error; an error if an MPI call fails.
    fn prepare_neighbour_all_to_all_varcount_packed<S, R>(
        &self,
        messages: &[S],
        into: &[R],
    ) -> Result<PreparedExchange, Error>
    where
        S: Sendable,
        R: Receivable,
    {
        let mpi = &ready()?;
        let around = Around::on(mpi, self.as_raw())?;
        let communicator = around.companion.communicator;
        together(mpi, communicator, around.prepared(messages, into))
    }
}

impl<C: Communicator + ?Sized> NeighbourCollectives for C {}

/// Creates a communicator with the same ranks whose topology is a distributed graph: this rank receives from
/// `sources` and sends to `destinations` (`MPI_Dist_graph_create_adjacent`, MPI 4.1 section 8.5.4). All ranks
/// must make this call. A rank may be named more than once, and may be this rank itself.
///
/// ```no_run
/// use dtype_runtime::{traits::*, wire::distributed_graph};
/// use mpi::traits::*;
///
/// let universe = mpi::initialize().unwrap();
/// let world = universe.world();
/// // Every rank reports to rank 0.
/// let all: Vec<i32> = if world.rank() == 0 { (0..world.size()).collect() } else { Vec::new() };
/// let star = distributed_graph(&world, &all, &[0])?;
/// let mut reports = vec![0.0f64; all.len()];
/// star.neighbour_all_gather_packed(&f64::from(world.rank()), &mut reports)?;
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # Errors
/// [`Error::Rank`] if a neighbour is no rank of the communicator; [`Error::Elsewhere`] if another rank has an
/// error; an error if an MPI call fails.
pub fn distributed_graph<C: Communicator + ?Sized>(
    communicator: &C,
    sources: &[Rank],
    destinations: &[Rank],
) -> Result<SimpleCommunicator, Error> {
    let mpi = &ready()?;
    let Members { communicator: raw, ranks, .. } = members(mpi, communicator)?;
    graph(mpi, raw, ranks, sources, destinations)
}

/// See [`distributed_graph`].
pub(crate) fn graph(
    mpi: &Usable,
    raw: MPI_Comm,
    ranks: usize,
    sources: &[Rank],
    destinations: &[Rank],
) -> Result<SimpleCommunicator, Error> {
    intracommunicator(mpi, raw)?;
    let ranks = ranks as Rank;
    let mut strangers = sources.iter().chain(destinations).filter(|rank| !(0..ranks).contains(*rank));
    let named = strangers.next().map_or(Ok(()), |rank| Err(Error::Rank { rank: *rank, ranks }));
    let counts = named.and_then(|()| Ok([count_of(sources)?, count_of(destinations)?]));
    let [from, to] = together(mpi, raw, counts)?;
    let mut graph = raw;
    called(mpi, "MPI_Dist_graph_create_adjacent", raw, || {
        // SAFETY: the lists have as many ranks as is said; edges have no weights; there is room for a handle.
        unsafe {
            mpi.MPI_Dist_graph_create_adjacent(
                raw,
                from,
                sources.as_ptr(),
                ffi::RSMPI_UNWEIGHTED(),
                to,
                destinations.as_ptr(),
                ffi::RSMPI_UNWEIGHTED(),
                ffi::RSMPI_INFO_NULL,
                0,
                &raw mut graph,
            )
        }
    })?;
    // SAFETY: the communicator was just created, and is freed by its only owner.
    Ok(unsafe { SimpleCommunicator::from_raw(graph) })
}

/// The neighbours of this rank, and the communicator and tags of one call.
pub(crate) struct Around {
    // Keeps the communicator of the ends.
    companion: Arc<Companion>,
    pub(crate) ends: Ends,
}

impl Around {
    /// Asks the communicator for the neighbours. All ranks must make this call.
    pub(crate) fn on(mpi: &Usable, raw: MPI_Comm) -> Result<Self, Error> {
        /// The greatest number of tags that a call needs: one for each neighbour in a grid.
        const TAGS: u32 = 2 * 32;
        intracommunicator(mpi, raw)?;
        let (companion, tags) = companion(mpi, raw, TAGS)?;
        let topology = topology(mpi, raw)?;
        let [sources, destinations] = neighbours(mpi, raw, topology)?;
        let peers = |ranks: &[Rank], tag: &dyn Fn(usize) -> c_int| -> Vec<_> {
            let peers = ranks.iter().enumerate().map(|(i, rank)| {
                (i, Address { communicator: companion.communicator, rank: *rank, tag: tags + tag(i) })
            });
            peers.filter(|(_, peer)| !peer.is_nobody()).collect()
        };
        let is_grid = topology == Topology::Cartesian;
        // In a grid, what goes down comes from above there, also if both neighbours are one rank. In a graph,
        // messages of equal tags between two ranks stay in the order of the edges.
        let tag = |i: usize| if is_grid { (i % TAGS as usize) as c_int } else { 0 };
        let ends = Ends {
            sends: peers(&destinations, &tag),
            receives: peers(&sources, &|i| tag(i ^ usize::from(is_grid))),
            lengths: [destinations.len(), sources.len()],
        };
        Ok(Self { companion, ends })
    }

    fn prepared<S: Sendable, R: Receivable>(
        self,
        messages: &[S],
        into: &[R],
    ) -> Result<PreparedExchange, Error> {
        PreparedExchange::new(self.companion, self.ends, messages, into)
    }

    /// Exchanges messages once.
    fn exchange<S: Sendable, R: Receivable>(
        self,
        mpi: &Usable,
        messages: &[S],
        into: &mut [R],
    ) -> Result<(), Error> {
        if let Err(error) = self.ends.check(messages.len(), into.len()) {
            return Err(self.send_nothing(mpi, error));
        }
        self.prepared(messages, into)?.exchange(messages, into)
    }

    /// Sends messages without bytes, so that no neighbour waits for this rank, which has an error.
    fn send_nothing(self, mpi: &Usable, error: Error) -> Error {
        self.ends.refuse(mpi, self.companion, error)
    }
}

impl Ends {
    /// Returns one item for each message to send.
    fn sends<M>(&self, message: impl FnMut() -> M) -> Vec<M> {
        std::iter::repeat_with(message).take(self.lengths[0]).collect()
    }
}

/// Exchanges messages with the neighbours, and receives into equal parts of one destination.
fn receive_parts<S, R>(mpi: &Usable, around: Around, sent: &[S], into: &mut R) -> Result<(), Error>
where
    S: Sendable,
    R: Receivable + ?Sized,
{
    let [_, neighbours] = around.ends.lengths;
    let size = match part_of(into.packed_size(), into.step(), neighbours) {
        Ok(size) => size,
        Err(error) => return Err(around.send_nothing(mpi, error)),
    };
    if neighbours == 0 {
        let nothing: &mut [ValuesMut<'_, u8>] = &mut [];
        return around.exchange(mpi, sent, nothing);
    }
    // Parts without a neighbour stay as they are.
    let mut packed = match pack_with_room(into, 0) {
        Ok(packed) => packed,
        Err(error) => return Err(around.send_nothing(mpi, error)),
    };
    let whole = &mut packed[..size * neighbours];
    let mut parts: Vec<ValuesMut<'_, u8>> = if size == 0 {
        std::iter::repeat_with(|| ValuesMut(&mut [])).take(neighbours).collect()
    } else {
        whole.chunks_exact_mut(size).map(ValuesMut).collect()
    };
    around.exchange(mpi, sent, &mut parts)?;
    into.unpack(&packed[..size * neighbours])
}

/// Returns the size of each of `parts` equal parts of a message, in bytes; 0 if there are no parts.
fn part_of(size: usize, step: usize, parts: usize) -> Result<usize, Error> {
    let part = size.checked_div(parts).unwrap_or(0);
    let divides = parts == 0 || part * parts == size && part % step == 0;
    divides.then_some(part).ok_or(Error::Parts { found: size, ranks: parts })
}

/// The kind of a communicator's topology.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Topology {
    Cartesian,
    Graph,
    DistributedGraph,
}

pub(crate) fn topology(mpi: &Usable, communicator: MPI_Comm) -> Result<Topology, Error> {
    let mut kind = 0;
    called(mpi, "MPI_Topo_test", communicator, || {
        // SAFETY: the communicator is live; there is room for a number.
        unsafe { mpi.MPI_Topo_test(communicator, &raw mut kind) }
    })?;
    // SAFETY: constants of the library.
    let [cartesian, graph, distributed] =
        unsafe { [ffi::RSMPI_CART, ffi::RSMPI_GRAPH, ffi::RSMPI_DIST_GRAPH] };
    match kind {
        kind if kind == cartesian => Ok(Topology::Cartesian),
        kind if kind == graph => Ok(Topology::Graph),
        kind if kind == distributed => Ok(Topology::DistributedGraph),
        _ => Err(Error::NoNeighbours),
    }
}

/// Returns the ranks from which this rank receives, and those to which it sends.
pub(crate) fn neighbours(
    mpi: &Usable,
    communicator: MPI_Comm,
    topology: Topology,
) -> Result<[Vec<Rank>; 2], Error> {
    match topology {
        Topology::Cartesian => {
            let mut dimensions = 0;
            called(mpi, "MPI_Cartdim_get", communicator, || {
                // SAFETY: the communicator is Cartesian; there is room for a number.
                unsafe { mpi.MPI_Cartdim_get(communicator, &raw mut dimensions) }
            })?;
            let mut ranks = Vec::new();
            for k in 0..dimensions {
                let (mut below, mut above) = (0, 0);
                called(mpi, "MPI_Cart_shift", communicator, || {
                    // SAFETY: the communicator has this dimension; there is room for two ranks.
                    unsafe { mpi.MPI_Cart_shift(communicator, k, 1, &raw mut below, &raw mut above) }
                })?;
                ranks.extend([below, above]);
            }
            Ok([ranks.clone(), ranks])
        }
        Topology::Graph => {
            let (mut rank, mut count) = (0, 0);
            called(mpi, "MPI_Graph_neighbors_count", communicator, || {
                // SAFETY: the communicator is a graph; there is room for two numbers.
                unsafe {
                    let code = mpi.MPI_Comm_rank(communicator, &raw mut rank);
                    if code != 0 {
                        return code;
                    }
                    mpi.MPI_Graph_neighbors_count(communicator, rank, &raw mut count)
                }
            })?;
            let mut ranks = vec![0; usize::try_from(count).unwrap_or(0)];
            called(mpi, "MPI_Graph_neighbors", communicator, || {
                // SAFETY: there is room for `count` ranks.
                unsafe { mpi.MPI_Graph_neighbors(communicator, rank, count, ranks.as_mut_ptr()) }
            })?;
            Ok([ranks.clone(), ranks])
        }
        Topology::DistributedGraph => {
            let (mut from, mut to, mut is_weighted) = (0, 0, 0);
            called(mpi, "MPI_Dist_graph_neighbors_count", communicator, || {
                let (from, to, is_weighted) = (&raw mut from, &raw mut to, &raw mut is_weighted);
                // SAFETY: the communicator is a distributed graph; there is room for three numbers.
                unsafe { mpi.MPI_Dist_graph_neighbors_count(communicator, from, to, is_weighted) }
            })?;
            let room = |count: c_int| vec![0; usize::try_from(count).unwrap_or(0)];
            let (mut sources, mut destinations) = (room(from), room(to));
            let (mut of_sources, mut of_destinations) = (room(from), room(to));
            called(mpi, "MPI_Dist_graph_neighbors", communicator, || {
                let (sources, destinations) = (sources.as_mut_ptr(), destinations.as_mut_ptr());
                let weights = (of_sources.as_mut_ptr(), of_destinations.as_mut_ptr());
                // SAFETY: there is room for the ranks and weights of all edges.
                unsafe {
                    mpi.MPI_Dist_graph_neighbors(
                        communicator,
                        from,
                        sources,
                        weights.0,
                        to,
                        destinations,
                        weights.1,
                    )
                }
            })?;
            Ok([sources, destinations])
        }
    }
}

fn count_of(ranks: &[Rank]) -> Result<c_int, Error> {
    c_int::try_from(ranks.len()).map_err(|_| Error::Argument {
        call: "MPI_Dist_graph_create_adjacent",
        argument: "the number of neighbours",
        value: ranks.len() as i128,
        limit: c_int::MAX.into(),
    })
}
