//! The thread level of this process, and whether it has `MPI_COMM_WORLD`. Both are set when MPI is first
//! used.

use std::sync::atomic::{AtomicBool, Ordering};

/// `true` if several threads may call MPI at a time (`MPI_THREAD_MULTIPLE`).
pub(crate) static MANY_AT_A_TIME: AtomicBool = AtomicBool::new(false);

/// `true` if other threads than the main one may call MPI (`MPI_THREAD_SERIALIZED`).
pub(crate) static ANY_THREAD: AtomicBool = AtomicBool::new(false);

/// `true` if `MPI_COMM_WORLD` and `MPI_COMM_SELF` exist: the program has called `MPI_Init`.
pub(crate) static HAS_WORLD: AtomicBool = AtomicBool::new(false);

/// Returns `true` if several threads may be in MPI calls at a time.
#[inline]
pub(crate) fn has_threads() -> bool {
    MANY_AT_A_TIME.load(Ordering::Relaxed)
}

/// Returns `true` if `MPI_COMM_WORLD` and `MPI_COMM_SELF` exist.
#[inline]
pub(crate) fn has_world() -> bool {
    HAS_WORLD.load(Ordering::Relaxed)
}
