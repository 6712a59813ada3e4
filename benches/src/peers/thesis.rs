//! The algorithms of the thesis, chapters 5 and 6, as published. They compute costs only, for aligned maps.

use dtype_core::{CostModel, TypeMap};

/// Returns the least cost of a type tree by algorithm 9, in O(n⁴) time and O(n²) space.
///
/// The algorithm visits all segments by increasing length. For every divisor of the length, it reads the
/// segment to check for a repeated prefix. The best strc is a shortest path over all shorter segments.
pub fn tree(map: &TypeMap, costs: &dyn CostModel) -> u64 {
    let n = map.len();
    let (types, displacements) = (map.types(), map.displacements());
    // cost[i][l] is the cost of the segment of length l at i.
    let mut cost: Vec<Vec<u64>> = (0..n).map(|i| vec![u64::MAX; n - i + 1]).collect();
    for (i, base) in types.iter().enumerate() {
        cost[i][1] = costs.leaf(*base);
    }
    for length in 2..=n {
        for i in 0..=n - length {
            let (types, displacements) = (&types[i..i + length], &displacements[i..i + length]);
            let mut best = u64::MAX;
            for q in (1..length).filter(|q| length.is_multiple_of(*q)) {
                let repeated = (q..length).all(|k| {
                    types[k] == types[k % q]
                        && displacements[k] - displacements[k / q * q]
                            == displacements[k % q] - displacements[0]
                });
                if repeated {
                    let starts = displacements.iter().step_by(q);
                    best = best.min(node(starts.copied(), cost[i][q], true, costs));
                }
            }
            // The shortest path over the parts from i to i + length.
            let mut reach = vec![u64::MAX; length + 1];
            reach[0] = 0;
            for from in 0..length {
                for to in from + 1..=length {
                    if to - from < length {
                        let part = costs.part().of(cost[i + from][to - from]);
                        reach[to] = reach[to].min(reach[from].saturating_add(part));
                    }
                }
            }
            cost[i][length] = best.min(costs.structure().saturating_add(reach[length]));
        }
    }
    cost[0][n]
}

/// Returns the least cost of a type path of vec and idx nodes by algorithm 15, in O(n) for each divisor.
///
/// Procedures 12 to 14 are wrong as printed, so the plain check of each divisor (procedure 4) replaces them.
pub fn path(displacements: &[i64], leaf: u64, costs: &dyn CostModel) -> u64 {
    let n = displacements.len();
    let repeated = |q: usize| {
        (q..n).all(|k| displacements[k] - displacements[k / q * q] == displacements[k % q] - displacements[0])
    };
    let small = (1..=n.isqrt()).filter(|q| n.is_multiple_of(*q));
    let mut prefixes: Vec<usize> = small.flat_map(|q| [q, n / q]).collect();
    prefixes.sort_unstable();
    prefixes.dedup();
    prefixes.retain(|q| repeated(*q));
    let mut best = vec![u64::MAX; prefixes.len()];
    best[0] = leaf;
    for to in 1..prefixes.len() {
        for from in 0..to {
            let (q, p) = (prefixes[to], prefixes[from]);
            if q.is_multiple_of(p) {
                let starts = displacements[..q].iter().step_by(p).copied();
                best[to] = best[to].min(node(starts, best[from], false, costs));
            }
        }
    }
    best[prefixes.len() - 1]
}

/// Returns the least cost of a vec or an idx over copies of a child at `starts`. `child` is the cost of the
/// child. With `buckets`, an idxbuc is considered too.
fn node(starts: impl Iterator<Item = i64> + Clone, child: u64, buckets: bool, costs: &dyn CostModel) -> u64 {
    let copies = starts.clone().count() as u64;
    let differences: Vec<i64> = starts.clone().zip(starts.skip(1)).map(|(a, b)| b - a).collect();
    let mut best = costs.index(copies).of(child);
    if differences.iter().all(|d| *d == differences[0]) {
        best = best.min(costs.vector(copies).of(child));
    }
    if buckets {
        let mut sorted = differences;
        sorted.sort_unstable();
        let most = sorted.chunk_by(|a, b| a == b).map(<[i64]>::len).max().unwrap_or(0) as u64;
        let (price, bucket, buckets) = (costs.index_bucket(copies), costs.bucket(), copies - most);
        let price = dtype_core::Price {
            own: price.own + buckets * bucket.own,
            times: price.times + buckets * bucket.times,
        };
        best = best.min(price.of(child));
    }
    best
}
