//! Normalization: the least-cost tree for a layout that is given as a tree (Träff 2014, section 5).
//!
//! A layout of few entries is flattened and solved exactly. A longer layout of few runs is solved by its
//! runs. Among the remaining layouts, a path is normalized level by level, see [`path`]. All other trees, and
//! paths with irregular levels, are solved from the leaves up, as exactly as the limits allow. Every subtree
//! becomes a short list of displaced *atoms*. If a list would grow too long, the lists below it are solved,
//! and each becomes a single atom. Neighbouring equal atoms also become a single atom. The work is bounded by
//! the size of the given tree, never by the length of its type map.

use alloc::{borrow::Cow, vec, vec::Vec};

use crate::{
    CostModel, Error, Limits, LinearCosts, NodeCosts, Optimality, Run, Shape, Solution, TypeTree,
    constant::{RunBuffer, Solved},
    reconstruct::{Atoms, PIECES, from_runs, least_cost, least_cost_path, reconstruct_within, solves_runs},
};

mod path;

/// Finds a cheap tree with the type map of `tree`. The result is the least-cost tree for up to 1,000 entries,
/// for most maps of up to 2,000 runs of any length, and wherever [`Optimality::Proven`] says so. Otherwise, a
/// cheaper tree may exist. The result never costs more than `tree` itself, and normalizing the result again
/// changes nothing.
///
/// Maps are solved by their runs only under models in which the price of a vec does not depend on its count,
/// like the default model. Thousands of irregular runs take about a second, and longer if they repeat at all
/// scales. [`normalize_within`] sets limits.
///
/// For a tree without entries, the result is a strc without children.
///
/// # Errors
/// The errors of [`TypeTree::measure`].
///
/// ```
/// use dtype_core::{BaseType, NodeCosts, TypeTree, normalize};
/// let row = TypeTree::vector(1000, 8, TypeTree::Leaf(BaseType::F64));
/// let matrix = TypeTree::vector(1_000_000, 8000, row);
/// let solution = normalize(&matrix, &NodeCosts::default())?;
/// assert_eq!(solution.tree, TypeTree::vector(1_000_000_000, 8, TypeTree::Leaf(BaseType::F64)));
/// # Ok::<(), dtype_core::Error>(())
/// ```
pub fn normalize(tree: &TypeTree, costs: &dyn CostModel) -> Result<Solution, Error> {
    let limits = Limits::default();
    let entries = tree.measure()?.entries;
    normalize_measured(tree, entries, costs, (&Limits { exact_entries: 1000, ..limits }, &limits))
}

/// Like [`normalize`](fn@normalize), within the given limits. Maps of up to `exact_entries` entries, or
/// pieces of runs, are solved exactly. For larger maps, the search works on lists of at most `exact_entries`
/// subtrees.
///
/// # Errors
/// The errors of [`normalize`](fn@normalize).
pub fn normalize_within(tree: &TypeTree, costs: &dyn CostModel, limits: &Limits) -> Result<Solution, Error> {
    normalize_measured(tree, tree.measure()?.entries, costs, (limits, limits))
}

