//! The solver for layouts in constants: maps of at most 64 runs, without allocation.
//!
//! A library knows the layout of a nested or generic type only when constants are evaluated. This module
//! solves layouts in constants. Macros and the running program use it for the same layouts, so that all find
//! the same trees: [`normalize`](fn@crate::normalize) passes it long layouts of few runs.
//!
//! A map is first split into parts, at the places that no repetition can cross. The runs of a part are cut
//! wherever a least-cost tree may have a border. The pieces are then solved like the entries of a short map.
//! Under models that price runs as the thesis does, this is exact however long the runs are. A strc joins the
//! parts. docs/search.md has the proofs.

use alloc::vec::Vec;

use crate::{
    LinearCosts, Optimality, Run, Solution, TypeTree,
    cuts::{FAR, Tiling, entries, is_within_reason, takes_runs_for_atoms},
    repeat::Repeat,
};

mod pieces;
mod recipe;
mod runs;
mod strides;
mod table;

use pieces::{Grain, PieceList, end_of, parts};
use recipe::{Node, Recipe};
pub use runs::RunBuffer;
use table::{Cost, Table, UNKNOWN, at_most, sum, times};

/// A limit for parts of short runs. If a part has at most this many more entries than runs, it is cut into
/// single entries.
const FEW: u64 = 8;

/// A layout solved in a constant.
///
/// ```
/// use dtype_core::{BaseType, NodeCosts, Optimality, constant::{RunBuffer, Solved}};
/// const SOLVED: Option<Solved> = {
///     let mut runs = RunBuffer::of_base(BaseType::F64).repeated(1000, 8);
///     runs.append(&RunBuffer::of_base(BaseType::U8), 8000);
///     Solved::of(&runs, &NodeCosts::THESIS.linear())
/// };
/// let solution = SOLVED.unwrap().solution();
/// assert_eq!((solution.cost, solution.optimality), (20, Optimality::Proven));
/// assert_eq!(solution.tree.to_string(), "strc 2\n├─ @ 0: vec 1000, stride 8\n│  └─ f64\n└─ @ 8000: u8\n");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Solved {
    runs: RunBuffer,
    cost: Cost,
    optimality: Optimality,
    recipe: Recipe,
    /// The repetitions of the recipe's tree: counts and strides, the innermost first.
    levels: [(u64, i64); Self::MOST_LEVELS],
    depth: usize,
    /// `true` if the tree would cost less if the layout began at 0.
    shifted: bool,
    /// `true` if the model takes runs for atoms.
    atoms: bool,
    /// The rules for cutting runs under the model.
    tiling: Tiling,
}

impl Solved {
    /// The largest number of repetitions around a layout.
    const MOST_LEVELS: usize = 12;

    /// Solves a layout. Returns `None` in these cases:
    ///
    /// - There are too many runs.
    /// - The runs are long, and the model may take them apart.
    /// - The layout does not begin at 0, and the model would shift the leaves of a vec rather than the vec.
    /// - Costs or displacements are so large that arithmetic may overflow.
    pub const fn of(runs: &RunBuffer, costs: &LinearCosts) -> Option<Self> {
        let Some((list, length)) = runs.list() else { return None };
        let list = list.split_at(length).0;
        if !is_within_reason(list) {
            return None;
        }
        let (optimality, recipe, atoms) = (Optimality::Proven, Recipe::new(), takes_runs_for_atoms(costs));
        let (levels, tiling) = ([(0, 0); _], Tiling::of(costs));
        let (runs, cost, depth, shifted) = (*runs, 0, 0, false);
        let mut solved = Self { runs, cost, optimality, recipe, levels, depth, shifted, atoms, tiling };
        let begins = parts(list);
        if list.is_empty() || end_of(&begins, 0, list.len()) < list.len() {
            solved.solve_parts(list, &begins, costs);
        } else {
            solved.solve_single(list, costs);
        }
        if solved.cost < UNKNOWN && solved.recipe.is_complete() { Some(solved) } else { None }
    }

    /// Returns the layout repeated `count` times, `stride` bytes apart, if that has more runs than fit a
    /// buffer. Returns `None` in these cases:
    ///
    /// - The runs of the repeated layout fit a buffer.
    /// - A tree that joins the repetition with the repeated tree may be cheaper than a vec around the
    ///   repeated tree: the repetition continues that tree, or has fewer than three copies, or the model may
    ///   take runs apart.
    /// - The layout does not begin at 0, and a list of so few copies may carry the shift for less.
    /// - There are no entries or too many levels, or the numbers are so large that arithmetic may overflow.
    ///
    /// The result is [`Optimality::Proven`] only if no description of that number of entries can cost less.
    #[must_use]
    pub const fn repeated(mut self, count: u64, stride: i64, costs: &LinearCosts) -> Option<Self> {
        let fits = self.depth == 0 && self.runs.repeated(count, stride).is_complete();
        if !self.atoms || fits || self.depth == Self::MOST_LEVELS || count < 3 {
            return None;
        }
        let entries = match self.runs.list() {
            Some((list, length)) if is_within_reason(list.split_at(length).0) => {
                entries(list.split_at(length).0)
            }
            _ => return None,
        };
        let (mut all, mut level) = (entries.saturating_mul(count), 0);
        while level < self.depth {
            all = all.saturating_mul(self.levels[level].0);
            level += 1;
        }
        let continued = match self.depth.checked_sub(1) {
            Some(last) => self.levels[last].1.saturating_mul(self.levels[last].0 as i64) == stride,
            None => self.recipe.repeats_regularly(),
        };
        let vectors = costs.vector.at(count).own.saturating_mul(2);
        let listed = self.shifted && costs.index.at(count).own < vectors;
        if continued || listed || all == 0 || all >= FAR || stride.unsigned_abs() >= FAR / count {
            return None;
        }
        self.levels[self.depth] = (count, stride);
        self.depth += 1;
        self.cost = times(costs.vector.at(count), self.cost);
        let least = self.cost as u64 <= costs.floor(all, false, false);
        self.optimality = if least { Optimality::Proven } else { Optimality::UpperBound };
        Some(self)
    }

