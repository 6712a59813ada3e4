//! Type reconstruction: the least-cost description of a type map (thesis section 2.7).
//!
//! The algorithms have a module each: [`path`] for homogeneous maps in near-linear time, [`tree`] for all
//! maps in quadratic time. This file holds the entry points, which choose between them.

use alloc::{vec, vec::Vec};
use core::iter;

use crate::{
    CostModel, Error, Limits, LinearCosts, Optimality, Run, Runs, Solution, TypeMap, TypeTree,
    cuts::{Anchor, Repetition, Room, Stretch, Tiling, cut, entries, is_within_reason, takes_runs_for_atoms},
};

mod atoms;
mod build;
mod dag;
mod open;
mod open_repeats;
mod path;
mod prices;
mod repeats;
mod rows;
mod tree;

pub(crate) use atoms::Atoms;
pub(crate) use path::{least_cost as least_cost_path, levels};
pub(crate) use tree::least_cost;

/// The set of descriptions that a search considers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Shape {
    /// Paths of leaf, vec and idx nodes, which have at most one child: homogeneous maps only (Träff 2014).
    Path,
    /// Like `Path`, with idxbuc nodes as well.
    ExtendedPath,
    /// Trees of all five node kinds.
    #[default]
    Tree,
    /// DAGs of all five node kinds: equal subtrees count once (thesis section 2.7.1). No algorithm is known
    /// that finds the least cost, so the result is an upper bound.
    Dag,
}

/// Finds a least-cost description of `map` under `costs`.
///
/// For n entries, paths take expected time O(n log log n), and trees take time O(n² + n·Z). Z is the number
/// of segments worth keeping as parts of a strc. docs/search.md has the proofs.
///
/// The search stays within the default [`Limits`]; [`reconstruct_within`] takes others.
///
/// # Errors
/// [`Error::Heterogeneous`] if a path is requested for a map of several base types.
///
/// ```
/// use dtype_core::{BaseType, NodeCosts, Shape, TypeMap, TypeTree, reconstruct};
/// let map = TypeMap::homogeneous(BaseType::I32, vec![0, 4, 8, 100, 104, 108])?;
/// let solution = reconstruct(&map, Shape::Path, &NodeCosts::default())?;
/// let row = TypeTree::vector(3, 4, TypeTree::Leaf(BaseType::I32));
/// assert_eq!(solution.tree, TypeTree::vector(2, 100, row));
/// assert_eq!(solution.cost, 13);
/// # Ok::<(), dtype_core::Error>(())
/// ```
pub fn reconstruct(map: &TypeMap, shape: Shape, costs: &dyn CostModel) -> Result<Solution, Error> {
    reconstruct_within(map, shape, costs, &Limits::default())
}

/// Like [`reconstruct`](fn@reconstruct), within the given limits.
///
/// # Errors
/// The errors of [`reconstruct`](fn@reconstruct).
///
/// ```
/// use dtype_core::{BaseType, Limits, NodeCosts, Optimality, Shape, TypeMap, reconstruct_within};
/// // Rows of growing length.
/// let triangle = (0..30).flat_map(|i| (0..=i).map(move |j| 800 * i + 8 * j)).collect();
/// let map = TypeMap::homogeneous(BaseType::F64, triangle)?;
/// let solve = |limits| reconstruct_within(&map, Shape::Tree, &NodeCosts::default(), &limits);
/// let (exact, quick) = (solve(Limits::NONE)?, solve(Limits { exact_entries: 30, ..Limits::NONE })?);
/// assert_eq!((exact.cost, exact.optimality), (70, Optimality::Proven));
/// assert_eq!((quick.cost, quick.optimality), (70, Optimality::UpperBound));
/// # Ok::<(), dtype_core::Error>(())
/// ```
pub fn reconstruct_within(
    map: &TypeMap,
    shape: Shape,
    costs: &dyn CostModel,
    limits: &Limits,
) -> Result<Solution, Error> {
    let (tree, optimality) = match shape {
        Shape::Path | Shape::ExtendedPath => {
            let base = map.single_type()?;
            let leaf = (TypeTree::Leaf(base), costs.leaf(base));
            let buckets = shape == Shape::ExtendedPath;
            (path::least_cost(map.displacements(), leaf, buckets, costs), Optimality::Proven)
        }
        Shape::Tree | Shape::Dag if map.len() as u64 > limits.exact_entries => {
            let (tree, optimality) = from_map(map, costs, limits);
            // A tree whose cost meets the floor is optimal, however it was found.
            let shifted = map.displacements()[0] != 0;
            let floor = LinearCosts::of(costs)
                .map_or(0, |costs| costs.floor(map.len() as u64, tree.single_run().is_some(), shifted));
            let proven = optimality == Optimality::Proven || tree.cost(costs) <= floor;
            (tree, if proven { Optimality::Proven } else { Optimality::UpperBound })
        }
        Shape::Tree | Shape::Dag => {
            let most = map.len() as u64 / PIECES;
            let runs = solves_runs(costs).then(|| runs_of(map, most)).flatten();
            let solved = runs.map(|runs| from_runs(runs.as_slice(), costs, limits));
            solved
                .filter(|(_, optimality)| *optimality == Optimality::Proven)
                .unwrap_or_else(|| least_cost(&Atoms::of_map(map, costs), costs, limits.kept, None))
        }
    };
    if shape == Shape::Dag {
        let tree = dag::improve(tree, map, costs, limits);
        return Ok(Solution { cost: tree.folded_cost(costs), tree, optimality: Optimality::UpperBound });
    }
    let cost = tree.cost(costs);
    // If the sum saturated, a tree of lower cost may exist.
    let optimality = if cost < u64::MAX { optimality } else { Optimality::UpperBound };
    Ok(Solution { tree, cost, optimality })
}

