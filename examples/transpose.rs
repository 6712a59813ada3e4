//! Transposes a matrix that is distributed by rows. The datatypes alone rearrange the elements; the program
//! copies none.
//!
//! Run it on any number of ranks that divides 24: `mpiexec -n 4 target/debug/transpose`.

use dtype_runtime::{Comm, Result, layout, layout::split_mut, run};

/// The number of rows, and of columns, of the matrix.
const N: usize = 24;

fn main() {
    run(program);
}

fn program(world: &Comm) -> Result {
    let (rank, size) = (world.rank(), world.size());
    assert!(N.is_multiple_of(size), "{N} rows cannot be shared equally by {size} ranks");

    // This rank's rows of the matrix, and of its transpose.
    let rows = N / size;
    let value = |i: usize, j: usize| (1000 * i + j) as f64;
    let matrix: Vec<f64> = (0..rows * N).map(|at| value(rank * rows + at / N, at % N)).collect();
    let mut transpose = vec![-1.0; rows * N];

    // A block for each rank: the columns that become rows on that rank. The block is sent row by row …
    let starts = (0..size).map(|peer| peer * rows);
    let blocks = starts.clone().map(|start| Ok(layout!(f64[rows][N] => [.., start..start + rows])?));
    let blocks = blocks.collect::<Result<Vec<_>>>()?;
    let sent = blocks.iter().map(|block| block.of(&matrix)).collect::<Result<Vec<_>>>()?;
    // … and received column by column: both layouts have the same type signature.
    let columns = starts.map(|start| Ok(layout!(f64[rows][N] => [.., j] for j in start..start + rows)?));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let (_, mut places) = split_mut(&mut transpose, &columns)?;
    world.all_to_all_into(&sent, &mut places)?;

    for (at, found) in transpose.iter().enumerate() {
        assert_eq!(*found, value(at % N, rank * rows + at / N));
    }
    if rank == 0 {
        println!("{size} ranks have transposed a matrix of {N} rows; its blocks arrived through");
        println!("{}", layout!(f64[rows][N] => [.., j] for j in 0..rows)?.explain());
    }
    Ok(())
}
