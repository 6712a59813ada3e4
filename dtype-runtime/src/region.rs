//! Regions: which parts of which elements of an array a layout names, in order, as numbers.
//!
//! A region is a list of *pieces*. Each selects indices in every dimension, and of each element so selected the whole or
//! a part. It knows nothing of where a source has its elements: that is said by strides, in bytes, one for each dimension.
//! How regions are put together is told in `pieces.rs`.

use dtype_core::{
    MOST_ARRAYS, MOST_DIMENSIONS, Progression, TypeTree,
    constant::{RunBuffer, Solved},
    gcd,
};

use crate::{
    MpiDatatype,
    datatype::COSTS,
    fields::Facts,
    lazy::LazyDatatype,
    pack::{Copying, Layer, Plan},
};

/// Which index of an array runs fastest, in memory and on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArrayOrder {
    /// The last one: C, Rust, `MPI_ORDER_C`.
    RowMajor,
    /// The first one: Fortran, nalgebra, `MPI_ORDER_FORTRAN`.
    ColumnMajor,
}

/// Pieces of a static layout that are compiled into a loop each: the faces of a box in four dimensions.
pub const FEW_NESTS: usize = 8;

/// Bytes from an element to the next along each dimension.
pub type Strides = [isize; MOST_DIMENSIONS];

/// A list of pieces of an array.
#[derive(Clone, Copy)]
pub struct Region<'a> {
    /// The lengths of the array's dimensions, in elements.
    pub shape: &'a [usize],
    /// How the array lies in memory, unless its source has strides of its own; and the order in which a piece travels.
    pub order: ArrayOrder,
    /// The size of an element, in bytes.
    pub element: usize,
    /// What is selected: of each piece, the indices in each dimension.
    pub axes: &'a [Axis],
    /// Of each piece, what is selected of every element.
    pub parts: &'a [Part],
    /// Lists that axes refer to.
    pub lists: &'a [Vec<usize>],
}

/// The indices selected in one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// At equal distances.
    Regular(Progression),
    /// As many as a list has.
    Listed {
        /// Which list of the region.
        list: usize,
        /// Its first entry, if there is any.
        first: usize,
        /// How many entries it has.
        count: usize,
    },
}

impl Axis {
    /// Nothing.
    pub const EMPTY: Self = Self::Regular(Progression { start: 0, count: 0, step: 1 });

    /// Number of indices.
    pub const fn count(&self) -> usize {
        match self {
            Self::Regular(progression) => progression.count,
            Self::Listed { count, .. } => *count,
        }
    }
}

/// What is selected of every element: values of one type, at regular distances in up to so many dimensions.
#[derive(Clone, Copy)]
pub struct Part {
    /// Bytes from the start of the element to the first value.
    offset: usize,
    /// From the outermost array: how many are selected, bytes from one to the next.
    arrays: [(usize, isize); MOST_ARRAYS],
    /// The type of the values.
    leaf: &'static Leaf,
}

/// What is done with values of a type that only a region knows.
pub struct Leaf {
    pub(crate) size: usize,
    pub(crate) facts: &'static Facts,
    runs: &'static RunBuffer,
    lazy: fn() -> &'static LazyDatatype,
    plan: fn() -> Plan,
    pub(crate) copying: Copying,
}

impl Leaf {
    /// That of a type.
    pub const fn of<T: MpiDatatype>() -> &'static Self {
        const {
            &Self {
                size: size_of::<T>(),
                facts: &T::FACTS,
                runs: &T::RUNS,
                lazy: T::lazy,
                plan: Plan::of::<T>,
                copying: Copying::of::<T>(),
            }
        }
    }
}

impl Part {
    /// Nothing.
    pub const EMPTY: Self = Self { offset: 0, arrays: [(0, 0); _], leaf: Leaf::of::<()>() };

    /// The value so many bytes from the start of the element.
    pub const fn first(offset: usize, leaf: &'static Leaf) -> Self {
        Self { offset, arrays: [(1, 0); _], leaf }
    }

    /// These entries of the k-th array, whose entries have that size, instead of its first one.
    #[must_use]
    pub const fn through(mut self, k: usize, entries: &Progression, size: usize) -> Self {
        self.offset += entries.start * size;
        self.arrays[k] = (entries.count, entries.step * size as isize);
        self
    }

    /// Number of values of each element.
    #[inline(always)]
    const fn count(&self) -> usize {
        let (mut count, mut k) = (1, 0);
        while k < MOST_ARRAYS {
            count *= self.arrays[k].0;
            k += 1;
        }
        count
    }

