//! The laws that hold for every map and tree: flattening, order of costs, lowering, normal forms, invalid
//! input.

mod common;

use common::{
    Library, cost_models, interpret,
    proposed::{Blocks, Triangular, bucket},
    repeating_map, small_map, small_tree,
};
use dtype_core::{
    ArrayOrder, BaseType, Bounds, Buckets, Constructor, Datatype, Distributed, Distribution, Error, Limits,
    NodeCosts, OldType, Optimality, Packing, Penalty, Program, Shape, Step, Subdimension, TypeMap, TypeTree,
    Weighting, WrittenOut, normalize, normalize_within, reconstruct, reconstruct_within, solve_layout,
};
use proptest::prelude::*;

/// Generates costs at the limits of `u64`, and costs between them.
fn extreme_costs() -> impl Strategy<Value = NodeCosts> {
    let cost = || prop::sample::select(vec![0, 1, 5, 1 << 32, u64::MAX / 2, u64::MAX - 1, u64::MAX]);
    let weighting = prop::sample::select(vec![Weighting::Storage, Weighting::Processing]);
    (cost(), cost(), cost(), cost(), cost(), cost(), weighting).prop_map(
        |(leaf, vec, idx, strc, idxbuc, lookup, weighting)| NodeCosts {
            leaf,
            vec,
            idx,
            strc,
            idxbuc,
            lookup,
            weighting,
            ..NodeCosts::THESIS
        },
    )
}

/// Covers strides for which the choice between kinds of list may overflow `i64`.
#[test]
fn strides_at_the_limits_of_the_range_are_right() {
    for stride in [-(1i64 << 61), 1 << 61, -(1 << 62), 1 << 62] {
        for (buckets, places) in
            [([2u64, 1, 2], [0, 8, 16]), ([1, 2, 1], [0, stride, 5]), ([2, 2, 1], [3, 1, 2])]
        {
            let tree = TypeTree::index_bucket(stride, buckets, places, TypeTree::Leaf(BaseType::U8));
            if tree.measure().is_ok() {
                let map = tree.flatten().unwrap();
                let found = normalize(&tree, &NodeCosts::THESIS).unwrap();
                assert_eq!(found.tree.flatten().unwrap(), map);
                let found = reconstruct(&map, Shape::Tree, &NodeCosts::THESIS).unwrap();
                assert_eq!(found.tree.flatten().unwrap(), map);
            }
        }
    }
}

#[test]
fn a_node_is_forbidden_by_its_cost() {
    let fields = || TypeMap::new(vec![BaseType::I32, BaseType::F64, BaseType::U8], vec![0, 8, 16]).unwrap();
    let row = || TypeMap::homogeneous(BaseType::F64, (0..100).map(|i| 8 * i).collect()).unwrap();
    let solved = |map: TypeMap, costs: NodeCosts| {
        let found = reconstruct(&map, Shape::Tree, &costs).unwrap();
        assert_eq!(found.tree.flatten().unwrap(), map);
        (found.tree.kind(), found.cost, found.optimality)
    };
    let costs = NodeCosts::default();
    // These fields have no tree without a strc, so the cost saturates.
    let without = NodeCosts { strc: u64::MAX, ..costs };
    assert_eq!(solved(fields(), without), ("strc", u64::MAX, Optimality::UpperBound));
    assert_eq!(solved(row(), without), ("vec", 8, Optimality::Proven));
    assert_eq!(solved(row(), NodeCosts { vec: u64::MAX, ..costs }), ("idxbuc", 12, Optimality::Proven));
    let lists = NodeCosts { vec: u64::MAX, idxbuc: u64::MAX, ..costs };
    assert_eq!(solved(row(), lists).0, "idx");
    assert_eq!(solved(row(), NodeCosts { leaf: u64::MAX, ..costs }).1, u64::MAX);
}

/// Returns the mirror image of a map: its entries in reverse order.
fn mirrored(map: &TypeMap) -> TypeMap {
    let (types, displacements) = (map.types(), map.displacements());
    let last = displacements[displacements.len() - 1];
    let types = types.iter().rev().copied().collect::<Vec<_>>();
    TypeMap::new(types, displacements.iter().rev().map(|at| last - at).collect::<Vec<_>>()).unwrap()
}

/// A row may begin like a later row, with a beginning that is of use only for longer segments.
#[test]
fn rows_that_begin_alike_keep_what_is_of_use_only_beyond() {
    // Each place has an `i32`, and two `f64` 16 and 24 bytes after it. The triples interleave.
    let places = [
        -504, -480, -472, -464, -448, -424, -400, -376, -368, -384, -360, -352, -344, -328, -304, -280, -256,
        -248, -264, -240, -232, -224, -208, -184, -160, -136, -128,
    ];
    let triple = |at: &i64| [(BaseType::I32, *at), (BaseType::F64, at + 16), (BaseType::F64, at + 24)];
    let ends = [(BaseType::I32, -144), (BaseType::I32, -16)];
    let first = std::iter::once((BaseType::F64, 0));
    let (types, displacements) =
        first.chain(places.iter().flat_map(triple)).chain(ends).unzip::<_, _, Vec<_>, Vec<_>>();
    let map = TypeMap::new(types, displacements).unwrap();
    let solution = reconstruct_within(&map, Shape::Tree, &Penalty::default(), &Limits::NONE).unwrap();
    assert_eq!((solution.cost, solution.optimality), (154, Optimality::Proven));
}

