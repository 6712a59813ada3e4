//! What a tree costs: one trait, and the models of the papers.

use core::any::Any;

use crate::BaseType;

/// The cost of a node as a function of its child's: `own + times · child`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// What the node itself costs.
    pub own: u64,
    /// How often the child's cost counts. Less than once counts as once.
    pub times: u64,
}

impl Price {
    /// A price that adds `own` to the child's cost.
    pub const fn plus(own: u64) -> Self {
        Self { own, times: 1 }
    }

    /// The cost of the node over a child of cost `child`. Saturates at `u64::MAX`.
    pub fn of(self, child: u64) -> u64 {
        self.own.saturating_add(self.times.max(1).saturating_mul(child))
    }

    /// This price and `count` times another: what an idxbuc with that many buckets costs.
    pub(crate) fn with(self, count: u64, other: Self) -> Self {
        Self {
            own: self.own.saturating_add(count.saturating_mul(other.own)),
            times: self.times.saturating_add(count.saturating_mul(other.times)),
        }
    }
}

/// What the nodes of a type tree cost.
///
/// # Why every implementation keeps the searches exact
/// The dynamic programs combine least-cost subtrees, which is right for any model in which a dearer child never makes
/// a cheaper parent, a node never costs less than its child, more buckets are never cheaper, and the parts of a strc
/// add up. An implementation has no way to break this: it returns [`Price`]s, and the library forms `own + times · child`
/// with `times` at least 1, adds [`bucket`](Self::bucket) once for each bucket, and sums [`part`](Self::part)s. Counts may
/// be priced in any way. All that is asked is that the same question gets the same answer.
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

/// Cost constants of the node kinds: the model of thesis section 2.6, and with [`Weighting::Processing`] that of Träff
/// 2014, section 4.
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
        Self { leaf: 3, vec: 5, idx: 5, strc: 5, idxbuc: 7, lookup: 1, weighting: Weighting::Storage }
    }
}

impl NodeCosts {
    /// The default constants, each node paid as often as it is run.
    pub fn processing() -> Self {
        Self { weighting: Weighting::Processing, ..Self::default() }
    }

    fn price(&self, own: u64, copies: u64) -> Price {
        match self.weighting {
            Weighting::Storage => Price::plus(own),
            Weighting::Processing => Price { own, times: copies },
        }
    }
}

impl CostModel for NodeCosts {
    fn leaf(&self, _: BaseType) -> u64 {
        self.leaf
    }

    fn vector(&self, count: u64) -> Price {
        self.price(self.vec, count)
    }

    fn index(&self, count: u64) -> Price {
        self.price(self.idx.saturating_add(count.saturating_mul(self.lookup)), count)
    }

    fn index_bucket(&self, copies: u64) -> Price {
        self.price(self.idxbuc, copies)
    }

    fn bucket(&self) -> Price {
        Price { own: self.lookup.saturating_mul(2), times: 0 }
    }

    fn structure(&self) -> u64 {
        self.strc
    }

    fn part(&self) -> Price {
        Price::plus(self.lookup.saturating_mul(2))
    }
}

/// The *penalty* of "Performance Expectations and Guidelines for MPI Derived Datatypes", section 2: the operations needed to
/// parse a layout. A node multiplies its child's penalty by the length of its lists (0, n and 2n for vec, idx and
/// idxbuc) plus a constant overhead; a strc adds up its children's, and 3 a child for its lists.
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
        Self { overhead: 2 }
    }
}

impl CostModel for Penalty {
    fn leaf(&self, _: BaseType) -> u64 {
        1
    }

    fn vector(&self, _: u64) -> Price {
        Price { own: 0, times: self.overhead }
    }

    fn index(&self, count: u64) -> Price {
        Price { own: 0, times: self.overhead.saturating_add(count) }
    }

    fn index_bucket(&self, _: u64) -> Price {
        Price { own: 0, times: self.overhead }
    }

    fn bucket(&self) -> Price {
        Price { own: 0, times: 2 }
    }

    fn structure(&self) -> u64 {
        self.overhead
    }

    fn part(&self) -> Price {
        Price::plus(3)
    }
}
