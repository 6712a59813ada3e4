//! The input of the search for trees: sequences of displaced elements, and trees that cost nothing.

use alloc::vec::Vec;

use crate::{BaseType, CostModel, Run, TypeMap, TypeTree};

/// A sequence of displaced elements. Each element is a run of one *atom*: a small tree that the search treats
/// as a unit. If all atoms are leaves, the sequence is a type map.
pub(crate) struct Atoms {
    /// The distinct atoms with their costs. An atom begins at displacement 0.
    pub(super) kinds: Vec<(TypeTree, u64)>,
    /// The atom of each element: an index into `kinds`.
    pub(super) symbols: Vec<u32>,
    /// The displacement of each element, in bytes.
    pub(super) displacements: Vec<i64>,
    /// The number of copies of the atom in each element, and their stride in bytes: 0 for a single copy.
    pub(super) counts: Vec<u64>,
    pub(super) strides: Vec<i64>,
    /// The distance from the last copy in each element to the first copy in the next, in bytes.
    pub(super) steps: Vec<i64>,
}

impl Atoms {
    /// Returns a sequence of one leaf for each entry of a map.
    pub(crate) fn of_map(map: &TypeMap, costs: &dyn CostModel) -> Self {
        let mut atoms = Self::none(map.len());
        let mut known = [None; BaseType::COUNT];
        for (base, at) in map.entries() {
            let symbol = atoms.leaf(base, &mut known, costs);
            atoms.push(symbol, at, 1, 0);
        }
        atoms
    }

    /// Returns a sequence with an element for each piece of some runs. `cuts` are the ends of the pieces, in
    /// entries from the start of the map.
    pub(crate) fn of_runs(runs: &[Run], cuts: &[u64], costs: &dyn CostModel) -> Self {
        let mut atoms = Self::none(cuts.len());
        let (mut known, mut pieces, mut start) = ([None; BaseType::COUNT], cuts.windows(2).peekable(), 0);
        for run in runs {
            let symbol = atoms.leaf(run.base, &mut known, costs);
            while let Some(piece) = pieces.next_if(|piece| piece[0] < start + run.count) {
                let (at, count) = (run.entry(piece[0] - start), piece[1] - piece[0]);
                atoms.push(symbol, at, count, if count == 1 { 0 } else { run.stride });
            }
            start += run.count;
        }
        atoms
    }

    /// Returns a sequence with an element for each of the given trees, at the given displacements. Each tree
    /// begins at 0.
    pub(crate) fn of_pieces(pieces: impl Iterator<Item = (i64, TypeTree)>, costs: &dyn CostModel) -> Self {
        let mut atoms = Self::none(0);
        for (at, tree) in pieces {
            let known = atoms.kinds.iter().position(|(kind, _)| *kind == tree);
            let symbol = known.unwrap_or(atoms.kinds.len());
            if known.is_none() {
                let cost = tree.cost(costs);
                atoms.kinds.push((tree, cost));
            }
            atoms.push(symbol as u32, at, 1, 0);
        }
        atoms
    }

    /// Returns an empty sequence with room for `elements` elements.
    fn none(elements: usize) -> Self {
        Self {
            kinds: Vec::new(),
            symbols: Vec::with_capacity(elements),
            displacements: Vec::with_capacity(elements),
            counts: Vec::with_capacity(elements),
            strides: Vec::with_capacity(elements),
            steps: Vec::with_capacity(elements),
        }
    }

    fn push(&mut self, symbol: u32, at: i64, count: u64, stride: i64) {
        if let Some(last) = self.len().checked_sub(1) {
            let behind = (self.counts[last] as i64 - 1) * self.strides[last];
            self.steps.push(at - self.displacements[last] - behind);
        }
        self.symbols.push(symbol);
        self.displacements.push(at);
        self.counts.push(count);
        self.strides.push(stride);
    }

