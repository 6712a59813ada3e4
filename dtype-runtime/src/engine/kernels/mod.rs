//! The innermost loops: blocks of one size copied from places to places.
//!
//! Each is compiled for every kind of size and of places, so that what happens to a block is a handful of
//! instructions. A block of 1, 2, 4, 8, 16, 32 or 64 bytes is copied at once (in the widest registers that
//! every machine of the target has); one of any other size up to 128 is copied as two of these, which overlap
//! in the middle.
//!
//! The conditions of each `unsafe fn` here are those of [`Direction::copy`](super::run::Direction::copy), for
//! the blocks that it copies: 1. what is read is initialized; 2. what is written may be written; 3. no block
//! that is written overlaps one that is read.

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(not(target_arch = "x86_64"))]
use portable::{gathered, turn_tile};
#[cfg(target_arch = "x86_64")]
use x86_64::{gathered, turn_tile};

/// What stands for `x86_64` on other machines: the compiler is left to find out.
#[cfg(not(target_arch = "x86_64"))]
mod portable {
    use super::{Exact, Stride, strided};

    /// # Safety
    /// 1 to 3, for all blocks of both loops.
    pub unsafe fn gathered(size: usize, outer: Stride, inner: Stride, from: *const u8, to: *mut u8) {
        // SAFETY: 1 to 3 are those of the caller, for the same blocks.
        unsafe { strided::<Exact<8>>(size, outer, inner, from, to) };
    }

    /// # Safety
    /// None.
    pub unsafe fn turn_tile(_: usize, _: isize, _: isize, _: *const u8, _: *mut u8) -> bool {
        false
    }
}

/// Where the blocks of a loop begin, on one side.
pub(crate) trait Steps: Copy {
    /// The offset of the i-th, in bytes.
    ///
    /// # Safety
    /// `i` is less than the number of blocks.
    unsafe fn nth(self, i: usize) -> isize;
}

/// At equal distances, in bytes.
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
        // SAFETY: there are as many offsets as blocks, and `i` is less than their number.
        unsafe { *self.get_unchecked(i) }
    }
}

/// How a block is copied, which depends on its size only.
trait Width {
    /// The size in bytes, where it is always the same.
    const SIZE: Option<usize> = None;

    /// # Safety
    /// 1 to 3, for a block of this size.
    unsafe fn copy(size: usize, from: *const u8, to: *mut u8);
}

/// `N` bytes at once.
struct Exact<const N: usize>;

impl<const N: usize> Width for Exact<N> {
    const SIZE: Option<usize> = Some(N);

    #[inline(always)]
    unsafe fn copy(_size: usize, from: *const u8, to: *mut u8) {
        // SAFETY: 1 to 3 are those of the caller: the size is `N`.
        unsafe { to.copy_from_nonoverlapping(from, N) };
    }
}

/// The first and the last `N` of at least `N` bytes and at most twice as many.
struct Ends<const N: usize>;

impl<const N: usize> Width for Ends<N> {
    #[inline(always)]
    unsafe fn copy(size: usize, from: *const u8, to: *mut u8) {
        let last = size - N;
        // SAFETY: 1 to 3 hold for both parts, which lie within the block.
        unsafe {
            to.copy_from_nonoverlapping(from, N);
            to.add(last).copy_from_nonoverlapping(from.add(last), N);
        }
    }
}

/// Any number of bytes.
struct Any;

impl Width for Any {
    #[inline(always)]
    unsafe fn copy(size: usize, from: *const u8, to: *mut u8) {
        // SAFETY: 1 to 3 are those of the caller, for the same block.
        unsafe { to.copy_from_nonoverlapping(from, size) };
    }
}

