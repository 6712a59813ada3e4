//! Transposes a matrix that is distributed by rows. The datatypes alone rearrange the elements; the program
//! copies none.
//!
//! Run it on any number of ranks that divides 24: `mpiexec -n 4 target/debug/transpose`.

use dtype_runtime::{Error, layout};
use mpi::traits::*;

/// The number of rows, and of columns, of the matrix.
const N: usize = 24;

fn main() -> Result<(), Error> {
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    let (rank, size) = (world.rank() as usize, world.size() as usize);
    assert!(N.is_multiple_of(size), "{N} rows cannot be shared equally by {size} ranks");

    // This rank's rows of the matrix, and of its transpose.
    let rows = N / size;
    let value = |i: usize, j: usize| (1000 * i + j) as f64;
    let matrix: Vec<f64> = (0..rows * N).map(|at| value(rank * rows + at / N, at % N)).collect();
    let mut transpose = vec![-1.0; rows * N];

    // A block for each rank: the columns that become rows on that rank. The block is sent row by row …
    let peers = || (0..size as i32).map(|peer| (world.process_at_rank(peer), peer as usize * rows));
    let mut blocks = Vec::new();
    for (_, start) in peers() {
        blocks.push(layout!(f64[rows][N] => [.., start..start + rows])?.of(&matrix)?);
    }
    mpi::request::scope(|scope| -> Result<(), Error> {
        let sends: Vec<_> =
            peers().zip(&blocks).map(|((peer, _), block)| peer.immediate_send(scope, block)).collect();
        // … and received column by column: both layouts have the same type signature.
        for (peer, start) in peers() {
            let columns = layout!(f64[rows][N] => [.., j] for j in start..start + rows)?;
            peer.receive_into(&mut columns.of_mut(&mut transpose)?);
        }
        for send in sends {
            send.wait();
        }
        Ok(())
    })?;

    for (at, found) in transpose.iter().enumerate() {
        assert_eq!(*found, value(at % N, rank * rows + at / N));
    }
    if rank == 0 {
        println!("{size} ranks have transposed a matrix of {N} rows; its blocks arrived through");
        println!("{}", layout!(f64[rows][N] => [.., j] for j in 0..rows)?.explain());
    }
    Ok(())
}
