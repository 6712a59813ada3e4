//! MPI errors as values, with every library. The program's error handlers stay as they are.
//!
//! By default, MPI ends the program at an error. If errors are fatal on a communicator, a stand-in handler
//! replaces the fatal one for the duration of a call (docs/wires.md, "Errors of MPI"). A handler that the
//! program has set stays.

use std::{
    mem::MaybeUninit,
    os::raw::{c_char, c_int},
    sync::{Mutex, MutexGuard, PoisonError},
};

use ::mpi::ffi::{self, MPI_Comm, MPI_Errhandler};

use crate::{Error, Usable, environment, shim};

/// Converts an error code into an error with MPI's own text. Also reports an error that MPI passed to the
/// handler but did not return.
///
/// # Errors
/// [`Error::Mpi`] for any other code than [`SUCCESS`].
#[inline]
pub fn checked(mpi: &Usable, call: &'static str, code: c_int) -> Result<(), Error> {
    match true_code(code) {
        SUCCESS => Ok(()),
        code => Err(error(mpi, call, code)),
    }
}

/// Returns the error code of a call. MPICH 5 passes the code to the handler and returns success.
#[inline]
pub fn true_code(code: c_int) -> c_int {
    // SAFETY: the call only reads and clears a thread-local number.
    let told = unsafe { shim::dtype_shim_last_error() };
    if code == SUCCESS { told } else { code }
}

/// `MPI_SUCCESS`.
pub const SUCCESS: c_int = ffi::MPI_SUCCESS as c_int;

/// Returns the class of an error code (`MPI_Error_class`), which is an error code itself.
pub fn class_of(mpi: &Usable, code: c_int) -> c_int {
    let mut class = SUCCESS;
    // SAFETY: MPI has returned this code.
    unsafe { mpi.MPI_Error_class(code, &raw mut class) };
    class
}

/// Returns `true` if the error is truncation: a message was longer than its buffer.
pub fn is_truncation(mpi: &Usable, code: c_int) -> bool {
    class_of(mpi, code) == ffi::MPI_ERR_TRUNCATE as c_int
}

#[cold]
fn error(mpi: &Usable, call: &'static str, code: c_int) -> Error {
    /// The capacity of the text in bytes; `MPI_MAX_ERROR_STRING` is 256 to 1,024.
    const CAPACITY: usize = 4096;
    let (mut text, mut length) = (vec![0u8; CAPACITY], 0);
    // SAFETY: the buffer is larger than `MPI_MAX_ERROR_STRING` of any library. MPI has just returned the
    // code, so the code is valid.
    unsafe { mpi.MPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), &raw mut length) };
    text.truncate(usize::try_from(length).unwrap_or(0));
    Error::Mpi { call, code, text: String::from_utf8_lossy(&text).into_owned() }
}

/// Makes MPI calls on a communicator whose errors are returned, not fatal.
///
/// # Safety
/// 1. The communicator is live.
#[inline]
pub unsafe fn returning_errors<R>(mpi: &Usable, communicator: MPI_Comm, calls: impl FnOnce() -> R) -> R {
    // SAFETY: 1.
    let _standing_in = unsafe { StandIn::on(mpi, communicator) };
    calls()
}

/// Makes an MPI call on a communicator, and returns its error as a value.
///
/// # Errors
/// [`Error::Mpi`] if the call fails.
///
/// # Safety
/// 1. The communicator is live.
#[inline]
pub unsafe fn called(
    mpi: &Usable,
    name: &'static str,
    communicator: MPI_Comm,
    call: impl FnOnce() -> c_int,
) -> Result<(), Error> {
    // SAFETY: 1.
    let _standing_in = unsafe { StandIn::on(mpi, communicator) };
    checked(mpi, name, call())
}

