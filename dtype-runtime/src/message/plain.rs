//! Plain values: those that travel as packed bytes, and nothing else. Their type is a [`ValueType`]: it
//! derives `MpiDatatype`, is a base type, or is an array or a tuple of such types.

use std::{
    fmt,
    marker::PhantomData,
    mem::{self, MaybeUninit},
};

use dtype_core::{Bounds, TypeTree};
use dtype_engine::{Error as PackError, Layer, Plan};

use super::{OwnedMemory, Reader, Writer, reader::too_short};
use crate::{
    Error,
    types::{
        Copying, Facts, ValueType,
        entry::{COSTS, Description, EntriesOfTypes, LazyDatatype, unsolved},
    },
};

/// The value type of `T`, whose values are plain.
pub struct Plain<T: ?Sized> {
    pub(crate) of: &'static ValueType,
    type_: PhantomData<fn(&T)>,
}

impl<T: ?Sized> Plain<T> {
    /// Creates the value type of `T`.
    ///
    /// # Safety
    /// 1. `of` describes `T`, or a type with the layout and the valid values of `T`.
    pub(crate) const unsafe fn new(of: &'static ValueType) -> Self {
        Self { of, type_: PhantomData }
    }
}

impl<T> Plain<T> {
    /// Writes values.
    #[inline(always)]
    pub(crate) fn write<'a>(self, values: &'a [T], to: &mut Writer<'a>) {
        let size = self.of.packed_size(values.len());
        let memory = values.as_ptr().cast::<u8>();
        if self.of.slice_align() > 0 {
            // SAFETY: the memory is that of the values, which are dense: all bytes are packed bytes, and so
            // initialized.
            return to.memory(unsafe { std::slice::from_raw_parts(memory, size) }, self.of.align);
        }
        to.room(size);
        let start = to.in_band.len();
        // SAFETY: 1, by the slice; 2, since the room has just been reserved; 3, since the buffer is the
        // message's own. All `size` bytes are written.
        unsafe {
            let packed = to.in_band.as_mut_ptr().add(start);
            (self.of.copying.pack)(memory.cast_mut(), values.len(), packed);
            to.in_band.set_len(start + size);
        }
    }

    /// Reads values to an address. After an error, none has been written.
    ///
    /// # Safety
    /// 1. At the address, there is room for `count` values.
    #[inline(always)]
    unsafe fn read_at(self, place: *mut T, count: usize, from: &mut Reader<'_>) -> Result<(), Error> {
        let packed = self.packed(count, from)?;
        // SAFETY: 1 of this function; 2, since the bytes have been checked; 3, since the message has its own
        // memory.
        unsafe { (self.of.copying.unpack)(place.cast(), count, packed.as_ptr().cast_mut()) };
        Ok(())
    }

    /// Reads the packed bytes of `count` valid values.
    #[inline(always)]
    fn packed<'r>(self, count: usize, from: &'r mut Reader<'_>) -> Result<&'r [u8], Error> {
        let size = self.of.packed_size(count);
        let packed = if self.of.slice_align() > 0 { from.memory(size)? } else { from.bytes(size)? };
        if !self.of.facts.any_pattern {
            (self.of.copying.check)(packed, 0)?;
        }
        Ok(packed)
    }

    /// Reads values without making them.
    #[inline(always)]
    pub(super) fn check(self, count: usize, from: &mut Reader<'_>) -> Result<(), Error> {
        self.packed(count, from).map(drop)
    }

    #[inline(always)]
    pub(crate) fn read<const N: usize>(self, from: &mut Reader<'_>) -> Result<[T; N], Error> {
        let mut values = MaybeUninit::<[T; N]>::uninit();
        // SAFETY: 1, by the array. Without an error, its values have been written.
        unsafe {
            self.read_at(values.as_mut_ptr().cast(), N, from)?;
            Ok(values.assume_init())
        }
    }

    /// Reads values in place of old ones, which need not fit the stack.
    pub(crate) fn read_over<const N: usize>(
        self,
        values: &mut [T; N],
        from: &mut Reader<'_>,
    ) -> Result<(), Error> {
        /// Drops the old values. They are on the stack of this function alone.
        #[inline(never)]
        fn replace<T, const N: usize>(
            plain: Plain<T>,
            values: &mut [T; N],
            from: &mut Reader<'_>,
        ) -> Result<(), Error> {
            *values = plain.read(from)?;
            Ok(())
        }
        if mem::needs_drop::<T>() {
            return replace(self, values, from);
        }
        // SAFETY: 1, by the array. The old values need no drop.
        unsafe { self.read_at(values.as_mut_ptr(), N, from) }
    }

    /// Reads `count` values into a vector, in place of those that it has.
    pub(super) fn read_into(
        self,
        values: &mut Vec<T>,
        count: usize,
        from: &mut Reader<'_>,
    ) -> Result<(), Error> {
        if let Some(memory) = self.taken(count, from) {
            *values = memory?;
            return Ok(());
        }
        let least = self.of.facts.packed_size;
        if least > 0 && count > from.bytes_left() / least {
            return Err(too_short::<T>(count, from.bytes_left()));
        }
        values.clear();
        let bytes = count.saturating_mul(size_of::<T>());
        values.try_reserve_exact(count).map_err(|_| PackError::Memory { bytes })?;
        // SAFETY: 1, since the memory has been reserved. Without an error, `count` values have been written.
        unsafe {
            self.read_at(values.as_mut_ptr(), count, from)?;
            values.set_len(count);
        }
        Ok(())
    }

    /// Reads `count` values. Memory that was received becomes the vector if it consists of them.
    pub(super) fn read_all(self, count: usize, from: &mut Reader<'_>) -> Result<Vec<T>, Error> {
        let mut values = Vec::new();
        self.read_into(&mut values, count, from)?;
        Ok(values)
    }

    /// Returns the received memory as a vector, if it consists of the next `count` values.
    fn taken(self, count: usize, from: &mut Reader<'_>) -> Option<Result<Vec<T>, Error>> {
        let align = self.of.slice_align();
        if align == 0 {
            return None;
        }
        let size = self.of.packed_size(count);
        let memory = from.take_memory(size, align)?;
        let checked = (self.of.copying.check)(&memory.bytes()[..size], 0);
        // SAFETY: 1 and 3, since the memory of values is their packed bytes, the alignment is that of `T`,
        // and the bytes are valid; 2, since the memory has the bytes of the values.
        Some(checked.map_err(Error::from).and_then(|()| unsafe { memory.into_vec(count) }))
    }

    /// Reads a value to memory of its own: a large array does not fit the stack.
    pub(super) fn read_boxed(self, from: &mut Reader<'_>) -> Result<Box<T>, Error> {
        let mut value = Box::<T>::new_uninit();
        // SAFETY: 1, by the box. Without an error, its value has been written.
        unsafe {
            self.read_at(value.as_mut_ptr(), 1, from)?;
            Ok(value.assume_init())
        }
    }

    /// Takes the memory of a vector, if the memory of its values is their packed bytes and there are `size`
    /// bytes.
    pub(super) fn lend(self, values: &mut Vec<T>, size: usize) -> Option<OwnedMemory> {
        if self.of.slice_align() == 0 { None } else { OwnedMemory::of_vec(values, size) }
    }
}

