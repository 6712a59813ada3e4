//! The constant-evaluation solver against the general one: same maps, same costs.

mod common;

use common::{exhaustive, node_costs, small_map, small_tree};
use dtype_core::{
    BaseType, LinearCosts, NodeCosts, Optimality, Penalty, Run, Shape, TypeMap, TypeTree,
    constant::{RunBuffer, Solved},
    normalize, reconstruct,
};
use proptest::prelude::*;

/// The linear ones of the models that all searches are tested with.
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

/// Maps of a few long runs: fields and arrays of structs, some of them cut off at either end.
fn long_map() -> impl Strategy<Value = TypeMap> {
    let base = prop_oneof![3 => Just(BaseType::F64), 1 => Just(BaseType::U64), 1 => Just(BaseType::U32)];
    let length = prop_oneof![Just(1u64), Just(2), 1u64..9, 40u64..90, Just(50)];
    let gap = prop_oneof![3 => Just(0i64), 1 => (-1i64..4).prop_map(|gap| 8 * gap)];
    let field = (base, length, gap, prop_oneof![3 => Just(8i64), 1 => Just(16)]);
    let unit = proptest::collection::vec(field, 1..5);
    (unit, 1u64..5, 0usize..60, 0usize..60, prop_oneof![3 => Just(0i64), 1 => Just(16)]).prop_map(
        |(fields, copies, front, back, first)| {
            let mut at = 0;
            let (mut displacements, mut children) = (Vec::new(), Vec::new());
            for (base, length, gap, stride) in fields {
                at += gap;
                displacements.push(at);
                children.push(TypeTree::vector(length, stride, TypeTree::Leaf(base)));
                at += stride * length as i64;
            }
            let unit = TypeTree::vector(copies, at, TypeTree::structure(displacements, children));
            let map = unit.flatten().unwrap();
            let kept =
                front.min(map.len() - 1)..map.len().saturating_sub(back).max(front.min(map.len() - 1) + 1);
            let start = map.displacements()[kept.start] - first;
            let displacements = map.displacements()[kept.clone()].iter().map(|at| at - start).collect();
            TypeMap::new(map.types()[kept].to_vec(), displacements).unwrap()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn what_it_claims_of_long_runs_is_true(map in long_map()) {
        let costs = NodeCosts::default();
        let Some(solved) = Solved::of(&runs_of(&map), &costs.linear()) else { return Ok(()) };
        let solution = solved.solution();
        prop_assert_eq!(solution.tree.flatten().unwrap(), map.clone());
        prop_assert_eq!(solution.cost, solution.tree.cost(&costs));
        let least = reconstruct(&map, Shape::Tree, &costs).unwrap();
        prop_assert!(solution.cost >= least.cost);
        if solution.optimality == Optimality::Proven {
            prop_assert_eq!(solution.cost, least.cost, "{}\nagainst\n{}", solution.tree, least.tree);
        }
    }
}

/// 64 runs of two base types in turn, or of one, of irregular lengths at irregular distances: as much work as
/// there can be. The compiler would stop these constants at two million steps.
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

/// Found by fuzzing: pairs that are no runs by themselves, being no neighbours, are worth cutting a run for.
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

proptest! {
    /// Boxes of more runs than a buffer holds: the levels put around what was solved are no worse than what
    /// normalization finds, and it says the same of them.
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
