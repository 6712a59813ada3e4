//! The calls of MPI that programs find here first, and the ones that stand behind: those of the next library
//! in the program's order, which may be another tool's, and else the MPI library's own under their second
//! names (MPI 4.1 section 15.2).

use std::{
    ffi::CStr,
    os::raw::{c_int, c_void},
    ptr,
    sync::atomic::{AtomicPtr, AtomicU8, Ordering},
};

use crate::{mode, tools};

/// What calls return: `MPI_SUCCESS`.
pub(crate) const SUCCESS: c_int = mpi::ffi::MPI_SUCCESS as c_int;

/// A call, and what has been found out about it.
pub(crate) struct Call {
    name: &'static CStr,
    next: AtomicPtr<c_void>,
    /// Not known yet, no, or yes.
    packs: AtomicU8,
}

const UNKNOWN: u8 = 0;
const NO: u8 = 1;
const YES: u8 = 2;

impl Call {
    /// A call of this name, which ends in a zero.
    pub const fn named(name: &'static str) -> Self {
        match CStr::from_bytes_with_nul(name.as_bytes()) {
            Ok(name) => Self { name, next: AtomicPtr::new(ptr::null_mut()), packs: AtomicU8::new(UNKNOWN) },
            Err(_) => panic!("it ends in a zero"),
        }
    }

    /// Its name: `MPI_Send`.
    pub fn name(&self) -> &'static str {
        self.name.to_str().unwrap_or_default()
    }

    /// The next function of this name, or `own` where there is none, as in a program that is linked
    /// statically.
    #[inline]
    pub fn next(&self, own: *mut c_void) -> *mut c_void {
        let next = self.next.load(Ordering::Relaxed);
        if next.is_null() { self.look(own) } else { next }
    }

    #[cold]
    fn look(&self, own: *mut c_void) -> *mut c_void {
        // SAFETY: the name ends in a zero.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        let next = if found.is_null() { own } else { found };
        self.next.store(next, Ordering::Relaxed);
        next
    }

    /// Whether messages of this call may go packed: the user may say that none do, or not those of this call;
    /// and what completes them must not go past us.
    #[inline]
    pub fn packs(&self) -> bool {
        match self.packs.load(Ordering::Relaxed) {
            UNKNOWN => self.ask(),
            packs => packs == YES,
        }
    }

    #[cold]
    fn ask(&self) -> bool {
        let packs = mode::packs(self.name()) && tools::complete_here(self.name());
        self.packs.store(if packs { YES } else { NO }, Ordering::Relaxed);
        packs
    }
}

/// What a program lists; nothing where the number is 0 or less.
///
/// # Safety
/// For `'a` there are as many items.
pub(crate) unsafe fn list<'a, T>(items: *const T, count: c_int) -> &'a [T] {
    match usize::try_from(count) {
        // SAFETY: the caller's condition.
        Ok(count) if count > 0 && !items.is_null() => unsafe { std::slice::from_raw_parts(items, count) },
        _ => &[],
    }
}