/// What a macro makes of the width of a size.
macro_rules! with_width {
    ($size:expr, $function:ident) => {
        match $size {
            1 => $function!(Exact<1>),
            2 => $function!(Exact<2>),
            4 => $function!(Exact<4>),
            8 => $function!(Exact<8>),
            16 => $function!(Exact<16>),
            32 => $function!(Exact<32>),
            64 => $function!(Exact<64>),
            3 => $function!(Ends<2>),
            5..=7 => $function!(Ends<4>),
            9..=15 => $function!(Ends<8>),
            17..=31 => $function!(Ends<16>),
            33..=63 => $function!(Ends<32>),
            65..=128 => $function!(Ends<64>),
            _ => $function!(Any),
        }
    };
}

/// Copies `count` blocks from places to places, at least one of which is a list.
///
/// # Safety
/// 1 to 3, for a block of `size` bytes at each of the places. A list has `count` of them.
pub(crate) unsafe fn copy_listed(
    size: usize,
    count: usize,
    (from, reads): (*const u8, impl Steps),
    (to, writes): (*mut u8, impl Steps),
) {
    macro_rules! copy {
        ($width:ty) => {
            // SAFETY: the caller's conditions, for the same blocks.
            unsafe { listed::<$width, _, _>(size, count, (from, reads), (to, writes)) }
        };
    }
    with_width!(size, copy);
}

/// # Safety
/// 1 to 3, for a block of `size` bytes at each of the places. A list has `count` of them.
#[inline(never)]
unsafe fn listed<W: Width, R: Steps, S: Steps>(
    size: usize,
    count: usize,
    (from, reads): (*const u8, R),
    (to, writes): (*mut u8, S),
) {
    for i in 0..count {
        // SAFETY: 1 to 3 hold for the i-th of the blocks, and `i < count`. Offsets are counted from a place
        // that may be outside of what holds them.
        unsafe { W::copy(size, from.wrapping_offset(reads.nth(i)), to.wrapping_offset(writes.nth(i))) };
    }
}

/// A loop: how often, and how far apart on the side that is read and on the one that is written, in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Stride {
    pub count: usize,
    pub from: isize,
    pub to: isize,
}

impl Stride {
    /// No loop.
    pub const ONCE: Self = Self { count: 1, from: 0, to: 0 };

    /// The turns from the i-th on, `most` of them at most, and where the first of them is.
    #[inline(always)]
    fn part(self, i: usize, most: usize, from: *const u8, to: *mut u8) -> (Self, *const u8, *mut u8) {
        let part = Self { count: most.min(self.count - i), ..self };
        (part, from.wrapping_offset(i as isize * self.from), to.wrapping_offset(i as isize * self.to))
    }
}

/// Copies the blocks of two loops, the second within the first: of `size` bytes, from the first pointer to
/// the second.
///
/// # Safety
/// 1 to 3, for all blocks of both loops.
pub(crate) type Kernel = unsafe fn(usize, Stride, Stride, *const u8, *mut u8);

/// The kernel for loops like these.
pub(crate) fn kernel(size: usize, outer: Stride, inner: Stride) -> Kernel {
    macro_rules! choose {
        ($width:ty) => {
            if inner.from == 2 * size as isize && inner.to == size as isize {
                every_other::<$width>
            } else if is_transposed(size, outer, inner) {
                tiles::<$width>
            } else if cfg!(target_arch = "x86_64") && size == 8 && inner.to == 8 {
                gathered
            } else {
                strided::<$width>
            }
        };
    }
    with_width!(size, choose)
}

/// # Safety
/// 1 to 3, for all blocks of both loops.
unsafe fn strided<W: Width>(size: usize, outer: Stride, inner: Stride, from: *const u8, to: *mut u8) {
    for i in 0..outer.count as isize {
        let (mut from, mut to) = (from.wrapping_offset(i * outer.from), to.wrapping_offset(i * outer.to));
        // Four at a time: the places of all of them are known at once.
        for _ in 0..inner.count / 4 {
            // SAFETY: 1 to 3 hold for the next four blocks of the inner loop.
            unsafe {
                W::copy(size, from, to);
                W::copy(size, from.offset(inner.from), to.offset(inner.to));
                W::copy(size, from.offset(2 * inner.from), to.offset(2 * inner.to));
                W::copy(size, from.offset(3 * inner.from), to.offset(3 * inner.to));
            }
            (from, to) = (from.wrapping_offset(4 * inner.from), to.wrapping_offset(4 * inner.to));
        }
        for j in 0..(inner.count % 4) as isize {
            // SAFETY: 1 to 3 hold for one of the last blocks of the inner loop.
            unsafe { W::copy(size, from.offset(j * inner.from), to.offset(j * inner.to)) };
        }
    }
}

