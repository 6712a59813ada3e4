//! What rsmpi asks of types: a datatype, and slices as buffers, for types with skipped fields. rsmpi's own
//! buffers are of types that it may also make new values of, which would lack those fields.

use std::{any::type_name, os::raw::c_void};

use ::mpi::{
    Count,
    datatype::{AsDatatype, Buffer, BufferMut, Collection, DatatypeRef, Pointer, PointerMut},
};

use super::{
    datatype::MpiDatatype,
    values::{Values, ValuesMut},
};
use crate::Error;

/// The datatype for rsmpi's `Equivalence`, which cannot return an error.
///
/// # Panics
/// With the text of the error that [`MpiDatatype::datatype`] returns: before `MPI_Init`, after
/// `MPI_Finalize`, and where MPI refuses a constructor call.
pub fn equivalent_datatype<T: MpiDatatype>() -> DatatypeRef<'static> {
    // Whatever bounds an implementation of `Equivalence` was written with.
    const {
        assert!(
            T::FACTS.complete && T::FACTS.receivable,
            "rsmpi's own calls cannot take a type with `#[mpi(skip)]`, or of which not all bytes are a value"
        );
    }
    or_panic(T::lazy().datatype(), std::any::type_name::<T>())
}

pub(crate) fn or_panic<D>(datatype: Result<D, Error>, of: &str) -> D {
    datatype.unwrap_or_else(|error| panic!("no MPI datatype for `{of}`: {error}"))
}

/// A number of things as MPI's count.
///
/// # Panics
/// Beyond the largest count, as rsmpi's own slices do.
pub(crate) fn number_of(number: usize, things: &str, of: &str) -> Count {
    Count::try_from(number).unwrap_or_else(|_| {
        panic!(
            "{number} {things} of `{of}` are more than an MPI count: send them with `send_over`, or in \
             pieces"
        )
    })
}

// The conditions of rsmpi's traits for buffers:
// 1. the datatype is committed, and lives as long as MPI is usable;
// 2. from the pointer on there are `count` of it, in what is borrowed: the elements of a slice lie an extent
//    of the datatype apart, which by the contract of `MpiDatatype` covers fields of each element only;
// 3. what is received into is borrowed mutably, and whatever MPI writes there is a value: `AnyPattern`.

// SAFETY: 1, it is kept until `MPI_Finalize`.
unsafe impl<T: MpiDatatype> AsDatatype for Values<'_, T> {
    type Out = DatatypeRef<'static>;
    fn as_datatype(&self) -> Self::Out {
        or_panic(T::datatype(), type_name::<T>())
    }
}

// SAFETY: 2, the length of the slice.
unsafe impl<T: MpiDatatype> Collection for Values<'_, T> {
    fn count(&self) -> Count {
        number_of(self.0.len(), "values", type_name::<T>())
    }
}

// SAFETY: 2, the first element.
unsafe impl<T: MpiDatatype> Pointer for Values<'_, T> {
    fn pointer(&self) -> *const c_void {
        self.0.as_ptr().cast()
    }
}

// SAFETY: 1 and 2 by the three implementations before it.
unsafe impl<T: MpiDatatype> Buffer for Values<'_, T> {}

// SAFETY: 1, it is kept until `MPI_Finalize`.
unsafe impl<T: MpiDatatype> AsDatatype for ValuesMut<'_, T> {
    type Out = DatatypeRef<'static>;
    fn as_datatype(&self) -> Self::Out {
        Values(self.0).as_datatype()
    }
}

// SAFETY: 2, the length of the slice.
unsafe impl<T: MpiDatatype> Collection for ValuesMut<'_, T> {
    fn count(&self) -> Count {
        number_of(self.0.len(), "values", type_name::<T>())
    }
}

// SAFETY: 2, the first element; 3, since only `buffer_mut` makes one, of a type that is `AnyPattern`.
unsafe impl<T: MpiDatatype> PointerMut for ValuesMut<'_, T> {
    fn pointer_mut(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
}

// SAFETY: 1 and 2 by the three implementations before it; 3, as before, and since the slice is borrowed
// mutably.
unsafe impl<T: MpiDatatype> BufferMut for ValuesMut<'_, T> {}
