//! Normalization of paths without flattening (Träff 2014, theorem 2): trees of vec and idx nodes only.
//!
//! Each node has *levels*, which `reconstruct/path.rs` defines: a vec has one, and an idx has the levels of
//! its list. Neighbouring regular levels that continue each other are joined. The result is the levels of the
//! flattened map, found without flattening it. The least-cost path joins or splits these levels: it is a
//! shortest path over the places where a level may be cut.

use alloc::{vec, vec::Vec};

use crate::{CostModel, TypeTree, reconstruct::levels};

/// The largest length of a new list of displacements. A list that the given tree has may be longer.
const LONGEST_LIST: u64 = 1 << 16;

/// The largest divisor of its count at which a regular level is cut. The level is also cut at the quotients
/// by these divisors. A list between other cuts would be longer, and could pay only if the lists around it
/// are as long.
const LARGEST_CUT: u64 = 64;

/// One level, from the leaf up.
struct Level<'a> {
    count: u64,
    offsets: Offsets<'a>,
}

/// The places of the copies of a level.
#[derive(Clone, Copy)]
enum Offsets<'a> {
    /// Copies at this distance in bytes.
    Regular(i64),
    /// Copies at the elements of a list, taken at equal steps, relative to its first element.
    Listed(&'a [i64], usize),
}

impl Level<'_> {
    fn offset(&self, i: u64) -> i64 {
        match self.offsets {
            Offsets::Regular(stride) => i as i64 * stride,
            Offsets::Listed(list, step) => list[i as usize * step] - list[0],
        }
    }
}

/// The result of normalizing a path.
pub(super) struct Found {
    /// The tree.
    pub(super) tree: TypeTree,
    /// `true` if all levels are regular and no list has to carry a shift. Then no other kind of tree is worth
    /// a search.
    pub(super) regular: bool,
}

/// Returns `true` if a list begins at 0 and has regular levels only.
pub(super) fn is_regular(displacements: &[i64]) -> bool {
    displacements.first() == Some(&0) && levels(displacements).iter().all(|level| level.regular)
}

/// Returns the least-cost path with the type map of `tree`, if `tree` is a path of vecs and idxs. The tree
/// must have been measured, and must have entries.
pub(super) fn normalize(tree: &TypeTree, costs: &dyn CostModel) -> Option<Found> {
    let mut nodes = Vec::new();
    let mut node = tree;
    let base = loop {
        nodes.push(node);
        node = match node {
            TypeTree::Leaf(base) => break *base,
            TypeTree::Vector { child, .. } | TypeTree::Index { child, .. } => child,
            TypeTree::IndexBucket { .. } | TypeTree::Struct { .. } => return None,
        };
    };
    let (mut all, mut first) = (Vec::new(), 0i64);
    for node in nodes.into_iter().rev() {
        match node {
            TypeTree::Vector { count: count @ 2.., stride, .. } => {
                push(&mut all, Level { count: *count, offsets: Offsets::Regular(*stride) });
            }
            TypeTree::Index { displacements, .. } => {
                first = first.wrapping_add(displacements[0]);
                for level in levels(displacements) {
                    let count = level.count as u64;
                    let offsets = if level.regular {
                        Offsets::Regular(displacements[level.start] - displacements[0])
                    } else {
                        Offsets::Listed(displacements, level.start)
                    };
                    push(&mut all, Level { count, offsets });
                }
            }
            _ => {}
        }
    }
    let regular = first == 0 && all.iter().all(|level| matches!(level.offsets, Offsets::Regular(_)));
    let tree = Search::new(&all, TypeTree::Leaf(base), costs).shortest(first)?;
    Some(Found { tree, regular })
}

/// Appends a level. Joins it to the last one if both are regular and continue each other.
fn push<'a>(levels: &mut Vec<Level<'a>>, next: Level<'a>) {
    if let (Some(last), Offsets::Regular(stride)) = (levels.last_mut(), next.offsets)
        && let Offsets::Regular(inner) = last.offsets
        && i64::try_from(last.count).ok().and_then(|count| count.checked_mul(inner)) == Some(stride)
        && let Some(count) = last.count.checked_mul(next.count)
    {
        last.count = count;
    } else {
        levels.push(next);
    }
}

/// A place where the path may be cut: below a level, or inside it after a number of copies.
#[derive(Clone, Copy)]
struct Cut {
    level: usize,
    copies: u64,
}

/// The cheapest node that ends at a cut, and the cut below it.
#[derive(Clone, Copy)]
struct Choice {
    cost: u64,
    below: usize,
    vector: bool,
}

impl Choice {
    const UNKNOWN: Self = Self { cost: u64::MAX, below: 0, vector: false };

    fn relax(&mut self, cost: u64, below: usize, vector: bool) {
        if cost < self.cost {
            *self = Self { cost, below, vector };
        }
    }
}

struct Search<'a> {
    levels: &'a [Level<'a>],
    leaf: TypeTree,
    costs: &'a dyn CostModel,
    cuts: Vec<Cut>,
}

