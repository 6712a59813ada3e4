//! Tests of plans on random layouts: they pack and unpack exactly the bytes of the type map.

use dtype_guidelines::generate::{Random, Sample, samples};
use dtype_runtime::pack::{Data, DataMut, Plan};

/// Returns the displacement of each packed byte, relative to displacement 0 of the first copy.
fn bytes(sample: &Sample) -> Vec<i64> {
    let map = sample.tree.flatten().expect("a small tree");
    let copies = (0..sample.count as i64).map(|copy| copy * sample.extent);
    copies
        .flat_map(|at| map.entries().map(move |(base, displacement)| (base, at + displacement)))
        .flat_map(|(base, at)| at..at + base.size() as i64)
        .collect()
}

#[test]
fn plans_pack_and_unpack_what_type_maps_say() {
    let mut random = Random::new(11);
    let (small, large) = (samples(5, 1, 4096), samples(6, 4096, 1 << 18));
    for sample in small.take(100_000).chain(large.take(500)) {
        let Sample { name, tree, extent, count } = &sample;
        let (places, count) = (bytes(&sample), *count as usize);
        let (lowest, highest) = (places.iter().min().unwrap_or(&0), places.iter().max().unwrap_or(&0));
        let origin = -*lowest.min(&0) as usize;
        let memory: Vec<u8> = (0..=origin as i64 + highest).map(|_| random.below(256) as u8).collect();
        let plan = Plan::new(tree).unwrap().resized(*extent as isize);

        let expected: Vec<u8> = places.iter().map(|at| memory[(origin as i64 + at) as usize]).collect();
        let data = Data::new(&plan, count, &memory, origin).unwrap();
        assert!(data.pack() == expected, "packed {name}\n{tree}");
        let (start, end) = (random.below(expected.len() as u64 + 1), random.below(expected.len() as u64 + 1));
        let range = start.min(end) as usize..start.max(end) as usize;
        let mut part = vec![0; range.len()];
        data.pack_range(range.clone(), &mut part).unwrap();
        assert!(part == expected[range.clone()], "packed {range:?} of {name}\n{tree}");

        for range in [0..expected.len(), range] {
            let mut right = vec![0xA5; memory.len()];
            let mut copy = right.clone();
            for (at, byte) in places[range.clone()].iter().zip(&expected[range.clone()]) {
                right[(origin as i64 + at) as usize] = *byte;
            }
            let mut into = DataMut::new(&plan, count, &mut copy, origin).unwrap();
            into.unpack_range(range.start, &expected[range.clone()]).unwrap();
            assert!(copy == right, "unpacked {range:?} of {name}\n{tree}");
        }
    }
}
