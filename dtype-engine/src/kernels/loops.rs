//! Loops over blocks of one size.
//!
//! Safety conditions 1 to 3 are those of the [parent module](super).

#[cfg(not(target_arch = "x86_64"))]
use portable::{gathered, turn_tile};

#[cfg(target_arch = "x86_64")]
use super::x86_64::{gathered, turn_tile};
use super::{
    stride::{Steps, Stride, TILE},
    width::{Any, Exact, Tail, Width, with_width},
};

/// Replacements of `x86_64` on other machines, which leave the choice of instructions to the compiler.
#[cfg(not(target_arch = "x86_64"))]
mod portable {
    use super::{Exact, Stride, strided};

    /// Copies numbers of 8 bytes with strides to contiguous memory.
    ///
    /// # Safety
    /// Conditions 1 to 3 hold for all blocks of both loops.
    pub unsafe fn gathered(size: usize, outer: Stride, inner: Stride, from: *const u8, to: *mut u8) {
        // SAFETY: the caller guarantees 1 to 3 for the same blocks.
        unsafe { strided::<Exact<8>>(size, outer, inner, from, to) };
    }

    /// Returns `false`: no tile has been transposed.
    ///
    /// # Safety
    /// None.
    pub unsafe fn turn_tile(_: usize, _: isize, _: isize, _: *const u8, _: *mut u8) -> bool {
        false
    }
}

/// Copies `count` blocks of `size` bytes each. At least one side is a list of offsets.
///
/// # Safety
/// Conditions 1 to 3 hold for a block of `size` bytes at each of the offsets. A list has `count` offsets.
pub(crate) unsafe fn copy_listed(
    size: usize,
    count: usize,
    (from, reads): (*const u8, impl Steps),
    (to, writes): (*mut u8, impl Steps),
) {
    macro_rules! copy {
        ($width:ty) => {
            // SAFETY: the caller guarantees the same conditions for the same blocks.
            unsafe { listed::<$width, _, _>(size, count, (from, reads), (to, writes)) }
        };
    }
    with_width!(size, copy);
}

/// Copies `count` blocks of the width `W`.
///
/// # Safety
/// Conditions 1 to 3 hold for a block of `size` bytes at each of the offsets. A list has `count` offsets.
#[inline(never)]
unsafe fn listed<W: Width, R: Steps, S: Steps>(
    size: usize,
    count: usize,
    (from, reads): (*const u8, R),
    (to, writes): (*mut u8, S),
) {
    for i in 0..count {
        // SAFETY: 1 to 3 hold for block `i`, and `i < count`. The addresses that the offsets are relative to
        // may be outside the memory, so the offsets are added with wrapping.
        unsafe { W::copy(size, from.wrapping_offset(reads.nth(i)), to.wrapping_offset(writes.nth(i))) };
    }
}

/// A kernel that copies the blocks of two nested loops. Its arguments: the size of a block in bytes, the
/// outer loop, the inner loop, the address where blocks are read, and the address where they are written.
///
/// # Safety
/// Conditions 1 to 3 hold for all blocks of both loops.
pub(crate) type Kernel = unsafe fn(usize, Stride, Stride, *const u8, *mut u8);

/// Returns the kernel for blocks of this size in these loops.
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

/// Copies the blocks of two nested loops with strides.
///
/// # Safety
/// Conditions 1 to 3 hold for all blocks of both loops.
unsafe fn strided<W: Width>(size: usize, outer: Stride, inner: Stride, from: *const u8, to: *mut u8) {
    for i in 0..outer.count as isize {
        let (mut from, mut to) = (from.wrapping_offset(i * outer.from), to.wrapping_offset(i * outer.to));
        // Copies four blocks at a time, because their addresses do not depend on one another.
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

/// Copies every other block to contiguous memory. The compiler turns this into wide loads.
///
/// # Safety
/// Conditions 1 to 3 hold for all blocks of both loops.
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

/// Returns `true` if one side is traversed across its rows, as in the transposition of a matrix. Then the
/// next iterations of the outer loop need the same cache lines as this one, but these lines have left the
/// cache by then.
fn is_transposed(size: usize, outer: Stride, inner: Stride) -> bool {
    const LINE: usize = 64;
    let across = |outer: isize, inner: isize| {
        outer.unsigned_abs() < LINE
            && inner.unsigned_abs() >= LINE
            && inner.unsigned_abs() > outer.unsigned_abs()
    };
    // A few lines stay in the cache, unless all of them map to the same cache set.
    let leave = inner.count >= 256 || inner.from % 1024 == 0 || inner.to % 1024 == 0;
    size <= LINE / 2
        && (leave || size == 4 || size == 8)
        && inner.count >= TILE
        && outer.count >= TILE / 4
        && (across(outer.from, inner.from) || across(outer.to, inner.to))
}

/// Copies the blocks of two nested loops in tiles, so that cache lines are still in the cache when they are
/// needed again.
///
/// # Safety
/// Conditions 1 to 3 hold for all blocks of both loops.
unsafe fn tiles<W: Width>(size: usize, outer: Stride, inner: Stride, from: *const u8, to: *mut u8) {
    let size = W::SIZE.unwrap_or(size);
    let step = size as isize;
    // If the blocks that are read are adjacent along one loop, and the blocks that are written along the
    // other loop, squares of four by four blocks are transposed in registers.
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
            // SAFETY: 1 to 3 hold for a whole tile; by `rows`, its neighbouring blocks are `size` bytes
            // apart.
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
            // SAFETY: both buffers have `size` bytes, and they do not overlap.
            unsafe { copy_forward(size, from.as_ptr(), to.as_mut_ptr()) };
            assert_eq!((&to[..size], to[size]), (&from[..size], 0), "{size} bytes");
            to.fill(0);
            // SAFETY: both buffers have `size` bytes, and they do not overlap.
            unsafe { copy_block(size, from.as_ptr(), to.as_mut_ptr()) };
            assert_eq!((&to[..size], to[size]), (&from[..size], 0), "{size} bytes");
            if size > 0 {
                let (mut to, turns) =
                    (vec![0; 3 * size + 1], Stride { count: 3, from: 2, to: size as isize });
                // SAFETY: both buffers have the bytes of three blocks, and they do not overlap.
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