/// Like [`normalize_within`](fn@normalize_within), for a tree that has been measured. The search over its
/// runs has limits of its own, `of_runs`.
fn normalize_measured(
    tree: &TypeTree,
    entries: u64,
    costs: &dyn CostModel,
    (limits, of_runs): (&Limits, &Limits),
) -> Result<Solution, Error> {
    let within = Within { costs, limits: *limits };
    if entries == 0 {
        let tree = TypeTree::structure([], []);
        return Ok(Solution { cost: tree.cost(costs), tree, optimality: Optimality::Proven });
    }
    if entries <= limits.exact_entries {
        return reconstruct_within(&tree.flatten()?, Shape::Tree, costs, limits);
    }
    let linear = LinearCosts::of(costs);
    // All trees of a map have the same floor.
    let floor = linear.map_or(0, |costs| costs.floor(entries, tree.single_run().is_some(), false));
    let (mut tree, mut cost) = (Cow::Borrowed(tree), tree.cost(costs));
    match linear.and_then(|linear| solve_runs(&tree, costs, &linear, of_runs)) {
        Some(solution) if solution.optimality == Optimality::Proven => return Ok(solution),
        Some(solution) if solution.cost < cost => (cost, tree) = (solution.cost, Cow::Owned(solution.tree)),
        _ => {}
    }
    // A cheaper tree may show structure that the last one did not. So only a tree that no step improves is a
    // normal form. The trees of few runs, and of paths with regular levels only, are normal forms at once.
    loop {
        let solved = linear.and_then(|costs| Solved::of(&RunBuffer::of(&tree), &costs));
        if let Some(solved) = solved.filter(|solved| solved.cost() <= cost) {
            return Ok(solved.solution());
        }
        if cost <= floor {
            break;
        }
        let (regular, candidates) = match &*tree {
            // The least-cost path over an irregular list of entries is found directly, so nothing else is
            // searched.
            TypeTree::Index { displacements, child }
                if matches!(**child, TypeTree::Leaf(_)) && !path::is_regular(displacements) =>
            {
                let leaf = (TypeTree::clone(child), child.cost(costs));
                (false, [Some(least_cost_path(displacements, leaf, true, costs)), None])
            }
            tree => {
                let path = path::normalize(tree, costs);
                let regular = path.as_ref().is_some_and(|path| path.regular);
                (regular, [path.map(|path| path.tree), (!regular).then(|| search(tree, within))])
            }
        };
        let found = candidates.into_iter().flatten().map(|tree| (tree.cost(costs), tree));
        let found = found.min_by_key(|(cost, _)| *cost);
        let Some((lower, better)) = found.filter(|(found, _)| *found < cost) else { break };
        (cost, tree) = (lower, Cow::Owned(better));
        if regular {
            break;
        }
    }
    let optimality = if cost <= floor { Optimality::Proven } else { Optimality::UpperBound };
    Ok(Solution { tree: tree.into_owned(), cost, optimality })
}

/// Solves a map of few runs. Returns `None` if there are too many runs, or if the least-cost tree under this
/// model may take runs apart.
fn solve_runs(
    tree: &TypeTree,
    costs: &dyn CostModel,
    linear: &LinearCosts,
    limits: &Limits,
) -> Option<Solution> {
    let few = Solved::of(&RunBuffer::of(tree), linear).map(|solved| solved.solution());
    few.filter(|solution| solution.optimality == Optimality::Proven).or_else(|| {
        let most = usize::try_from(limits.exact_entries / PIECES).unwrap_or(usize::MAX);
        let runs = solves_runs(costs).then(|| tree.few_runs(most)).flatten()?;
        let (tree, optimality) = from_runs(runs.as_slice(), costs, limits);
        Some(Solution { cost: tree.cost(costs), tree, optimality })
    })
}

/// Finds the tree for the layout of a type or of a view, in the same way for macros, constants and the
/// running program. Maps of few runs are solved by [`Solved`], which constants can use as well, and others
/// within [`Limits::EXPANSION`]. The cost depends on the type map alone if the result is
/// [`Optimality::Proven`] or comes from [`Solved`].
///
/// # Errors
/// The errors of [`TypeTree::measure`].
///
/// ```
/// use dtype_core::{BaseType, NodeCosts, TypeTree, solve_layout};
/// let fields = [TypeTree::vector(3, 8, TypeTree::Leaf(BaseType::F64)), TypeTree::Leaf(BaseType::U8)];
/// let solution = solve_layout(&TypeTree::structure([0, 24], fields), &NodeCosts::THESIS.linear())?;
/// assert_eq!(solution.cost, 20);
/// # Ok::<(), dtype_core::Error>(())
/// ```
pub fn solve_layout(tree: &TypeTree, costs: &LinearCosts) -> Result<Solution, Error> {
    let entries = tree.measure()?.entries;
    // A box of an array needs no search if its path meets the lower bound.
    if entries > 1
        && is_box(tree)
        && let Some(found) = path::normalize(tree, costs)
    {
        let (cost, tree) = (found.tree.cost(costs), found.tree);
        if cost <= costs.floor(entries, tree.single_run().is_some(), false) {
            return Ok(Solution { tree, cost, optimality: Optimality::Proven });
        }
    }
    match Solved::of(&RunBuffer::of(tree), costs) {
        Some(solved) => Ok(solved.solution()),
        None => normalize_measured(tree, entries, costs, (&Limits::EXPANSION, &Limits::EXPANSION)),
    }
}

