//! One-sided operations, and the calls that complete them (MPI 4.1 sections 12.3 and 12.5). Calls for
//! requests complete operations with requests, and so do calls for windows.

use std::os::raw::c_int;

use crate::{
    argument::Argument,
    call::Call,
    native::{MPI_Datatype, MPI_Request, MPI_Win},
    requests::{Kind, Work, keep},
    windows::{self, Move, Shared},
};

/// Moves data to the window of another rank, or from it (`MPI_Put`, `MPI_Get`). `count` and `there` describe
/// the target. The packed buffer is kept until the operation is complete.
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn transfer(
    call: &Call,
    buffer: Argument,
    window: MPI_Win,
    rank: c_int,
    count: i64,
    there: MPI_Datatype,
    next: impl FnOnce(Argument) -> c_int,
) -> c_int {
    // SAFETY: conditions 1 and 2, as of the caller.
    unsafe { moved(call, buffer, Move { window, rank, there: (count, there) }, next) }.0
}

/// Stages an operation and makes its call. Returns the library's code, and the packed buffer of the
/// operation.
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
unsafe fn moved(
    call: &Call,
    buffer: Argument,
    operation: Move,
    next: impl FnOnce(Argument) -> c_int,
) -> (c_int, Option<Shared>) {
    // SAFETY: promises 1 and 2 for the arguments; promise 3 for the buffer of a put.
    let (argument, staged) = unsafe { operation.packed(call, buffer) };
    let code = next(argument);
    (code, operation.keep(code, staged))
}

/// Moves data by an operation with a request (`MPI_Rput`, `MPI_Rget`). The packed buffer is kept until the
/// request or the operations on the window are complete, whichever the program finds out first.
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
#[expect(clippy::too_many_arguments, reason = "the call has as many")]
pub(crate) unsafe fn transfer_later(
    call: &Call,
    buffer: Argument,
    window: MPI_Win,
    rank: c_int,
    count: i64,
    there: MPI_Datatype,
    request: *mut MPI_Request,
    next: impl FnOnce(Argument) -> c_int,
) -> c_int {
    // SAFETY: conditions 1 and 2, as of the caller.
    let (code, shared) = unsafe { moved(call, buffer, Move { window, rank, there: (count, there) }, next) };
    // SAFETY: promise 2 for `request`, which the library has set if the call has succeeded.
    unsafe { keep(code, request, Kind::Once, shared.map(Work::moved)) }
}

/// Completes the operations on a window, with one rank or with all (`None`).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn complete(window: MPI_Win, rank: Option<c_int>, next: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: promise 4 for the buffers of gets under way.
    unsafe { windows::complete(window, rank, next) }
}

/// Completes the operations on a window, and frees it (`MPI_Win_free`).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn free(window: *const MPI_Win, next: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: promise 2 for the window; promise 4 for the buffers of gets under way.
    unsafe { windows::complete(*window, None, next) }
}
