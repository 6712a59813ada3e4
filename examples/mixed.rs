//! A program in Rust and C: the type of `Particle` is defined in Rust, and C sends it with its datatype.
//!
//! Run it on two ranks: `cargo xtask example mixed -n 2`.

use std::os::raw::{c_int, c_void};

use dtype_runtime::MpiDatatype;
use mpi::{
    ffi::{MPI_Comm, MPI_Datatype},
    raw::AsRaw,
    traits::*,
};

/// `struct particle` of `examples/mixed.c`.
#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Particle {
    kind: u8,
    position: [f64; 3],
    weight: f32,
}

unsafe extern "C" {
    /// Exchanges values with another rank.
    ///
    /// # Safety
    /// 1. `sent` and `received` have `count` elements of the datatype. 2. The two do not overlap.
    fn swap(
        sent: *const c_void,
        received: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
        other: c_int,
        communicator: MPI_Comm,
    ) -> c_int;
}

fn main() {
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let particle =
        |rank: c_int, i: u8| Particle { kind: i, position: [f64::from(rank); 3], weight: f32::from(i) };
    let own: Vec<_> = (0..100).map(|i| particle(rank, i)).collect();
    let mut received = vec![Particle::default(); own.len()];

    let other = size - 1 - rank;
    let datatype = Particle::equivalent_datatype();
    // SAFETY: both vectors have 100 elements of the type that the datatype describes, and do not overlap.
    let code = unsafe {
        let (from, to) = (own.as_ptr().cast(), received.as_mut_ptr().cast());
        swap(from, to, own.len() as c_int, datatype.as_raw(), other, world.as_raw())
    };
    assert_eq!(code, 0);
    assert!(received.into_iter().eq((0..100).map(|i| particle(other, i))));
    if rank == 0 {
        println!("C has swapped 100 particles of Rust on {size} ranks");
    }
}
