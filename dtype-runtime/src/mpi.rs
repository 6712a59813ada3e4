//! The MPI calls of this crate: functions of `dtype_mpi`, with their errors converted to [`Error`].
//!
//! A public call gets the proof that MPI is usable by [`ready`], keeps it to its end, and passes it to all
//! functions that call MPI. So code of the program that runs within the call cannot end MPI.
//!
//! # Safety
//! Handles of this crate come from values of rsmpi, or from calls of MPI. So they are live: condition 1 of
//! all calls below.

use std::os::raw::c_int;

use ::mpi::ffi::MPI_Comm;
pub(crate) use dtype_mpi::{
    Handle, Probing, SUCCESS, Slot, Usable, at_end, checked, class_of, constants, construct, is_truncation,
    no_copy, packed_datatype, predefined, ready, running, told, true_code, with_gap, without_communicator,
};

use crate::Error;

impl From<dtype_mpi::Error> for Error {
    fn from(error: dtype_mpi::Error) -> Self {
        match error {
            dtype_mpi::Error::Tree(error) => error.into(),
            error => Self::Library(error),
        }
    }
}

/// Makes an MPI call on a communicator, and returns its error as a value.
#[inline]
pub(crate) fn called(
    mpi: &Usable,
    name: &'static str,
    communicator: MPI_Comm,
    call: impl FnOnce() -> c_int,
) -> Result<(), Error> {
    // SAFETY: 1, the condition of this module.
    Ok(unsafe { dtype_mpi::called(mpi, name, communicator, call) }?)
}

/// Makes MPI calls on a communicator whose errors are returned, not fatal.
#[inline]
pub(crate) fn returning_errors<R>(mpi: &Usable, communicator: MPI_Comm, calls: impl FnOnce() -> R) -> R {
    // SAFETY: 1, the condition of this module.
    unsafe { dtype_mpi::returning_errors(mpi, communicator, calls) }
}

/// Sets `MPI_ERRORS_RETURN` on a communicator that this crate has created.
pub(crate) fn return_errors(mpi: &Usable, communicator: MPI_Comm) -> c_int {
    // SAFETY: 1, the condition of this module.
    unsafe { dtype_mpi::return_errors(mpi, communicator) }
}

/// Returns the greatest tag (`MPI_TAG_UB`).
#[inline]
pub(crate) fn greatest_tag(mpi: &Usable, communicator: MPI_Comm) -> c_int {
    // SAFETY: 1, the condition of this module.
    unsafe { dtype_mpi::greatest_tag(mpi, communicator) }
}

/// Returns `true` if a communicator is an intercommunicator.
pub(crate) fn is_between_groups(mpi: &Usable, communicator: MPI_Comm) -> Result<bool, Error> {
    // SAFETY: 1, the condition of this module.
    Ok(unsafe { dtype_mpi::is_between_groups(mpi, communicator) }?)
}

/// Calls `run` in a program that has sessions and no `MPI_Init` (MPI 4.1 section 11.3). When `run` returns,
/// the MPI objects that this crate made are freed; in other programs, `MPI_Finalize` frees them. From then
/// on, every function of this crate that needs MPI returns an error, so a program can call `in_session` only
/// once. In a program that has called `MPI_Init`, this function only calls `run`.
///
/// Errors that do not belong to a communicator, such as those of a datatype that is too large, go to the
/// error handler of the session.
///
/// ```no_run
/// use dtype_runtime::{comm::in_session, layout};
///
/// // MPI_Session_init(info, MPI_ERRORS_RETURN, &session)
/// // SAFETY: the session is open until `in_session` returns.
/// unsafe {
///     in_session(|| {
///         let column = layout!(f64[9][9] => [.., 1]).datatype()?;
///         println!("{column:?}");
///         Ok::<(), dtype_runtime::Error>(())
///     })??;
/// }
/// // MPI_Session_finalize(&session)
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # Safety
/// 1. A session of this process is open until this function returns.
/// 2. The session was opened for as many threads as `run` calls MPI from.
/// 3. When `run` has returned, no other thread is in a call of this crate. No datatype or request that this
///    crate made is used any more.
///
/// # Errors
/// `State` after `MPI_Finalize` and in a second call, and any error of an MPI call. After an error, `run` has
/// not been called.
pub unsafe fn in_session<R>(run: impl FnOnce() -> R) -> Result<R, Error> {
    // SAFETY: conditions 1 to 3.
    Ok(unsafe { dtype_mpi::in_session(run) }?)
}