/// Returns `true` if a tree consists of vecs over a leaf.
fn is_box(tree: &TypeTree) -> bool {
    match tree {
        TypeTree::Leaf(_) => true,
        TypeTree::Vector { child, .. } => is_box(child),
        _ => false,
    }
}

/// The model and the limits of a normalization.
#[derive(Clone, Copy)]
struct Within<'a> {
    costs: &'a dyn CostModel,
    limits: Limits,
}

impl Within<'_> {
    /// Returns `true` if a list of this number of pieces is short enough to be solved.
    fn allows(&self, pieces: u64) -> bool {
        pieces <= self.limits.exact_entries
    }

    /// Returns `true` if `count` copies of the pieces are few enough to be solved, and small enough to be
    /// stored. Each copy has its own lists, and all lists together may take 2²² words.
    fn allows_copies(&self, count: u64, pieces: &[&TypeTree]) -> bool {
        const MOST_WORDS: u64 = 1 << 22;
        let words = pieces.iter().fold(0u64, |all, piece| all.saturating_add(piece.cost(&NodeCosts::THESIS)));
        self.allows(count.saturating_mul(pieces.len() as u64)) && count.saturating_mul(words) <= MOST_WORDS
    }

    fn least_cost(&self, atoms: &Atoms) -> TypeTree {
        least_cost(atoms, self.costs, self.limits.kept, None).0
    }
}

/// Finds a cheap tree with the type map of `tree`, which is split into atoms.
fn search(tree: &TypeTree, within: Within<'_>) -> TypeTree {
    let (first, mut found) = solve(list(tree, within), within);
    if first != 0 && !found.shift(first) {
        found = TypeTree::index([first], found);
    }
    found
}

/// A tree that begins at 0, with its displacement.
type Piece = (i64, TypeTree);

/// Returns the layout of `tree` as pieces in order, no more than the limits allow.
fn list(tree: &TypeTree, within: Within<'_>) -> Vec<Piece> {
    match tree {
        TypeTree::Leaf(_) => vec![(0, tree.clone())],
        TypeTree::Vector { count, stride, child } => copies(*count, *stride, &list(child, within), within),
        TypeTree::Index { displacements, child } => {
            let child = list(child, within);
            if within.allows_copies(displacements.len() as u64, &trees_of(&child)) {
                return together(displacements.iter().flat_map(|at| moved(&child, *at)));
            }
            let (first, atom) = solve(child, within);
            if within.allows_copies(displacements.len() as u64, &[&atom]) {
                return together(displacements.iter().map(|at| (at.wrapping_add(first), atom.clone())));
            }
            let (start, cost) = (displacements[0], atom.cost(within.costs));
            let starts: Vec<_> = displacements.iter().map(|at| at.wrapping_sub(start)).collect();
            vec![(first.wrapping_add(start), least_cost_path(&starts, (atom, cost), true, within.costs))]
        }
        TypeTree::IndexBucket { stride, buckets, displacements, child } => {
            let child = list(child, within);
            let filled = || buckets.iter().zip(displacements).filter(|(count, _)| **count > 0);
            let copies_of_all = filled().fold(0u64, |all, (count, _)| all.saturating_add(*count));
            if let [(first, TypeTree::Leaf(base))] = child[..]
                && !within.allows(copies_of_all)
            {
                let run = |(count, at): (&u64, &i64)| {
                    let stride = if *count == 1 { 0 } else { *stride };
                    Run { base, displacement: at.wrapping_add(first), count: *count, stride }
                };
                return list_runs(filled().map(run).collect(), within);
            }
            let parts = filled().map(|(count, at)| (*at, copies(*count, *stride, &child, within)));
            concatenate(parts.collect(), within)
        }
        TypeTree::Struct { displacements, children } => {
            let parts = children.iter().zip(displacements).map(|(child, at)| (*at, list(child, within)));
            concatenate(parts.collect(), within)
        }
    }
}

