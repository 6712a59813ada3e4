//! The cost of a layout's data, beside the cost of the nodes that describe it.

use crate::{BaseType, NodeCosts, TypeTree};

impl NodeCosts {
    /// Returns the cost of a tree with its data: its nodes, contiguous blocks, changes of base type and
    /// bytes. With measured constants, this is a time in their unit. Saturates at `u64::MAX`.
    ///
    /// ```
    /// use dtype_core::{BaseType, NodeCosts, TypeTree};
    /// let costs = NodeCosts { block: 100, change: 10, byte: 1, ..NodeCosts::processing() };
    /// let row = TypeTree::vector(4, 8, TypeTree::Leaf(BaseType::F64));
    /// let rows = TypeTree::vector(10, 800, row);
    /// assert_eq!(costs.time(&rows), rows.cost(&costs) + 10 * 100 + 10 * 32);
    /// let fields = [BaseType::U32, BaseType::F32].map(TypeTree::Leaf);
    /// let records = TypeTree::vector(5, 24, TypeTree::structure([0, 4], fields));
    /// assert_eq!(costs.time(&records), records.cost(&costs) + 5 * 100 + 9 * 10 + 40);
    /// ```
    pub fn time(&self, tree: &TypeTree) -> u64 {
        let nodes = tree.cost(self);
        let Some(Counts { bytes, blocks, changes, .. }) = Counts::of(tree) else { return nodes };
        let data = [(self.block, blocks), (self.change, changes), (self.byte, bytes)];
        data.into_iter().fold(nodes, |all, (price, count)| all.saturating_add(price.saturating_mul(count)))
    }
}

/// The entries of a tree in order, reduced to the counts that a cost depends on. All trees of a type map have
/// the same counts.
#[derive(Clone, Copy)]
pub(crate) struct Counts {
    pub bytes: u64,
    /// The number of contiguous blocks. An entry that begins where the entry before ends is in the same
    /// block.
    pub blocks: u64,
    /// The number of entries whose base type differs from that of the entry before.
    changes: u64,
    /// The displacement of the first entry in bytes, and its base type.
    first: (i64, BaseType),
    /// The end of the last entry in bytes, and its base type.
    last: (i64, BaseType),
}

impl Counts {
    /// Counts the data of a tree. Returns `None` if there is no entry.
    pub fn of(tree: &TypeTree) -> Option<Self> {
        match tree {
            TypeTree::Leaf(base) => {
                let (bytes, first, last) = (base.size(), (0, *base), (base.size() as i64, *base));
                Some(Self { bytes, blocks: 1, changes: 0, first, last })
            }
            TypeTree::Vector { count, stride, child } => Self::of(child)?.repeated(*count, *stride),
            TypeTree::Index { displacements, child } => {
                let child = Self::of(child)?;
                displacements.iter().map(|at| child.moved(*at)).reduce(Self::then)
            }
            TypeTree::IndexBucket { stride, buckets, displacements, child } => {
                let child = Self::of(child)?;
                let buckets = buckets.iter().zip(displacements);
                let copies =
                    buckets.filter_map(|(count, at)| Some(child.repeated(*count, *stride)?.moved(*at)));
                copies.reduce(Self::then)
            }
            TypeTree::Struct { displacements, children } => {
                let parts = displacements.iter().zip(children);
                parts.filter_map(|(at, child)| Some(Self::of(child)?.moved(*at))).reduce(Self::then)
            }
        }
    }

    fn moved(self, by: i64) -> Self {
        let moved = |(at, base): (i64, BaseType)| (at.wrapping_add(by), base);
        Self { first: moved(self.first), last: moved(self.last), ..self }
    }

    /// Returns the counts of `count` copies, `stride` bytes apart, or `None` if `count` is 0.
    fn repeated(self, count: u64, stride: i64) -> Option<Self> {
        let more = count.checked_sub(1)?;
        let copy = self.moved(stride);
        let joined = if self.last.0 == copy.first.0 { more } else { 0 };
        let between = if self.last.1 == copy.first.1 { 0 } else { more };
        Some(Self {
            bytes: self.bytes.saturating_mul(count),
            blocks: self.blocks.saturating_mul(count).saturating_sub(joined),
            changes: self.changes.saturating_mul(count).saturating_add(between),
            first: self.first,
            last: self.moved(stride.wrapping_mul(more as i64)).last,
        })
    }

    /// Returns the counts of this data followed by `next`.
    fn then(self, next: Self) -> Self {
        let joined = u64::from(self.last.0 == next.first.0);
        let between = u64::from(self.last.1 != next.first.1);
        Self {
            bytes: self.bytes.saturating_add(next.bytes),
            blocks: self.blocks.saturating_add(next.blocks).saturating_sub(joined),
            changes: self.changes.saturating_add(next.changes).saturating_add(between),
            first: self.first,
            last: next.last,
        }
    }
}
