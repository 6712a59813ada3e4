//! The two sides of a copy, and the safety conditions of all copies.

/// The direction of a copy between sides `a` and `b`.
pub trait Direction {
    /// Returns the side that is read, and the side that is written.
    fn sides<T>(a: T, b: T) -> (T, T);

    /// Copies `size` bytes.
    ///
    /// # Safety
    /// The conditions of all copies, here and in `kernels`, for the bytes that are copied:
    /// 1. the bytes on the side that is read are initialized, and nobody writes them during the copy;
    /// 2. the bytes on the side that is written may be written, and nobody else uses them during the copy;
    /// 3. no byte is both read and written.
    #[inline(always)]
    unsafe fn copy(a: *mut u8, b: *mut u8, size: usize) {
        let (from, to) = Self::sides(a, b);
        // SAFETY: the caller guarantees 1 to 3 for the same bytes.
        unsafe { to.copy_from_nonoverlapping(from, size) };
    }
}

/// The direction from side `a` to side `b`.
pub struct Packing;

/// The direction from side `b` to side `a`.
pub struct Unpacking;

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

/// An address on each side.
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

    /// Copies `size` bytes from one side to the other.
    ///
    /// # Safety
    /// Conditions 1 to 3 of [`Direction::copy`] hold for `size` bytes.
    #[inline(always)]
    pub unsafe fn copy<D: Direction>(self, size: usize) {
        // SAFETY: the caller guarantees 1 to 3 for the same bytes.
        unsafe { D::copy(self.a, self.b, size) };
    }
}

/// A block that is contiguous on both sides: its offset on each side, and its size, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub a: isize,
    pub b: isize,
    pub size: usize,
}

impl Span {
    /// Returns `true` if `next` begins where this block ends, on both sides.
    pub fn is_continued_by(&self, next: &Self) -> bool {
        let end = self.size as isize;
        next.a == self.a.wrapping_add(end) && next.b == self.b.wrapping_add(end)
    }

    /// Cuts the block into pieces of 1, 2, 4 or 8 bytes, the last of which may overlap the one before.
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
            // A rest of 3 bytes, for example, is copied as 4 bytes that begin one byte earlier.
            let at = done.min(size - width);
            done = at + width;
            Some(Self { a: a.wrapping_add(at as isize), b: b.wrapping_add(at as isize), size: width })
        })
    }

    /// Returns an upper bound of the number of load and store pairs that copy the block.
    pub fn parts(&self) -> usize {
        if self.size <= 32 { self.pieces().count() } else { self.size.div_ceil(16) }
    }

    /// Returns the position and the size of the block on side `b`, which is packed.
    pub fn packed(&self) -> (usize, usize) {
        (self.b as usize, self.size)
    }
}

/// The size in bytes of a chunk of packed bytes. A chunk is copied in several passes, so it has to fit into
/// the first-level cache.
pub(crate) const CHUNK: usize = 8 << 10;

/// The largest number of iterations in a chunk.
pub(crate) const TURNS: usize = 256;