    /// The bytes of an element from the least to one past the greatest that may be selected.
    const fn bounds(&self) -> (usize, usize) {
        let (mut low, mut high, mut k) = (self.offset, self.offset + self.leaf.size, 0);
        while k < MOST_ARRAYS {
            let (count, stride) = self.arrays[k];
            let reach = count.saturating_sub(1) * stride.unsigned_abs();
            if stride < 0 {
                low -= reach;
            } else {
                high += reach;
            }
            k += 1;
        }
        (low, high)
    }

    /// Where the i-th of the values begins.
    const fn nth(&self, mut i: usize) -> usize {
        let (mut at, mut k) = (self.offset, MOST_ARRAYS);
        while k > 0 {
            k -= 1;
            let (count, stride) = self.arrays[k];
            at = at.wrapping_add_signed((i % count) as isize * stride);
            i /= count;
        }
        at
    }

    /// What all distances between values are multiples of; 0 if there is a single one.
    const fn period(&self) -> usize {
        let (mut period, mut k) = (0, 0);
        while k < MOST_ARRAYS {
            if self.arrays[k].0 > 1 {
                period = gcd(period, self.arrays[k].1.unsigned_abs());
            }
            k += 1;
        }
        period
    }

    /// Whether both have a byte of an element in common.
    const fn meets(&self, other: &Self) -> bool {
        let ((low, high), (other_low, other_high)) = (self.bounds(), other.bounds());
        let (values, others) = (self.count(), other.count());
        let nothing = values == 0 || others == 0 || self.leaf.size == 0 || other.leaf.size == 0;
        if nothing || high <= other_low || other_high <= low {
            return false;
        }
        // Columns of one matrix are a multiple of its rows apart, and a few bytes: no need to look at each entry.
        let period = gcd(self.period(), other.period());
        if period > 0 {
            let apart = (other.offset as isize - self.offset as isize).rem_euclid(period as isize) as usize;
            if apart >= self.leaf.size && period - apart >= other.leaf.size {
                return false;
            }
        }
        let mut i = 0;
        while i < values {
            let (at, mut j) = (self.nth(i), 0);
            while j < others {
                let other_at = other.nth(j);
                if at < other_at + other.leaf.size && other_at < at + self.leaf.size {
                    return true;
                }
                j += 1;
            }
            i += 1;
        }
        false
    }
}

/// A loop over the values of a piece: so many times, so many bytes apart, or at the places of a list.
#[derive(Clone, Copy)]
pub struct Loop<'a> {
    /// How many times.
    pub count: usize,
    /// Bytes from one to the next; with a list, from an index to the next.
    pub stride: isize,
    /// The indices, if they are listed.
    pub list: Option<&'a Vec<usize>>,
}

impl Loop<'_> {
    /// Bytes from the first to the i-th.
    #[inline(always)]
    pub fn offset(&self, i: usize) -> isize {
        match self.list {
            None => i as isize * self.stride,
            Some(list) => (list[i] as isize - list[0] as isize) * self.stride,
        }
    }
}

/// The loops of a piece, from the outermost, and what it begins with.
pub struct Nest<'a> {
    /// Bytes from the array's first element to the first value.
    pub start: isize,
    loops: [Loop<'a>; MOST_DIMENSIONS + MOST_ARRAYS],
    depth: usize,
    /// The type of the values.
    pub leaf: &'static Leaf,
}

