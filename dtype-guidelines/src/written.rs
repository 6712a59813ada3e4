//! The loops in C that the build script writes for the layouts of [`generate`](crate::generate).

// Callers promise that the memory holds the sample. The build script writes a loop for each sample.
#![allow(clippy::undocumented_unsafe_blocks)]

use std::ffi::c_void;

use dtype_core::TypeTree;

use crate::generate::lists;

unsafe extern "C" {
    /// Returns the functions of the sample at index `number` of [`measured`](crate::generate::measured): pack
    /// and unpack element by element where lengths differ, then pack and unpack with `memcpy`.
    pub fn by_hand(number: usize) -> *const [*mut c_void; 4];
}

/// A loop that packs. The arguments are the memory of the sample, the packed bytes and the lists of its tree.
pub type CPack = unsafe extern "C" fn(*const u8, *mut u8, *const *const i32);
/// A loop that unpacks. The arguments are those of [`CPack`].
pub type CUnpack = unsafe extern "C" fn(*mut u8, *const u8, *const *const i32);

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
    /// Returns the loops for the sample at index `number` of [`measured`](crate::generate::measured), whose
    /// tree is `tree`.
    pub fn of(number: usize, tree: &TypeTree) -> Self {
        Self { functions: unsafe { *by_hand(number) }, lists: lists(tree) }
    }

    /// Packs the sample.
    ///
    /// # Safety
    /// 1. The sample lies at `memory`.
    /// 2. `packed` is writable for the packed bytes of the sample.
    /// 3. The sample and the packed bytes do not overlap.
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
