//! What a tree costs: the storage model of thesis section 2.6 and Träff's processing weights.

/// Cost constants of the node kinds, all at least 1 in a sensible model.
///
/// The defaults are those of thesis section 2.6: the words a node takes up.
///
/// ```
/// use dtype_core::{BaseType, CostModel, TypeTree};
/// let column = TypeTree::vector(100, 800, TypeTree::Leaf(BaseType::F64));
/// assert_eq!(column.cost(&CostModel::default()), 5 + 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct CostModel {
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

impl Default for CostModel {
    fn default() -> Self {
        Self { leaf: 3, vec: 5, idx: 5, strc: 5, idxbuc: 7, lookup: 1, weighting: Weighting::Storage }
    }
}

/// The cost of a node from that of its children. All are monotone in the children's costs, which is what keeps
/// the dynamic programs exact, and saturate instead of wrapping.
impl CostModel {
    /// A leaf.
    pub fn leaf(&self) -> u64 {
        self.leaf
    }

    /// A vec of `count` copies of a child of cost `child`.
    pub fn vector(&self, count: u64, child: u64) -> u64 {
        self.vec.saturating_add(self.run(count, child))
    }

    /// An idx with `count` displacements over a child of cost `child`.
    pub fn index(&self, count: u64, child: u64) -> u64 {
        self.idx.saturating_add(self.lookups(count)).saturating_add(self.run(count, child))
    }

    /// An idxbuc with `buckets` buckets, `copies` copies in all, over a child of cost `child`.
    pub fn index_bucket(&self, buckets: u64, copies: u64, child: u64) -> u64 {
        let lists = self.lookups(buckets).saturating_mul(2);
        self.idxbuc.saturating_add(lists).saturating_add(self.run(copies, child))
    }

    /// One child of cost `child` as a part of a strc, with its share of the lists.
    pub fn part(&self, child: u64) -> u64 {
        self.lookups(2).saturating_add(child)
    }

    /// A strc whose parts cost `parts` together.
    pub fn structure(&self, parts: u64) -> u64 {
        self.strc.saturating_add(parts)
    }

    fn lookups(&self, count: u64) -> u64 {
        self.lookup.saturating_mul(count)
    }

    fn run(&self, times: u64, child: u64) -> u64 {
        match self.weighting {
            Weighting::Storage => child,
            Weighting::Processing => child.saturating_mul(times),
        }
    }
}