/// Sets `MPI_ERRORS_RETURN` on a communicator.
///
/// # Safety
/// 1. The communicator is live.
pub unsafe fn return_errors(_: &Usable, communicator: MPI_Comm) -> c_int {
    // SAFETY: MPI is usable; 1.
    unsafe { shim::dtype_shim_return_errors(communicator) }
}

/// Makes MPI calls that have no communicator. Libraries pass their errors to the handler of `MPI_COMM_WORLD`
/// or `MPI_COMM_SELF` (MPI 3.1 and MPI 4.1 section 9.3). If there are only sessions, libraries call the
/// handler of the first session, which cannot be replaced.
pub fn without_communicator<R>(mpi: &Usable, calls: impl FnOnce() -> R) -> R {
    if !environment::has_world() {
        return calls();
    }
    // SAFETY: constants of the library.
    let (world, own) = unsafe { (ffi::RSMPI_COMM_WORLD, ffi::RSMPI_COMM_SELF) };
    // SAFETY: 1, since both communicators live as long as MPI is usable.
    unsafe { returning_errors(mpi, world, || returning_errors(mpi, own, calls)) }
}

/// A guard: while it lives, errors of this thread on a communicator are returned.
struct StandIn<'m> {
    communicator: MPI_Comm,
    put: Put,
    /// MPI is usable until the handler is back.
    _mpi: &'m Usable,
}

/// The change to a communicator's error handler.
enum Put {
    /// The handler is one of the program's own, and has not been changed.
    Nothing,
    /// The stand-in replaces this handler. No other thread can be in a call of this crate.
    Alone(MPI_Errhandler),
    /// Several threads share the stand-in. The last one to leave restores the handler.
    Together,
}

impl<'m> StandIn<'m> {
    /// Replaces the handler of a communicator, if errors are fatal there.
    ///
    /// # Safety
    /// 1. The communicator is live until the guard is dropped.
    #[inline]
    unsafe fn on(mpi: &'m Usable, communicator: MPI_Comm) -> Self {
        // SAFETY: both calls only change thread-local numbers. The second one clears an error of an earlier
        // call.
        unsafe {
            shim::dtype_shim_enter();
            shim::dtype_shim_last_error();
        }
        let put = if !environment::has_threads() {
            put_stand_in(communicator).map_or(Put::Nothing, Put::Alone)
        } else if Standing::enter(communicator) {
            Put::Together
        } else {
            Put::Nothing
        };
        Self { communicator, put, _mpi: mpi }
    }
}

impl Drop for StandIn<'_> {
    #[inline]
    fn drop(&mut self) {
        match self.put {
            Put::Nothing => {}
            Put::Alone(before) => put_back(self.communicator, before),
            Put::Together => Standing::leave(self.communicator),
        }
        // SAFETY: the call only changes a thread-local number.
        unsafe { shim::dtype_shim_leave() };
    }
}

/// Puts the stand-in on a communicator if errors are fatal there, and returns the previous handler.
#[inline]
fn put_stand_in(communicator: MPI_Comm) -> Option<MPI_Errhandler> {
    let mut before = MaybeUninit::uninit();
    // SAFETY: MPI is usable and the communicator live. There is room for a handler, which is written if the
    // result is 1.
    unsafe {
        let is_put = shim::dtype_shim_stand_in(communicator, before.as_mut_ptr()) == 1;
        is_put.then(|| before.assume_init())
    }
}

#[inline]
fn put_back(communicator: MPI_Comm, mut before: MPI_Errhandler) {
    // SAFETY: MPI is usable and the communicator live, as when the stand-in was put there. The handler is the
    // previous one.
    unsafe { shim::dtype_shim_put_back(communicator, &raw mut before, environment::has_threads().into()) };
}

/// A communicator that has the stand-in while threads are in calls of this crate. The first thread puts the
/// stand-in on the communicator.
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

    /// Counts a call on a communicator, and puts the stand-in there if errors are fatal. Returns `true` if
    /// the communicator has the stand-in. Then a call of [`leave`](Self::leave) must follow.
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
