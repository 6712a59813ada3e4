//! Type DAGs: equal subtrees are built once, so they are paid for once (thesis sections 2.7.1 and 7.1).
//!
//! The principle of optimality fails for DAGs: a dearer subtree may be better because it also occurs
//! elsewhere. So the least-cost tree is folded and then improved by search. The search takes each subtree in
//! turn as paid for and solves the map again with that subtree at cost 0. It folds the result, and keeps it
//! if it is cheaper.

use alloc::vec::Vec;

use super::{
    atoms::{Atoms, Paid},
    tree::least_cost,
};
use crate::{CostModel, Limits, TypeMap, TypeTree};

/// The limits of the search: subtrees tried in a round, and rounds. A round solves the map once for each
/// subtree.
const TRIED: usize = 32;
const ROUNDS: usize = 8;

/// The largest number of entries of a map that is searched. Longer maps are only folded.
const LONGEST: usize = 1000;

/// Returns a tree of `map` whose folded cost is at most that of `tree`.
pub(super) fn improve(tree: TypeTree, map: &TypeMap, costs: &dyn CostModel, limits: &Limits) -> TypeTree {
    if map.len() > LONGEST {
        return tree;
    }
    let mut best = (tree.folded_cost(costs), tree);
    for _ in 0..ROUNDS {
        let mut subtrees = Vec::new();
        collect(&best.1, &mut subtrees);
        let solved = subtrees.iter().take(TRIED).map(|paid| {
            let mut atoms = Atoms::of_map(map, costs);
            let paid = match paid {
                TypeTree::Leaf(_) => {
                    atoms.set_free(paid);
                    None
                }
                _ => Paid::of(paid, map),
            };
            let (tree, _) = least_cost(&atoms, costs, limits.kept, paid);
            (tree.folded_cost(costs), tree)
        });
        match solved.min_by_key(|(cost, _)| *cost) {
            Some(better) if better.0 < best.0 => best = better,
            _ => break,
        }
    }
    best.1
}

/// Collects the different subtrees below the root that begin at 0, parents before their children.
fn collect(tree: &TypeTree, found: &mut Vec<TypeTree>) {
    for child in tree.children() {
        let begins_at_0 = child.flatten().is_ok_and(|map| map.displacements()[0] == 0);
        if begins_at_0 && !found.contains(child) {
            found.push(child.clone());
        }
    }
    for child in tree.children() {
        collect(child, found);
    }
}
