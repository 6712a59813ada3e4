//! `of` where `of_mut` is needed, in rsmpi's calls and in our own.

use dtype_runtime::{Comm, Result, layout};
use mpi::traits::*;

fn calls(world: &Comm) -> Result {
    let column = layout!(f64[9][9] => [.., 1]);
    let mut matrix = [[0.0; 9]; 9];
    world.process_at_rank(0).receive_into(&mut column.of(&matrix));
    world.peer(0).receive_into(&mut column.of(&matrix))?;
    world.process_at_rank(0).receive_into(&mut column.of_mut(&mut matrix));
    Ok(())
}

fn main() {}
