//! The worked examples of the papers, with the costs that the papers state.

use dtype_core::{BaseType, NodeCosts, Optimality, Shape, TypeMap, TypeTree, reconstruct};

fn leaf(base: BaseType) -> TypeTree {
    TypeTree::Leaf(base)
}

fn char() -> TypeTree {
    leaf(BaseType::U8)
}

fn chars(displacements: impl IntoIterator<Item = i64>) -> TypeMap {
    TypeMap::homogeneous(BaseType::U8, displacements.into_iter().collect()).unwrap()
}

fn least(map: &TypeMap, shape: Shape, costs: &NodeCosts) -> (TypeTree, u64) {
    let solution = reconstruct(map, shape, costs).unwrap();
    assert_eq!(solution.tree.flatten().as_ref(), Ok(map));
    assert_eq!(solution.tree.cost(costs), solution.cost);
    assert_eq!(solution.optimality, Optimality::Proven);
    (solution.tree, solution.cost)
}

#[test]
fn thesis_figure_2_7_four_trees_of_one_map() {
    let costs = NodeCosts::default();
    let displacements = [0, 1, 2, 3, 10, 11, 12, 13, 14];
    let map = chars(displacements);
    let trees = [
        (TypeTree::index(displacements, char()), 17),
        (TypeTree::index_bucket(1, [4, 5], [0, 10], char()), 14),
        (TypeTree::structure(displacements, vec![char(); 9]), 50),
        (TypeTree::structure([0, 10], [TypeTree::vector(4, 1, char()), TypeTree::vector(5, 1, char())]), 25),
    ];
    for (tree, cost) in &trees {
        assert_eq!(tree.flatten().as_ref(), Ok(&map));
        assert_eq!(tree.cost(&costs), *cost);
    }
    assert_eq!(least(&map, Shape::Tree, &costs), trees[1]);
    assert_eq!(least(&map, Shape::Path, &costs), trees[0]);
}

#[test]
fn thesis_figure_2_8_unnatural_trees_cost_15_20_26_26() {
    let costs = NodeCosts::default();
    let map = TypeMap::new(vec![BaseType::U8, BaseType::I32], vec![0, 1]).unwrap();
    let pair = |at: i64| TypeTree::structure([at, at + 1], [char(), leaf(BaseType::I32)]);
    let trees = [
        (pair(0), 15),
        (TypeTree::vector(1, 77, pair(0)), 20),
        (TypeTree::index([0], TypeTree::vector(1, 5, pair(0))), 26),
        (TypeTree::index([10], TypeTree::vector(1, 5, pair(-10))), 26),
    ];
    for (tree, cost) in &trees {
        assert_eq!(tree.flatten().as_ref(), Ok(&map));
        assert_eq!(tree.cost(&costs), *cost);
    }
    assert_eq!(least(&map, Shape::Tree, &costs), trees[0]);
}

/// The thesis prices the second tree with 2·lookup for two children. By its definition 4 the price is
/// 4·lookup.
#[test]
fn thesis_figure_2_11_a_partially_regular_struct() {
    let costs = NodeCosts::default();
    let (int, float) = (BaseType::I32, BaseType::F32);
    let map = TypeMap::new(vec![int, float, float, float], vec![0, 4, 8, 12]).unwrap();
    let trivial = TypeTree::structure([0, 4, 8, 12], [leaf(int), leaf(float), leaf(float), leaf(float)]);
    let regular = TypeTree::structure([0, 4], [leaf(int), TypeTree::vector(3, 4, leaf(float))]);
    assert_eq!(trivial.flatten().as_ref(), Ok(&map));
    assert_eq!(trivial.cost(&costs), 25);
    assert_eq!(least(&map, Shape::Tree, &costs), (regular, 20));
}

