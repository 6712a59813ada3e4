//! Random structs, made by `build/structs.rs`: each goes to the next rank in raw memory, and of that memory only the bytes of the
//! fields that travel may change, in the order in which they travel.

use std::{any::type_name, ops::Range, os::raw::c_int};

use dtype_runtime::{
    LayoutOrigin, MpiDatatype,
    dtype_core::{Bounds, Program, solve_layout},
};
use mpi::{ffi, raw::AsRaw, topology::SimpleCommunicator, traits::*};

use crate::inspect::mpi_pack;

/// Which bytes of a type travel, from how the compiler has laid it out: an opinion that owes nothing to the derive.
pub trait Cover {
    /// Appends the ranges of bytes of a value at `at`, in the order of travel.
    fn cover(at: usize, bytes: &mut Vec<Range<usize>>);
}

macro_rules! base_types {
    ($($type:ty)*) => {
        $(impl Cover for $type {
            fn cover(at: usize, bytes: &mut Vec<Range<usize>>) {
                bytes.push(at..at + size_of::<Self>());
            }
        })*
    };
}
base_types! { i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 bool char usize }

impl<T: Cover, const N: usize> Cover for [T; N] {
    fn cover(at: usize, bytes: &mut Vec<Range<usize>>) {
        (0..N).for_each(|i| T::cover(at + i * size_of::<T>(), bytes));
    }
}

macro_rules! tuples {
    ($($name:ident $index:tt)*) => {
        impl<$($name: Cover),*> Cover for ($($name,)*) {
            fn cover(_at: usize, _bytes: &mut Vec<Range<usize>>) {
                $($name::cover(_at + std::mem::offset_of!(Self, $index), _bytes);)*
            }
        }
    };
}
tuples! {}
tuples! { A 0 }
tuples! { A 0 B 1 }
tuples! { A 0 B 1 C 2 }

/// A length that the macro cannot see.
const LENGTH: usize = 3;

/// Solved at each instantiation.
#[derive(MpiDatatype)]
#[allow(dead_code)]
pub struct Generic<T, const N: usize> {
    first: u8,
    items: [T; N],
    last: T,
}

impl<T: Cover, const N: usize> Cover for Generic<T, N> {
    fn cover(at: usize, bytes: &mut Vec<Range<usize>>) {
        u8::cover(at + std::mem::offset_of!(Self, first), bytes);
        <[T; N]>::cover(at + std::mem::offset_of!(Self, items), bytes);
        T::cover(at + std::mem::offset_of!(Self, last), bytes);
    }
}

/// What is done with every struct.
pub trait Visit {
    fn visit<T: MpiDatatype + Cover>(&self);
}

/// Written by `build/structs.rs`, for nobody to read.
#[allow(clippy::all, clippy::pedantic, clippy::restriction)]
mod structs {
    use std::ops::Range;

    use dtype_runtime::MpiDatatype;

    use super::{Cover, Generic, LENGTH, Visit};

    include!(concat!(env!("OUT_DIR"), "/structs.rs"));
}
pub use structs::{SEED, for_each};

/// Every struct goes round the ring.
pub fn random(world: &SimpleCommunicator) {
    struct Ring<'a>(&'a SimpleCommunicator);
    impl Visit for Ring<'_> {
        fn visit<T: MpiDatatype + Cover>(&self) {
            let name = format!("{} of seed {SEED}", type_name::<T>());
            tiers_agree::<T>(&name);
            let mut order = Vec::new();
            (0..COUNT).for_each(|i| T::cover(i * size_of::<T>(), &mut order));
            let (size, rank) = (COUNT * size_of::<T>(), self.0.rank() as usize);
            let from = (rank + self.0.size() as usize - 1) % self.0.size() as usize;
            let sent = memory(rank, size);
            let mut received = memory(100 + rank, size);
            exchange::<T>(self.0, &sent, &mut received);
            let (sender, mut expected) = (memory(from, size), memory(100 + rank, size));
            for range in &order {
                expected[range.clone()].copy_from_slice(&sender[range.clone()]);
            }
            assert_eq!(received, expected, "{name}");
            let travelled: Vec<u8> = order.iter().flat_map(|range| &sent[range.clone()]).copied().collect();
            let packed = mpi_pack(sent.as_ptr(), COUNT, T::datatype().unwrap().as_raw(), travelled.len());
            packed_by_many(&packed, &travelled, &name);
        }
    }
    for_each(&Ring(world));
}

/// What MPI has packed in a process of many datatypes is what it should be. From the 512th datatype of a process on, MPICH
/// 4.0.2 packs whole multiples of some element size only, and forgets the rest: a loop over MPI_Type_contiguous and MPI_Pack
/// in C shows it. It transfers all of them well.
pub fn packed_by_many(packed: &[u8], expected: &[u8], name: &str) {
    assert!(expected.starts_with(packed), "{name}: {packed:?} instead of {expected:?}");
    assert!(expected.len() - packed.len() < 16, "{name}: {packed:?} instead of {expected:?}");
}

/// Values of each struct in a message.
const COUNT: usize = 3;

/// Bytes that differ from those of any other `which`, most of them.
pub fn memory(which: usize, size: usize) -> Vec<u8> {
    (0..size).map(|i| (i.wrapping_mul(167) + which.wrapping_mul(59) + (i >> 8)) as u8).collect()
}

/// Whatever tier has solved it, the cost is that of solving its tree again, and so are the calls.
fn tiers_agree<T: MpiDatatype>(name: &str) {
    let solution = solve_layout(T::type_tree(), &T::COSTS).unwrap();
    assert_eq!((T::cost(), T::optimality()), (solution.cost, solution.optimality), "{name}");
    let program = Program::lower(T::type_tree(), Some(Bounds::of_extent(size_of::<T>() as i64))).unwrap();
    if T::layout_origin() != LayoutOrigin::Expansion {
        assert_eq!(T::constructor_calls(), &program, "{name}");
    }
}

/// Sends to the next rank and receives from the one before, as so many values of `T`.
fn exchange<T: MpiDatatype>(world: &SimpleCommunicator, sent: &[u8], received: &mut [u8]) {
    let (rank, size) = (world.rank(), world.size());
    let datatype = T::datatype().unwrap().as_raw();
    assert!(sent.len() == received.len() && sent.len() == COUNT * size_of::<T>());
    // SAFETY: both buffers have room for so many values, an extent apart; MPI reads and writes bytes, not values.
    let code = unsafe {
        ffi::MPI_Sendrecv(
            sent.as_ptr().cast(),
            COUNT as c_int,
            datatype,
            (rank + 1) % size,
            0,
            received.as_mut_ptr().cast(),
            COUNT as c_int,
            datatype,
            (rank + size - 1) % size,
            0,
            world.as_raw(),
            ffi::RSMPI_STATUS_IGNORE,
        )
    };
    assert_eq!(code, 0);
}
