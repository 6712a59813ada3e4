//! Values that are kept on datatypes as an attribute (MPI 4.1 section 7.7.4). A map by handle would be wrong,
//! since MPI reuses the handles of freed datatypes.

use std::{
    marker::PhantomData,
    os::raw::{c_int, c_void},
    ptr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ::mpi::ffi::MPI_Datatype;

use crate::{SUCCESS, Usable};

/// A value that can be kept on a datatype. It is dropped when the datatype is freed.
pub trait OnDatatype: Send + Sync + 'static {
    /// Returns the value for a duplicate of the datatype, which has the same layout.
    #[must_use]
    fn of_duplicate(&self) -> Self;

    /// Notes that MPI deletes the value, with its datatype or by [`Attribute::delete`].
    fn deleted(&self) {}
}

impl<T: Send + Sync + 'static> OnDatatype for Arc<T> {
    /// Returns a clone of the `Arc`, so that both datatypes share the value.
    fn of_duplicate(&self) -> Self {
        Self::clone(self)
    }
}

/// An attribute of datatypes, with a value of type `T`.
pub struct Attribute<T> {
    /// The key, created at the first use. The lock is not held during calls of MPI, since a callback or the
    /// drop of a value may need the key.
    key: Mutex<Option<c_int>>,
    /// The lock that is held from the lookup until a value is kept: one thread must not replace, and so drop,
    /// the value of another. No callback takes this lock.
    keeping: Mutex<()>,
    value: PhantomData<fn() -> T>,
}

impl<T: OnDatatype> Default for Attribute<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: OnDatatype> Attribute<T> {
    /// Creates the attribute, without a call of MPI.
    pub const fn new() -> Self {
        Self { key: Mutex::new(None), keeping: Mutex::new(()), value: PhantomData }
    }

    fn key(&self) -> MutexGuard<'_, Option<c_int>> {
        self.key.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the value on a datatype, or `None` if it has none.
    ///
    /// # Errors
    /// The code that the library returns.
    ///
    /// # Safety
    /// 1. The datatype is live. 2. During `'a`, the datatype is not freed, and its value is not deleted.
    pub unsafe fn get<'a>(&self, mpi: &Usable, datatype: MPI_Datatype) -> Result<Option<&'a T>, c_int> {
        let key = *self.key();
        let Some(key) = key else { return Ok(None) };
        let (mut value, mut found) = (ptr::null_mut::<c_void>(), 0);
        // SAFETY: 1; the key was created by `keep`. MPI stores a pointer in `value` and a flag in `found`.
        let code = unsafe { mpi.MPI_Type_get_attr(datatype, key, (&raw mut value).cast(), &raw mut found) };
        if code != SUCCESS {
            return Err(code);
        }
        // SAFETY: the value is a box of `keep` or `copy`, which by 2 lives as long as `'a`.
        Ok((found != 0).then(|| unsafe { &*value.cast_const().cast::<T>() }))
    }

    /// Keeps a value on a datatype, and returns `true`. If the datatype has a value already, drops the new
    /// one and returns `false`.
    ///
    /// # Errors
    /// The code that the library returns. The value is then dropped.
    ///
    /// # Safety
    /// 1. The datatype is live.
    pub unsafe fn keep(&self, mpi: &Usable, datatype: MPI_Datatype, value: T) -> Result<bool, c_int> {
        let keeping = self.keeping.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: 1 is the caller's 1; 2, as the value is not used.
        if unsafe { self.get(mpi, datatype) }?.is_some() {
            return Ok(false);
        }
        let known = *self.key();
        let key = if let Some(key) = known {
            key
        } else {
            let new = Self::new_key(mpi)?;
            *self.key().insert(new)
        };
        let value = Box::into_raw(Box::new(value));
        // SAFETY: the datatype is live by 1; the key was created here.
        let code = unsafe { mpi.MPI_Type_set_attr(datatype, key, value.cast()) };
        // Dropping the value may call MPI, and so this function.
        drop(keeping);
        if code != SUCCESS {
            // SAFETY: the call has failed, so MPI has not taken the value.
            drop(unsafe { Box::from_raw(value) });
            return Err(code);
        }
        Ok(true)
    }

    fn new_key(mpi: &Usable) -> Result<c_int, c_int> {
        let mut key = 0;
        // SAFETY: the callbacks have the types of MPI 4.1 section 7.7.4 and use no extra state; there is room
        // for a key.
        let code = unsafe {
            mpi.MPI_Type_create_keyval(Some(copy::<T>), Some(delete::<T>), &raw mut key, ptr::null_mut())
        };
        if code == SUCCESS { Ok(key) } else { Err(code) }
    }

    /// Deletes the value on a datatype, if it has one.
    ///
    /// # Safety
    /// 1. The datatype is live. 2. The value is used no more.
    pub unsafe fn delete(&self, mpi: &Usable, datatype: MPI_Datatype) {
        let key = *self.key();
        if let Some(key) = key {
            // SAFETY: 1 and 2; the key was created here.
            unsafe { mpi.MPI_Type_delete_attr(datatype, key) };
        }
    }

    /// Frees the key, before MPI ends. Values that are still kept are dropped with their datatypes.
    pub fn end(&self, mpi: &Usable) {
        let key = self.key().take();
        if let Some(mut key) = key {
            // SAFETY: the key was created here, and is freed once.
            unsafe { mpi.MPI_Type_free_keyval(&raw mut key) };
        }
    }
}

/// Copies the attribute to a duplicate of its datatype.
unsafe extern "C" fn copy<T: OnDatatype>(
    _: MPI_Datatype,
    _: c_int,
    _: *mut c_void,
    value: *mut c_void,
    copy: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the value is a box of `keep` or of this function, and MPI passes room for a pointer and for a
    // flag.
    unsafe {
        let duplicate = (*value.cast_const().cast::<T>()).of_duplicate();
        *copy.cast::<*mut c_void>() = Box::into_raw(Box::new(duplicate)).cast();
        *flag = 1;
    }
    SUCCESS
}

/// Drops the value of an attribute that MPI deletes.
unsafe extern "C" fn delete<T: OnDatatype>(
    _: MPI_Datatype,
    _: c_int,
    value: *mut c_void,
    _: *mut c_void,
) -> c_int {
    // SAFETY: the value is a box of `keep` or `copy`, and MPI does not use it any more.
    let value = unsafe { Box::from_raw(value.cast::<T>()) };
    value.deleted();
    SUCCESS
}