    /// Returns the symbol of a leaf, and adds the leaf if it is not in `known`.
    fn leaf(
        &mut self,
        base: BaseType,
        known: &mut [Option<u32>; BaseType::COUNT],
        costs: &dyn CostModel,
    ) -> u32 {
        *known[base as usize].get_or_insert_with(|| {
            self.kinds.push((TypeTree::Leaf(base), costs.leaf(base)));
            self.kinds.len() as u32 - 1
        })
    }

    /// Sets the cost of one kind of atom to 0.
    pub(super) fn set_free(&mut self, atom: &TypeTree) {
        for (kind, cost) in &mut self.kinds {
            if kind == atom {
                *cost = 0;
            }
        }
    }

    /// Returns the same elements, with the atoms priced by another model.
    pub(super) fn priced(&self, costs: &dyn CostModel) -> Self {
        Self {
            kinds: self.kinds.iter().map(|(tree, _)| (tree.clone(), tree.cost(costs))).collect(),
            symbols: self.symbols.clone(),
            displacements: self.displacements.clone(),
            counts: self.counts.clone(),
            strides: self.strides.clone(),
            steps: self.steps.clone(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.symbols.len()
    }

    /// Returns the atom of an element, and its cost.
    pub(super) fn atom(&self, at: usize) -> &(TypeTree, u64) {
        &self.kinds[self.symbols[at] as usize]
    }

    /// Returns `true` if two elements differ at most in their displacements.
    pub(super) fn are_alike(&self, one: usize, other: usize) -> bool {
        let of = |at: usize| (self.symbols[at], self.counts[at], self.strides[at]);
        of(one) == of(other)
    }

    /// Returns a number for each element. Elements that are alike have the same number.
    pub(super) fn alike(&self) -> Vec<u32> {
        let of = |at: &u32| {
            let at = *at as usize;
            (self.symbols[at], self.counts[at], self.strides[at])
        };
        let mut sorted: Vec<u32> = (0..self.len() as u32).collect();
        sorted.sort_unstable_by_key(of);
        let mut alike = alloc::vec![0; self.len()];
        for (number, elements) in sorted.chunk_by(|one, other| of(one) == of(other)).enumerate() {
            for at in elements {
                alike[*at as usize] = number as u32;
            }
        }
        alike
    }

    /// Returns the distance from an element to the next, in bytes.
    pub(super) fn difference(&self, at: usize) -> i64 {
        self.displacements[at + 1] - self.displacements[at]
    }

    /// Returns two flags for each element. The first is `true` if the element and the next one are a vec of
    /// their atom. The second is `true` if the element after these two continues the vec.
    pub(super) fn pairs(&self) -> (Vec<bool>, Vec<bool>) {
        let n = self.len();
        let is_single = |i: usize| self.counts[i] == 1;
        let fits = |i: usize, step: i64| is_single(i) || self.strides[i] == step;
        let is_pair = |i: usize| {
            let step = self.steps[i];
            self.symbols[i] == self.symbols[i + 1] && fits(i, step) && fits(i + 1, step)
        };
        let pair: Vec<bool> = (1..n).map(|i| is_pair(i - 1)).collect();
        let goes_on =
            |i: usize| pair[i] && pair[i + 1] && (!is_single(i + 1) || self.steps[i] == self.steps[i + 1]);
        let goes_on = (2..n).map(|i| goes_on(i - 2)).collect();
        (pair, goes_on)
    }
}

/// Returns the rank of each number among the distinct numbers in ascending order.
pub(super) fn numbered(numbers: &[i64]) -> Vec<u32> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    numbers.iter().map(|number| sorted.partition_point(|known| known < number) as u32).collect()
}

/// A tree that costs nothing, and the places where it occurs.
pub(crate) struct Paid {
    pub(super) tree: TypeTree,
    /// The number of entries of the tree.
    pub(super) length: usize,
    /// `true` for each element where a copy of the tree begins.
    pub(super) at: Vec<bool>,
}

impl Paid {
    /// Finds the places in `map` where `tree` occurs. The tree must begin at 0. Returns `None` if the tree
    /// cannot be flattened.
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
