//! Structs that are written out: one struct with the members of several copies, for libraries that visit
//! structs one at a time (docs/search.md, "Calls that suit a library").

use alloc::{vec, vec::Vec};
use core::ptr;

use super::{
    WrittenOut,
    lowering::{Built, Lowering, Members},
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

/// Returns the displacements of `count` copies.
fn places(count: u64, stride: i64) -> impl Iterator<Item = i64> {
    (0..count as i64).map(move |i| stride.wrapping_mul(i))
}

impl Lowering {
    /// Lowers structs, copies of them included, to one struct with the members of all, or to copies of a
    /// struct with as many members as it may have, if that is faster.
    pub(super) fn written_out(&mut self, tree: &TypeTree) -> Option<Built> {
        if self.packing.written_out == WrittenOut::Nothing {
            return None;
        }
        if self.members_in_all(tree).is_some() {
            let members = self.members(tree);
            return Some(self.structure_of(&members));
        }
        let TypeTree::Vector { count, stride, child } = tree else { return None };
        let in_child = self.members_in_all(child)?;
        let copies = self.most_members() / in_child.count;
        if copies < 2 {
            return None;
        }
        // Nothing is lowered before it is known that all displacements fit.
        in_child.in_vector(copies, *stride)?;
        let step = stride.checked_mul(copies as i64)?;
        let (times, rest) = (count / copies, count % copies);
        let members = self.members(child);
        let part = self.structure_of(&repeated(&members, places(copies, *stride)));
        let all = if times == 1 { part } else { self.hvector(part, 1, times, step) };
        if rest == 0 {
            return Some(all);
        }
        let last = self.structure_of(&repeated(&members, places(rest, *stride)));
        Some(self.structure(&[0, stride.wrapping_mul((count - rest) as i64)], &[(all, 1), (last, 1)]))
    }

    /// Returns the members of a tree that is written out as one struct, or `None` if it is not.
    fn members_in_all(&mut self, tree: &TypeTree) -> Option<Members> {
        if let Some(known) = self.members.get(&ptr::from_ref(tree)) {
            return *known;
        }
        let most = self.most_members();
        let of_all = self.packing.written_out == WrittenOut::All;
        let members = match tree {
            TypeTree::Leaf(_) => None,
            TypeTree::Vector { count, stride, child } => {
                self.members_in_all(child).and_then(|members| members.in_vector(*count, *stride))
            }
            TypeTree::Index { displacements, child } => {
                let members = self.members_in_all(child).or_else(|| of_all.then_some(Members::ONE));
                let copies = displacements.len() as u64;
                let places = displacements.iter().copied().map(Some);
                members.filter(|_| copies <= most).and_then(|members| members.at(copies, places))
            }
            TypeTree::IndexBucket { stride, buckets, displacements, child } => {
                let copies = buckets.iter().copied().fold(0, u64::saturating_add);
                let ends = buckets.iter().zip(displacements).flat_map(|(count, first)| {
                    let last = stride.checked_mul(count.saturating_sub(1) as i64);
                    [Some(*first), last.and_then(|last| last.checked_add(*first))]
                });
                let members = self.members_in_all(child).filter(|_| copies <= most);
                members.and_then(|members| members.at(copies, ends))
            }
            TypeTree::Struct { children, .. } if children.len() as u64 > most => None,
            TypeTree::Struct { displacements, children } => {
                let parts = displacements
                    .iter()
                    .zip(children)
                    .map(|(at, child)| self.members_in_all(child).unwrap_or(Members::ONE).at(1, [Some(*at)]));
                let parts: Option<Vec<_>> = parts.collect();
                let is_written = || Some(self.packing.written_out.includes(&tree.measure().ok()?));
                let is_written = is_written() == Some(true);
                parts.filter(|_| is_written).and_then(|parts| parts.into_iter().reduce(Members::then))
            }
        };
        let members = members.filter(|members| members.count <= most);
        self.members.insert(ptr::from_ref(tree), members);
        members
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
                repeated(&self.members(child), places(*count, *stride))
            }
            TypeTree::Index { displacements, child } => {
                repeated(&self.members(child), displacements.iter().copied())
            }
            TypeTree::IndexBucket { stride, buckets, displacements, child } => {
                let copies = buckets.iter().zip(displacements).flat_map(|(count, first)| {
                    places(*count, *stride).map(move |place| first.wrapping_add(place))
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
