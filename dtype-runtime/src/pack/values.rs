//! Generated code: values to packed bytes and back.
//!
//! A walk over a type is a [`Visitor`] that holds two pointers; every type's `visit` is inlined into it, so that a struct becomes
//! straight-line copies and a type without padding a single one.

use std::any::type_name;

use dtype_core::BaseType;

use super::check::check;
use crate::{
    Error, MpiDatatype,
    fields::Visitor,
    region::{Leaf, Loop, Nest},
};

/// Bytes that `count` values of `T` take when packed; `usize::MAX` where so many cannot exist.
pub const fn packed_size<T: MpiDatatype>(count: usize) -> usize {
    T::FACTS.packed_size.saturating_mul(count)
}

/// Packs values into bytes: their base types in the order of the type map, without padding, in the machine's byte
/// order. These are the bytes that `MPI_Pack` gives for a homogeneous job.
///
/// ```
/// assert_eq!(dtype_runtime::pack(&[(1u8, 2u16.to_be())]), [1, 0, 2]);
/// ```
pub fn pack<T: MpiDatatype>(values: &[T]) -> Vec<u8> {
    let size = packed_size::<T>(values.len());
    let mut packed = Vec::with_capacity(size);
    // SAFETY: the vector has room for `size` bytes, just what `pack_values` writes; then all of them are
    // initialized.
    unsafe {
        pack_values(values.as_ptr(), values.len(), packed.as_mut_ptr());
        packed.set_len(size);
    }
    packed
}

/// Packs values into the front of `packed` and returns how many bytes they took.
///
/// # Errors
/// [`Error::Length`] where `packed` is too short; nothing is written then.
pub fn pack_into<T: MpiDatatype>(values: &[T], packed: &mut [u8]) -> Result<usize, Error> {
    let expected = packed_size::<T>(values.len());
    if packed.len() < expected {
        return Err(Error::Length { what: type_name::<T>(), expected, found: packed.len() });
    }
    // SAFETY: `packed` has room for the bytes, and cannot overlap `values`, being borrowed mutably.
    unsafe { pack_values(values.as_ptr(), values.len(), packed.as_mut_ptr()) };
    Ok(expected)
}

/// Unpacks bytes that [`pack`] made into values. Padding is left as it is.
///
/// # Errors
/// [`Error::Length`] where the bytes are not just those of `values.len()` values, and [`Error::InvalidValue`] where
/// a `bool`, `char`, `NonZero` or enum has no such value. Nothing is written in either case.
///
/// ```
/// let mut flags = [(0u8, false); 2];
/// dtype_runtime::unpack_into(&[7, 1, 8, 0], &mut flags)?;
/// assert_eq!(flags, [(7, true), (8, false)]);
///
/// let error = dtype_runtime::unpack_into(&[9, 1, 9, 2], &mut flags).unwrap_err();
/// assert!(error.to_string().starts_with("at byte 3 of the packed data is 0x2, and no `bool` has that value"));
/// assert_eq!(flags, [(7, true), (8, false)]);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
pub fn unpack_into<T: MpiDatatype>(packed: &[u8], values: &mut [T]) -> Result<(), Error> {
    let expected = packed_size::<T>(values.len());
    if packed.len() != expected {
        return Err(Error::Length { what: type_name::<T>(), expected, found: packed.len() });
    }
    check::<T>(packed, 0)?;
    // SAFETY: these are just the bytes of so many values, each of them valid; `values` cannot overlap them.
    unsafe { unpack_values(packed.as_ptr(), values.as_mut_ptr(), values.len()) };
    Ok(())
}

