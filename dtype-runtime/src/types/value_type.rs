//! Value types: the facts and functions of a type with packed bytes, for code that has no type parameters.

use dtype_engine::{Error, Plan, Valid};

use super::{entry::LazyDatatype, facts::Facts};

/// The facts and functions of a type whose values have packed bytes.
pub struct ValueType {
    /// The name for messages of errors.
    pub(crate) name: fn() -> &'static str,
    /// The size of a value in memory, in bytes.
    pub(crate) size: usize,
    /// The alignment of a value in bytes.
    pub(crate) align: usize,
    pub(crate) facts: Facts,
    /// `true` if the memory of a value travels with its padding: [`MpiDatatype::BYTES`](crate::MpiDatatype).
    pub(crate) is_bytes: bool,
    pub(crate) lazy: fn() -> &'static LazyDatatype,
    pub(crate) plan: fn() -> &'static Plan,
    pub(crate) copying: Copying,
}

/// The functions that copy and check values of one type.
#[derive(Clone, Copy)]
pub(crate) struct Copying {
    /// Packs values: the memory, the number of values, and the packed bytes.
    ///
    /// # Safety
    /// 1. The memory holds so many values, valid or not. 2. There is room for their packed bytes. 3. The two
    ///    do not overlap.
    pub pack: unsafe fn(*mut u8, usize, *mut u8),
    /// Unpacks values: the memory, the number of values, and the packed bytes.
    ///
    /// # Safety
    /// 1. The memory has room for so many values. 2. The packed bytes are those of so many valid values.
    /// 3. The two do not overlap.
    pub unpack: unsafe fn(*mut u8, usize, *mut u8),
    /// Checks a part of the packed bytes of values, which begins at a position among them.
    pub check: fn(&[u8], usize) -> Result<(), Error>,
}

impl ValueType {
    /// Returns the alignment of the type if the memory of a slice is its packed bytes, and otherwise 0.
    pub(crate) const fn slice_align(&self) -> usize {
        let Facts { dense, complete, packed_size, .. } = self.facts;
        if dense && complete && packed_size > 0 { self.align } else { 0 }
    }

    /// Returns the packed size of `count` values in bytes, or `usize::MAX` if it overflows.
    #[inline]
    pub(crate) const fn packed_size(&self, count: usize) -> usize {
        self.facts.packed_size.saturating_mul(count)
    }

    /// Returns `true` if every pattern of the bytes that travel is a valid value.
    #[cfg(feature = "mpi")]
    pub(crate) const fn any_pattern(&self) -> bool {
        self.facts.any_pattern && (self.is_bytes || !self.facts.has_blocks())
    }

    /// Returns the number of values that consist of these packed bytes.
    ///
    /// # Errors
    /// `Size` if the bytes are not those of whole values.
    pub(crate) fn count_in(&self, bytes: usize) -> Result<usize, Error> {
        match bytes.checked_rem(self.facts.packed_size) {
            Some(0) => Ok(bytes / self.facts.packed_size),
            None if bytes == 0 => Ok(0),
            _ => Err(Error::Length { what: (self.name)(), expected: self.facts.packed_size, found: bytes }),
        }
    }
}

impl Valid for ValueType {
    fn check(&self, packed: &[u8], start: usize) -> Result<(), Error> {
        (self.copying.check)(packed, start)
    }
}
