//! Generated code: values to packed bytes and back.
//!
//! A walk over a type is a [`Visitor`] that holds two pointers; every type's `visit` is inlined into it, so
//! that a struct becomes straight-line copies and a type without padding a single one.

use std::{any::type_name, marker::PhantomData};

use dtype_core::BaseType;

use crate::{
    Error, MpiDatatype,
    engine::{Direction, Packing, Plan, Unpacking, copy_forward},
    types::{Visitor, check::check},
};

/// Bytes that `count` values of `T` take when packed; `usize::MAX` where that number cannot exist.
pub const fn packed_size<T: MpiDatatype>(count: usize) -> usize {
    T::FACTS.packed_size.saturating_mul(count)
}

/// Packs values into bytes: their base types in the order of the type map, without padding, in the machine's
/// byte order. These are the bytes that `MPI_Pack` gives for a homogeneous job.
///
/// ```
/// assert_eq!(dtype_runtime::pack(&[(1u8, 2u16.to_be())]), [1, 0, 2]);
/// ```
pub fn pack<T: MpiDatatype>(values: &[T]) -> Vec<u8> {
    let memory = values.as_ptr().cast_mut().cast();
    // SAFETY: these values are packed to exactly `size` bytes, elsewhere than they are.
    unsafe {
        written(packed_size::<T>(values.len()), |packed| {
            copy_values::<T, Packing>(memory, values.len(), packed);
        })
    }
}

/// Packs values.
///
/// # Safety
/// There is room for the packed bytes, elsewhere than the values.
#[cfg(feature = "mpi")]
#[inline]
pub(crate) unsafe fn pack_raw<T: MpiDatatype>(values: &[T], packed: *mut u8) {
    // SAFETY: the caller has room for the packed bytes, elsewhere than the values, which are borrowed.
    unsafe { copy_values::<T, Packing>(values.as_ptr().cast_mut().cast(), values.len(), packed) };
}

/// A vector of `size` bytes, written by `write`.
///
/// # Safety
/// `write` initializes `size` bytes from there on.
#[inline]
pub(crate) unsafe fn written(size: usize, write: impl FnOnce(*mut u8)) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size);
    write(bytes.as_mut_ptr());
    // SAFETY: there is room for `size` bytes, and all of them have been initialized.
    unsafe { bytes.set_len(size) };
    bytes
}

/// Packs values into the front of `packed` and returns how many bytes they took.
///
/// # Errors
/// [`Error::Length`] where `packed` is too short; nothing is written then.
pub fn pack_into<T: MpiDatatype>(values: &[T], packed: &mut [u8]) -> Result<usize, Error> {
    let expected = packed_size::<T>(values.len());
    Error::unless_room(type_name::<T>(), expected, packed.len())?;
    // SAFETY: `packed` has room for the bytes, and cannot overlap `values`, being borrowed mutably.
    unsafe {
        copy_values::<T, Packing>(values.as_ptr().cast_mut().cast(), values.len(), packed.as_mut_ptr());
    }
    Ok(expected)
}

/// Unpacks bytes that [`pack`] made into values. Padding is left as it is.
///
/// # Errors
/// [`Error::Length`] where the bytes are not just those of `values.len()` values, and [`Error::InvalidValue`]
/// where a `bool`, `char`, `NonZero` or enum has no such value. Nothing is written in either case.
///
/// ```
/// let mut flags = [(0u8, false); 2];
/// dtype_runtime::unpack_into(&[7, 1, 8, 0], &mut flags)?;
/// assert_eq!(flags, [(7, true), (8, false)]);
///
/// let error = dtype_runtime::unpack_into(&[9, 1, 9, 2], &mut flags).unwrap_err();
/// let says = "byte 3 of the packed data: 0x2 is not a valid `bool`";
/// assert!(error.to_string().starts_with(says));
/// assert_eq!(flags, [(7, true), (8, false)]);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
pub fn unpack_into<T: MpiDatatype>(packed: &[u8], values: &mut [T]) -> Result<(), Error> {
    Error::unless_exactly(type_name::<T>(), packed_size::<T>(values.len()), packed.len())?;
    check::<T>(packed, 0)?;
    // SAFETY: these are the bytes of `values.len()` values, each of them valid; `values` cannot overlap them.
    unsafe {
        copy_values::<T, Unpacking>(values.as_mut_ptr().cast(), values.len(), packed.as_ptr().cast_mut());
    }
    Ok(())
}

/// What is done with values whose type is not known where it is done: by whom, for each type.
pub(crate) struct Copying {
    /// # Safety
    /// As for [`copy_values`].
    pub pack: unsafe fn(*mut u8, usize, *mut u8),
    /// # Safety
    /// As for [`copy_values`].
    pub unpack: unsafe fn(*mut u8, usize, *mut u8),
    pub check: fn(&[u8], usize) -> Result<(), Error>,
}

impl Copying {
    pub(crate) const fn of<T: MpiDatatype>() -> Self {
        Self { pack: copy_values::<T, Packing>, unpack: copy_values::<T, Unpacking>, check: check::<T> }
    }
}

