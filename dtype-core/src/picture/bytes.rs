//! The bytes of a layout and their leaves: one by one in a window, or counted in each part of the whole.

use alloc::{collections::BTreeSet, vec, vec::Vec};
use core::ops::{ControlFlow, Range};

use super::nodes::Nodes;
use crate::{BaseType, Measure, TypeTree};

/// An entry of the type map.
pub(super) struct Cell {
    pub(super) at: i64,
    pub(super) base: BaseType,
    /// The number of the leaf that the entry belongs to.
    pub(super) leaf: usize,
}

impl Cell {
    pub(super) fn end(&self) -> i64 {
        self.at.saturating_add(self.base.span() as i64)
    }
}

/// The entries that begin in a window.
pub(super) struct Cells {
    /// The entries, sorted by displacement. The value and the index of a pair are two entries.
    pub(super) all: Vec<Cell>,
    /// `true` if no entry is missing.
    pub(super) are_all: bool,
}

impl Cells {
    /// Finds the entries of a tree whose displacement 0 is at `at`.
    pub(super) fn of(nodes: &Nodes<'_>, at: i64, window: (i64, i64)) -> Self {
        let mut search = Search { nodes, window, seen: BTreeSet::new(), left: 1 << 26, found: Vec::new() };
        let are_all = search.node(0, at).is_continue();
        let mut all = search.found;
        all.sort_by_key(|cell| (cell.at, cell.base));
        all.dedup_by_key(|cell| (cell.at, cell.base));
        Self { all, are_all }
    }
}

/// A search for the entries in a window.
struct Search<'s, 'a> {
    nodes: &'s Nodes<'a>,
    window: (i64, i64),
    /// The nodes visited so far, with their displacements. Copies may coincide; a node is visited only once
    /// at each displacement.
    seen: BTreeSet<(usize, i64)>,
    /// The number of steps that are left.
    left: u64,
    found: Vec<Cell>,
}

/// The number of steps for each visited node, in addition to one for each of its displacements.
const NODE: u64 = 256;

