//! Kernels in x86-64 instructions: gather numbers, and transpose tiles in registers.
//!
//! Safety conditions 1 to 3 are those of the [parent module](super).

use std::arch::x86_64::{
    _MM_HINT_T0, _mm_loadu_ps, _mm_movehl_ps, _mm_movelh_ps, _mm_prefetch, _mm_set_pd, _mm_storeu_pd,
    _mm_storeu_ps, _mm_unpackhi_ps, _mm_unpacklo_ps, _mm256_loadu_pd, _mm256_permute2f128_pd,
    _mm256_storeu_pd, _mm256_unpackhi_pd, _mm256_unpacklo_pd,
};

use super::stride::{Stride, TILE};

/// Fetches the cache line of a place into the cache. The place need not exist.
#[inline(always)]
pub(crate) fn fetch(place: *const u8) {
    // SAFETY: the instruction reads nothing, and any address is allowed.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
}

/// Copies numbers of 8 bytes with strides to contiguous memory. Two numbers share one store.
///
/// # Safety
/// Conditions 1 to 3 hold for all blocks of both loops.
pub(super) unsafe fn gathered(_size: usize, outer: Stride, inner: Stride, from: *const u8, to: *mut u8) {
    for i in 0..outer.count as isize {
        let (mut from, mut to) = (from.wrapping_offset(i * outer.from), to.wrapping_offset(i * outer.to));
        for _ in 0..inner.count / 4 {
            // SAFETY: 1 to 3 hold for the next four numbers of the inner loop.
            unsafe {
                let number = |at: isize| from.offset(at * inner.from).cast::<f64>().read_unaligned();
                let pair = |at: isize| _mm_set_pd(number(at + 1), number(at));
                _mm_storeu_pd(to.cast(), pair(0));
                _mm_storeu_pd(to.add(16).cast(), pair(2));
            }
            (from, to) = (from.wrapping_offset(4 * inner.from), to.wrapping_add(32));
        }
        for j in 0..inner.count % 4 {
            // SAFETY: 1 to 3 hold for one of the last numbers of the inner loop.
            unsafe { to.add(8 * j).copy_from_nonoverlapping(from.offset(j as isize * inner.from), 8) };
        }
    }
}

/// Transposes a tile of numbers in registers. Returns `false` if the machine has no instructions for this
/// size. Rows are `from_stride` bytes apart where they are read, and columns are `to_stride` bytes apart
/// where they are written.
///
/// # Safety
/// Conditions 1 to 3 hold for the numbers of a tile.
#[inline(always)]
pub(super) unsafe fn turn_tile(
    size: usize,
    from_stride: isize,
    to_stride: isize,
    from: *const u8,
    to: *mut u8,
) -> bool {
    match size {
        // SAFETY: the caller guarantees 1 to 3; 4: the machine has just been found to have AVX.
        8 if is_x86_feature_detected!("avx") => unsafe { turn_8(from_stride, to_stride, from, to) },
        // SAFETY: the caller guarantees 1 to 3.
        4 => unsafe { turn_4(from_stride, to_stride, from, to) },
        _ => return false,
    }
    true
}

/// Calls `turn` for each square of four by four numbers in a tile, with the addresses at which its first
/// number is read and written.
#[inline(always)]
fn for_each(
    size: usize,
    from_stride: isize,
    to_stride: isize,
    from: *const u8,
    to: *mut u8,
    turn: impl Fn(*const u8, *mut u8),
) {
    for row in (0..TILE as isize).step_by(4) {
        for column in (0..TILE as isize).step_by(4) {
            turn(
                from.wrapping_offset(row * from_stride + column * size as isize),
                to.wrapping_offset(column * to_stride + row * size as isize),
            );
        }
    }
}

/// Transposes a tile of numbers of 8 bytes.
///
/// # Safety
/// Conditions 1 to 3 hold for the numbers of a tile; 4. the machine has AVX.
#[target_feature(enable = "avx")]
unsafe fn turn_8(from_stride: isize, to_stride: isize, from: *const u8, to: *mut u8) {
    for_each(8, from_stride, to_stride, from, to, |from, to| {
        // SAFETY: 1 to 3 hold for four rows of four numbers, and four columns.
        unsafe {
            let read = |i: isize| _mm256_loadu_pd(from.offset(i * from_stride).cast());
            let write = |i: isize, row| _mm256_storeu_pd(to.offset(i * to_stride).cast(), row);
            let a = read(0);
            let b = read(1);
            let c = read(2);
            let d = read(3);
            let (even, odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
            let (even_below, odd_below) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
            write(0, _mm256_permute2f128_pd::<0x20>(even, even_below));
            write(1, _mm256_permute2f128_pd::<0x20>(odd, odd_below));
            write(2, _mm256_permute2f128_pd::<0x31>(even, even_below));
            write(3, _mm256_permute2f128_pd::<0x31>(odd, odd_below));
        }
    });
}

/// Transposes a tile of numbers of 4 bytes.
///
/// # Safety
/// Conditions 1 to 3 hold for the numbers of a tile.
unsafe fn turn_4(from_stride: isize, to_stride: isize, from: *const u8, to: *mut u8) {
    for_each(4, from_stride, to_stride, from, to, |from, to| {
        // SAFETY: 1 to 3 hold for four rows of four numbers, and four columns.
        unsafe {
            let read = |i: isize| _mm_loadu_ps(from.offset(i * from_stride).cast());
            let write = |i: isize, row| _mm_storeu_ps(to.offset(i * to_stride).cast(), row);
            let a = read(0);
            let b = read(1);
            let c = read(2);
            let d = read(3);
            let (low, high) = (_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
            let (low_below, high_below) = (_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
            write(0, _mm_movelh_ps(low, low_below));
            write(1, _mm_movehl_ps(low_below, low));
            write(2, _mm_movelh_ps(high, high_below));
            write(3, _mm_movehl_ps(high_below, high));
        }
    });
}
