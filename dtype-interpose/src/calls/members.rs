//! Who takes part in a collective call, and how many blocks a rank sends and receives in it. Only what the
//! standard says is significant on a rank is looked at.

use std::os::raw::{c_int, c_void};

use mpi::ffi::{self, MPI_Comm};

/// How many blocks of what is named a rank sends and receives: 0 where it is not significant.
#[derive(Clone, Copy, Default)]
pub(crate) struct Blocks {
    pub sent: usize,
    pub received: usize,
    /// Some of those that are received are in their places already, or stay as they are.
    pub keeps: bool,
}

/// What a call says of who takes part.
pub(crate) struct Asked {
    pub communicator: MPI_Comm,
    /// In calls with a root.
    pub root: c_int,
    pub from: *const c_void,
    pub to: *const c_void,
}

impl Asked {
    /// # Safety
    /// The program's promise.
    pub unsafe fn gather(&self) -> Blocks {
        // SAFETY: the program's promise.
        let members = unsafe { Members::of(self.communicator) };
        let (is_root, keeps) = (members.is_root(self.root), self.from == in_place());
        Blocks {
            sent: usize::from(members.has_part(self.root) && !keeps),
            received: if is_root { members.size } else { 0 },
            keeps,
        }
    }

    /// # Safety
    /// The program's promise.
    pub unsafe fn scatter(&self) -> Blocks {
        // SAFETY: the program's promise.
        let members = unsafe { Members::of(self.communicator) };
        let is_root = members.is_root(self.root);
        Blocks {
            sent: if is_root { members.size } else { 0 },
            received: usize::from(members.has_part(self.root) && self.to != in_place()),
            keeps: false,
        }
    }

    /// # Safety
    /// The program's promise.
    pub unsafe fn broadcast(&self) -> Blocks {
        // SAFETY: the program's promise.
        let members = unsafe { Members::of(self.communicator) };
        let is_root = members.is_root(self.root);
        let receives = !is_root && members.has_part(self.root);
        Blocks { sent: usize::from(is_root), received: usize::from(receives), keeps: false }
    }

    /// # Safety
    /// The program's promise.
    pub unsafe fn allgather(&self) -> Blocks {
        // SAFETY: the program's promise.
        Blocks { sent: 1, ..unsafe { self.alltoall() } }.unless(self.from == in_place())
    }

    /// # Safety
    /// The program's promise.
    pub unsafe fn alltoall(&self) -> Blocks {
        // SAFETY: the program's promise.
        let Members { size, .. } = unsafe { Members::of(self.communicator) };
        Blocks { sent: size, received: size, keeps: false }.unless(self.from == in_place())
    }

    /// # Safety
    /// The program's promise.
    pub unsafe fn neighbor_allgather(&self) -> Blocks {
        // SAFETY: the program's promise.
        Blocks { sent: 1, ..unsafe { self.neighbor_alltoall() } }
    }

    /// # Safety
    /// The program's promise.
    pub unsafe fn neighbor_alltoall(&self) -> Blocks {
        let (mut topology, mut from, mut to, mut weighted, mut rank) = (0, 0, 0, 0, 0);
        let (communicator, mut keeps) = (self.communicator, false);
        // SAFETY: the program's promise; constants of the library; there is room for a number each.
        unsafe {
            ffi::MPI_Topo_test(communicator, &raw mut topology);
            if topology == ffi::RSMPI_CART {
                ffi::MPI_Cartdim_get(communicator, &raw mut from);
                keeps = is_at_an_edge(communicator, from);
                (from, to) = (2 * from, 2 * from);
            } else if topology == ffi::RSMPI_DIST_GRAPH {
                let weighted = &raw mut weighted;
                ffi::MPI_Dist_graph_neighbors_count(communicator, &raw mut from, &raw mut to, weighted);
            } else if topology == ffi::RSMPI_GRAPH {
                ffi::MPI_Comm_rank(communicator, &raw mut rank);
                ffi::MPI_Graph_neighbors_count(communicator, rank, &raw mut from);
                to = from;
            }
        }
        let [sent, received] = [to, from].map(|blocks| usize::try_from(blocks).unwrap_or(0));
        Blocks { sent, received, keeps }
    }
}

/// Whether this rank has no neighbour on some side of a grid with so many dimensions: there is a block for it
/// all the same, which is not updated (MPI 4.1 section 8.6).
///
/// # Safety
/// The program's promise.
unsafe fn is_at_an_edge(communicator: MPI_Comm, dimensions: c_int) -> bool {
    let mut lists = [(); 3].map(|()| vec![0; usize::try_from(dimensions).unwrap_or(0)]);
    let [sizes, are_periodic, places] = &mut lists;
    // SAFETY: the program's promise; there is room for a number of each dimension.
    unsafe {
        let periodic = are_periodic.as_mut_ptr();
        ffi::MPI_Cart_get(communicator, dimensions, sizes.as_mut_ptr(), periodic, places.as_mut_ptr());
    }
    let sides = sizes.iter().zip(are_periodic).zip(places);
    sides.into_iter().any(|((size, periodic), place)| *periodic == 0 && (*place == 0 || *place == size - 1))
}

impl Blocks {
    fn unless(self, not: bool) -> Self {
        if not { Self::default() } else { self }
    }
}

/// The ranks of a communicator.
struct Members {
    rank: c_int,
    /// Those of the other group, if there is one.
    size: usize,
    has_other_group: bool,
}

impl Members {
    /// # Safety
    /// The program's promise.
    unsafe fn of(communicator: MPI_Comm) -> Self {
        let (mut rank, mut size, mut between) = (0, 0, 0);
        // SAFETY: the program's promise; there is room for a number each.
        unsafe {
            ffi::MPI_Comm_rank(communicator, &raw mut rank);
            ffi::MPI_Comm_test_inter(communicator, &raw mut between);
            if between == 0 {
                ffi::MPI_Comm_size(communicator, &raw mut size);
            } else {
                ffi::MPI_Comm_remote_size(communicator, &raw mut size);
            }
        }
        Self { rank, size: usize::try_from(size).unwrap_or(0), has_other_group: between != 0 }
    }

    /// Whether this rank is the root of a call.
    fn is_root(&self, root: c_int) -> bool {
        if self.has_other_group { root == dtype_interpose_root() } else { root == self.rank }
    }

    /// Whether it has a block of its own in a call with a root: all in its group, or those of the other one.
    fn has_part(&self, root: c_int) -> bool {
        !self.has_other_group || root >= 0
    }
}

/// `MPI_IN_PLACE`.
pub(crate) fn in_place() -> *const c_void {
    dtype_interpose_in_place()
}

unsafe extern "C" {
    safe fn dtype_interpose_root() -> c_int;
    safe fn dtype_interpose_in_place() -> *mut c_void;
}