    /// Solves the parts separately and joins them by a strc.
    const fn solve_parts(&mut self, runs: &[Run], begins: &[bool], costs: &LinearCosts) {
        let (root, mut count, mut start) = (self.recipe.reserve(), 0, 0);
        self.cost = at_most(costs.structure);
        while start < runs.len() {
            let end = end_of(begins, start, runs.len());
            let part = runs.split_at(end).0.split_at(start).1;
            if self.is_single(part, true) {
                self.recipe.push(single(&part[0]));
                self.cost = sum(self.cost, times(costs.part, cost_of_run(&part[0], costs)));
                count += 1;
            } else {
                let mut table = Table::new(self.pieces(part, true), costs);
                let least = table.fill(false);
                if least.parts >= UNKNOWN {
                    self.cost = UNKNOWN;
                    return;
                }
                count += table.write_parts(&mut self.recipe);
                self.cost = sum(self.cost, least.parts);
                let single = costs.part.of(floor(part, false, costs));
                let several = costs.part.of(costs.leaf).saturating_mul(2);
                self.judge(&table, least.parts as u64 <= single && least.parts as u64 <= several);
            }
            start = end;
        }
        self.recipe.set(root, Node::Struct(count as u16));
    }

    /// Solves a map that cannot be split into parts.
    const fn solve_single(&mut self, runs: &[Run], costs: &LinearCosts) {
        if self.is_single(runs, false) {
            self.recipe.push(single(&runs[0]));
            self.cost = cost_of_run(&runs[0], costs);
            return;
        }
        let shift = runs[0].displacement != 0;
        if shift && shifts_go_down(costs) {
            self.cost = UNKNOWN;
            return;
        }
        let mut table = Table::new(self.pieces(runs, false), costs);
        let least = table.fill(shift);
        self.cost = if shift { least.shifted } else { least.aligned };
        self.shifted = self.cost > least.aligned;
        if self.cost >= UNKNOWN {
            return;
        }
        table.write(&mut self.recipe, shift);
        self.judge(&table, self.cost as u64 <= floor(runs, shift, costs));
    }

    /// Returns `true` if a part is a run that needs no search. `several` is `true` if there are other parts.
    const fn is_single(&self, part: &[Run], several: bool) -> bool {
        self.atoms && part.len() == 1 && (several || part[0].displacement == 0)
    }

    /// Returns the pieces of a part. `several` is `true` if there are other parts.
    const fn pieces(&self, part: &[Run], several: bool) -> PieceList {
        let grain = if self.is_single(part, several) {
            Grain::Runs
        } else if self.atoms && entries(part) > part.len() as u64 + FEW {
            Grain::Cut
        } else {
            Grain::Entries
        };
        PieceList::of(part, grain, &self.tiling)
    }

    /// Records the optimality of the tree of a part. `least` means that the tree is known to be optimal
    /// without an exact search.
    const fn judge(&mut self, table: &Table, least: bool) {
        if !table.is_exact() && !least {
            self.optimality = Optimality::UpperBound;
            // For a model that may take runs apart, a tree over whole runs may be far from the best.
            self.cost = if self.atoms { self.cost } else { UNKNOWN };
        }
    }

    /// Returns the cost of the tree.
    pub const fn cost(&self) -> u64 {
        self.cost as u64
    }

    /// Returns the tree, its cost and its optimality.
    pub fn solution(&self) -> Solution {
        Solution { tree: self.tree(), cost: self.cost(), optimality: self.optimality }
    }

    fn tree(&self) -> TypeTree {
        let runs: Vec<Run> = self.runs.runs().into_iter().flatten().collect();
        let (begins, mut start) = (parts(&runs), 0);
        let mut pieces: Vec<Run> = Vec::new();
        while start < runs.len() {
            let end = end_of(&begins, start, runs.len());
            let part = &runs[start..end];
            let part = self.pieces(part, part.len() < runs.len());
            pieces.extend(&part.list[..part.length]);
            start = end;
        }
        let levels = self.levels[..self.depth].iter();
        levels
            .fold(self.recipe.tree(&pieces), |tree, (count, stride)| TypeTree::vector(*count, *stride, tree))
    }
}

/// Returns `true` if a vec over a shifted leaf may cost less than any other shifted vec. The search does not
/// try such vecs.
const fn shifts_go_down(costs: &LinearCosts) -> bool {
    let (index, bucket) = (costs.index.at(1), costs.index_bucket.at(1).with(1, costs.bucket));
    costs.vector.at(2).own > 0 && (costs.part.times > 1 || index.times > 1 || bucket.times > 1)
}

/// Returns the node for a run that is not cut.
const fn single(run: &Run) -> Node {
    if run.count == 1 { Node::Leaf } else { Node::Leaves(Repeat::Vector, 1) }
}

const fn cost_of_run(run: &Run, costs: &LinearCosts) -> Cost {
    let leaf = at_most(costs.leaf);
    if run.count == 1 { leaf } else { times(costs.vector.at(run.count), leaf) }
}

/// Returns a lower bound of the cost of all trees of a part.
const fn floor(runs: &[Run], shifted: bool, costs: &LinearCosts) -> u64 {
    costs.floor(entries(runs), runs.len() == 1, shifted)
}
