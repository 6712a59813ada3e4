//! A slice of structs goes round a ring of ranks: `#[derive(MpiDatatype)]`, and `exchange`, which sends and
//! receives at the same time.
//!
//! Run it on any number of ranks: `mpiexec -n 4 target/debug/ring`.

use dtype_runtime::{Comm, MpiDatatype, Result, run};

#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Particle {
    position: [f64; 3],
    velocity: [f64; 3],
    id: u64,
    kind: u8,
}

fn main() {
    run(program);
}

fn program(world: &Comm) -> Result {
    let (rank, size) = (world.rank(), world.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);

    let particle =
        |id| Particle { position: [id as f64, 0.5, -0.5], id, kind: rank as u8, ..Particle::default() };
    let own: Vec<Particle> = (0..1000).map(particle).collect();

    let mut travelling = own.clone();
    let mut arriving = vec![Particle::default(); own.len()];
    for _ in 0..size {
        world.exchange([(next, &travelling)], [(previous, &mut arriving[..])])?;
        std::mem::swap(&mut travelling, &mut arriving);
    }

    assert_eq!(travelling, own, "after a whole round everyone has their own particles back");
    if rank == 0 {
        println!("{} particles returned to each of {size} ranks", own.len());
    }
    Ok(())
}
