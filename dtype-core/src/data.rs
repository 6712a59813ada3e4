//! What the data of a layout costs beside the nodes that describe it.

use crate::{NodeCosts, TypeTree};

impl NodeCosts {
    /// What a tree costs with its data: its nodes, its contiguous blocks and its bytes. Where the constants
    /// were measured, that is a time, in their units. Saturates at `u64::MAX`.
    ///
    /// Adjacent blocks count once where they are copies of one, or parts of one strc.
    ///
    /// ```
    /// use dtype_core::{BaseType, NodeCosts, TypeTree};
    /// let costs = NodeCosts { block: 100, byte: 1, ..NodeCosts::processing() };
    /// let row = TypeTree::vector(4, 8, TypeTree::Leaf(BaseType::F64));
    /// let rows = TypeTree::vector(10, 800, row);
    /// assert_eq!(costs.time(&rows), rows.cost(&costs) + 10 * 100 + 10 * 32);
    /// ```
    pub fn time(&self, tree: &TypeTree) -> u64 {
        let data = Data::of(tree);
        let blocks = self.block.saturating_mul(data.blocks);
        tree.cost(self).saturating_add(blocks).saturating_add(self.byte.saturating_mul(data.bytes))
    }
}

/// The data that a tree describes.
#[derive(Clone, Copy)]
struct Data {
    bytes: u64,
    /// Its contiguous blocks.
    blocks: u64,
    /// Where the last of these begins and ends, in bytes, if that is known.
    last: Option<(i64, i64)>,
}

impl Data {
    const NONE: Self = Self { bytes: 0, blocks: 0, last: None };

    fn of(tree: &TypeTree) -> Self {
        match tree {
            TypeTree::Leaf(base) => {
                Self { bytes: base.size(), blocks: 1, last: Some((0, base.size() as i64)) }
            }
            TypeTree::Vector { count, stride, child } => Self::of(child).repeated(*count, *stride),
            TypeTree::Index { displacements, child } => {
                let child = Self::of(child);
                displacements.iter().fold(Self::NONE, |all, at| all.then(child, *at))
            }
            TypeTree::IndexBucket { stride, buckets, displacements, child } => {
                let child = Self::of(child);
                let buckets = buckets.iter().zip(displacements);
                buckets.fold(Self::NONE, |all, (count, at)| all.then(child.repeated(*count, *stride), *at))
            }
            TypeTree::Struct { displacements, children } => {
                let parts = displacements.iter().zip(children);
                parts.fold(Self::NONE, |all, (at, child)| all.then(Self::of(child), *at))
            }
        }
    }

    /// Copies of it.
    fn repeated(self, count: u64, stride: i64) -> Self {
        let bytes = self.bytes.saturating_mul(count);
        match (self.blocks, self.last) {
            _ if count == 0 => Self::NONE,
            _ if count == 1 => self,
            (1, Some((start, end))) if end.saturating_sub(start) == stride => {
                let end = start.saturating_add(i64::try_from(bytes).unwrap_or(i64::MAX));
                Self { bytes, blocks: 1, last: Some((start, end)) }
            }
            (blocks, _) => Self { bytes, blocks: blocks.saturating_mul(count), last: None },
        }
    }

    /// This, and then what is given, moved.
    fn then(self, next: Self, at: i64) -> Self {
        let moved = next.last.map(|(start, end)| (start.saturating_add(at), end.saturating_add(at)));
        let bytes = self.bytes.saturating_add(next.bytes);
        match (self.last, moved) {
            (Some((start, end)), Some((begin, last))) if end == begin && next.blocks == 1 => {
                Self { bytes, blocks: self.blocks, last: Some((start, last)) }
            }
            _ => Self { bytes, blocks: self.blocks.saturating_add(next.blocks), last: moved },
        }
    }
}
