//! What a search may take, and what it answers.

use crate::TypeTree;

/// How much is known about a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
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
    /// The tree; flattening it gives the type map. A DAG is given as the tree it folds from: lowering folds
    /// it again.
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

    /// What the macros allow themselves, and all tiers with them, so that they agree: macros run without
    /// optimization in users' dev builds, where the worst map of 128 entries takes a few milliseconds.
    pub const EXPANSION: Self = Self { exact_entries: 128, kept: 1 << 24 };
}

impl Default for Limits {
    /// 10,000 entries, a second for the worst of the benchmark's cases; and 2²⁴ segments, 256 MiB.
    fn default() -> Self {
        Self { exact_entries: 10_000, kept: 1 << 24 }
    }
}