proptest! {
    #[test]
    fn a_map_costs_what_its_mirror_image_costs(map in repeating_map(), model in 0..6usize) {
        let costs = &*cost_models()[model];
        let solve = |map: &TypeMap| reconstruct_within(map, Shape::Tree, costs, &Limits::NONE).unwrap();
        let (solution, mirror) = (solve(&map), solve(&mirrored(&map)));
        prop_assert_eq!(&solution.tree.flatten().unwrap(), &map);
        prop_assert_eq!(solution.cost, mirror.cost, "{}\nand\n{}", solution.tree, mirror.tree);
    }

    #[test]
    fn flattening_the_reconstruction_gives_the_map(map in small_map(120), model in 0..6usize) {
        let costs = &*cost_models()[model];
        let solution = reconstruct(&map, Shape::Tree, costs).unwrap();
        prop_assert_eq!(solution.tree.flatten().unwrap(), map);
        prop_assert_eq!(solution.tree.cost(costs), solution.cost);
    }

    #[test]
    fn trees_cost_no_more_than_extended_paths_and_those_no_more_than_paths(
        map in small_map(60),
        model in 0..6usize,
    ) {
        let costs = &*cost_models()[model];
        let map = TypeMap::homogeneous(BaseType::U8, map.displacements().to_vec()).unwrap();
        let cost = |shape| reconstruct(&map, shape, costs).unwrap().cost;
        prop_assert!(cost(Shape::Tree) <= cost(Shape::ExtendedPath));
        prop_assert!(cost(Shape::ExtendedPath) <= cost(Shape::Path));
    }

    #[test]
    fn a_dag_has_the_map_and_costs_no_more_than_the_folded_tree(map in small_map(40)) {
        let costs = NodeCosts::default();
        let tree = reconstruct(&map, Shape::Tree, &costs).unwrap();
        let dag = reconstruct(&map, Shape::Dag, &costs).unwrap();
        prop_assert_eq!(dag.tree.flatten().unwrap(), map);
        prop_assert_eq!(dag.tree.folded_cost(&costs), dag.cost);
        prop_assert!(dag.cost <= tree.tree.folded_cost(&costs));
        prop_assert!(tree.tree.folded_cost(&costs) <= tree.cost);
    }

    #[test]
    fn a_limited_search_gives_a_tree_of_the_map_and_says_so(
        map in small_map(60), model in 0..6usize, exact_entries in 0u64..60, kept in 0u64..40,
    ) {
        let costs = &*cost_models()[model];
        let limits = Limits { exact_entries, kept };
        let limited = reconstruct_within(&map, Shape::Tree, costs, &limits).unwrap();
        let exact = reconstruct_within(&map, Shape::Tree, costs, &Limits::NONE).unwrap();
        prop_assert_eq!(exact.optimality, Optimality::Proven);
        prop_assert_eq!(limited.tree.flatten().unwrap(), map);
        prop_assert_eq!(limited.tree.cost(costs), limited.cost);
        prop_assert!(limited.cost >= exact.cost);
        prop_assert!(limited.cost == exact.cost || limited.optimality == Optimality::UpperBound);
    }

    #[test]
    fn any_costs_give_a_tree_of_the_map(
        map in small_map(40),
        tree in small_tree(),
        costs in extreme_costs(),
    ) {
        let all_cost = |tree: &TypeTree, cost: u64| tree.cost(&costs) == cost;
        for shape in [Shape::Tree, Shape::Dag] {
            let found = reconstruct(&map, shape, &costs).unwrap();
            prop_assert_eq!(found.tree.flatten().unwrap(), map.clone());
            prop_assert!(shape == Shape::Dag || all_cost(&found.tree, found.cost));
        }
        let one_type = TypeMap::homogeneous(BaseType::U8, map.displacements().to_vec()).unwrap();
        for shape in [Shape::Path, Shape::ExtendedPath] {
            let found = reconstruct(&one_type, shape, &costs).unwrap();
            prop_assert_eq!(found.tree.flatten().unwrap(), one_type.clone());
            prop_assert!(all_cost(&found.tree, found.cost));
        }
        let expected = tree.flatten();
        for found in [normalize(&tree, &costs).unwrap(), solve_layout(&tree, &costs.linear()).unwrap()] {
            prop_assert!(all_cost(&found.tree, found.cost));
            // There is only one tree without entries, so it may cost more than the given tree.
            prop_assert!(found.cost <= tree.cost(&costs) || tree.measure().unwrap().entries == 0);
            if let Ok(expected) = &expected {
                prop_assert_eq!(&found.tree.flatten().unwrap(), expected);
            }
        }
    }

    #[test]
    fn normalizing_keeps_the_map_and_equals_reconstruction(tree in small_tree(), model in 0..6usize) {
        let costs = &*cost_models()[model];
        let solution = normalize(&tree, costs).unwrap();
        prop_assert_eq!(solution.tree.flatten(), tree.flatten());
        prop_assert_eq!(solution.tree.cost(costs), solution.cost);
        prop_assert!(solution.cost <= tree.cost(costs));
        if let Ok(map) = tree.flatten() {
            let exact = reconstruct(&map, Shape::Tree, costs).unwrap();
            prop_assert!(exact.cost <= solution.cost);
            if solution.optimality == Optimality::Proven {
                prop_assert_eq!(exact.cost, solution.cost);
            }
        }
    }

    /// Covers trees beyond the exact limit: copies of a random tree, far apart or overlapping.
    #[test]
    fn normalizing_a_large_tree_keeps_its_map(
        tree in small_tree(),
        count in 100u64..400,
        stride in -40i64..4000,
    ) {
        let tree = TypeTree::vector(count, stride, tree);
        let normalized = |tree| normalize_within(tree, &NodeCosts::default(), &Limits::EXPANSION).unwrap();
        let solution = normalized(&tree);
        prop_assert_eq!(solution.tree.flatten(), tree.flatten());
        prop_assert!(solution.cost <= tree.cost(&NodeCosts::default()));
        prop_assert_eq!(normalized(&solution.tree), solution);
    }

    /// Covers trees beyond the exact limit: paths, whose normal form is found level by level.
    #[test]
    fn normalizing_a_path_equals_reconstructing_its_map(
        nodes in proptest::collection::vec(
            prop_oneof![
                (1u64..9, (-3i64..40).prop_map(|s| s * 4)).prop_map(|(count, stride)| (count, vec![stride])),
                proptest::collection::vec((-2i64..30).prop_map(|s| s * 4), 1..5).prop_map(|list| (0, list)),
            ],
            1..6,
        ),
        model in 0..4usize,
    ) {
        let costs = &*cost_models()[model];
        let tree = nodes.into_iter().fold(TypeTree::Leaf(BaseType::F32), |tree, (count, list)| match count {
            0 => TypeTree::index(list, tree),
            _ => TypeTree::vector(count, list[0], tree),
        });
        let map = tree.flatten().unwrap();
        prop_assume!(map.len() <= 3000);
        let normalized = |tree| normalize_within(tree, costs, &Limits::EXPANSION).unwrap();
        let solution = normalized(&tree);
        prop_assert_eq!(&solution.tree.flatten().unwrap(), &map);
        prop_assert_eq!(solution.tree.cost(costs), solution.cost);
        let path = reconstruct(&map, Shape::Path, costs).unwrap();
        prop_assert!(solution.cost <= path.cost, "{} against {}", solution.tree, path.tree);
        // A normal form is a fixed point.
        prop_assert_eq!(normalized(&solution.tree), solution);
    }

    #[test]
    fn a_lowered_program_has_the_map_of_its_tree(
        tree in small_tree(),
        bounds in prop_oneof![
            Just(None),
            (-3i64..3, 1i64..5000)
                .prop_map(|(lower_bound, extent)| Some(Bounds { lower_bound, extent })),
        ],
        natural in any::<bool>(),
        copies in 1u64..4,
        limit in proptest::option::of(prop_oneof![2u64..6, Just(20)]),
        fragment in proptest::option::of(0u64..2000),
        buckets in prop_oneof![Just(Buckets::Usual), Just(Buckets::Slow), Just(Buckets::Misread)],
        avoids_lists in any::<bool>(),
        reads_from in proptest::option::of(0u64..2000),
        contiguous_from in proptest::option::of(0u64..200),
        written_out in prop_oneof![
            Just(WrittenOut::Nothing),
            Just(WrittenOut::Gaps),
            Just(WrittenOut::Padded),
            Just(WrittenOut::All),
        ],
    ) {
        // Adjacent copies reveal the extent that a library gives to one copy.
        let tree = TypeTree::vector(copies, tree.measure().unwrap().true_extent(), tree);
        // Also test the bounds that the tree has without a resize.
        let measure = tree.measure().unwrap();
        let own = Bounds { lower_bound: measure.lower_bound, extent: measure.true_extent() };
        let bounds = bounds.map(|bounds| if natural { own } else { bounds });
        let packing = Packing {
            fragment,
            buckets,
            reads_from,
            written_out,
            avoids_lists,
            contiguous_from,
        };
        let program = Program::lower_for(&tree, bounds, limit.unwrap_or(u64::MAX), packing).unwrap();
        prop_assert!(program.largest_count() <= limit.unwrap_or(u64::MAX));
        prop_assert!(most_joined(&program) <= limit.unwrap_or(u64::MAX));
        prop_assert_eq!(format!("{program:#}").parse::<Program>(), Ok(program.clone()));
        let is_misread = |step: &Step| match step {
            Step::Hindexed { blocklengths, oldtype: OldType::Step(index), .. } => {
                blocklengths.iter().any(|length| *length > 1)
                    && matches!(program.steps[*index], Step::Resized { .. })
            }
            _ => false,
        };
        prop_assert!(buckets != Buckets::Misread || !program.steps.iter().any(is_misread), "{}", program);
        let expected: Vec<_> = tree.flatten().map(|map| map.entries().collect()).unwrap_or_default();
        for library in Library::ALL {
            let (map, lower_bound, found) = interpret(&program, library);
            prop_assert_eq!(&map, &expected);
            if let Some(bounds) = bounds {
                prop_assert_eq!((lower_bound, found), (bounds.lower_bound, bounds.extent));
            }
        }
        // The program must also convert back to the datatype.
        let made = program.datatype().unwrap();
        let listed: Vec<_> = made.tree.flatten().map(|map| map.entries().collect()).unwrap_or_default();
        prop_assert_eq!(&listed, &expected);
        if let Some(bounds) = bounds {
            prop_assert_eq!(made.bounds, bounds, "{}", program);
        }
        let repeated = (1..program.calls()).any(|i| program.steps[..i].contains(&program.steps[i]));
        prop_assert!(!repeated, "equal calls are made once: {}", program);
    }

    #[test]
    fn the_measure_of_a_tree_is_that_of_its_map(tree in small_tree()) {
        let measure = tree.measure().unwrap();
        if let Ok(map) = tree.flatten() {
            let ends = || map.entries().map(|(base, at)| at + base.size() as i64);
            prop_assert_eq!(measure.entries, map.len() as u64);
            prop_assert_eq!(measure.size, map.types().iter().map(|base| base.size()).sum::<u64>());
            prop_assert_eq!(Some(measure.lower_bound), map.displacements().iter().min().copied());
            prop_assert_eq!(Some(measure.upper_bound), ends().max());
            prop_assert_eq!(measure.true_extent(), measure.upper_bound - measure.lower_bound);
            prop_assert!(measure.extent() >= measure.true_extent());
            prop_assert_eq!(measure.extent() % measure.alignment as i64, 0);
        } else {
            prop_assert_eq!(measure.entries, 0);
        }
    }
}

