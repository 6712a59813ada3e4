//! Random layouts and those of published applications: plans against `MPI_Pack` and the loops in C that the
//! build script writes for each layout. Some of them are also sent.

use std::{cell::RefCell, ffi::c_void, hint::black_box};

use dtype_guidelines::{
    generate::{Random, Sample, lists, measured},
    way::Way,
    written::{CPack, CUnpack, by_hand, seed},
};
use dtype_runtime::pack::{Data, DataMut, Plan};

use super::{Bench, Case, Task};
#[cfg(feature = "mpi")]
use {
    super::{Travel, user::User},
    dtype_core::Bounds,
    dtype_engine::prices::Shape,
    dtype_guidelines::description::Description,
    dtype_runtime::{__private::has_typed_shape, decode::build},
    mpi::raw::AsRaw as _,
    std::ffi::c_int,
};

/// Returns `true` if a case is sent, and its times of packing are recorded: of the random layouts, one in
/// four.
pub fn is_chosen(name: &str) -> bool {
    let number = name.strip_prefix("drawn/").and_then(|sample| sample.split_once('-')?.0.parse::<u32>().ok());
    number.is_none_or(|number| number % 4 == 0)
}

/// Measures all samples.
///
/// # Panics
/// If a way packs or unpacks other bytes than the loop by hand.
pub fn run(bench: &dyn Bench) {
    for (number, sample) in measured(seed()).iter().enumerate() {
        let name = format!("drawn/{}", sample.name);
        let is_sent = is_chosen(&name) && bench.wants(&name, Task::Pingpong, true);
        if is_sent || bench.wants(&name, Task::Pack, true) {
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
    #[cfg(feature = "mpi")]
    let travels = {
        let datatype = Description::of_tree(tree).expect("a small tree").resized(*extent);
        travels(sample, datatype, &plan, first, (bytes as usize, origin))
    };
    #[cfg(not(feature = "mpi"))]
    let travels = Vec::new();
    bench.measure(&Case { name, size, ways, travels });
}

/// Returns the ways to send a sample, whose first copy begins at `first`. A user would write `datatype` for
/// it. Its memory has `bytes` bytes, the number `origin` of which is `first`. Of its datatype and its packed
/// bytes, `auto` is what `Wire::Auto` takes for a part of an array of the same shape.
#[cfg(feature = "mpi")]
pub(super) fn travels<'a>(
    Sample { tree, extent, count, .. }: &Sample,
    datatype: Description,
    plan: &'a Plan,
    first: *mut u8,
    (bytes, origin): (usize, usize),
) -> Vec<(&'static str, Travel<'a>)> {
    use std::slice::{from_raw_parts, from_raw_parts_mut};

    let (copies, memory) = (*count as usize, black_box(first.wrapping_sub(origin)));
    let message = move || {
        let memory = unsafe { from_raw_parts(memory, bytes) };
        Data::new(plan, copies, memory, origin).expect("it lies within")
    };
    let into = move || {
        let memory = unsafe { from_raw_parts_mut(memory, bytes) };
        DataMut::new(plan, copies, memory, origin).expect("it lies within")
    };
    let bounds = Bounds::of_extent(*extent);
    let least_cost = || {
        let built = build(tree.clone(), bounds).expect("a small tree");
        Travel::of_raw(first, *count as c_int, built.as_raw(), built)
    };
    let shape = Shape::for_copies(plan, copies);
    let mut all = Travel::on_all_wires(message, into, false);
    if shape.as_ref().is_some_and(has_typed_shape) {
        all[0].1 = least_cost();
    }
    all[0].1.shape = shape;
    all.push(("least-cost", least_cost()));
    all.push(("typed", super::mpi::typed(first, &User { datatype, count: copies })));
    all
}
