//! Loop nests over the values of a piece.

use std::sync::Arc;

use dtype_core::{
    MOST_ARRAYS, MOST_DIMENSIONS,
    constant::{RunBuffer, Solved},
};
use dtype_engine::Direction;

use super::{list::List, part::Leaf};
use crate::{
    pack::copy_known,
    types::{ValueType, entry::COSTS},
};

/// A loop over the values of a piece, at a stride in bytes or over a list of indices.
#[derive(Clone, Copy)]
pub struct Loop<'a> {
    /// The number of iterations.
    pub count: usize,
    /// The bytes from one iteration to the next; with a list, the bytes by which each index is multiplied.
    pub stride: isize,
    /// The list of indices, if there is one.
    pub list: Option<&'a Arc<List>>,
}

impl Loop<'_> {
    /// Returns the number of bytes from the first iteration to the `i`-th.
    #[inline(always)]
    pub fn offset(&self, i: usize) -> isize {
        match self.list {
            None => i as isize * self.stride,
            Some(list) => (list.at(i) as isize - list.first() as isize) * self.stride,
        }
    }
}

/// The loops of a piece, the outermost first, and the offset and type of its values.
#[derive(Clone)]
pub struct Nest<'a> {
    /// The bytes from the array's first element to the first value.
    pub start: isize,
    pub(super) loops: [Loop<'a>; MOST_DIMENSIONS + MOST_ARRAYS],
    pub(super) depth: usize,
    /// The type of the values.
    pub leaf: &'static Leaf,
}

impl<'a> Nest<'a> {
    /// Adds an innermost loop. If it continues the loop around it, both become one loop.
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

    /// Returns the type map of as many innermost loops as fit a buffer, and the number of loops around them.
    /// No loop may have a list.
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

    /// Returns the least-cost tree of the values, if constant evaluation can find it.
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

    /// Returns the loops, the outermost first.
    #[inline(always)]
    pub fn loops(&self) -> &[Loop<'_>] {
        &self.loops[..self.depth]
    }

    /// Returns the number of values in a contiguous block, and the loops around the block.
    #[inline(always)]
    pub(crate) fn contiguous(&self) -> (usize, &[Loop<'_>]) {
        self.contiguous_of(self.leaf.of.size)
    }

    /// Returns the number of elements of this size in a contiguous block, and the loops around the block.
    #[inline(always)]
    pub(crate) fn contiguous_of(&self, size: usize) -> (usize, &[Loop<'_>]) {
        match self.loops() {
            [outer @ .., Loop { count, stride, list: None }] if *stride == size as isize => (*count, outer),
            loops => (1, loops),
        }
    }

    /// Returns the innermost loop, and the loops around it. If the innermost loop has a list, or if there is
    /// no loop, a loop of one iteration is returned.
    #[inline(always)]
    pub(super) fn innermost(&self) -> (Loop<'_>, &[Loop<'_>]) {
        match self.loops() {
            [outer @ .., inner @ Loop { list: None, .. }] => (*inner, outer),
            loops => (Loop { count: 1, stride: 0, list: None }, loops),
        }
    }

    /// Returns the number of values.
    pub fn count(&self) -> usize {
        self.loops().iter().map(|level| level.count).product()
    }
}

/// Copies between the values of a loop nest over the array at `array` and their packed bytes. Returns the end
/// of the packed bytes. A constant nest compiles to loops with constant bounds around one copy of a
/// contiguous block.
///
/// # Safety
/// `nest` is a nest over the array at `array`, and `packed` points to its packed values in other memory. The
/// side that is copied to may be written, and the other side holds valid values.
#[inline(always)]
pub(crate) unsafe fn copy_nest<D: Direction>(
    nest: &Nest<'_>,
    array: *mut u8,
    mut packed: *mut u8,
) -> *mut u8 {
    let ValueType { facts, copying, .. } = nest.leaf.of;
    let (values, loops) = nest.contiguous();
    let size = facts.packed_size * values;
    for_each_place(nest.start, loops, &mut |at| {
        // SAFETY: a region selects values within the array, and `packed` has moved past the packed bytes of
        // all earlier values.
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

/// Calls `visit` for each iteration of the loops, with its offset in bytes.
#[inline(always)]
pub(crate) fn for_each_place(at: isize, loops: &[Loop<'_>], visit: &mut impl FnMut(isize)) {
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

/// Recurses into [`for_each_place`], which cannot be inlined into itself.
fn for_each_place_of(at: isize, loops: &[Loop<'_>], visit: &mut impl FnMut(isize)) {
    for_each_place(at, loops, visit);
}
