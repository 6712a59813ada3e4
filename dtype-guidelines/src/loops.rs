//! The loops by hand: those of `c/user.c`, and those that the build script writes for published applications.

// All loops stay within the memory and the packed bytes of their group. Before the measurement, their packed
// bytes are compared with those of MPI.
#![allow(clippy::undocumented_unsafe_blocks)]

use crate::written::Written;

/// The direction of a copy between memory and packed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Direction {
    Pack,
    Unpack,
}

/// The loops that a user would write to pack by hand. Lengths and places are in elements.
#[derive(Clone, Debug)]
pub enum Loops {
    /// Blocks within a period, which is repeated.
    Periodic { count: usize, period: usize, places: Vec<usize>, lengths: Vec<usize> },
    /// Blocks of one length at listed places.
    Listed { length: usize, places: Vec<i32> },
    /// Several loops, one after the other.
    Several(Vec<Self>),
    /// The loops of a sample, which the build script wrote.
    Written(Written),
}

impl Loops {
    /// Returns the loops over blocks within a period. Each block is a place and a length.
    pub fn periodic(count: u64, period: u64, blocks: &[(u64, u64)]) -> Self {
        let (places, lengths) = blocks.iter().map(|(at, length)| (*at as usize, *length as usize)).unzip();
        Self::Periodic { count: count as usize, period: period as usize, places, lengths }
    }

    /// Returns the loop over one block of `count` elements.
    pub fn contiguous(count: u64) -> Self {
        Self::periodic(1, count, &[(0, count)])
    }

    /// Packs or unpacks elements of `size` bytes, and returns their number. For [`Written`](Self::Written)
    /// loops it returns 0.
    ///
    /// # Safety
    /// 1. All memory that the loops reach from `memory` on is allocated: readable to pack, writable to
    ///    unpack.
    /// 2. `packed` is allocated for as many bytes as the loops pack: writable to pack, readable to unpack.
    /// 3. The memory of 1 and the packed bytes of 2 do not overlap.
    /// 4. `memory` and `packed` are aligned as elements of `size` bytes are.
    ///
    /// # Panics
    /// If `size` is not 1, 2, 4, 8 or 16.
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

/// A loop over a period. The arguments are memory, packed bytes, count, period, number of blocks, places and
/// lengths.
type Periodic =
    unsafe extern "C" fn(*mut u8, *mut u8, usize, usize, usize, *const usize, *const usize) -> usize;
/// A loop over a list. The arguments are memory, packed bytes, count, length and places.
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
    // The pointers that a function only reads are `const` in C.
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
