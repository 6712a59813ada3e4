//! The lifetime of MPI in this process: whether it may be called, from which threads, and the cleanup at its
//! end.
//!
//! At first use, an attribute is set on `MPI_COMM_SELF`. `MPI_Finalize` deletes it before anything else (MPI
//! 4.1 section 11.2.4), and the delete callback runs the [registered functions](at_end). From then on, calls
//! return errors. A program that has only sessions marks the beginning and the end with [`in_session`].

use std::{
    cell::Cell,
    os::raw::{c_int, c_void},
    ptr,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
};

use ::mpi::ffi::{self, MPI_Comm, MPI_Datatype};
use dtype_core::BaseType;

use crate::{
    Error, SUCCESS, Usable,
    constants::{self, predefined},
    environment::{ANY_THREAD, HAS_WORLD, MANY_AT_A_TIME, has_world},
    errors::{called, checked, free_stand_in, make_stand_in, without_communicator},
    usable::none_is_live,
};

/// The state of this crate: nothing used yet, everything set up, or `MPI_Finalize` called.
static STATE: AtomicU8 = AtomicU8::new(NEW);
const NEW: u8 = 0;
const READY: u8 = 1;
const ENDED: u8 = 2;

/// The functions to call when MPI ends, while it may still be called.
static AT_END: Mutex<Vec<fn(&Usable)>> = Mutex::new(Vec::new());

/// Checks that this thread may call MPI, and returns the proof. The first check that succeeds prepares for
/// the end of MPI.
///
/// # Errors
/// [`Error::NotInitialized`], [`Error::Finalized`] or [`Error::Thread`]; [`Error::Mpi`] if a call fails.
#[inline]
pub fn ready() -> Result<Usable, Error> {
    match STATE.load(Ordering::Acquire) {
        READY => on_right_thread().map(|()| Usable::counted()),
        ENDED => Err(Error::Finalized),
        _ => set_up(),
    }
}

/// Calls `run` in a program that has sessions and no `MPI_Init`, as `dtype_runtime::in_session` explains.
///
/// # Safety
/// 1. A session of this process is open until this function returns.
/// 2. The session was opened for as many threads as `run` calls MPI from.
/// 3. When `run` has returned, no other thread is in a call of this crate. Nothing that such a call made is
///    used any more: no datatype, and no request.
///
/// # Errors
/// [`Error::Finalized`] after `MPI_Finalize` and in a second call, and any error of an MPI call. After an
/// error, `run` has not been called.
pub unsafe fn in_session<R>(run: impl FnOnce() -> R) -> Result<R, Error> {
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            end_all();
        }
    }
    match ready() {
        Ok(_) => return Ok(run()),
        Err(Error::NotInitialized) => {}
        Err(error) => return Err(error),
    }
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if STATE.load(Ordering::Acquire) != NEW {
        drop(guard);
        return ready().map(|_| run());
    }
    // The thread level of a session cannot be queried. By 2, any thread may call MPI.
    MANY_AT_A_TIME.store(true, Ordering::Relaxed);
    ANY_THREAD.store(true, Ordering::Relaxed);
    // SAFETY: by 1, MPI can be called until `run` has returned, and longer.
    let mpi = &unsafe { Usable::assumed() };
    checked(mpi, "MPI_Comm_create_errhandler", make_stand_in(mpi))?;
    STATE.store(READY, Ordering::Release);
    drop(guard);
    let _end = End;
    Ok(run())
}

/// Registers a function to be called when MPI ends.
pub fn at_end(call: fn(&Usable)) {
    AT_END.lock().unwrap_or_else(PoisonError::into_inner).push(call);
}

/// The lock that is held while the state changes from `NEW` to `READY`.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[cold]
fn set_up() -> Result<Usable, Error> {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if STATE.load(Ordering::Acquire) != NEW {
        return ready();
    }
    check_state()?;
    // SAFETY: 1, since MPI is initialized and not finalized; the thread is checked before the first call that
    // not every thread may make.
    let mpi = &unsafe { Usable::assumed() };
    HAS_WORLD.store(true, Ordering::Relaxed);
    let mut level = 0;
    // SAFETY: MPI is initialized; any thread may query the thread level.
    unsafe {
        mpi.MPI_Query_thread(&raw mut level);
        MANY_AT_A_TIME.store(level >= ffi::RSMPI_THREAD_MULTIPLE, Ordering::Relaxed);
        ANY_THREAD.store(level >= ffi::RSMPI_THREAD_SERIALIZED, Ordering::Relaxed);
    }
    on_right_thread()?;
    checked(mpi, "MPI_Comm_create_errhandler", make_stand_in(mpi))?;
    without_communicator(mpi, || call_at_finalize(mpi))?;
    STATE.store(READY, Ordering::Release);
    Ok(Usable::counted())
}

