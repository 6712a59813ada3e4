//! Types that rsmpi's own calls cannot take.

use dtype_runtime::MpiDatatype;
use mpi::{topology::SimpleCommunicator, traits::*};

#[derive(MpiDatatype)]
#[repr(u8)]
enum Phase {
    Solid,
    Liquid,
}

#[derive(MpiDatatype)]
struct Node {
    value: f64,
    #[mpi(skip)]
    neighbours: Vec<usize>,
}

fn main() {
    let world = SimpleCommunicator::world();
    let mut phases = [Phase::Solid, Phase::Liquid];
    world.process_at_rank(0).receive_into(&mut phases[..]);
    world.process_at_rank(0).send(&Node { value: 1.0, neighbours: Vec::new() });
}
