//! Which packed bytes are values: found before anything is written.

use std::{any::type_name, marker::PhantomData, ops::Range, slice};

use dtype_core::BaseType;

use super::datatype::{MpiDatatype, Visitor};
use crate::Error;

/// What knows which packed bytes are values.
pub(crate) trait Valid: Sync {
    /// Checks some of the packed bytes, those from `start` on: whether the whole values in them are valid.
    fn check(&self, packed: &[u8], start: usize) -> Result<(), Error>;
}

/// Those of a type, if there are any that have to be looked at.
pub(crate) const fn restricted<T: MpiDatatype>() -> Option<&'static dyn Valid> {
    if T::FACTS.any_pattern { None } else { Some(&ValuesOf::<T>(PhantomData)) }
}

/// The values of a type.
struct ValuesOf<T>(PhantomData<fn() -> T>);

impl<T: MpiDatatype> Valid for ValuesOf<T> {
    fn check(&self, packed: &[u8], start: usize) -> Result<(), Error> {
        check::<T>(packed, start)
    }
}

/// Checks that the values, whatever bytes they hold, are such as their type has.
pub(super) fn validate<T: MpiDatatype>(values: &[T]) -> Result<(), Error> {
    let mut looking = InMemory { value: values.as_ptr().cast(), at: 0, invalid: None };
    looking.elements::<T>(values.len());
    looking.invalid.map_or(Ok(()), Err)
}

/// Looks for the first invalid value, in memory: an invalid value must not be read as one, so it is
/// looked at as bytes.
///
/// It is made in [`validate`] only, over values of the type whose `visit` it is handed to.
struct InMemory {
    /// Where the value is.
    value: *const u8,
    /// Packed bytes of all that has been passed.
    at: usize,
    invalid: Option<Error>,
}

impl Visitor for InMemory {
    fn leaf<T: MpiDatatype>(&mut self, base: BaseType) {
        let size = base.size() as usize;
        // SAFETY: by the contract of `MpiDatatype`, what travels as a base type is a value of its size
        // without padding, and lies within the values borrowed.
        let bytes = unsafe { slice::from_raw_parts(self.value, size) };
        if self.invalid.is_none() && !T::is_valid(bytes) {
            self.invalid = invalid::<T>(bytes, self.at);
        }
        self.at += size;
    }

    fn field<F: MpiDatatype>(&mut self, offset: usize) {
        let value = self.value;
        self.value = value.wrapping_add(offset);
        self.elements::<F>(1);
        self.value = value;
    }

    fn elements<F: MpiDatatype>(&mut self, count: usize) {
        let (size, first) = (F::FACTS.packed_size, self.value);
        if F::FACTS.any_pattern || size == 0 || self.invalid.is_some() {
            self.at += size * count;
            return;
        }
        for i in 0..count {
            self.value = first.wrapping_add(i * size_of::<F>());
            F::visit(self);
        }
        self.value = first;
    }
}

/// Checks some of the packed bytes of values, those from `start` on.
pub(crate) fn check<T: MpiDatatype>(packed: &[u8], start: usize) -> Result<(), Error> {
    if T::FACTS.any_pattern || packed.is_empty() {
        return Ok(());
    }
    let size = T::FACTS.packed_size.max(1);
    let Some((first, others)) = packed.split_at_checked(start.next_multiple_of(size) - start) else {
        return look::<T>(packed, start);
    };
    let whole = others.chunks_exact(size);
    let last = whole.remainder();
    if !whole.fold(true, |all_valid, value| all_valid & Whole::is_valid::<T>(value)) {
        return look::<T>(packed, start);
    }
    look::<T>(first, start)?;
    look::<T>(last, start + packed.len() - last.len())
}

/// The packed bytes of one whole value. What is in them is known when this is compiled, so that only the
/// looks themselves are left of it.
struct Whole<'a> {
    value: &'a [u8],
    /// How many bytes have been passed.
    at: usize,
    all_valid: bool,
}

impl<'a> Whole<'a> {
    #[inline(always)]
    fn is_valid<T: MpiDatatype>(value: &'a [u8]) -> bool {
        let mut whole = Self { value, at: 0, all_valid: true };
        whole.elements::<T>(1);
        whole.all_valid
    }
}