/// What is done with values whose type is not known where it is done: by whom, for each type.
pub(crate) struct Copying {
    /// # Safety
    /// As for [`pack_values`], for the values that the loop leads to from the pointer.
    pack: unsafe fn(*const u8, Loop<'_>, *mut u8),
    /// # Safety
    /// As for [`unpack_values`], for the values that the loop leads to from the last pointer.
    unpack: unsafe fn(*const u8, *mut u8, Loop<'_>),
    pub check: fn(&[u8], usize) -> Result<(), Error>,
}

impl Copying {
    pub(crate) const fn of<T: MpiDatatype>() -> Self {
        Self { pack: pack_loop::<T>, unpack: unpack_loop::<T>, check: check::<T> }
    }
}

/// # Safety
/// As for [`pack_values`], for the values that the loop leads to from `memory`.
unsafe fn pack_loop<T: MpiDatatype>(memory: *const u8, values: Loop<'_>, mut target: *mut u8) {
    for_each_block::<T>(values, |offset, count| {
        // SAFETY: the values are some of the loop's, and the packed bytes of all before them are behind `target`.
        unsafe {
            pack_values(memory.offset(offset).cast::<T>(), count, target);
            target = target.add(packed_size::<T>(count));
        }
    });
}

/// # Safety
/// As for [`unpack_values`], for the values that the loop leads to from `memory`.
unsafe fn unpack_loop<T: MpiDatatype>(mut packed: *const u8, memory: *mut u8, values: Loop<'_>) {
    for_each_block::<T>(values, |offset, count| {
        // SAFETY: the values are some of the loop's, and the packed bytes of all before them are behind `packed`.
        unsafe {
            unpack_values(packed, memory.offset(offset).cast::<T>(), count);
            packed = packed.add(packed_size::<T>(count));
        }
    });
}

/// Calls back for values that lie one after the other: bytes to the first, and their number.
#[inline(always)]
fn for_each_block<T>(values: Loop<'_>, mut visit: impl FnMut(isize, usize)) {
    match values {
        Loop { count, stride, list: None } if stride == size_of::<T>() as isize => visit(0, count),
        Loop { count, stride, list: None } => (0..count).for_each(|i| visit(i as isize * stride, 1)),
        Loop { stride, list: Some(list), .. } => {
            let first = list.first().copied().unwrap_or_default();
            for index in list {
                visit((*index as isize - first as isize) * stride, 1);
            }
        }
    }
}

/// Calls back for each innermost loop of a nest, with the bytes to its first value.
#[inline(always)]
fn for_each_loop<'a>(at: isize, loops: &[Loop<'a>], visit: &mut impl FnMut(isize, Loop<'a>)) {
    match loops {
        [] => visit(at, Loop { count: 1, stride: 0, list: None }),
        [values] => visit(at, *values),
        [outer, inner @ ..] => {
            (0..outer.count).for_each(|i| for_each_inner_loop(at + outer.offset(i), inner, visit));
        }
    }
}

/// The recursion of [`for_each_loop`], which cannot be inlined into itself.
fn for_each_inner_loop<'a>(at: isize, loops: &[Loop<'a>], visit: &mut impl FnMut(isize, Loop<'a>)) {
    for_each_loop(at, loops, visit);
}

/// Packs the values of a loop nest over the array at `array`, and returns the end of their bytes.
///
/// # Safety
/// The nest is one over an array at that place, and `packed` points to room for the packed values elsewhere.
#[inline(always)]
pub(crate) unsafe fn pack_nest(nest: &Nest<'_>, array: *const u8, mut packed: *mut u8) -> *mut u8 {
    let Leaf { facts, copying, .. } = nest.leaf;
    for_each_loop(nest.start, nest.loops(), &mut |at, values| {
        // SAFETY: a region selects values within the array; there is room for all of them.
        unsafe {
            (copying.pack)(array.offset(at), values, packed);
            packed = packed.add(facts.packed_size * values.count);
        }
    });
    packed
}

/// Unpacks bytes that [`check_region`](super::check_region) has found to be those of the nest's region, and returns the end of its own.
///
/// # Safety
/// The nest is one over an array at that place, which may be written, and `packed` points to the packed values, valid and
/// elsewhere.
#[inline(always)]
pub(crate) unsafe fn unpack_nest(nest: &Nest<'_>, mut packed: *const u8, array: *mut u8) -> *const u8 {
    let Leaf { facts, copying, .. } = nest.leaf;
    for_each_loop(nest.start, nest.loops(), &mut |at, values| {
        // SAFETY: as for packing.
        unsafe {
            (copying.unpack)(packed, array.offset(at), values);
            packed = packed.add(facts.packed_size * values.count);
        }
    });
    packed
}

