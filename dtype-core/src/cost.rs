//! Cost models of type trees: one trait, and the models of the papers.

use core::any::Any;

use crate::BaseType;

/// The cost of a node as a function of its child's cost: `own + times · child`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Price {
    /// The cost of the node itself.
    pub own: u64,
    /// The factor of the child's cost; 0 counts as 1.
    pub times: u64,
}

impl Price {
    const FREE: Self = Self { own: 0, times: 0 };

    /// Returns a price that adds `own` to the child's cost.
    pub const fn plus(own: u64) -> Self {
        Self { own, times: 1 }
    }

    /// Returns the cost of the node over a child of cost `child`. Saturates at `u64::MAX`.
    pub const fn of(self, child: u64) -> u64 {
        let times = if self.times == 0 { 1 } else { self.times };
        self.own.saturating_add(times.saturating_mul(child))
    }

    /// Returns this price plus `count` times another: the price of an idxbuc with `count` buckets.
    pub(crate) const fn with(self, count: u64, other: Self) -> Self {
        Self {
            own: self.own.saturating_add(count.saturating_mul(other.own)),
            times: self.times.saturating_add(count.saturating_mul(other.times)),
        }
    }
}

/// A cost model: the prices of the nodes of a type tree.
///
/// # Why every implementation keeps the searches exact
/// The dynamic programs combine least-cost subtrees. This is exact for every model with four properties: a
/// dearer child never makes a cheaper parent, a node never costs less than its child, more buckets are never
/// cheaper, and the costs of a strc's parts add up. No implementation can violate them: it only returns
/// [`Price`]s. The library forms `own + times · child` with `times` at least 1, adds [`bucket`](Self::bucket)
/// once for each bucket, and sums [`part`](Self::part)s. Counts may be priced in any way. An implementation
/// must return the same result for the same arguments.
///
/// ```
/// use dtype_core::{BaseType, CostModel, NodeCosts, Price, Shape, TypeMap, reconstruct};
///
/// /// A library that is quick with up to four displacements and slow with more.
/// struct ShortLists;
///
/// impl CostModel for ShortLists {
///     fn leaf(&self, _: BaseType) -> u64 { 3 }
///     fn vector(&self, _count: u64) -> Price { Price::plus(5) }
///     fn index(&self, count: u64) -> Price { Price::plus(if count <= 4 { 5 } else { 100 }) }
///     fn index_bucket(&self, _copies: u64) -> Price { Price::plus(50) }
///     fn bucket(&self) -> Price { Price { own: 2, times: 0 } }
///     fn structure(&self) -> u64 { 5 }
///     fn part(&self) -> Price { Price::plus(2) }
/// }
///
/// let map = TypeMap::homogeneous(BaseType::U8, vec![0, 1, 5, 7, 100, 101, 105, 107])?;
/// let tree = reconstruct(&map, Shape::Tree, &ShortLists)?.tree;
/// assert_eq!(tree.to_string(), "vec 2, stride 100\n└─ idx 4 at [0, 1, 5, 7]\n   └─ u8\n");
/// # Ok::<(), dtype_core::Error>(())
/// ```
pub trait CostModel: Any {
    /// Returns the cost of a leaf of a base type.
    fn leaf(&self, base: BaseType) -> u64;
    /// Returns the price of a vec of `count` copies.
    fn vector(&self, count: u64) -> Price;
    /// Returns the price of an idx with `count` displacements.
    fn index(&self, count: u64) -> Price;
    /// Returns the price of an idxbuc of `copies` copies in all, without its buckets.
    fn index_bucket(&self, copies: u64) -> Price;
    /// Returns the price that each bucket adds to an idxbuc; `times` may be 0.
    fn bucket(&self) -> Price;
    /// Returns the cost of a strc, without its parts.
    fn structure(&self) -> u64;
    /// Returns the price of one child of a strc, with its share of the lists.
    fn part(&self) -> Price;
}

