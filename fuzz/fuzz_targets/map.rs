//! Fuzzes `reconstruct` with arbitrary bytes as a type map. For every shape, the tree must have the same type
//! map; the solver for constants must agree.
#![no_main]

use dtype_core::{
    BaseType, NodeCosts, Optimality, Program, Run, Shape, TypeMap,
    constant::{RunBuffer, Solved},
    reconstruct,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let bases = [BaseType::U8, BaseType::I32, BaseType::F64];
    let mut at = 0i64;
    let entries = bytes.iter().take(200).map(|byte| {
        // Most steps are a few bytes; some are large.
        at += match byte >> 2 & 7 {
            7 => 1000 * i64::from(byte >> 5),
            step => 4 * step as i64 - 4,
        };
        (bases[usize::from(byte & 3) % 3], at)
    });
    let (types, displacements): (Vec<_>, Vec<_>) = entries.unzip();
    let Ok(map) = TypeMap::new(types, displacements) else { return };
    let costs = NodeCosts::default();
    for shape in [Shape::Path, Shape::ExtendedPath, Shape::Tree, Shape::Dag] {
        if let Ok(solution) = reconstruct(&map, shape, &costs) {
            assert_eq!(solution.tree.flatten().as_ref(), Ok(&map));
            Program::lower(&solution.tree, None).unwrap();
        }
    }
    let mut runs = RunBuffer::new();
    map.entries().for_each(|(base, at)| runs.push(Run::single(base, at)));
    if let Some(solved) = Solved::of(&runs, &costs.linear()) {
        let (solution, least) = (solved.solution(), reconstruct(&map, Shape::Tree, &costs).unwrap());
        assert_eq!(solution.tree.flatten().as_ref(), Ok(&map));
        assert!(solution.cost >= least.cost);
        assert!(solution.cost == least.cost || solution.optimality == Optimality::UpperBound);
    }
});
