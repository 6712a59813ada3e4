//! Generated code: packs values into bytes, and unpacks them.
//!
//! A walk over a type is a [`Visitor`] with two pointers. The `visit` of every type is inlined into the walk,
//! so that a struct becomes straight-line copies, and a type without padding becomes a single copy.

use std::{any::type_name, marker::PhantomData};

use dtype_core::BaseType;
use dtype_engine::{Direction, Error as PackError, Packing, Unpacking, copy_forward, written};

use super::plan::plan_of;
use crate::{
    Error, MpiDatatype,
    types::{Copying, ValueType, Visitor, check::check},
};

/// Returns the packed size of `count` values of `T` in bytes, or `usize::MAX` if it overflows.
pub const fn packed_size<T: MpiDatatype>(count: usize) -> usize {
    T::FACTS.packed_size.saturating_mul(count)
}

/// Packs values into bytes: their base types in the order of the type map, without padding, in the machine's
/// byte order. `MPI_Pack` writes the same bytes in a homogeneous job.
///
/// ```
/// assert_eq!(dtype_runtime::pack(&[(1u8, 2u16.to_be())]), [1, 0, 2]);
/// ```
pub fn pack<T: MpiDatatype>(values: &[T]) -> Vec<u8> {
    let memory = values.as_ptr().cast_mut().cast();
    // SAFETY: the values are packed to exactly `packed_size` bytes, which do not overlap them.
    unsafe {
        written(packed_size::<T>(values.len()), |packed| {
            copy_values::<T, Packing>(memory, values.len(), packed);
        })
    }
}

/// Packs values into the beginning of `packed`, and returns their packed size in bytes.
///
/// # Errors
/// `Size` if `packed` is too short. Nothing is written then.
pub fn pack_into<T: MpiDatatype>(values: &[T], packed: &mut [u8]) -> Result<usize, Error> {
    let expected = packed_size::<T>(values.len());
    PackError::unless_room(type_name::<T>(), expected, packed.len())?;
    // SAFETY: `packed` has room for the bytes. Being borrowed mutably, it does not overlap `values`.
    unsafe {
        copy_values::<T, Packing>(values.as_ptr().cast_mut().cast(), values.len(), packed.as_mut_ptr());
    }
    Ok(expected)
}

/// Unpacks bytes that [`pack`] made into values. Padding is left as it is.
///
/// # Errors
/// `Size` if `packed` does not have exactly the bytes of `values.len()` values, and `Value` if bytes are not
/// a valid `bool`, `char`, `NonZero` or enum. Nothing is written in either case.
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
    PackError::unless_exactly(type_name::<T>(), packed_size::<T>(values.len()), packed.len())?;
    check::<T>(packed, 0)?;
    // SAFETY: `packed` has the bytes of `values.len()` values, each of them valid, and does not overlap
    // `values`.
    unsafe {
        copy_values::<T, Unpacking>(values.as_mut_ptr().cast(), values.len(), packed.as_ptr().cast_mut());
    }
    Ok(())
}

impl ValueType {
    /// Returns the value type of `T`.
    pub(crate) const fn of<T: MpiDatatype>() -> &'static Self {
        const {
            &Self {
                name: type_name::<T>,
                size: size_of::<T>(),
                align: align_of::<T>(),
                facts: T::FACTS,
                is_bytes: T::BYTES,
                lazy: T::lazy,
                plan: plan_of::<T>,
                copying: Copying {
                    pack: copy_values::<T, Packing>,
                    unpack: copy_values::<T, Unpacking>,
                    check: if T::FACTS.any_pattern { |_, _| Ok(()) } else { check::<T> },
                },
            }
        }
    }
}

