//! The rows of the tree search, and the storage of rows for reuse: see [`super::tree`].

use alloc::{boxed::Box, vec, vec::Vec};

use super::{open::OpenRuns, open_repeats::Waiting};
use crate::{
    cuts::Long,
    repeat::{Repeat, StrideCounts},
};

/// The root of the cheapest tree of a segment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Root {
    Unknown,
    /// A single element.
    Atom,
    /// A node over the single atom of which all elements are copies.
    Singles(Repeat),
    /// A node over the tree of the segment's first elements; the number counts them. If they are the whole
    /// segment, the node only shifts it.
    Repeat(Repeat, u32),
    /// The tree that is paid for.
    Paid,
    /// A strc of the best sequence of parts.
    Parts,
    /// A strc whose only part is the whole segment, which it shifts.
    Part,
}

#[derive(Clone, Copy)]
pub(super) struct Choice {
    pub(super) cost: u64,
    pub(super) root: Root,
}

impl Choice {
    /// The value for a segment without a known tree. A tree of cost `u64::MAX` or more counts as unknown,
    /// because no cheaper tree has it as a part.
    pub(super) const UNKNOWN: Self = Self { cost: u64::MAX, root: Root::Unknown };

    pub(super) fn relax(&mut self, cost: u64, root: Root) {
        if cost < self.cost {
            *self = Self { cost, root };
        }
    }
}

/// The segments that begin at `start`, by length.
#[derive(Default)]
pub(super) struct Row {
    pub(super) start: usize,
    /// The least cost without a strc at the root, which is the cost that counts in a strc.
    pub(super) whole: Vec<Choice>,
    /// The least cost of the segment moved to begin anywhere except at 0. Only for the first row.
    pub(super) shifted: Vec<Choice>,
    /// The best sequence of two or more parts: its cost, and the place in the segment where its last part
    /// begins.
    pub(super) parts: Vec<(u64, usize)>,
    /// The cost of the best sequence of one or more parts.
    pub(super) before: Vec<u64>,
    /// The state needed to make the row longer: the sequences that end in open nodes, and the elements of the
    /// first atom that have been read.
    pub(super) open: OpenRuns,
    pub(super) waiting: Waiting,
    pub(super) singles: Singles,
}

/// The elements that follow each other and are copies of the row's first atom: their number, the number of
/// copies in them, and the frequencies of the distances between the copies.
pub(super) struct Singles {
    pub(super) elements: usize,
    pub(super) copies: u64,
    pub(super) strides: Option<StrideCounts>,
    /// The elements whose copies are too many to be listed.
    pub(super) long: Long,
}

impl Default for Singles {
    fn default() -> Self {
        Self { elements: 0, copies: 0, strides: None, long: Long::None }
    }
}

impl Row {
    pub(super) fn reset(&mut self, start: usize, length: usize) {
        self.start = start;
        self.whole.clear();
        self.shifted.clear();
        self.parts.clear();
        self.before.clear();
        self.waiting.clear();
        self.singles = Singles::default();
        self.resize(length);
    }

    pub(super) fn resize(&mut self, length: usize) {
        self.whole.resize(length + 1, Choice::UNKNOWN);
        self.shifted.resize(if self.start == 0 { length + 1 } else { 0 }, Choice::UNKNOWN);
        self.parts.resize(length + 1, (u64::MAX, 0));
        self.before.resize(length + 1, u64::MAX);
    }

    /// Returns the number of elements of the longest segment.
    pub(super) fn length(&self) -> usize {
        self.whole.len() - 1
    }

    /// Returns the memory that the row takes, in segments.
    fn size(&self) -> usize {
        self.length() + self.open.size()
    }
}

/// Values for each row, stored in the order in which rows are solved: from the last row on.
pub(super) struct ByRow<T> {
    all: Vec<T>,
    /// The end of each row's values, by the row's first element. They begin where those of the next row end.
    ends: Vec<usize>,
}

impl<T: Clone> ByRow<T> {
    /// Creates the storage for `n` rows, without values.
    pub(super) fn new(n: usize) -> Self {
        Self { all: Vec::new(), ends: vec![0; n + 1] }
    }

    pub(super) fn of(&self, row: usize) -> &[T] {
        &self.all[self.ends[row + 1]..self.ends[row]]
    }

    /// Begins a row, which has no values yet. It must be the row before the last one begun.
    pub(super) fn begin(&mut self, row: usize) {
        self.ends[row] = self.all.len();
    }

    /// Adds a value to the last row begun.
    pub(super) fn push(&mut self, row: usize, one: T) {
        self.all.push(one);
        self.ends[row] = self.all.len();
    }

    /// Adds the values of another row to the last row begun.
    pub(super) fn push_again(&mut self, row: usize, other: usize) {
        self.all.extend_from_within(self.ends[other + 1]..self.ends[other]);
        self.ends[row] = self.all.len();
    }
}

/// The solved rows that are kept for reuse, because another row begins with the same segments.
pub(super) struct Rows {
    /// `true` for each row to keep, by first element.
    wanted: Vec<bool>,
    solved: Vec<Option<Box<Row>>>,
    size: usize,
    /// A row whose memory may be used again.
    spare: Option<Box<Row>>,
}

impl Rows {
    /// The length from which rows are kept. Shorter rows are solved as quickly as kept.
    pub(super) const SHORT: usize = 8;
    /// The largest memory of the kept rows, in segments: about 50 MB.
    const MOST: usize = 1 << 20;

    /// Creates the storage for `n` rows. `wanted` are the rows to keep.
    pub(super) fn new<'a>(n: usize, wanted: impl Iterator<Item = &'a usize>) -> Self {
        let mut rows =
            Self { wanted: vec![false; n], solved: (0..n).map(|_| None).collect(), size: 0, spare: None };
        wanted.for_each(|start| rows.wanted[*start] = true);
        rows
    }

    pub(super) fn put(&mut self, row: Box<Row>) {
        let (start, size) = (row.start, self.size + row.size());
        if self.wanted[start] && size <= Self::MOST {
            (self.solved[start], self.size) = (Some(row), size);
        } else {
            self.spare = Some(row);
        }
    }

    /// Removes and returns the row from `start` on, if it was kept.
    pub(super) fn take(&mut self, start: usize) -> Option<Box<Row>> {
        let row = self.solved[start].take()?;
        self.size -= row.size();
        Some(row)
    }

    pub(super) fn spare(&mut self) -> Box<Row> {
        self.spare.take().unwrap_or_default()
    }
}