impl<T: ?Sized> Clone for Plain<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Plain<T> {}

impl<T: ?Sized> fmt::Debug for Plain<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plain").field("packed_size", &self.of.facts.packed_size).finish_non_exhaustive()
    }
}

/// Checks that packed bytes are those of one value.
pub(super) fn one_value<'p>(of: &ValueType, packed: &'p [u8]) -> Result<&'p [u8], Error> {
    let expected = of.packed_size(1);
    let fit = Error::Fit { value: expected, expected, found: Some(packed.len()), from: None };
    if packed.len() == expected { Ok(packed) } else { Err(fit) }
}

/// The type of values without bytes.
pub(super) static NOTHING: ValueType = ValueType {
    name: std::any::type_name::<()>,
    size: 0,
    align: 1,
    facts: Facts::EMPTY,
    is_bytes: false,
    lazy: || entry_of::<()>(|| TypeTree::structure([], [])),
    plan: || plan_of::<()>(|| TypeTree::structure([], []), || Layer::sequence([])),
    copying: Copying { pack: |_, _, _| {}, unpack: |_, _, _| {}, check: |_, _| Ok(()) },
};

/// Returns the entry of an array or a tuple, which is made once in a process.
pub(super) fn entry_of<T>(tree: fn() -> TypeTree) -> &'static LazyDatatype {
    static ENTRIES: EntriesOfTypes = EntriesOfTypes::new();
    ENTRIES.get_or_make(typeid::of::<T>(), &|| {
        let bounds = Bounds::of_extent(size_of::<T>() as i64);
        LazyDatatype::of(Description::Listed(tree), COSTS, Some(bounds), None, unsolved)
    })
}