/// # Safety
/// `values` points to `count` values, and `target` to room for `packed_size::<T>(count)` bytes elsewhere.
#[inline(always)]
unsafe fn pack_values<T: MpiDatatype>(values: *const T, count: usize, target: *mut u8) {
    let mut walk = Walk { memory: values.cast_mut().cast(), packed: target, direction: Packing };
    // SAFETY: as the caller promises; packing only reads the memory.
    unsafe { walk.copy::<T>(count) };
}

/// # Safety
/// `packed` points to `packed_size::<T>(count)` bytes that hold valid values, and `values` to `count` values
/// elsewhere that may be written.
#[inline(always)]
unsafe fn unpack_values<T: MpiDatatype>(packed: *const u8, values: *mut T, count: usize) {
    let mut walk = Walk { memory: values.cast(), packed: packed.cast_mut(), direction: Unpacking };
    // SAFETY: as the caller promises; unpacking only reads the packed bytes.
    unsafe { walk.copy::<T>(count) };
}

/// Which way bytes are copied.
trait Direction: Copy {
    /// # Safety
    /// Both point to `size` bytes that do not overlap, of which the side copied to may be written and the other is
    /// initialized.
    unsafe fn copy(self, memory: *mut u8, packed: *mut u8, size: usize);
}

#[derive(Clone, Copy)]
struct Packing;

impl Direction for Packing {
    #[inline(always)]
    unsafe fn copy(self, memory: *mut u8, packed: *mut u8, size: usize) {
        // SAFETY: as the caller promises.
        unsafe { packed.copy_from_nonoverlapping(memory, size) };
    }
}

#[derive(Clone, Copy)]
struct Unpacking;

impl Direction for Unpacking {
    #[inline(always)]
    unsafe fn copy(self, memory: *mut u8, packed: *mut u8, size: usize) {
        // SAFETY: as the caller promises.
        unsafe { memory.copy_from_nonoverlapping(packed, size) };
    }
}

/// Copies between the value at `memory` and its packed bytes; `packed` moves on with every byte copied.
///
/// A walk is made in this file only, over a value of the type whose `visit` it is handed to. By the contract of
/// `MpiDatatype`, the fields that `visit` names lie within that value and take `FACTS.packed_size` packed bytes together.
struct Walk<D> {
    memory: *mut u8,
    packed: *mut u8,
    direction: D,
}

impl<D: Direction> Walk<D> {
    /// # Safety
    /// `memory` points to `count` values of `T`, and `packed` to their packed bytes elsewhere. The side copied to may be
    /// written, and the other holds valid values.
    #[inline(always)]
    unsafe fn copy<T: MpiDatatype>(&mut self, count: usize) {
        if T::FACTS.dense {
            // SAFETY: dense values have as many bytes in memory, none of them padding, as packed.
            unsafe { self.bytes(packed_size::<T>(count)) };
            return;
        }
        for i in 0..count {
            // SAFETY: the i-th of `count` values, one after the other in memory.
            let memory = unsafe { self.memory.add(i * size_of::<T>()) };
            let mut walk = Self { memory, ..*self };
            T::visit(&mut walk);
            self.packed = walk.packed;
        }
    }

    /// # Safety
    /// As for [`Direction::copy`].
    #[inline(always)]
    unsafe fn bytes(&mut self, size: usize) {
        // SAFETY: as the caller promises.
        unsafe {
            self.direction.copy(self.memory, self.packed, size);
            self.packed = self.packed.add(size);
        }
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
        // SAFETY: the field lies within the value, and its packed bytes are next.
        unsafe {
            let mut walk = Self { memory: self.memory.add(offset), ..*self };
            walk.copy::<F>(1);
            self.packed = walk.packed;
        }
    }

    #[inline(always)]
    fn elements<F: MpiDatatype>(&mut self, count: usize) {
        // SAFETY: the value is an array of `count` elements, and their packed bytes are next.
        unsafe { self.copy::<F>(count) };
    }
}
