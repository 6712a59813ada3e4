//! Kernels for fields: a few pieces in each iteration of a loop.
//!
//! Safety conditions 1 to 3 are those of the [parent module](super).

use super::{
    stride::{Steps, Stride},
    width::{Exact, Width},
};

/// A kernel that copies up to four pieces of 1, 2, 4 or 8 bytes in each iteration of a loop, so that writes
/// are in order. Its arguments: the offsets at which the pieces are read, the offsets at which they are
/// written, the loop, and the addresses to which the offsets are relative.
///
/// # Safety
/// Conditions 1 to 3 hold for each piece in each iteration.
type Strided = unsafe fn(&[isize; 4], &[isize; 4], Stride, *const u8, *mut u8);

/// Like [`Strided`], for a loop that is a list on one side.
///
/// # Safety
/// Conditions 1 to 3 hold for each piece in each iteration.
type ListedTurns = unsafe fn(&[isize; 4], &[isize; 4], Listed<'_>, *const u8, *mut u8);

/// The iterations of a loop: a list on the side that is read or on the side that is written, and a stride on
/// the other.
#[derive(Clone, Copy)]
pub(crate) enum Listed<'p> {
    Reads(&'p [isize], isize),
    Writes(isize, &'p [isize]),
}

/// The kernels for a few pieces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupKernel {
    pub strided: Strided,
    pub listed: ListedTurns,
}

impl GroupKernel {
    const fn of<const COUNT: usize, const A: usize, const B: usize, const C: usize, const D: usize>() -> Self
    {
        Self { strided: strided::<COUNT, A, B, C, D>, listed: listed::<COUNT, A, B, C, D> }
    }
}

/// Returns the kernels for up to four pieces of these sizes: the loops that a programmer would write for a
/// struct with such fields.
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
            GroupKernel::of::<1, $a, 0, 0, 0>()
        };
    }
    macro_rules! two {
        ($a:literal) => { with_piece!(sizes[1], two $a,) };
        ($a:literal, $b:literal) => { GroupKernel::of::<2, $a, $b, 0, 0>() };
    }
    macro_rules! three {
        ($a:literal) => { with_piece!(sizes[1], three $a,) };
        ($a:literal, $b:literal) => { with_piece!(sizes[2], three $a, $b,) };
        ($a:literal, $b:literal, $c:literal) => { GroupKernel::of::<3, $a, $b, $c, 0>() };
    }
    macro_rules! four {
        ($a:literal) => { with_piece!(sizes[1], four $a,) };
        ($a:literal, $b:literal) => { with_piece!(sizes[2], four $a, $b,) };
        ($a:literal, $b:literal, $c:literal) => { with_piece!(sizes[3], four $a, $b, $c,) };
        ($a:literal, $b:literal, $c:literal, $d:literal) => { GroupKernel::of::<4, $a, $b, $c, $d>() };
    }
    match sizes.len() {
        1 => with_piece!(sizes[0], one),
        2 => with_piece!(sizes[0], two),
        3 => with_piece!(sizes[0], three),
        _ => with_piece!(sizes[0], four),
    }
}

/// Copies `COUNT` pieces of `A`, `B`, `C` and `D` bytes. `from` and `to` are the addresses of the first
/// piece; the offsets of the others are relative to it.
///
/// # Safety
/// Conditions 1 to 3 hold for each piece.
#[inline(always)]
unsafe fn copy_pieces<const COUNT: usize, const A: usize, const B: usize, const C: usize, const D: usize>(
    (from, reads): (*const u8, &[isize; 4]),
    (to, writes): (*mut u8, &[isize; 4]),
) {
    let (read, write) = (|i: usize| from.wrapping_offset(reads[i]), |i: usize| to.wrapping_offset(writes[i]));
    // SAFETY: the caller guarantees 1 to 3 for the same pieces.
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
}

/// Copies the pieces in each iteration of a loop that is a list on one side.
///
/// # Safety
/// Conditions 1 to 3 hold for each piece in each iteration.
unsafe fn listed<const COUNT: usize, const A: usize, const B: usize, const C: usize, const D: usize>(
    reads: &[isize; 4],
    writes: &[isize; 4],
    turns: Listed<'_>,
    from: *const u8,
    to: *mut u8,
) {
    // SAFETY: the caller guarantees 1 to 3 for the same iterations.
    unsafe {
        match turns {
            Listed::Reads(list, stride) => {
                at_places::<COUNT, A, B, C, D, _, _>(list.len(), (from, reads, list), (to, writes, stride));
            }
            Listed::Writes(stride, list) => {
                at_places::<COUNT, A, B, C, D, _, _>(list.len(), (from, reads, stride), (to, writes, list));
            }
        }
    }
}

/// Copies the pieces in each of `count` iterations.
///
/// # Safety
/// Conditions 1 to 3 hold for each piece in each of `count` iterations. A list has `count` offsets.
#[inline(always)]
unsafe fn at_places<
    const COUNT: usize,
    const A: usize,
    const B: usize,
    const C: usize,
    const D: usize,
    R: Steps,
    S: Steps,
>(
    count: usize,
    (from, reads, at_from): (*const u8, &[isize; 4], R),
    (to, writes, at_to): (*mut u8, &[isize; 4], S),
) {
    let (from, to) = (from.wrapping_offset(reads[0]), to.wrapping_offset(writes[0]));
    let (reads, writes) =
        (reads.map(|at| at.wrapping_sub(reads[0])), writes.map(|at| at.wrapping_sub(writes[0])));
    for i in 0..count {
        // SAFETY: 1 to 3 hold for the pieces of iteration `i`, and `i < count`.
        unsafe {
            let (from, to) = (from.wrapping_offset(at_from.nth(i)), to.wrapping_offset(at_to.nth(i)));
            copy_pieces::<COUNT, A, B, C, D>((from, &reads), (to, &writes));
        }
    }
}

/// Copies `COUNT` pieces of `A`, `B`, `C` and `D` bytes in each iteration of a loop with strides.
///
/// # Safety
/// Conditions 1 to 3 hold for each piece in each iteration.
unsafe fn strided<const COUNT: usize, const A: usize, const B: usize, const C: usize, const D: usize>(
    reads: &[isize; 4],
    writes: &[isize; 4],
    turns: Stride,
    from: *const u8,
    to: *mut u8,
) {
    // Offsets are relative to the first piece, and two iterations are done at a time, so that all numbers
    // stay in registers.
    let (mut from, mut to) = (from.wrapping_offset(reads[0]), to.wrapping_offset(writes[0]));
    let (reads, writes) =
        (reads.map(|at| at.wrapping_sub(reads[0])), writes.map(|at| at.wrapping_sub(writes[0])));
    let turn = |from: *const u8, to: *mut u8| {
        // SAFETY: 1 to 3 hold for the pieces of one iteration.
        unsafe { copy_pieces::<COUNT, A, B, C, D>((from, &reads), (to, &writes)) };
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
        // Without this empty assembly, the compiler computes all addresses from one pointer, at one
        // instruction per address.
        #[cfg(not(miri))]
        #[expect(clippy::pointers_in_nomem_asm_block, reason = "nothing is read through them")]
        // SAFETY: the assembly has no instruction, and the pointers keep their values.
        unsafe {
            std::arch::asm!(
                "/* {0} {1} {2} {3} */",
                inout(reg) from, inout(reg) to, inout(reg) next, inout(reg) next_to,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
    }
}
