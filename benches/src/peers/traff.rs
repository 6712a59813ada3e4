//! Träff 2014: the type path of listings 1 and 2, and the dynamic program over its compressions (section 3).
//! It computes costs only.

use dtype_core::{CostModel, gcd};

/// A node of the path. `vector` is `true` for a vec and `false` for an idx. The root is the last node of a
/// path.
#[derive(Clone, Copy)]
struct Node {
    count: usize,
    vector: bool,
}

/// Returns the least cost of a type path of an aligned displacement sequence, in O(n√n) time.
pub fn path(displacements: &[i64], leaf: u64, costs: &dyn CostModel) -> u64 {
    let mut nodes = Vec::new();
    type_path(displacements, &mut nodes);
    least_compression(&nodes, leaf, costs)
}

/// Appends the nodes of listing 1, from the leaf up. The longest regularly strided repeated prefix becomes a
/// vec. If there is none, the shortest repeated prefix becomes an idx. Line 21 is corrected.
fn type_path(ix: &[i64], nodes: &mut Vec<Node>) {
    let n = ix.len();
    if n == 1 {
        return;
    }
    let mut count = longest_vector(ix);
    let vector = count > 1;
    if !vector {
        count = (2..=n).find(|c| n.is_multiple_of(*c) && repeat(ix, *c)).unwrap_or(n);
        // The listing copies the displacement sequence of the node, so its time includes the copy.
        let nix: Vec<i64> = ix[..count].iter().map(|at| at - ix[0]).collect();
        std::hint::black_box(&nix);
    }
    nodes.push(Node { count, vector });
    let six: Vec<i64> = ix.iter().step_by(count).copied().collect();
    type_path(&six, nodes);
}

/// Returns `true` if the prefix of length `c` is repeated (listing 2).
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

/// Returns the length of the longest repeated prefix that is regularly strided, or 1 (listing 2).
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

/// Returns the cost of the cheapest path that results from combining successive nodes, and from splitting
/// vecs for this purpose (lemma 2).
///
/// A compressed path cuts the sequence of nodes. It may also cut a vec inside, at a divisor of its count. The
/// nodes between two cuts become one node: a vec if they are part of a single vec, otherwise an idx.
fn least_compression(nodes: &[Node], leaf: u64, costs: &dyn CostModel) -> u64 {
    // The cuts from the leaf up: (node, copies of the node below the cut).
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
            // The nodes between the cuts are the rest of node a, whole nodes, and the beginning of node b.
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
