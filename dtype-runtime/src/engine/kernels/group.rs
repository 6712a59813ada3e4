//! Fields: a few pieces at each turn of a loop.
//!
//! The conditions of each `unsafe fn` are those of the [module above](super).

use super::{
    loops::Stride,
    width::{Exact, Width},
};

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
    let (twice, twice_to) = (turns.from.wrapping_mul(2), turns.to.wrapping_mul(2));
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
