//! Topologies of communicators, and the neighbours in them (MPI 4.1 chapter 8).

use std::{hash::BuildHasher, os::raw::c_int};

use ::mpi::{
    Rank,
    ffi::{self, MPI_Comm},
    topology::SimpleCommunicator,
    traits::FromRaw,
};
use foldhash::fast::FixedState;

use super::{
    address::Address,
    agreement::{rank_in, reduce, together},
    attach::companion,
    bytes::count_of,
    exchange::{Around, Ends},
    members::intracommunicator,
};
use crate::{
    Error,
    mpi::{Usable, called},
};

/// Creates a communicator whose topology is a distributed graph (`MPI_Dist_graph_create_adjacent`). `own` is
/// this rank.
pub(crate) fn graph(
    mpi: &Usable,
    raw: MPI_Comm,
    [own, ranks]: [usize; 2],
    sources: &[Rank],
    destinations: &[Rank],
) -> Result<SimpleCommunicator, Error> {
    intracommunicator(mpi, raw)?;
    let ranks = ranks as Rank;
    let mut strangers = sources.iter().chain(destinations).filter(|rank| !(0..ranks).contains(*rank));
    let named = strangers.next().map_or(Ok(()), |rank| Err(Error::Rank { rank: *rank, ranks }));
    let count = |ranks: &[Rank]| {
        count_of("MPI_Dist_graph_create_adjacent", "the number of neighbours", ranks.len() as u64)
    };
    let counts = named.and_then(|()| Ok([count(sources)?, count(destinations)?]));
    let [from, to] = together(mpi, raw, counts)?;
    edges_agree(mpi, raw, own as Rank, sources, destinations)?;
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

/// Checks that each edge is a destination of the one rank and a source of the other: ranks would wait for
/// ever for messages along an edge that only one of them knows. All ranks must make this call.
fn edges_agree(
    mpi: &Usable,
    raw: MPI_Comm,
    own: Rank,
    sources: &[Rank],
    destinations: &[Rank],
) -> Result<(), Error> {
    let sum = |edges: &mut dyn Iterator<Item = [Rank; 2]>| {
        edges.map(|edge| FixedState::with_seed(0).hash_one(edge)).fold(0, u64::wrapping_add)
    };
    let received = sum(&mut sources.iter().map(|source| [*source, own]));
    let sent = sum(&mut destinations.iter().map(|destination| [own, *destination]));
    let numbers = [sources.len() as u64, destinations.len() as u64, sent.wrapping_sub(received)];
    // SAFETY: a constant of the library.
    let [sources, destinations, difference] = reduce(mpi, raw, numbers, unsafe { ffi::RSMPI_SUM })?;
    if difference == 0 { Ok(()) } else { Err(Error::Edges { sources, destinations }) }
}

/// Asks a communicator for the neighbours of this rank. All ranks must make this call.
pub(crate) fn around(mpi: &Usable, raw: MPI_Comm) -> Result<Around, Error> {
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
    Ok(Around { companion, ends })
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
    let room = |count: c_int| vec![0; usize::try_from(count).unwrap_or(0)];
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
            let rank = rank_in(mpi, communicator)?;
            let mut count = 0;
            called(mpi, "MPI_Graph_neighbors_count", communicator, || {
                // SAFETY: the communicator is a graph; there is room for a number.
                unsafe { mpi.MPI_Graph_neighbors_count(communicator, rank, &raw mut count) }
            })?;
            let mut ranks = room(count);
            called(mpi, "MPI_Graph_neighbors", communicator, || {
                // SAFETY: there is room for `count` ranks.
                unsafe { mpi.MPI_Graph_neighbors(communicator, rank, count, ranks.as_mut_ptr()) }
            })?;
            Ok([ranks.clone(), ranks])
        }
        Topology::DistributedGraph => {
            let mut from = 0;
            let mut to = 0;
            let mut is_weighted = 0;
            called(mpi, "MPI_Dist_graph_neighbors_count", communicator, || {
                let from = &raw mut from;
                let to = &raw mut to;
                let is_weighted = &raw mut is_weighted;
                // SAFETY: the communicator is a distributed graph; there is room for three numbers.
                unsafe { mpi.MPI_Dist_graph_neighbors_count(communicator, from, to, is_weighted) }
            })?;
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
