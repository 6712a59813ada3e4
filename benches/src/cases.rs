//! The type maps and layouts that are measured.

use dtype_core::{BaseType, TypeMap, TypeTree};
use dtype_guidelines::generate::Random;

/// The names of the type maps.
pub const NAMES: [&str; 11] = [
    "contiguous",
    "strided",
    "random-gaps",
    "random-blocks",
    "row-plus-column",
    "array-of-structs",
    "random-types",
    "upper-triangle",
    "halo-3d",
    "finite-elements",
    "matrix-block",
];

/// Returns a type map of `n` entries. The first displacement is 0.
///
/// # Panics
/// If `name` is not one of [`NAMES`].
pub fn map(name: &str, n: usize) -> TypeMap {
    let mut random = Random::new(1);
    let mut below = |limit| random.below(limit) as i64;
    let mut types = vec![BaseType::F64; n];
    let count = n as i64;
    let displacements: Vec<i64> = match name {
        "contiguous" => (0..count).map(|i| 8 * i).collect(),
        "strided" => (0..count).map(|i| 24 * i).collect(),
        "random-gaps" => running_sum(n, || 8 * (1 + below(100))),
        "random-blocks" => running_sum(n, || if below(12) == 0 { 8 * (2 + below(100)) } else { 8 }),
        "row-plus-column" => {
            let half = count / 2;
            let column = (0..count - half).map(|i| 8 * half * i);
            (0..half).map(|i| 8 * i).chain(column).collect()
        }
        "array-of-structs" => {
            let fields = [(BaseType::U8, 0), (BaseType::F64, 8), (BaseType::I16, 16), (BaseType::F32, 20)];
            types.iter_mut().enumerate().for_each(|(i, base)| *base = fields[i % 4].0);
            (0..n).map(|i| fields[i % 4].1 + 24 * (i / 4) as i64).collect()
        }
        "random-types" => {
            let bases = [BaseType::I32, BaseType::U8, BaseType::F64];
            for base in &mut types {
                *base = bases[below(3) as usize];
            }
            (0..count).map(|i| 8 * i).collect()
        }
        "upper-triangle" => {
            let side = (1..=count).find(|side| side * (side + 1) / 2 >= count).unwrap_or(1);
            (0..side).flat_map(|i| (i..side).map(move |j| 8 * (i * side + j))).take(n).collect()
        }
        "halo-3d" => {
            let outside = |side: i64| side.pow(3) - (side - 2).max(0).pow(3);
            let side = (1..=count).find(|side| outside(*side) >= count).unwrap_or(1);
            let edge = move |i: i64| i == 0 || i == side - 1;
            let cells = (0..side.pow(3))
                .filter(move |c| edge(c / (side * side)) || edge(c / side % side) || edge(c % side));
            cells.map(|cell| 8 * cell).take(n).collect()
        }
        "finite-elements" => {
            // The corners of randomly selected quads of a grid with 100 quads in a row.
            let quads = running_sum(n / 4 + 1, || 1 + below(3));
            let corner = |quad: i64| quad / 100 * 101 + quad % 100;
            quads.iter().flat_map(|quad| [0, 1, 102, 101].map(|k| 8 * (corner(*quad) + k))).take(n).collect()
        }
        "matrix-block" => (0..count).map(|i| 8 * (i % 16) + 800 * (i / 16)).collect(),
        _ => panic!("no case `{name}`"),
    };
    let first = displacements[0];
    let displacements = displacements.iter().map(|at| at - first).collect();
    TypeMap::new(types, displacements).expect("as many types as displacements")
}

/// Returns the first `n` partial sums of the steps, beginning with 0.
fn running_sum(n: usize, mut step: impl FnMut() -> i64) -> Vec<i64> {
    let mut at = 0;
    (0..n)
        .map(|_| {
            let here = at;
            at += step();
            here
        })
        .collect()
}

/// The names of the layouts of long runs.
pub const RUNS: [&str; 8] = [
    "random-to-64",
    "random-to-1e6",
    "two-types",
    "two-strides",
    "multiples-of-4",
    "triangle",
    "rows-of-a-disc",
    "1000-or-2000",
];

/// Returns a layout of `n` runs as one strc.
///
/// # Panics
/// If `name` is not one of [`RUNS`].
pub fn runs(name: &str, n: usize) -> TypeTree {
    let mut random = Random::new(1);
    let mut below = |limit| random.below(limit);
    let (half, mut end) = (n as i64 / 2, 0);
    let mut run = |i: i64| {
        let (mut base, mut stride, mut gap) = (BaseType::F64, 8, 8 * (1 + below(64) as i64));
        let count = match name {
            "random-to-64" => 1 + below(64),
            "random-to-1e6" => 1 + below(1_000_000),
            "two-types" => {
                base = [BaseType::F64, BaseType::I64][below(2) as usize];
                1 + below(64)
            }
            "two-strides" => {
                stride = [8, 16][below(2) as usize];
                1 + below(64)
            }
            "multiples-of-4" => 4 * if below(4) == 0 { 1 + below(5) } else { 1 },
            "triangle" => {
                gap = 8 * (n as i64 - i);
                i as u64 + 1
            }
            "rows-of-a-disc" => {
                let width = (half * half - (i - half) * (i - half)).max(0).isqrt();
                let next = (half * half - (i + 1 - half) * (i + 1 - half)).max(0).isqrt();
                gap = 8 * (3 * half - width - next);
                2 * width as u64 + 1
            }
            "1000-or-2000" => {
                gap = 8;
                1000 * (1 + below(2))
            }
            _ => panic!("no layout of runs is called {name}"),
        };
        let place = end;
        end += stride * count as i64 + gap;
        (place, TypeTree::vector(count, stride, TypeTree::Leaf(base)))
    };
    let (places, runs): (Vec<_>, Vec<_>) = (0..n as i64).map(&mut run).unzip();
    TypeTree::structure(places, runs)
}