/// Copies `size` bytes, a number that the compiler knows.
///
/// # Safety
/// 1 to 3 of [`Direction::copy`], for `size` bytes.
#[inline(always)]
pub(crate) unsafe fn copy_known<D: Direction>(memory: *mut u8, packed: *mut u8, size: usize) {
    let (from, to) = D::sides(memory, packed);
    // SAFETY: 1 to 3 are those of the caller, for the same bytes.
    unsafe {
        // As a float it may share a register with the next one in a loop; nothing is computed, so the bits
        // stay what they are.
        if cfg!(target_feature = "sse2") && size == 8 {
            to.cast::<f64>().write_unaligned(from.cast::<f64>().read_unaligned());
        } else {
            D::copy(memory, packed, size);
        }
    }
}

/// Copies between values and their packed bytes.
///
/// # Safety
/// 1 to 3 of [`Direction::copy`], for the fields of `count` values at `memory` and for their packed bytes; 4.
/// the side that is read holds valid values.
#[inline(always)]
unsafe fn copy_values<T: MpiDatatype, D: Direction>(memory: *mut u8, count: usize, packed: *mut u8) {
    let mut walk = Walk::<D> { memory, packed, start: memory, length: 0, direction: PhantomData };
    // SAFETY: 1 to 4 are those of the caller: the walk passes the fields of these values.
    unsafe {
        walk.copy::<T>(count);
        walk.flush();
    }
}

/// Copies between the value at `memory` and its packed bytes. What follows one another in memory is one copy.
///
/// A walk is made in this file only, over a value of the type whose `visit` it is handed to. By the contract
/// of `MpiDatatype`, the fields that `visit` names lie within that value and take `FACTS.packed_size` packed
/// bytes together.
struct Walk<D> {
    memory: *mut u8,
    /// Where the packed bytes are of what has not been copied.
    packed: *mut u8,
    /// What has been passed and not been copied yet: where it begins in memory, and its bytes.
    start: *mut u8,
    length: usize,
    direction: PhantomData<D>,
}

impl<D: Direction> Walk<D> {
    /// # Safety
    /// As for [`copy_values`], of whose packed bytes those of what has not been copied precede them.
    #[inline(always)]
    unsafe fn copy<T: MpiDatatype>(&mut self, count: usize) {
        if T::FACTS.dense {
            // SAFETY: dense values have as many bytes in memory, none of them padding, as packed.
            return unsafe { self.bytes(packed_size::<T>(count)) };
        }
        if const { T::FIELDS.are_many_in_memory_order() } {
            // SAFETY: as many values, whose packed bytes are next once what has been passed is copied.
            return unsafe {
                self.flush();
                let size = packed_size::<T>(count);
                Plan::of::<T>().copy::<D>(count, self.memory, 0..size, self.packed);
                self.packed = self.packed.add(size);
            };
        }
        if count == 1 {
            return T::visit(self);
        }
        let first = self.memory;
        for i in 0..count {
            // SAFETY: the i-th of `count` values, one after the other in memory; and what has been passed.
            unsafe {
                self.flush();
                self.memory = first.add(i * size_of::<T>());
                self.start = self.memory;
                T::visit(self);
            }
        }
        self.memory = first;
    }

    /// Passes `size` bytes at `memory`.
    ///
    /// # Safety
    /// They are there, and their packed bytes are next.
    #[inline(always)]
    unsafe fn bytes(&mut self, size: usize) {
        // SAFETY: what has been passed lies within the value.
        unsafe {
            if self.start.add(self.length) != self.memory {
                self.flush();
                self.start = self.memory;
            }
        }
        self.length += size;
    }

    /// Copies what has been passed.
    ///
    /// # Safety
    /// It has been.
    #[inline(always)]
    unsafe fn flush(&mut self) {
        let (from, to) = D::sides(self.start, self.packed);
        // SAFETY: fields of values, and their packed bytes.
        unsafe {
            // From the first byte to the last it is faster; where code is not optimized, all these copies
            // would be most of what the compiler has to do.
            if cfg!(not(debug_assertions)) && matches!(self.length, 9..=128) {
                copy_forward(self.length, from, to);
            } else {
                copy_known::<D>(self.start, self.packed, self.length);
            }
            self.packed = self.packed.add(self.length);
        }
        self.length = 0;
    }
}

impl<D: Direction> Visitor for Walk<D> {
    #[inline(always)]
    fn leaf<T: MpiDatatype>(&mut self, base: BaseType) {
        // SAFETY: the value is of the base type, which has no padding, and its packed bytes are next.
        unsafe { self.bytes(base.size() as usize) };
    }

    #[inline(always)]
    fn field<F: MpiDatatype>(&mut self, offset: usize) {
        let memory = self.memory;
        // SAFETY: the field lies within the value, and its packed bytes are next.
        unsafe {
            self.memory = memory.add(offset);
            self.copy::<F>(1);
        }
        self.memory = memory;
    }

    #[inline(always)]
    fn elements<F: MpiDatatype>(&mut self, count: usize) {
        // SAFETY: the value is an array of `count` elements, and their packed bytes are next.
        unsafe { self.copy::<F>(count) };
    }
}
