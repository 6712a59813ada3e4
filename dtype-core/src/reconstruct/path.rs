//! Least-cost type paths of homogeneous maps in expected O(n log log n) time (design of the Z-function program).
//!
//! A prefix of length q, q | n, is *repeated* if every block of q displacements has its shape. With S the
//! sequence of differences and Z its Z-function, that holds iff Z[m] ≥ q − 1 at every multiple m of q. The path
//! is then a chain of repeated prefixes 1 | p | … | n, each step a vec, idx or idxbuc over the one before.
//! All checks together read σ(n) = O(n log log n) entries. No list of displacements is built before the answer
//! is known.

use alloc::{vec, vec::Vec};

use super::{Repeat, Strides, repeat};
use crate::{CostModel, TypeTree};

/// The least-cost path over a given leaf: `displacements` must not be empty, and no two may be further apart
/// than `i64` tells. With `buckets`, idxbuc nodes may be used.
pub(crate) fn least_cost(
    displacements: &[i64],
    (leaf, leaf_cost): (TypeTree, u64),
    buckets: bool,
    costs: &dyn CostModel,
) -> (TypeTree, u64) {
    let prefixes = repeated_prefixes(displacements);
    let mut best = vec![Prefix::default(); prefixes.len()];
    best[0].aligned = Choice { cost: leaf_cost, node: None };
    for (from, &p) in prefixes.iter().enumerate() {
        // An idx or idxbuc of a single element carries a first displacement other than 0.
        let aligned = best[from].aligned.cost;
        best[from].shifted.relax(costs.index(1).of(aligned), Repeat::Index, from);
        if buckets {
            best[from].shifted.relax(
                costs.index_bucket(1).with(1, costs.bucket()).of(aligned),
                Repeat::Bucket,
                from,
            );
        }
        extend(displacements, &prefixes, from, p, &mut best, buckets, costs);
    }
    let shift = displacements[0];
    let last = prefixes.len() - 1;
    let cost = if shift == 0 { best[last].aligned.cost } else { best[last].shifted.cost };
    (build(displacements, &prefixes, &best, last, shift, leaf), cost)
}

/// The cheapest way found to describe a prefix.
#[derive(Clone, Copy)]
struct Choice {
    cost: u64,
    /// The root, and the index of the prefix it stands on; none for a leaf.
    node: Option<(Repeat, usize)>,
}

impl Choice {
    fn relax(&mut self, cost: u64, kind: Repeat, child: usize) {
        if cost < self.cost {
            *self = Self { cost, node: Some((kind, child)) };
        }
    }
}

/// One repeated prefix: moved so that it begins at 0, and moved to begin elsewhere.
#[derive(Clone, Copy)]
struct Prefix {
    aligned: Choice,
    shifted: Choice,
}

impl Default for Prefix {
    fn default() -> Self {
        let unknown = Choice { cost: u64::MAX, node: None };
        Self { aligned: unknown, shifted: unknown }
    }
}

/// Relaxes every longer repeated prefix with a node over prefix `from` of length `p`, in one pass over D[0],
/// D[p], D[2p], … Without idxbuc the pass ends at the first irregularity: after it, only the counts matter.
fn extend(
    displacements: &[i64],
    prefixes: &[usize],
    from: usize,
    p: usize,
    best: &mut [Prefix],
    buckets: bool,
    costs: &dyn CostModel,
) {
    let (aligned, shifted) = (best[from].aligned.cost, best[from].shifted.cost);
    let at = |copy: usize| displacements[copy * p];
    let mut strides: Option<Strides> = None;
    let mut read = 1;
    for (to, &q) in prefixes.iter().enumerate().skip(from + 1).filter(|(_, q)| q.is_multiple_of(p)) {
        let copies = q / p;
        let strides = strides.get_or_insert_with(|| Strides::regular(at(1) - at(0), 0));
        while read < copies && (buckets || strides.is_regular()) {
            strides.push(at(read) - at(read - 1));
            read += 1;
        }
        let best = &mut best[to];
        let count = copies as u64;
        if strides.is_regular() {
            best.aligned.relax(costs.vector(count).of(aligned), Repeat::Vector, from);
            best.shifted.relax(costs.vector(count).of(shifted), Repeat::Vector, from);
        }
        let mut irregular = |cost: u64, kind: Repeat| {
            best.aligned.relax(cost, kind, from);
            best.shifted.relax(cost, kind, from);
        };
        irregular(costs.index(count).of(aligned), Repeat::Index);
        if buckets {
            let price = costs.index_bucket(count).with(strides.buckets(), costs.bucket());
            irregular(price.of(aligned), Repeat::Bucket);
        }
    }
}

