//! The user's loops of `c/user.c`, and those that the build script wrote for published applications.

// All loops stay within the memory and the packed bytes of their group: what they pack is compared with what
// MPI packs before anything is measured.
#![allow(clippy::undocumented_unsafe_blocks)]

use crate::packing::drawn::Written;

/// From memory to packed bytes, or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // as they say
pub enum Direction {
    Pack,
    Unpack,
}

/// What a user would write to pack by hand. Lengths and places are in elements.
#[derive(Clone, Debug)]
pub enum Loops {
    /// Blocks within a period, again and again.
    Periodic { count: usize, period: usize, places: Vec<usize>, lengths: Vec<usize> },
    /// Blocks of one length at places in a list.
    Listed { length: usize, places: Vec<i32> },
    /// Loops one after the other.
    Several(Vec<Self>),
    /// Those of a layout that the build script knows, by its number.
    Written(Written),
}

impl Loops {
    /// Blocks (place, length) within a period, again and again.
    pub fn periodic(count: u64, period: u64, blocks: &[(u64, u64)]) -> Self {
        let (places, lengths) = blocks.iter().map(|(at, length)| (*at as usize, *length as usize)).unzip();
        Self::Periodic { count: count as usize, period: period as usize, places, lengths }
    }

    /// One block of so many elements.
    pub fn contiguous(count: u64) -> Self {
        Self::periodic(1, count, &[(0, count)])
    }

    /// Packs or unpacks elements of `size` bytes; says how many.
    ///
    /// # Safety
    /// 1. All that the loops reach from `memory` on is there: readable to pack, writable to unpack.
    /// 2. So is `packed`, the other way round, for as many bytes as they pack.
    /// 3. The two do not overlap.
    /// 4. Both are aligned as elements of `size` bytes are.
    ///
    /// # Panics
    /// For elements of another size than 1, 2, 4, 8 and 16 bytes.
    pub unsafe fn run(&self, direction: Direction, size: usize, memory: *mut u8, packed: *mut u8) -> usize {
        let (periodic, listed) = functions(direction, size);
        match self {
            Self::Periodic { count, period, places, lengths } => {
                let (blocks, places, lengths) = (places.len(), places.as_ptr(), lengths.as_ptr());
                unsafe { periodic(memory, packed, *count, *period, blocks, places, lengths) }
            }
            Self::Listed { length, places } => unsafe {
                listed(memory, packed, places.len(), *length, places.as_ptr())
            },
            Self::Several(all) => all.iter().fold(0, |done, loops| unsafe {
                done + loops.run(direction, size, memory, packed.add(done * size))
            }),
            Self::Written(written) => {
                match direction {
                    Direction::Pack => unsafe { written.pack(memory, packed) },
                    Direction::Unpack => unsafe { written.unpack(memory, packed) },
                }
                0
            }
        }
    }
}

/// Between memory and packed bytes: count, period, number of blocks, places and lengths.
type Periodic =
    unsafe extern "C" fn(*mut u8, *mut u8, usize, usize, usize, *const usize, *const usize) -> usize;
/// Between memory and packed bytes: count, length and places.
type Listed = unsafe extern "C" fn(*mut u8, *mut u8, usize, usize, *const i32) -> usize;

macro_rules! functions {
    ($(
        $size:literal: $pack_periodic:ident $unpack_periodic:ident $pack_listed:ident $unpack_listed:ident;
    )*) => {
        functions! { @declare $($pack_periodic $unpack_periodic)*; $($pack_listed $unpack_listed)* }

        fn functions(direction: Direction, size: usize) -> (Periodic, Listed) {
            match (direction, size) {
                $((Direction::Pack, $size) => ($pack_periodic, $pack_listed),
                (Direction::Unpack, $size) => ($unpack_periodic, $unpack_listed),)*
                _ => panic!("no loops for elements of {size} bytes"),
            }
        }
    };
    // What is only read is `const` in C.
    (@declare $($periodic:ident)*; $($listed:ident)*) => {
        unsafe extern "C" {
            $(fn $periodic(
                memory: *mut u8, packed: *mut u8, count: usize, period: usize, blocks: usize,
                places: *const usize, lengths: *const usize,
            ) -> usize;)*
            $(fn $listed(
                memory: *mut u8, packed: *mut u8, count: usize, length: usize, places: *const i32,
            ) -> usize;)*
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
