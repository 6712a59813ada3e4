//! Regions: the selection of a layout as numbers, in packing order.
//!
//! A region is a list of *pieces*. A piece selects indices in every dimension, and the whole or a part of
//! each element at these indices. A region does not know the addresses of elements in a source. They follow
//! from strides in bytes, one for each dimension. The builders of regions are in `pieces.rs`.

use std::{fmt, sync::Arc};

use dtype_core::{
    ArrayOrder, MOST_ARRAYS, MOST_DIMENSIONS, Progression, TypeTree,
    constant::{RunBuffer, Solved},
};
use dtype_engine::{Error as PackError, Layer, Plan};

use super::{
    list::List,
    nest::{Loop, Nest},
    part::Part,
};
use crate::types::entry::COSTS;

/// The largest number of pieces of a static layout that are each compiled into loops: a box in four
/// dimensions has that many faces.
pub const FEW_NESTS: usize = 8;

/// The bytes from one element to the next along each dimension.
pub type Strides = [isize; MOST_DIMENSIONS];

/// Facts about all selected values together.
#[derive(Clone, Copy)]
pub struct Totals {
    /// The number of values, of any type.
    pub count: usize,
    /// The packed size in bytes; `usize::MAX` if it overflows.
    pub packed_size: usize,
    /// `true` if there are values of restricted types.
    pub is_restricted: bool,
    /// `true` if MPI transfers padding within the values.
    pub has_blocks: bool,
    /// `true` if MPI itself may write the values, without a check.
    pub is_receivable: bool,
}

/// A list of pieces of an array.
#[derive(Clone, Copy)]
pub struct Region<'a> {
    /// The lengths of the array's dimensions, in elements.
    pub shape: &'a [usize],
    /// The order in which the values of a piece are packed. Also the order of the elements in memory, unless
    /// the source has strides of its own.
    pub order: ArrayOrder,
    /// The size of an element, in bytes.
    pub element: usize,
    /// The indices that each piece selects in each dimension, piece by piece.
    pub axes: &'a [Axis],
    /// The part that each piece selects of every element.
    pub parts: &'a [Part],
    /// The lists that axes refer to.
    pub lists: &'a [Arc<List>],
}

/// The indices selected in one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// Indices at equal distances.
    Regular(Progression),
    /// The indices of a list.
    Listed {
        /// The position of the list in the region's `lists`.
        list: usize,
        /// The first index in the list; 0 if the list is empty.
        first: usize,
        /// The number of indices in the list.
        count: usize,
    },
}

impl Axis {
    /// An axis without indices.
    pub const EMPTY: Self = Self::Regular(Progression { start: 0, count: 0, step: 1 });

    /// Returns the number of indices.
    pub const fn count(&self) -> usize {
        match self {
            Self::Regular(progression) => progression.count,
            Self::Listed { count, .. } => *count,
        }
    }
}

impl<'a> Region<'a> {
    /// Returns the number of pieces.
    #[inline(always)]
    pub(super) const fn pieces(&self) -> usize {
        self.parts.len()
    }

    #[inline(always)]
    pub(super) const fn axis(&self, piece: usize, dimension: usize) -> &Axis {
        &self.axes[piece * self.shape.len() + dimension]
    }

    /// Returns the dimension of the loop at this depth. The outermost loop has depth 0.
    #[inline(always)]
    const fn dimension(&self, depth: usize) -> usize {
        match self.order {
            ArrayOrder::RowMajor => depth,
            ArrayOrder::ColumnMajor => self.shape.len() - 1 - depth,
        }
    }

    /// Returns the number of elements that one piece selects.
    #[inline(always)]
    const fn elements(&self, piece: usize) -> usize {
        let (mut count, mut k) = (1usize, 0);
        while k < self.shape.len() {
            // The product saturates: a region that is too large is rejected by its packed size. An axis
            // without indices makes the piece empty even if the other axes overflow.
            count = match self.axis(piece, k).count() {
                0 => return 0,
                more => count.saturating_mul(more),
            };
            k += 1;
        }
        count
    }

