//! The ranks that take part in a collective call, and the numbers of blocks that this rank sends and
//! receives. Only arguments that are significant on this rank by the standard are read.

use std::os::raw::{c_int, c_void};

use dtype_mpi::constants::{MPI_IN_PLACE, MPI_ROOT};

use crate::native::{self, MPI_Comm};

/// The numbers of blocks that this rank sends and receives: 0 if the buffer is not significant.
#[derive(Clone, Copy, Default)]
pub(crate) struct BlockCounts {
    pub sent: usize,
    pub received: usize,
    /// `true` if some received blocks are in place already, or are not updated by the call.
    pub keeps: bool,
}

/// The arguments of a call that determine its blocks.
pub(crate) struct Asked {
    pub communicator: MPI_Comm,
    /// The root, if the call has one.
    pub root: c_int,
    pub from: *const c_void,
    pub to: *const c_void,
}

impl Asked {
    /// Returns the blocks of gathers.
    ///
    /// # Safety
    /// Promises 1 and 2 for the communicator.
    pub unsafe fn gather(&self) -> BlockCounts {
        // SAFETY: promises 1 and 2 for the communicator.
        let members = unsafe { Members::of(self.communicator) };
        let (is_root, keeps) = (members.is_root(self.root), self.from == in_place());
        BlockCounts {
            sent: usize::from(members.has_part(self.root) && !keeps),
            received: if is_root { members.size } else { 0 },
            keeps,
        }
    }

    /// Returns the blocks of scatters.
    ///
    /// # Safety
    /// Promises 1 and 2 for the communicator.
    pub unsafe fn scatter(&self) -> BlockCounts {
        // SAFETY: promises 1 and 2 for the communicator.
        let members = unsafe { Members::of(self.communicator) };
        let is_root = members.is_root(self.root);
        BlockCounts {
            sent: if is_root { members.size } else { 0 },
            received: usize::from(members.has_part(self.root) && self.to != in_place()),
            keeps: false,
        }
    }

    /// Returns the blocks of broadcasts.
    ///
    /// # Safety
    /// Promises 1 and 2 for the communicator.
    pub unsafe fn broadcast(&self) -> BlockCounts {
        // SAFETY: promises 1 and 2 for the communicator.
        let members = unsafe { Members::of(self.communicator) };
        let is_root = members.is_root(self.root);
        let receives = !is_root && members.has_part(self.root);
        BlockCounts { sent: usize::from(is_root), received: usize::from(receives), keeps: false }
    }

    /// Returns the blocks of allgathers.
    ///
    /// # Safety
    /// Promises 1 and 2 for the communicator.
    pub unsafe fn allgather(&self) -> BlockCounts {
        // SAFETY: promises 1 and 2 for the communicator.
        BlockCounts { sent: 1, ..unsafe { self.alltoall() } }.unless(self.from == in_place())
    }

    /// Returns the blocks of all-to-all exchanges.
    ///
    /// # Safety
    /// Promises 1 and 2 for the communicator.
    pub unsafe fn alltoall(&self) -> BlockCounts {
        // SAFETY: promises 1 and 2 for the communicator.
        let Members { size, .. } = unsafe { Members::of(self.communicator) };
        BlockCounts { sent: size, received: size, keeps: false }.unless(self.from == in_place())
    }

    /// Returns the blocks of allgathers between neighbours.
    ///
    /// # Safety
    /// Promises 1 and 2 for the communicator.
    pub unsafe fn neighbor_allgather(&self) -> BlockCounts {
        // SAFETY: promises 1 and 2 for the communicator.
        BlockCounts { sent: 1, ..unsafe { self.neighbor_alltoall() } }
    }

