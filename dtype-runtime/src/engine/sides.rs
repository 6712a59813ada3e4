//! The two sides between which bytes are copied, and what all copies have to keep to.

/// From which side bytes are copied to which.
pub(crate) trait Direction {
    /// The two sides as what is read and what is written.
    fn sides<T>(a: T, b: T) -> (T, T);

    /// Copies `size` bytes.
    ///
    /// # Safety
    /// The conditions of all copying here and in `kernels`, for the bytes that are copied:
    /// 1. those on the side that is read are initialized, and nobody writes them meanwhile;
    /// 2. those on the side that is written may be written, and nobody else uses them meanwhile;
    /// 3. none that is written is read.
    #[inline(always)]
    unsafe fn copy(a: *mut u8, b: *mut u8, size: usize) {
        let (from, to) = Self::sides(a, b);
        // SAFETY: 1 to 3 are those of the caller, for the same bytes.
        unsafe { to.copy_from_nonoverlapping(from, size) };
    }
}

/// From side `a` to side `b`.
pub(crate) struct Packing;

/// From side `b` to side `a`.
pub(crate) struct Unpacking;

impl Direction for Packing {
    #[inline(always)]
    fn sides<T>(a: T, b: T) -> (T, T) {
        (a, b)
    }
}

impl Direction for Unpacking {
    #[inline(always)]
    fn sides<T>(a: T, b: T) -> (T, T) {
        (b, a)
    }
}

/// Addresses on both sides.
#[derive(Clone, Copy)]
pub(crate) struct Sides {
    pub a: *mut u8,
    pub b: *mut u8,
}

impl Sides {
    #[inline(always)]
    pub fn at(self, a: isize, b: isize) -> Self {
        Self { a: self.a.wrapping_offset(a), b: self.b.wrapping_offset(b) }
    }

    /// # Safety
    /// 1 to 3 of [`Direction::copy`], for `size` bytes.
    #[inline(always)]
    pub unsafe fn copy<D: Direction>(self, size: usize) {
        // SAFETY: 1 to 3 are those of the caller, for the same bytes.
        unsafe { D::copy(self.a, self.b, size) };
    }
}

/// Bytes that are contiguous on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub a: isize,
    pub b: isize,
    pub size: usize,
}

impl Block {
    /// Whether another one begins where this one ends, on both sides.
    pub fn is_continued_by(&self, next: &Self) -> bool {
        let end = self.size as isize;
        next.a == self.a.wrapping_add(end) && next.b == self.b.wrapping_add(end)
    }

    /// The block as pieces of 1, 2, 4 or 8 bytes, the last of which may overlap the one before.
    pub fn pieces(&self) -> impl Iterator<Item = Self> {
        let Self { a, b, size } = *self;
        let mut done = 0;
        std::iter::from_fn(move || {
            let rest = (size - done).min(8);
            let width = match rest {
                0 => return None,
                rest if rest.next_power_of_two() <= size => rest.next_power_of_two(),
                _ => rest.next_power_of_two() / 2,
            };
            // What is left of 3 bytes is 4, which begin earlier.
            let at = done.min(size - width);
            done = at + width;
            Some(Self { a: a.wrapping_add(at as isize), b: b.wrapping_add(at as isize), size: width })
        })
    }

    /// How many moves it takes, or more.
    pub fn parts(&self) -> usize {
        if self.size <= 32 { self.pieces().count() } else { self.size.div_ceil(16) }
    }

    pub fn packed(&self) -> (usize, usize) {
        (self.b as usize, self.size)
    }
}

/// Packed bytes of a chunk, which is gone over more than once: few enough to be in the first-level cache
/// still.
pub(crate) const CHUNK: usize = 8 << 10;

/// The most turns of a chunk.
pub(crate) const TURNS: usize = 256;
