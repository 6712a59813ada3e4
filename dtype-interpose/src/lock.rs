//! Locks that a panic of ours does not close for good.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Holds what is locked, in whatever state it is: all states of ours are whole between two statements.
pub(crate) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
