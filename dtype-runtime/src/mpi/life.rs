//! MPI's life in this process: whether it may be called, what is freed when it ends, and its errors as values.
//!
//! At the first use an attribute is put on `MPI_COMM_SELF` whose deletion, the first thing `MPI_Finalize` does (MPI 4.1 section
//! 11.2.4), frees what has been built. From then on there are errors.

use std::{
    cell::Cell,
    os::raw::{c_char, c_int, c_void},
    ptr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
};

use ::mpi::{
    ffi::{self, MPI_Comm, MPI_Datatype},
    raw::AsRaw,
};

use super::{attribute, handle, shim};
use crate::Error;

/// Nothing has been used, or all is set up, or `MPI_Finalize` has been called.
static STATE: AtomicU8 = AtomicU8::new(NEW);
const NEW: u8 = 0;
const READY: u8 = 1;
const ENDED: u8 = 2;

/// Finds out whether MPI may be called; the first time that it may, prepares for its end.
#[inline]
pub(super) fn ready() -> Result<(), Error> {
    match STATE.load(Ordering::Acquire) {
        READY => Ok(()),
        ENDED => Err(Error::Finalized),
        _ => set_up(),
    }
}

#[cold]
fn set_up() -> Result<(), Error> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if STATE.load(Ordering::Acquire) != NEW {
        return ready();
    }
    check_state()?;
    // SAFETY: MPI is initialized.
    unsafe {
        // Libraries call the error handler of either for what has no communicator (MPI 4.1 section 9.3).
        for communicator in [ffi::RSMPI_COMM_WORLD, ffi::RSMPI_COMM_SELF] {
            checked("MPI_Comm_set_errhandler", shim::dtype_shim_return_errors(communicator))?;
        }
    }
    call_at_finalize()?;
    STATE.store(READY, Ordering::Release);
    Ok(())
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
    // SAFETY: MPI is initialized; the callbacks have the types of MPI 4.1 section 7.7.2 and use no extra state. Freeing
    // the key only marks it: it lives until the attribute is deleted.
    unsafe {
        let create = ffi::MPI_Comm_create_keyval(Some(no_copy), Some(end), &raw mut key, ptr::null_mut());
        checked("MPI_Comm_create_keyval", create)?;
        let set = ffi::MPI_Comm_set_attr(ffi::RSMPI_COMM_SELF, key, ptr::null_mut());
        checked("MPI_Comm_set_attr", set)?;
        checked("MPI_Comm_free_keyval", ffi::MPI_Comm_free_keyval(&raw mut key))
    }
}

/// `MPI_COMM_NULL_COPY_FN`, which is a macro in some libraries: duplicates of a communicator do not free handles.
unsafe extern "C" fn no_copy(
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
    STATE.store(ENDED, Ordering::Release);
    handle::free_all();
    attribute::free_key();
    ffi::MPI_SUCCESS as c_int
}

/// An error code as an error, with MPI's own text.
#[inline]
pub(crate) fn checked(call: &'static str, code: c_int) -> Result<(), Error> {
    if code == ffi::MPI_SUCCESS as c_int { Ok(()) } else { Err(error(call, code)) }
}

#[cold]
fn error(call: &'static str, code: c_int) -> Error {
    /// `MPI_MAX_ERROR_STRING` is 256 to 1,024.
    const ROOM: usize = 4096;
    let (mut text, mut length) = (vec![0u8; ROOM], 0);
    // SAFETY: there is more room than any library wants; a code that MPI has just returned is one of its own.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), &raw mut length) };
    text.truncate(usize::try_from(length).unwrap_or(0));
    Error::Mpi { call, code, text: String::from_utf8_lossy(&text).into_owned() }
}

/// `MPI_PACKED`, which matches whatever is sent or received (MPI 4.1 section 5.2).
#[inline]
pub(crate) fn packed_datatype() -> MPI_Datatype {
    // SAFETY: a constant of the library.
    unsafe { shim::dtype_shim_packed() }
}

/// Makes MPI calls whose errors become values: the error handler of the process leaves them alone.
#[inline]
pub(crate) fn returning_errors<R>(calls: impl FnOnce() -> R) -> R {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            // SAFETY: it only counts.
            unsafe { shim::dtype_shim_leave() };
        }
    }
    // SAFETY: as above.
    unsafe { shim::dtype_shim_enter() };
    let _leave = Leave;
    calls()
}

/// Makes an MPI call, of which an error becomes a value.
#[inline]
pub(crate) fn called(name: &'static str, call: impl FnOnce() -> c_int) -> Result<(), Error> {
    checked(name, returning_errors(call))
}

/// Finds out whether MPI may be called, and lets calls of ours on a communicator return their errors.
#[inline]
pub(crate) fn ready_on(communicator: &(impl AsRaw<Raw = MPI_Comm> + ?Sized)) -> Result<MPI_Comm, Error> {
    thread_local! {
        /// The last one. Should it have been freed and its handle be that of another one, errors on that are fatal, as is usual.
        static LAST: Cell<Option<MPI_Comm>> = const { Cell::new(None) };
    }
    ready()?;
    let raw = communicator.as_raw();
    if LAST.get() != Some(raw) {
        // SAFETY: MPI is usable, and rsmpi's communicators are live.
        checked("MPI_Comm_set_errhandler", unsafe { shim::dtype_shim_return_errors(raw) })?;
        LAST.set(Some(raw));
    }
    Ok(raw)
}
