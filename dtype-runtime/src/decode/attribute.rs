//! Descriptions of datatypes, cached on the datatypes as MPI attributes (MPI 4.1 section 7.7.4).

use std::{
    os::raw::{c_int, c_void},
    ptr,
    sync::{Arc, Mutex, PoisonError},
};

use ::mpi::ffi::{self, MPI_Datatype};

use super::decoded::Decoded;
use crate::{
    Error,
    mpi::{at_end, checked},
};

/// The key of the attribute, created at the first use. The lock is held while an attribute is read or set, so
/// that no thread replaces an attribute while another thread reads it.
static KEY: Mutex<Option<c_int>> = Mutex::new(None);

/// Returns the description that is cached on a datatype, if there is one.
pub(super) fn get(datatype: MPI_Datatype) -> Result<Option<Arc<Decoded>>, Error> {
    let key = KEY.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(key) = *key else { return Ok(None) };
    let (mut value, mut found) = (ptr::null_mut::<c_void>(), 0);
    // SAFETY: MPI is usable, the datatype live, and the key created here; MPI stores a pointer in `value`.
    let code = unsafe { ffi::MPI_Type_get_attr(datatype, key, (&raw mut value).cast(), &raw mut found) };
    checked("MPI_Type_get_attr", code)?;
    if found == 0 {
        return Ok(None);
    }
    let value = value.cast_const().cast::<Decoded>();
    // SAFETY: the attribute is a counted reference from `set` or `copy`. It is not removed while the lock is
    // held and the datatype is borrowed.
    Ok(Some(unsafe {
        Arc::increment_strong_count(value);
        Arc::from_raw(value)
    }))
}

/// Caches a description on a datatype that is not predefined.
pub(super) fn set(datatype: MPI_Datatype, decoded: &Arc<Decoded>) -> Result<(), Error> {
    let mut key = KEY.lock().unwrap_or_else(PoisonError::into_inner);
    let key = match *key {
        Some(key) => key,
        None => *key.insert(make_key()?),
    };
    let value = Arc::into_raw(Arc::clone(decoded));
    // SAFETY: MPI is usable, the datatype live, and the key created here.
    let code = unsafe { ffi::MPI_Type_set_attr(datatype, key, value.cast_mut().cast()) };
    checked("MPI_Type_set_attr", code).inspect_err(|_| {
        // SAFETY: the call has failed, so MPI has not taken the reference.
        drop(unsafe { Arc::from_raw(value) });
    })
}

fn make_key() -> Result<c_int, Error> {
    let mut key = 0;
    // SAFETY: MPI is usable; the callbacks have the types of MPI 4.1 section 7.7.4 and use no extra state.
    let code =
        unsafe { ffi::MPI_Type_create_keyval(Some(copy), Some(delete), &raw mut key, ptr::null_mut()) };
    checked("MPI_Type_create_keyval", code)?;
    at_end(free_key);
    Ok(key)
}

/// Frees the key when MPI ends. Attributes that are still set are deleted with their datatypes.
fn free_key() {
    let mut key = KEY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(mut key) = key.take() {
        // SAFETY: MPI is usable; the key was created here.
        unsafe { ffi::MPI_Type_free_keyval(&raw mut key) };
    }
}

/// Copies the attribute to a duplicate of its datatype: the description is the same.
unsafe extern "C" fn copy(
    _: MPI_Datatype,
    _: c_int,
    _: *mut c_void,
    value: *mut c_void,
    copy: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the value is a counted reference that the attribute keeps, and MPI passes valid addresses of a
    // pointer and a flag.
    unsafe {
        Arc::increment_strong_count(value.cast_const().cast::<Decoded>());
        *copy.cast::<*mut c_void>() = value;
        *flag = 1;
    }
    ffi::MPI_SUCCESS as c_int
}

unsafe extern "C" fn delete(_: MPI_Datatype, _: c_int, value: *mut c_void, _: *mut c_void) -> c_int {
    // SAFETY: the value is the counted reference of the attribute, which MPI now deletes.
    drop(unsafe { Arc::from_raw(value.cast_const().cast::<Decoded>()) });
    ffi::MPI_SUCCESS as c_int
}
