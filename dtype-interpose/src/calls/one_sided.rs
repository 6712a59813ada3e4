//! One-sided operations, and the calls that complete them (MPI 4.1 sections 12.3 and 12.5). Operations with
//! requests are not intercepted: calls for requests complete them as well as calls for windows.

use std::os::raw::c_int;

use mpi::ffi::{MPI_Datatype, MPI_Win};

use crate::{
    call::Call,
    staged::Argument,
    windows::{self, Move},
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
    let moved = Move { window, rank, there: (count, there) };
    // SAFETY: promises 1 and 2 for the arguments; promise 3 for the buffer of a put.
    let (argument, block) = match unsafe { moved.packed(call, buffer) } {
        Some((packed, block)) => (packed, Some(block)),
        None => (buffer, None),
    };
    moved.keep(next(argument), block)
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
