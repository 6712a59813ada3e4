//! Buffers for packed bytes, used again: getting a large one from the system costs more than filling it.

use std::cell::RefCell;

/// What a thread keeps: so many buffers, none of more than so many bytes.
const MOST_KEPT: usize = 16;
const LARGEST_KEPT: usize = 64 << 20;

thread_local! {
    static KEPT: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// A buffer, which goes back to the pool of the thread that drops it.
pub(super) struct Buffer(Vec<u8>);

impl Buffer {
    /// Room for so many bytes, or nothing where there is no such memory.
    #[inline]
    pub fn with_room(bytes: usize) -> Option<Self> {
        // When the thread ends there is no pool any more.
        let kept = KEPT.try_with(|kept| {
            let mut kept = kept.try_borrow_mut().ok()?;
            match kept.last() {
                Some(last) if last.capacity() >= bytes => kept.pop(),
                _ => {
                    let fits = kept.iter().position(|buffer| buffer.capacity() >= bytes);
                    fits.map(|i| kept.swap_remove(i))
                }
            }
        });
        if let Ok(Some(buffer)) = kept {
            return Some(Self(buffer));
        }
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(bytes).ok()?;
        Some(Self(buffer))
    }

    /// Where its bytes are.
    #[inline]
    pub fn place(&mut self) -> *mut u8 {
        self.0.as_mut_ptr()
    }

    /// The first bytes.
    ///
    /// # Safety
    /// They have been initialized, since the buffer was taken or before.
    #[inline]
    pub unsafe fn first(&self, bytes: usize) -> &[u8] {
        debug_assert!(bytes <= self.0.capacity());
        // SAFETY: there is room for so many, and they have been initialized.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr(), bytes) }
    }

    /// The first bytes, to be written. They are zeros where nothing was before.
    pub fn first_mut(&mut self, bytes: usize) -> &mut [u8] {
        let initialized = self.0.len();
        if initialized < bytes {
            self.0.reserve_exact(bytes - initialized);
            // SAFETY: there is room for them. `resize` would do the same, byte by byte where it is not optimized.
            unsafe {
                self.0.as_mut_ptr().add(initialized).write_bytes(0, bytes - initialized);
                self.0.set_len(bytes);
            }
        }
        &mut self.0[..bytes]
    }
}

impl Drop for Buffer {
    #[inline]
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.0);
        let _ = KEPT.try_with(|kept| {
            if let Ok(mut kept) = kept.try_borrow_mut()
                && kept.len() < MOST_KEPT
                && buffer.capacity() <= LARGEST_KEPT
            {
                kept.push(buffer);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::Buffer;

    #[test]
    fn a_buffer_is_used_again_if_it_is_large_enough() {
        let mut first = Buffer::with_room(100).unwrap();
        let place = first.place();
        first.first_mut(3).copy_from_slice(&[1, 2, 3]);
        drop(first);
        let mut again = Buffer::with_room(50).unwrap();
        assert_eq!((again.place(), &*again.first_mut(3)), (place, &[1, 2, 3][..]));
        assert_ne!(Buffer::with_room(50).unwrap().place(), place);
        assert!(Buffer::with_room(isize::MAX as usize).is_none());
    }
}