/// Returns the trees of pieces.
fn trees_of(pieces: &[Piece]) -> Vec<&TypeTree> {
    pieces.iter().map(|(_, tree)| tree).collect()
}

/// Returns `count` copies of a list, `stride` bytes apart.
fn copies(count: u64, stride: i64, child: &[Piece], within: Within<'_>) -> Vec<Piece> {
    if child.is_empty() || count == 0 {
        return Vec::new();
    }
    // The beginning of a copy may be out of range, but its data is within the range.
    let at = |i: u64| (i as i64).wrapping_mul(stride);
    if within.allows_copies(count, &trees_of(child)) {
        return together((0..count).flat_map(|i| moved(child, at(i))));
    }
    let (first, atom) = solve(child.to_vec(), within);
    if let Some(longer) = lengthened(&atom, count, stride) {
        return vec![(first, longer)];
    }
    if within.allows_copies(count, &[&atom]) {
        return together((0..count).map(|i| (first.wrapping_add(at(i)), atom.clone())));
    }
    vec![(first, TypeTree::vector(count, stride, atom))]
}

/// Returns `count` copies of a vec as one longer vec, if they continue it at its stride.
fn lengthened(atom: &TypeTree, count: u64, stride: i64) -> Option<TypeTree> {
    match atom {
        TypeTree::Leaf(_) => Some(TypeTree::vector(count, stride, atom.clone())),
        TypeTree::Vector { count: inner, stride: step, child }
            if step.checked_mul(*inner as i64) == Some(stride) =>
        {
            Some(TypeTree::vector(inner * count, *step, (**child).clone()))
        }
        _ => None,
    }
}

/// Concatenates lists, each moved to its displacement. If they have too many pieces together, each list is
/// solved first.
fn concatenate(mut parts: Vec<(i64, Vec<Piece>)>, within: Within<'_>) -> Vec<Piece> {
    parts.retain(|(_, pieces)| !pieces.is_empty());
    let total: usize = parts.iter().map(|(_, pieces)| pieces.len()).sum();
    if within.allows(total as u64) {
        return together(parts.iter().flat_map(|(at, pieces)| moved(pieces, *at)));
    }
    let solved = parts.into_iter().map(|(at, list)| {
        let (first, atom) = solve(list, within);
        (at.wrapping_add(first), atom)
    });
    bounded(together(solved), within)
}

/// Returns runs as pieces, no more than the limits allow.
fn list_runs(mut runs: Vec<Run>, within: Within<'_>) -> Vec<Piece> {
    if runs.iter().any(|run| run.count > 1) {
        runs.dedup_by(|next, last| join(*last, *next).map(|run| *last = run).is_some());
    }
    let alike = |a: &Run, b: &Run| Run { displacement: 0, ..*a } == Run { displacement: 0, ..*b };
    let stretches = runs.chunk_by(alike).count() as u64;
    match buckets_of(&runs) {
        // The layout was given as this idxbuc, and is far too large for a search.
        Some(buckets) if !within.allows(stretches) => vec![buckets],
        _ => bounded(runs.iter().map(|run| (run.displacement, TypeTree::of_run(run))).collect(), within),
    }
}

/// Returns the pieces. If there are too many, combines several pieces into one.
fn bounded(pieces: Vec<Piece>, within: Within<'_>) -> Vec<Piece> {
    if within.allows(pieces.len() as u64) {
        return pieces;
    }
    let stretches = pieces.chunk_by(|(_, a), (_, b)| a == b).count();
    if within.allows(stretches as u64) {
        return alike(&pieces, within);
    }
    vec![in_buckets(&pieces).unwrap_or_else(|| {
        let first = pieces[0].0;
        let (displacements, children): (Vec<_>, Vec<_>) =
            pieces.into_iter().map(|(at, atom)| (at.wrapping_sub(first), atom)).unzip();
        (first, TypeTree::structure(displacements, children))
    })]
}