impl Search<'_, '_> {
    /// Takes a number of steps, if that many are left.
    fn takes(&mut self, steps: u64) -> ControlFlow<()> {
        match self.left.checked_sub(steps) {
            Some(left) => {
                self.left = left;
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break(()),
        }
    }

    fn node(&mut self, number: usize, at: i64) -> ControlFlow<()> {
        let node = self.nodes.node(number);
        let from = at.saturating_add(node.measure.lower_bound);
        let to = at.saturating_add(node.measure.upper_bound);
        let is_outside = from >= self.window.1 || to <= self.window.0;
        if node.measure.entries == 0 || is_outside || !self.seen.insert((number, at)) {
            return ControlFlow::Continue(());
        }
        self.takes(NODE)?;
        let place = |displacement: i64| at.saturating_add(displacement);
        match node.tree {
            TypeTree::Leaf(base) => {
                for (within, base) in base.pair().unwrap_or([(0, *base); 2]) {
                    let at = at + within as i64;
                    if (self.window.0..self.window.1).contains(&at) {
                        self.found.push(Cell { at, base, leaf: number });
                    }
                }
            }
            TypeTree::Vector { count, stride, .. } => self.copies(node.children[0], at, *stride, *count)?,
            TypeTree::Index { displacements, .. } => {
                self.takes(displacements.len() as u64)?;
                for displacement in displacements {
                    self.node(node.children[0], place(*displacement))?;
                }
            }
            TypeTree::IndexBucket { stride, buckets, displacements, .. } => {
                self.takes(displacements.len() as u64)?;
                for (count, displacement) in buckets.iter().zip(displacements) {
                    self.copies(node.children[0], place(*displacement), *stride, *count)?;
                }
            }
            TypeTree::Struct { displacements, .. } => {
                self.takes(displacements.len() as u64)?;
                for (child, displacement) in node.children.iter().zip(displacements) {
                    self.node(*child, place(*displacement))?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn copies(&mut self, child: usize, at: i64, stride: i64, count: u64) -> ControlFlow<()> {
        for i in within(&self.nodes.node(child).measure, at, stride, count, self.window) {
            self.node(child, at.saturating_add(stride * i))?;
        }
        ControlFlow::Continue(())
    }
}

/// Returns the range of the strided copies of a node that may reach into a window.
fn within(measure: &Measure, at: i64, stride: i64, count: u64, window: (i64, i64)) -> Range<i64> {
    let count = count as i64;
    let wide = |number: i64| i128::from(number);
    // Copy i reaches from `begin` + i · stride to `end` + i · stride.
    let (begin, end) = (wide(at) + wide(measure.lower_bound), wide(at) + wide(measure.upper_bound));
    let step = wide(stride);
    let (first, last) = match stride {
        0 => return 0..count.min(1),
        1.. => ((wide(window.0) - end).div_euclid(step), (wide(window.1) - begin).div_euclid(step) + 1),
        _ => ((wide(window.1) - begin).div_euclid(step) - 1, (wide(window.0) - end).div_euclid(step) + 2),
    };
    let clamp = |i: i128| i.clamp(0, wide(count)) as i64;
    clamp(first)..clamp(last).max(clamp(first))
}

/// The amount of data in each part of a large layout.
pub(super) struct Overview {
    from: i64,
    /// The length of a part in bytes.
    pub(super) part: i64,
    /// The bytes of data in each part.
    pub(super) data: Vec<u64>,
    /// The number of steps that are left. Once there are none, data is assumed to be spread evenly.
    left: u64,
}

const PARTS: i64 = 120;

impl Overview {
    pub(super) fn of(nodes: &Nodes<'_>, from: i64, to: i64) -> Self {
        let whole = to.saturating_sub(from);
        let least = whole / PARTS + 1;
        // If the period is not too long, a part is a whole number of periods, so that parts of equal copies
        // look equal.
        let part = match nodes.period() {
            Some(period) if period <= 16 * least => {
                least.div_euclid(period).saturating_add(1).saturating_mul(period)
            }
            _ => least,
        };
        let parts = (whole / part + i64::from(whole % part > 0)).clamp(1, PARTS);
        let mut overview = Self { from, part, data: vec![0; parts as usize], left: 1 << 24 };
        overview.add(nodes, 0, 0);
        overview
    }

    /// Returns the part that contains a byte.
    fn of_byte(&self, at: i64) -> usize {
        (at.saturating_sub(self.from) / self.part).clamp(0, self.data.len() as i64 - 1) as usize
    }

    fn add(&mut self, nodes: &Nodes<'_>, number: usize, at: i64) {
        let node = nodes.node(number);
        if node.measure.entries == 0 {
            return;
        }
        let from = at.saturating_add(node.measure.lower_bound);
        let to = at.saturating_add(node.measure.upper_bound);
        let (first, last) = (self.of_byte(from), self.of_byte(to - 1));
        let steps = match node.tree {
            TypeTree::Index { displacements, .. }
            | TypeTree::IndexBucket { displacements, .. }
            | TypeTree::Struct { displacements, .. } => displacements.len() as u64,
            TypeTree::Leaf(_) | TypeTree::Vector { .. } => 1,
        };
        let place = |displacement: i64| at.saturating_add(displacement);
        match node.tree {
            _ if first == last => self.data[first] += node.measure.size,
            _ if !self.takes(steps) => self.evenly(from, to, node.measure.size),
            TypeTree::Leaf(_) => self.evenly(from, to, node.measure.size),
            TypeTree::Vector { count, stride, .. } => {
                self.copies(nodes, node.children[0], at, *stride, *count);
            }
            TypeTree::Index { displacements, .. } => {
                for displacement in displacements {
                    self.add(nodes, node.children[0], place(*displacement));
                }
            }
            TypeTree::IndexBucket { stride, buckets, displacements, .. } => {
                for (count, displacement) in buckets.iter().zip(displacements) {
                    self.copies(nodes, node.children[0], place(*displacement), *stride, *count);
                }
            }
            TypeTree::Struct { displacements, .. } => {
                for (child, displacement) in node.children.iter().zip(displacements) {
                    self.add(nodes, *child, place(*displacement));
                }
            }
        }
    }

    /// Takes a number of steps, if that many are left.
    fn takes(&mut self, steps: u64) -> bool {
        let left = self.left.checked_sub(steps);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }

    /// Adds strided copies of a node. For close and small copies, it is enough to count those that begin in
    /// each part.
    fn copies(&mut self, nodes: &Nodes<'_>, child: usize, at: i64, stride: i64, count: u64) {
        let measure = &nodes.node(child).measure;
        if count == 0 || measure.entries == 0 {
            return;
        }
        let last = at.saturating_add(stride.saturating_mul(count as i64 - 1));
        let begin = at.min(last).saturating_add(measure.lower_bound);
        if stride.unsigned_abs() <= self.part as u64 && measure.true_extent() <= self.part {
            self.spread_over(begin, stride.abs(), count, measure.size);
        } else if self.takes(count) {
            (0..count as i64).for_each(|i| self.add(nodes, child, at.saturating_add(stride * i)));
        } else {
            let end = at.max(last).saturating_add(measure.upper_bound);
            self.evenly(begin, end, measure.size.saturating_mul(count));
        }
    }

    /// Adds copies of `size` bytes of data that begin at equal distances.
    fn spread_over(&mut self, from: i64, step: i64, count: u64, size: u64) {
        if step == 0 {
            let part = self.of_byte(from);
            self.data[part] += count.saturating_mul(size);
            return;
        }
        let mut done = 0;
        for part in self.of_byte(from)..self.data.len() {
            let end = self.from.saturating_add(self.part.saturating_mul(part as i64 + 1));
            let before = end.saturating_sub(from).max(0) as u64;
            let begun = before.div_ceil(step as u64).min(count);
            self.data[part] += (begun - done).saturating_mul(size);
            done = begun;
        }
    }

    fn evenly(&mut self, from: i64, to: i64, size: u64) {
        let length = i128::from(to) - i128::from(from);
        for part in self.of_byte(from)..=self.of_byte(to - 1) {
            let begin = self.from.saturating_add(self.part.saturating_mul(part as i64));
            let end = begin.saturating_add(self.part);
            let shared = i128::from(end.min(to)) - i128::from(begin.max(from));
            self.data[part] += (i128::from(size) * shared / length) as u64;
        }
    }
}
