//! MPI's life in this process: whether it may be called, from which threads, and what is done when it ends.
//!
//! At the first use an attribute is put on `MPI_COMM_SELF` whose deletion, the first thing `MPI_Finalize`
//! does (MPI 4.1 section 11.2.4), does what was [put on the list](at_end). From then on there are errors. A
//! program that has sessions only says where they begin and end: [`in_session`].

use std::{
    cell::Cell,
    os::raw::{c_int, c_void},
    ptr,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
};

use ::mpi::{
    ffi::{self, MPI_Comm, MPI_Datatype},
    raw::AsRaw,
};
use dtype_core::BaseType;

use super::{
    errors::{called, checked, without_communicator},
    shim,
};
use crate::Error;

/// Nothing has been used, or all is set up, or `MPI_Finalize` has been called.
static STATE: AtomicU8 = AtomicU8::new(NEW);
const NEW: u8 = 0;
const READY: u8 = 1;
const ENDED: u8 = 2;

/// Whether several threads may call MPI at a time (`MPI_THREAD_MULTIPLE`), and whether others than the main
/// one may at all.
static MANY_AT_A_TIME: AtomicBool = AtomicBool::new(false);
static ANY_THREAD: AtomicBool = AtomicBool::new(false);

/// Whether there are `MPI_COMM_WORLD` and `MPI_COMM_SELF`, as programs have that have called `MPI_Init`.
static HAS_WORLD: AtomicBool = AtomicBool::new(false);

/// What is to be done when MPI ends, while it may still be called.
static AT_END: Mutex<Vec<fn()>> = Mutex::new(Vec::new());

/// Finds out whether this thread may call MPI; the first time that one may, prepares for its end.
#[inline]
pub(crate) fn ready() -> Result<(), Error> {
    match STATE.load(Ordering::Acquire) {
        READY => on_right_thread(),
        ENDED => Err(Error::Finalized),
        _ => set_up(),
    }
}

/// Whether there are `MPI_COMM_WORLD` and `MPI_COMM_SELF`.
#[inline]
pub(super) fn has_world() -> bool {
    HAS_WORLD.load(Ordering::Relaxed)
}

/// Runs what uses MPI in a program that has sessions and no `MPI_Init` (MPI 4.1 section 11.3). When it is
/// over, what was made for it is freed, as `MPI_Finalize` has it done otherwise, and everything that needs
/// MPI is an error: a program can do this once. In a program that has called `MPI_Init` it is not needed, and
/// only runs.
///
/// Errors that are not those of a communicator, as of a datatype that is too large, go where the session has
/// them go.
///
/// ```no_run
/// use dtype_runtime::{in_session, layout};
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
/// 1. A session of this process is open until this returns. 2. It has been opened for as many threads as
///    `run` calls MPI from.
/// 3. When `run` has returned, no other thread is in a call of this crate, and nothing that was made by one
///    is used any more: no datatype, and no request.
///
/// # Errors
/// [`Error::Finalized`] after `MPI_Finalize`, and in a second call; where MPI refuses a call. Then nothing
/// has been run.
pub unsafe fn in_session<R>(run: impl FnOnce() -> R) -> Result<R, Error> {
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            end_all();
        }
    }
    match ready() {
        Ok(()) => return Ok(run()),
        Err(Error::NotInitialized) => {}
        Err(error) => return Err(error),
    }
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if STATE.load(Ordering::Acquire) != NEW {
        drop(guard);
        return ready().map(|()| run());
    }
    // Of a session it cannot be asked for how many threads it is: 2, so it may be all of them.
    MANY_AT_A_TIME.store(true, Ordering::Relaxed);
    ANY_THREAD.store(true, Ordering::Relaxed);
    // SAFETY: 1, so MPI can be called.
    checked("MPI_Comm_create_errhandler", unsafe { shim::dtype_shim_make_stand_in() })?;
    STATE.store(READY, Ordering::Release);
    drop(guard);
    let _end = End;
    Ok(run())
}

/// Whether several threads may be in calls of MPI at a time.
#[inline]
pub(super) fn has_threads() -> bool {
    MANY_AT_A_TIME.load(Ordering::Relaxed)
}

/// Does this when MPI ends.
pub(crate) fn at_end(call: fn()) {
    AT_END.lock().unwrap_or_else(PoisonError::into_inner).push(call);
}

/// Held while it changes from nothing to all that is set up.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[cold]
fn set_up() -> Result<(), Error> {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if STATE.load(Ordering::Acquire) != NEW {
        return ready();
    }
    check_state()?;
    HAS_WORLD.store(true, Ordering::Relaxed);
    let mut level = 0;
    // SAFETY: MPI is initialized; it may be asked for its level from any thread.
    unsafe {
        ffi::MPI_Query_thread(&raw mut level);
        MANY_AT_A_TIME.store(level >= ffi::RSMPI_THREAD_MULTIPLE, Ordering::Relaxed);
        ANY_THREAD.store(level >= ffi::RSMPI_THREAD_SERIALIZED, Ordering::Relaxed);
    }
    on_right_thread()?;
    // SAFETY: MPI is initialized, and this thread may call it.
    checked("MPI_Comm_create_errhandler", unsafe { shim::dtype_shim_make_stand_in() })?;
    without_communicator(call_at_finalize)?;
    STATE.store(READY, Ordering::Release);
    Ok(())
}

