//! rsmpi's traits: the datatype of a type, and slices as buffers. Values of types with skipped fields need
//! such a buffer. rsmpi may create new values of the element type of its own buffers, and cannot fill the
//! skipped fields.

use std::{any::type_name, os::raw::c_void};

use ::mpi::{
    Count,
    datatype::{AsDatatype, Buffer, BufferMut, Collection, DatatypeRef, Pointer, PointerMut},
};

use super::{
    datatype::MpiDatatype,
    entry::LazyDatatype,
    runtime::Runtime,
    values::{Values, ValuesMut},
};
use crate::Error;

impl Runtime {
    /// Returns the datatype for rsmpi's `Equivalence`, which cannot return an error.
    ///
    /// # Panics
    /// With the text of the error that [`MpiDatatype::datatype`] returns: before `MPI_Init`, after
    /// `MPI_Finalize`, and if a constructor call fails.
    pub fn equivalent_datatype<T: MpiDatatype>() -> DatatypeRef<'static> {
        // An implementation of `Equivalence` may have any bounds, so they cannot be relied on here.
        const {
            assert!(
                T::FACTS.complete && T::FACTS.receivable,
                "rsmpi's own calls cannot take a type with `#[mpi(skip)]`, or a restricted type"
            );
        }
        T::lazy().datatype_or_panic(type_name::<T>())
    }
}

impl LazyDatatype {
    /// Returns the datatype of a type with this name, or panics. It has no type parameters, so that each type
    /// adds only a call of it to a program.
    fn datatype_or_panic(&'static self, of: &str) -> DatatypeRef<'static> {
        or_panic(self.datatype(), of)
    }
}

pub(crate) fn or_panic<D>(datatype: Result<D, Error>, of: &str) -> D {
    datatype.unwrap_or_else(|error| panic!("no MPI datatype for `{of}`: {error}"))
}

/// Converts a number of things to an MPI count.
///
/// # Panics
/// If the number exceeds the largest count, as with rsmpi's own slices.
pub(crate) fn number_of(number: usize, things: &str, of: &str) -> Count {
    Count::try_from(number).unwrap_or_else(|_| {
        panic!(
            "{number} {things} of `{of}` exceed the largest MPI count: use the calls of \
             `dtype_runtime::Peer`, which have no limit, or send them in pieces"
        )
    })
}

// The conditions of rsmpi's traits for buffers:
// 1. The datatype is committed, and lives as long as MPI is usable.
// 2. The borrowed memory holds `count` elements of the datatype from the pointer on. The elements of a slice
//    lie one extent of the datatype apart. By the contract of `MpiDatatype`, the datatype covers only fields
//    of each element.
// 3. Memory that is received into is borrowed mutably, and whatever MPI writes there is a value:
//    `AnyPattern`.

/// Implements the traits for the datatype and the number of values.
macro_rules! described {
    ($type:ident) => {
        // SAFETY: 1: the datatype is kept until `MPI_Finalize`.
        unsafe impl<T: MpiDatatype> AsDatatype for $type<'_, T> {
            type Out = DatatypeRef<'static>;
            fn as_datatype(&self) -> Self::Out {
                or_panic(T::datatype(), type_name::<T>())
            }
        }

        // SAFETY: 2: the count is the length of the slice.
        unsafe impl<T: MpiDatatype> Collection for $type<'_, T> {
            fn count(&self) -> Count {
                number_of(self.0.len(), "values", type_name::<T>())
            }
        }
    };
}

described!(Values);
described!(ValuesMut);

// SAFETY: 2: the pointer is that of the first element.
unsafe impl<T: MpiDatatype> Pointer for Values<'_, T> {
    fn pointer(&self) -> *const c_void {
        self.0.as_ptr().cast()
    }
}

// SAFETY: 1 and 2, by the three implementations above.
unsafe impl<T: MpiDatatype> Buffer for Values<'_, T> {}

// SAFETY: 2: the pointer is that of the first element. 3: only `buffer_mut` makes a `ValuesMut`, and its type
// is `AnyPattern`.
unsafe impl<T: MpiDatatype> PointerMut for ValuesMut<'_, T> {
    fn pointer_mut(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
}

// SAFETY: 1 and 2, by the three implementations above. 3: as above, and because the slice is borrowed
// mutably.
unsafe impl<T: MpiDatatype> BufferMut for ValuesMut<'_, T> {}
