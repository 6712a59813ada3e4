//! Checks that packed bytes are valid values, before anything is written.

use std::{any::type_name, marker::PhantomData, ops::Range};

use dtype_core::BaseType;
use dtype_engine::{Error, Valid};

use super::datatype::{MpiDatatype, Visitor};

/// Returns the check of a restricted type, or `None` if every byte pattern is valid.
pub(crate) const fn restricted<T: MpiDatatype>() -> Option<&'static dyn Valid> {
    if T::FACTS.any_pattern { None } else { Some(&ValuesOf::<T>(PhantomData)) }
}

/// The check for values of type `T`.
struct ValuesOf<T>(PhantomData<fn() -> T>);

impl<T: MpiDatatype> Valid for ValuesOf<T> {
    fn check(&self, packed: &[u8], start: usize) -> Result<(), Error> {
        check::<T>(packed, start)
    }
}

/// Checks a part of the packed bytes of values of type `T`. The part begins at byte `start`.
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

/// The packed bytes of one whole value. The compiler knows the parts of the value, so that only the checks of
/// restricted parts remain in the code.
struct Whole<'a> {
    value: &'a [u8],
    /// The number of bytes visited so far.
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

/// Checks packed bytes that may begin or end within a value, or hold an invalid one.
fn look<T: MpiDatatype>(packed: &[u8], start: usize) -> Result<(), Error> {
    if packed.is_empty() {
        return Ok(());
    }
    let bytes = start..start + packed.len();
    let mut looking = Looking { packed, bytes, at: 0, invalid: None };
    looking.elements::<T>(looking.bytes.end.div_ceil(T::FACTS.packed_size.max(1)));
    looking.invalid.map_or(Ok(()), Err)
}

/// A visitor that searches for the first invalid value among packed bytes.
struct Looking<'a> {
    packed: &'a [u8],
    /// The position of these bytes among the packed bytes of all values.
    bytes: Range<usize>,
    /// The number of packed bytes visited so far.
    at: usize,
    invalid: Option<Error>,
}

impl Looking<'_> {
    /// Visits `count` consecutive values of a base type. The bytes may hold only some of them.
    ///
    /// This is a separate function for each base type. Inlined at every field, it would be too much code.
    #[inline]
    fn values<T: MpiDatatype>(&mut self, count: usize) {
        let size = T::FACTS.packed_size;
        let (from, to) = (self.at, self.at + size * count);
        self.at = to;
        let Range { start, end } = self.bytes;
        if T::FACTS.any_pattern || self.invalid.is_some() {
            return;
        }
        // `packed` never begins or ends within a value of a base type.
        let (from, to) = (from.clamp(start, end), to.clamp(start, end));
        let bytes = &self.packed[from - start..to - start];
        let valid = |bytes: &[u8]| bytes.chunks_exact(size).fold(true, |all, value| all & T::is_valid(value));
        let all_valid = if count == 1 { valid(bytes) } else { bytes.chunks(size * 256).all(valid) };
        if !all_valid {
            self.invalid = invalid::<T>(bytes, from);
        }
    }
}

impl Visitor for Looking<'_> {
    #[inline(always)]
    fn leaf<T: MpiDatatype>(&mut self, _base: BaseType) {
        self.values::<T>(1);
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
            // Visits only values of which the bytes hold a part.
            let before = (self.bytes.start.saturating_sub(self.at) / size).min(count);
            self.at += before * size;
            while self.at < end.min(self.bytes.end) {
                F::visit(self);
            }
            self.at = end;
        }
    }
}

/// Returns an error for the first invalid value of `packed`, or `None` if all values are valid. `packed`
/// begins at packed byte `at` of all values.
#[cold]
fn invalid<T: MpiDatatype>(packed: &[u8], at: usize) -> Option<Error> {
    let size = T::FACTS.packed_size;
    let (i, value) = packed.chunks_exact(size).enumerate().find(|(_, value)| !T::is_valid(value))?;
    let mut found = [0; 8];
    found[..size].copy_from_slice(value);
    let (offset, found) = (at + i * size, u64::from_le_bytes(found));
    Some(Error::InvalidValue { what: type_name::<T>(), offset, found })
}
