//! Type reconstruction: the least-cost description of a type map (thesis section 2.7).
//!
//! One module an algorithm: [`path`] for homogeneous maps in near-linear time, [`tree`] for all maps in
//! quadratic time. This file holds what they share and the entry point that chooses.

use alloc::{vec, vec::Vec};

use crate::{CostModel, Error, LinearCosts, Run, Runs, TypeMap, TypeTree, constant::EXACT_ENTRIES};

mod atoms;
mod dag;
mod open;
mod path;
mod prices;
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
    /// All five node kinds, equal subtrees counted once (thesis section 2.7.1). No algorithm is known that finds the least
    /// cost, so the answer is never more than an upper bound.
    Dag,
}

/// How much is known about a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimality {
    /// No description of the searched shape costs less.
    Proven,
    /// The search was cut off by a limit; a cheaper description may exist.
    UpperBound,
}

impl Optimality {
    /// `proven` or `upper-bound`, as in the JSON output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::UpperBound => "upper-bound",
        }
    }
}

/// A description of a type map, with its cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution {
    /// The tree; flattening it gives the type map. A DAG is given as the tree it folds from: lowering folds it again.
    pub tree: TypeTree,
    /// Its cost under the model asked for; [`TypeTree::folded_cost`] for a DAG.
    pub cost: u64,
    /// Whether that is the least.
    pub optimality: Optimality,
}

/// How far an exact search may go, in time and memory.
///
/// Where a search meets a limit it still answers, with the best tree found so far and
/// [`Optimality::UpperBound`]. Paths are always exact: their time is near-linear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most entries for which a tree is searched exactly. The time grows with the square.
    pub exact_entries: u64,
    /// The most segments kept as possible parts of a strc: 16 bytes each.
    pub kept: u64,
}

impl Limits {
    /// No limits.
    pub const NONE: Self = Self { exact_entries: u64::MAX, kept: u64::MAX };

    /// What the macros allow themselves, and all tiers with them, so that they agree: macros run without optimization in
    /// users' dev builds, where the worst map of 128 entries takes a few milliseconds.
    pub const EXPANSION: Self = Self { exact_entries: EXACT_ENTRIES, kept: 1 << 24 };
}

impl Default for Limits {
    /// 10,000 entries, a few seconds for the worst of maps; and 2²⁴ segments, 256 MiB.
    fn default() -> Self {
        Self { exact_entries: 10_000, kept: 1 << 24 }
    }
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

/// A good tree for a map that is too long to be solved exactly: its runs are taken as they are when read from the front,
/// and for maps of one base type the least-cost path is tried as well.
fn from_runs(map: &TypeMap, costs: &dyn CostModel, limits: &Limits) -> TypeTree {
    let mut runs = Runs::default();
    map.entries().for_each(|(base, at)| runs.push(Run::single(base, at)));
    let runs = runs.as_slice();
    let pieces = runs.iter().map(|run| (run.displacement, run.tree()));
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

/// The node that repeats a child of a fixed length, and what it needs beyond the displacements themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    Vector,
    Index,
    Bucket,
}

/// Counts the differences of consecutive displacements as they are read, and knows which is the most frequent.
///
/// That is the best stride of an idxbuc over what was read: copies that do not follow their predecessor at
/// the stride begin a new bucket.
struct Strides {
    first: i64,
    read: u64,
    /// Left empty while all differences equal `first`.
    counts: Counter,
    best: (u64, i64),
}

impl Strides {
    /// Begins with `read` differences, all equal to `first`.
    fn regular(first: i64, read: u64) -> Self {
        Self { first, read, counts: Counter::default(), best: (read, first) }
    }

    fn push(&mut self, difference: i64) {
        self.read += 1;
        if self.counts.is_empty() {
            if difference == self.first {
                self.best.0 += 1;
                return;
            }
            *self.counts.entry(self.first) = self.read - 1;
        }
        let count = self.counts.entry(difference);
        *count += 1;
        if *count > self.best.0 {
            self.best = (*count, difference);
        }
    }

    /// Whether all differences read so far are the same.
    fn is_regular(&self) -> bool {
        self.best.0 == self.read
    }

    /// Number of buckets if the copies read so far go into an idxbuc of the best stride.
    fn buckets(&self) -> u64 {
        self.read + 1 - self.best.0
    }
}

/// A count for each of some numbers: a hash table with linear probing. The derive's own tree has no room for a crate
/// that has one, and in an ordered map the counting would take most of a search's time.
#[derive(Default)]
struct Counter {
    /// A power of two of places, at most half of them taken.
    places: Vec<Option<(i64, u64)>>,
    taken: usize,
}

impl Counter {
    fn is_empty(&self) -> bool {
        self.taken == 0
    }

    /// The count of `number`, 0 when it is first asked for.
    fn entry(&mut self, number: i64) -> &mut u64 {
        if 2 * self.taken >= self.places.len() {
            self.grow();
        }
        let place = self.place(number);
        if self.places[place].is_none() {
            self.taken += 1;
        }
        &mut self.places[place].get_or_insert((number, 0)).1
    }

    /// Where `number` is, or the free place where it belongs.
    fn place(&self, number: i64) -> usize {
        // Fibonacci hashing: strides are multiples of powers of two, whose low bits say nothing.
        let hash = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mask = self.places.len() - 1;
        let mut place = (hash >> 32) as usize & mask;
        while self.places[place].is_some_and(|(known, _)| known != number) {
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        let larger = vec![None; (2 * self.places.len()).max(8)];
        for entry in core::mem::replace(&mut self.places, larger).into_iter().flatten() {
            let place = self.place(entry.0);
            self.places[place] = Some(entry);
        }
    }
}

/// Builds the node `kind` over `child`, whose copies lie at every `q`th of `segment`, moved to begin at `shift`. A vec
/// takes no shift: its copies begin at 0.
pub(crate) fn repeat(kind: Repeat, segment: &[i64], q: usize, shift: i64, child: TypeTree) -> TypeTree {
    let moved = |at: &i64| at - segment[0] + shift;
    let (count, stride) =
        ((segment.len() / q) as u64, segment.get(q).map_or(0, |second| second - segment[0]));
    // A vec needs no list, and a list of all elements is quicker to make without steps.
    let displacements: Vec<i64> = match (kind, q) {
        (Repeat::Vector, _) => Vec::new(),
        (_, 1) => segment.iter().map(moved).collect(),
        _ => segment.iter().step_by(q).map(moved).collect(),
    };
    match kind {
        Repeat::Vector => TypeTree::vector(count, stride, child),
        Repeat::Index => TypeTree::index(displacements, child),
        Repeat::Bucket => {
            let mut strides = Strides::regular(stride, 0);
            displacements.windows(2).for_each(|pair| strides.push(pair[1] - pair[0]));
            let stride = strides.best.1;
            let (mut buckets, mut starts) = (Vec::new(), Vec::new());
            let mut expected = None;
            for at in displacements {
                match buckets.last_mut() {
                    Some(last) if expected == Some(at) => *last += 1,
                    _ => {
                        buckets.push(1);
                        starts.push(at);
                    }
                }
                expected = at.checked_add(stride);
            }
            TypeTree::index_bucket(stride, buckets, starts, child)
        }
    }
}
