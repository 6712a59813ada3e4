//! Structs that are written out: one struct with the members of several copies, for libraries that visit
//! structs one at a time (docs/search.md, "Calls that suit a library").

use alloc::{vec, vec::Vec};

use super::{
    WrittenOut,
    lowering::{Built, Lowering},
};
use crate::TypeTree;

/// A member of a struct that is written out: copies of a block, at a displacement.
#[derive(Clone, Copy)]
struct Member {
    at: i64,
    block: Built,
    length: u64,
}

/// Returns copies of members at some displacements, one after the other.
fn repeated(members: &[Member], places: impl IntoIterator<Item = i64>) -> Vec<Member> {
    let copy = |place: i64| {
        members.iter().map(move |member| Member { at: member.at.wrapping_add(place), ..*member })
    };
    places.into_iter().flat_map(copy).collect()
}

impl Lowering {
    /// Lowers copies of a struct to one struct with the members of all copies, or of as many as such a struct
    /// may have, if that is faster.
    pub(super) fn written_out(&mut self, tree: &TypeTree) -> Option<Built> {
        if self.packing.written_out == WrittenOut::Nothing {
            return None;
        }
        if self.members_in_all(tree).is_some() {
            let members = self.members(tree);
            return Some(self.structure_of(&members));
        }
        let TypeTree::Vector { count, stride, child } = tree else { return None };
        let copies = self.most_members() / self.members_in_all(child)?;
        if copies < 2 {
            return None;
        }
        let (times, rest) = (count / copies, count % copies);
        let step = stride.checked_mul(copies as i64)?;
        let places = |count: u64| (0..count as i64).map(|i| stride.wrapping_mul(i));
        let members = self.members(child);
        let part = self.structure_of(&repeated(&members, places(copies)));
        let all = self.hvector(part, 1, times, step);
        if rest == 0 {
            return Some(all);
        }
        let last = self.structure_of(&repeated(&members, places(rest)));
        Some(self.structure(&[0, stride.wrapping_mul((count - rest) as i64)], &[(all, 1), (last, 1)]))
    }

    /// Returns the number of members of a tree that is written out as one struct, or `None` if it is not.
    fn members_in_all(&self, tree: &TypeTree) -> Option<u64> {
        let copies = |count: u64, child: &TypeTree| self.members_in_all(child)?.checked_mul(count);
        let members = match tree {
            TypeTree::Leaf(_) => None,
            TypeTree::Vector { count, child, .. } => copies(*count, child),
            TypeTree::Index { displacements, child } if self.packing.written_out == WrittenOut::All => {
                (displacements.len() as u64).checked_mul(self.members_in_all(child).unwrap_or(1))
            }
            TypeTree::Index { displacements, child } => copies(displacements.len() as u64, child),
            TypeTree::IndexBucket { buckets, child, .. } => {
                copies(buckets.iter().copied().fold(0, u64::saturating_add), child)
            }
            TypeTree::Struct { children, .. } if children.len() as u64 > self.most_members() => None,
            TypeTree::Struct { children, .. } => {
                let is_written = self.packing.written_out.includes(&tree.measure().ok()?);
                let members = children.iter().map(|child| self.members_in_all(child).unwrap_or(1));
                is_written.then(|| members.fold(0, u64::saturating_add))
            }
        };
        members.filter(|members| *members <= self.most_members())
    }

    /// Returns the largest number of members of a struct that is written out.
    fn most_members(&self) -> u64 {
        WrittenOut::MOST.min(self.limit)
    }

    /// Returns the members of a tree: one, unless the tree is written out. Each part of the tree is lowered
    /// once.
    fn members(&mut self, tree: &TypeTree) -> Vec<Member> {
        if self.members_in_all(tree).is_none() {
            let (block, length) = self.block(tree);
            return vec![Member { at: 0, block, length }];
        }
        match tree {
            TypeTree::Leaf(_) => Vec::new(),
            TypeTree::Vector { count, stride, child } => {
                repeated(&self.members(child), (0..*count as i64).map(|i| stride.wrapping_mul(i)))
            }
            TypeTree::Index { displacements, child } => {
                repeated(&self.members(child), displacements.iter().copied())
            }
            TypeTree::IndexBucket { stride, buckets, displacements, child } => {
                let copies = buckets.iter().zip(displacements).flat_map(|(count, first)| {
                    (0..*count as i64).map(move |i| first.wrapping_add(stride.wrapping_mul(i)))
                });
                repeated(&self.members(child), copies)
            }
            TypeTree::Struct { displacements, children } => {
                let parts = displacements.iter().zip(children);
                parts.flat_map(|(at, child)| repeated(&self.members(child), [*at])).collect()
            }
        }
    }

    fn structure_of(&mut self, members: &[Member]) -> Built {
        let displacements: Vec<_> = members.iter().map(|member| member.at).collect();
        let blocks: Vec<_> = members.iter().map(|member| (member.block, member.length)).collect();
        self.structure(&displacements, &blocks)
    }
}
