//! What the tree program works on, and what it may take for free.

use alloc::vec::Vec;

use crate::{BaseType, CostModel, Run, TypeMap, TypeTree};

/// A sequence of displaced *atoms*, each a small tree that is not looked into.
/// Where all atoms are leaves it is a type map.
pub(crate) struct Atoms {
    /// The different atoms with their costs. An atom begins at displacement 0.
    pub(super) kinds: Vec<(TypeTree, u64)>,
    /// Which atom each element is: an index into `kinds`.
    pub(super) symbols: Vec<u32>,
    /// Where each element lies, in bytes.
    pub(super) displacements: Vec<i64>,
    /// For each element that may be a single tree together with the ones behind it: that tree and its cost
    /// for two elements, for three, and so on. Empty if there are none.
    pub(super) joined: Vec<Vec<(TypeTree, u64)>>,
}

impl Atoms {
    /// One leaf an entry.
    pub(crate) fn of_map(map: &TypeMap, costs: &dyn CostModel) -> Self {
        let (mut kinds, mut known) = (Vec::new(), [None; BaseType::COUNT]);
        let mut symbol = |base: &BaseType| {
            *known[*base as usize].get_or_insert_with(|| {
                kinds.push((TypeTree::Leaf(*base), costs.leaf(*base)));
                kinds.len() as u32 - 1
            })
        };
        let symbols = map.types().iter().map(&mut symbol).collect();
        let displacements = map.displacements().to_vec();
        Self { kinds, symbols, displacements, joined: Vec::new() }
    }

    /// Given runs, each in pieces whose lengths add up to its own. The pieces are atoms, and neighbours of
    /// one run may become a vec together again.
    pub(crate) fn of_runs(runs: &[(Run, Vec<u64>)], costs: &dyn CostModel) -> Self {
        let run = |whole: &Run, count: u64| TypeTree::of_run(&Run { count, ..*whole });
        let starts = |lengths: &[u64]| -> Vec<u64> {
            lengths.iter().scan(0, |at, length| Some(core::mem::replace(at, *at + length))).collect()
        };
        let pieces = runs.iter().flat_map(|(whole, lengths)| {
            let at = move |start: u64| whole.displacement + start as i64 * whole.stride;
            starts(lengths)
                .into_iter()
                .zip(lengths)
                .map(move |(start, length)| (at(start), run(whole, *length)))
        });
        let mut atoms = Self::of_pieces(pieces, costs);
        for (whole, lengths) in runs {
            for i in 0..lengths.len() {
                let counts = (i + 2..=lengths.len()).map(|end| lengths[i..end].iter().sum());
                let trees = counts.map(|count| run(whole, count));
                atoms.joined.push(trees.map(|tree| (tree.clone(), tree.cost(costs))).collect());
            }
        }
        atoms
    }

    /// Makes one kind of atom cost nothing.
    pub(super) fn set_free(&mut self, atom: &TypeTree) {
        for (kind, cost) in &mut self.kinds {
            if kind == atom {
                *cost = 0;
            }
        }
    }

    /// Given trees at given displacements; each begins at 0.
    pub(crate) fn of_pieces(pieces: impl Iterator<Item = (i64, TypeTree)>, costs: &dyn CostModel) -> Self {
        let (kinds, symbols) = (Vec::new(), Vec::new());
        let mut atoms = Self { kinds, symbols, displacements: Vec::new(), joined: Vec::new() };
        for (at, tree) in pieces {
            let known = atoms.kinds.iter().position(|(kind, _)| *kind == tree);
            let symbol = known.unwrap_or(atoms.kinds.len());
            if known.is_none() {
                let cost = tree.cost(costs);
                atoms.kinds.push((tree, cost));
            }
            atoms.symbols.push(symbol as u32);
            atoms.displacements.push(at);
        }
        atoms
    }

    /// The same atoms under another model.
    pub(super) fn priced(&self, costs: &dyn CostModel) -> Self {
        let priced = |(tree, _): &(TypeTree, u64)| (tree.clone(), tree.cost(costs));
        Self {
            kinds: self.kinds.iter().map(priced).collect(),
            symbols: self.symbols.clone(),
            displacements: self.displacements.clone(),
            joined: self.joined.iter().map(|trees| trees.iter().map(priced).collect()).collect(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.symbols.len()
    }

    pub(super) fn cost(&self, at: usize) -> u64 {
        self.kinds[self.symbols[at] as usize].1
    }

    pub(super) fn difference(&self, at: usize) -> i64 {
        self.displacements[at + 1] - self.displacements[at]
    }
}

/// A tree that costs nothing, and where.
pub(crate) struct Paid {
    pub(super) tree: TypeTree,
    /// Its entries.
    pub(super) length: usize,
    /// For each element, whether a copy begins there.
    pub(super) at: Vec<bool>,
}

impl Paid {
    /// The places in `map` where `tree`, which begins at 0, occurs.
    pub(crate) fn of(tree: &TypeTree, map: &TypeMap) -> Option<Self> {
        let shape = tree.flatten().ok()?;
        let length = shape.len();
        let matches = |start: usize| {
            let first = map.displacements()[start];
            let segment = start..start + length;
            map.types()[segment.clone()] == *shape.types()
                && map.displacements()[segment]
                    .iter()
                    .zip(shape.displacements())
                    .all(|(a, b)| a - first == *b)
        };
        let at = (0..map.len()).map(|start| start + length <= map.len() && matches(start)).collect();
        Some(Self { tree: tree.clone(), length, at })
    }
}
