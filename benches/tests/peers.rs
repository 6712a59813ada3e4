//! Tests of the peers: the exact ones find the same costs as the product, on maps that are too large for
//! exhaustive search.

use dtype_benches::{
    cases,
    peers::{heuristics, thesis, traff},
};
use dtype_core::{BaseType, CostModel, NodeCosts, Penalty, Shape, TypeMap, TypeTree, reconstruct};
use proptest::prelude::*;

fn models() -> [Box<dyn CostModel>; 5] {
    let default = NodeCosts::default();
    [
        Box::new(default),
        Box::new(NodeCosts { vec: 20, idx: 2, ..default }),
        Box::new(NodeCosts { leaf: 1, vec: 9, idxbuc: 1, strc: 1, lookup: 2, ..default }),
        Box::new(NodeCosts::processing()),
        Box::new(Penalty::default()),
    ]
}

fn compare_trees(map: &TypeMap, costs: &dyn CostModel) -> Result<(), TestCaseError> {
    let solution = reconstruct(map, Shape::Tree, costs).unwrap();
    prop_assert_eq!(&solution.tree.flatten().unwrap(), map);
    prop_assert_eq!(solution.tree.cost(costs), solution.cost);
    prop_assert_eq!(solution.cost, thesis::tree(map, costs));
    Ok(())
}

/// Returns trees that flatten to regular, half-regular and overlapping maps.
fn structured() -> impl Strategy<Value = TypeTree> {
    let leaf = proptest::sample::select(vec![BaseType::U8, BaseType::I32]).prop_map(TypeTree::Leaf);
    let distance = || prop_oneof![3 => (1i64..12).prop_map(|i| i * 4), 1 => -9i64..30];
    leaf.prop_recursive(4, 16, 3, move |child| {
        let child = child.boxed();
        prop_oneof![
            (2u64..7, distance(), child.clone()).prop_map(|(n, s, child)| TypeTree::vector(n, s, child)),
            (proptest::collection::vec(distance(), 1..5), child.clone())
                .prop_map(|(at, child)| TypeTree::index(at, child)),
            (distance(), proptest::collection::vec((1u64..5, distance()), 1..4), child.clone()).prop_map(
                |(s, buckets, child)| {
                    let (lengths, at): (Vec<_>, Vec<_>) = buckets.into_iter().unzip();
                    TypeTree::index_bucket(s, lengths, at, child)
                }
            ),
            proptest::collection::vec((distance(), child), 1..4).prop_map(|parts| {
                let (at, children): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
                TypeTree::structure(at, children)
            }),
        ]
    })
}

fn aligned(map: &TypeMap) -> TypeMap {
    let first = map.displacements()[0];
    TypeMap::new(map.types().to_vec(), map.displacements().iter().map(|at| at - first).collect()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn the_thesis_tree_program_and_ours_agree_on_structured_maps(tree in structured(), model in 0..5usize) {
        let map = tree.flatten().unwrap();
        prop_assume!(map.len() <= 90);
        compare_trees(&aligned(&map), &*models()[model])?;
    }

    #[test]
    fn all_path_programs_agree(tree in structured()) {
        let map = tree.flatten().unwrap();
        prop_assume!(map.len() <= 2000);
        let map = TypeMap::homogeneous(BaseType::U8, aligned(&map).displacements().to_vec()).unwrap();
        let costs = NodeCosts::default();
        let ours = reconstruct(&map, Shape::Path, &costs).unwrap().cost;
        prop_assert_eq!(ours, thesis::path(map.displacements(), costs.leaf, &costs));
        prop_assert_eq!(ours, traff::path(map.displacements(), costs.leaf, &costs));
    }
}

#[test]
fn all_cases_cost_the_same_by_the_thesis_program() {
    for name in cases::NAMES {
        for n in [1, 2, 7, 48, 96] {
            for costs in &models() {
                compare_trees(&cases::map(name, n), &**costs).unwrap();
            }
        }
    }
}

/// Checks maps of up to 5,000 entries: the reconstructed tree flattens to the same map.
#[test]
fn large_maps_come_back_whole() {
    for (name, n) in
        cases::NAMES.into_iter().zip([5000, 4801, 3000, 4096, 2000, 4998, 2500, 5000, 4500, 3333, 4097])
    {
        let map = cases::map(name, n);
        let solution = reconstruct(&map, Shape::Tree, &NodeCosts::default()).unwrap();
        assert_eq!(solution.tree.flatten().as_ref(), Ok(&map), "{name}");
        assert_eq!(solution.tree.cost(&NodeCosts::default()), solution.cost, "{name}");
        let promoted = heuristics::promote(&map);
        assert_eq!(promoted.flatten().as_ref(), Ok(&map), "{name}");
        assert!(solution.cost <= promoted.cost(&NodeCosts::default()), "{name}");
    }
}
