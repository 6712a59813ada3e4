//! Slices of values that all have the same number of bytes in a message.

use std::{
    fmt,
    marker::PhantomData,
    mem::{self, MaybeUninit},
};

use super::{OwnedMemory, Reader, Writer, reader::too_short};
use crate::Error;

/// Writes so many values at an address.
pub(crate) type WriteAt = for<'a> unsafe fn(*const u8, usize, &mut Writer<'a>);
/// Reads so many values to an address.
pub(crate) type ReadAt = unsafe fn(*mut u8, usize, &mut Reader<'_>) -> Result<(), Error>;

/// The functions for slices of a type whose values all have the same number of bytes in a message: the types
/// with [`MpiDatatype`](crate::MpiDatatype) and without skipped fields, and arrays of them.
pub struct Fixed<T: ?Sized> {
    /// The packed size of a value in bytes.
    least: usize,
    /// The alignment of `T` if the memory of a slice is its packed bytes; otherwise 0.
    slice: usize,
    /// Writes values.
    ///
    /// # Safety
    /// 1. At the address, there are so many values, borrowed as long as the message.
    pub(super) write: WriteAt,
    /// Reads values. After an error, none has been written.
    ///
    /// # Safety
    /// 1. At the address, there is room for so many values.
    pub(super) read: ReadAt,
    /// Reads values without making them.
    pub(super) check: fn(usize, &mut Reader<'_>) -> Result<(), Error>,
    /// Checks the bytes of values whose memory is their packed bytes.
    pub(super) check_memory: fn(&[u8]) -> Result<(), Error>,
    of: PhantomData<fn(&T)>,
}

impl<T: ?Sized> Fixed<T> {
    /// Creates the functions.
    ///
    /// # Safety
    /// 1. `write` writes values of `T` under the condition of its field, and `read` reads what it writes.
    /// 2. A value has `least` bytes or more in the message. 3. If `slice` is not 0, it is the alignment of
    ///    `T`, all bytes of a value are initialized, and bytes that `check_memory` accepts are values.
    pub(crate) const unsafe fn new(
        least: usize,
        slice: usize,
        write: WriteAt,
        read: ReadAt,
        check: fn(usize, &mut Reader<'_>) -> Result<(), Error>,
        check_memory: fn(&[u8]) -> Result<(), Error>,
    ) -> Self {
        Self { least, slice, write, read, check, check_memory, of: PhantomData }
    }

    pub(super) const fn least(self) -> usize {
        self.least
    }

    pub(crate) const fn slice(self) -> usize {
        self.slice
    }
}

impl<T> Fixed<T> {
    #[inline(always)]
    pub(super) fn write<'a>(self, values: &'a [T], to: &mut Writer<'a>) {
        // SAFETY: 1, by the slice.
        unsafe { (self.write)(values.as_ptr().cast(), values.len(), to) };
    }

    #[inline(always)]
    pub(crate) fn read<const N: usize>(self, from: &mut Reader<'_>) -> Result<[T; N], Error> {
        let mut values = MaybeUninit::<[T; N]>::uninit();
        // SAFETY: 1, by the array. Without an error, its values have been written.
        unsafe {
            (self.read)(values.as_mut_ptr().cast(), N, from)?;
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
            fixed: Fixed<T>,
            values: &mut [T; N],
            from: &mut Reader<'_>,
        ) -> Result<(), Error> {
            *values = fixed.read(from)?;
            Ok(())
        }
        if mem::needs_drop::<T>() {
            return replace(self, values, from);
        }
        // SAFETY: 1, by the array. The old values need no drop.
        unsafe { (self.read)(values.as_mut_ptr().cast(), N, from) }
    }

    /// Returns the functions for slices of a wrapper.
    ///
    /// # Safety
    /// 1. `W` has the layout of `T`, and the same valid values.
    pub(super) const unsafe fn of_wrapper<W>(self) -> Fixed<W> {
        let Self { least, slice, write, read, check, check_memory, .. } = self;
        Fixed { least, slice, write, read, check, check_memory, of: PhantomData }
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
        if self.least > 0 && count > from.bytes_left() / self.least {
            return Err(too_short::<T>(count, from.bytes_left()));
        }
        values.clear();
        let bytes = count.saturating_mul(size_of::<T>());
        values.try_reserve_exact(count).map_err(|_| Error::Memory { bytes })?;
        // SAFETY: 1, since the memory has been reserved. Without an error, `count` values have been written.
        unsafe {
            (self.read)(values.as_mut_ptr().cast(), count, from)?;
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
        if self.slice == 0 {
            return None;
        }
        let size = count.saturating_mul(self.least);
        let memory = from.take_memory(size, self.slice)?;
        // SAFETY: 1 and 3, since the memory of values is their packed bytes, the alignment is that of `T`,
        // and the bytes are valid; 2, since the memory has the bytes of the values.
        Some((self.check_memory)(&memory.bytes()[..size]).and_then(|()| unsafe { memory.into_vec(count) }))
    }

    /// Reads a value to memory of its own: a large array does not fit the stack.
    pub(super) fn read_boxed(self, from: &mut Reader<'_>) -> Result<Box<T>, Error> {
        let mut value = Box::<T>::new_uninit();
        // SAFETY: 1, by the box. Without an error, its value has been written.
        unsafe {
            (self.read)(value.as_mut_ptr().cast(), 1, from)?;
            Ok(value.assume_init())
        }
    }

    #[inline(always)]
    pub(super) fn check(self, count: usize, from: &mut Reader<'_>) -> Result<(), Error> {
        (self.check)(count, from)
    }

    /// Takes the memory of a vector, if the memory of its values is their packed bytes and there are `size`
    /// bytes.
    pub(super) fn lend(self, values: &mut Vec<T>, size: usize) -> Option<OwnedMemory> {
        if self.slice == 0 { None } else { OwnedMemory::of_vec(values, size) }
    }
}

impl<T: ?Sized> Clone for Fixed<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Fixed<T> {}

impl<T: ?Sized> fmt::Debug for Fixed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fixed")
            .field("least", &self.least)
            .field("slice", &self.slice)
            .finish_non_exhaustive()
    }
}
