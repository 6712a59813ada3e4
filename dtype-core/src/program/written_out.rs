//! Structs that are written out: one struct with the members of several copies, for libraries that visit
//! structs one at a time (docs/search.md, "Calls that suit a library").

use alloc::{vec, vec::Vec};
use core::ptr;

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

/// Returns copies of members at some displacements, one after the other. Returns `None` if a displacement
/// overflows.
fn repeated(members: &[Member], places: impl IntoIterator<Item = Option<i64>>) -> Option<Vec<Member>> {
    let mut all = Vec::new();
    for place in places {
        let place = place?;
        for member in members {
            all.push(Member { at: member.at.checked_add(place)?, ..*member });
        }
    }
    Some(all)
}

/// Returns the displacements of `count` copies.
fn places(count: u64, stride: i64) -> impl Iterator<Item = Option<i64>> {
    (0..count as i64).map(move |i| stride.checked_mul(i))
}

impl Lowering {
    /// Lowers structs, copies of them included, to one struct with the members of all, or to copies of a
    /// struct with as many members as it may have, if that is faster.
    pub(super) fn written_out(&mut self, tree: &TypeTree) -> Option<Built> {
        if self.packing.written_out == WrittenOut::Nothing {
            return None;
        }
        if self.members_in_all(tree).is_some() {
            let members = self.members(tree)?;
            return Some(self.structure_of(&members));
        }
        let TypeTree::Vector { count, stride, child } = tree else { return None };
        let copies = self.most_members() / self.members_in_all(child)?;
        if copies < 2 {
            return None;
        }
        let (times, rest) = (count / copies, count % copies);
        let step = stride.checked_mul(copies as i64)?;
        let members = self.members(child)?;
        let part = self.structure_of(&repeated(&members, places(copies, *stride))?);
        let all = if times == 1 { part } else { self.hvector(part, 1, times, step) };
        if rest == 0 {
            return Some(all);
        }
        let last = self.structure_of(&repeated(&members, places(rest, *stride))?);
        Some(self.structure(&[0, stride.wrapping_mul((count - rest) as i64)], &[(all, 1), (last, 1)]))
    }

    /// Returns the number of members of a tree that is written out as one struct, or `None` if it is not.
    fn members_in_all(&mut self, tree: &TypeTree) -> Option<u64> {
        if let Some(known) = self.members.get(&ptr::from_ref(tree)) {
            return *known;
        }
        let copies = match tree {
            TypeTree::Leaf(_) | TypeTree::Struct { .. } => 1,
            TypeTree::Vector { count, .. } => *count,
            TypeTree::Index { displacements, .. } => displacements.len() as u64,
            TypeTree::IndexBucket { buckets, .. } => buckets.iter().copied().fold(0, u64::saturating_add),
        };
        let of_all = self.packing.written_out == WrittenOut::All;
        let members = match tree {
            TypeTree::Leaf(_) => None,
            TypeTree::Index { child, .. } if of_all => Some(self.members_in_all(child).unwrap_or(1)),
            TypeTree::Vector { child, .. }
            | TypeTree::Index { child, .. }
            | TypeTree::IndexBucket { child, .. } => self.members_in_all(child),
            TypeTree::Struct { children, .. } if children.len() as u64 > self.most_members() => None,
            TypeTree::Struct { children, .. } => {
                let members = children.iter().map(|child| self.members_in_all(child).unwrap_or(1));
                let members = members.fold(0, u64::saturating_add);
                let measure = tree.measure().ok();
                measure.filter(|measure| self.packing.written_out.includes(measure)).map(|_| members)
            }
        };
        let members = members.and_then(|members| members.checked_mul(copies));
        let members = members.filter(|members| *members <= self.most_members());
        self.members.insert(ptr::from_ref(tree), members);
        members
    }

    /// Returns the largest number of members of a struct that is written out.
    fn most_members(&self) -> u64 {
        WrittenOut::MOST.min(self.limit)
    }

    /// Returns the members of a tree: one, unless the tree is written out. Each part of the tree is lowered
    /// once. Returns `None` if a displacement overflows.
    fn members(&mut self, tree: &TypeTree) -> Option<Vec<Member>> {
        if self.members_in_all(tree).is_none() {
            let (block, length) = self.block(tree);
            return Some(vec![Member { at: 0, block, length }]);
        }
        match tree {
            TypeTree::Leaf(_) => None,
            TypeTree::Vector { count, stride, child } => {
                repeated(&self.members(child)?, places(*count, *stride))
            }
            TypeTree::Index { displacements, child } => {
                repeated(&self.members(child)?, displacements.iter().copied().map(Some))
            }
            TypeTree::IndexBucket { stride, buckets, displacements, child } => {
                let copies = buckets.iter().zip(displacements).flat_map(|(count, first)| {
                    places(*count, *stride).map(move |place| place?.checked_add(*first))
                });
                repeated(&self.members(child)?, copies)
            }
            TypeTree::Struct { displacements, children } => {
                let mut all = Vec::new();
                for (at, child) in displacements.iter().zip(children) {
                    all.extend(repeated(&self.members(child)?, [Some(*at)])?);
                }
                Some(all)
            }
        }
    }

    fn structure_of(&mut self, members: &[Member]) -> Built {
        let displacements: Vec<_> = members.iter().map(|member| member.at).collect();
        let blocks: Vec<_> = members.iter().map(|member| (member.block, member.length)).collect();
        self.structure(&displacements, &blocks)
    }
}
