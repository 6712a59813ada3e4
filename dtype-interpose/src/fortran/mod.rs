//! Entry points of the Fortran bindings, for calls that do not pass through the C functions. The build script
//! writes the exported functions from `calls.txt`.
//!
//! In MPICH, `mpif.h` and `mpi` call the C functions, and `mpi_f08` does so for calls with buffers: see
//! `shared`. In Open MPI, no binding calls them: see `converted`. If no datatype of a call may be packed, and
//! no requests or windows are registered, the call is forwarded unchanged to the next Fortran function.
//! Otherwise the arguments are passed to the C function, or to the handler.

use std::os::raw::c_int;

use crate::requests;

/// `INTEGER`, which is a C `int` in all libraries that are supported.
type Integer = c_int;

/// Ends a call: stores its code, or forwards the call unchanged if there is no code. Then tests the requests
/// that the program has freed.
///
/// # Safety
/// Promise 2 for `error`, which may be null: the argument is optional in `mpi_f08`.
unsafe fn finish(code: Option<c_int>, error: *mut Integer, forward: impl FnOnce()) {
    match code {
        Some(_) if error.is_null() => {}
        // SAFETY: promise 2 for `error`, which is not null.
        Some(code) => unsafe { *error = code },
        None => forward(),
    }
    requests::tend();
}

/// Runs a call if any request is registered. Returns `None` otherwise: the call is forwarded unchanged.
fn if_any(run: impl FnOnce() -> c_int) -> Option<c_int> {
    requests::any().then(run)
}

/// The items that the exported functions of both kinds of bindings use.
mod exported {
    pub(super) use super::finish;
    pub(super) use crate::{
        call::Call,
        calls::{init_finalize, one_sided},
        exports::c,
        windows,
    };
}

#[cfg(fortran = "converted")]
mod converted;
#[cfg(fortran = "shared")]
mod shared;
