//! Particles move from rank to rank: each rank sends any number of them to any other, in one call.
//!
//! Run it on any number of ranks: `mpiexec -n 4 target/debug/migrate`.

use dtype_runtime::{Error, MpiDatatype, traits::*};
use mpi::{collective::SystemOperation, traits::*};

#[derive(MpiDatatype, Clone)]
#[repr(C)]
struct Particle {
    position: f64,
    velocity: f64,
    id: u64,
}

fn main() -> Result<(), Error> {
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());

    // Each rank owns the positions from its number up to the next one, on a ring.
    let start = |i: u64| Particle { position: f64::from(rank), velocity: 0.07 * i as f64, id: i };
    let mut particles: Vec<Particle> = (0..100).map(start).collect();
    let mut moved = 0;
    for _ in 0..50 {
        let mut leaving = vec![Vec::new(); size as usize];
        for mut particle in particles.drain(..) {
            particle.position = (particle.position + particle.velocity).rem_euclid(f64::from(size));
            leaving[particle.position as usize].push(particle);
        }
        let arrived: Vec<Vec<Particle>> = world.all_to_all_vec(&leaving)?;
        moved += arrived
            .iter()
            .enumerate()
            .filter(|(i, _)| *i != rank as usize)
            .map(|(_, p)| p.len())
            .sum::<usize>();
        particles = arrived.into_iter().flatten().collect();
    }

    let own = (particles.len() as u64, particles.iter().map(|particle| particle.id).sum::<u64>());
    let (mut all, mut ids, mut moves) = (0, 0, 0);
    world.all_reduce_into(&own.0, &mut all, SystemOperation::sum());
    world.all_reduce_into(&own.1, &mut ids, SystemOperation::sum());
    world.all_reduce_into(&(moved as u64), &mut moves, SystemOperation::sum());
    assert_eq!((all, ids), (100 * size as u64, 4950 * size as u64), "no particle is lost");
    if rank == 0 {
        println!("{all} particles on {size} ranks have moved to another rank {moves} times");
    }
    Ok(())
}