/// Returns a good tree for a map that is too long to be solved entry by entry: the tree over its runs or, for
/// maps of one base type, the least-cost path.
fn from_map(map: &TypeMap, costs: &dyn CostModel, limits: &Limits) -> (TypeTree, Optimality) {
    let Ok(base) = map.single_type() else {
        let runs = runs_of(map, u64::MAX).unwrap_or_default();
        return from_runs(runs.as_slice(), costs, limits);
    };
    let leaf = (TypeTree::Leaf(base), costs.leaf(base));
    // If there are too many runs to solve, `from_runs` makes each of them a part of a strc. With more than
    // `cost / part` parts, the strc costs more than the path.
    let part = costs.part().of(leaf.1).max(1);
    let path = path::least_cost(map.displacements(), leaf, true, costs);
    let cost = path.cost(costs);
    let runs = runs_of(map, limits.exact_entries.max(cost / part));
    let better = runs
        .map(|runs| from_runs(runs.as_slice(), costs, limits))
        .filter(|(tree, optimality)| *optimality == Optimality::Proven || tree.cost(costs) < cost);
    better.unwrap_or((path, Optimality::UpperBound))
}

/// The assumed number of pieces per run: most runs are cut into three pieces, some into more.
pub(crate) const PIECES: u64 = 5;

/// Returns the runs of a map, or `None` if there are more than `most`.
fn runs_of(map: &TypeMap, most: u64) -> Option<Runs> {
    let mut runs = Runs::default();
    map.entries().try_for_each(|(base, at)| {
        runs.push(Run::single(base, at));
        (runs.as_slice().len() as u64 <= most).then_some(())
    })?;
    Some(runs)
}

/// Returns `true` if [`from_runs`] may find the least-cost tree under this model.
pub(crate) fn solves_runs(costs: &dyn CostModel) -> bool {
    LinearCosts::of(costs).is_some_and(|costs| takes_runs_for_atoms(&costs))
}

/// Returns a tree over some runs. The runs are cut as far as the limits and the model allow. If the result
/// says `Proven`, the tree is the least-cost one.
pub(crate) fn from_runs(runs: &[Run], costs: &dyn CostModel, limits: &Limits) -> (TypeTree, Optimality) {
    let most = usize::try_from(limits.exact_entries).unwrap_or(usize::MAX);
    if runs.len() > most {
        let (places, children): (Vec<_>, Vec<_>) =
            runs.iter().map(|run| (run.displacement, TypeTree::of_run(run))).unzip();
        return (TypeTree::structure(places, children), Optimality::UpperBound);
    }
    let Some(linear) = LinearCosts::of(costs).filter(|_| is_within_reason(runs)) else {
        let pieces = runs.iter().map(|run| (run.displacement, TypeTree::of_run(run)));
        let (tree, _) = least_cost(&Atoms::of_pieces(pieces, costs), costs, limits.kept, None);
        return (tree, Optimality::UpperBound);
    };
    let (cuts, exact) = match cuts(runs, &Tiling::of(&linear), most) {
        Some(cuts) => (cuts, takes_runs_for_atoms(&linear)),
        None => (ends(runs), false),
    };
    let (tree, optimality) = least_cost(&Atoms::of_runs(runs, &cuts, costs), costs, limits.kept, None);
    (tree, if exact { optimality } else { Optimality::UpperBound })
}

/// Returns the ends of the runs, in entries from the start of the map.
fn ends(runs: &[Run]) -> Vec<u64> {
    let end = |at: &mut u64, run: &Run| {
        *at += run.count;
        Some(*at)
    };
    iter::once(0).chain(runs.iter().scan(0, end)).collect()
}

/// Cuts the runs into at most `most` pieces and returns the cuts, or `None` if more pieces are needed.
fn cuts(runs: &[Run], tiling: &Tiling, most: usize) -> Option<Vec<u64>> {
    /// The largest average number of pieces per run that is worth the memory.
    const MOST: usize = 64;
    let pieces = most.min(MOST * runs.len()).min(usize::try_from(entries(runs)).unwrap_or(usize::MAX));
    let mut cuts = vec![0; pieces + 1];
    let room = Room {
        cuts: &mut cuts,
        stretches: &mut vec![Stretch::NONE; 2 * runs.len()],
        anchors: &mut vec![Anchor::NONE; pieces],
        repetitions: &mut vec![Repetition::NONE; 2 * pieces],
    };
    let length = cut(runs, tiling, room)?;
    cuts.truncate(length);
    Some(cuts)
}
