//! The beginning and the end of MPI, and what is looked at between (MPI 4.1 sections 11.2 and 5.1.9).

use std::os::raw::{c_char, c_int};

use mpi::ffi::{MPI_Comm, MPI_Datatype};

use crate::{call::SUCCESS, known, mode, mode::Mode, peers, requests, usage};

calls! { "";
    fn Init(count: *mut c_int, arguments: *mut *mut *mut c_char) |next| {
        // SAFETY: the program's promise.
        begin(|| unsafe { next(count, arguments) })
    }

    fn Init_thread(
        count: *mut c_int,
        arguments: *mut *mut *mut c_char,
        wanted: c_int,
        provided: *mut c_int,
    ) |next| {
        // SAFETY: the program's promise.
        begin(|| unsafe { next(count, arguments, wanted, provided) })
    }

    fn Finalize() |next| {
        end();
        // SAFETY: the program's promise.
        unsafe { next() }
    }

    fn Type_commit(datatype: *mut MPI_Datatype) |next| {
        // SAFETY: the program's promise; what has been committed is a datatype.
        unsafe {
            let code = next(datatype);
            if code == SUCCESS && mode::mode() != Mode::Off {
                known::committed(*datatype);
            }
            code
        }
    }

    fn Intercomm_merge(between: MPI_Comm, high: c_int, new: *mut MPI_Comm) |next| {
        peers::has_merged();
        // SAFETY: the program's promise.
        unsafe { next(between, high, new) }
    }

    fn Barrier(communicator: MPI_Comm) |next| {
        // SAFETY: the program's promise.
        unsafe { next(communicator) }
    }
}

/// Before `MPI_Finalize`.
pub(crate) fn end() {
    if mode::mode() != Mode::Off {
        requests::end();
        usage::end();
        peers::leave();
        known::end();
    }
}

/// `MPI_Init` with what is to be done before and behind it.
pub(crate) fn begin(initialize: impl FnOnce() -> c_int) -> c_int {
    if mode::mode() == Mode::Off {
        return initialize();
    }
    peers::arrive();
    let code = initialize();
    if code == SUCCESS {
        peers::look();
    }
    code
}
