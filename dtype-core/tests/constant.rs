//! Compares the constant-evaluation solver with the general one: equal maps must have equal costs.

mod common;

use common::{ByEntry, exhaustive, long_map, node_costs, rows, small_map, small_tree};
use dtype_core::{
    BaseType, LinearCosts, NodeCosts, Optimality, Penalty, Price, Run, Shape, TypeMap, TypeTree,
    constant::{RunBuffer, Solved},
    normalize, reconstruct,
};
use proptest::prelude::*;

/// Returns the linear models among those with which all searches are tested.
fn models() -> [LinearCosts; 5] {
    let [a, b, c, d] = node_costs().map(|costs| costs.linear());
    [a, b, c, d, Penalty::default().linear()]
}

fn runs_of(map: &TypeMap) -> RunBuffer {
    let mut runs = RunBuffer::new();
    map.entries().for_each(|(base, at)| runs.push(Run::single(base, at)));
    runs
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn it_costs_what_the_general_search_costs(map in small_map(64), model in 0..5usize) {
        let costs = models()[model];
        let runs = runs_of(&map);
        if let Some(solved) = Solved::of(&runs, &costs) {
            let solution = solved.solution();
            prop_assert_eq!(solution.tree.flatten().unwrap(), map.clone());
            prop_assert_eq!(solution.cost, solution.tree.cost(&costs));
            let general = reconstruct(&map, Shape::Tree, &costs).unwrap();
            prop_assert_eq!(solution.cost, general.cost, "{}\nagainst\n{}", solution.tree, general.tree);
            prop_assert_eq!(solution.optimality, Optimality::Proven);
        } else {
            prop_assert!(runs.runs().is_none());
        }
    }

    #[test]
    fn it_costs_what_exhaustive_search_finds(map in small_map(8), model in 0..5usize) {
        let costs = models()[model];
        let solved = Solved::of(&runs_of(&map), &costs).unwrap();
        prop_assert_eq!(solved.cost(), exhaustive(map.types(), map.displacements(), &costs));
    }

    #[test]
    fn runs_do_not_depend_on_how_a_map_is_put_together(
        tree in small_tree(),
        count in 0u64..9,
        stride in -40i64..40,
    ) {
        let repeated = TypeTree::vector(count, stride, tree.clone());
        let singly = |tree: &TypeTree| tree.flatten().map_or_else(|_| RunBuffer::new(), |map| runs_of(&map));
        let by_run = |tree: &TypeTree| {
            let mut buffer = RunBuffer::new();
            tree.runs().unwrap().as_slice().iter().for_each(|run| buffer.push(*run));
            buffer
        };
        let list = |buffer: &RunBuffer| buffer.runs().map(Iterator::collect::<Vec<_>>);
        let entries = list(&singly(&repeated));
        prop_assert_eq!(&list(&by_run(&repeated)), &entries);
        prop_assert_eq!(&list(&singly(&tree).repeated(count, stride)), &entries);
        if let Some(entries) = entries {
            let runs = repeated.runs().unwrap();
            prop_assert_eq!(runs.as_slice(), entries);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn what_it_claims_of_long_runs_is_true(map in prop_oneof![long_map(), rows(64)]) {
        let costs = NodeCosts::default();
        let Some(solved) = Solved::of(&runs_of(&map), &costs.linear()) else { return Ok(()) };
        let solution = solved.solution();
        prop_assert_eq!(solution.tree.flatten().unwrap(), map.clone());
        prop_assert_eq!(solution.cost, solution.tree.cost(&costs));
        let least = reconstruct(&map, Shape::Tree, &ByEntry(costs)).unwrap();
        prop_assert!(solution.cost >= least.cost);
        if solution.optimality == Optimality::Proven {
            prop_assert_eq!(solution.cost, least.cost, "{}\nagainst\n{}", solution.tree, least.tree);
        }
    }
}

/// Solves the hardest constants: 64 runs of two alternating base types, or of one, of irregular lengths at
/// irregular distances. The compiler stops a constant after two million steps.
#[test]
fn sixty_four_runs_are_few_steps_for_the_compiler() {
    const fn irregular(types: usize, longest: u64) -> RunBuffer {
        let mut runs = RunBuffer::new();
        let (mut i, mut displacement) = (0, 0);
        while i < RunBuffer::CAPACITY as u64 {
            let base = if i as usize % types == 0 { BaseType::F64 } else { BaseType::U64 };
            let count = 1 + i * i * 7 % longest;
            runs.push(Run { base, displacement, count, stride: 8 });
            displacement += 8 * (count + 1 + i * i * i * 5 % 11) as i64;
            i += 1;
        }
        runs
    }
    const fn solved(types: usize, longest: u64) -> Option<Solved> {
        Solved::of(&irregular(types, longest), &NodeCosts::THESIS.linear())
    }
    const SOLVED: [Option<Solved>; 4] = [solved(1, 1), solved(1, 3), solved(2, 3), solved(2, 100)];
    for (compiled, (types, longest)) in SOLVED.iter().zip([(1, 1), (1, 3), (2, 3), (2, 100)]) {
        let running = solved(types, longest).map(|solved| solved.solution());
        assert_eq!(compiled.as_ref().map(Solved::solution), running);
        let runs = irregular(types, longest);
        let leaves = runs
            .runs()
            .unwrap()
            .flat_map(|run| (0..run.count as i64).map(move |i| (run.base, run.displacement + 8 * i)));
        let (types, displacements) = leaves.unzip();
        let map = TypeMap::new(types, displacements).unwrap();
        let least = reconstruct(&map, Shape::Tree, &NodeCosts::default()).unwrap();
        assert!(running.is_some_and(|solution| solution.cost == least.cost));
    }
}

/// Found by fuzzing: a vec may extend as far as pairs of its copies are equal. An idx over such pairs must be
/// tried nevertheless, because it extends further, at other distances.
#[test]
fn pairs_of_rows_are_tried_beyond_a_vec_of_single_rows() {
    let pairs = [0, 192, 376, 560, 744, 928i64];
    let displacements =
        pairs.iter().flat_map(|at| [*at, at + 96]).flat_map(|at| (0..6).map(move |i| at + 8 * i));
    let map = TypeMap::homogeneous(BaseType::F64, displacements.collect()).unwrap();
    let solution = Solved::of(&runs_of(&map), &NodeCosts::THESIS.linear()).unwrap().solution();
    assert_eq!((solution.cost, solution.optimality), (24, Optimality::Proven));
}

/// Found by fuzzing: the first copy of nine entries begins with the last entry of another run.
#[test]
fn a_copy_may_begin_with_the_last_entry_of_the_run_before() {
    let blocks = (0..3).flat_map(|i| [0, 8, 16, 32].map(|at| 320 * i + at));
    let nines = [680, 896, 1112].into_iter().chain((0..7).map(|i| 1336 + 224 * i)).chain([2904, 3120, 3336]);
    let entries = blocks.chain(nines.flat_map(|at| (0..9).map(move |i| at + 24 * i)));
    let map = TypeMap::homogeneous(BaseType::F64, entries.collect()).unwrap();
    let solution = Solved::of(&runs_of(&map), &NodeCosts::THESIS.linear()).unwrap().solution();
    assert_eq!((solution.cost, solution.optimality), (51, Optimality::Proven));
}

/// Here a strc counts its part twice, so the best tree shifts the leaf of a vec rather than the vec.
#[test]
fn models_that_shift_leaves_are_left_to_the_general_search() {
    let costs = NodeCosts { leaf: 1, vec: 1, idx: 4, strc: 1, idxbuc: 3, ..NodeCosts::THESIS }.linear();
    let costs = LinearCosts { part: Price { own: 0, times: 2 }, ..costs };
    let map = TypeMap::homogeneous(BaseType::F64, vec![1152, 515]).unwrap();
    assert!(Solved::of(&runs_of(&map), &costs).is_none());
    let solution = reconstruct(&map, Shape::Tree, &costs).unwrap();
    let leaf = TypeTree::structure([1152], [TypeTree::Leaf(BaseType::F64)]);
    assert_eq!((solution.tree, solution.cost), (TypeTree::vector(2, -637, leaf), 4));
}

/// Found by fuzzing: a run is worth cutting into pairs if there are many other pairs. Those are not runs,
/// because their entries are not adjacent.
#[test]
fn a_run_is_cut_into_pairs_where_there_are_many_others() {
    let starts = [0, 8, 16, 24, 32, 40, 100, 132, 156, 184, 220, 252, 300, 336, 400i64];
    let displacements = starts.iter().flat_map(|at| [*at, at + 4]).collect();
    let map = TypeMap::homogeneous(BaseType::U8, displacements).unwrap();
    let solution = Solved::of(&runs_of(&map), &NodeCosts::THESIS.linear()).unwrap().solution();
    assert_eq!((solution.cost, solution.optimality), (28, Optimality::Proven));
    let pair = TypeTree::vector(2, 4, TypeTree::Leaf(BaseType::U8));
    assert_eq!(solution.tree, TypeTree::index(starts, pair));
}

/// Found by the random test below: a list of three copies carries the shift of its child, which is then a vec
/// rather than an idx.
#[test]
fn few_copies_of_a_shifted_map_are_left_to_the_general_search() {
    let costs = NodeCosts::THESIS.linear();
    let inner = TypeTree::structure([8], [TypeTree::vector(4, 0, TypeTree::Leaf(BaseType::U8))]);
    let rows = Solved::of(&runs_of(&inner.flatten().unwrap()), &costs).unwrap();
    let rows = rows.repeated(65, 4001, &costs).unwrap();
    let copies = |count| rows.repeated(count, 65 * 4001 + 1, &costs).map(|solved| solved.cost());
    assert_eq!([3, 4, 5].map(copies), [None, None, Some(22)]);
    let tree = |count| TypeTree::vector(count, 65 * 4001 + 1, TypeTree::vector(65, 4001, inner.clone()));
    assert_eq!([3, 4, 5].map(|count| normalize(&tree(count), &costs).unwrap().cost), [21, 22, 22]);
}

proptest! {
    /// Repeats solved maps until they have more runs than a buffer holds. The repeated tree must not cost
    /// more than the normalized one. If its cost is claimed to be proven, both must cost the same.
    #[test]
    fn repetitions_of_a_solved_map_are_as_cheap_as_normalized(
        inner in small_tree(), levels in prop::collection::vec((3u64..70, 1i64..60), 1..4),
    ) {
        let costs = NodeCosts::THESIS.linear();
        let Ok(map) = inner.flatten() else { return Ok(()) };
        let runs = runs_of(&map);
        let mut solved = Solved::of(&runs, &costs);
        let (mut tree, mut reach) = (inner, 4000);
        for (count, gap) in levels {
            let stride = reach + gap;
            solved = solved.and_then(|solved| solved.repeated(count, stride, &costs));
            tree = TypeTree::vector(count, stride, tree);
            reach = count as i64 * stride;
        }
        if let Some(solved) = solved {
            let solution = solved.solution();
            prop_assert_eq!(solution.tree.flatten(), tree.flatten());
            prop_assert_eq!(solution.tree.cost(&costs), solution.cost);
            let normalized = normalize(&tree, &costs).unwrap();
            prop_assert!(solution.cost <= normalized.cost, "{} {}", solution.tree, normalized.tree);
            if solution.optimality == Optimality::Proven {
                prop_assert_eq!(solution.cost, normalized.cost);
            }
        }
    }
}
