//! Building the tree from solved rows: see [`super::tree`].

use alloc::{vec, vec::Vec};

use super::{
    rows::{Root, Row},
    tree::Search,
};
use crate::{
    TypeTree,
    repeat::{Repeat, repeat, repeat_singles},
};

impl Search<'_> {
    /// Builds the tree of the first `length` elements of the row, moved to begin at `shift`.
    ///
    /// The recursion is at most 2·log₂ n + 2 deep: repeats halve the segment, and a strc is never directly
    /// below a strc.
    pub(super) fn build(&self, row: &Row, length: usize, shift: i64) -> TypeTree {
        match self.choice(row, length, shift).root {
            Root::Parts => self.build_parts(row, length, shift),
            Root::Part => TypeTree::structure([shift], [self.build_whole(row, length)]),
            root => self.build_repeat(row, root, length, shift),
        }
    }

    /// Like [`build`](Self::build), for the cheapest tree without a strc at its root.
    fn build_whole(&self, row: &Row, length: usize) -> TypeTree {
        self.build_repeat(row, row.whole[length].root, length, 0)
    }

    fn build_repeat(&self, row: &Row, root: Root, length: usize, shift: i64) -> TypeTree {
        let (kind, q) = match (root, &self.paid) {
            (Root::Paid, Some(paid)) => return paid.tree.clone(),
            (Root::Singles(kind), _) => return self.build_singles(row.start, kind, length, shift),
            (Root::Repeat(kind, q), _) => (kind, q as usize),
            _ if self.atoms.counts[row.start] == 1 => return self.atoms.atom(row.start).0.clone(),
            _ => return self.build_singles(row.start, Repeat::Vector, 1, 0),
        };
        // A vec passes the shift down to its child; the other kinds carry it in their lists.
        let below = if kind == Repeat::Vector { shift } else { 0 };
        let child = self.build(row, q, below);
        let (mut last, mut here) = (row.start, row.start + q);
        let mut places = vec![self.atoms.displacements[row.start]];
        while here < row.start + length {
            let Some(next) = self.repeats.next(last, here) else { break };
            places.push(self.atoms.displacements[here]);
            (last, here) = (here, next);
        }
        repeat(kind, &places, 1, shift - below, child)
    }

    /// Builds a node over a single atom, of which all the elements are copies.
    fn build_singles(&self, start: usize, kind: Repeat, length: usize, shift: i64) -> TypeTree {
        let (atom, cost) = self.atoms.atom(start).clone();
        let elements = start..start + length;
        let mut strides = None;
        elements.clone().for_each(|at| self.read(at, at == start, &mut strides));
        let element =
            |at: usize| (self.atoms.displacements[at], self.atoms.counts[at], self.atoms.strides[at]);
        let elements: Vec<_> = elements.map(element).collect();
        let (child, shift) = match self.carried(cost, cost, 1).root {
            _ if shift == 0 || kind != Repeat::Vector => (atom, shift),
            Root::Repeat(kind, _) => (repeat(kind, &[0], 1, shift, atom), 0),
            _ => (TypeTree::structure([shift], [atom]), 0),
        };
        repeat_singles(kind, &elements, strides.map_or(0, |strides| strides.best()), shift, child)
    }

    fn build_parts(&self, row: &Row, length: usize, shift: i64) -> TypeTree {
        let (mut displacements, mut children) = (Vec::new(), Vec::new());
        let mut end = length;
        while end > 0 {
            // The elements before the last part are a single part, or again a sequence of parts.
            let single = end < length && self.is_part(row, end);
            let begin = if single { 0 } else { row.parts[end].1 };
            let start = row.start + begin;
            displacements.push(self.atoms.displacements[start] - self.atoms.displacements[row.start] + shift);
            children.push(match begin {
                0 => self.build_whole(row, end),
                _ => self.build_whole(&self.row(start, row.start + end), end - begin),
            });
            end = begin;
        }
        displacements.reverse();
        children.reverse();
        TypeTree::structure(displacements, children)
    }
}
