//! Least-cost type paths of homogeneous maps, in O(n) time, and expected O(n log log n) with idxbuc.
//!
//! Let D be the list of n displacements. A prefix of length q, q | n, is *repeated* if every block of q
//! displacements has its shape. A path is a chain of repeated prefixes 1 | p | … | n, each step a vec, idx or
//! idxbuc over the one before. The least-cost path is a shortest path in the graph of all repeated prefixes.
//!
//! The repeated prefixes come in *levels*, from the leaf up (Träff 2014, lemmas 1 and 2). If a repeated
//! prefix is regularly strided, let c be the length of the longest such prefix: the repeated prefixes up to c
//! are the divisors of c, all of them strided. Otherwise, let c be the length of the shortest repeated prefix
//! of two or more elements. In both cases, the longer repeated prefixes are multiples of c. The next level,
//! the sequence D[0], D[c], D[2c], …, tells which multiples.
//!
//! Each level reads a sequence at most half as long as the one before. The Z-function finds a shortest
//! repeated prefix in linear time, without a pass for each divisor. Let Z be the Z-function of the
//! differences of neighbours in D: q is repeated iff Z[m] ≥ q − 1 at every multiple m of q. docs/search.md
//! has the proofs.
//!
//! Outside regular levels no prefix is strided over another. So the levels alone show if a node can be a vec,
//! and no displacement is read for that. No list of displacements is built before the answer is known.

use alloc::{vec, vec::Vec};
use core::{iter::successors, ops::Range};

use crate::{
    CostModel, NodeCosts, TypeTree, gcd,
    repeat::{Majority, Repeat, StrideCounts, repeat},
    run::evenly_spaced,
};

/// Returns the least-cost path over a given leaf. `displacements` must not be empty, and every difference of
/// two displacements must fit `i64`. If `buckets` is set, the path may use idxbuc nodes.
pub(crate) fn least_cost(
    displacements: &[i64],
    (leaf, leaf_cost): (TypeTree, u64),
    buckets: bool,
    costs: &dyn CostModel,
) -> TypeTree {
    let levels = levels(displacements);
    let prefixes = repeated_prefixes(&levels);
    let mut best = vec![Prefix::default(); prefixes.len()];
    best[0].aligned = Choice { cost: leaf_cost, node: None };
    for (from, &p) in prefixes.iter().enumerate() {
        // An idx or idxbuc with a single displacement carries a first displacement other than 0.
        let Prefix { aligned, shifted } = &mut best[from];
        shifted.relax(costs.index(1).of(aligned.cost), Repeat::Index, from);
        if buckets {
            let price = costs.index_bucket(1).with(1, costs.bucket());
            shifted.relax(price.of(aligned.cost), Repeat::Bucket, from);
        }
        let (aligned, shifted) = (aligned.cost, shifted.cost);
        let mut buckets = buckets.then(|| Buckets::new(displacements, p));
        for (to, &q) in prefixes.iter().enumerate().skip(from + 1).filter(|(_, q)| q.is_multiple_of(p)) {
            let (copies, best) = (q / p, &mut best[to]);
            let count = copies as u64;
            if levels.iter().any(|level| level.is_vector(p, q)) {
                best.aligned.relax(costs.vector(count).of(aligned), Repeat::Vector, from);
                best.shifted.relax(costs.vector(count).of(shifted), Repeat::Vector, from);
            }
            let mut irregular = |cost: u64, kind: Repeat| {
                best.aligned.relax(cost, kind, from);
                best.shifted.relax(cost, kind, from);
            };
            let index = costs.index(count).of(aligned);
            irregular(index, Repeat::Index);
            if let Some(buckets) = &mut buckets {
                let cost = |buckets| costs.index_bucket(count).with(buckets, costs.bucket()).of(aligned);
                if let Some(fewest) = buckets.of(copies, most_below(index, count, cost)) {
                    irregular(cost(fewest), Repeat::Bucket);
                }
            }
        }
    }
    let (last, first) = (prefixes.len() - 1, displacements[0]);
    let Prefix { aligned, shifted } = best[last];
    if (if first == 0 { aligned } else { shifted }).cost < u64::MAX {
        return build(displacements, &prefixes, &best, last, first, leaf);
    }
    // The costs of all paths saturate. Any path is valid, so the default constants choose one.
    least_cost(displacements, (leaf, 0), buckets, &NodeCosts::THESIS)
}

