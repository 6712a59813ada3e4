//! Statuses and lists of handles as the MPI library has them. A status of the standard's ABI has 32 bytes, of
//! which Open MPI uses the first 24. MPICH's has 20, in another order, and its handles have 4 bytes. Lists
//! are converted in place where the call may write them.
//!
//! # Safety
//! Each pointer is one that MPI could use in a call with the same arguments, or a constant of the library in
//! its place. `length` is the number of its items.

use std::{
    mem::{size_of, MaybeUninit},
    os::raw::{c_int, c_void},
    ptr,
};

use crate::{chosen::family, library::Family, MPI_Comm, MPI_Status};

/// A status of MPICH.
#[repr(C)]
#[derive(Clone, Copy)]
struct Mpich {
    internal: [c_int; 2],
    source: c_int,
    tag: c_int,
    error: c_int,
}

/// The numbers of a status of MPICH, which may not be initialized.
type Words = [MaybeUninit<c_int>; 5];

/// The bytes of a status of Open MPI.
type OpenMpi = [u64; 3];

impl Mpich {
    fn of(status: MPI_Status) -> Self {
        let MPI_Status { MPI_SOURCE: source, MPI_TAG: tag, MPI_ERROR: error, MPI_internal: [low, high, ..] } =
            status;
        Self { internal: [low, high], source, tag, error }
    }
}

/// Returns `true` if a pointer to statuses is one of a list of the program. MPICH's `MPI_STATUS_IGNORE` is 1.
fn is_place<T>(pointer: *const T) -> bool {
    pointer as usize > 1
}

/// Stores 0 in the upper half where the call writes a handle: MPICH writes the lower half.
#[inline(always)]
pub(crate) unsafe fn clear<T>(handle: *mut T) {
    if family() == Family::Mpich && is_place(handle) {
        handle.cast::<u32>().add(1).write(0);
    }
}

/// Returns a handle that a function returns. The upper half of MPICH's is not defined.
#[inline(always)]
pub(crate) fn returned(handle: usize) -> usize {
    if family() == Family::Mpich {
        handle & u32::MAX as usize
    } else {
        handle
    }
}

/// Makes a status, which may not be initialized, one of the library.
#[inline(always)]
pub(crate) unsafe fn to_native(status: *mut MPI_Status) {
    if !is_place(status) {
        return;
    }
    if family() == Family::Mpich {
        mpich_status(status);
    }
    clear_end(status);
}

/// Stores 0 where the library does not write: its status is shorter.
#[inline(always)]
unsafe fn clear_end(status: *mut MPI_Status) {
    match family() {
        Family::Mpich => status.cast::<c_int>().add(5).cast::<[c_int; 3]>().write([0; 3]),
        Family::OpenMpi => status.cast::<u64>().add(3).write(0),
        Family::Abi => {}
    }
}

#[inline(always)]
unsafe fn mpich_status(status: *mut MPI_Status) {
    let [source, tag, error, low, high] = words(status);
    status.cast::<Words>().write([low, high, source, tag, error]);
}

/// Reads the words of a status one by one. They were written one by one: the processor would wait before it
/// reads them at a time.
#[inline(always)]
unsafe fn words(status: *const MPI_Status) -> Words {
    let word = |i| ptr::read_volatile(status.cast::<MaybeUninit<c_int>>().add(i));
    [word(0), word(1), word(2), word(3), word(4)]
}

/// Makes a status of the library one of the program.
#[inline(always)]
pub(crate) unsafe fn from_native(status: *mut MPI_Status) {
    if family() == Family::Mpich && is_place(status) {
        let [low, high, source, tag, error] = words(status);
        status.cast::<Words>().write([source, tag, error, low, high]);
    }
}

/// A status that a call reads.
pub(crate) struct Status {
    own: *const MPI_Status,
    native: MaybeUninit<Mpich>,
}

impl Status {
    #[inline(always)]
    pub(crate) unsafe fn of(own: *const MPI_Status) -> Self {
        let is_copied = family() == Family::Mpich && is_place(own);
        let native = if is_copied { MaybeUninit::new(Mpich::of(own.read())) } else { MaybeUninit::uninit() };
        Self { own, native }
    }

    #[inline(always)]
    pub(crate) fn place(&self) -> *const MPI_Status {
        if family() == Family::Mpich && is_place(self.own) {
            self.native.as_ptr().cast()
        } else {
            self.own
        }
    }
}

/// Makes statuses those of the library, from the first on: each becomes shorter.
pub(crate) unsafe fn narrow_statuses(statuses: *mut MPI_Status, length: usize) {
    if !is_place(statuses) {
        return;
    }
    match family() {
        Family::Mpich => {
            for i in 0..length {
                mpich_status(statuses.add(i));
                statuses.cast::<Words>().add(i).write(statuses.add(i).cast::<Words>().read());
            }
        }
        Family::OpenMpi => {
            for i in 0..length {
                let status = statuses.add(i).cast::<MaybeUninit<OpenMpi>>();
                statuses.cast::<MaybeUninit<OpenMpi>>().add(i).write(status.read());
            }
        }
        Family::Abi => {}
    }
}