impl<'a> Search<'a> {
    fn new(levels: &'a [Level<'a>], leaf: TypeTree, costs: &'a dyn CostModel) -> Self {
        let mut cuts = Vec::new();
        for (level, Level { count, offsets }) in levels.iter().enumerate() {
            cuts.push(Cut { level, copies: 1 });
            // A single regular level gains nothing from a cut.
            if matches!(offsets, Offsets::Regular(_)) && levels.len() > 1 {
                let small = (2..=LARGEST_CUT).filter(|d| count.is_multiple_of(*d) && d < count);
                let mut inside: Vec<u64> = small.flat_map(|d| [d, count / d]).collect();
                inside.sort_unstable();
                inside.dedup();
                cuts.extend(inside.into_iter().map(|copies| Cut { level, copies }));
            }
        }
        cuts.push(Cut { level: levels.len(), copies: 1 });
        Self { levels, leaf, costs, cuts }
    }

    /// Returns the least-cost path, moved to begin at `shift`. As in [`crate::reconstruct`], lists carry a
    /// shift, and a vec passes it down to its child. Returns `None` if the costs of all paths saturate.
    fn shortest(&self, shift: i64) -> Option<TypeTree> {
        let (cuts, costs) = (&self.cuts, self.costs);
        let mut aligned = vec![Choice::UNKNOWN; cuts.len()];
        let mut shifted = aligned.clone();
        aligned[0].cost = self.leaf.cost(costs);
        for to in 0..cuts.len() {
            for from in 0..to {
                let Some(count) = count(self.levels, cuts[from], cuts[to]) else { continue };
                let (below, below_shifted) = (aligned[from].cost, shifted[from].cost);
                if is_vector(self.levels, cuts[from], cuts[to]) {
                    let price = costs.vector(count);
                    aligned[to].relax(price.of(below), from, true);
                    shifted[to].relax(price.of(below_shifted), from, true);
                }
                if count <= LONGEST_LIST || is_listed(self.levels, cuts[from], cuts[to]) {
                    let cost = costs.index(count).of(below);
                    aligned[to].relax(cost, from, false);
                    shifted[to].relax(cost, from, false);
                }
            }
            // An idx with a single displacement carries the shift.
            shifted[to].relax(costs.index(1).of(aligned[to].cost), to, false);
        }
        self.build(&aligned, &shifted, cuts.len() - 1, shift)
    }

    /// Builds the tree below cut `to`. The recursion is at most as deep as there are cuts: one for each
    /// level, and fewer than twice [`LARGEST_CUT`] inside each level.
    fn build(&self, aligned: &[Choice], shifted: &[Choice], to: usize, shift: i64) -> Option<TypeTree> {
        let choice = if shift == 0 { aligned[to] } else { shifted[to] };
        if to == 0 && shift == 0 {
            return Some(self.leaf.clone());
        }
        if choice.cost == u64::MAX {
            return None;
        }
        let (from, end) = (self.cuts[choice.below], self.cuts[to]);
        if choice.vector {
            let child = self.build(aligned, shifted, choice.below, shift)?;
            let stride = self.levels[from.level].offset(from.copies);
            return Some(TypeTree::vector(count(self.levels, from, end)?, stride, child));
        }
        let child = self.build(aligned, shifted, choice.below, 0)?;
        if choice.below == to {
            return Some(TypeTree::index([shift], child));
        }
        let list = offsets(self.levels, from, end).into_iter().map(|at| at + shift);
        Some(TypeTree::index(list.collect::<Vec<_>>(), child))
    }
}

/// Returns the number of copies of the tree below `from` that make the tree below `to`, if it is a whole
/// number.
fn count(levels: &[Level<'_>], from: Cut, to: Cut) -> Option<u64> {
    if from.level == to.level {
        return to.copies.is_multiple_of(from.copies).then(|| to.copies / from.copies);
    }
    let whole = levels[from.level + 1..to.level].iter().map(|level| level.count);
    whole.chain([to.copies]).try_fold(levels[from.level].count / from.copies, u64::checked_mul)
}

/// Returns `true` if the cuts bound one regular level, or a part of it.
fn is_vector(levels: &[Level<'_>], from: Cut, to: Cut) -> bool {
    matches!(levels[from.level].offsets, Offsets::Regular(_))
        && (from.level == to.level || (from.level + 1 == to.level && to.copies == 1))
}

/// Returns `true` if the cuts bound one listed level, whose list already exists.
fn is_listed(levels: &[Level<'_>], from: Cut, to: Cut) -> bool {
    matches!(levels[from.level].offsets, Offsets::Listed(..)) && from.level + 1 == to.level && to.copies == 1
}

/// Returns the displacements of the copies between two cuts. The outermost level varies slowest.
fn offsets(levels: &[Level<'_>], from: Cut, to: Cut) -> Vec<i64> {
    let mut list = vec![0];
    let last = if to.copies > 1 { to.level } else { to.level - 1 };
    for k in (from.level..=last).rev() {
        let end = if k == to.level { to.copies } else { levels[k].count };
        let step = if k == from.level { from.copies } else { 1 };
        let inner = || (0..end / step).map(move |i| i * step);
        list = list.iter().flat_map(|at| inner().map(move |i| at + levels[k].offset(i))).collect();
    }
    list
}
