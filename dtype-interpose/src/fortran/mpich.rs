//! MPICH, whose `mpi_f08` calls the C functions for calls with buffers, and internal functions for all
//! others. Handles and statuses are those of C.

use std::{
    os::raw::{c_int, c_void},
    ptr,
    sync::OnceLock,
};

use mpi::ffi::{self, MPI_Aint, MPI_Comm, MPI_Datatype, MPI_Request, MPI_Status, MPI_Win};

use super::{Integer, if_any};
use crate::{
    call::{SUCCESS, list},
    calls::{completion, init_finalize, point_to_point},
    datatype_cache,
    mode::{self, Mode},
    peers,
};

/// Converts a pointer to statuses for C: the constants for ignored statuses have other addresses in Fortran.
fn status(of_program: *mut MPI_Status) -> *mut MPI_Status {
    static IGNORED: OnceLock<[usize; 2]> = OnceLock::new();
    let ignored = IGNORED.get_or_init(|| {
        [c"MPI_F08_STATUS_IGNORE", c"MPI_F08_STATUSES_IGNORE"].map(|name| {
            // SAFETY: the name ends in a zero, and is that of a pointer (MPI 4.1 section 19.3.5). Null is
            // checked for.
            unsafe {
                let place = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()).cast::<usize>();
                if place.is_null() { 0 } else { *place }
            }
        })
    });
    // SAFETY: a constant of the library, which has the same value for one status and for many.
    if ignored.contains(&(of_program as usize)) { unsafe { ffi::RSMPI_STATUS_IGNORE } } else { of_program }
}

type FortranWindow = MPI_Win;

/// Converts a window to a C handle.
fn window_of(fortran: FortranWindow) -> MPI_Win {
    fortran
}