proptest! {
    /// A gapless tree has the base types of the original in the same order, without gaps and with pair types
    /// split into their numbers.
    #[test]
    fn a_gapless_tree_has_the_same_signature_one_behind_the_other(tree in small_tree()) {
        let numbers = |tree: &TypeTree| {
            let parts = |base: &BaseType| match base.pair() {
                Some(numbers) => numbers.map(|(_, number)| number).to_vec(),
                None => vec![*base],
            };
            tree.flatten().unwrap().types().iter().flat_map(parts).collect::<Vec<_>>()
        };
        let gapless = tree.gapless().unwrap();
        prop_assert_eq!(gapless.measure().unwrap().size, tree.measure().unwrap().size);
        prop_assume!(tree.measure().unwrap().entries > 0);
        prop_assert_eq!(numbers(&gapless), numbers(&tree));
        let map = gapless.flatten().unwrap();
        let mut end = 0;
        for (base, at) in map.types().iter().zip(map.displacements()) {
            prop_assert_eq!((*at, base.span()), (end, base.size()));
            end += base.size() as i64;
        }
    }

    /// The law of [`NodeCosts::time`]: the cost of the data is the cost counted entry by entry.
    #[test]
    fn all_trees_of_a_map_have_the_same_data(tree in small_tree()) {
        let map = tree.flatten();
        let entries: Vec<(BaseType, i64)> =
            map.map_or_else(|_| Vec::new(), |map| map.entries().collect());
        let pairs = || entries.windows(2).map(|pair| (pair[0], pair[1]));
        let is_apart = |(one, next): &((BaseType, i64), (BaseType, i64))| {
            one.1 + one.0.size() as i64 != next.1
        };
        let once = u64::from(!entries.is_empty());
        let blocks = once + pairs().filter(is_apart).count() as u64;
        let changes = pairs().filter(|(one, next)| one.0 != next.0).count() as u64;
        let bytes: u64 = entries.iter().map(|(base, _)| base.size()).sum();
        let costs = NodeCosts { block: 1_000_000, change: 1000, byte: 1, ..NodeCosts::THESIS };
        let data = 1_000_000 * blocks + 1000 * changes + bytes;
        prop_assert_eq!(costs.time(&tree) - tree.cost(&costs), data, "{}", tree);
        let normal = normalize(&tree, &costs).unwrap();
        prop_assert_eq!(costs.time(&normal.tree) - normal.cost, data, "{}", normal.tree);
    }

    #[test]
    fn the_proposed_constructors_select_what_plain_loops_do(
        (blocklength, total, bound, first) in (1u64..6, 0u64..60, 1u64..30, 0u64..30),
        (stride, extent, increment) in (-50i64..50, -8i64..8, -3i64..4),
    ) {
        let first = first % bound;
        let listed = |tree: TypeTree| {
            tree.flatten().map(|map| map.displacements().to_vec()).unwrap_or_default()
        };
        let child = TypeTree::Leaf(BaseType::U8);
        let blocks = Blocks { blocklength, stride, extent, child: child.clone() };
        let at = |copy: u64| (copy / blocklength) as i64 * stride + (copy % blocklength) as i64 * extent;
        let expected: Vec<i64> = (0..total).map(at).collect();
        prop_assert_eq!(listed(blocks.bounded_vector(total).unwrap()), expected);
        let expected: Vec<i64> = (0..total).map(|i| at((first + i) % bound)).collect();
        prop_assert_eq!(listed(blocks.circular_vector(total, first, bound).unwrap()), expected);

        let lengths: Vec<u64> = (0..bound).map(|i| i * 7 % 5).collect();
        let rows = |length: &dyn Fn(i64) -> i64, step: i64| -> Vec<i64> {
            (0..bound as i64).flat_map(|i| (0..length(i)).map(move |k| i * step + k * extent)).collect()
        };
        let expected = rows(&|i| lengths[i as usize] as i64, stride);
        prop_assert_eq!(listed(bucket(stride, &lengths, extent, child.clone()).unwrap()), expected);

        let triangular = Triangular {
            count: bound, blocklength: total, blockincrement: increment, stride, strideincrement: 3, extent,
        };
        let shortest = total as i64 + (bound as i64 - 1) * increment;
        match triangular.of(child) {
            Ok(tree) => {
                prop_assert_eq!(listed(tree), rows(&|i| total as i64 + i * increment, stride + 3));
            }
            Err(error) => {
                prop_assert!(shortest < 0);
                prop_assert!(error.to_string().contains("`blockincrement`"), "{}", error);
            }
        }
    }
}

