//! Errors of MPI as values, on every library, with the error handlers of the program as they were.
//!
//! MPI ends the program at an error unless a communicator says otherwise. So a handler of ours stands in
//! where errors are fatal, for the time of a call, and goes again with it (DESIGN.md, "Errors of MPI"). A
//! handler that the program has set stays.

use std::{
    mem::MaybeUninit,
    os::raw::{c_char, c_int},
    sync::{Mutex, MutexGuard, PoisonError},
};

use ::mpi::ffi::{self, MPI_Comm, MPI_Errhandler};

use super::{life, shim};
use crate::Error;

/// An error code as an error, with MPI's own text. Also an error that MPI has told its handler but not its
/// caller.
#[inline]
pub(crate) fn checked(call: &'static str, code: c_int) -> Result<(), Error> {
    match true_code(code) {
        SUCCESS => Ok(()),
        code => Err(error(call, code)),
    }
}

/// What went wrong in a call, which MPICH 5 tells its handler only.
#[inline]
pub(crate) fn true_code(code: c_int) -> c_int {
    // SAFETY: it only looks at a number of this thread.
    let told = unsafe { shim::dtype_shim_last_error() };
    if code == SUCCESS { told } else { code }
}

/// `MPI_SUCCESS`.
pub(crate) const SUCCESS: c_int = ffi::MPI_SUCCESS as c_int;

/// Whether an error is that a message was longer than its buffer.
pub(crate) fn is_truncation(code: c_int) -> bool {
    let mut class = SUCCESS;
    // SAFETY: the code is one that MPI has returned.
    unsafe { ffi::MPI_Error_class(code, &raw mut class) };
    class == ffi::MPI_ERR_TRUNCATE as c_int
}

#[cold]
fn error(call: &'static str, code: c_int) -> Error {
    /// `MPI_MAX_ERROR_STRING` is 256 to 1,024.
    const CAPACITY: usize = 4096;
    let (mut text, mut length) = (vec![0u8; CAPACITY], 0);
    // SAFETY: there is more room than any library wants; a code that MPI has just returned is one of its own.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), &raw mut length) };
    text.truncate(usize::try_from(length).unwrap_or(0));
    Error::Mpi { call, code, text: String::from_utf8_lossy(&text).into_owned() }
}

/// Makes MPI calls on a communicator whose errors become values.
#[inline]
pub(crate) fn returning_errors<R>(communicator: MPI_Comm, calls: impl FnOnce() -> R) -> R {
    let _standing_in = StandIn::on(communicator);
    calls()
}

/// Makes an MPI call on a communicator, of which an error becomes a value.
#[inline]
pub(crate) fn called(
    name: &'static str,
    communicator: MPI_Comm,
    call: impl FnOnce() -> c_int,
) -> Result<(), Error> {
    let _standing_in = StandIn::on(communicator);
    checked(name, call())
}

/// Has errors on a communicator of our own returned, always.
pub(crate) fn return_errors(communicator: MPI_Comm) -> c_int {
    // SAFETY: MPI is usable, and the communicator live.
    unsafe { shim::dtype_shim_return_errors(communicator) }
}

/// Makes MPI calls that have no communicator: libraries call the handler of `MPI_COMM_WORLD` or of
/// `MPI_COMM_SELF` for them (MPI 3.1 and MPI 4.1 section 9.3). Where there are sessions only, the handler of
/// the first one is called, which cannot be replaced.
pub(crate) fn without_communicator<R>(calls: impl FnOnce() -> R) -> R {
    if !life::has_world() {
        return calls();
    }
    // SAFETY: constants of the library.
    let (world, own) = unsafe { (ffi::RSMPI_COMM_WORLD, ffi::RSMPI_COMM_SELF) };
    returning_errors(world, || returning_errors(own, calls))
}

/// As long as it lives, errors of this thread on a communicator are returned.
struct StandIn {
    communicator: MPI_Comm,
    put: Put,
}

/// What has been done about a communicator's handler.
enum Put {
    /// Nothing: it is one of the program's own.
    Nothing,
    /// It was this one; no other thread can be in a call of ours.
    Alone(MPI_Errhandler),
    /// The last of the threads that are in a call puts it back.
    Together,
}

impl StandIn {
    #[inline]
    fn on(communicator: MPI_Comm) -> Self {
        // SAFETY: they only change numbers of this thread. What an earlier call has left is nobody's error.
        unsafe {
            shim::dtype_shim_enter();
            shim::dtype_shim_last_error();
        }
        let put = if !life::has_threads() {
            put_stand_in(communicator).map_or(Put::Nothing, Put::Alone)
        } else if Standing::enter(communicator) {
            Put::Together
        } else {
            Put::Nothing
        };
        Self { communicator, put }
    }
}

impl Drop for StandIn {
    #[inline]
    fn drop(&mut self) {
        match self.put {
            Put::Nothing => {}
            Put::Alone(before) => put_back(self.communicator, before),
            Put::Together => Standing::leave(self.communicator),
        }
        // SAFETY: it only changes a number of this thread.
        unsafe { shim::dtype_shim_leave() };
    }
}

/// Puts the stand-in on a communicator whose errors are fatal, and gives the handler that was there.
#[inline]
fn put_stand_in(communicator: MPI_Comm) -> Option<MPI_Errhandler> {
    let mut before = MaybeUninit::uninit();
    // SAFETY: MPI is usable and the communicator live; there is room for a handler, which is set where the
    // result is 1.
    unsafe {
        let is_put = shim::dtype_shim_stand_in(communicator, before.as_mut_ptr()) == 1;
        is_put.then(|| before.assume_init())
    }
}

#[inline]
fn put_back(communicator: MPI_Comm, mut before: MPI_Errhandler) {
    // SAFETY: MPI is usable and the communicator live, as when the stand-in was put; the handler is the one
    // that was there.
    unsafe { shim::dtype_shim_put_back(communicator, &raw mut before, life::has_threads().into()) };
}

/// A communicator on which the stand-in is while threads are in calls of ours: the first of them puts it.
struct Standing {
    communicator: MPI_Comm,
    before: MPI_Errhandler,
    calls: usize,
}

// SAFETY: MPI handles name objects of the process, not of a thread (MPI 4.1 section 2.5.1).
unsafe impl Send for Standing {}

static STANDING: Mutex<Vec<Standing>> = Mutex::new(Vec::new());

impl Standing {
    fn all() -> MutexGuard<'static, Vec<Self>> {
        STANDING.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the stand-in is there, so that [`leave`](Self::leave) has to follow.
    fn enter(communicator: MPI_Comm) -> bool {
        let mut all = Self::all();
        if let Some(standing) = all.iter_mut().find(|standing| standing.communicator == communicator) {
            standing.calls += 1;
            return true;
        }
        let before = put_stand_in(communicator);
        all.extend(before.map(|before| Self { communicator, before, calls: 1 }));
        before.is_some()
    }

    fn leave(communicator: MPI_Comm) {
        let mut all = Self::all();
        let Some(i) = all.iter().position(|standing| standing.communicator == communicator) else { return };
        all[i].calls -= 1;
        if all[i].calls == 0 {
            let Self { before, .. } = all.swap_remove(i);
            put_back(communicator, before);
        }
    }
}
