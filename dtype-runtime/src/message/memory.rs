//! Memory that a message is received into, and that becomes a `Vec` without a copy.

use std::{
    alloc::{self, Layout},
    mem::{self, ManuallyDrop},
    ptr::NonNull,
    slice,
};

use dtype_engine::Error as PackError;

use crate::Error;

/// Memory of the global allocator, of which the first bytes are initialized.
#[derive(Debug)]
pub struct OwnedMemory {
    place: NonNull<u8>,
    /// Not of size 0.
    layout: Layout,
    /// The number of initialized bytes.
    filled: usize,
}

// SAFETY: the memory belongs to this value alone.
unsafe impl Send for OwnedMemory {}

impl OwnedMemory {
    /// Allocates `size` bytes, more than 0.
    ///
    /// # Errors
    /// `Memory` if there is not enough memory.
    #[cfg(feature = "mpi")]
    pub(crate) fn with_room(size: usize, align: usize) -> Result<Self, Error> {
        let none = PackError::Memory { bytes: size }.into();
        let Some(layout) = Layout::from_size_align(size, align).ok().filter(|_| size > 0) else {
            return Err(none);
        };
        // SAFETY: the size is not 0.
        let place = NonNull::new(unsafe { alloc::alloc(layout) }).ok_or(none)?;
        Ok(Self { place, layout, filled: 0 })
    }

    /// Takes the memory of a vector that has room for `size` bytes. Returns `None`, and leaves the vector as
    /// it is, if the memory is smaller, or if values must be dropped.
    pub(crate) fn of_vec<T>(values: &mut Vec<T>, size: usize) -> Option<Self> {
        if mem::needs_drop::<T>() {
            return None;
        }
        let bytes = values.capacity().checked_mul(size_of::<T>()).filter(|bytes| *bytes >= size.max(1))?;
        let layout = Layout::from_size_align(bytes, align_of::<T>()).ok()?;
        let mut values = ManuallyDrop::new(mem::take(values));
        NonNull::new(values.as_mut_ptr().cast()).map(|place| Self { place, layout, filled: 0 })
    }

    /// Fills the first `size` bytes.
    ///
    /// # Errors
    /// The errors of `fill`; `Memory` if there is less memory.
    ///
    /// # Safety
    /// 1. If `fill` returns no error, it has initialized `size` bytes from its argument on. It writes no
    ///    others.
    #[cfg(feature = "mpi")]
    pub(crate) unsafe fn filled(
        mut self,
        size: usize,
        fill: impl FnOnce(*mut u8) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        if size > self.layout.size() {
            return Err(PackError::Memory { bytes: size }.into());
        }
        fill(self.place.as_ptr())?;
        self.filled = size;
        Ok(self)
    }

    /// Returns the size of the memory in bytes.
    #[cfg(feature = "mpi")]
    pub(crate) fn room(&self) -> usize {
        self.layout.size()
    }

    pub(crate) fn align(&self) -> usize {
        self.layout.align()
    }

    /// Returns the initialized bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: these bytes are initialized, and belong to this value.
        unsafe { slice::from_raw_parts(self.place.as_ptr(), self.filled) }
    }

    /// Returns the memory as a vector of `count` values. If its size is not that of whole values, it shrinks.
    ///
    /// # Errors
    /// `Memory` if there is not enough memory.
    ///
    /// # Safety
    /// 1. `T` has the alignment of the memory, and a size other than 0. 2. The first `count` values, one or
    ///    more, are initialized bytes. 3. They are valid values.
    pub(crate) unsafe fn into_vec<T>(self, count: usize) -> Result<Vec<T>, Error> {
        let (size, bytes) = (self.layout.size(), count * size_of::<T>());
        let mut this = ManuallyDrop::new(self);
        let capacity = if size % size_of::<T>() == 0 {
            size / size_of::<T>()
        } else {
            // SAFETY: the memory has this layout, and by 1 and 2 the new size is not 0.
            let Some(place) =
                NonNull::new(unsafe { alloc::realloc(this.place.as_ptr(), this.layout, bytes) })
            else {
                drop(ManuallyDrop::into_inner(this));
                return Err(PackError::Memory { bytes }.into());
            };
            this.place = place;
            count
        };
        // SAFETY: the memory is of the global allocator, for `capacity` values; 1 to 3.
        Ok(unsafe { Vec::from_raw_parts(this.place.as_ptr().cast::<T>(), count, capacity) })
    }
}

impl Drop for OwnedMemory {
    fn drop(&mut self) {
        // SAFETY: the memory has this layout, and is freed once.
        unsafe { alloc::dealloc(self.place.as_ptr(), self.layout) };
    }
}