#[test]
fn the_proposed_constructors_are_those_of_the_thesis() {
    let listed = |tree: Result<TypeTree, Error>| tree.unwrap().flatten().unwrap().displacements().to_vec();
    let blocks = Blocks { blocklength: 3, stride: 100, extent: 8, child: TypeTree::Leaf(BaseType::F64) };
    assert_eq!(listed(blocks.bounded_vector(7)), [0, 8, 16, 100, 108, 116, 200]);
    let blocks = Blocks { blocklength: 2, stride: 10, extent: 1, child: TypeTree::Leaf(BaseType::U8) };
    assert_eq!(listed(blocks.circular_vector(6, 3, 5)), [11, 20, 0, 1, 10, 11]);
    // The upper triangle of a 3 × 3 matrix of `f64`: each row begins one element further right.
    let upper = Triangular {
        count: 3,
        blocklength: 3,
        blockincrement: -1,
        stride: 24,
        strideincrement: 8,
        extent: 8,
    };
    assert_eq!(listed(upper.of(TypeTree::Leaf(BaseType::F64))), [0, 8, 16, 32, 40, 64]);
}

#[test]
fn huge_trees_are_normalized_without_listing_them() {
    let costs = &NodeCosts::default();
    let leaf = TypeTree::Leaf(BaseType::F64);
    let solved = |tree: &TypeTree| {
        let solution = normalize(tree, costs).unwrap();
        (solution.tree, solution.cost, solution.optimality)
    };
    let nested = (0..20).fold(leaf.clone(), |tree, i| TypeTree::vector(2, 8 << i, tree));
    let run = |count| TypeTree::vector(count, 8, leaf.clone());
    assert_eq!(solved(&nested), (run(1 << 20), 8, Optimality::Proven));

    let regular = TypeTree::index((0..1_000_000).map(|i| 64 + 16 * i).collect::<Vec<_>>(), leaf.clone());
    let (tree, cost, optimality) = solved(&regular);
    assert_eq!((cost, optimality), (12, Optimality::Proven), "an idxbuc with one bucket");
    assert_eq!(tree.runs().unwrap().to_string(), "1000000 × f64 @ 64 stride 16");

    let block = TypeTree::vector(1000, 8000, run(500));
    assert_eq!(solved(&block), (block.clone(), 13, Optimality::Proven));

    let thin =
        TypeTree::vector(2, 1 << 40, TypeTree::vector(2, 1 << 30, TypeTree::vector(1000, 64, leaf.clone())));
    let corners = [0, 1 << 30, 1 << 40, (1 << 40) + (1 << 30)];
    let expected = TypeTree::index(corners, TypeTree::vector(1000, 64, leaf.clone()));
    assert_eq!(solved(&thin).0, expected);

    let halves = TypeTree::structure([0, 8 * 200], [run(200), run(300)]);
    assert_eq!(solved(&halves), (run(500), 8, Optimality::Proven));
}

/// Covers `a¹⁰⁰ x a²⁵⁰ x a²⁵⁰ x a¹⁵⁰` at a regular stride, which repeats `a¹⁰⁰ x a¹⁵⁰` three times, across
/// the runs.
#[test]
fn long_runs_are_cut_where_others_of_their_kind_end() {
    let (a, x) = (TypeTree::Leaf(BaseType::F64), TypeTree::Leaf(BaseType::I32));
    let run = |count| TypeTree::vector(count, 8, a.clone());
    let unit = TypeTree::structure([0, 800, 808], [run(100), x.clone(), run(150)]);
    let repeated = TypeTree::vector(3, 808 + 1200, unit);
    let at = [0, 800, 808, 2808, 2816, 4816, 4824];
    let written = TypeTree::structure(at, [run(100), x.clone(), run(250), x.clone(), run(250), x, run(150)]);
    assert_eq!(written.flatten(), repeated.flatten());
    let limits = [Limits::EXPANSION, Limits { exact_entries: 1000, ..Limits::NONE }];
    for limits in limits {
        let solution = normalize_within(&written, &NodeCosts::default(), &limits).unwrap();
        assert_eq!(solution.tree, repeated);
    }
}

