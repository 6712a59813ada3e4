//! Types that MPI cannot carry, and references to what it can.

use dtype_runtime::traits::*;
use mpi::{topology::SimpleCommunicator, traits::*};

fn main() {
    let world = SimpleCommunicator::world();
    let other = world.process_at_rank(0);
    other.send_packed(&String::from("text")).unwrap();
    other.send_packed(&[Some(1u8)]).unwrap();
    other.send_packed(&&vec![1u8]).unwrap();
    other.receive_values_into(&mut [None::<u8>; 3]).unwrap();
    other.receive_values_into("text").unwrap();
}
