//! Reusable buffers for packed bytes: allocating a large buffer costs more than filling it.
//!
//! All bytes of a buffer are initialized, but they may belong to an earlier message. A user of a buffer must
//! expose only the bytes that it has written.

use std::{
    alloc::{Layout, alloc_zeroed},
    cell::RefCell,
    fmt,
    ops::{Deref, DerefMut},
    ptr::slice_from_raw_parts_mut,
};

use crate::Error;

/// The largest number of buffers that a thread keeps. The oldest buffers are freed first.
const MOST_BUFFERS: usize = 64;
/// The largest total size in bytes of the buffers that a thread keeps.
const MOST_BYTES: usize = 64 << 20;

/// The buffers that a thread keeps; the one used last comes last.
struct Pool {
    kept: Vec<Box<[u8]>>,
    bytes: usize,
}

thread_local! {
    static POOL: RefCell<Pool> = const { RefCell::new(Pool { kept: Vec::new(), bytes: 0 }) };
}

impl Pool {
    #[inline]
    fn take(&mut self, bytes: usize) -> Option<Box<[u8]>> {
        let fits = self.kept.iter().rposition(|buffer| buffer.len() >= bytes)?;
        let buffer = self.kept.remove(fits);
        self.bytes -= buffer.len();
        Some(buffer)
    }

    #[inline]
    fn keep(&mut self, buffer: Box<[u8]>) {
        self.bytes += buffer.len();
        self.kept.push(buffer);
        while self.kept.len() > MOST_BUFFERS || self.bytes > MOST_BYTES {
            self.bytes -= self.kept.remove(0).len();
        }
    }
}

/// A buffer for packed bytes from a pool, at least as long as requested. When dropped, it goes to the pool of
/// the current thread. Its bytes are arbitrary at first: zeros, or bytes of an earlier message.
///
/// ```
/// let buffer = dtype_runtime::pack::PackBuffer::with_room(100)?;
/// assert!(buffer.len() >= 100);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
pub struct PackBuffer(Box<[u8]>);

impl PackBuffer {
    /// Returns a buffer of at least `bytes` bytes.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not enough memory.
    #[inline]
    pub fn with_room(bytes: usize) -> Result<Self, Error> {
        if bytes == 0 {
            return Self::zeros(0);
        }
        // While a thread ends, its pool may be gone already.
        let kept = POOL.try_with(|pool| pool.try_borrow_mut().ok()?.take(bytes));
        match kept {
            Ok(Some(buffer)) => Ok(Self(buffer)),
            _ => Self::zeros(bytes),
        }
    }

    /// Returns a buffer of `bytes` zeros, which is not from the pool. The system provides the memory of a
    /// large buffer when it is used.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not enough memory.
    #[cold]
    pub fn zeros(bytes: usize) -> Result<Self, Error> {
        if bytes == 0 {
            return Ok(Self(Box::default()));
        }
        let layout = Layout::array::<u8>(bytes).map_err(|_| Error::Memory { bytes })?;
        // SAFETY: the layout has a size other than 0.
        let place = unsafe { alloc_zeroed(layout) };
        if place.is_null() {
            return Err(Error::Memory { bytes });
        }
        // SAFETY: `bytes` bytes have been allocated as a box allocates them, and they are initialized.
        Ok(Self(unsafe { Box::from_raw(slice_from_raw_parts_mut(place, bytes)) }))
    }
}

impl fmt::Debug for PackBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackBuffer").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl Deref for PackBuffer {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for PackBuffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Drop for PackBuffer {
    #[inline]
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.0);
        if buffer.is_empty() || buffer.len() > MOST_BYTES {
            return;
        }
        let _ = POOL.try_with(|pool| {
            if let Ok(mut pool) = pool.try_borrow_mut() {
                pool.keep(buffer);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_BUFFERS, MOST_BYTES, POOL, PackBuffer};

    #[test]
    fn a_buffer_is_used_again_if_it_is_large_enough() {
        let mut first = PackBuffer::with_room(100).unwrap();
        first[..3].copy_from_slice(&[1, 2, 3]);
        let place = first.as_ptr();
        drop(first);
        let again = PackBuffer::with_room(50).unwrap();
        assert_eq!((again.as_ptr(), again.len(), &again[..4]), (place, 100, &[1, 2, 3, 0][..]));
        assert_ne!(PackBuffer::with_room(50).unwrap().as_ptr(), place);
        assert!(PackBuffer::with_room(0).unwrap().is_empty());
        assert!(
            PackBuffer::with_room(isize::MAX as usize).is_err() && PackBuffer::with_room(usize::MAX).is_err()
        );
    }

    #[test]
    fn zeros_are_no_bytes_of_the_pool() {
        PackBuffer::with_room(100).unwrap().fill(7);
        assert_eq!(PackBuffer::zeros(100).unwrap()[..], [0; 100]);
        assert!(PackBuffer::zeros(0).unwrap().is_empty() && PackBuffer::zeros(usize::MAX).is_err());
    }

    #[test]
    fn a_pool_keeps_few_buffers_and_few_bytes() {
        let kept = || POOL.with_borrow(|pool| (pool.kept.len(), pool.bytes));
        let buffers: Vec<_> = (0..2 * MOST_BUFFERS).map(|_| PackBuffer::with_room(10).unwrap()).collect();
        drop(buffers);
        assert_eq!(kept(), (MOST_BUFFERS, 10 * MOST_BUFFERS));
        let large: Vec<_> = (1..5).map(|i| PackBuffer::with_room(MOST_BYTES / 2 - i).unwrap()).collect();
        drop(large);
        assert_eq!(kept(), (2, MOST_BYTES - 7));
        drop(PackBuffer::with_room(MOST_BYTES + 1).unwrap());
        assert_eq!(kept(), (2, MOST_BYTES - 7));
    }
}