impl Visitor for Whole<'_> {
    #[inline(always)]
    fn leaf<T: MpiDatatype>(&mut self, base: BaseType) {
        let end = self.at + base.size() as usize;
        self.all_valid &= T::is_valid(&self.value[self.at..end]);
        self.at = end;
    }

    #[inline(always)]
    fn field<F: MpiDatatype>(&mut self, _offset: usize) {
        self.elements::<F>(1);
    }

    #[inline(always)]
    fn elements<F: MpiDatatype>(&mut self, count: usize) {
        if F::FACTS.any_pattern || F::FACTS.packed_size == 0 {
            self.at += F::FACTS.packed_size * count;
            return;
        }
        for _ in 0..count {
            F::visit(self);
        }
    }
}

/// Looks at packed bytes that may hold values in part, or invalid ones.
fn look<T: MpiDatatype>(packed: &[u8], start: usize) -> Result<(), Error> {
    if packed.is_empty() {
        return Ok(());
    }
    let bytes = start..start + packed.len();
    let mut looking = Looking { packed, bytes, at: 0, invalid: None };
    looking.elements::<T>(looking.bytes.end.div_ceil(T::FACTS.packed_size.max(1)));
    looking.invalid.map_or(Ok(()), Err)
}

/// Looks for the first packed byte that is no value of its type.
struct Looking<'a> {
    packed: &'a [u8],
    /// Which of the packed bytes of all values these are.
    bytes: Range<usize>,
    /// How many have been passed.
    at: usize,
    invalid: Option<Error>,
}

impl Looking<'_> {
    /// Passes values of a base type one after the other, of which the bytes may hold some.
    ///
    /// A function of its own for each base type, and none of every field: inlined into all of them it is much
    /// code.
    #[inline]
    fn values<T: MpiDatatype>(&mut self, count: usize) {
        let size = T::FACTS.packed_size;
        let (from, to) = (self.at, self.at + size * count);
        self.at = to;
        let Range { start, end } = self.bytes;
        if T::FACTS.any_pattern || self.invalid.is_some() {
            return;
        }
        // No value is there in part.
        let (from, to) = (from.clamp(start, end), to.clamp(start, end));
        let bytes = &self.packed[from - start..to - start];
        let valid = |bytes: &[u8]| bytes.chunks_exact(size).fold(true, |all, value| all & T::is_valid(value));
        let all_valid = if count == 1 { valid(bytes) } else { bytes.chunks(size * 256).all(valid) };
        if !all_valid {
            self.invalid = invalid::<T>(bytes, from);
        }
    }
}

/// The first invalid one of the packed values from `at` on, as an error.
#[cold]
fn invalid<T: MpiDatatype>(packed: &[u8], at: usize) -> Option<Error> {
    let size = T::FACTS.packed_size;
    let (i, value) = packed.chunks_exact(size).enumerate().find(|(_, value)| !T::is_valid(value))?;
    let mut found = [0; 8];
    found[..size].copy_from_slice(value);
    let (offset, found) = (at + i * size, u64::from_le_bytes(found));
    Some(Error::InvalidValue { what: type_name::<T>(), offset, found })
}

impl Visitor for Looking<'_> {
    #[inline(always)]
    fn leaf<T: MpiDatatype>(&mut self, _base: BaseType) {
        self.values::<T>(1);
    }

    #[inline(always)]
    fn field<F: MpiDatatype>(&mut self, _offset: usize) {
        self.elements::<F>(1);
    }

    #[inline(always)]
    fn elements<F: MpiDatatype>(&mut self, count: usize) {
        let size = F::FACTS.packed_size;
        let end = self.at + F::FACTS.packed_size * count;
        if F::FACTS.any_pattern || size == 0 {
            self.at = end;
        } else if F::FACTS.base.is_some() {
            self.values::<F>(count);
        } else if count == 1 {
            F::visit(self);
        } else {
            // Only those that the bytes hold something of.
            let before = (self.bytes.start.saturating_sub(self.at) / size).min(count);
            self.at += before * size;
            while self.at < end.min(self.bytes.end) {
                F::visit(self);
            }
            self.at = end;
        }
    }
}
