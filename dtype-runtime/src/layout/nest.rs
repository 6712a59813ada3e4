//! Loop nests over the values of a piece.

use std::sync::Arc;

use dtype_core::{
    MOST_ARRAYS, MOST_DIMENSIONS,
    constant::{RunBuffer, Solved},
};

use super::{list::List, part::Leaf};
use crate::{engine::Direction, pack::copy_known, types::entry::COSTS};

/// A loop over the values of a piece: a number of times at a stride in bytes, or at the places of a list.
#[derive(Clone, Copy)]
pub struct Loop<'a> {
    /// How many times.
    pub count: usize,
    /// Bytes from one to the next; with a list, from an index to the next.
    pub stride: isize,
    /// The indices, if they are listed.
    pub list: Option<&'a Arc<List>>,
}

impl Loop<'_> {
    /// Bytes from the first to the i-th.
    #[inline(always)]
    pub fn offset(&self, i: usize) -> isize {
        match self.list {
            None => i as isize * self.stride,
            Some(list) => {
                let indices = list.indices();
                (indices[i] as isize - indices[0] as isize) * self.stride
            }
        }
    }
}

/// The loops of a piece, from the outermost, and what it begins with.
pub struct Nest<'a> {
    /// Bytes from the array's first element to the first value.
    pub start: isize,
    pub(super) loops: [Loop<'a>; MOST_DIMENSIONS + MOST_ARRAYS],
    pub(super) depth: usize,
    /// The type of the values.
    pub leaf: &'static Leaf,
}

impl<'a> Nest<'a> {
    /// Adds a loop within all others.
    #[inline(always)]
    pub(super) const fn push(&mut self, inner: Loop<'a>) {
        if inner.count == 1 {
            return;
        }
        if self.depth > 0 {
            let outer = &mut self.loops[self.depth - 1];
            let continued = outer.stride == inner.count as isize * inner.stride;
            if continued && outer.list.is_none() && inner.list.is_none() {
                *outer = Loop { count: outer.count * inner.count, stride: inner.stride, list: None };
                return;
            }
        }
        self.loops[self.depth] = inner;
        self.depth += 1;
    }

    /// The type map of the innermost loops, none of which has a list, as many as fit a buffer; and how many
    /// are left.
    pub(super) const fn runs(&self) -> (RunBuffer, usize) {
        let (mut runs, mut outer) = (*self.leaf.runs, self.depth);
        while outer > 0 {
            let Loop { count, stride, .. } = self.loops[outer - 1];
            let more = runs.repeated(count as u64, stride as i64);
            if !more.is_complete() {
                break;
            }
            (runs, outer) = (more, outer - 1);
        }
        (runs, outer)
    }

    /// The values as a least-cost tree, where that can be found in a constant.
    pub(super) const fn solved(&self) -> Option<Solved> {
        let (runs, mut outer) = self.runs();
        let mut solved = Solved::of(&runs, &COSTS);
        while outer > 0 {
            outer -= 1;
            let Loop { count, stride, .. } = self.loops[outer];
            solved = match solved {
                Some(solved) => solved.repeated(count as u64, stride as i64, &COSTS),
                None => return None,
            };
        }
        solved
    }

    /// The loops.
    #[inline(always)]
    pub fn loops(&self) -> &[Loop<'_>] {
        &self.loops[..self.depth]
    }

    /// How many values lie one after the other without a gap, and the loops around them.
    #[inline(always)]
    pub(crate) fn contiguous(&self) -> (usize, &[Loop<'_>]) {
        match self.loops() {
            [outer @ .., Loop { count, stride, list: None }] if *stride == self.leaf.size as isize => {
                (*count, outer)
            }
            loops => (1, loops),
        }
    }

    /// Number of values.
    pub fn count(&self) -> usize {
        self.loops().iter().map(|level| level.count).product()
    }
}

/// Copies between the values of a loop nest over the array at `array` and their packed bytes, and returns the
/// end of those. With a constant nest it becomes loops with constant bounds, the innermost contiguous part
/// one copy.
///
/// # Safety
/// The nest is one over an array at that place, and `packed` points to its packed values elsewhere. The side
/// copied to may be written, and the other holds valid values.
#[inline(always)]
pub(crate) unsafe fn copy_nest<D: Direction>(
    nest: &Nest<'_>,
    array: *mut u8,
    mut packed: *mut u8,
) -> *mut u8 {
    let Leaf { facts, copying, .. } = nest.leaf;
    let (values, loops) = nest.contiguous();
    let size = facts.packed_size * values;
    for_each_place(nest.start, loops, &mut |at| {
        // SAFETY: a region selects values within the array, and the packed bytes of all before them are
        // behind `packed`.
        unsafe {
            let memory = array.offset(at);
            if facts.dense {
                copy_known::<D>(memory, packed, size);
            } else {
                D::sides(copying.pack, copying.unpack).0(memory, values, packed);
            }
            packed = packed.add(size);
        }
    });
    packed
}

/// Calls back for each turn of loops, with the bytes to where it begins.
#[inline(always)]
fn for_each_place(at: isize, loops: &[Loop<'_>], visit: &mut impl FnMut(isize)) {
    macro_rules! nested {
        ($at:expr,) => {
            visit($at)
        };
        ($at:expr, $level:ident $($inner:ident)*) => {
            for i in 0..$level.count {
                nested!($at + $level.offset(i), $($inner)*);
            }
        };
    }
    match loops {
        [] => nested!(at,),
        [a] => nested!(at, a),
        [a, b] => nested!(at, a b),
        [a, b, c] => nested!(at, a b c),
        [a, b, c, d] => nested!(at, a b c d),
        [outer, inner @ ..] => {
            for i in 0..outer.count {
                for_each_place_of(at + outer.offset(i), inner, visit);
            }
        }
    }
}

/// The recursion of [`for_each_place`], which cannot be inlined into itself.
fn for_each_place_of(at: isize, loops: &[Loop<'_>], visit: &mut impl FnMut(isize)) {
    for_each_place(at, loops, visit);
}
