//! MPI errors as values, with every library. The program's error handlers stay as they are.
//!
//! By default, MPI ends the program at an error. If errors are fatal on a communicator, a stand-in handler
//! replaces the fatal one for the duration of a call (docs/wires.md, "Errors of MPI"). A handler that the
//! program has set stays.

use std::{
    cell::Cell,
    io::{self, Write as _},
    mem,
    os::raw::{c_char, c_int},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use ::mpi::ffi::{self, MPI_Comm, MPI_Errhandler};

use crate::{Error, Usable, constants, environment};

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
    let told = TOLD.replace(SUCCESS);
    if code == SUCCESS { told } else { code }
}

/// Converts the result of an MPI call, whose error is a code. Also reports an error that MPI passed to the
/// error handler but did not return.
///
/// # Errors
/// [`Error::Mpi`] for a code.
pub fn told<T>(mpi: &Usable, call: &'static str, result: Result<T, c_int>) -> Result<T, Error> {
    checked(mpi, call, result.as_ref().err().copied().unwrap_or(SUCCESS))?;
    result.map_err(|code| Error::Mpi { call, code, text: String::new() })
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
    code != SUCCESS && class_of(mpi, code) == constants::MPI_ERR_TRUNCATE()
}

#[cold]
fn error(mpi: &Usable, call: &'static str, code: c_int) -> Error {
    Error::Mpi { call, code, text: text_of(mpi, code) }
}

/// Returns MPI's text for an error code that it has just returned.
fn text_of(mpi: &Usable, code: c_int) -> String {
    /// The capacity of the text in bytes; `MPI_MAX_ERROR_STRING` is 256 to 1,024.
    const CAPACITY: usize = 4096;
    let (mut text, mut length) = (vec![0u8; CAPACITY], 0);
    // SAFETY: the buffer is larger than `MPI_MAX_ERROR_STRING` of any library; the code is valid.
    unsafe { mpi.MPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), &raw mut length) };
    text.truncate(usize::try_from(length).unwrap_or(0));
    String::from_utf8_lossy(&text).into_owned()
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
pub unsafe fn return_errors(mpi: &Usable, communicator: MPI_Comm) -> c_int {
    // SAFETY: 1; a constant of the library.
    unsafe { mpi.MPI_Comm_set_errhandler(communicator, ffi::RSMPI_ERRORS_RETURN) }
}

/// Makes MPI calls that have no communicator. Libraries pass their errors to the handler of `MPI_COMM_WORLD`
/// or `MPI_COMM_SELF` (MPI 3.1 and MPI 4.1 section 9.3). If there are only sessions, libraries call the
/// handler of the first session, which cannot be replaced.
pub fn without_communicator<R>(mpi: &Usable, calls: impl FnOnce() -> R) -> R {
    if !environment::has_world() {
        return calls();
    }
    if IS_QUIET.get() {
        // An error of an earlier call is none of these.
        TOLD.set(SUCCESS);
        return calls();
    }
    let _quiet = Quiet::begin();
    // SAFETY: constants of the library.
    let (world, own) = unsafe { (ffi::RSMPI_COMM_WORLD, ffi::RSMPI_COMM_SELF) };
    // SAFETY: 1, since both communicators live as long as MPI is usable.
    unsafe { returning_errors(mpi, world, || returning_errors(mpi, own, calls)) }
}

thread_local! {
    /// The number of nested calls of this thread whose errors are returned.
    static DEPTH: Cell<u32> = const { Cell::new(0) };

    /// The communicator of the outermost of these calls. Nested calls on it leave its handler as it is.
    static OUTERMOST: Cell<Option<MPI_Comm>> = const { Cell::new(None) };

    /// `true` within [`without_communicator`]. Nested calls replace no handler again.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };

    /// The code of the last error in such a call. MPICH 5 returns `MPI_SUCCESS` after a handler that returns,
    /// so the code is read from here.
    static TOLD: Cell<c_int> = const { Cell::new(SUCCESS) };
}

/// A guard for the time of [`without_communicator`].
struct Quiet;

impl Quiet {
    fn begin() -> Self {
        IS_QUIET.set(true);
        Self
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        IS_QUIET.set(false);
    }
}

/// The function of the stand-in for `MPI_ERRORS_ARE_FATAL`. Errors in calls of this crate are returned;
/// errors in calls of other threads stay fatal. The library passes more arguments, which are not used.
unsafe extern "C" fn all_but_ours(communicator: *mut MPI_Comm, code: *mut c_int) {
    // SAFETY: MPI passes a code.
    let code = unsafe { *code };
    if DEPTH.get() > 0 {
        TOLD.set(code);
        return;
    }
    // SAFETY: 1, as MPI calls this function.
    let mpi = &unsafe { Usable::assumed() };
    let _ = writeln!(io::stderr(), "{}", text_of(mpi, code));
    // SAFETY: MPI passes a communicator that is live.
    unsafe { mpi.MPI_Abort(*communicator, code) };
}

/// The handle of the stand-in.
struct Handler(MPI_Errhandler);

// SAFETY: MPI handles name objects of the process, not of a thread (MPI 4.1 section 2.5.1).
unsafe impl Send for Handler {}
// SAFETY: as for `Send`.
unsafe impl Sync for Handler {}

static HANDLER: OnceLock<Handler> = OnceLock::new();

