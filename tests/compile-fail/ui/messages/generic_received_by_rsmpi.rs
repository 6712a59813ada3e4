//! The bound that a generic function needs for a type that it receives.

use dtype_runtime::{MpiDatatype, types::AnyPattern};
use mpi::{topology::SimpleCommunicator, traits::*};

fn receive<T: MpiDatatype>(world: &SimpleCommunicator, values: &mut [T]) {
    world.any_process().receive_into(&mut T::buffer_mut(values));
}

fn receive_any_pattern<T: MpiDatatype + AnyPattern>(world: &SimpleCommunicator, values: &mut [T]) {
    world.any_process().receive_into(&mut T::buffer_mut(values));
}

fn main() {}