/// Returns the first index of a list in the library's `mpi_f08`: 1 by the standard, 0 in MPICH 4.0. A send to
/// `MPI_PROC_NULL` finds it out once, so that indices are the same with and without this library.
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
            let waitany = libc::dlsym(libc::RTLD_NEXT, c"mpi_waitany_f08_".as_ptr());
            if !waitany.is_null() {
                let waitany: Waitany = std::mem::transmute(waitany);
                let (mut request, mut status) = (ffi::RSMPI_REQUEST_NULL, std::mem::zeroed());
                let (nobody, own) = (ffi::RSMPI_PROC_NULL, ffi::RSMPI_COMM_SELF);
                let request = &raw mut request;
                ffi::PMPI_Isend(ptr::null(), 0, ffi::RSMPI_UINT8_T, nobody, 0, own, request);
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
unsafe fn as_in_fortran(index: *mut Integer) {
    // SAFETY: promise 2 for `index`, by the caller's condition.
    unsafe {
        if *index >= 0 {
            *index += first();
        }
    }
}

functions! {
    fn init ["mpi_init_f08_" f08] () |next| {
        let mut code = SUCCESS;
        // SAFETY: the only argument is the error code, a local variable.
        Some(init_finalize::begin(|| unsafe {
            next(&raw mut code);
            code
        }))
    }

    fn init_thread ["mpi_init_thread_f08_" f08] (wanted: *const Integer, provided: *mut Integer) |next| {
        let mut code = SUCCESS;
        // SAFETY: promise 2 for the arguments; the error code is a local variable.
        Some(init_finalize::begin(|| unsafe {
            next(wanted, provided, &raw mut code);
            code
        }))
    }

    fn finalize ["mpi_finalize_f08_" f08] () |next| {
        let mut code = SUCCESS;
        // SAFETY: promise 1; the only argument is the error code, a local variable.
        Some(init_finalize::end(|| unsafe {
            next(&raw mut code);
            code
        }))
    }

    fn type_commit ["mpi_type_commit_f08_" f08] (datatype: *mut MPI_Datatype) |next| {
        // SAFETY: promises 1 and 2 for the datatype, which is committed if the call has succeeded.
        unsafe {
            let mut code = SUCCESS;
            next(datatype, &raw mut code);
            if code == SUCCESS && mode::mode() != Mode::Off {
                datatype_cache::committed(*datatype);
            }
            Some(code)
        }
    }

    fn type_free ["mpi_type_free_f08_" f08] (datatype: *mut MPI_Datatype) |_next| {
        // SAFETY: promises 1 and 2 for the datatype.
        unsafe { datatype_cache::freed(*datatype) };
        None
    }

    fn type_get_contents ["mpi_type_get_contents_f08_" f08] (
        datatype: *const MPI_Datatype,
        most_integers: *const Integer,
        most_addresses: *const Integer,
        most_datatypes: *const Integer,
        integers: *mut Integer,
        addresses: *mut MPI_Aint,
        datatypes: *mut MPI_Datatype
    ) |next| {
        // SAFETY: promises 1 and 2 for the datatype and the lists. If the call has succeeded, it has stored
        // live datatypes.
        unsafe {
            let mut code = SUCCESS;
            let most = (most_integers, most_addresses, most_datatypes);
            next(datatype, most.0, most.1, most.2, integers, addresses, datatypes, &raw mut code);
            if code == SUCCESS {
                datatype_cache::handed_out(*datatype, datatypes);
            }
            Some(code)
        }
    }

    fn intercomm_merge ["mpi_intercomm_merge_f08_" f08] (
        between: *const MPI_Comm,
        high: *const Integer,
        new: *mut MPI_Comm,
    ) |_next| {
        peers::has_merged();
        None
    }

    fn start ["mpi_start_f08_" f08] (request: *mut MPI_Request) |_next| {
        // SAFETY: promises 1 and 2 for the request, promises 3 and 4 for its buffers.
        if_any(|| unsafe { point_to_point::Start(request) })
    }

    fn startall ["mpi_startall_f08_" f08] (count: *const Integer, requests: *mut MPI_Request) |_next| {
        // SAFETY: promises 1 and 2 for the requests, promises 3 and 4 for their buffers.
        if_any(|| unsafe { point_to_point::Startall(*count, requests) })
    }

    fn wait ["mpi_wait_f08_" f08] (request: *mut MPI_Request, found: *mut MPI_Status) |_next| {
        // SAFETY: promises 1 and 2 for the arguments, promise 4 for the requests' receive buffers.
        if_any(|| unsafe { completion::Wait(request, status(found)) })
    }

    fn test ["mpi_test_f08_" f08] (
        request: *mut MPI_Request,
        flag: *mut Integer,
        found: *mut MPI_Status,
    ) |_next| {
        // SAFETY: promises 1 and 2 for the arguments, promise 4 for the requests' receive buffers.
        if_any(|| unsafe { completion::Test(request, flag, status(found)) })
    }

    fn waitall ["mpi_waitall_f08_" f08] (
        count: *const Integer,
        requests: *mut MPI_Request,
        found: *mut MPI_Status,
    ) |_next| {
        // SAFETY: promises 1 and 2 for the arguments, promise 4 for the requests' receive buffers.
        if_any(|| unsafe { completion::Waitall(*count, requests, status(found)) })
    }

    fn testall ["mpi_testall_f08_" f08] (
        count: *const Integer,
        requests: *mut MPI_Request,
        flag: *mut Integer,
        found: *mut MPI_Status,
    ) |_next| {
        // SAFETY: promises 1 and 2 for the arguments, promise 4 for the requests' receive buffers.
        if_any(|| unsafe { completion::Testall(*count, requests, flag, status(found)) })
    }

    fn waitany ["mpi_waitany_f08_" f08] (
        count: *const Integer,
        requests: *mut MPI_Request,
        index: *mut Integer,
        found: *mut MPI_Status,
    ) |_next| {
        // SAFETY: promises 1 and 2 for the arguments, promise 4 for the requests' receive buffers.
        if_any(|| unsafe {
            let code = completion::Waitany(*count, requests, index, status(found));
            as_in_fortran(index);
            code
        })
    }

    fn testany ["mpi_testany_f08_" f08] (
        count: *const Integer,
        requests: *mut MPI_Request,
        index: *mut Integer,
        flag: *mut Integer,
        found: *mut MPI_Status,
    ) |_next| {
        // SAFETY: promises 1 and 2 for the arguments, promise 4 for the requests' receive buffers.
        if_any(|| unsafe {
            let code = completion::Testany(*count, requests, index, flag, status(found));
            as_in_fortran(index);
            code
        })
    }

    fn request_get_status ["mpi_request_get_status_f08_" f08] (
        request: *const MPI_Request,
        flag: *mut Integer,
        found: *mut MPI_Status,
    ) |_next| {
        // SAFETY: promises 1 and 2 for the arguments, promise 4 for the requests' receive buffers.
        if_any(|| unsafe { completion::Request_get_status(*request, flag, status(found)) })
    }

    fn request_free ["mpi_request_free_f08_" f08] (request: *mut MPI_Request) |_next| {
        // SAFETY: promises 1 and 2 for the request.
        if_any(|| unsafe { completion::Request_free(request) })
    }
}

#[cfg(statuses_of_many)]
functions! {
    fn request_get_status_all ["mpi_request_get_status_all_f08_" f08] (
        count: *const Integer,
        requests: *const MPI_Request,
        flag: *mut Integer,
        found: *mut MPI_Status,
    ) |_next| {
        // SAFETY: promises 1 and 2 for the arguments, promise 4 for the requests' receive buffers.
        if_any(|| unsafe {
            completion::looking::Request_get_status_all(*count, requests, flag, status(found))
        })
    }

    fn request_get_status_any ["mpi_request_get_status_any_f08_" f08] (
        count: *const Integer,
        requests: *const MPI_Request,
        index: *mut Integer,
        flag: *mut Integer,
        found: *mut MPI_Status,
    ) |_next| {
        // SAFETY: promises 1 and 2 for the arguments, promise 4 for the requests' receive buffers.
        if_any(|| unsafe {
            let found = status(found);
            let code = completion::looking::Request_get_status_any(*count, requests, index, flag, found);
            as_in_fortran(index);
            code
        })
    }
}

/// Defines the calls that return the number and the indices of the completed requests.
macro_rules! of_some {
    ($($name:ident $symbol:literal $call:path, $requests:ty;)*) => { functions! {$(
        fn $name [$symbol f08] (
            count: *const Integer,
            requests: $requests,
            done: *mut Integer,
            indices: *mut Integer,
            found: *mut MPI_Status,
        ) |_next| {
            // SAFETY: promises 1 and 2 for the arguments, promise 4 for the requests' receive buffers.
            if_any(|| unsafe {
                let code = $call(*count, requests, done, indices, status(found));
                (0..list(indices.cast_const(), *done).len()).for_each(|i| as_in_fortran(indices.add(i)));
                code
            })
        }
    )*} };
}

of_some! {
    waitsome "mpi_waitsome_f08_" completion::Waitsome, *mut MPI_Request;
    testsome "mpi_testsome_f08_" completion::Testsome, *mut MPI_Request;
}

#[cfg(statuses_of_many)]
of_some! {
    request_get_status_some "mpi_request_get_status_some_f08_"
        completion::looking::Request_get_status_some, *const MPI_Request;
}

completions! {
    win_fence () with assertion ["mpi_win_fence_f08_" f08];
    win_complete () ["mpi_win_complete_f08_" f08];
    win_unlock (rank) ["mpi_win_unlock_f08_" f08];
    win_unlock_all () ["mpi_win_unlock_all_f08_" f08];
    win_flush (rank) ["mpi_win_flush_f08_" f08];
    win_flush_all () ["mpi_win_flush_all_f08_" f08];
    win_flush_local (rank) ["mpi_win_flush_local_f08_" f08];
    win_flush_local_all () ["mpi_win_flush_local_all_f08_" f08];
    win_free () ["mpi_win_free_f08_" f08];
}