    /// Returns `true` if all selected values are whole elements.
    pub(super) fn selects_elements(&self) -> bool {
        self.parts.iter().all(|part| part.is_whole(self.element))
    }

    /// Returns the facts about all selected values together.
    #[inline(always)]
    pub(crate) const fn totals(&self) -> Totals {
        let mut totals =
            Totals { count: 0, packed_size: 0, is_restricted: false, has_blocks: false, is_receivable: true };
        let mut piece = 0;
        while piece < self.pieces() {
            let part = &self.parts[piece];
            let facts = &part.leaf.of.facts;
            let count = self.elements(piece).saturating_mul(part.count());
            let size = count.saturating_mul(facts.packed_size);
            totals.count = totals.count.saturating_add(count);
            totals.packed_size = totals.packed_size.saturating_add(size);
            totals.is_restricted |= !facts.any_pattern;
            totals.has_blocks |= facts.has_blocks();
            totals.is_receivable &= facts.receivable;
            piece += 1;
        }
        totals
    }

    /// Returns the strides of an array without gaps, in the order of the region.
    #[inline(always)]
    pub const fn contiguous(&self) -> Strides {
        let mut strides = [0; MOST_DIMENSIONS];
        let mut pitch = self.element as isize;
        let mut depth = self.shape.len();
        while depth > 0 {
            depth -= 1;
            let k = self.dimension(depth);
            strides[k] = pitch;
            pitch *= self.shape[k] as isize;
        }
        strides
    }

    /// Returns the number of elements of the array.
    pub fn array_elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the size of the array in bytes.
    pub(super) fn array_size(&self) -> usize {
        self.array_elements() * self.element
    }

    /// Returns the number of bytes from the array's first element to the first value that a piece selects.
    #[inline(always)]
    const fn start(&self, piece: usize, strides: &Strides) -> isize {
        let (mut start, mut k) = (self.parts[piece].offset as isize, 0);
        while k < self.shape.len() {
            let first = match self.axis(piece, k) {
                Axis::Regular(progression) => progression.start,
                Axis::Listed { first, .. } => *first,
            };
            start += first as isize * strides[k];
            k += 1;
        }
        start
    }

    /// Returns the number of bytes from the array's first element to the first selected value, to which views
    /// point; 0 if no value is selected.
    pub const fn first(&self, strides: &Strides) -> isize {
        let mut piece = 0;
        while piece < self.pieces() {
            if self.elements(piece) > 0 && self.parts[piece].count() > 0 {
                return self.start(piece, strides);
            }
            piece += 1;
        }
        0
    }