/// The cheapest known description of a prefix.
#[derive(Clone, Copy)]
struct Choice {
    cost: u64,
    /// The root, and the index of the prefix below it; `None` for a leaf.
    node: Option<(Repeat, usize)>,
}

impl Choice {
    fn relax(&mut self, cost: u64, kind: Repeat, child: usize) {
        if cost < self.cost {
            *self = Self { cost, node: Some((kind, child)) };
        }
    }
}

/// The choices for one repeated prefix: moved to begin at 0, and moved to begin elsewhere.
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

/// Returns the largest number of buckets, up to `copies`, whose cost is below `other`. The cost must not fall
/// as the number of buckets grows.
fn most_below(other: u64, copies: u64, cost: impl Fn(u64) -> u64) -> u64 {
    let (mut below, mut above) = (0, copies + 1);
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        *(if cost(middle) < other { &mut below } else { &mut above }) = middle;
    }
    below
}

/// A reader of the differences of D[0], D[p], D[2p], …, which finds the fewest buckets for a prefix of them.
/// It reads only as many differences as a request needs.
struct Buckets<'a> {
    displacements: &'a [i64],
    p: usize,
    /// The candidate for the majority of the differences, and the number of differences read for it.
    majority: (Majority, usize),
    /// The candidate that was counted last, its frequency, and the number of differences counted.
    counted: (i64, u64, usize),
    /// The frequencies of all differences, counted if the best stride may not be the majority, and the number
    /// of differences read.
    strides: Option<(StrideCounts, usize)>,
}

impl<'a> Buckets<'a> {
    fn new(displacements: &'a [i64], p: usize) -> Self {
        Self { displacements, p, majority: Default::default(), counted: Default::default(), strides: None }
    }

    fn differences(&self, range: Range<usize>) -> impl Iterator<Item = i64> + use<'a> {
        let (displacements, p) = (self.displacements, self.p);
        range.map(move |i| displacements[(i + 1) * p] - displacements[i * p])
    }

    /// Returns the fewest buckets of an idxbuc of `copies` copies, or `None` if there are more than `most`.
    /// `copies` must be greater in each call than in the last one.
    fn of(&mut self, copies: usize, most: u64) -> Option<u64> {
        let length = copies - 1;
        let fewest = if most == 0 {
            return None;
        } else if 2 * most <= copies as u64 {
            // Each bucket but the first begins at a difference other than the stride. So with up to `most`
            // buckets, more than half of the differences equal the stride: it is the majority.
            let (mut majority, read) = self.majority;
            majority.read(self.differences(read..length));
            self.majority = (majority, length);
            let (stride, count, from) = self.counted;
            let (count, from) = if stride == majority.only { (count, from) } else { (0, 0) };
            let more = self.differences(from..length).filter(|difference| *difference == majority.only);
            let count = count + more.count() as u64;
            self.counted = (majority.only, count, length);
            copies as u64 - count
        } else {
            let first = self.displacements[self.p] - self.displacements[0];
            let (mut strides, read) = self.strides.take().unwrap_or((StrideCounts::regular(first, 0), 0));
            self.differences(read..length).for_each(|difference| strides.push(difference, 1));
            let fewest = strides.buckets();
            self.strides = Some((strides, length));
            fewest
        };
        (fewest <= most).then_some(fewest)
    }
}

/// Builds the tree of prefix `at`, moved to begin at `shift`. The depth is at most log₂ n + 1.
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
    // A vec passes the shift down to its child; the other kinds carry it in their lists.
    let below = if kind == Repeat::Vector { shift } else { 0 };
    let child = build(displacements, prefixes, best, child, below, leaf);
    repeat(kind, &displacements[..q], p, shift - below, child)
}

/// One step from a repeated prefix to a longer one.
pub(crate) struct Level {
    /// The length of the shorter prefix.
    pub(crate) start: usize,
    /// The number of copies of the shorter prefix in the longer one.
    pub(crate) count: usize,
    /// `true` if the copies are evenly spaced. If not, no prefix between the shorter and the longer one is
    /// repeated.
    pub(crate) regular: bool,
}

impl Level {
    /// Returns `true` if prefix `q` is a vec of prefix `p` in this level.
    fn is_vector(&self, p: usize, q: usize) -> bool {
        self.regular && self.start <= p && q <= self.start * self.count
    }
}