#[test]
fn bad_maps_and_trees_give_errors_that_name_the_place() {
    let text = |error: Error| error.to_string();
    assert_eq!(TypeMap::new(vec![], vec![]), Err(Error::EmptyMap));
    let differ = TypeMap::new(vec![BaseType::F64], vec![0, 8]).unwrap_err();
    assert!(text(differ).contains("1 types and 2 displacements"));
    let far = TypeMap::homogeneous(BaseType::F64, vec![i64::MIN, 0]).unwrap_err();
    assert_eq!(far, Error::Overflow { node: "map" });

    let mixed = TypeMap::new(vec![BaseType::F64, BaseType::U8], vec![0, 8]).unwrap();
    let path = reconstruct(&mixed, Shape::Path, &NodeCosts::default()).unwrap_err();
    assert_eq!(path, Error::Heterogeneous { entry: 1 });

    let leaf = TypeTree::Leaf(BaseType::F64);
    let costs = &NodeCosts::default();
    let huge = TypeTree::vector(u64::MAX, 8, leaf.clone());
    assert_eq!(normalize(&huge, costs), Err(Error::Overflow { node: "vec" }));
    let uneven = TypeTree::structure([0], [leaf.clone(), leaf.clone()]);
    let error = uneven.measure().unwrap_err();
    assert!(text(error).contains("strc has 1 displacements but 2 children"));
    let long = TypeTree::vector(1 << 40, 8, leaf.clone());
    let limit = TypeTree::FLATTEN_LIMIT;
    assert_eq!(long.flatten(), Err(Error::TooLong { entries: 1 << 40, limit }));
}

/// Found by fuzzing: a run written as another tree must not be walked copy by copy.
#[test]
fn a_huge_run_written_in_a_roundabout_way_is_seen_at_once() {
    let leaf = TypeTree::Leaf(BaseType::U8);
    let roundabout = TypeTree::vector(1 << 40, 32, TypeTree::vector(1, -400, leaf.clone()));
    let solution = normalize(&roundabout, &NodeCosts::default()).unwrap();
    assert_eq!(solution.tree, TypeTree::vector(1 << 40, 32, leaf));
    assert_eq!(solution.optimality, Optimality::Proven);
}

/// Found by fuzzing: `measure` must not accept a tree whose map cannot be listed.
#[test]
fn positions_at_the_very_end_of_the_range_are_refused_by_trees_and_maps_alike() {
    let tree = TypeTree::index([i64::MAX - 12], TypeTree::Leaf(BaseType::U8));
    assert_eq!(tree.measure(), Err(Error::Overflow { node: "idx" }));
    assert!(TypeMap::homogeneous(BaseType::U8, vec![i64::MAX - 12]).is_err());
}

#[test]
fn copies_of_nothing_end_at_once() {
    let nothing = TypeTree::vector(1 << 60, 8, TypeTree::structure([], []));
    let tree = TypeTree::structure([0, 8], [nothing.clone(), TypeTree::Leaf(BaseType::U8)]);
    assert_eq!(tree.flatten().unwrap().displacements(), [8]);
    assert_eq!(nothing.flatten(), Err(Error::EmptyMap));
    assert_eq!(normalize(&nothing, &NodeCosts::default()).unwrap().tree, TypeTree::structure([], []));
    assert!(Program::lower(&nothing, Some(Bounds::of_extent(0))).is_ok());
}

#[test]
fn lowering_folds_blocks_into_their_parents() {
    let leaf = TypeTree::Leaf(BaseType::F64);
    let steps = |tree: &TypeTree, extent: Option<i64>| {
        Program::lower(tree, extent.map(Bounds::of_extent)).unwrap().steps
    };
    let row = TypeTree::vector(4, 8, leaf.clone());
    let f64 = dtype_core::OldType::Base(BaseType::F64);
    assert_eq!(steps(&row, None), [Step::Contiguous { count: 4, oldtype: f64 }]);
    assert_eq!(steps(&row, Some(32)).len(), 1, "the natural extent needs no resize");
    let block = TypeTree::vector(10, 800, row.clone());
    let hvector = Step::Hvector { count: 10, blocklength: 4, stride: 800, oldtype: f64 };
    assert_eq!(steps(&block, None), [hvector]);
    let deep = (0..100).fold(leaf, |tree, _| TypeTree::vector(1, 100, tree));
    assert_eq!(steps(&deep, None).len(), 100, "deep trees are lowered in linear time");
}

/// Found by random structs sent between ranks: the outer struct ends at a multiple of its alignment, but a
/// packed struct inside it does not. So if a library rounds the inner extent, the outer extent grows as well.
#[test]
fn an_extent_within_that_libraries_may_round_is_not_relied_on() {
    let (f64, u32) = (TypeTree::Leaf(BaseType::F64), TypeTree::Leaf(BaseType::I32));
    let packed = TypeTree::vector(2, 36, TypeTree::structure([0, 4], [u32.clone(), f64.clone()]));
    let tree = TypeTree::structure([0, 72], [f64, TypeTree::structure([0, 8], [u32, packed])]);
    let extent = tree.measure().unwrap().upper_bound;
    assert_eq!(extent % 8, 0, "as if there was nothing to round");
    let program = Program::lower(&tree, Some(Bounds::of_extent(extent))).unwrap();
    for library in Library::ALL {
        let (map, lower_bound, found) = interpret(&program, library);
        assert_eq!((lower_bound, found), (0, extent), "{program}");
        assert_eq!(map.len(), 6);
    }
}

/// MPI 4.1 section 5.1.7: a resized part marks the bounds of everything built from it. Open MPI follows this
/// rule, MPICH does not. Without a resize, the extent of these structs is 148 with Open MPI and 208 with
/// MPICH, and arrays of them are wrong.
#[test]
fn an_extent_that_a_part_which_was_resized_may_mark_is_not_relied_on() {
    let buckets = TypeTree::index_bucket(16, [2, 3], [0, 100], TypeTree::Leaf(BaseType::F64));
    let tree = TypeTree::structure([0, 200], [buckets, TypeTree::Leaf(BaseType::I64)]);
    let copies = TypeTree::vector(4, 208, tree.clone());
    for (tree, extent) in [(tree, 208), (copies, 832)] {
        let program = Program::lower(&tree, Some(Bounds::of_extent(extent))).unwrap();
        let expected: Vec<_> = tree.flatten().unwrap().entries().collect();
        for library in Library::ALL {
            assert_eq!(interpret(&program, library), (expected.clone(), 0, extent), "{program}");
        }
    }
}

