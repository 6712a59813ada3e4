//! Intercepted calls, and the functions that they are forwarded to: those of the next library in the
//! program's search order, which may be another tool.

use std::{
    ffi::CStr,
    os::raw::{c_int, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU8, Ordering},
};

use dtype_mpi::Usable;

use crate::{mode, native::Function, table::Role, tools};

/// Returns the proof that MPI may be called: the program is in a call of MPI.
///
/// # Safety
/// Promise 1, as long as the proof lives.
#[inline]
pub(crate) unsafe fn usable() -> Usable {
    // SAFETY: 1 is promise 1.
    unsafe { Usable::assumed() }
}

/// The code `MPI_SUCCESS`, as calls return it.
pub(crate) const SUCCESS: c_int = mpi::ffi::MPI_SUCCESS as c_int;

/// An intercepted call, with the next function and the decision to pack, both found at the first use.
pub(crate) struct Call {
    next: Function,
    /// The roles of the calls that complete its messages.
    completed_by: &'static [Role],
    /// `UNKNOWN`, `NO` or `YES`.
    packs: AtomicU8,
}

const UNKNOWN: u8 = 0;
const NO: u8 = 1;
const YES: u8 = 2;

impl Call {
    /// Creates a call by its name, and the roles of the calls that complete its messages.
    pub const fn new(name: &'static CStr, completed_by: &'static [Role]) -> Self {
        Self { next: Function::next(name), completed_by, packs: AtomicU8::new(UNKNOWN) }
    }

    /// Returns the name without the zero byte: `MPI_Send`.
    pub fn name(&self) -> &'static str {
        self.next.name().to_str().unwrap_or_default()
    }

    /// Returns the next function of this name. Ends the program if there is none.
    #[inline]
    pub fn next(&self) -> *mut c_void {
        self.next.address()
    }

    /// Returns `true` if messages of this call may be packed: the user's settings admit the call, and the
    /// calls that complete its messages are intercepted.
    #[inline]
    pub fn packs(&self) -> bool {
        match self.packs.load(Ordering::Relaxed) {
            UNKNOWN => self.ask(),
            packs => packs == YES,
        }
    }

    #[cold]
    fn ask(&self) -> bool {
        let packs = mode::packs(self.name()) && tools::complete_here(self.completed_by);
        self.packs.store(if packs { YES } else { NO }, Ordering::Relaxed);
        packs
    }
}

/// Runs code that panics only by a fault of this library. If it panics, returns `None`, and the call is
/// forwarded unchanged.
pub(crate) fn or_else_plain<R>(run: impl FnOnce() -> Option<R>) -> Option<R> {
    catch_unwind(AssertUnwindSafe(run)).ok().flatten()
}

/// Returns a list argument of the program as a slice: empty if `items` is null, or if `count` is 0 or less.
///
/// # Safety
/// If the slice is not empty, `items` points to `count` items, which are initialized and not written during
/// `'a`.
pub(crate) unsafe fn list<'a, T>(items: *const T, count: c_int) -> &'a [T] {
    match usize::try_from(count) {
        // SAFETY: the caller's condition: `items` is not null, and `count` is above 0.
        Ok(count) if count > 0 && !items.is_null() => unsafe { std::slice::from_raw_parts(items, count) },
        _ => &[],
    }
}
