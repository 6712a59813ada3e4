//! A program in Rust that sends structs by rsmpi alone. It imports no function of MPI: `mpi-sys` looks them
//! up.

use mpi::{
    Address,
    datatype::{Equivalence, UncommittedUserDatatype, UserDatatype},
    traits::*,
};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Sample {
    kind: u8,
    value: f64,
    level: i16,
    weight: f32,
}

// SAFETY: the datatype has the fields of the struct at their places.
unsafe impl Equivalence for Sample {
    type Out = UserDatatype;

    fn equivalent_datatype() -> UserDatatype {
        let parts = [
            UncommittedUserDatatype::contiguous(1, &u8::equivalent_datatype()),
            UncommittedUserDatatype::contiguous(1, &f64::equivalent_datatype()),
            UncommittedUserDatatype::contiguous(1, &i16::equivalent_datatype()),
            UncommittedUserDatatype::contiguous(1, &f32::equivalent_datatype()),
        ];
        let parts: Vec<_> = parts.iter().map(UncommittedUserDatatype::as_ref).collect();
        UserDatatype::structured(&[1; 4], &[0 as Address, 8, 16, 20], &parts)
    }
}

fn main() {
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    let sample = |i: u8| Sample { kind: i, value: f64::from(i) / 3.0, level: i16::from(i), weight: 0.5 };
    let samples: Vec<_> = (0..10_000).map(|i| sample((i % 251) as u8)).collect();
    for _ in 0..20 {
        if world.rank() == 0 {
            world.process_at_rank(1).send(&samples[..]);
        } else {
            let mut received = vec![Sample::default(); samples.len()];
            world.process_at_rank(0).receive_into(&mut received[..]);
            assert_eq!(received, samples);
        }
    }
    println!("rank {} is done", world.rank());
}