/// Cost constants of the node kinds: the model of thesis section 2.6, and with [`Weighting::Processing`] that
/// of Träff 2014, section 4.
///
/// The defaults are the constants of the thesis: the number of words that a node takes up.
///
/// ```
/// use dtype_core::{BaseType, NodeCosts, TypeTree};
/// let column = TypeTree::vector(100, 800, TypeTree::Leaf(BaseType::F64));
/// assert_eq!(column.cost(&NodeCosts::default()), 5 + 3);
/// assert_eq!(column.cost(&NodeCosts::processing()), 5 + 100 * 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct NodeCosts {
    /// The cost of a leaf.
    pub leaf: u64,
    /// The cost of a vec node.
    pub vec: u64,
    /// The cost of an idx node, without its list.
    pub idx: u64,
    /// The cost of a strc node, without its lists.
    pub strc: u64,
    /// The cost of an idxbuc node, without its lists.
    pub idxbuc: u64,
    /// The cost of one list element. An idx has one for each displacement, an idxbuc two for each bucket, and
    /// a strc two for each child.
    pub lookup: u64,
    /// The cost of a contiguous block of data. All trees of a type map have the same number of blocks, so
    /// only [`time`](Self::time) uses this constant; the searches ignore it. The same holds for `change` and
    /// `byte`.
    pub block: u64,
    /// The cost of a change of base type from one entry to the next.
    pub change: u64,
    /// The cost of a byte of data.
    pub byte: u64,
    /// The weighting: a node is paid once, or each time it is processed.
    pub weighting: Weighting,
}

/// The number of times that a node's cost counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Weighting {
    /// Once: the cost is that of storing the description (thesis section 2.6).
    #[default]
    Storage,
    /// Once for each time that a traversal of the data visits the node (Träff 2014, section 4).
    Processing,
}

impl Default for NodeCosts {
    fn default() -> Self {
        Self::THESIS
    }
}

impl NodeCosts {
    /// The thesis's constants, which are the default.
    pub const THESIS: Self = Self {
        leaf: 3,
        vec: 5,
        idx: 5,
        strc: 5,
        idxbuc: 7,
        lookup: 1,
        block: 0,
        change: 0,
        byte: 0,
        weighting: Weighting::Storage,
    };

    /// Returns the default constants with [`Weighting::Processing`].
    pub const fn processing() -> Self {
        Self { weighting: Weighting::Processing, ..Self::THESIS }
    }

    /// Returns this model as linear costs.
    pub const fn linear(&self) -> LinearCosts {
        let again = Price { own: 0, times: 1 };
        let (once, each) = match self.weighting {
            Weighting::Storage => (1, Price::FREE),
            Weighting::Processing => (0, again),
        };
        let lookups = self.lookup.saturating_mul(2);
        LinearCosts {
            leaf: self.leaf,
            vector: Line { first: Price { own: self.vec, times: once }, more: each },
            index: Line {
                first: Price { own: self.idx, times: once },
                more: Price { own: self.lookup, ..each },
            },
            index_bucket: Line { first: Price { own: self.idxbuc, times: once }, more: each },
            bucket: Price { own: lookups, times: 0 },
            structure: self.strc,
            part: Price::plus(lookups),
        }
    }
}

/// The *penalty* of "Performance Expectations and Guidelines for MPI Derived Datatypes", section 2: the
/// number of operations needed to parse a layout. A node multiplies its child's penalty by a constant
/// overhead plus the length of its lists (0, n and 2n for vec, idx and idxbuc). The penalty of a strc is the
/// overhead plus the sum of its children's penalties, with 3 more for each child's share of the lists.
///
/// ```
/// use dtype_core::{BaseType, Penalty, TypeTree};
/// let two_levels = TypeTree::vector(50, 80, TypeTree::index([0, 8, 24], TypeTree::Leaf(BaseType::F64)));
/// assert_eq!(two_levels.cost(&Penalty::default()), 2 * (2 + 3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Penalty {
    /// The O(1) overhead of a constructor, at least 1. With an overhead of 1, a vec is free.
    pub overhead: u64,
}

impl Default for Penalty {
    fn default() -> Self {
        Self::GUIDELINES
    }
}

impl Penalty {
    /// An overhead of 2, which is the default.
    pub const GUIDELINES: Self = Self { overhead: 2 };

    /// Returns this model as linear costs.
    pub const fn linear(&self) -> LinearCosts {
        let overhead = Line { first: Price { own: 0, times: self.overhead }, more: Price::FREE };
        LinearCosts {
            leaf: 1,
            vector: overhead,
            index: Line { more: Price { own: 0, times: 1 }, ..overhead },
            index_bucket: overhead,
            bucket: Price { own: 0, times: 2 },
            structure: self.overhead,
            part: Price::plus(3),
        }
    }
}

/// A price that is linear in a count: `first + count · more`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Line {
    /// The price for a count of 0.
    pub first: Price,
    /// The price that each copy adds.
    pub more: Price,
}

