//! What a model must be like for its trees to be found in pieces of runs, and which pieces it takes.

use crate::{LinearCosts, Run, cost::least};

/// Whether a least-cost tree of a map need not cut runs but where [`cut`] does: the counts of vecs are free,
/// but each costs something, and no more than a leaf that is a part; an idx over longer runs gains nothing
/// against an idxbuc over leaves; and lists are not free, so that one of more than [`LISTED`] entries of a
/// run is no better than the run by itself.
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

/// The entries of a run of more than this number are not listed one by one, neither by an idx nor by an
/// idxbuc of another stride: where lists cost next to nothing, that would be the least-cost tree, and not fit
/// the memory.
pub(crate) const LISTED: u64 = 1 << 12;

/// Which of some runs are too long to be listed.
#[derive(Clone, Copy)]
pub(crate) enum Long {
    None,
    /// All are of this stride.
    At(i64),
    Several,
}

impl Long {
    /// With a further run.
    pub(crate) const fn with(self, count: u64, stride: i64) -> Self {
        match self {
            _ if count <= LISTED => self,
            Self::None => Self::At(stride),
            Self::At(known) if known == stride => self,
            _ => Self::Several,
        }
    }

    /// Whether an idx may list them all.
    pub(crate) const fn can_be_listed(self) -> bool {
        matches!(self, Self::None)
    }

    /// Whether they can be in buckets of a stride.
    pub(crate) const fn fits_buckets(self, stride: i64) -> bool {
        match self {
            Self::None => true,
            Self::At(known) => known == stride,
            Self::Several => false,
        }
    }
}

/// What is beyond all reason, so that differences and sums of what is not stay within the range.
pub(crate) const FAR: u64 = 1 << 60;

/// Whether differences of displacements, and numbers of entries, are far from the end of their range.
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

/// Entries of all runs together.
pub(crate) const fn entries(runs: &[Run]) -> u64 {
    let (mut i, mut sum) = (0, 0u64);
    while i < runs.len() {
        sum = sum.saturating_add(runs[i].count);
        i += 1;
    }
    sum
}

/// When an idx or idxbuc over vecs of one length, which takes longer runs for several copies, may cost less
/// than an idxbuc over the leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tiling {
    /// What a copy adds to an idx, and a bucket to an idxbuc.
    pub(super) lookup: i64,
    pub(super) bucket: i64,
    /// What that must save: of an idx, and of an idxbuc.
    pub(super) index: i64,
    pub(super) index_bucket: i64,
    /// The most copies that are worth taking from a run at either end of such a node, and from one within.
    pub(super) at_end: u64,
    pub(super) within: u64,
    /// The most entries of a run that are worth leaving to an idx over leaves, so that the rest is as long as
    /// the run beside it.
    pub(super) left: u64,
}

impl Tiling {
    /// Of a model that takes runs for atoms; under others it may leave cuts out.
    pub(crate) const fn of(costs: &LinearCosts) -> Self {
        const fn at_most(cost: u64) -> i64 {
            least(cost, 1 << 40) as i64
        }
        let (lookup, bucket) = (at_most(costs.index.more.own), at_most(costs.bucket.own));
        let (vector, leaf) = (at_most(costs.vector.at(2).own), at_most(costs.leaf));
        let (index, index_bucket) = (at_most(costs.index.first.own), at_most(costs.index_bucket.first.own));
        // What is taken from a run may be a part of its own, and what is behind it a node again.
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

    /// What so many copies of a run save, in an idx and in an idxbuc.
    pub(super) const fn saved(&self, copies: u64) -> (i64, i64) {
        (self.bucket - copies as i64 * self.lookup, (2 - copies as i64) * self.bucket)
    }
}
