//! Type trees: the nodes, their meaning (flattening) and the properties that are known without flattening.

use alloc::{boxed::Box, vec::Vec};
use core::ops::ControlFlow;

use crate::{BaseType, CostModel, Error, Price, Run, Runs, TypeMap, run::evenly_spaced};

/// A type tree (thesis definition 3): nested descriptions of where the entries of a type map lie.
///
/// All displacements and strides are in bytes, relative to where the parent places the node. A tree *means*
/// the type map that [`flatten`](Self::flatten) lists. `Display` draws the tree.
///
/// ```
/// use dtype_core::{BaseType, TypeTree};
/// let column = TypeTree::vector(100, 800, TypeTree::Leaf(BaseType::F64));
/// assert_eq!(column.to_string(), "vec 100, stride 800\n└─ f64\n");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub enum TypeTree {
    /// `leaf`: one base type at displacement 0.
    #[cfg_attr(feature = "serde", serde(rename = "leaf"))]
    Leaf(BaseType),
    /// `vec`: the child `count` times, `stride` bytes apart.
    #[cfg_attr(feature = "serde", serde(rename = "vec"))]
    Vector {
        /// Number of copies.
        count: u64,
        /// Bytes from one copy to the next.
        stride: i64,
        /// The child that is repeated.
        child: Box<TypeTree>,
    },
    /// `idx`: the child once at each displacement.
    #[cfg_attr(feature = "serde", serde(rename = "idx"))]
    Index {
        /// The displacements of the copies, in bytes.
        displacements: Vec<i64>,
        /// The child that is repeated.
        child: Box<TypeTree>,
    },
    /// `idxbuc`: a bucket of copies at each displacement. Within every bucket, the copies are `stride` bytes
    /// apart.
    #[cfg_attr(feature = "serde", serde(rename = "idxbuc"))]
    IndexBucket {
        /// Bytes from one copy to the next within a bucket.
        stride: i64,
        /// Number of copies in each bucket.
        buckets: Vec<u64>,
        /// The displacements of the buckets, in bytes.
        displacements: Vec<i64>,
        /// The child that is repeated.
        child: Box<TypeTree>,
    },
    /// `strc`: different children, one at each displacement.
    #[cfg_attr(feature = "serde", serde(rename = "strc"))]
    Struct {
        /// The displacements of the children, in bytes.
        displacements: Vec<i64>,
        /// The children, in order.
        children: Vec<TypeTree>,
    },
}

/// The properties of a type map that are computed from its tree, without listing the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// The number of entries of the type map.
    pub entries: u64,
    /// Bytes of data: the sum of the base types' sizes, `MPI_Type_size`.
    pub size: u64,
    /// The least displacement: the lower bound of `MPI_Type_get_true_extent`; 0 for an empty tree.
    pub lower_bound: i64,
    /// One past the last byte; 0 for an empty tree.
    pub upper_bound: i64,
    /// The largest natural alignment of a base type, in bytes; 1 for an empty tree.
    pub alignment: u64,
}

impl Measure {
    const EMPTY: Self = Self { entries: 0, size: 0, lower_bound: 0, upper_bound: 0, alignment: 1 };

    /// Returns the bytes from the first to one past the last byte, without padding at the end (MPI 4.1
    /// section 5.1.8).
    pub fn true_extent(&self) -> i64 {
        self.upper_bound - self.lower_bound
    }

    /// Returns the true extent rounded up to the alignment, with the standard's ε as padding (MPI 4.1 section
    /// 5.1, equation 5.1).
    ///
    /// Libraries differ in the constructors for which they round. A program that relies on an extent
    /// therefore ends with an explicit resize; see [`Program::lower`](crate::Program::lower).
    pub fn extent(&self) -> i64 {
        // The true extent is never negative. `measure` fails if rounding up could overflow.
        (self.true_extent() as u64).next_multiple_of(self.alignment) as i64
    }

