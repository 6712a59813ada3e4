//! The user's loops of `c/user.c`, and those that the build script wrote for published applications.

// All loops stay within the memory and the packed bytes of their group: what they pack is compared with what
// MPI packs before anything is measured.
#![allow(clippy::undocumented_unsafe_blocks)]

use crate::packing::drawn::Written;

/// What a user would write to pack by hand. Lengths and places are in elements.
#[derive(Clone, Debug)]
pub enum Loops {
    /// Blocks (place, length) within a period, again and again.
    Periodic { count: usize, period: usize, blocks: Vec<(usize, usize)> },
    /// Blocks of one length at places in a list.
    Listed { length: usize, places: Vec<i32> },
    /// Loops one after the other.
    Several(Vec<Self>),
    /// Those of a layout that the build script knows, by its number.
    Written(Written),
}

impl Loops {
    /// One block of so many elements.
    pub fn contiguous(count: usize) -> Self {
        Self::Periodic { count: 1, period: count, blocks: vec![(0, count)] }
    }

    /// Elements at a stride.
    pub fn strided(count: usize, stride: usize) -> Self {
        Self::Periodic { count, period: stride, blocks: vec![(0, 1)] }
    }

    /// Packs elements of `size` bytes; says how many.
    ///
    /// # Safety
    /// 1. All that the loops read from `memory` on is readable. 2. `packed` is writable for as many bytes as
    ///    they pack. 3. The two do not overlap. 4. Both are aligned as elements of `size` bytes are.
    ///
    /// # Panics
    /// For elements of another size than 1, 2, 4, 8 and 16 bytes.
    pub unsafe fn pack(&self, size: usize, memory: *const u8, packed: *mut u8) -> usize {
        let functions = functions(size);
        match self {
            Self::Periodic { count, period, blocks } => {
                let (places, lengths): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
                let (places, lengths) = (places.as_ptr(), lengths.as_ptr());
                unsafe {
                    (functions.pack_periodic)(memory, packed, *count, *period, blocks.len(), places, lengths)
                }
            }
            Self::Listed { length, places } => unsafe {
                (functions.pack_listed)(memory, packed, places.len(), *length, places.as_ptr())
            },
            Self::Several(all) => all
                .iter()
                .fold(0, |done, loops| unsafe { done + loops.pack(size, memory, packed.add(done * size)) }),
            Self::Written(written) => {
                unsafe { written.pack(memory, packed) };
                0
            }
        }
    }

    /// Unpacks elements of `size` bytes; says how many.
    ///
    /// # Safety
    /// As of [`pack`](Self::pack), with `memory` writable and `packed` readable.
    ///
    /// # Panics
    /// For elements of another size than 1, 2, 4, 8 and 16 bytes.
    pub unsafe fn unpack(&self, size: usize, memory: *mut u8, packed: *const u8) -> usize {
        let functions = functions(size);
        match self {
            Self::Periodic { count, period, blocks } => {
                let (places, lengths): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
                let (places, lengths) = (places.as_ptr(), lengths.as_ptr());
                unsafe {
                    (functions.unpack_periodic)(
                        memory,
                        packed,
                        *count,
                        *period,
                        blocks.len(),
                        places,
                        lengths,
                    )
                }
            }
            Self::Listed { length, places } => unsafe {
                (functions.unpack_listed)(memory, packed, places.len(), *length, places.as_ptr())
            },
            Self::Several(all) => all
                .iter()
                .fold(0, |done, loops| unsafe { done + loops.unpack(size, memory, packed.add(done * size)) }),
            Self::Written(written) => {
                unsafe { written.unpack(memory, packed) };
                0
            }
        }
    }
}

/// From memory to packed bytes: count, period, number of blocks, places and lengths.
type PackPeriodic =
    unsafe extern "C" fn(*const u8, *mut u8, usize, usize, usize, *const usize, *const usize) -> usize;
type UnpackPeriodic =
    unsafe extern "C" fn(*mut u8, *const u8, usize, usize, usize, *const usize, *const usize) -> usize;
/// From memory to packed bytes: count, length and places.
type PackListed = unsafe extern "C" fn(*const u8, *mut u8, usize, usize, *const i32) -> usize;
type UnpackListed = unsafe extern "C" fn(*mut u8, *const u8, usize, usize, *const i32) -> usize;

/// The functions for elements of one size.
struct Functions {
    pack_periodic: PackPeriodic,
    unpack_periodic: UnpackPeriodic,
    pack_listed: PackListed,
    unpack_listed: UnpackListed,
}

macro_rules! functions {
    ($(
        $size:literal: $pack_periodic:ident $unpack_periodic:ident $pack_listed:ident $unpack_listed:ident;
    )*) => {
        unsafe extern "C" {$(
            fn $pack_periodic(
                memory: *const u8, packed: *mut u8, count: usize, period: usize, blocks: usize,
                places: *const usize, lengths: *const usize,
            ) -> usize;
            fn $unpack_periodic(
                memory: *mut u8, packed: *const u8, count: usize, period: usize, blocks: usize,
                places: *const usize, lengths: *const usize,
            ) -> usize;
            fn $pack_listed(
                memory: *const u8, packed: *mut u8, count: usize, length: usize, places: *const i32,
            ) -> usize;
            fn $unpack_listed(
                memory: *mut u8, packed: *const u8, count: usize, length: usize, places: *const i32,
            ) -> usize;
        )*}

        fn functions(size: usize) -> Functions {
            match size {
                $($size => Functions {
                    pack_periodic: $pack_periodic,
                    unpack_periodic: $unpack_periodic,
                    pack_listed: $pack_listed,
                    unpack_listed: $unpack_listed,
                },)*
                _ => panic!("no loops for elements of {size} bytes"),
            }
        }
    };
}

functions! {
    1: user_pack_periodic_1 user_unpack_periodic_1 user_pack_listed_1 user_unpack_listed_1;
    2: user_pack_periodic_2 user_unpack_periodic_2 user_pack_listed_2 user_unpack_listed_2;
    4: user_pack_periodic_4 user_unpack_periodic_4 user_pack_listed_4 user_unpack_listed_4;
    8: user_pack_periodic_8 user_unpack_periodic_8 user_pack_listed_8 user_unpack_listed_8;
    16: user_pack_periodic_16 user_unpack_periodic_16 user_pack_listed_16 user_unpack_listed_16;
}
