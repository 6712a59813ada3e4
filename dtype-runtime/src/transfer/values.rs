//! Plain values as messages.

use std::{borrow::Cow, ops::Range};

use dtype_engine::{Error as PackError, Plan, Spacing, Valid, written};

use super::{
    blocks::MemoryBlocks,
    sendable::{Span, Typed, copy_blocks, sealed, the_same_as},
};
use crate::{
    Error, MpiDatatype,
    layout::entry::Entry,
    message::{PlainValues, PlainValuesMut},
    pack::{Data, DataMut, message::plain},
    types::{ValueType, Values, ValuesMut},
};

impl PlainValues<'_> {
    /// Returns the values as data of their plan.
    fn data(&self) -> Data<'_> {
        // SAFETY: the plan of a type covers only fields of its values, which are borrowed.
        unsafe { Data::from_raw(Cow::Borrowed((self.of.plan)()), self.count, self.place.cast_mut()) }
    }

    /// Packs a range of the values field by field.
    fn pack_values(&self, values: Range<usize>) -> Vec<u8> {
        let size = self.of.packed_size(values.len());
        // SAFETY: 1 and 2, since the values are borrowed and within their slice, and all `size` bytes of the
        // new memory are written; 3.
        unsafe { written(size, |packed| self.pack_values_to(values, packed)) }
    }

    /// Packs a range of the values field by field to an address.
    ///
    /// # Safety
    /// 1. The range is one of the values. 2. There is room for their packed bytes, which do not overlap them.
    unsafe fn pack_values_to(&self, values: Range<usize>, packed: *mut u8) {
        let first = self.place.cast_mut().wrapping_add(values.start * self.of.size);
        // SAFETY: by 1, these are valid values; 2.
        unsafe { (self.of.copying.pack)(first, values.len(), packed) };
    }
}

/// Returns the range of values that a range of packed bytes holds, or `None` if the range divides a value or
/// exceeds the values.
fn whole_values(of: &ValueType, count: usize, bytes: &Range<usize>) -> Option<Range<usize>> {
    let size = of.facts.packed_size;
    let whole = size > 0 && bytes.start % size == 0 && bytes.end % size == 0 && bytes.start <= bytes.end;
    whole.then(|| bytes.start / size..bytes.end / size).filter(|values| values.end <= count)
}

// SAFETY: 1, since all values of a type have the same packed size; 2, since the memory is that of the values.
unsafe impl sealed::Read for PlainValues<'_> {
    #[inline]
    fn packed_size(&self) -> usize {
        self.of.facts.wire_size.saturating_mul(self.count)
    }

    #[inline]
    unsafe fn pack(&self, packed: *mut u8) -> Result<(), Error> {
        if let Some(blocks) = MemoryBlocks::of_values(self.of)? {
            let wire = blocks.to_wire(&self.pack_values(0..self.count))?;
            // SAFETY: the caller has room for `packed_size` bytes, which these are.
            unsafe { packed.copy_from_nonoverlapping(wire.as_ptr(), wire.len()) };
            return Ok(());
        }
        // SAFETY: 1; 2, since the caller has room for `packed_size` bytes, which do not overlap the values.
        unsafe { self.pack_values_to(0..self.count, packed) };
        Ok(())
    }

    fn pack_range(&self, bytes: Range<usize>, packed: &mut [u8]) -> Result<(), Error> {
        if let Some(blocks) = MemoryBlocks::of_values(self.of)? {
            return copy_blocks(&blocks, &bytes, packed, |copies| self.pack_values(copies));
        }
        match whole_values(self.of, self.count, &bytes) {
            Some(values) if bytes.len() <= packed.len() => {
                // SAFETY: 1, by `whole_values`; 2, since `packed` has as many bytes, and is borrowed mutably.
                unsafe { self.pack_values_to(values, packed.as_mut_ptr()) };
                Ok(())
            }
            _ => Ok(self.data().pack_range(bytes, packed)?),
        }
    }

    fn step(&self) -> usize {
        self.of.facts.wire_size.max(1)
    }

    #[inline]
    fn span(&self) -> Option<Span> {
        let is_memory = self.of.facts.dense || self.of.is_bytes;
        is_memory.then(|| Span { place: self.place.cast_mut(), size: sealed::Read::packed_size(self) })
    }

    fn spacing(&self) -> Option<Spacing> {
        if self.of.facts.has_blocks() { None } else { (self.of.plan)().spacing() }
    }

    fn typed(&self) -> Result<Typed, Error> {
        Typed::new(self.place.cast_mut(), self.count, Entry::Fixed((self.of.lazy)()))
    }

    fn plan(&self) -> Plan {
        match MemoryBlocks::of_values(self.of) {
            Ok(Some(blocks)) => blocks.into_plan(),
            _ => (self.of.plan)().clone(),
        }
    }
}