/// Returns the levels of a displacement sequence, from the leaf up.
pub(crate) fn levels(displacements: &[i64]) -> Vec<Level> {
    let mut levels = Vec::new();
    let mut start = 1;
    while start < displacements.len() {
        let sequence = Sequence { displacements, step: start, length: displacements.len() / start };
        let strided = sequence.longest_vector();
        let regular = strided > 1;
        let count = if regular { strided } else { sequence.shortest_repeated() };
        levels.push(Level { start, count, regular });
        start *= count;
    }
    levels
}

/// Returns the lengths of all repeated prefixes in ascending order. The first is 1 and the last is n.
fn repeated_prefixes(levels: &[Level]) -> Vec<usize> {
    let mut prefixes = vec![1];
    for Level { start, count, regular } in levels {
        let between = if *regular { proper_divisors(*count) } else { Vec::new() };
        prefixes.extend(between.into_iter().skip(1).chain([*count]).map(|q| start * q));
    }
    prefixes
}

/// The sequence D[0], D[step], D[2·step], …
#[derive(Clone, Copy)]
struct Sequence<'a> {
    displacements: &'a [i64],
    step: usize,
    length: usize,
}

impl Sequence<'_> {
    /// Returns S[i], the difference between element i and the next.
    fn s(&self, i: usize) -> i64 {
        self.displacements[(i + 1) * self.step] - self.displacements[i * self.step]
    }

    /// Returns the length of the longest repeated prefix that is regularly strided (Träff 2014, listing 2),
    /// or 1 if there is none.
    fn longest_vector(&self) -> usize {
        let (n, first) = (self.length, self.s(0));
        let (mut c, mut i) = (n, 0);
        loop {
            let block = i;
            i = self.first_other_than(first, block..block + c - 1) + 1;
            if i >= n {
                return c;
            }
            if i < block + c {
                c = gcd(c, i - block);
                if c == 1 {
                    return 1;
                }
            }
        }
    }

    /// Returns the first index in `range` whose difference is not `value`, or the end of the range.
    fn first_other_than(&self, value: i64, range: Range<usize>) -> usize {
        if self.step == 1 {
            return range.start + evenly_spaced(&self.displacements[range.start..=range.end], value);
        }
        range.clone().find(|i| self.s(*i) != value).unwrap_or(range.end)
    }

    /// Returns `true` if the prefix of length `q` is repeated. Compares each block with the next.
    fn is_repeated(&self, q: usize) -> bool {
        if self.step == 1 {
            let first: Vec<i64> = (0..q - 1).map(|i| self.s(i)).collect();
            return self.displacements.chunks_exact(q).all(|block| {
                block.windows(2).zip(&first).all(|(pair, difference)| pair[1] - pair[0] == *difference)
            });
        }
        let blocks = (0..self.length - q).step_by(q);
        blocks.flat_map(|block| block..block + q - 1).all(|i| self.s(i) == self.s(i + q))
    }

    /// Returns the length of the shortest repeated prefix of at least two elements. The sequence must have no
    /// regularly strided prefix.
    fn shortest_repeated(&self) -> usize {
        /// The most candidates that are checked one by one. The Z-function checks more of them in one pass
        /// for all.
        const CHECKED_ONE_BY_ONE: usize = 4;
        let n = self.length;
        let mut candidates = proper_divisors(n);
        candidates.retain(|q| *q > 1);
        // The places where the difference changes rule out nearly every wrong candidate.
        let next_change = |i: &usize| {
            let next = self.first_other_than(self.s(*i), i + 1..n - 1);
            (next < n - 1).then_some(next)
        };
        let changes: Vec<usize> = successors(next_change(&0), next_change).take(16).collect();
        let same =
            |i: usize, q: usize| (i + 1).is_multiple_of(q) || i + q + 1 >= n || self.s(i) == self.s(i + q);
        candidates.retain(|q| {
            changes.iter().all(|i| same(*i, *q) && i.checked_sub(*q).is_none_or(|before| same(before, *q)))
        });
        let found = if candidates.len() <= CHECKED_ONE_BY_ONE {
            candidates.into_iter().find(|q| self.is_repeated(*q))
        } else {
            let z = self.z_function();
            let matched = |m: usize| z.get(m).map_or(0, |length| *length as usize);
            candidates.into_iter().find(|q| (*q..n).step_by(*q).all(|m| matched(m) + 1 >= *q))
        };
        found.unwrap_or(n)
    }

    /// Returns the Z-function: Z[i] is the length of the longest common prefix of the differences S and
    /// S[i..], at most `u32::MAX`. Z[0] is 0.
    fn z_function(&self) -> Vec<u32> {
        let n = self.length - 1;
        let mut z = vec![0u32; n];
        let (mut left, mut right) = (0, 0);
        for i in 1..n {
            let mut length = if i < right { (z[i - left] as usize).min(right - i) } else { 0 };
            while i + length < n && self.s(length) == self.s(i + length) {
                length += 1;
            }
            if i + length > right {
                (left, right) = (i, i + length);
            }
            z[i] = u32::try_from(length).unwrap_or(u32::MAX);
        }
        z
    }
}

