//! What a tree costs: one trait, and the models of the papers.

use core::any::Any;

use crate::BaseType;

/// The cost of a node as a function of its child's: `own + times · child`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Price {
    /// What the node itself costs.
    pub own: u64,
    /// How often the child's cost counts. Less than once counts as once.
    pub times: u64,
}

impl Price {
    const FREE: Self = Self { own: 0, times: 0 };

    /// A price that adds `own` to the child's cost.
    pub const fn plus(own: u64) -> Self {
        Self { own, times: 1 }
    }

    /// The cost of the node over a child of cost `child`. Saturates at `u64::MAX`.
    pub const fn of(self, child: u64) -> u64 {
        let times = if self.times == 0 { 1 } else { self.times };
        self.own.saturating_add(times.saturating_mul(child))
    }

    /// This price and `count` times another: what an idxbuc with that many buckets costs.
    pub(crate) const fn with(self, count: u64, other: Self) -> Self {
        Self {
            own: self.own.saturating_add(count.saturating_mul(other.own)),
            times: self.times.saturating_add(count.saturating_mul(other.times)),
        }
    }
}

/// What the nodes of a type tree cost.
///
/// # Why every implementation keeps the searches exact
/// The dynamic programs combine least-cost subtrees, which is right for any model in which a dearer child
/// never makes a cheaper parent, a node never costs less than its child, more buckets are never cheaper, and
/// the parts of a strc add up. An implementation has no way to break this: it returns [`Price`]s, and the
/// library forms `own + times · child` with `times` at least 1, adds [`bucket`](Self::bucket) once for each
/// bucket, and sums [`part`](Self::part)s. Counts may be priced in any way. All that is asked is that the
/// same question gets the same answer.
///
/// ```
/// use dtype_core::{BaseType, CostModel, NodeCosts, Price, Shape, TypeMap, reconstruct};
///
/// /// A library that is quick with up to four displacements and slow beyond.
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
    /// A leaf of a base type.
    fn leaf(&self, base: BaseType) -> u64;
    /// A vec of `count` copies.
    fn vector(&self, count: u64) -> Price;
    /// An idx with `count` displacements.
    fn index(&self, count: u64) -> Price;
    /// An idxbuc of `copies` copies in all, without its buckets.
    fn index_bucket(&self, copies: u64) -> Price;
    /// What each bucket of an idxbuc adds to its price; `times` may be 0.
    fn bucket(&self) -> Price;
    /// A strc, without its parts.
    fn structure(&self) -> u64;
    /// One child of a strc, with its share of the lists.
    fn part(&self) -> Price;
}

/// Cost constants of the node kinds: the model of thesis section 2.6, and with [`Weighting::Processing`] that
/// of Träff 2014, section 4.
///
/// The defaults are the thesis's: the words a node takes up.
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
    /// A leaf.
    pub leaf: u64,
    /// A vec node.
    pub vec: u64,
    /// An idx node, without its list.
    pub idx: u64,
    /// A strc node, without its lists.
    pub strc: u64,
    /// An idxbuc node, without its lists.
    pub idxbuc: u64,
    /// One element of a list: one per displacement of an idx, two per bucket of an idxbuc and per child of a
    /// strc.
    pub lookup: u64,
    /// A contiguous block of data. All trees of a type map have as many, so no search looks at it: see
    /// [`time`](Self::time). It is the same with the next two.
    pub block: u64,
    /// A change of base type from one entry to the next.
    pub change: u64,
    /// A byte of data.
    pub byte: u64,
    /// Whether a node is paid once or each time it is run.
    pub weighting: Weighting,
}