    /// Returns the blocks of all-to-all exchanges between neighbours.
    ///
    /// # Safety
    /// Promises 1 and 2 for the communicator.
    pub unsafe fn neighbor_alltoall(&self) -> BlockCounts {
        let (mut topology, mut from, mut to, mut weighted, mut rank) = (0, 0, 0, 0, 0);
        let (communicator, mut keeps) = (self.communicator, false);
        // SAFETY: promises 1 and 2 for the communicator, whose topology is tested before it is queried;
        // constants of the library; there is room for an integer each.
        unsafe {
            native::MPI_Topo_test(communicator, &raw mut topology);
            if topology == native::MPI_CART() {
                native::MPI_Cartdim_get(communicator, &raw mut from);
                keeps = is_at_an_edge(communicator, from);
                (from, to) = (2 * from, 2 * from);
            } else if topology == native::MPI_DIST_GRAPH() {
                let weighted = &raw mut weighted;
                native::MPI_Dist_graph_neighbors_count(communicator, &raw mut from, &raw mut to, weighted);
            } else if topology == native::MPI_GRAPH() {
                native::MPI_Comm_rank(communicator, &raw mut rank);
                native::MPI_Graph_neighbors_count(communicator, rank, &raw mut from);
                to = from;
            }
        }
        let [sent, received] = [to, from].map(|blocks| usize::try_from(blocks).unwrap_or(0));
        BlockCounts { sent, received, keeps }
    }
}

/// Returns `true` if this rank lacks a neighbour in some direction of a Cartesian grid. The buffer has a
/// block for that neighbour nevertheless, which the call does not update (MPI 4.1 section 8.6).
///
/// # Safety
/// Promises 1 and 2 for the communicator, which has a Cartesian topology of `dimensions` dimensions.
unsafe fn is_at_an_edge(communicator: MPI_Comm, dimensions: c_int) -> bool {
    let mut lists = [(); 3].map(|()| vec![0; usize::try_from(dimensions).unwrap_or(0)]);
    let [sizes, are_periodic, places] = &mut lists;
    // SAFETY: promises 1 and 2 for the communicator; each list has an item for each dimension.
    unsafe {
        let periodic = are_periodic.as_mut_ptr();
        native::MPI_Cart_get(communicator, dimensions, sizes.as_mut_ptr(), periodic, places.as_mut_ptr());
    }
    let sides = sizes.iter().zip(are_periodic).zip(places);
    sides.into_iter().any(|((size, periodic), place)| *periodic == 0 && (*place == 0 || *place == size - 1))
}

impl BlockCounts {
    fn unless(self, not: bool) -> Self {
        if not { Self::default() } else { self }
    }
}

/// A communicator, as this rank sees it.
struct Members {
    rank: c_int,
    /// The number of ranks in the group, or in the remote group of an intercommunicator.
    size: usize,
    has_other_group: bool,
}

impl Members {
    /// Queries a communicator.
    ///
    /// # Safety
    /// Promises 1 and 2 for the communicator.
    unsafe fn of(communicator: MPI_Comm) -> Self {
        let (mut rank, mut size, mut between) = (0, 0, 0);
        // SAFETY: promises 1 and 2 for the communicator; there is room for an integer each.
        unsafe {
            native::MPI_Comm_rank(communicator, &raw mut rank);
            native::MPI_Comm_test_inter(communicator, &raw mut between);
            if between == 0 {
                native::MPI_Comm_size(communicator, &raw mut size);
            } else {
                native::MPI_Comm_remote_size(communicator, &raw mut size);
            }
        }
        Self { rank, size: usize::try_from(size).unwrap_or(0), has_other_group: between != 0 }
    }

    /// Returns `true` if this rank is the root of a call. The root in an intercommunicator passes `MPI_ROOT`.
    fn is_root(&self, root: c_int) -> bool {
        if self.has_other_group { root == MPI_ROOT() } else { root == self.rank }
    }

    /// Returns `true` if this rank has a block of its own in a call with a root. In an intercommunicator,
    /// only the ranks of the group without the root have one. They pass the rank of the root.
    fn has_part(&self, root: c_int) -> bool {
        !self.has_other_group || root >= 0
    }
}

/// Returns `MPI_IN_PLACE`.
pub(crate) fn in_place() -> *const c_void {
    MPI_IN_PLACE().cast_const()
}
