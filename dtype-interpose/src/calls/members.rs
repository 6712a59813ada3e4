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
    /// The blocks to and from neighbours that do not exist, in the bits of a number. They are not moved.
    pub missing: u64,
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
            missing: 0,
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
            ..BlockCounts::default()
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
        let [sent, received] = [is_root, receives].map(usize::from);
        BlockCounts { sent, received, ..BlockCounts::default() }
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
        BlockCounts { sent: size, received: size, ..BlockCounts::default() }.unless(self.from == in_place())
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
        let communicator = self.communicator;
        let (mut keeps, mut missing) = (false, 0);
        // SAFETY: promises 1 and 2 for the communicator, whose topology is tested before it is queried;
        // constants of the library; there is room for an integer each.
        unsafe {
            native::MPI_Topo_test(communicator, &raw mut topology);
            if topology == native::MPI_CART() {
                native::MPI_Cartdim_get(communicator, &raw mut from);
                let known = missing_neighbours(communicator, from);
                missing = known.unwrap_or(0);
                keeps = known != Some(0);
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
        BlockCounts { sent, received, keeps, missing }
    }
}

/// Returns the neighbours that this rank lacks in a Cartesian grid, in the bits of a number: bits 2i and
/// 2i + 1 for dimension i. The buffers have blocks for them nevertheless, which the call does not move (MPI
/// 4.1 section 8.6). Returns `None` if there are too many dimensions for a number.
///
/// # Safety
/// Promises 1 and 2 for the communicator, which has a Cartesian topology of `dimensions` dimensions.
unsafe fn missing_neighbours(communicator: MPI_Comm, dimensions: c_int) -> Option<u64> {
    const MOST: usize = 32;
    let count = usize::try_from(dimensions).ok().filter(|count| *count <= MOST)?;
    let [mut sizes, mut are_periodic, mut places] = [[0; MOST]; 3];
    // SAFETY: promises 1 and 2 for the communicator; each list has an item for each dimension.
    unsafe {
        let periodic = are_periodic.as_mut_ptr();
        native::MPI_Cart_get(communicator, dimensions, sizes.as_mut_ptr(), periodic, places.as_mut_ptr());
    }
    let missing = (0..count).filter(|i| are_periodic[*i] == 0).map(|i| {
        let (has_none_before, has_none_behind) = (places[i] == 0, places[i] == sizes[i] - 1);
        (u64::from(has_none_before) | u64::from(has_none_behind) << 1) << (2 * i)
    });
    Some(missing.sum())
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
