//! The innermost loops: blocks of one size copied from places to places.
//!
//! Each is compiled for every kind of size and of places, so that what happens to a block is a handful of instructions. A block of
//! 1, 2, 4, 8, 16 or 32 bytes is one load and one store (of the widest registers that every machine of the target has); one of any
//! other size up to 64 is two, which overlap in the middle.

/// Where the blocks of a loop begin, on one side.
pub(super) trait Steps: Copy {
    /// The offset of the i-th, in bytes.
    ///
    /// # Safety
    /// `i` is less than the number of blocks.
    unsafe fn nth(self, i: usize) -> isize;
}

/// So many bytes apart.
impl Steps for isize {
    #[inline(always)]
    unsafe fn nth(self, i: usize) -> isize {
        self.wrapping_mul(i as isize)
    }
}

/// At listed offsets.
impl Steps for &[isize] {
    #[inline(always)]
    unsafe fn nth(self, i: usize) -> isize {
        // SAFETY: as the caller promises, there are as many offsets as blocks.
        unsafe { *self.get_unchecked(i) }
    }
}

/// How a block is copied, which depends on its size only.
trait Width: Copy {
    /// # Safety
    /// Both point to a block of this size, of which the second may be written; they do not overlap.
    unsafe fn copy(self, from: *const u8, to: *mut u8);
}

/// `N` bytes at once.
#[derive(Clone, Copy)]
struct Exact<const N: usize>;

impl<const N: usize> Width for Exact<N> {
    #[inline(always)]
    unsafe fn copy(self, from: *const u8, to: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe { to.copy_from_nonoverlapping(from, N) };
    }
}

/// The first and the last `N` of this many bytes, at least `N` and at most twice as many.
#[derive(Clone, Copy)]
struct Ends<const N: usize>(usize);

impl<const N: usize> Width for Ends<N> {
    #[inline(always)]
    unsafe fn copy(self, from: *const u8, to: *mut u8) {
        let last = self.0 - N;
        // SAFETY: both parts lie within the block.
        unsafe {
            to.copy_from_nonoverlapping(from, N);
            to.add(last).copy_from_nonoverlapping(from.add(last), N);
        }
    }
}

/// Any number of bytes.
#[derive(Clone, Copy)]
struct Any(usize);

impl Width for Any {
    #[inline(always)]
    unsafe fn copy(self, from: *const u8, to: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe { to.copy_from_nonoverlapping(from, self.0) };
    }
}

/// Calls a function with the width of a size.
macro_rules! with_width {
    ($size:expr, |$width:ident| $body:expr) => {
        match $size {
            1 => { let $width = Exact::<1>; $body }
            2 => { let $width = Exact::<2>; $body }
            4 => { let $width = Exact::<4>; $body }
            8 => { let $width = Exact::<8>; $body }
            16 => { let $width = Exact::<16>; $body }
            32 => { let $width = Exact::<32>; $body }
            size @ 3 => { let $width = Ends::<2>(size); $body }
            size @ 5..=7 => { let $width = Ends::<4>(size); $body }
            size @ 9..=15 => { let $width = Ends::<8>(size); $body }
            size @ 17..=31 => { let $width = Ends::<16>(size); $body }
            size @ 33..=64 => { let $width = Ends::<32>(size); $body }
            size => { let $width = Any(size); $body }
        }
    };
}

/// Copies one block.
///
/// # Safety
/// Both point to `size` bytes, of which the second may be written; they do not overlap.
#[inline(always)]
pub(super) unsafe fn copy(size: usize, from: *const u8, to: *mut u8) {
    // SAFETY: as the caller promises.
    with_width!(size, |width| unsafe { width.copy(from, to) });
}

/// Copies `count` blocks.
///
/// # Safety
/// At each of the places on the one side is a block of `size` bytes, and at those on the other one that may be written. No
/// block that is written overlaps one that is read.
pub(super) unsafe fn copy_blocks(
    size: usize,
    count: usize,
    (from, reads): (*const u8, impl Steps),
    (to, writes): (*mut u8, impl Steps),
) {
    // SAFETY: as the caller promises.
    with_width!(size, |width| unsafe { blocks(width, count, (from, reads), (to, writes)) });
}

/// # Safety
/// As for [`copy_blocks`].
#[inline(never)]
unsafe fn blocks(
    width: impl Width,
    count: usize,
    (from, reads): (*const u8, impl Steps),
    (to, writes): (*mut u8, impl Steps),
) {
    for i in 0..count {
        // SAFETY: the i-th of the blocks.
        unsafe { width.copy(from.offset(reads.nth(i)), to.offset(writes.nth(i))) };
    }
}

/// A loop of blocks within a loop: how often, and how far apart on the side that is read and on the one that is written.
#[derive(Clone, Copy)]
pub(super) struct Stride {
    pub count: usize,
    pub from: isize,
    pub to: isize,
}

/// Copies the blocks of two loops, the second within the first.
///
/// # Safety
/// As for [`copy_blocks`].
pub(super) unsafe fn copy_grid(size: usize, outer: Stride, inner: Stride, from: *const u8, to: *mut u8) {
    // SAFETY: as the caller promises.
    with_width!(size, |width| unsafe { grid(width, outer, inner, from, to) });
}

/// # Safety
/// As for [`copy_blocks`].
#[inline(never)]
unsafe fn grid(width: impl Width, outer: Stride, inner: Stride, from: *const u8, to: *mut u8) {
    for i in 0..outer.count as isize {
        // SAFETY: the places of the inner loop's blocks.
        let (from, to) = unsafe { (from.offset(i * outer.from), to.offset(i * outer.to)) };
        for j in 0..inner.count as isize {
            // SAFETY: the j-th of the blocks.
            unsafe { width.copy(from.offset(j * inner.from), to.offset(j * inner.to)) };
        }
    }
}
