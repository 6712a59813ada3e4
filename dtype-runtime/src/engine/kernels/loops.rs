//! Loops over blocks of one size.
//!
//! The conditions of each `unsafe fn` are those of the [module above](super).

#[cfg(not(target_arch = "x86_64"))]
use portable::{gathered, turn_tile};

use super::width::{Any, Exact, Lines, Width, with_width};
#[cfg(target_arch = "x86_64")]
use super::x86_64::{gathered, turn_tile};

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
pub(super) const TILE: usize = 16;

/// Whether a cache line that the inner loop comes by is needed in the next turns of the outer one, and has
/// left the cache until then: on one of both sides, as in the transposition of a matrix.
fn is_transposed(size: usize, outer: Stride, inner: Stride) -> bool {
    const LINE: usize = 64;
    let across = |outer: isize, inner: isize| {
        outer.unsigned_abs() < LINE
            && inner.unsigned_abs() >= LINE
            && inner.unsigned_abs() > outer.unsigned_abs()
    };
    // Few lines stay in the cache, if they are not all in the same place there.
    let leave = inner.count >= 256 || inner.from % 1024 == 0 || inner.to % 1024 == 0;
    size <= LINE / 2
        && (leave || size == 4 || size == 8)
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

#[cfg(test)]
mod tests {
    use super::{
        super::width::{copy_block, copy_forward},
        *,
    };

    #[test]
    fn every_size_is_copied_to_the_byte() {
        let from: Vec<u8> = (1..=255).collect();
        for size in 0..=200 {
            let mut to = vec![0; size + 1];
            // SAFETY: both have the bytes, and are apart.
            unsafe { copy_forward(size, from.as_ptr(), to.as_mut_ptr()) };
            assert_eq!((&to[..size], to[size]), (&from[..size], 0), "{size} bytes");
            to.fill(0);
            // SAFETY: both have the bytes, and are apart.
            unsafe { copy_block(size, from.as_ptr(), to.as_mut_ptr()) };
            assert_eq!((&to[..size], to[size]), (&from[..size], 0), "{size} bytes");
            if size > 0 {
                let (mut to, turns) =
                    (vec![0; 3 * size + 1], Stride { count: 3, from: 2, to: size as isize });
                // SAFETY: both have the bytes of three blocks, and are apart.
                unsafe {
                    let kernel = kernel(size, Stride::ONCE, turns);
                    kernel(size, Stride::ONCE, turns, from.as_ptr(), to.as_mut_ptr());
                }
                let expected: Vec<u8> =
                    [0, 2, 4].iter().flat_map(|at| &from[*at..at + size]).copied().collect();
                assert_eq!((&to[..3 * size], to[3 * size]), (&expected[..], 0), "three times {size} bytes");
            }
        }
    }
}
