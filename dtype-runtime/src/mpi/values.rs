//! Slices as rsmpi buffers, for types with skipped fields: rsmpi's own buffers are of types that it may also make new
//! values of, which would lack those fields.

use std::{any::type_name, os::raw::c_void};

use ::mpi::{
    Count,
    datatype::{AsDatatype, Buffer, BufferMut, Collection, DatatypeRef, Pointer, PointerMut},
};

use super::buffers::{number_of, or_panic};
use crate::{AnyPattern, MpiDatatype};

/// Values to send, an rsmpi `Buffer`: see [`MpiDatatype::buffer`].
#[derive(Clone, Copy, Debug)]
pub struct Values<'a, T>(pub(crate) &'a [T]);

/// Values to receive into, an rsmpi `BufferMut`: see [`MpiDatatype::buffer_mut`].
#[derive(Debug)]
pub struct ValuesMut<'a, T>(pub(crate) &'a mut [T]);

// SAFETY, for all of them: the pointer is that of the slice, whose elements lie an extent of the datatype apart, and by the
// contract of `MpiDatatype` the datatype covers fields of each element only.

// SAFETY: see above.
unsafe impl<T: MpiDatatype> AsDatatype for Values<'_, T> {
    type Out = DatatypeRef<'static>;
    fn as_datatype(&self) -> Self::Out {
        or_panic(T::datatype(), type_name::<T>())
    }
}

// SAFETY: see above.
unsafe impl<T: MpiDatatype> Collection for Values<'_, T> {
    fn count(&self) -> Count {
        number_of(self.0.len(), "values", type_name::<T>())
    }
}

// SAFETY: see above.
unsafe impl<T: MpiDatatype> Pointer for Values<'_, T> {
    fn pointer(&self) -> *const c_void {
        self.0.as_ptr().cast()
    }
}

// SAFETY: see above.
unsafe impl<T: MpiDatatype> Buffer for Values<'_, T> {}

// SAFETY: see above.
unsafe impl<T: MpiDatatype> AsDatatype for ValuesMut<'_, T> {
    type Out = DatatypeRef<'static>;
    fn as_datatype(&self) -> Self::Out {
        Values(self.0).as_datatype()
    }
}

// SAFETY: see above.
unsafe impl<T: MpiDatatype> Collection for ValuesMut<'_, T> {
    fn count(&self) -> Count {
        number_of(self.0.len(), "values", type_name::<T>())
    }
}

// SAFETY: see above; all bytes that MPI may write are values.
unsafe impl<T: MpiDatatype + AnyPattern> PointerMut for ValuesMut<'_, T> {
    fn pointer_mut(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
}

// SAFETY: see above; the slice is borrowed mutably.
unsafe impl<T: MpiDatatype + AnyPattern> BufferMut for ValuesMut<'_, T> {}
