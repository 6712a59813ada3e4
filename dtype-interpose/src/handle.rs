//! MPI handles as numbers, which serve as keys of maps and caches.

use std::ptr;

/// Returns the number of a handle. A handle is an integer or a pointer, depending on the MPI library.
#[inline]
pub(crate) fn number<T: Copy>(handle: T) -> usize {
    const { assert!(size_of::<T>() <= size_of::<usize>()) };
    let mut bytes = [0; size_of::<usize>()];
    // SAFETY: a handle has no padding, so all of its bytes are initialized. `bytes` has room for them, as is
    // asserted above.
    unsafe {
        ptr::copy_nonoverlapping(ptr::from_ref(&handle).cast::<u8>(), bytes.as_mut_ptr(), size_of::<T>());
    }
    usize::from_ne_bytes(bytes)
}
