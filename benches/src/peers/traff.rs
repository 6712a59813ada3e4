//! Träff 2014: the type path of listings 1 and 2, and the dynamic program over its compressions (section 3).
//! Costs only.

use dtype_core::{CostModel, gcd};

/// A node of the path, the root last, with its count and whether it is a vec.
#[derive(Clone, Copy)]
struct Node {
    count: usize,
    vector: bool,
}

/// The least cost of a type path of an aligned displacement sequence, in O(n√n) time.
pub fn path(displacements: &[i64], leaf: u64, costs: &dyn CostModel) -> u64 {
    let mut nodes = Vec::new();
    type_path(displacements, &mut nodes);
    least_compression(&nodes, leaf, costs)
}

/// Listing 1, from the leaf up: the longest regularly strided repeated prefix becomes a vec; where there is
/// none, the shortest repeated prefix an idx. Line 21 is corrected.
fn type_path(ix: &[i64], nodes: &mut Vec<Node>) {
    let n = ix.len();
    if n == 1 {
        return;
    }
    let mut count = longest_vector(ix);
    let vector = count > 1;
    if !vector {
        count = (2..=n).find(|c| n.is_multiple_of(*c) && repeat(ix, *c)).unwrap_or(n);
        // The displacement sequence of the node, as the listing copies it.
        let nix: Vec<i64> = ix[..count].iter().map(|at| at - ix[0]).collect();
        std::hint::black_box(&nix);
    }
    nodes.push(Node { count, vector });
    let six: Vec<i64> = ix.iter().step_by(count).copied().collect();
    type_path(&six, nodes);
}

/// Listing 2: whether the prefix of length `c` is repeated.
fn repeat(ix: &[i64], c: usize) -> bool {
    let mut i = 0;
    while i < ix.len() - c {
        for j in 1..c {
            if ix[i + j] - ix[i] != ix[i + c + j] - ix[i + c] {
                return false;
            }
        }
        i += c;
    }
    true
}

/// Listing 2: the length of the longest repeated prefix that is regularly strided, 1 if there is none.
fn longest_vector(ix: &[i64]) -> usize {
    let (n, d) = (ix.len(), ix[1] - ix[0]);
    let (mut c, mut i) = (n, 0);
    loop {
        let j = i;
        while i < j + c - 1 && ix[i + 1] - ix[i] == d {
            i += 1;
        }
        i += 1;
        if i == n {
            return c;
        }
        if i < j + c {
            c = gcd(c, i - j);
            if c == 1 {
                return 1;
            }
        }
    }
}

/// The cheapest path that comes from `nodes` by combining successive nodes, and splitting vecs for it (lemma
/// 2).
///
/// A compressed path cuts the sequence of nodes, and vecs also inside, at a divisor of their count. What lies
/// between two cuts becomes one node: a vec if it is part of a single vec, an idx otherwise.
fn least_compression(nodes: &[Node], leaf: u64, costs: &dyn CostModel) -> u64 {
    // Cuts from the leaf up: (node, copies of it below the cut).
    let mut cuts = vec![(0, 1)];
    for (k, node) in nodes.iter().enumerate() {
        if node.vector {
            cuts.extend((2..node.count).filter(|d| node.count.is_multiple_of(*d)).map(|d| (k, d)));
        }
        cuts.push((k + 1, 1));
    }
    let mut best = vec![u64::MAX; cuts.len()];
    best[0] = leaf;
    for to in 1..cuts.len() {
        for from in 0..to {
            let ((a, below), (b, above)) = (cuts[from], cuts[to]);
            if best[from] == u64::MAX || (a == b && above % below != 0) {
                continue;
            }
            // The nodes between the cuts: the rest of node a, whole ones, the beginning of node b.
            let (last, inside_one) = if above == 1 { (b - 1, b == a + 1) } else { (b, a == b) };
            let count = if a == b {
                above / below
            } else {
                let rest = nodes[a].count / below;
                let whole: usize = nodes[a + 1..b].iter().map(|node| node.count).product();
                rest * whole * above
            };
            let price = if inside_one && nodes[last].vector {
                costs.vector(count as u64)
            } else {
                costs.index(count as u64)
            };
            best[to] = best[to].min(price.of(best[from]));
        }
    }
    best[cuts.len() - 1]
}
