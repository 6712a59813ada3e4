//! Types with `MpiDatatype` as messages: their packed bytes. Memory that consists of these bytes is not
//! packed.

use std::{array, num::NonZero, slice};

use dtype_core::BaseType;

use crate::{
    Error, FromMessage, MpiDatatype, MpiMessage,
    message::{Fingerprint, Plain, Reader, Writer, fixed, malformed},
    types::{ValueType, Visitor, runtime::Runtime},
};

/// Returns the value type of a type with `MpiDatatype`.
pub(crate) const fn plain<T: MpiDatatype>() -> Plain<T> {
    // SAFETY: 1, since it is made of `T`.
    unsafe { Plain::new(ValueType::of::<T>()) }
}

/// Implements both traits for base types.
macro_rules! base_types {
    ($($type:ty)*) => {$(
        impl MpiMessage for $type {
            const PLAIN: Option<Plain<Self>> = Some(plain());

            fn describe(of: &mut Fingerprint) {
                Runtime::describe::<Self>(of);
            }

            #[inline]
            fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
                Runtime::write(self, to)
            }
        }

        impl FromMessage for $type {
            #[inline]
            fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
                Runtime::read(from)
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

impl Runtime {
    /// Adds the base types of `T` to a fingerprint, in packing order, and whether many values may be a block.
    pub fn describe<T: MpiDatatype>(of: &mut Fingerprint) {
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
        of.number((ValueType::of::<T>().slice_align() > 0).into());
        T::visit(&mut Leaves(of));
    }

    /// Writes a value.
    ///
    /// # Errors
    /// In no call.
    #[inline]
    pub fn write<'a, T: MpiDatatype>(value: &'a T, to: &mut Writer<'a>) -> Result<(), Error> {
        const { plain::<T>() }.write(slice::from_ref(value), to);
        Ok(())
    }

    /// Reads a value of a type without skipped fields.
    ///
    /// # Errors
    /// The errors of [`FromMessage::read`].
    #[inline]
    pub fn read<T: MpiDatatype>(from: &mut Reader<'_>) -> Result<T, Error> {
        Self::read_by_field(from, |_| Err(malformed("its type has skipped fields")))
    }

    /// Reads a value. `by_field` reads it if the type has skipped fields.
    ///
    /// # Errors
    /// The errors of [`FromMessage::read`].
    #[inline]
    pub fn read_by_field<T: MpiDatatype>(
        from: &mut Reader<'_>,
        by_field: impl FnOnce(&mut Reader<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match const { fixed::<T>() } {
            Some(fixed) => fixed.read::<1>(from).map(|[value]| value),
            None => from.in_band_only(by_field),
        }
    }

    /// Reads a value in place of an old one. `by_field` reads it if the type has skipped fields, which stay
    /// as they are.
    ///
    /// # Errors
    /// The errors of [`FromMessage::read`].
    pub fn read_into<T: MpiDatatype>(
        value: &mut T,
        from: &mut Reader<'_>,
        by_field: impl FnOnce(&mut T, &mut Reader<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match const { fixed::<T>() } {
            Some(fixed) => fixed.read_over(array::from_mut(value), from),
            None => from.in_band_only(|from| by_field(value, from)),
        }
    }
}