/// How often a node's cost is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Weighting {
    /// Once: the words that describe the layout (thesis section 2.6).
    #[default]
    Storage,
    /// Once for each time the node is run while the data is walked (Träff 2014, section 4).
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

    /// The default constants, each node paid as often as it is run.
    pub const fn processing() -> Self {
        Self { weighting: Weighting::Processing, ..Self::THESIS }
    }

    /// The model as lines.
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
/// operations needed to parse a layout. A node multiplies its child's penalty by the length of its lists (0,
/// n and 2n for vec, idx and idxbuc) plus a constant overhead; a strc adds up its children's, and 3 a child
/// for its lists.
///
/// ```
/// use dtype_core::{BaseType, Penalty, TypeTree};
/// let two_levels = TypeTree::vector(50, 80, TypeTree::index([0, 8, 24], TypeTree::Leaf(BaseType::F64)));
/// assert_eq!(two_levels.cost(&Penalty::default()), 2 * (2 + 3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Penalty {
    /// The O(1) overhead of a constructor, at least 1; at 1 a vec is free.
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

    /// The model as lines.
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
    /// The price of no copy.
    pub first: Price,
    /// What each copy adds.
    pub more: Price,
}

impl Line {
    /// The price of `count` copies. Saturates at `u64::MAX`.
    pub const fn at(self, count: u64) -> Price {
        if self.is_flat() { self.first } else { self.first.with(count, self.more) }
    }

    /// Whether it is the same for all counts.
    pub(crate) const fn is_flat(&self) -> bool {
        self.more.own == 0 && self.more.times == 0
    }
}

/// A cost model that is linear in all counts, as plain data, so that it can be read in a constant.
/// [`NodeCosts`] and [`Penalty`] are such models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinearCosts {
    /// A leaf of any base type.
    pub leaf: u64,
    /// A vec, by its copies.
    pub vector: Line,
    /// An idx, by its displacements.
    pub index: Line,
    /// An idxbuc without its buckets, by its copies.
    pub index_bucket: Line,
    /// What each bucket of an idxbuc adds.
    pub bucket: Price,
    /// A strc, without its parts.
    pub structure: u64,
    /// One child of a strc.
    pub part: Price,
}

impl LinearCosts {
    const fn linear(&self) -> Self {
        *self
    }

    /// The model as lines, if it is known to be one.
    pub(crate) fn of(costs: &dyn CostModel) -> Option<Self> {
        let any = costs as &dyn Any;
        let nodes = || any.downcast_ref::<NodeCosts>().map(NodeCosts::linear);
        let penalty = || any.downcast_ref::<Penalty>().map(Penalty::linear);
        any.downcast_ref::<Self>().map(Self::linear).or_else(nodes).or_else(penalty)
    }

    /// A cost that no description of `entries` entries, two or more, beats, from the nodes it must at least
    /// have; `run` says whether they are one strided run, and `shifted` whether they begin elsewhere than at
    /// 0. Sharp for runs, and for runs of runs; 0 where what a node costs depends on how often it is run.
    pub(crate) const fn floor(&self, entries: u64, run: bool, shifted: bool) -> u64 {
        let (vector, bucket) = (self.vector.at(2), self.bucket.own);
        let (index, index_bucket) = (self.index.at(2), self.index_bucket.at(2));
        if vector.times > 1 || index.times > 1 || index_bucket.times > 1 || self.bucket.times > 0 {
            return 0;
        }
        let one_bucket = index_bucket.own.saturating_add(bucket);
        let buckets = one_bucket.saturating_add(bucket);
        // The least a node costs that repeats its child regularly, irregularly, or joins two children.
        let regular = least(vector.own, one_bucket);
        let irregular = least(index.own, buckets);
        let joined = self.structure.saturating_add(self.part.own.saturating_mul(2)).saturating_add(self.leaf);
        let node = least(regular, least(joined, irregular));
        // A single node over a leaf that is no run lists all entries, or at least two buckets.
        let listed = self.index.at(entries).own;
        let not_a_run = least(least(listed, buckets), least(joined, node.saturating_mul(2)));
        // A shift is taken up by a list: that of the only node, or that of a node with a single child.
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

/// Models that are known to be linear answer through their lines.
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
