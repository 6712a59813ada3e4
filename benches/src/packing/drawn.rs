//! Random layouts and those of published applications: plans against `MPI_Pack` and the loops in C that the
//! build script writes for each layout.

use std::{cell::RefCell, ffi::c_void, hint::black_box};

use dtype_guidelines::{
    generate::{Random, Sample, lists, measured},
    way::Way,
    written::{CPack, CUnpack, by_hand, seed},
};
use dtype_runtime::pack::{Data, DataMut, Plan};

use super::{Bench, Case, Task};

/// Measures all samples.
///
/// # Panics
/// If a way packs or unpacks other bytes than the loop by hand.
pub fn run(bench: &dyn Bench) {
    for (number, sample) in measured(seed()).iter().enumerate() {
        let name = format!("drawn/{}", sample.name);
        if bench.wants(&name, Task::Pack, true) {
            measure(bench, name, number, sample);
        }
    }
}

fn measure(bench: &dyn Bench, name: String, number: usize, sample: &Sample) {
    let Sample { tree, extent, count, .. } = sample;
    let plan = Plan::new(tree).expect("a small tree").resized(*extent as isize);
    let bounds = tree.measure().expect("a small tree");
    let last = (*count as i64 - 1) * extent;
    let origin = -(bounds.lower_bound + last.min(0)).min(0);
    let bytes = origin + bounds.upper_bound + last.max(0);
    let mut random = Random::new(number as u64);
    let mut memory: Vec<u8> = (0..bytes).map(|_| random.below(256) as u8).collect();
    let (origin, count) = (origin as usize, *count as usize);
    let first = memory.as_mut_ptr().wrapping_add(origin);
    let size = plan.packed_size() * count;

    let memory = RefCell::new(memory);
    let tables = lists(tree);
    let pointers: Vec<_> = tables.iter().map(Vec::as_ptr).collect();
    let hand = |pack: *mut c_void, unpack: *mut c_void| {
        let pack = unsafe { std::mem::transmute::<*mut c_void, CPack>(pack) };
        let unpack = unsafe { std::mem::transmute::<*mut c_void, CUnpack>(unpack) };
        let (first, lists) = (black_box(first), pointers.as_ptr());
        Way::new(
            move |packed| unsafe { pack(first, packed.as_mut_ptr(), lists) },
            move |packed| unsafe { unpack(first, packed.as_ptr(), lists) },
        )
    };
    let [pack, unpack, pack_blocks, unpack_blocks] = unsafe { *by_hand(number) };
    let mut ways = vec![("hand", hand(pack, unpack))];
    if pack != pack_blocks {
        ways.push(("hand_memcpy", hand(pack_blocks, unpack_blocks)));
    }
    ways.push((
        "plan",
        Way::new(
            |packed| {
                let memory = memory.borrow();
                let data = Data::new(black_box(&plan), count, &memory, origin).expect("it lies within");
                data.pack_into(packed).expect("as many bytes");
            },
            |packed| {
                let mut memory = memory.borrow_mut();
                let mut data = DataMut::new(black_box(&plan), count, &mut memory, origin).expect("within");
                data.unpack(packed).expect("as many bytes");
            },
        ),
    ));
    #[cfg(feature = "mpi")]
    ways.push(("mpi_pack", super::mpi::of_tree(first, tree, *extent, count, size)));
    bench.measure(&Case { name, size, ways, travels: Vec::new() });
}