/// The tree of prefix `at`, moved to begin at `shift`. The depth is at most log₂ n + 1.
fn build(
    displacements: &[i64],
    prefixes: &[usize],
    best: &[Prefix],
    at: usize,
    shift: i64,
    leaf: TypeTree,
) -> TypeTree {
    let choice = if shift == 0 { &best[at].aligned } else { &best[at].shifted };
    let Some((kind, child)) = choice.node else { return leaf };
    let (q, p) = (prefixes[at], prefixes[child]);
    // A vec hands the shift down; the others carry it in their lists.
    let below = if kind == Repeat::Vector { shift } else { 0 };
    let child = build(displacements, prefixes, best, child, below, leaf);
    repeat(kind, displacements[..q].iter().step_by(p).copied(), shift - below, child)
}

/// The lengths of all repeated prefixes, ascending: 1 first, n last.
fn repeated_prefixes(displacements: &[i64]) -> Vec<usize> {
    let n = displacements.len();
    // Most divisors of an irregular map show after a few differences that they are out of the question. Only where one
    // does not is the Z-function needed.
    let mut candidates = proper_divisors(n);
    let s = |i: usize| displacements[i + 1] - displacements[i];
    let within_blocks = |q: usize| (0..n - q - 1).filter(move |i| !(i + 1).is_multiple_of(q));
    candidates.retain(|q| *q == 1 || within_blocks(*q).take(64).all(|i| s(i) == s(q + i)));
    if candidates.len() > 1 {
        let z = z_function(displacements);
        let matched = |m: usize| z.get(m).copied().unwrap_or(0);
        candidates.retain(|q| (*q..n).step_by(*q).all(|m| matched(m) + 1 >= *q));
    }
    candidates.push(n);
    candidates
}

/// The divisors of `n` below it, ascending. Time O(√n).
fn proper_divisors(n: usize) -> Vec<usize> {
    let small = || (1..).take_while(|d| d * d <= n).filter(|d| n.is_multiple_of(*d));
    let large = small().filter(|d| d * d < n).map(|d| n / d).collect::<Vec<_>>();
    small().chain(large.into_iter().rev()).filter(|d| *d < n).collect()
}

/// Z[i] is the length of the longest common prefix of the differences S and S[i..]; Z[0] is 0.
fn z_function(displacements: &[i64]) -> Vec<usize> {
    let n = displacements.len() - 1;
    let s = |i: usize| displacements[i + 1] - displacements[i];
    let mut z = vec![0; n];
    let (mut left, mut right) = (0, 0);
    for i in 1..n {
        let mut length = if i < right { z[i - left].min(right - i) } else { 0 };
        while i + length < n && s(length) == s(i + length) {
            length += 1;
        }
        if i + length > right {
            (left, right) = (i, i + length);
        }
        z[i] = length;
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Design section 4, errata (a): the published procedures lose the 2 in the first and find a false 2 in the
    /// second.
    #[test]
    fn repeated_prefixes_follow_the_definition_where_the_published_procedures_do_not() {
        let lost = [0, 15, 15, 30, 18, 33, 15, 30, 30, 45, 33, 48, 18, 33, 33, 48, 36, 51];
        assert!(repeated_prefixes(&lost).contains(&2));
        assert!(!repeated_prefixes(&[0, 6, 9, 15, 30, 36, 45, 75]).contains(&2));
    }
}
