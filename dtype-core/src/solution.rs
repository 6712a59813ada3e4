//! The limits of a search, and its result.

use crate::TypeTree;

/// The status of a cost: proven to be the least, or an upper bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Optimality {
    /// The least cost: no description of the searched shape costs less.
    Proven,
    /// An upper bound: a limit stopped the search, and a cheaper description may exist.
    UpperBound,
}

impl Optimality {
    /// Returns `proven` or `upper-bound`, as in the JSON output.
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
    /// The tree; flattening it gives the type map. A DAG is given as a tree, which lowering folds to the DAG.
    pub tree: TypeTree,
    /// The cost of the tree under the given model; for a DAG, [`TypeTree::folded_cost`].
    pub cost: u64,
    /// The status of the cost: proven to be the least, or an upper bound.
    pub optimality: Optimality,
}

/// The limits of an exact search in time and memory.
///
/// A search that meets a limit returns the best tree found so far, with [`Optimality::UpperBound`]. Paths are
/// always exact, because their search takes near-linear time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest number of entries for which a tree is searched exactly. The time grows with the square of
    /// this number.
    pub exact_entries: u64,
    /// The largest number of segments (sequences of entries) kept as possible parts of a strc, at 16 bytes
    /// each.
    pub kept: u64,
}

impl Limits {
    /// No limits.
    pub const NONE: Self = Self { exact_entries: u64::MAX, kept: u64::MAX };

    /// The limits of the macros. Macros run without optimization in users' dev builds, where the worst map of
    /// 128 entries takes a few milliseconds. Constants and the running program use the same limits, so that
    /// all find the same trees.
    pub const EXPANSION: Self = Self { exact_entries: 128, kept: 1 << 24 };
}

impl Default for Limits {
    /// Returns limits of 10,000 entries (one second for the worst of the benchmark's cases) and 2²⁴ segments
    /// (256 MiB).
    fn default() -> Self {
        Self { exact_entries: 10_000, kept: 1 << 24 }
    }
}