/// Checks that this thread may call MPI. Below `MPI_THREAD_SERIALIZED`, only the main thread may (MPI 4.1
/// section 11.6).
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
        // SAFETY: MPI is initialized; any thread may make this call.
        unsafe { Usable::assumed().MPI_Is_thread_main(&raw mut flag) };
        IS_MAIN.set(Some(flag != 0));
        flag != 0
    });
    if is_main { Ok(()) } else { Err(Error::Thread) }
}

/// Checks that MPI is initialized and not finalized. Only then are MPI calls allowed (MPI 4.1 section
/// 11.4.1).
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

/// Makes `MPI_Finalize` call [`end`].
fn call_at_finalize(mpi: &Usable) -> Result<(), Error> {
    let mut key = 0;
    // SAFETY: the callbacks have the types of MPI 4.1 section 7.7.2 and use no extra
    // state. Freeing the key only marks it: it lives until the attribute is deleted.
    unsafe {
        let create = mpi.MPI_Comm_create_keyval(Some(no_copy), Some(end), &raw mut key, ptr::null_mut());
        checked(mpi, "MPI_Comm_create_keyval", create)?;
        let set = mpi.MPI_Comm_set_attr(ffi::RSMPI_COMM_SELF, key, ptr::null_mut());
        checked(mpi, "MPI_Comm_set_attr", set)?;
        checked(mpi, "MPI_Comm_free_keyval", mpi.MPI_Comm_free_keyval(&raw mut key))
    }
}

/// Replaces `MPI_COMM_NULL_COPY_FN`, which is a macro in some libraries. Duplicates of a communicator do not
/// get this crate's attributes.
///
/// # Safety
/// MPI calls it as a copy callback.
pub unsafe extern "C" fn no_copy(
    _: MPI_Comm,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI passes a valid pointer to the flag.
    unsafe { *flag = 0 };
    SUCCESS
}

/// The delete callback of the attribute on `MPI_COMM_SELF`. MPI is still usable while the callback runs.
unsafe extern "C" fn end(_: MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    end_all();
    SUCCESS
}

/// Calls the registered functions, and frees the stand-in handler.
fn end_all() {
    none_is_live();
    STATE.store(ENDED, Ordering::Release);
    let calls = std::mem::take(&mut *AT_END.lock().unwrap_or_else(PoisonError::into_inner));
    // SAFETY: 1: this runs in `MPI_Finalize`, which deletes the attribute first, or before a session ends.
    let mpi = &unsafe { Usable::assumed() };
    for call in calls {
        call(mpi);
    }
    free_stand_in(mpi);
}

/// Returns `MPI_PACKED`, which matches any datatype that is sent or received (MPI 4.1 section 5.2).
#[inline]
pub fn packed_datatype() -> MPI_Datatype {
    // SAFETY: a constant of the library.
    predefined(BaseType::Packed).unwrap_or(unsafe { ffi::RSMPI_DATATYPE_NULL })
}

/// Returns `true` if a communicator is an intercommunicator.
///
/// # Errors
/// [`Error::Mpi`] if the call fails.
///
/// # Safety
/// 1. The communicator is live.
pub unsafe fn is_between_groups(mpi: &Usable, communicator: MPI_Comm) -> Result<bool, Error> {
    let mut between_groups = 0;
    // SAFETY: 1; there is room for a flag.
    unsafe {
        called(mpi, "MPI_Comm_test_inter", communicator, || {
            mpi.MPI_Comm_test_inter(communicator, &raw mut between_groups)
        })
    }?;
    Ok(between_groups != 0)
}

/// Returns the greatest tag (`MPI_TAG_UB`), which is the same for all communicators. Reads it from
/// `MPI_COMM_WORLD`, if that exists.
///
/// # Safety
/// 1. The communicator is live.
#[inline]
pub unsafe fn greatest_tag(mpi: &Usable, communicator: MPI_Comm) -> c_int {
    /// The least value of `MPI_TAG_UB` (MPI 4.1 section 9.1.2), for a library that does not tell.
    const LEAST: c_int = 32767;
    static GREATEST: OnceLock<c_int> = OnceLock::new();
    *GREATEST.get_or_init(|| {
        let (mut greatest, mut found) = (ptr::null::<c_int>(), 0);
        // SAFETY: 1; a constant of the library; there is room for a pointer, which MPI keeps valid, and for a
        // flag.
        unsafe {
            let of = if has_world() { ffi::RSMPI_COMM_WORLD } else { communicator };
            let place = (&raw mut greatest).cast();
            let code = mpi.MPI_Comm_get_attr(of, constants::MPI_TAG_UB(), place, &raw mut found);
            if code == SUCCESS && found != 0 { *greatest } else { LEAST }
        }
    })
}