/// Returns the plan of an array or a tuple. Its layer consists of those of the parts, not of their trees: the
/// tree of a part may be that of its memory, with the padding.
pub(super) fn plan_of<T>(tree: fn() -> TypeTree, layer: fn() -> Layer) -> &'static Plan {
    entry_of::<T>(tree).plan(&|| Plan::of_layer(layer(), size_of::<T>() as isize))
}

/// Values in memory that travel as packed bytes.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "mpi"), expect(dead_code, reason = "nothing travels"))]
pub struct PlainValues<'a> {
    pub(crate) place: *const u8,
    pub(crate) count: usize,
    pub(crate) of: &'static ValueType,
    borrow: PhantomData<&'a [u8]>,
}

/// Values in memory that packed bytes are received into.
#[cfg_attr(not(feature = "mpi"), expect(dead_code, reason = "nothing travels"))]
pub struct PlainValuesMut<'a> {
    pub(crate) place: *mut u8,
    pub(crate) count: usize,
    pub(crate) of: &'static ValueType,
    borrow: PhantomData<&'a mut [u8]>,
}

impl<T> Plain<T> {
    /// Returns values as plain ones.
    #[inline]
    pub(crate) fn values(self, values: &[T]) -> PlainValues<'_> {
        let (place, count) = (values.as_ptr().cast(), values.len());
        PlainValues { place, count, of: self.of, borrow: PhantomData }
    }

    /// Returns values as plain ones that are received into.
    #[inline]
    pub(crate) fn values_mut(self, values: &mut [T]) -> PlainValuesMut<'_> {
        let (place, count) = (values.as_mut_ptr().cast(), values.len());
        PlainValuesMut { place, count, of: self.of, borrow: PhantomData }
    }

    /// Returns a place for a value.
    ///
    /// # Safety
    /// 1. The value is read only after all of its packed bytes have been received.
    #[cfg(feature = "mpi")]
    pub(crate) unsafe fn uninit(self, value: &mut MaybeUninit<T>) -> PlainValuesMut<'_> {
        PlainValuesMut { place: value.as_mut_ptr().cast(), count: 1, of: self.of, borrow: PhantomData }
    }
}

impl<T: ?Sized> Plain<T> {
    /// Returns a value as a plain one.
    #[inline]
    pub(crate) fn value(self, value: &T) -> PlainValues<'_> {
        PlainValues { place: (&raw const *value).cast(), count: 1, of: self.of, borrow: PhantomData }
    }

    /// Returns a value as a plain one that is received into.
    #[inline]
    pub(crate) fn value_mut(self, value: &mut T) -> PlainValuesMut<'_> {
        PlainValuesMut { place: (&raw mut *value).cast(), count: 1, of: self.of, borrow: PhantomData }
    }
}

impl PlainValues<'_> {
    /// Returns values of a type of which only the transferred bytes are known, for their description. They
    /// are nowhere, so nothing may be read.
    #[cfg(feature = "mpi")]
    pub(crate) fn described(of: &'static ValueType, bytes: usize) -> Self {
        let count = bytes / of.facts.wire_size.max(1);
        Self { place: std::ptr::null(), count, of, borrow: PhantomData }
    }
}

impl PlainValuesMut<'_> {
    /// Returns no values.
    pub(super) fn nothing() -> Self {
        let place = std::ptr::NonNull::dangling().as_ptr();
        Self { place, count: 0, of: &NOTHING, borrow: PhantomData }
    }

    /// Returns the values for reading.
    #[cfg(feature = "mpi")]
    pub(crate) fn as_values(&self) -> PlainValues<'_> {
        PlainValues { place: self.place, count: self.count, of: self.of, borrow: PhantomData }
    }
}