    /// Returns the measure of `count` copies whose displacements span `first..=last`.
    fn repeated(self, node: &'static str, count: u64, first: i64, last: i64) -> Result<Self, Error> {
        if count == 0 || self.entries == 0 {
            return Ok(Self::EMPTY);
        }
        let measure = || {
            let (lower, upper) = (self.lower_bound.checked_add(first)?, self.upper_bound.checked_add(last)?);
            // An extent is rounded up to an alignment of at most 16 bytes. `TypeMap::new` requires 16 bytes,
            // too.
            upper.checked_add(16)?.checked_sub(lower)?;
            let size = self.size.checked_mul(count)?;
            i64::try_from(size).ok()?;
            Some(Self {
                entries: self.entries.checked_mul(count)?,
                size,
                lower_bound: lower,
                upper_bound: upper,
                alignment: self.alignment,
            })
        };
        // `ok_or` would construct the error for each entry of a list, even without an overflow.
        let Some(measure) = measure() else { return Err(Error::Overflow { node }) };
        Ok(measure)
    }

    /// Returns the measure of a type map with the entries of `self`, followed by those of `other`.
    fn and(self, node: &'static str, other: Self) -> Result<Self, Error> {
        let overflow = || Error::Overflow { node };
        match (self.entries, other.entries) {
            (0, _) => Ok(other),
            (_, 0) => Ok(self),
            _ => {
                let both = Self {
                    entries: self.entries.checked_add(other.entries).ok_or_else(overflow)?,
                    size: self.size.checked_add(other.size).ok_or_else(overflow)?,
                    lower_bound: self.lower_bound.min(other.lower_bound),
                    upper_bound: self.upper_bound.max(other.upper_bound),
                    alignment: self.alignment.max(other.alignment),
                };
                both.repeated(node, 1, 0, 0)
            }
        }
    }
}

impl TypeTree {
    /// The largest number of entries that [`flatten`](Self::flatten) lists. Their list takes more than 1 GiB.
    pub const FLATTEN_LIMIT: u64 = 1 << 27;

    /// Returns the entries of a run, moved to begin at 0, as a leaf or a vec of leaves.
    pub(crate) fn of_run(run: &Run) -> Self {
        match (run.count, Self::Leaf(run.base)) {
            (1, leaf) => leaf,
            (count, leaf) => Self::vector(count, run.stride, leaf),
        }
    }

    /// Returns a `vec` node.
    pub fn vector(count: u64, stride: i64, child: Self) -> Self {
        Self::Vector { count, stride, child: Box::new(child) }
    }

    /// Returns an `idx` node.
    pub fn index(displacements: impl Into<Vec<i64>>, child: Self) -> Self {
        Self::Index { displacements: displacements.into(), child: Box::new(child) }
    }

    /// Returns an `idxbuc` node.
    pub fn index_bucket(
        stride: i64,
        buckets: impl Into<Vec<u64>>,
        displacements: impl Into<Vec<i64>>,
        child: Self,
    ) -> Self {
        Self::IndexBucket {
            stride,
            buckets: buckets.into(),
            displacements: displacements.into(),
            child: Box::new(child),
        }
    }

    /// Returns a `strc` node.
    pub fn structure(displacements: impl Into<Vec<i64>>, children: impl Into<Vec<Self>>) -> Self {
        Self::Struct { displacements: displacements.into(), children: children.into() }
    }

