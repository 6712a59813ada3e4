//! Fuzzes the type tree with arbitrary bytes, including extreme counts and displacements. There must be no
//! panic, no overflow and no endless loop. If the type map is short enough to list, normalization must keep
//! it.
#![no_main]

mod reader;

use dtype_core::{Bounds, NodeCosts, Program, normalize};
use libfuzzer_sys::fuzz_target;
use reader::Reader;

fuzz_target!(|bytes: &[u8]| {
    let tree = Reader(bytes).tree(6);
    let costs = NodeCosts::default();
    let Ok(measure) = tree.measure() else {
        assert!(normalize(&tree, &costs).is_err());
        assert!(Program::lower(&tree, None).is_err());
        return;
    };
    let solution = normalize(&tree, &costs).unwrap();
    assert!(measure.entries == 0 || solution.cost <= tree.cost(&costs));
    assert_eq!(normalize(&solution.tree, &costs).unwrap().cost, solution.cost);
    Program::lower(&tree, Some(Bounds::of_extent(64))).unwrap();
    assert!(Program::lower_within(&tree, None, 1000).unwrap().largest_count() <= 1000);
    if measure.entries <= 5000 {
        assert_eq!(solution.tree.flatten(), tree.flatten());
        let _ = tree.runs().unwrap().to_string();
    }
    let _ = tree.to_string();
});