/// Every other block, to where they are packed: the compiler makes wide loads of it.
///
/// # Safety
/// 1 to 3, for all blocks of both loops.
unsafe fn every_other<W: Width>(size: usize, outer: Stride, inner: Stride, from: *const u8, to: *mut u8) {
    let size = W::SIZE.unwrap_or(size);
    let step = size as isize;
    for i in 0..outer.count as isize {
        for j in 0..inner.count as isize {
            // SAFETY: 1 to 3 hold for the j-th block of the inner loop.
            unsafe {
                let from = from.offset(i * outer.from + 2 * step * j);
                W::copy(size, from, to.offset(i * outer.to + step * j));
            }
        }
    }
}

/// Turns of a tile, of each loop.
const TILE: usize = 16;

/// Whether a cache line that the inner loop comes by is needed in the next turns of the outer one, and has
/// left the cache until then: on one of both sides, as in the transposition of a matrix.
fn is_transposed(size: usize, outer: Stride, inner: Stride) -> bool {
    const LINE: usize = 64;
    let across = |outer: isize, inner: isize| {
        outer.unsigned_abs() < LINE
            && inner.unsigned_abs() >= LINE
            && inner.unsigned_abs() > outer.unsigned_abs()
    };
    size <= LINE / 2
        && inner.count >= TILE
        && outer.count >= TILE / 4
        && (across(outer.from, inner.from) || across(outer.to, inner.to))
}

/// The same, in an order in which the lines that are needed again are still there.
///
/// # Safety
/// 1 to 3, for all blocks of both loops.
unsafe fn tiles<W: Width>(size: usize, outer: Stride, inner: Stride, from: *const u8, to: *mut u8) {
    let size = W::SIZE.unwrap_or(size);
    let step = size as isize;
    // Neighbours of the one loop on the one side, and of the other on the other: four by four they are turned
    // in registers.
    let rows = if (outer.from, inner.to) == (step, step) {
        Some((inner, outer))
    } else if (inner.from, outer.to) == (step, step) {
        Some((outer, inner))
    } else {
        None
    };
    for i in (0..outer.count).step_by(TILE) {
        let (outer, from, to) = outer.part(i, TILE, from, to);
        for j in (0..inner.count).step_by(TILE) {
            let (inner, from, to) = inner.part(j, TILE, from, to);
            // SAFETY: 1 to 3 hold for a whole tile, whose neighbours are as far apart as they are large.
            let turned = rows.is_some_and(|(rows, columns)| unsafe {
                (outer.count, inner.count) == (TILE, TILE) && turn_tile(size, rows.from, columns.to, from, to)
            });
            if turned {
                continue;
            }
            for i in 0..outer.count as isize {
                for j in 0..inner.count as isize {
                    // SAFETY: 1 to 3 hold for a block of the tile.
                    unsafe {
                        let from = from.offset(i * outer.from + j * inner.from);
                        W::copy(size, from, to.offset(i * outer.to + j * inner.to));
                    }
                }
            }
        }
    }
}

/// Copies up to four pieces of 1, 2, 4 or 8 bytes at each turn of a loop, so that what is written is written
/// in order: from their offsets where they are read to those where they are written.
///
/// # Safety
/// 1 to 3, for each piece at each turn.
pub(crate) type GroupKernel = unsafe fn(&[isize; 4], &[isize; 4], Stride, *const u8, *mut u8);