#[test]
fn thesis_figure_2_12_a_strc_for_a_homogeneous_map_costs_25() {
    let costs = NodeCosts::default();
    let map = chars((0..13).map(|i| 2 * i).chain((0..7).map(|i| 100 + 3 * i)));
    let trivial = TypeTree::index(map.displacements().to_vec(), char());
    assert_eq!(trivial.cost(&costs), 28);
    let (_, extended) = least(&map, Shape::ExtendedPath, &costs);
    assert_eq!(extended, 26);
    let regular =
        TypeTree::structure([0, 100], [TypeTree::vector(13, 2, char()), TypeTree::vector(7, 3, char())]);
    assert_eq!(least(&map, Shape::Tree, &costs), (regular, 25));
}

#[test]
fn thesis_figure_2_13_path_26_tree_25_dag_22() {
    let costs = NodeCosts::default();
    let map = chars((0..8).chain((0..10).map(|i| 10 + 2 * i)));
    let path = TypeTree::index(map.displacements().to_vec(), char());
    assert_eq!(least(&map, Shape::Path, &costs), (path, 26));
    let tree =
        TypeTree::structure([0, 10], [TypeTree::vector(8, 1, char()), TypeTree::vector(10, 2, char())]);
    assert_eq!(least(&map, Shape::Tree, &costs), (tree.clone(), 25));
    let dag = reconstruct(&map, Shape::Dag, &costs).unwrap();
    assert_eq!((dag.tree, dag.cost), (tree, 22));
}

/// Träff 2014, section 2. The first layout is printed with an extra 17; its tree flattens to twelve entries.
#[test]
fn traff_section_2_both_layouts() {
    let costs = NodeCosts::default();
    let first = chars([2, 4, 6, 8, 9, 11, 13, 15, 1, 3, 5, 7]);
    let tree = TypeTree::index([2, 9, 1], TypeTree::vector(4, 2, char()));
    assert_eq!(least(&first, Shape::Path, &costs), (tree, 16));

    let second = chars([5, 6, 8, 9, 10, 12, 13, 14, 16]);
    let printed = TypeTree::index([5], TypeTree::vector(3, 4, TypeTree::index([0, 1, 3], char())));
    assert_eq!(printed.flatten().as_ref(), Ok(&second));
    assert_eq!(printed.cost(&costs), 22);
    // The shift needs no node of its own.
    let better = TypeTree::vector(3, 4, TypeTree::index([5, 6, 8], char()));
    assert_eq!(least(&second, Shape::Path, &costs), (better, 16));
}

/// Träff 2014, table 2: idx(3) vec(4) idx(3) or idx(6) idx(6), depending on the constants.
#[test]
fn traff_table_2_the_cheapest_path_depends_on_the_constants() {
    let inner = TypeTree::index([0, 1, 5], char());
    let layout = TypeTree::index([0, 1000, 1700], TypeTree::vector(4, 100, inner));
    let map = layout.flatten().unwrap();
    // The table lists partial paths, without the leaf.
    for (idx, vec, expected) in [(3, 4, 16), (10, 10, 32)] {
        let costs = NodeCosts { idx, vec, ..NodeCosts::default() };
        let (tree, cost) = least(&map, Shape::Path, &costs);
        assert_eq!(cost - costs.leaf, expected);
        if expected == 16 {
            assert_eq!(tree, layout);
        }
    }
}

#[test]
fn the_guide_shows_one_layout_with_the_costs_of_its_trees() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/guide/how-it-works.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (number, starts) = (leaf(BaseType::F64), [0, 32, 64, 96, 128]);
    let pair = TypeTree::vector(2, 8, number.clone());
    let numbers: Vec<i64> = starts.into_iter().flat_map(|start| [start, start + 8]).collect();
    let trees = [
        ("hindexed_block of 10 numbers", TypeTree::index(numbers, number)),
        ("hindexed_block of 5 vectors of 2 numbers", TypeTree::index(starts, pair.clone())),
        ("vector of 5 vectors of 2 numbers", TypeTree::vector(5, 32, pair)),
    ];
    for (words, tree) in &trees {
        assert_eq!(tree.flatten(), trees[0].1.flatten());
        let cost = format!("{words} cost {}", tree.cost(&NodeCosts::default()));
        let is_shown = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ").ends_with(&cost);
        assert!(page.lines().any(is_shown), "{cost}");
    }
}
