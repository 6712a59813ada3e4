use dtype_runtime::layout::Halo;
use mpi::topology::CartesianCommunicator;

fn step(ring: &CartesianCommunicator, cells: &mut Vec<f64>) -> Result<(), dtype_runtime::Error> {
    let pending = Halo::new([6], 1).start(ring, cells)?;
    let ghost = cells[0];
    pending.finish()?;
    println!("{ghost}");
    Ok(())
}

fn main() {}
