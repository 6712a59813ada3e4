//! The calls as programs in Fortran make them, where they do not go through those of C.
//!
//! With MPICH, `mpif.h` and `mpi` go through C with all calls, and `mpi_f08` with those that have buffers:
//! see `mpich`. With Open MPI none do: see `open_mpi`.

use std::os::raw::c_int;

use crate::requests;

/// `INTEGER`, which is a C `int` in all libraries here.
type Integer = c_int;

/// Defines functions that Fortran calls, under each of their names; what is between bars is the one behind.
macro_rules! functions {
    ($(fn $name:ident [$($symbol:literal $alias:ident),*] $arguments:tt |$next:ident| $body:block)*) => {$(
        mod $name {
            use super::*;
            one_for_all! { $arguments |$next| $body }
            $(under_name! { $symbol $alias $arguments })*
        }
    )*};
}

/// Defines what a function does.
macro_rules! one_for_all {
    (($($argument:ident: $type:ty),* $(,)?) |$next:ident| $body:block) => {
        type Function = unsafe extern "C" fn($($type,)* *mut Integer);

        /// # Safety
        /// The program's promise.
        #[allow(clippy::too_many_arguments, reason = "as in the standard")]
        unsafe fn run($next: Function, $($argument: $type,)* error: *mut Integer) {
            let code: Option<c_int> = $body;
            // SAFETY: the program's promise.
            unsafe {
                match code {
                    // In `mpi_f08` it need not be there.
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
            // SAFETY: functions of one name have one type; the program's promise.
            unsafe {
                run(std::mem::transmute::<*mut c_void, Function>(next), $($argument,)* error);
            }
        }
    };
}

/// What the library behind does where there is no request of ours.
pub(super) fn if_any(run: impl FnOnce() -> c_int) -> Option<c_int> {
    requests::any().then(run)
}

/// Defines calls behind which what was under way on a window is complete, by what they are given before it;
/// `window_of` makes a window of C of a `FortranWindow`.
macro_rules! completions {
    ($($name:ident ($($rank:ident)?) $(with $given:ident)? [$($symbols:tt)*];)*) => { functions! {$(
        fn $name [$($symbols)*] (
            $($rank: *const Integer,)?
            $($given: *const Integer,)?
            window: *mut FortranWindow,
        ) |next| {
            // SAFETY: the program's promise.
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