impl Line {
    /// Returns the price for `count` copies. Saturates at `u64::MAX`.
    pub const fn at(self, count: u64) -> Price {
        if self.is_flat() { self.first } else { self.first.with(count, self.more) }
    }

    /// Returns `true` if the price is the same for all counts.
    pub(crate) const fn is_flat(&self) -> bool {
        self.more.own == 0 && self.more.times == 0
    }
}

/// A cost model that is linear in all counts. It is plain data, so a constant can evaluate it. [`NodeCosts`]
/// and [`Penalty`] are such models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinearCosts {
    /// The cost of a leaf of any base type.
    pub leaf: u64,
    /// The price of a vec, linear in its copies.
    pub vector: Line,
    /// The price of an idx, linear in its displacements.
    pub index: Line,
    /// The price of an idxbuc without its buckets, linear in its copies.
    pub index_bucket: Line,
    /// The price that each bucket adds to an idxbuc.
    pub bucket: Price,
    /// The cost of a strc, without its parts.
    pub structure: u64,
    /// The price of one child of a strc.
    pub part: Price,
}

impl LinearCosts {
    const fn linear(&self) -> Self {
        *self
    }

    /// Returns a model as linear costs, if its type is one of the linear models of this crate.
    pub(crate) fn of(costs: &dyn CostModel) -> Option<Self> {
        let any = costs as &dyn Any;
        let nodes = || any.downcast_ref::<NodeCosts>().map(NodeCosts::linear);
        let penalty = || any.downcast_ref::<Penalty>().map(Penalty::linear);
        any.downcast_ref::<Self>().map(Self::linear).or_else(nodes).or_else(penalty)
    }

    /// Returns a lower bound of the cost of all trees with `entries` entries, two or more. It counts the
    /// nodes that every such tree must have. `run` means that the entries are one strided run, and `shifted`
    /// that they do not begin at 0. The bound is sharp for runs and for runs of runs. It is 0 if a node's
    /// cost depends on how often the node is processed.
    pub(crate) const fn floor(&self, entries: u64, run: bool, shifted: bool) -> u64 {
        let (vector, bucket) = (self.vector.at(2), self.bucket.own);
        let (index, index_bucket) = (self.index.at(2), self.index_bucket.at(2));
        if vector.times > 1 || index.times > 1 || index_bucket.times > 1 || self.bucket.times > 0 {
            return 0;
        }
        let one_bucket = index_bucket.own.saturating_add(bucket);
        let buckets = one_bucket.saturating_add(bucket);
        // The least cost of three kinds of nodes: one that repeats its child regularly, one that repeats it
        // irregularly, and a strc of two children.
        let regular = least(vector.own, one_bucket);
        let irregular = least(index.own, buckets);
        let joined = self.structure.saturating_add(self.part.own.saturating_mul(2)).saturating_add(self.leaf);
        let node = least(regular, least(joined, irregular));
        // If the entries are not a run, a single node over a leaf lists all entries or at least two buckets.
        let listed = self.index.at(entries).own;
        let not_a_run = least(least(listed, buckets), least(joined, node.saturating_mul(2)));
        // A list contains the shift: the list of the only node, or the list of a further node with a single
        // child.
        let single = least(
            self.index.at(1).own,
            least(
                self.index_bucket.at(1).own.saturating_add(bucket),
                self.structure.saturating_add(self.part.own),
            ),
        );
        let shifted_run = least(least(listed, one_bucket), least(joined, node.saturating_add(single)));
        self.leaf.saturating_add(match (run, shifted) {
            (true, false) => node,
            (true, true) => shifted_run,
            (false, _) => not_a_run,
        })
    }
}

pub(crate) const fn least(a: u64, b: u64) -> u64 {
    if a < b { a } else { b }
}

/// Implements [`CostModel`] for models that are known to be linear.
macro_rules! answer_through_lines {
    ($($model:ty),*) => {$(
        impl CostModel for $model {
            fn leaf(&self, _: BaseType) -> u64 {
                self.linear().leaf
            }

            fn vector(&self, count: u64) -> Price {
                self.linear().vector.at(count)
            }

            fn index(&self, count: u64) -> Price {
                self.linear().index.at(count)
            }

            fn index_bucket(&self, copies: u64) -> Price {
                self.linear().index_bucket.at(copies)
            }

            fn bucket(&self) -> Price {
                self.linear().bucket
            }

            fn structure(&self) -> u64 {
                self.linear().structure
            }

            fn part(&self) -> Price {
                self.linear().part
            }
        }
    )*};
}

answer_through_lines!(LinearCosts, NodeCosts, Penalty);