/// Makes statuses of the library those of the program, from the last one on.
pub(crate) unsafe fn widen_statuses(statuses: *mut MPI_Status, length: usize) {
    if !is_place(statuses) {
        return;
    }
    for i in (0..length).rev() {
        match family() {
            // The library may have written fewer.
            Family::Mpich => {
                let native = statuses.cast::<Words>().add(i).read();
                statuses.add(i).cast::<Words>().write(native);
                from_native(statuses.add(i));
            }
            Family::OpenMpi => {
                let native = statuses.cast::<MaybeUninit<OpenMpi>>().add(i).read();
                statuses.add(i).cast::<MaybeUninit<OpenMpi>>().write(native);
            }
            Family::Abi => return,
        }
        clear_end(statuses.add(i));
    }
}

/// Makes a list of handles one of the library.
pub(crate) unsafe fn narrow<T>(handles: *mut T, length: usize) {
    if family() == Family::Mpich && is_place(handles) {
        for i in 0..length {
            let handle = handles.cast::<MaybeUninit<usize>>().add(i).read();
            // The lower half comes first in memory.
            let lower = (&handle as *const MaybeUninit<usize>).cast::<MaybeUninit<u32>>().read();
            handles.cast::<MaybeUninit<u32>>().add(i).write(lower);
        }
    }
}

/// Makes a list of handles of the library one of the program, from the last one on.
pub(crate) unsafe fn widen<T>(handles: *mut T, length: usize) {
    if family() == Family::Mpich && is_place(handles) {
        for i in (0..length).rev() {
            // The library may have written fewer.
            let handle = handles.cast::<MaybeUninit<u32>>().add(i).read();
            handles.cast::<[MaybeUninit<u32>; 2]>().add(i).write([handle, MaybeUninit::new(0)]);
        }
    }
}

/// A list of handles that a call reads.
pub(crate) struct List<T> {
    own: *const T,
    native: Option<Vec<u32>>,
}

impl<T> List<T> {
    pub(crate) unsafe fn new(own: *const T, length: impl FnOnce() -> usize) -> Self {
        let is_copied = family() == Family::Mpich && is_place(own);
        let handle = |i| own.cast::<usize>().add(i).read() as u32;
        Self { own, native: is_copied.then(|| (0..length()).map(handle).collect()) }
    }

    /// Returns a list that is not read if the data is sent in place.
    pub(crate) unsafe fn unless_in_place(
        from: *const c_void,
        own: *const T,
        length: impl FnOnce() -> usize,
    ) -> Self {
        if from == crate::MPI_IN_PLACE {
            Self { own, native: None }
        } else {
            Self::new(own, length)
        }
    }

    pub(crate) fn first(&self) -> *const T {
        self.native.as_ref().map_or(self.own, |native| native.as_ptr().cast())
    }
}

/// Returns the length of a list that is significant at the root only.
pub(crate) unsafe fn at_root(length: c_int, root: c_int, communicator: MPI_Comm) -> usize {
    let mut rank = -1;
    crate::MPI_Comm_rank(communicator, &mut rank);
    if rank == root {
        length.max(0) as usize
    } else {
        0
    }
}

/// Returns the number of ranks that a collective call communicates with.
pub(crate) unsafe fn ranks(communicator: MPI_Comm) -> usize {
    let (mut is_between, mut ranks) = (0, 0);
    crate::MPI_Comm_test_inter(communicator, &mut is_between);
    if is_between == 0 {
        crate::MPI_Comm_size(communicator, &mut ranks);
    } else {
        crate::MPI_Comm_remote_size(communicator, &mut ranks);
    }
    ranks as usize
}

/// Returns the numbers of ranks from which and to which a neighbourhood call of this rank communicates.
pub(crate) unsafe fn neighbours(communicator: MPI_Comm) -> (usize, usize) {
    let mut kind = 0;
    let (mut from, mut to) = (0, 0);
    crate::MPI_Topo_test(communicator, &mut kind);
    if kind == crate::MPI_CART {
        crate::MPI_Cartdim_get(communicator, &mut from);
        return (2 * from as usize, 2 * from as usize);
    }
    if kind == crate::MPI_GRAPH {
        let mut rank = 0;
        crate::MPI_Comm_rank(communicator, &mut rank);
        crate::MPI_Graph_neighbors_count(communicator, rank, &mut from);
        return (from as usize, from as usize);
    }
    if kind == crate::MPI_DIST_GRAPH {
        let mut is_weighted = 0;
        crate::MPI_Dist_graph_neighbors_count(communicator, &mut from, &mut to, &mut is_weighted);
    }
    (from as usize, to as usize)
}

const _: () = assert!(
    size_of::<Mpich>() == 20 && size_of::<MPI_Status>() == 32 && size_of::<usize>() == 8,
    "mpi-sys knows MPI libraries of 64-bit systems only: use the stock crate `mpi-sys`"
);

// Lower halves come first.
#[cfg(not(target_endian = "little"))]
compile_error!("mpi-sys knows MPI libraries of little-endian systems only: use the stock crate `mpi-sys`");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_of_mpich_have_all_of_their_values() {
        let own = MPI_Status { MPI_SOURCE: 1, MPI_TAG: 2, MPI_ERROR: 3, MPI_internal: [4, 5, 0, 0, 0] };
        let Mpich { internal, source, tag, error } = Mpich::of(own);
        assert_eq!((internal, source, tag, error), ([4, 5], 1, 2, 3));
    }
}