/// Found by random structs: Open MPI rounds the upper bound after each part of a struct. A part at a higher
/// displacement than a later part may leave the bound too high.
#[test]
fn an_extent_that_depends_on_the_order_of_parts_is_not_relied_on() {
    let (long, int, short) =
        (TypeTree::Leaf(BaseType::I64), TypeTree::Leaf(BaseType::U32), TypeTree::Leaf(BaseType::U16));
    let tree = TypeTree::structure([20, 4, 12, 0], [int.clone(), long.clone(), long, short]);
    let program = Program::lower(&tree, Some(Bounds::of_extent(24))).unwrap();
    assert!(matches!(program.steps.last(), Some(Step::Resized { extent: 24, .. })), "{program}");
    // If the parts are in the order of memory, no bound needs rounding before the last part.
    let sorted = TypeTree::structure([0, 8], [int, TypeTree::Leaf(BaseType::F64)]);
    assert_eq!(Program::lower(&sorted, Some(Bounds::of_extent(16))).unwrap().calls(), 1);
}

/// Found by fuzzing: five long runs, each written copy by copy, must be recognized as few runs at once, not
/// only after they have been normalized.
#[test]
fn runs_written_copy_by_copy_have_their_normal_form_at_once() {
    let roundabout = TypeTree::structure([-400], [TypeTree::Leaf(BaseType::U8)]);
    let tree = TypeTree::vector(5, -376, TypeTree::vector(1000, 396, roundabout));
    let costs = &NodeCosts::default();
    let solution = normalize(&tree, costs).unwrap();
    assert_eq!(solution.tree.flatten(), tree.flatten());
    assert_eq!(normalize(&solution.tree, costs).unwrap().cost, solution.cost);
}

/// Found by fuzzing: if a list carries the shift, an idxbuc may be cheaper than the path of the same regular
/// levels.
#[test]
fn a_shifted_path_of_regular_levels_has_its_normal_form_at_once() {
    let one = TypeTree::vector(1, i64::MIN, TypeTree::Leaf(BaseType::U8));
    let tree = TypeTree::index([48, 48], TypeTree::vector(1 << 40, -376, one));
    let costs = &NodeCosts::default();
    let solution = normalize(&tree, costs).unwrap();
    assert_eq!(solution.cost, 14);
    assert_eq!(normalize(&solution.tree, costs).unwrap().cost, 14);
}

/// Found by random layouts sent between ranks: Open MPI 4.1.4 packs an hvector of stride −1 as if its stride
/// were positive.
#[test]
fn no_program_has_an_hvector_of_stride_minus_one() {
    for count in 2..12 {
        let tree = TypeTree::vector(count, -1, TypeTree::Leaf(BaseType::U8));
        let program = Program::lower(&tree, None).unwrap();
        let backwards = |step: &Step| matches!(step, Step::Hvector { stride: -1, .. });
        assert!(!program.steps.iter().any(backwards), "{program}");
        let expected: Vec<_> = (0..count as i64).map(|i| (BaseType::U8, -i)).collect();
        assert_eq!(interpret(&program, Library::ALL[0]).0, expected, "{program}");
    }
    let buckets = TypeTree::index_bucket(-1, [3, 5], [10, 20], TypeTree::Leaf(BaseType::U8));
    assert!(!Program::lower(&buckets, None).unwrap().to_string().contains(", -1, MPI"));
}

/// Returns the largest number of copies that Open MPI joins to one block. It joins the copies of an hvector
/// without gaps and, up to 4.1, equal neighbours in a struct. It counts them in an int, without a check for
/// overflow.
fn most_joined(program: &Program) -> u64 {
    let extents: Vec<i64> = (0..program.steps.len())
        .map(|step| Program { steps: program.steps[..=step].to_vec(), result: OldType::Step(step) })
        .map(|program| interpret(&program, Library::ALL[0]).2)
        .collect();
    let extent = |old: &OldType| match old {
        OldType::Base(base) => base.size() as i64,
        OldType::Step(step) => extents[*step],
    };
    let joined = |step: &Step| match step {
        Step::Hvector { count, blocklength, stride, oldtype }
            if *stride == *blocklength as i64 * extent(oldtype) =>
        {
            count * blocklength
        }
        Step::Struct { blocklengths, displacements, oldtypes } => {
            let (mut most, mut copies) = (0, 0);
            for (i, length) in blocklengths.iter().enumerate() {
                let is_next = i > 0
                    && oldtypes[i - 1] == oldtypes[i]
                    && displacements[i - 1] + blocklengths[i - 1] as i64 * extent(&oldtypes[i])
                        == displacements[i];
                copies = if is_next { copies + length } else { *length };
                most = copies.max(most);
            }
            most
        }
        _ => 0,
    };
    program.steps.iter().map(joined).max().unwrap_or(0)
}

/// Found with datatypes of 4 GiB: Open MPI 4.1.4 and 5.0.11 build wrong datatypes from such hvectors and
/// structs.
#[test]
fn no_library_joins_more_copies_than_the_limit() {
    let u8 = TypeTree::Leaf(BaseType::U8);
    let runs = [3, 3, 4].map(|count| TypeTree::vector(count, 1, u8.clone()));
    let [a, b, c] = runs;
    let trees = [
        TypeTree::vector(8, 1, u8.clone()),
        TypeTree::vector(9, 1, u8.clone()),
        TypeTree::vector(70, 1, u8.clone()),
        TypeTree::structure([0, 3, 6, 16], [a, b, c, TypeTree::Leaf(BaseType::F64)]),
    ];
    for tree in trees {
        let expected: Vec<_> = tree.flatten().unwrap().entries().collect();
        let program = Program::lower_within(&tree, None, 4).unwrap();
        assert!(program.largest_count() <= 4 && most_joined(&program) <= 4, "{program}");
        for library in Library::ALL {
            assert_eq!(interpret(&program, library).0, expected, "{program}");
        }
    }
}

