//! Compares the reconstruction programs with a search over all trees, on small maps.
//!
//! Takes minutes without optimization, and so runs in release builds only: `cargo test --release`.
#![cfg(not(debug_assertions))]

mod common;

use common::{all_trees, cost_models, exhaustive, exhaustive_path, small_map};
use dtype_core::{BaseType, NodeCosts, Shape, TypeMap, TypeTree, reconstruct};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn a_tree_costs_what_exhaustive_search_finds(map in small_map(9), model in 0..6usize) {
        let costs = &*cost_models()[model];
        let solution = reconstruct(&map, Shape::Tree, costs).unwrap();
        prop_assert_eq!(&solution.tree.flatten().unwrap(), &map);
        prop_assert_eq!(solution.tree.cost(costs), solution.cost);
        prop_assert_eq!(solution.cost, exhaustive(map.types(), map.displacements(), costs));
    }

    #[test]
    fn a_path_costs_what_exhaustive_search_finds(map in small_map(24), model in 0..6usize) {
        let costs = &*cost_models()[model];
        let map = TypeMap::homogeneous(BaseType::I32, map.displacements().to_vec()).unwrap();
        for shape in [Shape::Path, Shape::ExtendedPath] {
            let solution = reconstruct(&map, shape, costs).unwrap();
            prop_assert_eq!(&solution.tree.flatten().unwrap(), &map);
            prop_assert_eq!(solution.tree.cost(costs), solution.cost);
            let least = exhaustive_path(map.displacements(), shape == Shape::ExtendedPath, costs);
            prop_assert_eq!(solution.cost, least);
        }
    }
}

/// Measures the error of the search for DAGs on maps small enough to try every tree. The result must never be
/// below the least cost, and must seldom be above it, by little.
#[test]
fn dags_are_close_to_what_exhaustive_search_finds() {
    let costs = NodeCosts::default();
    let steps = [4i64, 8, 12];
    let (mut least, mut found, mut off) = (0, 0, 0);
    for code in 0..steps.len().pow(5) {
        let displacements: Vec<i64> = (0..5)
            .scan((0, code), |(at, code), _| {
                let here = *at;
                *at += steps[*code % steps.len()];
                *code /= steps.len();
                Some(here)
            })
            .collect();
        for mixed in [false, true] {
            let types =
                (0..5).map(|i| if mixed && code >> i & 1 == 1 { BaseType::F32 } else { BaseType::I32 });
            let map = TypeMap::new(types.collect(), displacements.clone()).unwrap();
            let best =
                all_trees(map.types(), map.displacements()).iter().map(|tree| tree.folded_cost(&costs)).min();
            let dag = reconstruct(&map, Shape::Dag, &costs).unwrap().cost;
            let best = best.expect("every map has a tree");
            assert!(best <= dag, "{map}");
            least += best;
            found += dag;
            off += u32::from(best < dag);
        }
    }
    println!("{off} maps are off; {found} against {least} in all");
    assert!(found * 100 <= least * 101, "{found} against {least}");
}

/// Solves all maps of up to five entries of one type with steps from a small set, which include corner cases
/// that random maps miss.
#[test]
fn every_tiny_map_is_solved_exactly() {
    let steps = [-4i64, 0, 4, 8];
    for n in 1..=5u32 {
        for code in 0..steps.len().pow(n) {
            let mut code = code;
            let mut at = 0;
            let displacements: Vec<i64> = (0..n)
                .map(|_| {
                    at += steps[code % steps.len()];
                    code /= steps.len();
                    at
                })
                .collect();
            let map = TypeMap::homogeneous(BaseType::I32, displacements).unwrap();
            for costs in &cost_models() {
                let costs = &**costs;
                let solution = reconstruct(&map, Shape::Tree, costs).unwrap();
                assert_eq!(solution.tree.flatten().as_ref(), Ok(&map));
                let least = exhaustive(map.types(), map.displacements(), costs);
                assert_eq!(solution.cost, least, "{map}");
            }
        }
    }
}

/// A shift may be cheapest deep in the tree: with the shift at irregular roots only, this map costs 19.
#[test]
fn a_shift_is_absorbed_below_a_vec_where_that_is_cheapest() {
    let tree = TypeTree::vector(10, 10, TypeTree::index([5, 6], TypeTree::Leaf(BaseType::U8)));
    let map = tree.flatten().unwrap();
    for shape in [Shape::Path, Shape::ExtendedPath, Shape::Tree] {
        let solution = reconstruct(&map, shape, &NodeCosts::default()).unwrap();
        assert_eq!((&solution.tree, solution.cost), (&tree, 15));
    }
}
