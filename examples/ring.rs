//! A slice of structs goes round a ring of ranks: `#[derive(MpiDatatype)]` and rsmpi's own calls.
//!
//! Run it on any number of ranks: `mpiexec -n 4 target/debug/ring`.

use dtype_runtime::MpiDatatype;
use mpi::{point_to_point::send_receive_into, traits::*};

#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Particle {
    position: [f64; 3],
    velocity: [f64; 3],
    id: u64,
    kind: u8,
}

fn main() {
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let next = world.process_at_rank((rank + 1) % size);
    let previous = world.process_at_rank((rank + size - 1) % size);

    let particle =
        |id| Particle { position: [id as f64, 0.5, -0.5], id, kind: rank as u8, ..Particle::default() };
    let own: Vec<Particle> = (0..1000).map(particle).collect();

    let mut travelling = own.clone();
    let mut arriving = vec![Particle::default(); own.len()];
    for _ in 0..size {
        send_receive_into(&travelling[..], &next, &mut arriving[..], &previous);
        std::mem::swap(&mut travelling, &mut arriving);
    }

    assert_eq!(travelling, own, "after a whole round everyone has their own particles back");
    if rank == 0 {
        println!("{} particles returned to each of {size} ranks", own.len());
    }
}
