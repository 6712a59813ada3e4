//! A view whose shape is checked only at run time is a `Result`; values with owned data are not reduced, and
//! rsmpi's own calls do not take them.

use dtype_runtime::{Comm, MpiMessage, Result, layout};
use mpi::traits::*;

#[derive(MpiMessage, Clone)]
struct Task {
    name: String,
}

fn calls(world: &Comm, task: Task) -> Result {
    let other = world.peer(0);
    let mut matrix = vec![0.0f64; 81];
    let column = layout!(f64[9][9] => [.., 1]);
    other.send(&column.of(&matrix))?;
    other.receive_into(&mut column.of_mut(&mut matrix))?;
    world.all_reduce(&task, |a, _| a.clone())?;
    world.process_at_rank(0).send(&task);
    Ok(())
}

fn main() {}
