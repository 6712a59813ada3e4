//! Collective calls with another layout for each rank: the upper triangle of a matrix is scattered by rows,
//! so that all ranks have about as many elements, changed there, and gathered again.
//!
//! Run it on any number of ranks: `cargo xtask example unequal -n 4`.

use dtype_runtime::{Comm, Result, layout, run};

/// The number of rows and columns.
const N: usize = 100;

fn main() {
    run(program);
}

fn program(world: &Comm) -> Result {
    let (rank, size) = (world.rank(), world.size());

    // Of the first `i` rows, the triangle has this number of elements.
    let elements = |i: usize| i * N - i * (i.saturating_sub(1)) / 2;
    let all = elements(N);
    let first_row = |rank: usize| (0..N).find(|i| elements(*i) * size >= all * rank).unwrap_or(N);
    let rows = |rank: usize| (first_row(rank), if rank + 1 == size { N } else { first_row(rank + 1) });
    // The whole triangle, row by row: what the ranks have, one after another.
    let triangle = layout!(f64[N][N] => [i, i..] for i in 0..N);

    let (from, to) = rows(rank);
    let mut own = vec![0.0; elements(to) - elements(from)];
    let mut matrix: Vec<f64> = (0..N * N).map(|at| if rank == 0 { at as f64 } else { 0.0 }).collect();
    world.scatter_into(0, (rank == 0).then_some(&triangle.of(&matrix)?), &mut own[..])?;
    for value in &mut own {
        *value = -*value;
    }
    world.gather_into(0, &own, (rank == 0).then_some(&mut triangle.of_mut(&mut matrix)?))?;

    let counts = world.gather(0, &own.len())?;
    if let Some(counts) = counts {
        let is_changed = |at: usize| at / N <= at % N;
        let expected = (0..N * N).map(|at| if is_changed(at) { -(at as f64) } else { at as f64 });
        assert!(matrix.into_iter().eq(expected));
        println!("the {all} elements of a triangle came back from {size} ranks, in parts of {counts:?}");
    }
    Ok(())
}
