//! Which packed bytes are values: found before anything is written.

use std::{any::type_name, marker::PhantomData};

use dtype_core::BaseType;

use super::{node::Bytes, packed_size, values::pack_into};
use crate::{Error, MpiDatatype, fields::Visitor, layout::Layout, region::Region};

/// What knows which packed bytes are values.
pub(crate) trait Valid: Sync {
    /// Checks some of the packed bytes, those from `start` on: whether the whole values in them are such as their types have.
    fn check(&self, packed: &[u8], start: usize) -> Result<(), Error>;
}

/// Values of a type.
pub(super) struct Values<T>(PhantomData<fn() -> T>);

impl<T: MpiDatatype> Values<T> {
    /// If there are any that have to be looked at.
    pub const RESTRICTED: Option<&'static dyn Valid> =
        if T::FACTS.any_pattern { None } else { Some(&Self(PhantomData)) };
}

impl<T: MpiDatatype> Valid for Values<T> {
    fn check(&self, packed: &[u8], start: usize) -> Result<(), Error> {
        check::<T>(packed, start)
    }
}

impl<L: Layout> Valid for L {
    fn check(&self, packed: &[u8], start: usize) -> Result<(), Error> {
        check_region(&self.region(), packed, start)
    }
}

/// Checks that the values, whatever bytes they hold, are such as their type has.
pub(crate) fn validate<T: MpiDatatype>(values: &[T]) -> Result<(), Error> {
    if T::FACTS.any_pattern || T::FACTS.packed_size == 0 {
        return Ok(());
    }
    // Looked at as bytes: an invalid value must not be read as one.
    let mut packed = vec![0; packed_size::<T>(1)];
    values.iter().enumerate().try_for_each(|(i, value)| {
        pack_into(std::slice::from_ref(value), &mut packed)?;
        check::<T>(&packed, 0).map_err(|error| error.behind(packed_size::<T>(i)))
    })
}

/// Checks some of the packed bytes of values, those from `start` on.
pub(super) fn check<T: MpiDatatype>(packed: &[u8], start: usize) -> Result<(), Error> {
    if T::FACTS.any_pattern || packed.is_empty() {
        return Ok(());
    }
    let bytes = start..start + packed.len();
    let mut looking = Looking { packed, bytes, at: 0, invalid: None };
    looking.elements::<T>(looking.bytes.end.div_ceil(packed_size::<T>(1).max(1)));
    looking.invalid.map_or(Ok(()), Err)
}

/// Checks some of the packed bytes of regions, one after the other: those from `start` on.
pub(crate) fn check_region(region: &Region<'_>, packed: &[u8], start: usize) -> Result<(), Error> {
    let (size, strides) = (region.packed_size(), region.contiguous());
    if size == 0 {
        return Ok(());
    }
    let end = start + packed.len();
    for copy in start / size..end.div_ceil(size) {
        let mut at = copy * size;
        for nest in region.nests(&strides) {
            let (first, last) = (at, at + nest.leaf.facts.packed_size * nest.count());
            let (from, to) = (first.max(start), last.min(end));
            if from < to {
                let some = &packed[from - start..to - start];
                (nest.leaf.copying.check)(some, from - first).map_err(|error| error.behind(first))?;
            }
            at = last;
        }
    }
    Ok(())
}

/// Looks for the first packed byte that is no value of its type.
struct Looking<'a> {
    packed: &'a [u8],
    /// Which of the packed bytes of all values these are.
    bytes: Bytes,
    /// How many have been passed.
    at: usize,
    invalid: Option<Error>,
}

impl Looking<'_> {
    /// Passes values of a base type one after the other, of which the bytes may hold some.
    ///
    /// A function of its own for each base type, and none of every field: inlined into all of them it is much code.
    #[inline]
    fn values<T: MpiDatatype>(&mut self, count: usize) {
        let size = packed_size::<T>(1);
        let (from, to) = (self.at, self.at + size * count);
        self.at = to;
        let Bytes { start, end } = self.bytes;
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

/// The first of the packed values from `at` on that is none, as an error.
#[cold]
fn invalid<T: MpiDatatype>(packed: &[u8], at: usize) -> Option<Error> {
    let size = packed_size::<T>(1);
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
        let size = packed_size::<F>(1);
        let end = self.at + packed_size::<F>(count);
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