/// The kernel for up to four pieces of these sizes: the loop that a programmer would write for such fields,
/// if there were names.
pub(crate) fn group_kernel(sizes: &[usize]) -> GroupKernel {
    macro_rules! with_piece {
        ($size:expr, $function:ident $($widths:tt)*) => {
            match $size {
                1 => $function!($($widths)* 1),
                2 => $function!($($widths)* 2),
                4 => $function!($($widths)* 4),
                _ => $function!($($widths)* 8),
            }
        };
    }
    macro_rules! one {
        ($a:literal) => {
            group::<1, $a, 0, 0, 0>
        };
    }
    macro_rules! two {
        ($a:literal) => { with_piece!(sizes[1], two $a,) };
        ($a:literal, $b:literal) => { group::<2, $a, $b, 0, 0> };
    }
    macro_rules! three {
        ($a:literal) => { with_piece!(sizes[1], three $a,) };
        ($a:literal, $b:literal) => { with_piece!(sizes[2], three $a, $b,) };
        ($a:literal, $b:literal, $c:literal) => { group::<3, $a, $b, $c, 0> };
    }
    macro_rules! four {
        ($a:literal) => { with_piece!(sizes[1], four $a,) };
        ($a:literal, $b:literal) => { with_piece!(sizes[2], four $a, $b,) };
        ($a:literal, $b:literal, $c:literal) => { with_piece!(sizes[3], four $a, $b, $c,) };
        ($a:literal, $b:literal, $c:literal, $d:literal) => { group::<4, $a, $b, $c, $d> };
    }
    match sizes.len() {
        1 => with_piece!(sizes[0], one),
        2 => with_piece!(sizes[0], two),
        3 => with_piece!(sizes[0], three),
        _ => with_piece!(sizes[0], four),
    }
}

/// `COUNT` pieces of `A`, `B`, `C` and `D` bytes.
///
/// # Safety
/// 1 to 3, for each piece at each turn.
unsafe fn group<const COUNT: usize, const A: usize, const B: usize, const C: usize, const D: usize>(
    reads: &[isize; 4],
    writes: &[isize; 4],
    turns: Stride,
    from: *const u8,
    to: *mut u8,
) {
    // From the first piece on, two turns at a time, so that everything stays in registers.
    let (mut from, mut to) = (from.wrapping_offset(reads[0]), to.wrapping_offset(writes[0]));
    let (reads, writes) = (reads.map(|at| at - reads[0]), writes.map(|at| at - writes[0]));
    let turn = |from: *const u8, to: *mut u8| {
        let (read, write) =
            (|i: usize| from.wrapping_offset(reads[i]), |i: usize| to.wrapping_offset(writes[i]));
        // SAFETY: 1 to 3 hold for the pieces of a turn.
        unsafe {
            Exact::<A>::copy(A, from, to);
            if COUNT > 1 {
                Exact::<B>::copy(B, read(1), write(1));
            }
            if COUNT > 2 {
                Exact::<C>::copy(C, read(2), write(2));
            }
            if COUNT > 3 {
                Exact::<D>::copy(D, read(3), write(3));
            }
        }
    };
    if turns.count % 2 == 1 {
        turn(from, to);
        (from, to) = (from.wrapping_offset(turns.from), to.wrapping_offset(turns.to));
    }
    let (mut next, mut next_to) = (from.wrapping_offset(turns.from), to.wrapping_offset(turns.to));
    let (twice, twice_to) = (2 * turns.from, 2 * turns.to);
    for _ in 0..turns.count / 2 {
        turn(from, to);
        turn(next, next_to);
        (from, to) = (from.wrapping_offset(twice), to.wrapping_offset(twice_to));
        (next, next_to) = (next.wrapping_offset(twice), next_to.wrapping_offset(twice_to));
        // Otherwise the compiler computes all places from one of them, which takes an instruction for each.
        #[cfg(not(miri))]
        #[expect(clippy::pointers_in_nomem_asm_block, reason = "nothing is read through them")]
        // SAFETY: no instruction at all; the pointers stay as they are.
        unsafe {
            std::arch::asm!(
                "/* {0} {1} {2} {3} */",
                inout(reg) from, inout(reg) to, inout(reg) next, inout(reg) next_to,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
    }
}
