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

/// Like [`Strided`], for a loop that is a list on one side, in each iteration of an outer loop with strides.
///
/// # Safety
/// Conditions 1 to 3 hold for each piece in each iteration of both loops.
type ListedTurns = unsafe fn(&[isize; 4], &[isize; 4], Stride, Listed<'_>, *const u8, *mut u8);

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
    const fn of<P: Pieces>() -> Self {
        Self { strided: strided::<P>, listed: listed::<P> }
    }
}

/// Returns the kernels for up to four pieces of these sizes: the loops that a programmer would write for a
/// struct with such fields.
pub(crate) fn group_kernel(sizes: &[usize]) -> GroupKernel {
    macro_rules! kernel {
        ($a:literal $b:literal $c:literal $d:literal $($more:literal)*) => {
            GroupKernel::of::<Sizes<$a, $b, $c, $d>>()
        };
    }
    // Chooses the size of the next piece, behind those that have been chosen.
    macro_rules! choose {
        ($a:literal $b:literal $c:literal $d:literal) => { kernel!($a $b $c $d) };
        ($($chosen:literal)*) => {
            match sizes.get(<[usize]>::len(&[$($chosen),*])) {
                None => kernel!($($chosen)* 0 0 0 0),
                Some(1) => choose!($($chosen)* 1),
                Some(2) => choose!($($chosen)* 2),
                Some(4) => choose!($($chosen)* 4),
                Some(_) => choose!($($chosen)* 8),
            }
        };
    }
    choose!()
}

/// Up to four pieces of constant sizes.
trait Pieces {
    /// Copies each piece. `from` and `to` are the addresses of the first one, and the offsets of the others
    /// are relative to it.
    ///
    /// # Safety
    /// Conditions 1 to 3 hold for each piece.
    unsafe fn copy(from: (*const u8, &[isize; 4]), to: (*mut u8, &[isize; 4]));
}

/// Pieces of `A`, `B`, `C` and `D` bytes. A missing piece has 0 bytes.
struct Sizes<const A: usize, const B: usize, const C: usize, const D: usize>;

impl<const A: usize, const B: usize, const C: usize, const D: usize> Pieces for Sizes<A, B, C, D> {
    #[inline(always)]
    unsafe fn copy((from, reads): (*const u8, &[isize; 4]), (to, writes): (*mut u8, &[isize; 4])) {
        let read = |i: usize| from.wrapping_offset(reads[i]);
        let write = |i: usize| to.wrapping_offset(writes[i]);
        // SAFETY: the caller guarantees 1 to 3 for the same pieces.
        unsafe {
            Exact::<A>::copy(A, from, to);
            Exact::<B>::copy(B, read(1), write(1));
            Exact::<C>::copy(C, read(2), write(2));
            Exact::<D>::copy(D, read(3), write(3));
        }
    }
}

/// Copies the pieces in each iteration of a loop that is a list on one side, in each iteration of `outer`.
///
/// # Safety
/// Conditions 1 to 3 hold for each piece in each iteration of both loops.
unsafe fn listed<P: Pieces>(
    reads: &[isize; 4],
    writes: &[isize; 4],
    outer: Stride,
    turns: Listed<'_>,
    from: *const u8,
    to: *mut u8,
) {
    // SAFETY: the caller guarantees 1 to 3 for the same iterations.
    unsafe {
        match turns {
            Listed::Reads(list, stride) => {
                at_places::<P>(outer, list.len(), (from, reads, list), (to, writes, stride));
            }
            Listed::Writes(stride, list) => {
                at_places::<P>(outer, list.len(), (from, reads, stride), (to, writes, list));
            }
        }
    }
}

/// Copies the pieces in each of `count` iterations, in each iteration of `outer`.
///
/// # Safety
/// Conditions 1 to 3 hold for each piece in each of `count` iterations, in each iteration of `outer`. A list
/// has `count` offsets.
#[inline(always)]
unsafe fn at_places<P: Pieces>(
    outer: Stride,
    count: usize,
    (from, reads, at_from): (*const u8, &[isize; 4], impl Steps),
    (to, writes, at_to): (*mut u8, &[isize; 4], impl Steps),
) {
    let (mut from, reads) = (from.wrapping_offset(reads[0]), behind_first(reads));
    let (mut to, writes) = (to.wrapping_offset(writes[0]), behind_first(writes));
    for _ in 0..outer.count {
        for i in 0..count {
            // SAFETY: 1 to 3 hold for the pieces of iteration `i`, and `i < count`.
            unsafe {
                let (from, to) = (from.wrapping_offset(at_from.nth(i)), to.wrapping_offset(at_to.nth(i)));
                P::copy((from, &reads), (to, &writes));
            }
        }
        (from, to) = (from.wrapping_offset(outer.from), to.wrapping_offset(outer.to));
    }
}

/// Returns the offsets of the pieces, relative to the first one.
#[inline(always)]
fn behind_first(offsets: &[isize; 4]) -> [isize; 4] {
    offsets.map(|at| at.wrapping_sub(offsets[0]))
}

/// Copies the pieces in each iteration of a loop with strides.
///
/// # Safety
/// Conditions 1 to 3 hold for each piece in each iteration.
unsafe fn strided<P: Pieces>(
    reads: &[isize; 4],
    writes: &[isize; 4],
    turns: Stride,
    from: *const u8,
    to: *mut u8,
) {
    // Offsets are relative to the first piece, and two iterations are done at a time, so that all numbers
    // stay in registers.
    let (mut from, reads) = (from.wrapping_offset(reads[0]), behind_first(reads));
    let (mut to, writes) = (to.wrapping_offset(writes[0]), behind_first(writes));
    let turn = |from: *const u8, to: *mut u8| {
        // SAFETY: 1 to 3 hold for the pieces of one iteration.
        unsafe { P::copy((from, &reads), (to, &writes)) };
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
