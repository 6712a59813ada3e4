use dtype_runtime::{Comm, Halo, Result};
use mpi::topology::CartesianCommunicator;

fn step(ring: &Comm<CartesianCommunicator>, cells: &mut Vec<f64>) -> Result {
    let mut halo = ring.halo::<f64, 1>(Halo::new([6], 1))?;
    let pending = halo.start(cells)?;
    let ghost = cells[0];
    pending.finish()?;
    println!("{ghost}");
    Ok(())
}

fn main() {}
