//! Particles move from rank to rank: each rank sends any number of them to any other, in one call.
//!
//! Run it on any number of ranks: `mpiexec -n 4 target/debug/migrate`.

use dtype_runtime::{Comm, MpiDatatype, Result, run};

#[derive(MpiDatatype, Clone)]
#[repr(C)]
struct Particle {
    position: f64,
    velocity: f64,
    id: u64,
}

fn main() {
    run(program);
}

fn program(world: &Comm) -> Result {
    let (rank, size) = (world.rank(), world.size());

    // Each rank owns the positions from its number up to the next one, on a ring.
    let start = |i: u64| Particle { position: rank as f64, velocity: 0.07 * i as f64, id: i };
    let mut particles: Vec<Particle> = (0..100).map(start).collect();
    let mut moved = 0;
    for _ in 0..50 {
        let mut leaving = vec![Vec::new(); size];
        for mut particle in particles.drain(..) {
            particle.position = (particle.position + particle.velocity).rem_euclid(size as f64);
            leaving[particle.position as usize].push(particle);
        }
        let arrived = world.all_to_all(&leaving)?;
        moved += arrived.iter().enumerate().filter(|(i, _)| *i != rank).map(|(_, p)| p.len()).sum::<usize>();
        particles = arrived.into_iter().flatten().collect();
    }

    let ids = particles.iter().map(|particle| particle.id as usize).sum();
    let sums = world.all_reduce(&[particles.len(), ids, moved][..], |a, b| a + b)?;
    let [all, ids, moves] = sums[..] else { unreachable!("there are three sums") };
    assert_eq!((all, ids), (100 * size, 4950 * size), "no particle is lost");
    if rank == 0 {
        println!("{all} particles on {size} ranks have moved to another rank {moves} times");
    }
    Ok(())
}
