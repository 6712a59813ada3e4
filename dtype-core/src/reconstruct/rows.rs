//! Rows of the tree search, and those of them that others begin like: see [`super::tree`].

use alloc::{boxed::Box, vec, vec::Vec};

use super::{open::OpenRuns, open_repeats::Waiting};
use crate::{
    cuts::Long,
    repeat::{Repeat, StrideCounts},
};

/// How the cheapest tree of a segment is made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Root {
    Unknown,
    /// A single element.
    Atom,
    /// The node over the single atom that all elements are of.
    Singles(Repeat),
    /// The node over the segment's first `length` elements; `length` may be the whole where it only shifts.
    Repeat(Repeat, u32),
    /// The tree that is paid for already.
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
    /// No tree has been found. One whose cost is `u64::MAX`, or more, is none either: no tree that costs less
    /// has it as a part.
    pub(super) const UNKNOWN: Self = Self { cost: u64::MAX, root: Root::Unknown };

    pub(super) fn relax(&mut self, cost: u64, root: Root) {
        if cost < self.cost {
            *self = Self { cost, root };
        }
    }
}

/// All segments that begin at `start`, by length.
#[derive(Default)]
pub(super) struct Row {
    pub(super) start: usize,
    /// Least cost without a strc at the root: the cost as a part of a strc.
    pub(super) whole: Vec<Choice>,
    /// Least cost of the segment moved to begin anywhere but at 0. Only for the first row.
    pub(super) shifted: Vec<Choice>,
    /// The best sequence of two or more parts: its cost, and where its last part begins in the segment.
    pub(super) parts: Vec<(u64, usize)>,
    /// The cost of the best sequence of one or more parts.
    pub(super) before: Vec<u64>,
    /// What it takes to make the row longer: sequences that end in open nodes, and the elements of the first
    /// atom that have been looked at.
    pub(super) open: OpenRuns,
    pub(super) waiting: Waiting,
    pub(super) singles: Singles,
}

/// How many elements of one atom lie one after the other, how many copies of it they are, and the distances
/// of all but the first.
pub(super) struct Singles {
    pub(super) elements: usize,
    pub(super) copies: u64,
    pub(super) strides: Option<StrideCounts>,
    /// The elements whose copies are not listed one by one.
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

    /// Elements of the longest segment.
    pub(super) fn length(&self) -> usize {
        self.whole.len() - 1
    }

    /// Memory that it takes, in segments.
    fn size(&self) -> usize {
        self.length() + self.open.size()
    }
}

/// Something of each row, in the order in which rows are solved: from the last one on.
pub(super) struct ByRow<T> {
    all: Vec<T>,
    /// By first element of a row, where what is of it ends. It begins where the next row's ends.
    ends: Vec<usize>,
}

impl<T: Clone> ByRow<T> {
    /// Nothing of any of `n` rows.
    pub(super) fn new(n: usize) -> Self {
        Self { all: Vec::new(), ends: vec![0; n + 1] }
    }

    pub(super) fn of(&self, row: usize) -> &[T] {
        &self.all[self.ends[row + 1]..self.ends[row]]
    }

    /// Goes on with the row before the last one, which has nothing yet.
    pub(super) fn begin(&mut self, row: usize) {
        self.ends[row] = self.all.len();
    }

    /// Adds something to the last row.
    pub(super) fn push(&mut self, row: usize, one: T) {
        self.all.push(one);
        self.ends[row] = self.all.len();
    }

    /// Adds to the last row what another one has.
    pub(super) fn push_again(&mut self, row: usize, other: usize) {
        self.all.extend_from_within(self.ends[other + 1]..self.ends[other]);
        self.ends[row] = self.all.len();
    }
}

/// Rows that others will begin like.
pub(super) struct Rows {
    /// By first element.
    wanted: Vec<bool>,
    solved: Vec<Option<Box<Row>>>,
    size: usize,
    /// A row that may be overwritten.
    spare: Option<Box<Row>>,
}

impl Rows {
    /// Shorter ones are solved as quickly as kept.
    pub(super) const SHORT: usize = 8;
    /// The most that are kept, in segments: about 50 MB.
    const MOST: usize = 1 << 20;

    /// For `n` rows, of which these are wanted.
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

    /// The row from `start` on, if it is there.
    pub(super) fn take(&mut self, start: usize) -> Option<Box<Row>> {
        let row = self.solved[start].take()?;
        self.size -= row.size();
        Some(row)
    }

    pub(super) fn spare(&mut self) -> Box<Row> {
        self.spare.take().unwrap_or_default()
    }
}
