//! Handles of MPI as numbers, to find things by.

use std::ptr;

/// The number of a handle, which is an integer or a pointer.
#[inline]
pub(crate) fn number<T: Copy>(handle: T) -> usize {
    const { assert!(size_of::<T>() <= size_of::<usize>()) };
    let mut bytes = [0; size_of::<usize>()];
    // SAFETY: a handle has no padding, and there is room for its bytes.
    unsafe {
        ptr::copy_nonoverlapping(ptr::from_ref(&handle).cast::<u8>(), bytes.as_mut_ptr(), size_of::<T>());
    }
    usize::from_ne_bytes(bytes)
}