/// Copies `size` bytes. The compiler must know `size`.
///
/// # Safety
/// Conditions 1 to 3 of [`Direction::copy`] hold for `size` bytes.
#[inline(always)]
pub(crate) unsafe fn copy_known<D: Direction>(memory: *mut u8, packed: *mut u8, size: usize) {
    let (from, to) = D::sides(memory, packed);
    // SAFETY: the caller guarantees 1 to 3 for the same bytes.
    unsafe {
        // As a float, the number can share a register with the next one in a loop. Nothing is computed, so
        // its bits do not change.
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
/// Conditions 1 to 3 of [`Direction::copy`] hold for the fields of `count` values at `memory`, and for their
/// packed bytes; 4. packed bytes that are read are those of valid values.
#[inline(always)]
unsafe fn copy_values<T: MpiDatatype, D: Direction>(memory: *mut u8, count: usize, packed: *mut u8) {
    let mut walk = Walk::<D> { memory, packed, start: memory, length: 0, direction: PhantomData };
    // SAFETY: the caller guarantees 1 to 4: the walk visits the fields of these values.
    unsafe {
        walk.copy::<T>(count);
        walk.flush();
    }
}

/// A copy between the value at `memory` and its packed bytes. Fields that are adjacent in memory are copied
/// together.
///
/// A walk is made in this file only, for a value of the type whose `visit` it is passed to. By the contract
/// of `MpiDatatype`, the fields that `visit` names lie within that value, and their packed sizes add up to
/// `FACTS.packed_size` bytes.
struct Walk<D> {
    memory: *mut u8,
    /// The address where the packed bytes of the pending bytes begin.
    packed: *mut u8,
    /// The address of the pending bytes: those that have been visited, but not copied yet.
    start: *mut u8,
    /// The number of pending bytes.
    length: usize,
    direction: PhantomData<D>,
}

impl<D: Direction> Walk<D> {
    /// The largest number of fields in a packing order of their own. A loop over more is slower than a plan.
    const FEW: usize = 16;

    /// Visits `count` values at `memory`.
    ///
    /// # Safety
    /// The conditions of [`copy_values`] hold. The packed bytes of the pending bytes directly precede those
    /// of the values.
    #[inline(always)]
    unsafe fn copy<T: MpiDatatype>(&mut self, count: usize) {
        if const { T::FACTS.dense } {
            // SAFETY: dense values have as many bytes in memory as packed, none of them padding.
            return unsafe { self.bytes(packed_size::<T>(count)) };
        }
        if const { T::ORDER.len() > Self::FEW } {
            // SAFETY: `flush` copies the pending bytes, so the packed bytes of these `count` values are next.
            return unsafe {
                self.flush();
                let size = packed_size::<T>(count);
                plan_of::<T>().copy::<D>(count, self.memory, 0..size, self.packed);
                self.packed = self.packed.add(size);
            };
        }
        if count == 1 {
            return T::visit(self);
        }
        let first = self.memory;
        for i in 0..count {
            // SAFETY: `flush` copies the pending bytes. Value `i` is one of `count` values that follow one
            // another in memory.
            unsafe {
                self.flush();
                self.memory = first.add(i * size_of::<T>());
                self.start = self.memory;
                T::visit(self);
            }
        }
        self.memory = first;
    }

    /// Adds `size` bytes at `memory` to the pending bytes.
    ///
    /// # Safety
    /// The bytes belong to the visited values. Their packed bytes directly follow those of the pending bytes.
    #[inline(always)]
    unsafe fn bytes(&mut self, size: usize) {
        // SAFETY: the pending bytes lie within the value.
        unsafe {
            if self.start.add(self.length) != self.memory {
                self.flush();
                self.start = self.memory;
            }
        }
        self.length += size;
    }

    /// Copies the pending bytes.
    ///
    /// # Safety
    /// The pending bytes have been added by [`bytes`](Self::bytes).
    #[inline(always)]
    unsafe fn flush(&mut self) {
        let (from, to) = D::sides(self.start, self.packed);
        // SAFETY: the pending bytes are fields of values, and `packed` is the address of their packed bytes.
        unsafe {
            // A copy from the first byte to the last is faster. In builds without optimization, these copies
            // would be most of the compiler's work.
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