impl<'a> Nest<'a> {
    /// Adds a loop within all others.
    #[inline(always)]
    const fn push(&mut self, inner: Loop<'a>) {
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

    /// The type map of the innermost loops, none of which has a list, as many as fit a buffer; and how many are left.
    const fn runs(&self) -> (RunBuffer, usize) {
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
    const fn solved(&self) -> Option<Solved> {
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

impl<'a> Region<'a> {
    /// Number of pieces.
    #[inline(always)]
    const fn pieces(&self) -> usize {
        self.parts.len()
    }

    #[inline(always)]
    const fn axis(&self, piece: usize, dimension: usize) -> &Axis {
        &self.axes[piece * self.shape.len() + dimension]
    }

    /// The dimension that is walked at this depth, the outermost loop at 0.
    #[inline(always)]
    const fn dimension(&self, depth: usize) -> usize {
        match self.order {
            ArrayOrder::RowMajor => depth,
            ArrayOrder::ColumnMajor => self.shape.len() - 1 - depth,
        }
    }

    /// Number of elements that one piece selects.
    #[inline(always)]
    const fn elements(&self, piece: usize) -> usize {
        let (mut count, mut k) = (1usize, 0);
        while k < self.shape.len() {
            // What is too much is found by `packed_size`, and what is empty is so whatever the others are.
            count = match self.axis(piece, k).count() {
                0 => return 0,
                more => count.saturating_mul(more),
            };
            k += 1;
        }
        count
    }

    /// Number of values selected, of whatever type they are.
    pub const fn count(&self) -> usize {
        let (mut count, mut piece) = (0usize, 0);
        while piece < self.pieces() {
            count = count.saturating_add(self.elements(piece).saturating_mul(self.parts[piece].count()));
            piece += 1;
        }
        count
    }

    /// Whether not every pattern of the packed bytes is a value.
    #[inline(always)]
    pub(crate) const fn is_restricted(&self) -> bool {
        let mut part = 0;
        while part < self.parts.len() {
            if !self.parts[part].leaf.facts.any_pattern {
                return true;
            }
            part += 1;
        }
        false
    }

    /// Whether MPI may write what is selected itself.
    pub(crate) const fn is_receivable(&self) -> bool {
        let mut part = 0;
        while part < self.parts.len() {
            if !self.parts[part].leaf.facts.receivable {
                return false;
            }
            part += 1;
        }
        true
    }

    /// Whether MPI carries padding in what is selected.
    #[inline(always)]
    pub(crate) const fn has_blocks(&self) -> bool {
        let mut part = 0;
        while part < self.parts.len() {
            if self.parts[part].leaf.facts.has_blocks() {
                return true;
            }
            part += 1;
        }
        false
    }

    /// Bytes of everything selected, packed.
    #[inline(always)]
    pub const fn packed_size(&self) -> usize {
        let (mut size, mut piece) = (0usize, 0);
        while piece < self.pieces() {
            let part = &self.parts[piece];
            let values = self.elements(piece).saturating_mul(part.count());
            size = size.saturating_add(values.saturating_mul(part.leaf.facts.packed_size));
            piece += 1;
        }
        size
    }

    /// The strides of an array without gaps, in the order of the region.
    #[inline(always)]
    pub const fn contiguous(&self) -> Strides {
        let (mut strides, mut pitch, mut depth) =
            ([0; MOST_DIMENSIONS], self.element as isize, self.shape.len());
        while depth > 0 {
            depth -= 1;
            let k = self.dimension(depth);
            strides[k] = pitch;
            pitch *= self.shape[k] as isize;
        }
        strides
    }

    /// Number of elements of the array.
    pub const fn array_elements(&self) -> usize {
        let (mut elements, mut k) = (1, 0);
        while k < self.shape.len() {
            elements *= self.shape[k];
            k += 1;
        }
        elements
    }

    /// Bytes from the array's first element to the first value that a piece selects.
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

    /// The first piece that is not empty.
    const fn first_piece(&self) -> Option<usize> {
        let mut piece = 0;
        while piece < self.pieces() {
            if self.elements(piece) > 0 && self.parts[piece].count() > 0 {
                return Some(piece);
            }
            piece += 1;
        }
        None
    }

    /// Bytes from the array's first element to the first value selected, where views point; 0 if there is none.
    pub const fn first(&self, strides: &Strides) -> isize {
        match self.first_piece() {
            Some(piece) => self.start(piece, strides),
            None => 0,
        }
    }

    /// The loop nest of a piece, loops that continue one another joined; nothing for an empty piece.
    #[inline(always)]
    const fn nest(&self, piece: usize, strides: &Strides) -> Option<Nest<'a>> {
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

    /// The loop nest of the only piece that selects anything, in an array without gaps.
    const fn only_nest(&self) -> Option<Nest<'a>> {
        let (strides, mut only, mut piece) = (self.contiguous(), None, 0);
        while piece < self.pieces() {
            match (self.nest(piece, &strides), &only) {
                (Some(_), Some(_)) => return None,
                (Some(nest), None) => only = Some(nest),
                (None, _) => {}
            }
            piece += 1;
        }
        only
    }

    /// The loop nests of all pieces in an array without gaps, if they are few: nothing is behind the last one.
    pub const fn few_nests(&self) -> Option<[Option<Nest<'a>>; FEW_NESTS]> {
        let (strides, mut nests, mut count, mut piece) = (self.contiguous(), [const { None }; _], 0, 0);
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

    /// The loop nests of all pieces, in order.
    #[inline(always)]
    pub(crate) fn nests(&self, strides: &Strides) -> impl Iterator<Item = Nest<'a>> {
        (0..self.pieces()).filter_map(|piece| self.nest(piece, strides))
    }

    /// The region as a type tree, moved to begin at the first value.
    pub(crate) fn tree(&self, strides: &Strides) -> TypeTree {
        let first = self.first(strides);
        let (mut displacements, mut children) = (Vec::new(), Vec::new());
        for nest in self.nests(strides) {
            let leaf = (nest.leaf.lazy)().solution().tree.clone();
            displacements.push((nest.start - first) as i64);
            children.push(nest.loops().iter().rev().fold(leaf, |tree, level| {
                if level.list.is_none() {
                    return TypeTree::vector(level.count as u64, level.stride as i64, tree);
                }
                let displacements = (0..level.count).map(|i| level.offset(i) as i64);
                TypeTree::index(displacements.collect::<Vec<_>>(), tree)
            }));
        }
        match <[TypeTree; 1]>::try_from(children) {
            Ok([child]) => child,
            Err(children) => TypeTree::structure(displacements, children),
        }
    }

    /// The region compiled for packing.
    pub(crate) fn plan(&self, strides: &Strides) -> Plan {
        let pieces = self.nests(strides).map(|nest| {
            let layer =
                nest.loops().iter().rev().fold((nest.leaf.plan)().layer(), |layer, level| match level.list {
                    None => layer.repeated(level.count, level.stride),
                    Some(_) => layer.listed(&(0..level.count).map(|i| level.offset(i)).collect::<Vec<_>>()),
                });
            (nest.start, layer)
        });
        Plan::of_layer(Layer::sequence(pieces), (self.array_elements() * self.element) as isize)
    }

    /// The least-cost tree of a region without lists, moved to begin at the first value of an array without gaps, where it can
    /// be found in a constant: for a single piece, and for all of few runs.
    pub(crate) const fn solved(&self) -> Option<Solved> {
        if let Some(nest) = self.only_nest() {
            return nest.solved();
        }
        let (strides, mut all, mut piece) = (self.contiguous(), RunBuffer::new(), 0);
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

    /// Whether no byte is selected twice, for a region without lists.
    ///
    /// Pieces are compared in the order of a dimension in which they begin one after the other, if there is one, each with
    /// those before whose end it begins: rows, triangles and tiles need few comparisons, in constants too.
    pub const fn is_disjoint(&self) -> bool {
        if self.pieces() < 2 {
            return true;
        }
        let along = self.sorted_dimension();
        let mut piece = 0;
        while piece < self.pieces() {
            let mut other = piece + 1;
            while other < self.pieces() {
                if let Some(k) = along
                    && let (Some((_, last)), Some((first, _))) =
                        (self.bounds(piece, k), self.bounds(other, k))
                    && last < first
                {
                    break;
                }
                if self.meet(piece, self, other) {
                    return false;
                }
                other += 1;
            }
            piece += 1;
        }
        true
    }

    /// The dimension in which pieces begin in order, and where most of them end before the next one.
    const fn sorted_dimension(&self) -> Option<usize> {
        let (mut best, mut fewest, mut k) = (None, usize::MAX, 0);
        while k < self.shape.len() {
            let (mut sorted, mut overlaps, mut piece) = (true, 0, 1);
            while piece < self.pieces() {
                match (self.bounds(piece - 1, k), self.bounds(piece, k)) {
                    (Some((first, last)), Some((next, _))) => {
                        sorted = sorted && first <= next;
                        overlaps += (next <= last) as usize;
                    }
                    _ => sorted = false,
                }
                piece += 1;
            }
            if sorted && overlaps < fewest {
                (best, fewest) = (Some(k), overlaps);
            }
            k += 1;
        }
        best
    }

    const fn bounds(&self, piece: usize, dimension: usize) -> Option<(usize, usize)> {
        match self.axis(piece, dimension) {
            Axis::Regular(progression) => progression.bounds(),
            Axis::Listed { .. } => None,
        }
    }

    /// Whether a piece and one of another region of the same array have a byte in common. Lists are taken to meet all.
    const fn meet(&self, piece: usize, other: &Self, other_piece: usize) -> bool {
        let mut k = 0;
        while k < self.shape.len() {
            if let (Axis::Regular(a), Axis::Regular(b)) = (self.axis(piece, k), other.axis(other_piece, k))
                && !a.meets(b)
            {
                return false;
            }
            k += 1;
        }
        self.parts[piece].meets(&other.parts[other_piece])
    }

    /// Whether this region and another one of the same array have a byte in common.
    pub(crate) fn meets(&self, other: &Region<'_>) -> bool {
        /// Comparisons that are quicker than marks.
        const FEW: usize = 4096;
        let comparable = self.lists.is_empty() && other.lists.is_empty();
        if comparable && self.pieces().saturating_mul(other.pieces()) <= FEW {
            return (0..self.pieces()).any(|piece| (0..other.pieces()).any(|i| self.meet(piece, other, i)));
        }
        let mut marks = Marks::for_all_of(&[*self, *other]);
        self.nests(&self.contiguous()).for_each(|nest| marks.set(&nest));
        other.nests(&other.contiguous()).any(|nest| !marks.are_free(&nest))
    }

    /// Whether no byte is selected twice, where pieces are many or listed: by marking what is selected.
    pub(crate) fn is_disjoint_marked(&self) -> bool {
        let mut marks = Marks::for_all_of(&[*self]);
        self.nests(&self.contiguous()).all(|nest| marks.mark(&nest))
    }

    /// How often cells of an array of one or two dimensions are selected, counted up to 2: of these rows and columns, row by
    /// row. An array of one dimension is one row.
    pub(crate) fn cells(&self, rows: &[usize], columns: &[usize]) -> Vec<u8> {
        let mut cells = vec![0u8; rows.len() * columns.len()];
        for piece in (0..self.pieces()).filter(|piece| self.parts[*piece].count() > 0) {
            let selects = |k: usize, index: usize| match self.axis(piece, k) {
                Axis::Regular(progression) => {
                    usize::from(progression.meets(&Progression { start: index, count: 1, step: 1 }))
                }
                Axis::Listed { list, .. } => {
                    self.lists[*list].iter().filter(|listed| **listed == index).count()
                }
            };
            let last = self.shape.len() - 1;
            let times: Vec<usize> = columns.iter().map(|column| selects(last, *column)).collect();
            for (row, line) in rows.iter().zip(cells.chunks_mut(columns.len().max(1))) {
                let row = if last == 0 { 1 } else { selects(0, *row) };
                line.iter_mut().zip(&times).for_each(|(cell, column)| {
                    *cell = (usize::from(*cell) + row * column).min(2) as u8;
                });
            }
        }
        cells
    }
}

/// Calls back with the offset of each value, in order, until the answer is no.
fn for_each_value(at: isize, loops: &[Loop<'_>], visit: &mut impl FnMut(isize) -> bool) -> bool {
    match loops {
        [] => visit(at),
        [level, inner @ ..] => (0..level.count).all(|i| for_each_value(at + level.offset(i), inner, visit)),
    }
}

/// A mark for each element of an array if all values are whole elements, and for each byte otherwise.
struct Marks {
    marks: Vec<u64>,
    /// Bytes of a mark.
    unit: usize,
}

impl Marks {
    /// No marks yet, for regions of one array.
    fn for_all_of(regions: &[Region<'_>]) -> Self {
        let region = &regions[0];
        let whole =
            regions.iter().flat_map(|region| region.parts).all(|part| part.leaf.size == region.element);
        let unit = if whole { region.element.max(1) } else { 1 };
        let count = region.array_elements() * region.element / unit;
        Self { marks: vec![0; count.div_ceil(64)], unit }
    }

    /// The marks of the values of a nest: calls back for each, until the answer is no.
    fn each(unit: usize, nest: &Nest<'_>, visit: &mut impl FnMut(usize) -> bool) -> bool {
        let size = nest.leaf.size / unit;
        nest.leaf.facts.packed_size == 0
            || for_each_value(nest.start, nest.loops(), &mut |at| {
                let first = at as usize / unit;
                (first..first + size).all(&mut *visit)
            })
    }

    /// Marks what a nest selects, until it meets a mark, and says whether there was none.
    fn mark(&mut self, nest: &Nest<'_>) -> bool {
        Self::each(self.unit, nest, &mut |at| {
            let (word, bit) = (&mut self.marks[at / 64], 1 << (at % 64));
            let free = *word & bit == 0;
            *word |= bit;
            free
        })
    }

    /// Marks what a nest selects.
    fn set(&mut self, nest: &Nest<'_>) {
        Self::each(self.unit, nest, &mut |at| {
            self.marks[at / 64] |= 1 << (at % 64);
            true
        });
    }

    fn are_free(&self, nest: &Nest<'_>) -> bool {
        Self::each(self.unit, nest, &mut |at| self.marks[at / 64] & 1 << (at % 64) == 0)
    }
}