/// Below `MPI_THREAD_SERIALIZED` only the main thread may call MPI (MPI 4.1 section 11.6).
#[inline]
fn on_right_thread() -> Result<(), Error> {
    thread_local! {
        static IS_MAIN: Cell<Option<bool>> = const { Cell::new(None) };
    }
    if ANY_THREAD.load(Ordering::Relaxed) {
        return Ok(());
    }
    let is_main = IS_MAIN.get().unwrap_or_else(|| {
        let mut flag = 0;
        // SAFETY: MPI is initialized; any thread may ask this.
        unsafe { ffi::MPI_Is_thread_main(&raw mut flag) };
        IS_MAIN.set(Some(flag != 0));
        flag != 0
    });
    if is_main { Ok(()) } else { Err(Error::Thread) }
}

/// MPI calls are allowed between initialization and finalization only (MPI 4.1 section 11.4.1).
fn check_state() -> Result<(), Error> {
    let (mut initialized, mut finalized) = (0, 0);
    // SAFETY: these two may be called at any time, from any thread (MPI 4.1 section 11.4.1).
    unsafe {
        ffi::MPI_Initialized(&raw mut initialized);
        ffi::MPI_Finalized(&raw mut finalized);
    }
    match (initialized, finalized) {
        (0, _) => Err(Error::NotInitialized),
        (_, 0) => Ok(()),
        _ => Err(Error::Finalized),
    }
}

/// Has `MPI_Finalize` call [`end`].
fn call_at_finalize() -> Result<(), Error> {
    let mut key = 0;
    // SAFETY: MPI is initialized; the callbacks have the types of MPI 4.1 section 7.7.2 and use no extra
    // state. Freeing the key only marks it: it lives until the attribute is deleted.
    unsafe {
        let create = ffi::MPI_Comm_create_keyval(Some(no_copy), Some(end), &raw mut key, ptr::null_mut());
        checked("MPI_Comm_create_keyval", create)?;
        let set = ffi::MPI_Comm_set_attr(ffi::RSMPI_COMM_SELF, key, ptr::null_mut());
        checked("MPI_Comm_set_attr", set)?;
        checked("MPI_Comm_free_keyval", ffi::MPI_Comm_free_keyval(&raw mut key))
    }
}

/// `MPI_COMM_NULL_COPY_FN`, which is a macro in some libraries: duplicates of a communicator do not have our
/// attributes.
pub(crate) unsafe extern "C" fn no_copy(
    _: MPI_Comm,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI passes a valid place for the flag.
    unsafe { *flag = 0 };
    ffi::MPI_SUCCESS as c_int
}

/// The delete callback of the attribute on `MPI_COMM_SELF`. MPI is still usable while it runs this.
unsafe extern "C" fn end(_: MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    end_all();
    ffi::MPI_SUCCESS as c_int
}

/// Does what is to be done when MPI ends.
fn end_all() {
    STATE.store(ENDED, Ordering::Release);
    let calls = std::mem::take(&mut *AT_END.lock().unwrap_or_else(PoisonError::into_inner));
    for call in calls {
        call();
    }
    // SAFETY: the handler was made when this was set up, and no call of ours is made any more.
    unsafe { shim::dtype_shim_free_stand_in() };
}

/// `MPI_PACKED`, which matches whatever is sent or received (MPI 4.1 section 5.2).
#[inline]
pub(crate) fn packed_datatype() -> MPI_Datatype {
    // SAFETY: a constant of the library.
    unsafe { shim::dtype_shim_handle(BaseType::Packed as c_int) }
}

/// Finds out whether MPI may be called, for a call on a communicator.
#[inline]
pub(crate) fn ready_on(communicator: &(impl AsRaw<Raw = MPI_Comm> + ?Sized)) -> Result<MPI_Comm, Error> {
    ready()?;
    Ok(communicator.as_raw())
}

/// Whether a communicator is one between two groups.
pub(crate) fn is_between_groups(communicator: MPI_Comm) -> Result<bool, Error> {
    let mut between_groups = 0;
    called("MPI_Comm_test_inter", communicator, || {
        // SAFETY: MPI is usable and the communicator live, as whoever has it has found out; there is room for
        // a flag.
        unsafe { ffi::MPI_Comm_test_inter(communicator, &raw mut between_groups) }
    })?;
    Ok(between_groups != 0)
}

/// The greatest tag (`MPI_TAG_UB`), which is the same for all communicators; without sessions
/// `MPI_COMM_WORLD` has it.
#[inline]
pub(crate) fn greatest_tag(communicator: MPI_Comm) -> c_int {
    static GREATEST: OnceLock<c_int> = OnceLock::new();
    // SAFETY: MPI is usable, as whoever asks this has found out, and the communicator live.
    *GREATEST.get_or_init(|| unsafe {
        shim::dtype_shim_greatest_tag(if has_world() { ffi::RSMPI_COMM_WORLD } else { communicator })
    })
}

/// Whether the library may write a message that is too long behind its buffer, unless the datatype has gaps:
/// see `shim.c`.
#[inline]
pub(crate) fn writes_too_much() -> bool {
    // SAFETY: a constant of the library.
    unsafe { shim::dtype_shim_writes_too_much() == 1 }
}