the_same_as!(read [] PlainValuesMut<'_>, |values| &values.as_values());

impl PlainValuesMut<'_> {
    /// Returns the values as data of their plan.
    fn data_mut(&mut self) -> DataMut<'_> {
        let check = (!self.of.facts.any_pattern).then_some(self.of as &dyn Valid);
        // SAFETY: the plan of a type covers only fields of its values, which are borrowed mutably. Values of
        // restricted types are checked.
        unsafe { DataMut::from_raw(Cow::Borrowed((self.of.plan)()), self.count, self.place, check) }
    }
}

// SAFETY: 1 and 2, since the values are borrowed mutably; 3, since `any_pattern` follows the facts of the
// type.
unsafe impl sealed::Write for PlainValuesMut<'_> {
    #[inline]
    fn any_pattern(&self) -> bool {
        self.of.any_pattern()
    }

    #[inline]
    fn span_mut(&mut self) -> Option<Span> {
        sealed::Read::span(self)
    }

    fn typed_mut(&mut self) -> Result<Typed, Error> {
        sealed::Read::typed(self)
    }

    fn unpack(&mut self, packed: &[u8]) -> Result<(), Error> {
        let converted =
            MemoryBlocks::of_values(self.of)?.map(|blocks| blocks.to_packed(packed)).transpose()?;
        let (packed, expected) = (converted.as_deref().unwrap_or(packed), self.of.packed_size(self.count));
        PackError::unless_exactly((self.of.name)(), expected, packed.len())?;
        if !self.of.facts.any_pattern {
            (self.of.copying.check)(packed, 0)?;
        }
        // SAFETY: 1 and 3, since the values are borrowed mutably; 2, since the bytes are those of so many
        // values, and have been checked.
        unsafe { (self.of.copying.unpack)(self.place, self.count, packed.as_ptr().cast_mut()) };
        Ok(())
    }

    fn unpack_range(&mut self, position: usize, packed: &[u8]) -> Result<(), Error> {
        let bytes = position..position.saturating_add(packed.len());
        if self.of.facts.has_blocks() {
            let size = sealed::Read::packed_size(self);
            return match self.span_mut().filter(|_| self.of.facts.any_pattern && bytes.end <= size) {
                Some(Span { place, .. }) => {
                    // SAFETY: these bytes are within the memory of the values, which are borrowed mutably,
                    // and any bytes may be written there.
                    unsafe { place.add(position).copy_from_nonoverlapping(packed.as_ptr(), packed.len()) };
                    Ok(())
                }
                None => Err(PackError::Range { start: bytes.start, end: bytes.end, size }.into()),
            };
        }
        match whole_values(self.of, self.count, &bytes) {
            Some(values) if self.of.facts.any_pattern => {
                let first = self.place.wrapping_add(values.start * self.of.size);
                // SAFETY: 1 and 3, since these values are borrowed mutably; 2, since any bytes are valid
                // values.
                unsafe { (self.of.copying.unpack)(first, values.len(), packed.as_ptr().cast_mut()) };
                Ok(())
            }
            _ => Ok(self.data_mut().unpack_range(position, packed)?),
        }
    }
}

the_same_as!(write [T: MpiDatatype] T, |value| &plain().value(value), &mut plain().value_mut(value), {
    ValueType::of::<T>().any_pattern()
});
the_same_as!(write [T: MpiDatatype] [T], |values| &plain().values(values), &mut plain().values_mut(values), {
    ValueType::of::<T>().any_pattern()
});
the_same_as!(write [T: MpiDatatype] Vec<T>, |values| values.as_slice(), values.as_mut_slice());
the_same_as!(read [T: MpiDatatype] Values<'_, T>, |values| values.0);
the_same_as!(write [T: MpiDatatype] ValuesMut<'_, T>, |values| &*values.0, &mut *values.0);
