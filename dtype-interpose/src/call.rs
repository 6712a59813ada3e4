//! The calls of MPI that programs find here first, and the ones that stand behind: those of the next library
//! in the program's order, which may be another tool's, and else the MPI library's own under their second
//! names (MPI 4.1 section 15.2).

use std::{
    ffi::CStr,
    os::raw::c_void,
    ptr,
    sync::atomic::{AtomicPtr, AtomicU8, Ordering},
};

use crate::mode;

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
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, next: AtomicPtr::new(ptr::null_mut()), packs: AtomicU8::new(UNKNOWN) }
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

    /// Whether messages of this call may go packed: the user may say that none do, or not those of this call.
    #[inline]
    pub fn packs(&self) -> bool {
        match self.packs.load(Ordering::Relaxed) {
            UNKNOWN => self.ask(),
            packs => packs == YES,
        }
    }

    #[cold]
    fn ask(&self) -> bool {
        let packs = mode::packs(self.name());
        self.packs.store(if packs { YES } else { NO }, Ordering::Relaxed);
        packs
    }
}

/// Defines calls that programs find before those of the MPI library: `MPI_`, the name, and an ending (`_c`
/// for those with large counts). Within the body `CALL` is the [`Call`], and what is named between bars the
/// function that stands behind.
macro_rules! calls {
    ($ending:literal; $(fn $name:ident($($argument:ident: $type:ty),* $(,)?) |$next:ident| $body:block)*) => {$(
        #[unsafe(export_name = concat!("MPI_", stringify!($name), $ending))]
        #[expect(non_snake_case, reason = "named as in the standard")]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> std::os::raw::c_int {
            unsafe extern "C" {
                #[link_name = concat!("PMPI_", stringify!($name), $ending)]
                fn own($(_: $type),*) -> std::os::raw::c_int;
            }
            type Function = unsafe extern "C" fn($($type),*) -> std::os::raw::c_int;
            static CALL: $crate::call::Call = {
                let name = concat!("MPI_", stringify!($name), $ending, "\0").as_bytes();
                match std::ffi::CStr::from_bytes_with_nul(name) {
                    Ok(name) => $crate::call::Call::new(name),
                    Err(_) => panic!("it ends in a zero"),
                }
            };
            let own: Function = own;
            // SAFETY: MPI's functions of one name have one type.
            let $next: Function = unsafe { std::mem::transmute(CALL.next(own as *mut std::os::raw::c_void)) };
            let code = (move || $body)();
            $crate::requests::tend();
            code
        }
    )*};
}

/// The same with `Count`, and `Place` for displacements in elements, as integers; and, where the library has
/// them, as large ones.
macro_rules! calls_of_both_counts {
    ($($calls:tt)*) => {
        pub(crate) mod integers {
            #[allow(clippy::wildcard_imports, unused_imports, reason = "what the calls need")]
            use super::*;
            #[allow(dead_code, reason = "not all calls have them")]
            type Count = std::os::raw::c_int;
            #[allow(dead_code, reason = "not all calls have them")]
            type Place = std::os::raw::c_int;
            $crate::call::calls! { ""; $($calls)* }
        }
        #[cfg(large_counts)]
        pub(crate) mod large {
            #[allow(clippy::wildcard_imports, unused_imports, reason = "what the calls need")]
            use super::*;
            #[allow(dead_code, reason = "not all calls have them")]
            type Count = mpi::ffi::MPI_Count;
            #[allow(dead_code, reason = "not all calls have them")]
            type Place = mpi::ffi::MPI_Aint;
            $crate::call::calls! { "_c"; $($calls)* }
        }
    };
}

pub(crate) use {calls, calls_of_both_counts};
