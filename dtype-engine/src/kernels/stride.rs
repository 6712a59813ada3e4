//! The iterations of a loop: a stride, or a list of offsets.

/// A loop: the number of iterations, and the strides of the side that is read and of the side that is
/// written, in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Stride {
    pub count: usize,
    pub from: isize,
    pub to: isize,
}

impl Stride {
    /// A single iteration.
    pub const ONCE: Self = Self { count: 1, from: 0, to: 0 };

    /// Returns at most `most` iterations from iteration `i` on, and the addresses of the first of them.
    #[inline(always)]
    pub fn part(self, i: usize, most: usize, from: *const u8, to: *mut u8) -> (Self, *const u8, *mut u8) {
        let part = Self { count: most.min(self.count - i), ..self };
        (part, from.wrapping_offset(i as isize * self.from), to.wrapping_offset(i as isize * self.to))
    }
}

/// The offsets of the blocks of a loop, on one side.
pub(crate) trait Steps: Copy {
    /// Returns the offset of block `i`, in bytes.
    ///
    /// # Safety
    /// `i` is less than the number of blocks.
    unsafe fn nth(self, i: usize) -> isize;
}

/// A stride in bytes.
impl Steps for isize {
    #[inline(always)]
    unsafe fn nth(self, i: usize) -> isize {
        self.wrapping_mul(i as isize)
    }
}

/// A list of offsets in bytes.
impl Steps for &[isize] {
    #[inline(always)]
    unsafe fn nth(self, i: usize) -> isize {
        // SAFETY: there are as many offsets as blocks, and `i` is less than their number.
        unsafe { *self.get_unchecked(i) }
    }
}

/// The number of iterations of each loop in a tile.
pub(super) const TILE: usize = 16;