/// Covers each form that a library may want, at the lengths where it pays. Lists are drawn, so that no form
/// is the same by chance.
#[test]
fn calls_that_suit_a_library_have_the_map_of_the_tree() {
    let f64 = || TypeTree::Leaf(BaseType::F64);
    let mut state = 7u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut places = |count: usize| -> Vec<i64> {
        let mut at = -4000;
        let next = |_| {
            at += 8 * (2 + draw(9) as i64);
            at
        };
        (0..count).map(next).collect()
    };
    let list = TypeTree::index(places(3000), f64());
    let wide: Vec<i64> = places(1500).iter().map(|at| at * 8).collect();
    let lengths: Vec<u64> = (0..1500).map(|i| 1 + i * i % 7).collect();
    let cases = [
        ("hvector", TypeTree::vector(4096, 80, f64())),
        ("inner hvector", TypeTree::vector(40, 90_000, TypeTree::vector(1000, 80, f64()))),
        ("hvector of blocks", TypeTree::vector(900, 80, TypeTree::vector(3, 8, f64()))),
        ("backwards", TypeTree::vector(4096, -80, f64())),
        ("list", list),
        ("rows", TypeTree::index_bucket(8, lengths.clone(), wide.clone(), f64())),
        ("buckets", TypeTree::index_bucket(24, lengths, wide.clone(), f64())),
        ("long buckets", TypeTree::index_bucket(24, vec![19; 1500], wide.clone(), f64())),
        ("short", TypeTree::vector(100, 80, f64())),
        ("few blocks", TypeTree::vector(100, 8000, TypeTree::vector(300, 8, f64()))),
        ("few long blocks", TypeTree::vector(100, 80_000, TypeTree::vector(600, 8, f64()))),
    ];
    for (name, tree) in cases {
        let expected: Vec<_> = tree.flatten().unwrap().entries().collect();
        let measure = tree.measure().unwrap();
        let bounds = Bounds { lower_bound: measure.lower_bound, extent: measure.true_extent() };
        let plain = Program::lower(&tree, Some(bounds)).unwrap();
        let both = Packing { buckets: Buckets::Misread, ..Packing::MPICH };
        for packing in [Packing::MPICH, Packing::MPICH_4_3, Packing::INTEL_MPI, both] {
            let program = Program::lower_for(&tree, Some(bounds), i32::MAX as u64, packing).unwrap();
            for library in Library::ALL {
                let (map, lower_bound, extent) = interpret(&program, library);
                assert!(map == expected, "{name}, {packing:?}");
                assert_eq!((lower_bound, extent), (bounds.lower_bound, bounds.extent), "{name}");
            }
            let differs = match name {
                "short" | "backwards" => false,
                "few long blocks" => packing.contiguous_from.is_some(),
                "few blocks" => packing.reads_from.is_some() || packing.contiguous_from.is_some(),
                "buckets" | "long buckets" => true,
                _ => packing.fragment.is_some(),
            };
            assert_eq!(program != plain, differs, "{name}, {packing:?}: {program}");
        }
    }
}

/// Each displacement of a struct that is written out fits, though its parts are far apart. Files of MPICH 4
/// have no hindexed of copies of a resized datatype, also where the copies adjoin.
#[test]
fn structs_that_cannot_be_written_out_stay() {
    let far = TypeTree::index([-(1 << 62)], TypeTree::Leaf(BaseType::F64));
    let pair = TypeTree::structure([0, 3 << 61], [TypeTree::Leaf(BaseType::U8), far]);
    let tree = TypeTree::index([(1 << 61) + (1 << 60), 0], pair);
    let record = TypeTree::structure([0, 8], [BaseType::F64, BaseType::U8].map(TypeTree::Leaf));
    let places: Vec<i64> = (0..200).map(|i| 9 * i + 100 * (i / 70)).collect();
    let files = Packing { buckets: Buckets::Misread, ..Packing::MPICH };
    for (tree, packing) in [(tree, Packing::OPEN_MPI), (TypeTree::index(places, record), files)] {
        let program = Program::lower_for(&tree, None, i32::MAX as u64, packing).unwrap();
        let expected: Vec<_> = tree.flatten().unwrap().entries().collect();
        let found = program.datatype().unwrap().tree;
        assert_eq!(found.flatten().unwrap().entries().collect::<Vec<_>>(), expected, "{program}");
        assert!(!program.to_string().contains("MPI_Type_create_hindexed("), "{program}");
    }
}

/// A part beside members that are too far apart is lowered once, too.
#[test]
fn structs_that_cannot_be_written_out_are_lowered_once() {
    let f64 = TypeTree::Leaf(BaseType::F64);
    let far = TypeTree::structure([0, 3 << 61], [f64.clone(), TypeTree::index([-(1 << 62)], f64.clone())]);
    let mut tree = f64.clone();
    for _ in 0..40 {
        let many = [vec![f64.clone(); 128], vec![tree]].concat();
        let many = TypeTree::structure((0..129).map(|i| 16 * i).collect::<Vec<i64>>(), many);
        tree = TypeTree::structure([0, (1 << 61) + (1 << 60)], [many, far.clone()]);
    }
    let program = Program::lower_for(&tree, None, i32::MAX as u64, Packing::OPEN_MPI).unwrap();
    assert!(program.calls() < 1000, "{} calls", program.calls());
}

/// A part that is in many copies of a struct is lowered once, however deep the structs are nested.
#[test]
fn nested_structs_are_written_out_in_little_time() {
    let mut tree = TypeTree::Leaf(BaseType::F64);
    for _ in 0..4 {
        let rows = TypeTree::vector(200, 24, tree);
        let both = TypeTree::structure([0, 16], [TypeTree::Leaf(BaseType::U8), rows]);
        tree = TypeTree::vector(40, 32, both);
    }
    for packing in [Packing::OPEN_MPI, Packing::MPICH_4_3, Packing::INTEL_MPI] {
        let program = Program::lower_for(&tree, None, i32::MAX as u64, packing).unwrap();
        assert!(program.calls() < 100, "{} calls", program.calls());
    }
}

