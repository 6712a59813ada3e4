//! Entry points of the Fortran bindings, for calls that do not pass through the C functions.
//!
//! With MPICH, `mpif.h` and `mpi` call the C functions, and `mpi_f08` does so for calls with buffers: see
//! `mpich`. With Open MPI, no binding calls them: see `open_mpi`.

use std::os::raw::c_int;

use crate::requests;

/// `INTEGER`, which is a C `int` in all libraries that are supported.
type Integer = c_int;

/// Defines functions that Fortran calls, each under all of its names. The identifier between bars is the next
/// function.
macro_rules! functions {
    ($(fn $name:ident [$($symbol:literal $alias:ident),*] $arguments:tt |$next:ident| $body:block)*) => {$(
        mod $name {
            use super::*;
            one_for_all! { $arguments |$next| $body }
            $(under_name! { $symbol $alias $arguments })*
        }
    )*};
}

/// Defines the body of a function.
macro_rules! one_for_all {
    (($($argument:ident: $type:ty),* $(,)?) |$next:ident| $body:block) => {
        type Function = unsafe extern "C" fn($($type,)* *mut Integer);

        /// Runs the body, and forwards the call unchanged if it returns `None`.
        ///
        /// # Safety
        /// Promises 1 to 4 for the arguments.
        #[allow(clippy::too_many_arguments, reason = "as in the standard")]
        unsafe fn run($next: Function, $($argument: $type,)* error: *mut Integer) {
            let code: Option<c_int> = $body;
            // SAFETY: promises 1 to 4: the call's own arguments are forwarded. Promise 2 for `error`, which
            // is checked for null.
            unsafe {
                match code {
                    // The error argument is optional in `mpi_f08`.
                    Some(_) if error.is_null() => {}
                    Some(code) => *error = code,
                    None => $next($($argument,)* error),
                }
            }
            $crate::requests::tend();
        }
    };
}

/// Defines the function under one of its names.
macro_rules! under_name {
    ($symbol:literal $alias:ident ($($argument:ident: $type:ty),* $(,)?)) => {
        #[unsafe(export_name = $symbol)]
        unsafe extern "C" fn $alias($($argument: $type,)* error: *mut Integer) {
            static CALL: $crate::call::Call = $crate::call::Call::named(concat!($symbol, "\0"));
            let next = CALL.next(ptr::null_mut());
            assert!(!next.is_null(), "a program in Fortran has the library's functions for it");
            // SAFETY: all definitions of a function have one type. Promises 1 to 4: the call's own arguments
            // are passed on.
            unsafe {
                run(std::mem::transmute::<*mut c_void, Function>(next), $($argument,)* error);
            }
        }
    };
}

/// Runs a call if any request is registered. Returns `None` otherwise: the call is forwarded unchanged.
pub(super) fn if_any(run: impl FnOnce() -> c_int) -> Option<c_int> {
    requests::any().then(run)
}

/// Defines calls that complete operations on a window, by their arguments before the window. `window_of`
/// converts a `FortranWindow` to a C handle.
macro_rules! completions {
    ($($name:ident ($($rank:ident)?) $(with $given:ident)? [$($symbols:tt)*];)*) => { functions! {$(
        fn $name [$($symbols)*] (
            $($rank: *const Integer,)?
            $($given: *const Integer,)?
            window: *mut FortranWindow,
        ) |next| {
            // SAFETY: promises 1 and 2 for the call's arguments; promise 4 for the buffers of gets under way.
            $crate::windows::any().then(|| unsafe {
                let rank: Option<c_int> = [$(*$rank)?].first().copied();
                $crate::windows::complete(window_of(*window), rank, || {
                    let mut code = SUCCESS;
                    next($($rank,)? $($given,)? window, &raw mut code);
                    code
                })
            })
        }
    )*} };
}

#[cfg(not(open_mpi))]
mod mpich;
#[cfg(open_mpi)]
mod open_mpi;
