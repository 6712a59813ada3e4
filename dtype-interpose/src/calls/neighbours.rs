//! Collective calls of neighbours in a topology (MPI 4.1 section 8.6).

use std::os::raw::{c_int, c_void};

use mpi::ffi::{self, MPI_Comm, MPI_Datatype, MPI_Request};

use super::{
    collective::collectives,
    sides::{Listed, Side, Sides},
};
use crate::staged::Argument;

/// How many neighbours a rank receives from, and sends to.
///
/// # Safety
/// The program's promise.
unsafe fn neighbours(communicator: MPI_Comm) -> (usize, usize) {
    let (mut topology, mut from, mut to, mut weighted, mut rank) = (0, 0, 0, 0, 0);
    // SAFETY: the program's promise; constants of the library; there is room for a number each.
    unsafe {
        ffi::MPI_Topo_test(communicator, &raw mut topology);
        if topology == ffi::RSMPI_CART {
            ffi::MPI_Cartdim_get(communicator, &raw mut from);
            (from, to) = (2 * from, 2 * from);
        } else if topology == ffi::RSMPI_DIST_GRAPH {
            ffi::MPI_Dist_graph_neighbors_count(communicator, &raw mut from, &raw mut to, &raw mut weighted);
        } else if topology == ffi::RSMPI_GRAPH {
            ffi::MPI_Comm_rank(communicator, &raw mut rank);
            ffi::MPI_Graph_neighbors_count(communicator, rank, &raw mut from);
            to = from;
        }
    }
    (usize::try_from(from).unwrap_or(0), usize::try_from(to).unwrap_or(0))
}

collectives! {
    fn Neighbor_allgather, Ineighbor_allgather(
        from: *const c_void,
        from_count: Count,
        from_type: MPI_Datatype,
        to: *mut c_void,
        to_count: Count,
        to_type: MPI_Datatype,
        communicator: MPI_Comm,
    ) |call| {
        let (sources, _) = neighbours(communicator);
        Sides::<c_int, c_int> {
            send: Side::sent(call, Argument::new(from, from_count, from_type), 1, communicator),
            receive: Side::received(call, Argument::new(to, to_count, to_type), sources, communicator),
        }
    } |sides| (
        sides.send.buffer,
        from_count,
        sides.send.datatype,
        sides.receive.buffer,
        to_count,
        sides.receive.datatype,
        communicator,
    )

    fn Neighbor_allgatherv, Ineighbor_allgatherv(
        from: *const c_void,
        from_count: Count,
        from_type: MPI_Datatype,
        to: *mut c_void,
        counts: *const Count,
        places: *const Place,
        to_type: MPI_Datatype,
        communicator: MPI_Comm,
    ) |call| {
        let (sources, _) = neighbours(communicator);
        let named = Listed { buffer: to, counts, places, datatype: to_type };
        Sides::<c_int, Place> {
            send: Side::sent(call, Argument::new(from, from_count, from_type), 1, communicator),
            receive: Side::listed(call, &named, sources, communicator),
        }
    } |sides| (
        sides.send.buffer,
        from_count,
        sides.send.datatype,
        sides.receive.buffer,
        counts,
        sides.receive.places,
        sides.receive.datatype,
        communicator,
    )

    fn Neighbor_alltoall, Ineighbor_alltoall(
        from: *const c_void,
        from_count: Count,
        from_type: MPI_Datatype,
        to: *mut c_void,
        to_count: Count,
        to_type: MPI_Datatype,
        communicator: MPI_Comm,
    ) |call| {
        let (sources, targets) = neighbours(communicator);
        Sides::<c_int, c_int> {
            send: Side::sent(call, Argument::new(from, from_count, from_type), targets, communicator),
            receive: Side::received(call, Argument::new(to, to_count, to_type), sources, communicator),
        }
    } |sides| (
        sides.send.buffer,
        from_count,
        sides.send.datatype,
        sides.receive.buffer,
        to_count,
        sides.receive.datatype,
        communicator,
    )

    fn Neighbor_alltoallv, Ineighbor_alltoallv(
        from: *const c_void,
        from_counts: *const Count,
        from_places: *const Place,
        from_type: MPI_Datatype,
        to: *mut c_void,
        to_counts: *const Count,
        to_places: *const Place,
        to_type: MPI_Datatype,
        communicator: MPI_Comm,
    ) |call| {
        let (sources, targets) = neighbours(communicator);
        let sent = Listed { buffer: from, counts: from_counts, places: from_places, datatype: from_type };
        let received = Listed { buffer: to, counts: to_counts, places: to_places, datatype: to_type };
        Sides::<Place, Place> {
            send: Side::sent_listed(call, &sent, targets, communicator),
            receive: Side::listed(call, &received, sources, communicator),
        }
    } |sides| (
        sides.send.buffer,
        from_counts,
        sides.send.places,
        sides.send.datatype,
        sides.receive.buffer,
        to_counts,
        sides.receive.places,
        sides.receive.datatype,
        communicator,
    )
}