/// Returns the pieces with each stretch of equal ones replaced by the least-cost path over it.
fn alike(pieces: &[Piece], within: Within<'_>) -> Vec<Piece> {
    let mut list: Vec<Piece> = Vec::new();
    for stretch in pieces.chunk_by(|(_, a), (_, b)| a == b) {
        let (first, atom) = &stretch[0];
        if stretch.len() == 1 {
            list.push((*first, atom.clone()));
            continue;
        }
        let starts: Vec<_> = stretch.iter().map(|(at, _)| at.wrapping_sub(*first)).collect();
        let atom = (atom.clone(), atom.cost(within.costs));
        list.push((*first, least_cost_path(&starts, atom, true, within.costs)));
    }
    list
}

/// Returns the pieces as one idxbuc over a leaf, if they are runs of one base type and one stride.
fn in_buckets(pieces: &[Piece]) -> Option<Piece> {
    let runs = pieces.iter().map(|(at, tree)| tree.as_run(*at)).collect::<Option<Vec<_>>>()?;
    buckets_of(&runs)
}

fn buckets_of(runs: &[Run]) -> Option<Piece> {
    let (first, longer) = (runs.first()?.displacement, runs.iter().find(|run| run.count > 1)?);
    let alike = |run: &Run| run.base == longer.base && (run.count == 1 || run.stride == longer.stride);
    if !runs.iter().all(alike) {
        return None;
    }
    let (buckets, displacements): (Vec<_>, Vec<_>) =
        runs.iter().map(|run| (run.count, run.displacement.wrapping_sub(first))).unzip();
    let leaf = TypeTree::Leaf(longer.base);
    Some((first, TypeTree::index_bucket(longer.stride, buckets, displacements, leaf)))
}

/// Collects the pieces in order. A list of only leaves is solved exactly, so it is not changed. In any other
/// list, a run that continues the previous run is joined to it.
fn together(pieces: impl Iterator<Item = Piece>) -> Vec<Piece> {
    let pieces: Vec<Piece> = pieces.collect();
    if pieces.iter().all(|(_, atom)| matches!(atom, TypeTree::Leaf(_))) {
        return pieces;
    }
    let mut list: Vec<Piece> = Vec::new();
    for (at, atom) in pieces {
        match list.last_mut().and_then(|last| joined(last, (at, &atom)).map(|run| (last, run))) {
            Some((last, run)) => last.1 = run,
            None => list.push((at, atom)),
        }
    }
    list
}

/// Returns both pieces as one run, if they form a run. Two leaves must be adjacent, because any two are a run
/// of some stride.
fn joined(last: &Piece, next: (i64, &TypeTree)) -> Option<TypeTree> {
    join(last.1.as_run(last.0)?, next.1.as_run(next.0)?).map(|run| TypeTree::of_run(&run))
}

fn join(last: Run, next: Run) -> Option<Run> {
    let run = last.joined(next)?;
    let chance = run.count == 2 && run.stride != run.base.extent() as i64;
    (!chance).then_some(run)
}

fn moved(pieces: &[Piece], by: i64) -> impl Iterator<Item = Piece> {
    pieces.iter().map(move |(at, atom)| (at.wrapping_add(by), atom.clone()))
}

/// Solves the list. Returns a single piece of the least cost, with the pieces of the list as atoms.
fn solve(mut pieces: Vec<Piece>, within: Within<'_>) -> Piece {
    if pieces.len() == 1 {
        return pieces.remove(0);
    }
    let start = pieces[0].0;
    for piece in &mut pieces {
        piece.0 = piece.0.wrapping_sub(start);
    }
    let runs = pieces.iter().map(|(at, tree)| tree.as_run(*at)).collect::<Option<Vec<_>>>();
    let buckets = in_buckets(&pieces).map(|(_, tree)| tree);
    let searched = match runs {
        Some(runs) => from_runs(&runs, within.costs, &within.limits).0,
        None => within.least_cost(&Atoms::of_pieces(pieces.into_iter(), within.costs)),
    };
    let tree = match buckets {
        Some(buckets) if buckets.cost(within.costs) < searched.cost(within.costs) => buckets,
        _ => searched,
    };
    (start, tree)
}