/// Covers a triangle, found with the ready-made layouts of dtype-runtime: rows of all lengths are the buckets
/// of one idxbuc, even if there are too many rows for a search. Also covers a band, in which all rows but the
/// first and the last are equal.
#[test]
fn long_lists_of_rows_are_put_together_by_what_they_have_in_common() {
    let costs = NodeCosts::THESIS.linear();
    let row = |count| TypeTree::vector(count, 8, TypeTree::Leaf(BaseType::F64));
    for n in [100, 1000, 3000] {
        let displacements: Vec<i64> = (0..n).map(|i| i * (n + 1) * 8).collect();
        let rows: Vec<_> = (0..n).map(|i| row((n - i) as u64)).collect();
        let triangle = dtype_core::solve_layout(&TypeTree::structure(displacements, rows), &costs).unwrap();
        assert_eq!(triangle.cost, 7 + 2 * n as u64 + 3);

        let displacements: Vec<i64> = (0..n).map(|i| ((i - 1).max(0) + i * n) * 8).collect();
        let rows: Vec<_> = (0..n).map(|i| row(if i == 0 || i == n - 1 { 2 } else { 3 })).collect();
        let band = dtype_core::solve_layout(&TypeTree::structure(displacements, rows), &costs).unwrap();
        assert_eq!(band.cost, 40);
    }
}

/// Found by programs of random trees on four libraries. These differ in how parts without entries affect
/// bounds.
#[test]
fn empty_parts_are_not_built() {
    let (u8, i16) = (TypeTree::Leaf(BaseType::U8), TypeTree::Leaf(BaseType::I16));
    let none = TypeTree::vector(0, 1, u8.clone());
    let late = TypeTree::structure([0, 39], [none.clone(), TypeTree::index([0], u8.clone())]);
    let buckets = TypeTree::index_bucket(2, [0, 3], [0, 4], i16.clone());
    let cases = [
        (TypeTree::structure([0, 70], [none.clone(), TypeTree::index([105], u8.clone())]), (0, 176)),
        (TypeTree::vector(2, 40, late), (0, 0)),
        (buckets, (0, 10)),
        (TypeTree::structure([0, 96], [TypeTree::index([], u8.clone()), i16.clone()]), (0, 98)),
        (TypeTree::structure([0, 0], [u8, TypeTree::index([-1], TypeTree::vector(0, 2, i16))]), (0, 1)),
        (TypeTree::structure([1], [none]), (0, 0)),
    ];
    for (tree, (lower_bound, extent)) in cases {
        let bounds = Bounds { lower_bound, extent };
        let expected: Vec<_> = tree.flatten().map(|map| map.entries().collect()).unwrap_or_default();
        for limit in [2, u64::MAX] {
            let program = Program::lower_within(&tree, Some(bounds), limit).unwrap();
            let text = program.to_string();
            let is_empty = program.steps.iter().any(|step| match step {
                Step::Contiguous { count, .. } => *count == 0,
                Step::Struct { blocklengths, .. } | Step::Hindexed { blocklengths, .. } => {
                    blocklengths.is_empty() || blocklengths.contains(&0)
                }
                Step::Hvector { count, blocklength, .. } => count * blocklength == 0,
                Step::HindexedBlock { blocklength, displacements, .. } => {
                    displacements.is_empty() || *blocklength == 0
                }
                _ => false,
            });
            assert_eq!(is_empty, expected.is_empty(), "{text}");
            let made = program.datatype().unwrap();
            assert_eq!(made.bounds, bounds, "{text}");
            for library in Library::ALL {
                assert_eq!(interpret(&program, library), (expected.clone(), lower_bound, extent), "{text}");
            }
        }
    }
}

/// Covers MPI 4.1 sections 5.1.2 to 5.1.7.
#[test]
fn constructors_make_what_the_standard_says() {
    let f64 = || Datatype::base(BaseType::F64);
    let entries = |datatype: &Datatype| datatype.tree.flatten().unwrap().displacements().to_vec();
    let bounds = |lower_bound, extent| Bounds { lower_bound, extent };

    let vector = Constructor::Vector { count: 2, blocklength: 2, stride: -3, oldtype: f64() };
    let vector = vector.datatype().unwrap();
    assert_eq!((entries(&vector), vector.bounds), (vec![0, 8, -24, -16], bounds(-24, 40)));

    let indexed =
        Constructor::Indexed { blocklengths: vec![2, 0, 1], displacements: vec![1, 50, 4], oldtype: f64() };
    let indexed = indexed.datatype().unwrap();
    assert_eq!((entries(&indexed), indexed.bounds), (vec![8, 16, 32], bounds(8, 32)));

    // A struct is rounded up to its alignment, unless it has a resized part, whose bounds count instead.
    let structure =
        |oldtypes| Constructor::Struct { blocklengths: vec![1, 1], displacements: vec![0, 8], oldtypes };
    let byte = Datatype::base(BaseType::U8);
    let plain = structure(vec![f64(), byte.clone()]).datatype().unwrap();
    assert_eq!((plain.bounds, plain.resized), (bounds(0, 16), false));
    let resized = Constructor::Resized { lower_bound: -4, extent: 20, oldtype: byte }.datatype().unwrap();
    let marked = structure(vec![f64(), resized]).datatype().unwrap();
    assert_eq!((marked.bounds, marked.resized), (bounds(4, 20), true));

    let dimensions =
        [(4, 2, 1), (5, 3, 2)].map(|(size, subsize, start)| Subdimension { size, subsize, start });
    let part = |order| {
        let dimensions = dimensions.to_vec();
        Constructor::Subarray { dimensions, order, oldtype: f64() }.datatype().unwrap()
    };
    let rows = part(ArrayOrder::RowMajor);
    assert_eq!(entries(&rows), [7, 8, 9, 12, 13, 14].map(|i| 8 * i));
    assert_eq!(rows.bounds, bounds(0, 160));
    let columns = part(ArrayOrder::ColumnMajor);
    assert_eq!(entries(&columns), [9, 10, 13, 14, 17, 18].map(|i| 8 * i));

    // Rows are in blocks over two processes, and columns are cyclic over three.
    let dimension = |size, distribution, processes| Distributed { size, distribution, processes };
    let own = |rank| Constructor::Darray {
        rank,
        dimensions: vec![
            dimension(4, Distribution::Block(None), 2),
            dimension(7, Distribution::Cyclic(None), 3),
        ],
        order: ArrayOrder::RowMajor,
        oldtype: f64(),
    };
    assert_eq!(entries(&own(4).datatype().unwrap()), [15, 18, 22, 25].map(|i| 8 * i));

    let error = own(6).datatype().unwrap_err().to_string();
    assert_eq!(
        error,
        "the argument `rank` is 6, but must be less than 6, the number of processes in the grid"
    );
    let far = Constructor::Vector { count: 2, blocklength: 1, stride: i64::MAX / 2, oldtype: f64() };
    assert!(far.datatype().unwrap_err().to_string().contains("beyond the limit of i64"));
}