    /// Returns the short name of the node kind: `leaf`, `vec`, `idx`, `idxbuc` or `strc`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Leaf(_) => "leaf",
            Self::Vector { .. } => "vec",
            Self::Index { .. } => "idx",
            Self::IndexBucket { .. } => "idxbuc",
            Self::Struct { .. } => "strc",
        }
    }

    /// Returns the children, in order; none for a leaf.
    pub fn children(&self) -> &[Self] {
        match self {
            Self::Leaf(_) => &[],
            Self::Vector { child, .. } | Self::Index { child, .. } | Self::IndexBucket { child, .. } => {
                core::slice::from_ref(child)
            }
            Self::Struct { children, .. } => children,
        }
    }

    /// Returns the tree of the packed bytes. It has the same base types in the same order (MPI 4.1 section
    /// 5.1, the type signature). Each base type begins where the previous one ends. An idx or idxbuc becomes
    /// a vec, so only strcs have lists. Empty parts are left out. A pair with a gap between value and index
    /// becomes two leaves.
    ///
    /// ```
    /// use dtype_core::{BaseType, TypeTree};
    ///
    /// let fields = [TypeTree::Leaf(BaseType::U8), TypeTree::Leaf(BaseType::F64)];
    /// let listed = TypeTree::index([0, 16, 64], TypeTree::structure([0, 8], fields));
    /// assert_eq!(listed.gapless()?.flatten()?.displacements(), [0, 1, 9, 10, 18, 19]);
    /// # Ok::<(), dtype_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`measure`](Self::measure), for this tree and for the new one. If copies overlap, the
    /// packed bytes may exceed the range of displacements.
    pub fn gapless(&self) -> Result<Self, Error> {
        self.measure()?;
        let packed = self.without_gaps().0;
        packed.measure().map(|_| packed)
    }

    /// Returns the gapless tree of a measured tree, and the number of its bytes. A child without data may
    /// have more copies than `u64` can count, so the sum of the copies wraps.
    fn without_gaps(&self) -> (Self, i64) {
        let repeated = |count: u64, child: &Self| {
            let (child, size) = child.without_gaps();
            match size * count as i64 {
                0 => Self::packed_parts([]),
                all => (Self::vector(count, size, child), all),
            }
        };
        match self {
            Self::Leaf(base) => match base.pair() {
                Some(numbers) if base.size() < base.span() => {
                    Self::packed_parts(numbers.map(|(_, number)| (Self::Leaf(number), number.size() as i64)))
                }
                _ => (Self::Leaf(*base), base.size() as i64),
            },
            Self::Vector { count, child, .. } => repeated(*count, child),
            Self::Index { displacements, child } => repeated(displacements.len() as u64, child),
            Self::IndexBucket { buckets, child, .. } => {
                repeated(buckets.iter().fold(0, |sum, count| count.wrapping_add(sum)), child)
            }
            Self::Struct { children, .. } => Self::packed_parts(children.iter().map(Self::without_gaps)),
        }
    }

    /// Returns the parts as a strc without gaps, and the number of bytes of all parts.
    fn packed_parts(parts: impl IntoIterator<Item = (Self, i64)>) -> (Self, i64) {
        let (mut displacements, mut children, mut end) = (Vec::new(), Vec::new(), 0);
        for (child, size) in parts.into_iter().filter(|(_, size)| *size > 0) {
            displacements.push(end);
            children.push(child);
            end += size;
        }
        (Self::structure(displacements, children), end)
    }

    /// Checks the tree and measures its type map, without listing it.
    ///
    /// # Errors
    /// [`Error::UnevenNode`] and [`Error::Overflow`], which name the node kind. A tree that passes this check
    /// can be walked, lowered and priced without overflow.
    pub fn measure(&self) -> Result<Measure, Error> {
        let node = self.kind();
        let overflow = || Error::Overflow { node };
        match self {
            Self::Leaf(base) => Ok(Measure {
                entries: 1,
                size: base.size(),
                lower_bound: 0,
                upper_bound: base.span() as i64,
                alignment: base.alignment(),
            }),
            Self::Vector { count, stride, child } => {
                let last = last_copy(*count, *stride).ok_or_else(overflow)?;
                child.measure()?.repeated(node, *count, last.min(0), last.max(0))
            }
            Self::Index { displacements, child } => {
                let child = child.measure()?;
                let any = displacements.first().copied().unwrap_or(0);
                let (first, last) = displacements
                    .iter()
                    .fold((any, any), |(first, last), at| (first.min(*at), last.max(*at)));
                child.repeated(node, displacements.len() as u64, first, last)
            }
            Self::IndexBucket { stride, buckets, displacements, child } => {
                if buckets.len() != displacements.len() {
                    let (displacements, others) = (displacements.len(), buckets.len());
                    return Err(Error::UnevenNode { node, displacements, of: "buckets", others });
                }
                let child = child.measure()?;
                let (mut copies, mut ends) = (Some(0u64), None);
                for (count, displacement) in buckets.iter().zip(displacements) {
                    let last = last_copy(*count, *stride).ok_or_else(overflow)?;
                    let first = displacement.checked_add(last.min(0)).ok_or_else(overflow)?;
                    let last = displacement.checked_add(last.max(0)).ok_or_else(overflow)?;
                    if *count > 0 {
                        let (least, greatest) = ends.unwrap_or((first, last));
                        ends = Some((first.min(least), last.max(greatest)));
                        copies = copies.and_then(|copies| copies.checked_add(*count));
                    }
                }
                // A child without entries may have more copies than can be counted.
                let (Some((first, last)), 1..) = (ends, child.entries) else { return Ok(Measure::EMPTY) };
                child.repeated(node, copies.ok_or_else(overflow)?, first, last)
            }
            Self::Struct { displacements, children } => {
                if children.len() != displacements.len() {
                    let (displacements, others) = (displacements.len(), children.len());
                    return Err(Error::UnevenNode { node, displacements, of: "children", others });
                }
                children.iter().zip(displacements).try_fold(Measure::EMPTY, |all, (child, at)| {
                    all.and(node, child.measure()?.repeated(node, 1, *at, *at)?)
                })
            }
        }
    }

    /// Returns the total cost of all nodes under `costs`, without folding. Saturates at `u64::MAX`.
    pub fn cost(&self, costs: &dyn CostModel) -> u64 {
        match self {
            Self::Leaf(base) => costs.leaf(*base),
            Self::Struct { children, .. } => {
                let parts = children.iter().map(|child| costs.part().of(child.cost(costs)));
                parts.fold(costs.structure(), u64::saturating_add)
            }
            Self::Vector { child, .. } | Self::Index { child, .. } | Self::IndexBucket { child, .. } => {
                self.price(costs).of(child.cost(costs))
            }
        }
    }

    /// Returns the price of the root node alone. The price of a leaf is its cost. The price of a strc
    /// includes its lists.
    fn price(&self, costs: &dyn CostModel) -> Price {
        match self {
            Self::Leaf(base) => Price::plus(costs.leaf(*base)),
            Self::Vector { count, .. } => costs.vector(*count),
            Self::Index { displacements, .. } => costs.index(displacements.len() as u64),
            Self::IndexBucket { buckets, .. } => {
                let copies = buckets.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
                costs.index_bucket(copies).with(buckets.len() as u64, costs.bucket())
            }
            Self::Struct { children, .. } => {
                Price::plus(costs.structure()).with(children.len() as u64, Price { times: 0, ..costs.part() })
            }
        }
    }

    /// Returns the cost of the DAG that the tree folds to: each *different* subtree is stored and counted
    /// once (thesis section 2.7.1).
    ///
    /// Only [`Price::own`] counts, not the number of times that a node is processed: folding saves storage,
    /// not processing.
    ///
    /// ```
    /// use dtype_core::{BaseType, NodeCosts, TypeTree};
    /// let run = |count, stride| TypeTree::vector(count, stride, TypeTree::Leaf(BaseType::U8));
    /// let tree = TypeTree::structure([0, 10], [run(8, 1), run(10, 2)]); // thesis figure 2.13
    /// let costs = NodeCosts::default();
    /// assert_eq!((tree.cost(&costs), tree.folded_cost(&costs)), (25, 22));
    /// ```
    pub fn folded_cost(&self, costs: &dyn CostModel) -> u64 {
        let mut different = Vec::new();
        self.collect_different(&mut different);
        different.into_iter().map(|tree| tree.price(costs).own).fold(0, u64::saturating_add)
    }

    fn collect_different<'a>(&'a self, different: &mut Vec<&'a Self>) {
        if !different.contains(&self) {
            different.push(self);
            self.children().iter().for_each(|child| child.collect_different(different));
        }
    }

    /// Lists the type map of the tree (thesis algorithm 2).
    ///
    /// # Errors
    /// The errors of [`measure`](Self::measure), [`Error::EmptyMap`], and [`Error::TooLong`] beyond
    /// [`FLATTEN_LIMIT`](Self::FLATTEN_LIMIT) entries.
    pub fn flatten(&self) -> Result<TypeMap, Error> {
        let entries = self.measure()?.entries;
        if entries > Self::FLATTEN_LIMIT {
            return Err(Error::TooLong { entries, limit: Self::FLATTEN_LIMIT });
        }
        let mut types = Vec::with_capacity(entries as usize);
        let mut displacements = Vec::with_capacity(entries as usize);
        let _ = self.for_each_run(0, &mut |run| {
            for i in 0..run.count as i64 {
                types.push(run.base);
                displacements.push(run.displacement + i * run.stride);
            }
            ControlFlow::Continue(())
        });
        TypeMap::new(types, displacements)
    }

    /// Returns the type map in short form: strided runs, joined as far as one pass from the front can join
    /// them.
    ///
    /// # Errors
    /// The errors of [`measure`](Self::measure), and [`Error::TooLong`] if there are too many runs to list.
    pub fn runs(&self) -> Result<Runs, Error> {
        self.measure()?;
        let listed = self.run_count();
        if listed > Self::FLATTEN_LIMIT {
            return Err(Error::TooLong { entries: listed, limit: Self::FLATTEN_LIMIT });
        }
        let mut runs = Runs::default();
        let _ = self.for_each_run(0, &mut |run| {
            runs.push(run);
            ControlFlow::Continue(())
        });
        Ok(runs)
    }

    /// Returns the runs of the type map, or `None` if there are more than `most` or if finding them takes too
    /// many steps. The tree must have passed [`measure`](Self::measure).
    ///
    /// ```
    /// use dtype_core::{BaseType, TypeTree};
    /// let leaves = [TypeTree::Leaf(BaseType::I32), TypeTree::Leaf(BaseType::F32)];
    /// let pair = TypeTree::structure([0, 4], leaves);
    /// assert!(pair.few_runs(2).is_some());
    /// assert!(TypeTree::vector(1 << 40, 8, pair).few_runs(1000).is_none());
    /// ```
    pub fn few_runs(&self, most: usize) -> Option<Runs> {
        /// The allowed number of steps for each run: the tree may describe a run copy by copy.
        const STEPS: usize = 64;
        if let Some(run) = self.single_run() {
            let mut runs = Runs::default();
            runs.push(run);
            return Some(runs);
        }
        let (mut runs, mut steps) = (Runs::default(), most.saturating_mul(STEPS));
        let walk = self.for_each_run(0, &mut |run| {
            runs.push(run);
            steps = steps.saturating_sub(1);
            if runs.as_slice().len() <= most && steps > 0 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        walk.is_continue().then_some(runs)
    }

    /// Returns the type map as a run, if it is one strided run, without walking the copies. The tree must
    /// have passed [`measure`](Self::measure).
    pub(crate) fn single_run(&self) -> Option<Run> {
        let copies = |child: &Self, at: i64, count: u64, stride: i64| {
            let run = child.single_run()?;
            let first = Run { displacement: run.displacement.wrapping_add(at), ..run };
            if count <= 1 {
                return (count == 1).then_some(first);
            }
            // The copies are evenly spaced. So if the first two copies form one run, all copies do.
            let second = Run { displacement: first.displacement.wrapping_add(stride), ..first };
            let two = first.joined(second)?;
            Some(Run { count: run.count.checked_mul(count)?, ..two })
        };
        match self {
            Self::Leaf(base) => Some(Run::single(*base, 0)),
            Self::Vector { count, stride, child } => copies(child, 0, *count, *stride),
            Self::Index { displacements, child } => {
                let stride = displacements.get(1).map_or(0, |second| second.wrapping_sub(displacements[0]));
                let regular = evenly_spaced(displacements, stride) + 1 >= displacements.len();
                let count = displacements.len() as u64;
                if regular { copies(child, *displacements.first()?, count, stride) } else { None }
            }
            Self::IndexBucket { stride, buckets, displacements, child } => {
                let filled = buckets.iter().zip(displacements).filter(|(count, _)| **count > 0);
                one_run(filled.map(|(count, at)| copies(child, *at, *count, *stride)))
            }
            Self::Struct { displacements, children } => {
                let filled = children.iter().zip(displacements).filter(|(child, _)| child.has_entries());
                one_run(filled.map(|(child, at)| copies(child, *at, 1, 0)))
            }
        }
    }

    /// Returns an upper bound of the number of runs that [`for_each_run`](Self::for_each_run) visits.
    fn run_count(&self) -> u64 {
        let copies = |count: u64, child: &Self| match child {
            Self::Leaf(_) => count.min(1),
            _ => count.saturating_mul(child.run_count()),
        };
        match self {
            Self::Leaf(_) => 1,
            Self::Vector { count, child, .. } => copies(*count, child),
            Self::Index { displacements, child } => {
                (displacements.len() as u64).saturating_mul(child.run_count())
            }
            Self::IndexBucket { buckets, child, .. } => {
                buckets.iter().map(|count| copies(*count, child)).fold(0, u64::saturating_add)
            }
            Self::Struct { children, .. } => {
                children.iter().map(Self::run_count).fold(0, u64::saturating_add)
            }
        }
    }

    /// Returns `true` if more than `levels` nodes are nested. Visits no deeper nodes.
    pub(crate) fn is_deeper_than(&self, levels: usize) -> bool {
        levels == 0 || self.children().iter().any(|child| child.is_deeper_than(levels - 1))
    }

    /// Returns `true` if some part of the tree has no copies, no displacements, or an empty bucket.
    pub(crate) fn has_empty_part(&self) -> bool {
        let is_empty = match self {
            Self::Leaf(_) => false,
            Self::Vector { count, .. } => *count == 0,
            Self::Index { displacements, .. } | Self::Struct { displacements, .. } => {
                displacements.is_empty()
            }
            Self::IndexBucket { buckets, .. } => buckets.is_empty() || buckets.contains(&0),
        };
        is_empty || self.children().iter().any(Self::has_empty_part)
    }

    /// Returns the tree without its empty parts, or `None` if nothing is left.
    pub(crate) fn without_empty_parts(&self) -> Option<Self> {
        match self {
            Self::Leaf(_) => Some(self.clone()),
            Self::Vector { count, stride, child } => {
                let child = child.without_empty_parts().filter(|_| *count > 0)?;
                Some(Self::vector(*count, *stride, child))
            }
            Self::Index { displacements, child } => {
                let child = child.without_empty_parts().filter(|_| !displacements.is_empty())?;
                Some(Self::index(displacements.clone(), child))
            }
            Self::IndexBucket { stride, buckets, displacements, child } => {
                let child = child.without_empty_parts()?;
                let kept = buckets.iter().copied().zip(displacements.iter().copied());
                let (buckets, displacements): (Vec<_>, Vec<_>) = kept.filter(|(count, _)| *count > 0).unzip();
                (!buckets.is_empty()).then(|| Self::index_bucket(*stride, buckets, displacements, child))
            }
            Self::Struct { displacements, children } => {
                let kept = displacements.iter().zip(children);
                let kept = kept.filter_map(|(at, child)| Some((*at, child.without_empty_parts()?)));
                let (displacements, children): (Vec<_>, Vec<_>) = kept.unzip();
                (!children.is_empty()).then(|| Self::structure(displacements, children))
            }
        }
    }

    /// Returns `true` if the type map has an entry.
    fn has_entries(&self) -> bool {
        match self {
            Self::Leaf(_) => true,
            Self::Vector { count, child, .. } => *count > 0 && child.has_entries(),
            Self::Index { displacements, child } => !displacements.is_empty() && child.has_entries(),
            Self::IndexBucket { buckets, child, .. } => {
                buckets.iter().any(|count| *count > 0) && child.has_entries()
            }
            Self::Struct { children, .. } => children.iter().any(Self::has_entries),
        }
    }

    /// Visits the runs of the type map in order, with `base` added to all displacements. A vec of leaves is
    /// one run, and so is a bucket. The tree must have passed [`measure`](Self::measure). Then every
    /// displacement fits `i64`; the additions wrap because an intermediate sum may not fit.
    pub(crate) fn for_each_run(
        &self,
        base: i64,
        visit: &mut impl FnMut(Run) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        // Without this check, visiting 10¹⁸ copies of an empty child would never end.
        if !self.has_entries() {
            return ControlFlow::Continue(());
        }
        let mut copies = |child: &Self, at: i64, count: u64, stride: i64| {
            let first = base.wrapping_add(at);
            if let (Self::Leaf(leaf), 2..) = (child, count) {
                return visit(Run { base: *leaf, displacement: first, count, stride });
            }
            (0..count as i64)
                .try_for_each(|i| child.for_each_run(first.wrapping_add(i.wrapping_mul(stride)), visit))
        };
        match self {
            Self::Leaf(leaf) => visit(Run::single(*leaf, base)),
            Self::Vector { count, stride, child } => copies(child, 0, *count, *stride),
            Self::Index { displacements, child } => {
                displacements.iter().try_for_each(|at| copies(child, *at, 1, 0))
            }
            Self::IndexBucket { stride, buckets, displacements, child } => buckets
                .iter()
                .zip(displacements)
                .try_for_each(|(count, at)| copies(child, *at, *count, *stride)),
            Self::Struct { displacements, children } => {
                children.iter().zip(displacements).try_for_each(|(child, at)| copies(child, *at, 1, 0))
            }
        }
    }

    /// Returns the tree as a run that begins at `displacement`, if it is a leaf or a vec of leaves.
    pub(crate) fn as_run(&self, displacement: i64) -> Option<Run> {
        match self {
            Self::Leaf(base) => Some(Run::single(*base, displacement)),
            Self::Vector { count, stride, child } => match **child {
                Self::Leaf(base) => Some(Run { base, displacement, count: *count, stride: *stride }),
                _ => None,
            },
            _ => None,
        }
    }

    /// Moves the type map by `by` bytes without adding a node: adds `by` to the displacements of the first
    /// node that has any. Returns `false` if no node has displacements.
    pub(crate) fn shift(&mut self, by: i64) -> bool {
        match self {
            Self::Leaf(_) => false,
            Self::Vector { child, .. } => child.shift(by),
            Self::Index { displacements, .. }
            | Self::IndexBucket { displacements, .. }
            | Self::Struct { displacements, .. } => {
                for at in displacements {
                    *at += by;
                }
                true
            }
        }
    }
}

/// Returns consecutive runs as one run, if each continues the runs before.
fn one_run(mut runs: impl Iterator<Item = Option<Run>>) -> Option<Run> {
    let first = runs.next()??;
    runs.try_fold(first, |all, next| all.joined(next?))
}

/// Returns the displacement of the last of `count` copies, if it fits `i64`.
fn last_copy(count: u64, stride: i64) -> Option<i64> {
    i64::try_from(count.saturating_sub(1)).ok()?.checked_mul(stride)
}