/// Creates the stand-in, once, before the first call that may need it.
pub(crate) fn make_stand_in(mpi: &Usable) -> c_int {
    type Plain = unsafe extern "C" fn(*mut MPI_Comm, *mut c_int);
    type Variadic = unsafe extern "C" fn(*mut MPI_Comm, *mut c_int, ...);
    if HANDLER.get().is_some() {
        return SUCCESS;
    }
    // SAFETY: a constant of the library. On the supported systems, the first two arguments lie where they lie
    // without the others. There is room for a handle.
    let (code, handler) = unsafe {
        let mut handler = ffi::RSMPI_ERRORS_RETURN;
        let function = mem::transmute::<Plain, Variadic>(all_but_ours);
        (mpi.MPI_Comm_create_errhandler(Some(function), &raw mut handler), handler)
    };
    if code == SUCCESS {
        HANDLER.get_or_init(|| Handler(handler));
    }
    code
}

/// Frees the stand-in. This crate makes no more calls that use it.
pub(crate) fn free_stand_in(mpi: &Usable) {
    if let Some(Handler(handler)) = HANDLER.get() {
        let mut handler = *handler;
        // SAFETY: the handler was made by `make_stand_in`, and is freed once.
        unsafe { mpi.MPI_Errhandler_free(&raw mut handler) };
    }
}

fn is_fatal(handler: MPI_Errhandler) -> bool {
    // SAFETY: a constant of the library.
    handler == unsafe { ffi::RSMPI_ERRORS_ARE_FATAL } || Some(handler) == constants::errors_abort()
}

/// A guard: while it lives, errors of this thread on a communicator are returned.
struct StandIn<'m> {
    communicator: MPI_Comm,
    put: Put,
    /// MPI is usable until the handler is back.
    mpi: &'m Usable,
}

/// The change to a communicator's error handler.
enum Put {
    /// The handler has not been changed: it is one of the program's own, or an outer guard has seen to it.
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
        let depth = DEPTH.replace(DEPTH.get() + 1);
        // An error of an earlier call is none of this one.
        TOLD.set(SUCCESS);
        if depth == 0 {
            OUTERMOST.set(Some(communicator));
        }
        let put = if depth > 0 && OUTERMOST.get() == Some(communicator) {
            Put::Nothing
        } else if !environment::has_threads() {
            put_stand_in(mpi, communicator).map_or(Put::Nothing, Put::Alone)
        } else if Standing::enter(mpi, communicator) {
            Put::Together
        } else {
            Put::Nothing
        };
        Self { communicator, put, mpi }
    }
}

impl Drop for StandIn<'_> {
    #[inline]
    fn drop(&mut self) {
        match self.put {
            Put::Nothing => {}
            Put::Alone(before) => put_back(self.mpi, self.communicator, before),
            Put::Together => Standing::leave(self.mpi, self.communicator),
        }
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Puts the stand-in on a communicator if errors are fatal there, and returns the previous handler. Other
/// handlers stay.
#[inline]
fn put_stand_in(mpi: &Usable, communicator: MPI_Comm) -> Option<MPI_Errhandler> {
    let Handler(stand_in) = HANDLER.get()?;
    // SAFETY: the communicator is live, and the stand-in, too; there is room for a handler, which is freed
    // once if it is not kept.
    unsafe {
        let mut before = ffi::RSMPI_ERRORS_RETURN;
        if mpi.MPI_Comm_get_errhandler(communicator, &raw mut before) != SUCCESS {
            return None;
        }
        if is_fatal(before) && mpi.MPI_Comm_set_errhandler(communicator, *stand_in) == SUCCESS {
            return Some(before);
        }
        mpi.MPI_Errhandler_free(&raw mut before);
    }
    None
}

/// Restores the previous handler. If other threads may set handlers, does so only if the stand-in is still
/// there.
#[inline]
fn put_back(mpi: &Usable, communicator: MPI_Comm, mut before: MPI_Errhandler) {
    // SAFETY: the communicator is live, as when the stand-in was put there. The handler is the previous one,
    // and each handler that MPI returned is freed once.
    unsafe {
        let mut is_there = true;
        let mut now = before;
        if environment::has_threads() && mpi.MPI_Comm_get_errhandler(communicator, &raw mut now) == SUCCESS {
            is_there = HANDLER.get().is_some_and(|Handler(stand_in)| now == *stand_in);
            mpi.MPI_Errhandler_free(&raw mut now);
        }
        if is_there {
            mpi.MPI_Comm_set_errhandler(communicator, before);
        }
        mpi.MPI_Errhandler_free(&raw mut before);
    }
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
    fn enter(mpi: &Usable, communicator: MPI_Comm) -> bool {
        let mut all = Self::all();
        if let Some(standing) = all.iter_mut().find(|standing| standing.communicator == communicator) {
            standing.calls += 1;
            return true;
        }
        let before = put_stand_in(mpi, communicator);
        all.extend(before.map(|before| Self { communicator, before, calls: 1 }));
        before.is_some()
    }

    fn leave(mpi: &Usable, communicator: MPI_Comm) {
        let mut all = Self::all();
        let Some(i) = all.iter().position(|standing| standing.communicator == communicator) else { return };
        all[i].calls -= 1;
        if all[i].calls == 0 {
            let Self { before, .. } = all.swap_remove(i);
            put_back(mpi, communicator, before);
        }
    }
}
