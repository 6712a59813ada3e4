//! Type reconstruction: the least-cost description of a type map (thesis section 2.7).
//!
//! One module an algorithm: [`path`] for homogeneous maps in near-linear time, [`tree`] for all maps in
//! quadratic time. This file holds the entry point that chooses.

use alloc::vec::Vec;

use crate::{CostModel, Error, Limits, LinearCosts, Optimality, Run, Runs, Solution, TypeMap, TypeTree};

mod atoms;
mod dag;
mod open;
mod path;
mod prices;
mod repeats;
mod rows;
mod tree;

pub(crate) use atoms::Atoms;
pub(crate) use path::{least_cost as least_cost_path, levels};
pub(crate) use tree::least_cost;

/// Which descriptions are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Shape {
    /// Leaf, vec and idx, one child a node: homogeneous maps only (Träff 2014).
    Path,
    /// As `Path`, and idxbuc.
    ExtendedPath,
    /// All five node kinds.
    #[default]
    Tree,
    /// All five node kinds, equal subtrees counted once (thesis section 2.7.1). No algorithm is known that
    /// finds the least cost, so the answer is never more than an upper bound.
    Dag,
}

/// Finds a least-cost description of `map` under `costs`.
///
/// Time, for n entries: expected O(n log log n) for the paths, O(n² + n·Z) for trees, Z being the number of
/// segments worth keeping as parts of a strc. See DESIGN.md for the arguments.
///
/// Within the default [`Limits`]; see [`reconstruct_within`] for others.
///
/// # Errors
/// [`Error::Heterogeneous`] where a path is asked for a map of several base types.
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

/// As [`reconstruct`](fn@reconstruct), within given limits.
///
/// # Errors
/// As [`reconstruct`](fn@reconstruct).
///
/// ```
/// use dtype_core::{BaseType, Limits, NodeCosts, Optimality, Shape, TypeMap, reconstruct_within};
/// // Rows of growing length.
/// let triangle = (0..30).flat_map(|i| (0..=i).map(move |j| 800 * i + 8 * j)).collect();
/// let map = TypeMap::homogeneous(BaseType::F64, triangle)?;
/// let solve = |limits| reconstruct_within(&map, Shape::Tree, &NodeCosts::default(), &limits);
/// let (exact, quick) = (solve(Limits::NONE)?, solve(Limits { exact_entries: 128, ..Limits::NONE })?);
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
            let tree = from_runs(map, costs, limits);
            // What no tree can beat needs no search.
            let shifted = map.displacements()[0] != 0;
            let floor = LinearCosts::of(costs)
                .map_or(0, |costs| costs.floor(map.len() as u64, tree.single_run().is_some(), shifted));
            let optimality =
                if tree.cost(costs) <= floor { Optimality::Proven } else { Optimality::UpperBound };
            (tree, optimality)
        }
        Shape::Tree | Shape::Dag => least_cost(&Atoms::of_map(map, costs), costs, limits.kept, None),
    };
    if shape == Shape::Dag {
        let tree = dag::improve(tree, map, costs, limits);
        return Ok(Solution { cost: tree.folded_cost(costs), tree, optimality: Optimality::UpperBound });
    }
    let cost = tree.cost(costs);
    // What costs more than can be told may cost less in another way.
    let optimality = if cost < u64::MAX { optimality } else { Optimality::UpperBound };
    Ok(Solution { tree, cost, optimality })
}

/// A good tree for a map that is too long to be solved exactly: its runs are taken as they are when read from
/// the front, and for maps of one base type the least-cost path is tried as well.
fn from_runs(map: &TypeMap, costs: &dyn CostModel, limits: &Limits) -> TypeTree {
    let mut runs = Runs::default();
    map.entries().for_each(|(base, at)| runs.push(Run::single(base, at)));
    let runs = runs.as_slice();
    let pieces = runs.iter().map(|run| (run.displacement, TypeTree::of_run(run)));
    let listed = if runs.len() as u64 <= limits.exact_entries {
        least_cost(&Atoms::of_pieces(pieces, costs), costs, limits.kept, None).0
    } else {
        let (displacements, children): (Vec<_>, Vec<_>) = pieces.unzip();
        TypeTree::structure(displacements, children)
    };
    let Ok(base) = map.single_type() else { return listed };
    let leaf = (TypeTree::Leaf(base), costs.leaf(base));
    let path = path::least_cost(map.displacements(), leaf, true, costs);
    if path.cost(costs) <= listed.cost(costs) { path } else { listed }
}
