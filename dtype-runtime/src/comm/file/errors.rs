//! Errors of files: each has the path of its file.

use std::{os::raw::c_int, path::Path};

use ::mpi::ffi::{self, MPI_Datatype};

use crate::mpi::Usable;
use crate::{
    Error, Result,
    mpi::{checked, class_of, true_code, without_communicator},
};

/// Returns an error with the path of its file.
pub(super) fn refused(path: &Path, reason: impl Into<String>) -> Error {
    Error::File { path: path.display().to_string(), reason: reason.into() }
}

/// Makes a call whose errors have no communicator, and returns its error.
pub(super) fn quietly(mpi: &Usable, call: impl FnOnce() -> c_int) -> c_int {
    without_communicator(mpi, || true_code(call()))
}

/// Returns the error of a call on a file, with its path. MPICH passes codes of one rank to the others, where
/// `MPI_Error_string` does not know them. All ranks know the class.
pub(super) fn of_file(mpi: &Usable, path: &Path, name: &'static str, code: c_int) -> Result {
    checked(mpi, name, class_of(mpi, true_code(code)))
        .map_err(|error| refused(path, Error::from(error).to_string()))
}

/// Returns `MPI_BYTE`'s equal: the datatype of one byte.
pub(super) fn byte() -> MPI_Datatype {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_UINT8_T }
}
