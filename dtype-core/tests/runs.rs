//! Compares the search over the runs of a map, of any length, with the search over its entries.
//!
//! Takes minutes without optimization, and so runs in release builds only: `cargo test --release`.
#![cfg(not(debug_assertions))]

mod common;

use common::{ByEntry, long_map, repeating_map, rows};
use dtype_core::{
    BaseType, Limits, NodeCosts, Optimality, Shape, TypeMap, TypeTree, normalize, reconstruct_within,
};
use proptest::prelude::*;

/// Returns the default constants, and others that take runs for atoms, with dear or cheap lists.
fn models() -> [NodeCosts; 4] {
    let thesis = NodeCosts::THESIS;
    let [dear, cheap] = [3, 1].map(|lookup| NodeCosts { lookup, idx: 6, idxbuc: 4, ..thesis });
    [thesis, dear, cheap, NodeCosts { leaf: 1, vec: 2, idx: 4, strc: 1, idxbuc: 3, ..thesis }]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn what_they_claim_is_what_the_entries_cost(
        map in prop_oneof![2 => rows(40), 1 => long_map(), 1 => repeating_map()],
        model in 0..4usize,
    ) {
        let costs = models()[model];
        let few = Limits { exact_entries: (map.len() as u64 - 1).max(1), ..Limits::NONE };
        let least = reconstruct_within(&map, Shape::Tree, &ByEntry(costs), &Limits::NONE).unwrap();
        for limits in [few, Limits::NONE] {
            let solution = reconstruct_within(&map, Shape::Tree, &costs, &limits).unwrap();
            prop_assert_eq!(&solution.tree.flatten().unwrap(), &map);
            prop_assert_eq!(solution.tree.cost(&costs), solution.cost);
            prop_assert!(solution.cost >= least.cost);
            if solution.optimality == Optimality::Proven {
                prop_assert_eq!(solution.cost, least.cost, "{}\nagainst\n{}", solution.tree, least.tree);
            }
        }
    }
}

fn runs(lengths: impl Iterator<Item = u64>, gap: impl Fn(usize) -> i64) -> TypeTree {
    let (mut places, mut rows, mut at) = (Vec::new(), Vec::new(), 0);
    for (i, length) in lengths.enumerate() {
        places.push(at);
        rows.push(TypeTree::vector(length, 8, TypeTree::Leaf(BaseType::F64)));
        at += 8 * length as i64 + gap(i);
    }
    TypeTree::structure(places, rows)
}

/// Returns numbers that repeat nowhere.
fn irregular(i: usize) -> u64 {
    let i = i as u64;
    (i * i * 31 + i * 7) % 1009 * (i % 13 + 1) % 997
}

#[test]
fn hundreds_of_runs_of_any_length_are_solved() {
    let proven = |tree: &TypeTree, cost: u64| {
        let solution = normalize(tree, &NodeCosts::THESIS).unwrap();
        assert_eq!((solution.cost, solution.optimality), (cost, Optimality::Proven), "{}", solution.tree);
        assert_eq!(solution.tree.runs(), tree.runs());
    };
    // If nothing repeats, the best tree is an idxbuc with a bucket for each run.
    proven(
        &runs((0..400).map(|i| 1_000_000 + 1000 * irregular(i)), |i| 8 * (1 + irregular(i + 7)) as i64),
        810,
    );
    // Irregular rows, repeated ten times.
    let unit = runs((0..40).map(|i| 10 + irregular(i)), |i| 8 * (1 + irregular(i + 3)) as i64);
    proven(&TypeTree::vector(10, 1 << 20, unit), 5 + 7 + 80 + 3);
    // The rows of a ball, which become longer and shorter.
    let half = |y: i64| (100 * 100 - (y - 100) * (y - 100)).isqrt();
    let row = |y| TypeTree::vector(1 + 2 * half(y) as u64, 8, TypeTree::Leaf(BaseType::F64));
    let places = (0..201).map(|y| 8 * (300 * y + 100 - half(y)));
    let ball = TypeTree::structure(places.collect::<Vec<_>>(), (0..201).map(row).collect::<Vec<_>>());
    proven(&ball, 412);
}

/// Found by fuzzing: if rows begin and end with a shorter one, halves of neighbours are the copies of a vec.
#[test]
fn rows_are_cut_in_halves_where_they_begin_and_end_in_shorter_ones() {
    let row = |i: i64, columns: std::ops::Range<i64>| columns.map(move |j| 1000 * i + 8 * j - 232);
    let rows = row(0, 29..60).chain((1..12).flat_map(|i| row(i, 0..60))).chain(row(12, 0..31));
    let map = TypeMap::homogeneous(BaseType::F64, rows.collect()).unwrap();
    let limits = Limits { exact_entries: 500, ..Limits::NONE };
    let solution = reconstruct_within(&map, Shape::Tree, &NodeCosts::THESIS, &limits);
    let solution = solution.unwrap();
    assert_eq!((solution.cost, solution.optimality), (35, Optimality::Proven));
}

/// The first two pairs of rows also form four rows at one distance. They must be cut like the other pairs.
#[test]
fn pairs_of_rows_at_irregular_places_are_found_where_some_are_regular() {
    let rows = [0, 8, 16, 24, 80, 88, 112, 120, 120, 128, 128, 136i64];
    let entries = rows.iter().flat_map(|at| (0..13).map(move |i| at - 8 * i));
    let map = TypeMap::homogeneous(BaseType::F64, entries.collect()).unwrap();
    let solution = reconstruct_within(&map, Shape::Tree, &NodeCosts::THESIS, &Limits::NONE).unwrap();
    let pair = TypeTree::vector(2, 8, TypeTree::vector(13, -8, TypeTree::Leaf(BaseType::F64)));
    assert_eq!(solution.tree, TypeTree::index([0, 16, 80, 112, 120, 128], pair));
    assert_eq!((solution.cost, solution.optimality), (24, Optimality::Proven));
}

/// The least-cost tree would be a list of all entries, which does not fit any memory.
#[test]
fn lists_that_cost_nothing_are_not_longer_than_they_need_to_be() {
    let free = NodeCosts { lookup: 0, ..NodeCosts::THESIS };
    let row = TypeTree::vector(1_000_000_000, 8, TypeTree::Leaf(BaseType::F64));
    let rows = TypeTree::structure([0, 9_000_000_000, 20_000_000_000], [row.clone(), row.clone(), row]);
    let solution = normalize(&rows, &free).unwrap();
    assert_eq!(solution.optimality, Optimality::UpperBound);
    assert_eq!(solution.tree.runs(), rows.runs());
}