/// Returns the divisors of `n` below `n`, in ascending order. Time O(√n).
fn proper_divisors(n: usize) -> Vec<usize> {
    let small = || (1..).take_while(|d| d * d <= n).filter(|d| n.is_multiple_of(*d));
    let large = small().filter(|d| d * d < n).map(|d| n / d).collect::<Vec<_>>();
    small().chain(large.into_iter().rev()).filter(|d| *d < n).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the definition, on all maps of twelve entries with differences from a set of two.
    #[test]
    fn the_levels_hold_all_repeated_prefixes() {
        for code in 0..1 << 11 {
            let mut displacements = vec![0i64];
            for i in 0..11 {
                displacements.push(displacements[i] + if code >> i & 1 == 1 { 3 } else { 1 });
            }
            let repeated = |q: &usize| {
                let d = &displacements;
                12usize.is_multiple_of(*q) && (*q..12).all(|i| d[i] - d[i / q * q] == d[i % q])
            };
            let expected: Vec<usize> = (1..=12).filter(repeated).collect();
            assert_eq!(repeated_prefixes(&levels(&displacements)), expected, "{displacements:?}");
        }
    }

    /// Tries all limits on the number of buckets, and all sequences of earlier requests.
    #[test]
    fn the_fewest_buckets_are_found_where_they_are_worth_it() {
        for code in 0..3u32.pow(7) {
            let mut displacements = vec![0i64];
            for i in 0..7 {
                displacements.push(displacements[i] + [1, 5, 9][(code / 3u32.pow(i as u32) % 3) as usize]);
            }
            for p in [1, 2] {
                let copies = displacements.len() / p;
                for mosts in 0..1 << 6 {
                    let mut buckets = Buckets::new(&displacements, p);
                    for copies in (2..=copies).filter(|copies| copies.is_power_of_two()) {
                        let most = [0, 1, copies / 2, copies][mosts >> (2 * copies.ilog2() - 2) & 3] as u64;
                        let at = |i: usize| displacements[i * p];
                        let steps: Vec<i64> = (1..copies).map(|i| at(i) - at(i - 1)).collect();
                        let alike = |step: &i64| steps.iter().filter(|other| *other == step).count();
                        let fewest = (copies - steps.iter().map(alike).max().unwrap_or(0)) as u64;
                        assert_eq!(buckets.of(copies, most), (fewest <= most).then_some(fewest));
                    }
                }
            }
        }
    }

    #[test]
    fn the_most_buckets_below_a_cost_are_found() {
        for (other, copies) in (0..40).flat_map(|other| (0..12).map(move |copies| (other, copies))) {
            let cost = |buckets: u64| 7 + 3 * buckets;
            let most = (0..=copies).rev().find(|buckets| *buckets == 0 || cost(*buckets) < other);
            assert_eq!(Some(most_below(other, copies, cost)), most);
        }
    }

    /// Covers design section 4, errata (a): the published procedures lose the prefix 2 in the first map and
    /// find a false 2 in the second.
    #[test]
    fn repeated_prefixes_follow_the_definition_where_the_published_procedures_do_not() {
        let lost = [0, 15, 15, 30, 18, 33, 15, 30, 30, 45, 33, 48, 18, 33, 33, 48, 36, 51];
        assert!(repeated_prefixes(&levels(&lost)).contains(&2));
        assert!(!repeated_prefixes(&levels(&[0, 6, 9, 15, 30, 36, 45, 75])).contains(&2));
    }
}
