//! Which bytes a layout has, and whose they are: one by one in a window, or how many in each part of the
//! whole.

use alloc::{collections::BTreeSet, vec, vec::Vec};

use super::nodes::Nodes;
use crate::{BaseType, TypeTree};

/// An entry of the type map.
pub(super) struct Cell {
    pub(super) at: i64,
    pub(super) base: BaseType,
    /// The leaf that it is of.
    pub(super) leaf: usize,
}

impl Cell {
    pub(super) fn end(&self) -> i64 {
        self.at.saturating_add(self.base.span() as i64)
    }
}

/// The entries of a tree, whose displacement 0 is at `at`, that begin in a window, by their displacements. Of
/// a pair, the value and the index are one each.
pub(super) fn cells(nodes: &Nodes<'_>, at: i64, window: (i64, i64)) -> Vec<Cell> {
    let (mut all, mut seen) = (Vec::new(), BTreeSet::new());
    collect(nodes, 0, at, window, &mut seen, &mut all);
    all.sort_by_key(|cell| (cell.at, cell.base));
    all.dedup_by_key(|cell| (cell.at, cell.base));
    all
}

/// Copies of a node may lie on each other: what was seen is not looked at again.
fn collect(
    nodes: &Nodes<'_>,
    number: usize,
    at: i64,
    window: (i64, i64),
    seen: &mut BTreeSet<(usize, i64)>,
    all: &mut Vec<Cell>,
) {
    let node = nodes.node(number);
    let from = at.saturating_add(node.measure.lower_bound);
    let to = at.saturating_add(node.measure.upper_bound);
    if node.measure.entries == 0 || from >= window.1 || to <= window.0 || !seen.insert((number, at)) {
        return;
    }
    if let TypeTree::Leaf(base) = node.tree {
        let parts = base.pair().unwrap_or([(0, *base); 2]);
        for (within, base) in parts {
            let at = at + within as i64;
            if (window.0..window.1).contains(&at) {
                all.push(Cell { at, base, leaf: number });
            }
        }
        return;
    }
    each_copy(nodes, number, at, window, &mut |child, at| collect(nodes, child, at, window, seen, all));
}

/// Calls `visit` with each child that may reach into a window, and where it is.
fn each_copy(
    nodes: &Nodes<'_>,
    number: usize,
    at: i64,
    window: (i64, i64),
    visit: &mut dyn FnMut(usize, i64),
) {
    let node = nodes.node(number);
    let place = |displacement: i64| at.saturating_add(displacement);
    match node.tree {
        TypeTree::Leaf(_) => {}
        TypeTree::Vector { count, stride, .. } => {
            let child = node.children[0];
            for i in within(nodes, child, place(0), *stride, *count, window) {
                visit(child, place(stride * i));
            }
        }
        TypeTree::Index { displacements, .. } => {
            for displacement in displacements {
                visit(node.children[0], place(*displacement));
            }
        }
        TypeTree::IndexBucket { stride, buckets, displacements, .. } => {
            let child = node.children[0];
            for (count, displacement) in buckets.iter().zip(displacements) {
                for i in within(nodes, child, place(*displacement), *stride, *count, window) {
                    visit(child, place(displacement + stride * i));
                }
            }
        }
        TypeTree::Struct { displacements, .. } => {
            for (child, displacement) in node.children.iter().zip(displacements) {
                visit(*child, place(*displacement));
            }
        }
    }
}

/// Which of the strided copies of a child may reach into a window.
fn within(
    nodes: &Nodes<'_>,
    child: usize,
    at: i64,
    stride: i64,
    count: u64,
    window: (i64, i64),
) -> core::ops::Range<i64> {
    let measure = &nodes.node(child).measure;
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

/// How much of each part of a large layout is data.
pub(super) struct Overview {
    from: i64,
    /// Bytes of each part.
    pub(super) part: i64,
    /// Bytes of data in each.
    pub(super) data: Vec<u64>,
    /// Steps that may still be made. Then data are taken to be spread evenly.
    left: u64,
}

const PARTS: i64 = 120;

impl Overview {
    pub(super) fn of(nodes: &Nodes<'_>, from: i64, to: i64) -> Self {
        let whole = to.saturating_sub(from);
        let least = whole / PARTS + 1;
        // Whole periods, if they are not too long: then parts are alike where copies are.
        let part = match nodes.period() {
            Some(period) if period <= 16 * least => {
                least.div_euclid(period).saturating_add(1).saturating_mul(period)
            }
            _ => least,
        };
        let parts = (whole / part + i64::from(whole % part > 0)).clamp(1, PARTS);
        let mut overview = Self { from, part, data: vec![0; parts as usize], left: 1 << 20 };
        overview.add(nodes, 0, 0);
        overview
    }

    /// The part that a byte is in.
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
        self.left = self.left.saturating_sub(1);
        if first == last {
            self.data[first] += node.measure.size;
            return;
        }
        if let TypeTree::Vector { count, stride, .. } = node.tree {
            let child = &nodes.node(node.children[0]).measure;
            // Copies so close and so small that it is enough to count those that begin in each part.
            if stride.unsigned_abs() <= self.part as u64 && child.true_extent() <= self.part {
                let begins = at.saturating_add(child.lower_bound).min(
                    at.saturating_add(child.lower_bound)
                        .saturating_add(stride.saturating_mul(*count as i64 - 1)),
                );
                self.spread_over(begins, stride.abs(), *count, child.size);
                return;
            }
        }
        if self.left == 0 || matches!(node.tree, TypeTree::Leaf(_)) {
            self.evenly(from, to, node.measure.size);
            return;
        }
        each_copy(nodes, number, at, (i64::MIN, i64::MAX), &mut |child, at| self.add(nodes, child, at));
    }

    /// Adds copies that begin at equal distances.
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
