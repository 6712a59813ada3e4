//! The `mpi_f08` binding of MPICH, which calls C functions for calls with buffers, and internal functions for
//! all other calls. Handles and statuses are those of C.

use std::{
    os::raw::{c_int, c_void},
    ptr,
    sync::OnceLock,
};

use super::{Integer, if_any};
use crate::{
    call::SUCCESS,
    native::{self, MPI_Aint, MPI_Comm, MPI_Datatype, MPI_Request, MPI_Status, MPI_Win},
};

/// Converts a pointer to statuses for C: the constants for ignored statuses have other addresses in Fortran.
fn status(of_program: *mut MPI_Status) -> *mut MPI_Status {
    static IGNORED: OnceLock<[usize; 2]> = OnceLock::new();
    let ignored = IGNORED.get_or_init(|| {
        [c"MPI_F08_STATUS_IGNORE", c"MPI_F08_STATUSES_IGNORE"].map(|name| {
            let place = native::first(name).cast::<usize>();
            // SAFETY: the name is that of a pointer (MPI 4.1 section 19.3.5).
            if place.is_null() { 0 } else { unsafe { *place } }
        })
    });
    if ignored.contains(&(of_program as usize)) { native::MPI_STATUS_IGNORE() } else { of_program }
}

type FortranWindow = MPI_Win;

/// Converts a window to a C handle.
fn window_of(fortran: FortranWindow) -> MPI_Win {
    fortran
}

/// Returns the first index of a list in the library's `mpi_f08`: 1 by the standard, 0 in MPICH 4.0. The first
/// call waits for a send to `MPI_PROC_NULL` to see the index, so that indices are the same with and without
/// this library.
fn first() -> Integer {
    type Waitany =
        unsafe extern "C" fn(*const Integer, *mut MPI_Request, *mut Integer, *mut MPI_Status, *mut Integer);
    static FIRST: OnceLock<Integer> = OnceLock::new();
    *FIRST.get_or_init(|| {
        let (mut index, mut code) = (1, SUCCESS);
        // SAFETY: promise 1. The name ends in a zero, and is that of a function of type `Waitany`; a status
        // consists of integers; constants of the library; a send to `MPI_PROC_NULL` reads no buffer; there is
        // room for all that is set.
        unsafe {
            let waitany = native::behind(c"mpi_waitany_f08_");
            if !waitany.is_null() {
                let waitany: Waitany = std::mem::transmute(waitany);
                let (mut request, mut status) = (native::MPI_REQUEST_NULL(), std::mem::zeroed());
                let (nobody, own) = (native::MPI_PROC_NULL(), native::MPI_COMM_SELF());
                let request = &raw mut request;
                native::PMPI_Isend(ptr::null(), 0, native::MPI_UINT8_T(), nobody, 0, own, request);
                waitany(&1, request, &raw mut index, &raw mut status, &raw mut code);
            }
        }
        index
    })
}

/// Converts an index from C to Fortran.
///
/// # Safety
/// Promise 2 for `index`.
unsafe fn index_in_fortran(index: *mut Integer) {
    // SAFETY: promise 2 for `index`, by the caller's condition.
    unsafe {
        if *index >= 0 {
            *index += first();
        }
    }
}

/// Makes a call with statuses for C, if any request is registered. `call` returns its code, and the number
/// of statuses, which is not used here.
fn asked(
    (requests, _): (*mut MPI_Request, c_int),
    statuses: *mut MPI_Status,
    call: impl FnOnce(*mut MPI_Request, *mut MPI_Status) -> (c_int, c_int),
) -> Option<c_int> {
    if_any(|| call(requests, status(statuses)).0)
}

/// The exported functions. `SAFETY` as in [`exports`](crate::exports).
#[allow(clippy::all, clippy::pedantic, clippy::undocumented_unsafe_blocks, reason = "written by the build")]
#[allow(unused_variables, unused_mut, unused_imports, reason = "written by the build")]
mod functions {
    use super::{super::exported::*, *};

    include!(concat!(env!("OUT_DIR"), "/fortran.rs"));
}
