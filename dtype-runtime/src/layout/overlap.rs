//! Tests for bytes that are selected twice.

use dtype_core::Progression;

use super::{
    nest::{Nest, for_each_place},
    region::{Axis, Region},
};

impl Region<'_> {
    /// Returns `true` if no byte is selected twice. The region must not have lists, unless it has one piece
    /// and they ascend.
    ///
    /// If the pieces are sorted by their first index in some dimension, each piece is compared only with the
    /// later pieces that begin before its end in that dimension. So rows, triangles and tiles need few
    /// comparisons, also in constant evaluation.
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

    /// Returns the dimension in which the pieces are sorted by their first index, or `None` if there is none.
    /// If there are several, it is the one in which the fewest pieces overlap the next piece.
    const fn sorted_dimension(&self) -> Option<usize> {
        let mut best = None;
        let mut fewest = usize::MAX;
        let mut k = 0;
        while k < self.shape.len() {
            let mut sorted = true;
            let mut overlaps = 0;
            let mut piece = 1;
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

    /// Returns `true` if a piece and a piece of another region of the same array have a byte in common. A
    /// list counts as overlapping with any indices of its dimension.
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
        let (part, other) = (&self.parts[piece], &other.parts[other_piece]);
        // Elements without bytes are places, too: no two views may lend one of them for writing.
        if self.element == 0 { part.count() > 0 && other.count() > 0 } else { part.meets(other) }
    }

    /// Returns `true` if this region and another region of the same array have a byte in common.
    pub(crate) fn meets(&self, other: &Region<'_>) -> bool {
        /// The largest number of comparisons that are faster than marks.
        const FEW: usize = 4096;
        let comparable = self.lists.is_empty() && other.lists.is_empty();
        if comparable && self.pieces().saturating_mul(other.pieces()) <= FEW {
            return (0..self.pieces()).any(|piece| (0..other.pieces()).any(|i| self.meet(piece, other, i)));
        }
        let (mut marks, [one, two]) = Marks::for_all_of([self, other]);
        for nest in one.nests(&one.contiguous()) {
            marks.mark(&nest);
        }
        two.nests(&two.contiguous()).any(|nest| !marks.are_free(&nest))
    }

    /// Returns `true` if no byte is selected twice, for regions with lists or many pieces. It marks the
    /// selected elements or bytes.
    pub(crate) fn is_disjoint_marked(&self) -> bool {
        let (mut marks, [region]) = Marks::for_all_of([self]);
        region.nests(&region.contiguous()).all(|nest| marks.mark(&nest))
    }

    /// Returns the number of times that each cell in these rows and columns is selected, but at most 2, row
    /// by row. The array has one or two dimensions; an array of one dimension is one row.
    pub(crate) fn cells(&self, rows: &[usize], columns: &[usize]) -> Vec<u8> {
        let mut cells = vec![0u8; rows.len() * columns.len()];
        for piece in (0..self.pieces()).filter(|piece| self.parts[*piece].count() > 0) {
            let selects = |k: usize, index: usize| match self.axis(piece, k) {
                Axis::Regular(progression) => {
                    usize::from(progression.meets(&Progression { start: index, count: 1, step: 1 }))
                }
                Axis::Listed { list, .. } => self.lists[*list].times(index),
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

/// The marks of an array: one for each element if all values are whole elements, otherwise one for each byte.
struct Marks {
    marks: Vec<u64>,
    /// The number of bytes that a mark stands for, and the least number of marks of a value.
    unit: (usize, usize),
}

impl Marks {
    /// Returns the unset marks for regions of one array, and the regions for them. Elements without bytes get
    /// one byte, and one mark.
    fn for_all_of<'a, const N: usize>(regions: [&Region<'a>; N]) -> (Self, [Region<'a>; N]) {
        let least = usize::from(regions.iter().any(|region| region.element == 0));
        let regions = regions.map(|region| Region { element: region.element.max(1), ..*region });
        let region = &regions[0];
        let is_whole =
            |region: &Region<'_>| region.parts.iter().all(|part| part.leaf.of.size == region.element);
        let unit = if regions.iter().all(is_whole) { region.element.max(1) } else { 1 };
        let count = region.array_size() / unit;
        (Self { marks: vec![0; count.div_ceil(64)], unit: (unit, least) }, regions)
    }

    /// Calls `visit` with the index of each mark of the values of a nest.
    fn each((unit, least): (usize, usize), nest: &Nest<'_>, visit: &mut impl FnMut(usize)) {
        let size = (nest.leaf.of.size / unit).max(least);
        for_each_place(nest.start, nest.loops(), &mut |at| {
            let first = at as usize / unit;
            (first..first + size).for_each(&mut *visit);
        });
    }

    /// Sets the marks of the values of a nest. Returns `true` if none of them was set before.
    fn mark(&mut self, nest: &Nest<'_>) -> bool {
        let mut are_free = true;
        Self::each(self.unit, nest, &mut |at| {
            let (word, bit) = (&mut self.marks[at / 64], 1 << (at % 64));
            are_free &= *word & bit == 0;
            *word |= bit;
        });
        are_free
    }

    fn are_free(&self, nest: &Nest<'_>) -> bool {
        let mut are_free = true;
        Self::each(self.unit, nest, &mut |at| are_free &= self.marks[at / 64] & 1 << (at % 64) == 0);
        are_free
    }
}
