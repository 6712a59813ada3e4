//! Random layouts and those of published applications: plans against `MPI_Pack` and the loops in C that the
//! build script writes for each layout.

use std::{cell::RefCell, ffi::c_void, hint::black_box};

use dtype_runtime::{
    dtype_core::TypeTree,
    pack::{Data, DataMut, Plan},
};

use super::{Bench, Case, Task, Way};
use crate::generate::{Random, Sample, lists, measured};

unsafe extern "C" {
    /// Returns the functions of a sample: pack and unpack element by element where lengths differ, then pack
    /// and unpack with `memcpy`.
    fn by_hand(number: usize) -> *const [*mut c_void; 4];
}

type CPack = unsafe extern "C" fn(*const u8, *mut u8, *const *const i32);
type CUnpack = unsafe extern "C" fn(*mut u8, *const u8, *const *const i32);

/// Returns the seed of the random layouts.
///
/// # Panics
/// Never: the build script has parsed the seed.
pub fn seed() -> u64 {
    env!("DTYPE_LAYOUTS_SEED").parse().expect("the build script has read it")
}

/// The loops in C for a sample, with the lists that they read.
#[derive(Clone, Debug)]
pub struct Written {
    functions: [*mut c_void; 4],
    lists: Vec<Vec<i32>>,
}

impl Written {
    /// Returns the loops for the sample at index `number` of [`measured`], whose tree is `tree`.
    pub fn of(number: usize, tree: &TypeTree) -> Self {
        Self { functions: unsafe { *by_hand(number) }, lists: lists(tree) }
    }

    /// Packs the sample.
    ///
    /// # Safety
    /// 1. The sample lies at `memory`.
    /// 2. `packed` is writable for the packed bytes of the sample.
    /// 3. They do not overlap.
    pub unsafe fn pack(&self, memory: *const u8, packed: *mut u8) {
        let pointers: Vec<_> = self.lists.iter().map(Vec::as_ptr).collect();
        unsafe {
            let pack = std::mem::transmute::<*mut c_void, CPack>(self.functions[0]);
            pack(memory, packed, pointers.as_ptr());
        }
    }

    /// Unpacks the sample.
    ///
    /// # Safety
    /// As for [`pack`](Self::pack), with `memory` writable and `packed` readable.
    pub unsafe fn unpack(&self, memory: *mut u8, packed: *const u8) {
        let pointers: Vec<_> = self.lists.iter().map(Vec::as_ptr).collect();
        unsafe {
            let unpack = std::mem::transmute::<*mut c_void, CUnpack>(self.functions[1]);
            unpack(memory, packed, pointers.as_ptr());
        }
    }
}

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
