//! MPI handles as numbers: keys of maps and caches, and rows of tables.

use std::mem;

/// Returns the number of a handle. A handle is an integer or a pointer, depending on the MPI library.
#[inline]
pub fn number<T: Copy>(handle: T) -> usize {
    const { assert!(size_of::<T>() == size_of::<u32>() || size_of::<T>() == size_of::<usize>()) };
    // SAFETY: a handle has no padding, and one of the two sizes, as is asserted above.
    unsafe {
        if size_of::<T>() == size_of::<u32>() {
            mem::transmute_copy::<T, u32>(&handle) as usize
        } else {
            mem::transmute_copy::<T, usize>(&handle)
        }
    }
}

/// Returns the handle with this number.
///
/// # Safety
/// 1. The number is that of a handle of type `T`.
pub(crate) unsafe fn handle<T: Copy>(number: usize) -> T {
    const { assert!(size_of::<T>() == size_of::<u32>() || size_of::<T>() == size_of::<usize>()) };
    // SAFETY: 1; a handle has one of the two sizes, as is asserted above.
    unsafe {
        if size_of::<T>() == size_of::<u32>() {
            mem::transmute_copy(&(number as u32))
        } else {
            mem::transmute_copy(&number)
        }
    }
}
