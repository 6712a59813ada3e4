//! The requirements on a cost model under which solving the pieces of runs is exact, and the rules for the
//! cuts between these pieces.

use crate::{LinearCosts, Run, cost::least};

/// Returns `true` if a least-cost tree of a map need not cut runs except where [`cut`](super::cut) does. The
/// conditions are:
///
/// - The counts of vecs are free. Each vec costs something, but no more than a leaf that is a part.
/// - An idx over longer runs gains nothing against an idxbuc over leaves.
/// - Lists are not free, so a list of more than [`LISTED`] entries of a run is no better than the run by
///   itself.
pub(crate) const fn takes_runs_for_atoms(costs: &LinearCosts) -> bool {
    let vector = costs.vector.at(2).of(costs.leaf);
    let (index, bucket) = (costs.index, costs.index_bucket);
    let two_lookups = index.more.own.saturating_mul(2);
    costs.vector.is_flat()
        && costs.vector.first.own > 0
        && bucket.is_flat()
        && vector == costs.floor(2, true, false)
        && costs.part.of(vector) <= costs.part.of(costs.leaf).saturating_mul(2)
        && index.more.times == 0
        && index.more.own > 0
        && costs.bucket.own > 0
        && costs.bucket.own <= two_lookups
        && bucket.first.own.saturating_add(two_lookups)
            <= index.first.own.saturating_add(costs.vector.first.own)
        && Tiling::of(costs).within <= LISTED
}

/// The longest run whose entries are listed one by one. The entries of longer runs are listed neither by an
/// idx nor by an idxbuc of another stride. If lists cost next to nothing, such a list would be the least-cost
/// tree, but would not fit the memory.
pub(crate) const LISTED: u64 = 1 << 12;

/// The runs of a set that are too long to be listed.
#[derive(Clone, Copy)]
pub(crate) enum Long {
    None,
    /// The stride that all long runs have.
    At(i64),
    Several,
}

impl Long {
    /// Adds a further run.
    pub(crate) const fn with(self, count: u64, stride: i64) -> Self {
        match self {
            _ if count <= LISTED => self,
            Self::None => Self::At(stride),
            Self::At(known) if known == stride => self,
            _ => Self::Several,
        }
    }

    /// Returns `true` if an idx may list all runs.
    pub(crate) const fn can_be_listed(self) -> bool {
        matches!(self, Self::None)
    }

    /// Returns `true` if the buckets of an idxbuc with this stride can hold all runs.
    pub(crate) const fn fits_buckets(self, stride: i64) -> bool {
        match self {
            Self::None => true,
            Self::At(known) => known == stride,
            Self::Several => false,
        }
    }
}

/// The bound on displacements and counts. Differences and sums of smaller numbers fit `i64`.
pub(crate) const FAR: u64 = 1 << 60;

/// Returns `true` if differences of displacements, and numbers of entries, are far from the end of their
/// range.
pub(crate) const fn is_within_reason(runs: &[Run]) -> bool {
    let mut i = 0;
    while i < runs.len() {
        let (first, length) = (runs[i].displacement.unsigned_abs(), runs[i].stride.unsigned_abs());
        match length.checked_mul(runs[i].count) {
            Some(length) if first < FAR && length < FAR => i += 1,
            _ => return false,
        }
    }
    entries(runs) < FAR
}

/// Returns the number of entries of all runs together.
pub(crate) const fn entries(runs: &[Run]) -> u64 {
    let (mut i, mut sum) = (0, 0u64);
    while i < runs.len() {
        sum = sum.saturating_add(runs[i].count);
        i += 1;
    }
    sum
}

/// The conditions under which an idx or idxbuc over vecs of one length may cost less than an idxbuc over the
/// leaves. Such a node treats a longer run as several copies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tiling {
    /// The cost that a copy adds to an idx, and a bucket to an idxbuc.
    pub(super) lookup: i64,
    pub(super) bucket: i64,
    /// The amount that an idx, or an idxbuc, must save to be worth it.
    pub(super) index: i64,
    pub(super) index_bucket: i64,
    /// The largest number of copies that are worth taking from a run at either end of such a node, and from a
    /// run within it.
    pub(super) at_end: u64,
    pub(super) within: u64,
    /// The largest number of entries of a run that are worth leaving to an idx over leaves, so that the rest
    /// is as long as the run beside it.
    pub(super) left: u64,
}

impl Tiling {
    /// Returns the conditions for a model that takes runs for atoms. For other models, cuts may be missing.
    pub(crate) const fn of(costs: &LinearCosts) -> Self {
        const fn at_most(cost: u64) -> i64 {
            least(cost, 1 << 40) as i64
        }
        let (lookup, bucket) = (at_most(costs.index.more.own), at_most(costs.bucket.own));
        let (vector, leaf) = (at_most(costs.vector.at(2).own), at_most(costs.leaf));
        let (index, index_bucket) = (at_most(costs.index.first.own), at_most(costs.index_bucket.first.own));
        // The entries taken from a run may be a part of their own, and the entries after them a node again.
        let part = at_most(costs.part.own);
        let run = at_most(costs.structure) + 2 * part + vector + leaf;
        let node = index + index_bucket + lookup + bucket + vector + leaf + part;
        let each = if lookup < bucket { lookup } else { bucket };
        let (at_end, within) = match each {
            0 => (0, 0),
            _ => (run / each + 2, (run + node) / each + 2),
        };
        let left = match lookup {
            0 => 0,
            _ => (part + vector + leaf) / lookup,
        };
        let (index, index_bucket) = (index + vector - index_bucket, bucket + vector);
        Self {
            lookup,
            bucket,
            index,
            index_bucket,
            at_end: at_end as u64,
            within: within as u64,
            left: left as u64,
        }
    }

    /// Returns the cost that a run of `copies` copies saves, in an idx and in an idxbuc.
    pub(super) const fn saved(&self, copies: u64) -> (i64, i64) {
        (self.bucket - copies as i64 * self.lookup, (2 - copies as i64) * self.bucket)
    }
}
