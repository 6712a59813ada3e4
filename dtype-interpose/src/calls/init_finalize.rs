//! Initialization and finalization (MPI 4.1 section 11.2), calls that create and free datatypes (section
//! 5.1.9), and two calls on communicators.

use std::{
    ffi::CStr,
    os::raw::{c_char, c_int},
    process,
};

use mpi::ffi::{MPI_Aint, MPI_Comm, MPI_Datatype};

use crate::{call::SUCCESS, datatype_cache, mode, mode::Mode, peers, profile, requests, windows};

calls! { "";
    fn Init(count: *mut c_int, arguments: *mut *mut *mut c_char) |next| {
        // SAFETY: promise 2: the call's own arguments are forwarded.
        begin(|| unsafe { next(count, arguments) })
    }

    fn Init_thread(
        count: *mut c_int,
        arguments: *mut *mut *mut c_char,
        wanted: c_int,
        provided: *mut c_int,
    ) |next| {
        // SAFETY: promise 2: the call's own arguments are forwarded.
        begin(|| unsafe { next(count, arguments, wanted, provided) })
    }

    fn Finalize() |next| {
        // SAFETY: promise 1: MPI is initialized.
        end(|| unsafe { next() })
    }

    fn Type_commit(datatype: *mut MPI_Datatype) |next| {
        // SAFETY: promises 1 and 2 for the datatype, which is committed if the call has succeeded.
        unsafe {
            let code = next(datatype);
            if code == SUCCESS && mode::mode() != Mode::Off {
                datatype_cache::committed(*datatype);
            }
            code
        }
    }

    fn Type_dup(datatype: MPI_Datatype, new: *mut MPI_Datatype) |next| {
        // SAFETY: promises 1 and 2 for the datatype. If the call has succeeded, its duplicate is live, too.
        unsafe {
            let code = next(datatype, new);
            if code == SUCCESS && mode::mode() != Mode::Off {
                datatype_cache::duplicated(datatype, *new);
            }
            code
        }
    }

    fn Type_free(datatype: *mut MPI_Datatype) |next| {
        // SAFETY: promises 1 and 2 for the datatype. A null pointer is checked for, and left to the library.
        unsafe {
            datatype.as_ref().into_iter().for_each(|datatype| datatype_cache::freed(*datatype));
            next(datatype)
        }
    }

    fn Intercomm_merge(between: MPI_Comm, high: c_int, new: *mut MPI_Comm) |next| {
        peers::has_merged();
        // SAFETY: promises 1 and 2: the call's own arguments are forwarded.
        unsafe { next(between, high, new) }
    }

    fn Barrier(communicator: MPI_Comm) |next| {
        // SAFETY: promises 1 and 2: the call's own arguments are forwarded.
        unsafe { next(communicator) }
    }
}

/// Defines `MPI_Type_get_contents` by the names and types of its integers and of its lists of integers.
macro_rules! contents {
    ($ending:literal; ($($number:ident: $of:ty),*) ($($list:ident: $listed:ty),*)) => { calls! { $ending;
        fn Type_get_contents(
            datatype: MPI_Datatype,
            $($number: $of,)*
            $($list: *mut $listed,)*
            datatypes: *mut MPI_Datatype,
        ) |next| {
            // SAFETY: promises 1 and 2 for the datatype and the lists. If the call has succeeded, it has
            // stored live datatypes.
            unsafe {
                let code = next(datatype, $($number,)* $($list,)* datatypes);
                if code == SUCCESS {
                    datatype_cache::handed_out(datatype, datatypes);
                }
                code
            }
        }
    } };
}

contents! { "";
    (most_integers: c_int, most_addresses: c_int, most_datatypes: c_int)
    (integers: c_int, addresses: MPI_Aint)
}

#[cfg(large_counts)]
mod large {
    use mpi::ffi::MPI_Count;

    use super::*;
    contents! { "_c";
        (
            most_integers: MPI_Count,
            most_addresses: MPI_Count,
            most_counts: MPI_Count,
            most_datatypes: MPI_Count
        )
        (integers: c_int, addresses: MPI_Aint, counts: MPI_Count)
    }
}

/// Calls `MPI_Finalize`, and does the work of this library before and after it. Requests and windows are kept
/// until it returns: callbacks of the program within it may still complete them (MPI 4.1 section 11.2.4).
pub(crate) fn end(finalize: impl FnOnce() -> c_int) -> c_int {
    if mode::mode() == Mode::Off {
        return finalize();
    }
    requests::tend();
    profile::end();
    peers::leave();
    datatype_cache::end();
    let code = finalize();
    requests::end();
    windows::end();
    code
}

/// The MPI libraries for which this library may have been built.
const LIBRARIES: [&str; 3] = ["Open MPI", "MPICH", "the standard's ABI"];

/// Ends the process if it runs with another MPI library than this one was built for. Handles of two libraries
/// differ in size or meaning, so calls cannot even be forwarded.
fn check_library() {
    let has = |name: &CStr| {
        // SAFETY: the name ends in a zero.
        !unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.is_null()
    };
    // SAFETY: the name ends in a zero; `RTLD_NOLOAD` loads nothing.
    let has_abi =
        !unsafe { libc::dlopen(c"libmpi_abi.so.1".as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) }.is_null();
    let found = [has(c"ompi_mpi_comm_world"), has(c"MPIR_F08_MPI_STATUS_IGNORE_OBJ"), has_abi];
    let own = if cfg!(standard_abi) { 2 } else { usize::from(!cfg!(open_mpi)) };
    if let Some(other) = (0..3).find(|other| *other != own && found[*other]) {
        let [own, other] = [own, other].map(|library| LIBRARIES[library]);
        eprintln!(
            "dtype: this libdtype_mpi.so was built for {own}, and the program runs with {other}. Preload the \
             one for {other}: `cargo xtask interpose` builds one for each."
        );
        process::exit(1);
    }
}

/// Calls `MPI_Init`, and does the work of this library before and after it.
pub(crate) fn begin(initialize: impl FnOnce() -> c_int) -> c_int {
    check_library();
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
