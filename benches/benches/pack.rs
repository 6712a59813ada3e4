//! Packing structs with padding: ours against a loop written by hand, and `memcpy` as the floor.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use dtype_runtime::{MpiDatatype, pack_into, packed_size};

#[derive(MpiDatatype, Clone, Copy, Default)]
#[repr(C)]
struct Mixed {
    flag: u8,
    value: f64,
    level: i16,
    weight: f32,
}

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pack");
    for count in [100, 10_000, 1_000_000] {
        let values = vec![Mixed::default(); count];
        let mut bytes = vec![0u8; packed_size::<Mixed>(count)];
        let copy = bytes.clone();
        group.bench_function(BenchmarkId::new("ours", count), |bencher| {
            bencher.iter(|| pack_into(&values, &mut bytes).expect("room for all"));
        });
        group.bench_function(BenchmarkId::new("by hand", count), |bencher| {
            bencher.iter(|| {
                for (mixed, bytes) in values.iter().zip(bytes.chunks_exact_mut(15)) {
                    bytes[0] = mixed.flag;
                    bytes[1..9].copy_from_slice(&mixed.value.to_ne_bytes());
                    bytes[9..11].copy_from_slice(&mixed.level.to_ne_bytes());
                    bytes[11..15].copy_from_slice(&mixed.weight.to_ne_bytes());
                }
            });
        });
        group.bench_function(BenchmarkId::new("memcpy", count), |bencher| {
            bencher.iter(|| bytes.copy_from_slice(&copy));
        });
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
