//! The proof that MPI may be called. Each function that calls MPI takes it, and only [`ready`](crate::ready)
//! gives it.
//!
//! The proof holds as long as it lives. A call of this product has it from its beginning to its end. In
//! between, code of the program may run: closures, `write` and `read` of messages, serde, `Clone` and `Drop`
//! of values. If that code calls `MPI_Finalize`, the program ends with a message: the call has begun, other
//! ranks wait for its end, and MPI may be in the middle of it.

use std::{
    marker::PhantomData,
    process,
    sync::atomic::{AtomicUsize, Ordering},
};

use crate::environment::has_threads;

/// The proof that this thread may call MPI, as [`ready`](crate::ready) has checked.
#[must_use = "MPI is known to be usable only as long as this value lives"]
pub struct Usable {
    is_counted: bool,
    /// Makes the type neither `Send` nor `Sync`: another thread may not be allowed to call MPI.
    thread: PhantomData<*const ()>,
}

/// The number of proofs that live: of calls under way, and of windows that are open.
static LIVE: AtomicUsize = AtomicUsize::new(0);

impl Usable {
    /// Returns a proof that keeps MPI usable: `MPI_Finalize` ends the program while the proof lives.
    #[inline]
    pub(crate) fn counted() -> Self {
        add(1);
        Self { is_counted: true, thread: PhantomData }
    }

    /// Returns a proof without a check.
    ///
    /// # Safety
    /// 1. As long as the proof lives, MPI is usable by this thread, also if that is because the program is in
    ///    a call of MPI, `MPI_Finalize` included.
    #[inline]
    pub unsafe fn assumed() -> Self {
        Self { is_counted: false, thread: PhantomData }
    }
}

impl Drop for Usable {
    #[inline]
    fn drop(&mut self) {
        if self.is_counted {
            add(usize::MAX);
        }
    }
}

/// Adds to the number of proofs that live; `usize::MAX` subtracts one.
#[inline]
fn add(number: usize) {
    if has_threads() {
        LIVE.fetch_add(number, Ordering::Relaxed);
    } else {
        // One thread at a time calls MPI. An addition in one step would take four times as long.
        LIVE.store(LIVE.load(Ordering::Relaxed).wrapping_add(number), Ordering::Relaxed);
    }
}

/// Ends the program if a call of this product is under way, or a window is open: its values lie in memory of
/// MPI, and other ranks may still write there.
pub(crate) fn none_is_live() {
    if LIVE.load(Ordering::Relaxed) > 0 {
        eprintln!(
            "dtype: MPI was finalized in the middle of a call of dtype_runtime (by a closure, by code that \
             writes or reads a message, or while a window was open): drop the universe after the call"
        );
        process::abort();
    }
}
