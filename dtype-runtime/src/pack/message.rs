//! Types with `MpiDatatype` as messages: their packed bytes. Memory that consists of these bytes is not
//! packed.

use std::{array, num::NonZero, slice};

use dtype_core::BaseType;

use super::{pack_raw, packed_size, unpack_raw};
use crate::{
    Error, FromMessage, MpiDatatype, MpiMessage,
    message::{Fingerprint, Fixed, Reader, Writer, malformed},
    types::{Visitor, check::check},
};

/// Returns the functions for slices of a type, or `None` if the type has skipped fields.
pub(crate) const fn fixed<T: MpiDatatype>() -> Option<Fixed<T>> {
    if !T::FACTS.complete {
        return None;
    }
    let (least, slice) = (T::FACTS.packed_size, slice_align::<T>());
    // SAFETY: 1, since packed bytes are written and read; 2, since these are `packed_size` bytes; 3, since
    // `slice_align` is not 0 only for dense values, whose memory is their packed bytes.
    Some(unsafe { Fixed::new(least, slice, write_at::<T>, read_at::<T>, check_all::<T>, check_memory::<T>) })
}

/// Implements both traits for base types.
macro_rules! base_types {
    ($($type:ty)*) => {$(
        impl MpiMessage for $type {
            const SLICES: Option<Fixed<Self>> = fixed();
            const LEAST: usize = size_of::<Self>();

            fn describe(of: &mut Fingerprint) {
                describe::<Self>(of);
            }

            #[inline]
            fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
                write(self, to);
                Ok(())
            }
        }

        impl FromMessage for $type {
            #[inline]
            fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
                read(from, incomplete)
            }
        }
    )*};
}

base_types! {
    i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64 bool char
    NonZero<i8> NonZero<i16> NonZero<i32> NonZero<i64> NonZero<isize>
    NonZero<u8> NonZero<u16> NonZero<u32> NonZero<u64> NonZero<usize>
}

#[cfg(feature = "num-complex")]
base_types! { num_complex::Complex<f32> num_complex::Complex<f64> }

#[cfg(feature = "half")]
base_types! { half::f16 half::bf16 }

/// Returns the alignment of `T` if the memory of a slice is its packed bytes, and otherwise 0.
const fn slice_align<T: MpiDatatype>() -> usize {
    let facts = T::FACTS;
    if facts.dense && facts.complete && facts.packed_size > 0 { align_of::<T>() } else { 0 }
}

/// Adds the base types of `T` to a fingerprint, in packing order, and whether many values may be a block.
pub(crate) fn describe<T: MpiDatatype>(of: &mut Fingerprint) {
    struct Leaves<'a>(&'a mut Fingerprint);
    impl Visitor for Leaves<'_> {
        fn leaf<T: MpiDatatype>(&mut self, base: BaseType) {
            self.0.add(base.name());
            self.0.number(T::FACTS.any_pattern.into());
        }
        fn field<F: MpiDatatype>(&mut self, _offset: usize) {
            F::visit(self);
        }
        fn elements<F: MpiDatatype>(&mut self, count: usize) {
            self.0.number(count as u64);
            F::visit(self);
        }
    }
    of.number((slice_align::<T>() > 0).into());
    T::visit(&mut Leaves(of));
}

/// Writes a value.
#[inline]
pub(crate) fn write<'a, T: MpiDatatype>(value: &'a T, to: &mut Writer<'a>) {
    // SAFETY: 1, by the reference.
    unsafe { write_at::<T>((&raw const *value).cast(), 1, to) };
}

/// Writes values.
///
/// # Safety
/// 1. At `place`, there are `count` values, borrowed as long as the message.
#[inline]
unsafe fn write_at<T: MpiDatatype>(place: *const u8, count: usize, to: &mut Writer<'_>) {
    let size = packed_size::<T>(count);
    if const { slice_align::<T>() > 0 } {
        // SAFETY: by 1, the values are there for as long as the message. They are dense: all of their bytes
        // are packed bytes, and so initialized.
        let bytes = unsafe { slice::from_raw_parts(place, size) };
        return to.memory(bytes, align_of::<T>());
    }
    to.in_band.reserve(size);
    let start = to.in_band.len();
    // SAFETY: by 1, the values are there. There is room for `size` packed bytes, which are written, and do
    // not overlap the values.
    unsafe {
        pack_raw(slice::from_raw_parts(place.cast::<T>(), count), to.in_band.as_mut_ptr().add(start));
        to.in_band.set_len(start + size);
    }
}

/// Reads a value. `by_field` reads it if the type has skipped fields.
#[inline]
pub(crate) fn read<T: MpiDatatype>(
    from: &mut Reader<'_>,
    by_field: impl FnOnce(&mut Reader<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    match const { fixed::<T>() } {
        Some(fixed) => fixed.read::<1>(from).map(|[value]| value),
        None => from.in_band_only(by_field),
    }
}

/// Reads a value in place of an old one. `by_field` reads it if the type has skipped fields, which stay as
/// they are.
pub(crate) fn read_into<T: MpiDatatype>(
    value: &mut T,
    from: &mut Reader<'_>,
    by_field: impl FnOnce(&mut T, &mut Reader<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    match const { fixed::<T>() } {
        Some(fixed) => fixed.read_over(array::from_mut(value), from),
        None => from.in_band_only(|from| by_field(value, from)),
    }
}

/// The reader of a value of a type that has no skipped fields. It is never called.
#[cold]
pub(crate) fn incomplete<T>(_: &mut Reader<'_>) -> Result<T, Error> {
    Err(malformed("its type has skipped fields"))
}

/// Reads the packed bytes of `count` valid values.
#[inline]
fn packed<'r, T: MpiDatatype>(count: usize, from: &'r mut Reader<'_>) -> Result<&'r [u8], Error> {
    let size = packed_size::<T>(count);
    let packed = if const { slice_align::<T>() > 0 } { from.memory(size)? } else { from.bytes(size)? };
    check::<T>(packed, 0)?;
    Ok(packed)
}

/// Reads values.
///
/// # Safety
/// 1. At `place`, there is room for `count` values.
#[inline]
unsafe fn read_at<T: MpiDatatype>(place: *mut u8, count: usize, from: &mut Reader<'_>) -> Result<(), Error> {
    let packed = packed::<T>(count, from)?;
    // SAFETY: by 1, there is room for the values. `packed` has the bytes of so many valid ones.
    unsafe { unpack_raw(packed, place.cast::<T>(), count) };
    Ok(())
}

fn check_all<T: MpiDatatype>(count: usize, from: &mut Reader<'_>) -> Result<(), Error> {
    packed::<T>(count, from).map(drop)
}

fn check_memory<T: MpiDatatype>(memory: &[u8]) -> Result<(), Error> {
    check::<T>(memory, 0)
}
