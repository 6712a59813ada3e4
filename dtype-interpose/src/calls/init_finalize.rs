//! Initialization and finalization (MPI 4.1 section 11.2), calls that create and free datatypes (section
//! 5.1.9), and two calls on communicators.

use std::os::raw::c_int;

use dtype_mpi::running;

use crate::{
    call::SUCCESS,
    datatype_cache, mode,
    mode::Mode,
    native::{self, MPI_Datatype},
    peers, profile, requests,
    say::say,
    verify, windows,
};

/// Calls `MPI_Init` or `MPI_Init_thread`, and does the work of this library before and after it.
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn init(next: impl FnOnce() -> c_int) -> c_int {
    if mode::mode() == Mode::Off {
        return next();
    }
    peers::arrive();
    // Open MPI changes these variables.
    let launched = (mode::launched_rank(), mode::launched_ranks());
    let code = next();
    if code == SUCCESS {
        check_launcher(launched);
        peers::look();
    }
    code
}

/// Warns once if a launcher has started several ranks, but each is a job of its own, as with the launcher of
/// another MPI library. `rank` and `started` are what the launcher says.
fn check_launcher((rank, started): (Option<c_int>, Option<c_int>)) {
    let mut ranks = 0;
    // SAFETY: promise 1; there is room for a number.
    unsafe { native::PMPI_Comm_size(native::MPI_COMM_WORLD(), &raw mut ranks) };
    if let (0, 1, Some(started @ 2..)) = (rank.unwrap_or(0), ranks, started) {
        say(format_args!(
            "the launcher started {started} processes, but each is the only rank of a job of its own. \
             The launcher probably belongs to another MPI library: start the program with the mpiexec of {}.",
            running().title
        ));
    }
}

/// Calls `MPI_Finalize`, and does the work of this library before and after it. Requests and windows are kept
/// until `MPI_Finalize` returns: it calls callbacks of the program, which may still complete them (MPI 4.1
/// section 11.2.4).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn finalize(next: impl FnOnce() -> c_int) -> c_int {
    if mode::mode() == Mode::Off {
        return next();
    }
    requests::tend();
    profile::end();
    peers::leave();
    datatype_cache::end();
    verify::end();
    let code = next();
    requests::end();
    windows::end();
    code
}

/// Commits a datatype (`MPI_Type_commit`).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn type_commit(datatype: *const MPI_Datatype, next: impl FnOnce() -> c_int) -> c_int {
    let code = next();
    if code == SUCCESS && mode::mode() != Mode::Off {
        // SAFETY: promises 1 and 2 for the datatype, which is committed, as the call has succeeded.
        unsafe { datatype_cache::committed(*datatype) };
    }
    code
}

/// Duplicates a datatype (`MPI_Type_dup`).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn type_dup(
    datatype: MPI_Datatype,
    new: *const MPI_Datatype,
    next: impl FnOnce() -> c_int,
) -> c_int {
    let code = next();
    if code == SUCCESS && mode::mode() != Mode::Off {
        // SAFETY: promises 1 and 2 for the datatype. Its duplicate is live, too, as the call has succeeded.
        unsafe { datatype_cache::duplicated(datatype, *new) };
    }
    code
}

/// Frees a datatype (`MPI_Type_free`).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn type_free(datatype: *const MPI_Datatype, next: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: promises 1 and 2 for the datatype. A null pointer is checked for, and left to the library.
    unsafe { datatype.as_ref().into_iter().for_each(|datatype| datatype_cache::freed(*datatype)) };
    // A copy would keep the datatype, and its attributes.
    verify::free_unused();
    next()
}

/// Returns the arguments of a datatype's constructor (`MPI_Type_get_contents`). The call stores new handles
/// in `parts`.
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn type_get_contents(
    datatype: MPI_Datatype,
    parts: *const MPI_Datatype,
    next: impl FnOnce() -> c_int,
) -> c_int {
    let code = next();
    if code == SUCCESS {
        // SAFETY: promises 1 and 2 for the datatype and the list. The call has stored live datatypes.
        unsafe { datatype_cache::handed_out(datatype, parts) };
    }
    code
}

/// Merges the groups of an intercommunicator (`MPI_Intercomm_merge`).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn intercomm_merge(next: impl FnOnce() -> c_int) -> c_int {
    peers::has_merged();
    next()
}

/// Waits for all ranks (`MPI_Barrier`). It is intercepted because the requests that the program has freed are
/// tested after every intercepted call.
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn barrier(next: impl FnOnce() -> c_int) -> c_int {
    next()
}
