//! Initialization and finalization (MPI 4.1 section 11.2), calls that create and free datatypes (section
//! 5.1.9), and two calls on communicators.

use std::{
    ffi::CStr,
    os::raw::{c_int, c_void},
    process, ptr,
};

use dtype_mpi::{Library, Sign, signs};
use mpi::ffi::{self, MPI_Datatype};

use crate::{
    built_for::Current, call::SUCCESS, datatype_cache, imports, mode, mode::Mode, peers, profile, requests,
    say::say, verify, windows,
};

/// Calls `MPI_Init` or `MPI_Init_thread`, and does the work of this library before and after it.
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn init(next: impl FnOnce() -> c_int) -> c_int {
    check_library();
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
    unsafe { ffi::PMPI_Comm_size(ffi::RSMPI_COMM_WORLD, &raw mut ranks) };
    if let (0, 1, Some(started @ 2..)) = (rank.unwrap_or(0), ranks, started) {
        say(format_args!(
            "the launcher started {started} processes, but each is the only rank of a job of its own. \
             The launcher probably belongs to another MPI library: start the program with the mpiexec of {}.",
            Current::TITLE
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

/// Ends the process if the MPI library that runs is not the one that this library was built for. Handles of
/// two libraries differ in size or meaning, so calls cannot even be forwarded.
fn check_library() {
    if let Some(other) = other_library() {
        let own = Current::TITLE;
        say(format_args!(
            "this libdtype_mpi.so was built for {own}, but the program runs with {other}. Preload the \
             library built for {other}, as `dtype run` does."
        ));
        process::exit(1);
    }
}

/// Returns the title of the MPI library that runs, if its handles are not those of the own one. Libraries
/// with the same handles share a sign, so there may be several titles.
///
/// This library depends on its own MPI library, so the signs of both may be here. If the own library is
/// recognized by its file, symbols of that file are no signs of others: Intel's file for the standard's ABI
/// has the symbols of MPICH. This holds as long as no other loaded object has a function of MPI.
fn other_library() -> Option<String> {
    let own = if let Sign::File(name) = Current::SIGN { loaded(name) } else { ptr::null_mut() };
    let is_alone = !own.is_null() && imports::files().iter().all(|file| is_without_mpi(file, own));
    let is_here = |sign| match sign {
        Sign::File(name) => !loaded(name).is_null(),
        Sign::Symbol(name) if is_alone && !found(own, name).is_null() => false,
        Sign::Symbol(name) => !found(libc::RTLD_DEFAULT, name).is_null(),
    };
    let (_, other) = signs().find(|(_, sign)| *sign != Current::SIGN && is_here(*sign))?;
    let titles = signs().filter(|(_, sign)| *sign == other).map(|(title, _)| title);
    Some(titles.collect::<Vec<_>>().join(" or "))
}

/// Returns `true` if neither a file nor what it depends on has a function of MPI, except the library `own`.
fn is_without_mpi(file: &CStr, own: *mut c_void) -> bool {
    let function = "PMPI_Init\0";
    // SAFETY: the name ends in a zero byte; `RTLD_NOLOAD` loads nothing.
    let file = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
    file.is_null() || [ptr::null_mut(), found(own, function)].contains(&found(file, function))
}

/// Returns a handle of a loaded file, or a null pointer. `name` ends in a zero byte.
fn loaded(name: &'static str) -> *mut c_void {
    // SAFETY: the name ends in a zero byte; `RTLD_NOLOAD` loads nothing.
    unsafe { libc::dlopen(name.as_ptr().cast(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) }
}

/// Returns the address of a symbol, or a null pointer. `name` ends in a zero byte.
fn found(place: *mut c_void, name: &'static str) -> *mut c_void {
    // SAFETY: the name ends in a zero byte; the place is a handle of a loaded file, or a constant of the
    // linker.
    unsafe { libc::dlsym(place, name.as_ptr().cast()) }
}
