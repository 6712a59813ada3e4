//! Least-cost trees and paths of type maps of different character.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use dtype_core::{BaseType, NodeCosts, Shape, TypeMap, reconstruct};

/// The displacements of the cases of one base type, for about `n` entries.
fn cases(n: i64) -> [(&'static str, Vec<i64>); 4] {
    let half = n / 2;
    // A multiplicative generator is random enough for gaps, and the same every time.
    let gaps = (0..n).scan((0, 1u64), |(at, state), _| {
        let here = *at;
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *at += 4 * (1 + (*state >> 33) as i64 % 100);
        Some(here)
    });
    [
        ("contiguous", (0..n).map(|i| 4 * i).collect()),
        ("block", (0..n).map(|i| 4 * (i % 16) + 400 * (i / 16)).collect()),
        ("row-and-column", (0..half).map(|i| 4 * i).chain((0..half).map(|i| 4 * half * i)).collect()),
        ("random-gaps", gaps.collect()),
    ]
}

fn bench(criterion: &mut Criterion) {
    let costs = NodeCosts::default();
    for (shape, name, sizes) in
        [(Shape::Tree, "tree", [128, 512]), (Shape::ExtendedPath, "path", [10_000, 720_720])]
    {
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10);
        for n in sizes {
            for (case, displacements) in cases(n) {
                let map = TypeMap::homogeneous(BaseType::I32, displacements).expect("a well-formed map");
                group.bench_function(BenchmarkId::new(case, n), |bencher| {
                    bencher.iter(|| reconstruct(&map, shape, &costs).expect("one base type").cost);
                });
            }
        }
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