    /// Returns the loop nest of a piece, or `None` for an empty piece. Loops that continue one another are
    /// joined.
    #[inline(always)]
    pub(super) const fn nest(&self, piece: usize, strides: &Strides) -> Option<Nest<'a>> {
        let (part, dimensions) = (&self.parts[piece], self.shape.len());
        if self.elements(piece) == 0 || part.count() == 0 {
            return None;
        }
        let mut nest = Nest {
            start: self.start(piece, strides),
            loops: [Loop { count: 1, stride: 0, list: None }; _],
            depth: 0,
            leaf: part.leaf,
        };
        let mut depth = 0;
        while depth < dimensions + MOST_ARRAYS {
            nest.push(if depth < dimensions {
                let k = self.dimension(depth);
                match self.axis(piece, k) {
                    Axis::Regular(Progression { count, step, .. }) => {
                        Loop { count: *count, stride: *step * strides[k], list: None }
                    }
                    Axis::Listed { list, count, .. } => {
                        Loop { count: *count, stride: strides[k], list: Some(&self.lists[*list]) }
                    }
                }
            } else {
                let (count, stride) = part.arrays[depth - dimensions];
                Loop { count, stride, list: None }
            });
            depth += 1;
        }
        Some(nest)
    }

    /// Returns the loop nests of all pieces in an array without gaps, if there are at most [`FEW_NESTS`]. The
    /// entries after the last nest are `None`.
    pub const fn few_nests(&self) -> Option<[Option<Nest<'a>>; FEW_NESTS]> {
        let strides = self.contiguous();
        let mut nests = [const { None }; _];
        let mut count = 0;
        let mut piece = 0;
        while piece < self.pieces() {
            if let Some(nest) = self.nest(piece, &strides) {
                if count == FEW_NESTS {
                    return None;
                }
                nests[count] = Some(nest);
                count += 1;
            }
            piece += 1;
        }
        Some(nests)
    }

    /// Returns the loop nests of all pieces that are not empty, in order.
    #[inline(always)]
    pub(crate) fn nests(&self, strides: &Strides) -> impl Iterator<Item = Nest<'a>> {
        (0..self.pieces()).filter_map(|piece| self.nest(piece, strides))
    }

    /// Returns the region as a type tree. Displacement 0 is the first value.
    pub(crate) fn tree(&self, strides: &Strides) -> TypeTree {
        let first = self.first(strides);
        let (mut displacements, mut children) = (Vec::new(), Vec::new());
        for nest in self.nests(strides) {
            let leaf = (nest.leaf.of.lazy)().solution().tree.clone();
            displacements.push((nest.start - first) as i64);
            children.push(nest.loops().iter().rev().fold(leaf, |tree, level| match level.list {
                None => TypeTree::vector(level.count as u64, level.stride as i64, tree),
                Some(list) => list.tree(level.stride, tree),
            }));
        }
        match <[TypeTree; 1]>::try_from(children) {
            Ok([child]) => child,
            Err(children) => TypeTree::structure(displacements, children),
        }
    }

    /// Compiles the region for packing.
    pub(crate) fn plan(&self, strides: &Strides) -> Plan {
        let pieces = self.nests(strides).map(|nest| {
            let layer = nest.loops().iter().rev().fold((nest.leaf.of.plan)().layer(), |layer, level| {
                match level.list {
                    None => layer.repeated(level.count, level.stride),
                    Some(list) => list.layer(level.stride, layer),
                }
            });
            (nest.start, layer)
        });
        Plan::of_layer(Layer::sequence(pieces), self.array_size() as isize)
    }

    /// Returns the least-cost tree of a region without lists in an array without gaps, if constant evaluation
    /// can find it: for a single piece, or if all pieces have few runs. Displacement 0 is the first value.
    pub(crate) const fn solved(&self) -> Option<Solved> {
        if let Some([Some(only), None, ..]) = &self.few_nests() {
            return only.solved();
        }
        let strides = self.contiguous();
        let mut all = RunBuffer::new();
        let mut piece = 0;
        let first = self.first(&strides);
        while piece < self.pieces() {
            if let Some(nest) = self.nest(piece, &strides) {
                let (runs, outer) = nest.runs();
                all.append(&runs, (nest.start - first) as i64);
                if outer > 0 || !all.is_complete() {
                    return None;
                }
            }
            piece += 1;
        }
        Solved::of(&all, &COSTS)
    }

    /// Checks that packed bytes hold valid values. `packed` is a part of the packed bytes of several copies
    /// of the region, and begins at byte `start` of them.
    pub(crate) fn check(&self, packed: &[u8], start: usize) -> Result<(), PackError> {
        let (size, strides) = (self.totals().packed_size, self.contiguous());
        if size == 0 {
            return Ok(());
        }
        let end = start + packed.len();
        for copy in start / size..end.div_ceil(size) {
            let mut at = copy * size;
            for nest in self.nests(&strides) {
                let (first, last) = (at, at + nest.leaf.of.facts.packed_size * nest.count());
                let (from, to) = (first.max(start), last.min(end));
                if from < to {
                    let some = &packed[from - start..to - start];
                    (nest.leaf.of.copying.check)(some, from - first).map_err(|error| error.behind(first))?;
                }
                at = last;
            }
        }
        Ok(())
    }

    /// Formats a layout for `Debug`, under the name of its type.
    pub(super) fn debug(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("shape", &self.shape)
            .field("order", &self.order)
            .field("pieces", &self.parts.len())
            .field("count", &self.totals().count)
            .finish_non_exhaustive()
    }
}
