//! Trees in constants: the nodes without their lists. The lists follow from the pieces of the map.

use alloc::vec::Vec;

use super::strides::StrideCounts;
use crate::{
    Run, TypeTree,
    repeat::{Repeat, repeat, repeat_singles},
};

/// A node of a tree, which precedes its children. The numbers count pieces, copies or parts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node {
    /// A piece of one entry.
    Leaf,
    /// A node over a leaf. All entries of this number of pieces are copies of the leaf.
    Leaves(Repeat, u16),
    /// A node with this number of copies.
    Repeat(Repeat, u16),
    /// A strc of this number of parts.
    Struct(u16),
}

impl Node {
    /// Returns the kind of the node and its number as one number.
    const fn encoded(self) -> u16 {
        let (kind, number) = match self {
            Self::Leaf => (0, 0),
            Self::Leaves(Repeat::Vector, pieces) => (1, pieces),
            Self::Leaves(Repeat::Index, pieces) => (2, pieces),
            Self::Leaves(Repeat::Bucket, pieces) => (3, pieces),
            Self::Repeat(Repeat::Vector, copies) => (4, copies),
            Self::Repeat(Repeat::Index, copies) => (5, copies),
            Self::Repeat(Repeat::Bucket, copies) => (6, copies),
            Self::Struct(parts) => (7, parts),
        };
        number << 3 | kind
    }

    fn decoded(code: u16) -> Self {
        let number = code >> 3;
        match code & 7 {
            0 => Self::Leaf,
            1 => Self::Leaves(Repeat::Vector, number),
            2 => Self::Leaves(Repeat::Index, number),
            3 => Self::Leaves(Repeat::Bucket, number),
            4 => Self::Repeat(Repeat::Vector, number),
            5 => Self::Repeat(Repeat::Index, number),
            6 => Self::Repeat(Repeat::Bucket, number),
            _ => Self::Struct(number),
        }
    }
}

/// The nodes of a tree, parents before children.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recipe {
    /// The encoded nodes. They are plain numbers, which the compiler validates quickly: see the fields of
    /// [`super::RunBuffer`].
    nodes: [u16; Self::CAPACITY],
    length: usize,
}

impl Recipe {
    /// The largest number of nodes. It suffices for the least-cost trees of 64 runs, unless leaves cost
    /// almost nothing.
    const CAPACITY: usize = 256;

    pub(super) const fn new() -> Self {
        Self { nodes: [0; _], length: 0 }
    }

    /// Returns `true` if there are at most [`CAPACITY`](Self::CAPACITY) nodes.
    pub(super) const fn is_complete(&self) -> bool {
        self.length <= Self::CAPACITY
    }

    /// Returns `true` if the root is a vec over more than a leaf.
    pub(super) const fn repeats_regularly(&self) -> bool {
        self.length > 0 && self.nodes[0] & 7 == Node::Repeat(Repeat::Vector, 0).encoded()
    }

    pub(super) const fn push(&mut self, node: Node) {
        let place = self.reserve();
        self.set(place, node);
    }

    /// Reserves the place of a node that is known only after its children are written. Returns its index.
    pub(super) const fn reserve(&mut self) -> usize {
        self.length += 1;
        self.length - 1
    }

    pub(super) const fn set(&mut self, place: usize, node: Node) {
        if place < Self::CAPACITY {
            self.nodes[place] = node.encoded();
        }
    }

    /// Builds the tree from the pieces for which the recipe was written.
    pub(super) fn tree(&self, pieces: &[Run]) -> TypeTree {
        let shift = pieces.first().map_or(0, |piece| piece.displacement);
        Builder { nodes: self.nodes[..self.length].iter(), pieces }.node(0, shift).0
    }
}

struct Builder<'a> {
    nodes: core::slice::Iter<'a, u16>,
    pieces: &'a [Run],
}

impl Builder<'_> {
    /// Builds the next node, over the pieces from `start` on and moved to begin at `shift`. Returns it with
    /// the number of its pieces.
    fn node(&mut self, start: usize, shift: i64) -> (TypeTree, usize) {
        let Some(node) = self.nodes.next() else { return (TypeTree::structure([], []), 0) };
        match Node::decoded(*node) {
            Node::Leaf => (TypeTree::Leaf(self.pieces[start].base), 1),
            Node::Leaves(kind, pieces) => {
                let pieces = &self.pieces[start..start + pieces as usize];
                (leaves(kind, pieces, shift), pieces.len())
            }
            Node::Repeat(kind, copies) => {
                // A vec passes a shift down to its child; the other kinds carry it in their lists.
                let below = if kind == Repeat::Vector { shift } else { 0 };
                let (child, pieces) = self.node(start, below);
                let length = self.pieces[start..start + pieces].iter().map(|piece| piece.count).sum::<u64>();
                // The other copies may consist of more pieces, or fewer.
                let (mut starts, mut entries, mut end) = (Vec::new(), 0, start);
                while entries < length * u64::from(copies) {
                    if entries % length == 0 {
                        starts.push(self.pieces[end].displacement);
                    }
                    entries += self.pieces[end].count;
                    end += 1;
                }
                (repeat(kind, &starts, 1, shift - below, child), end - start)
            }
            Node::Struct(parts) => {
                let (mut displacements, mut children, mut length) = (Vec::new(), Vec::new(), 0);
                for _ in 0..parts {
                    let piece = &self.pieces[start + length];
                    displacements.push(piece.displacement - self.pieces[start].displacement + shift);
                    let (child, pieces) = self.node(start + length, 0);
                    children.push(child);
                    length += pieces;
                }
                (TypeTree::structure(displacements, children), length)
            }
        }
    }
}

/// Builds a node over the entries of pieces of one base type.
fn leaves(kind: Repeat, pieces: &[Run], shift: i64) -> TypeTree {
    let mut strides = StrideCounts::new();
    (0..pieces.len()).for_each(|piece| strides.push_piece(pieces, 0, piece));
    let elements = pieces.iter().map(|piece| (piece.displacement, piece.count, piece.stride));
    let leaf = TypeTree::Leaf(pieces[0].base);
    repeat_singles(kind, &elements.collect::<Vec<_>>(), strides.best(), shift, leaf)
}
