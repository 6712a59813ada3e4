//! A matrix product, distributed by columns. Every rank has the first factor, receives its columns of the
//! second factor from rank 0, and sends its columns of the product back.
//!
//! Run it on any number of ranks: `mpiexec -n 3 target/debug/product`.

use dtype_runtime::{
    Comm, Result, layout,
    layout::{ArrayOrder, Darray, Distribution},
    run,
};

const ROWS: usize = 30;
const INNER: usize = 20;
const COLUMNS: usize = 25;

/// Returns the product of a matrix and some columns of another one.
fn product(first: &[[f64; INNER]; ROWS], columns: &[f64], count: usize) -> Vec<f64> {
    let cell = |i: usize, j: usize| (0..INNER).map(|k| first[i][k] * columns[k * count + j]).sum();
    (0..ROWS * count).map(|at| cell(at / count, at % count)).collect()
}

fn main() {
    run(program);
}

fn program(world: &Comm) -> Result {
    let (rank, size) = (world.rank(), world.size());
    let root = world.peer(0);

    let first = std::array::from_fn(|i| std::array::from_fn(|k| (i + 2 * k) as f64));
    // The columns of a matrix that belong to a rank, in a cyclic distribution as in ScaLAPACK.
    let share = |rank: usize, rows: usize| {
        let distributions = [Distribution::None, Distribution::Cyclic(None)];
        let (gsizes, psizes, order) = ([rows, COLUMNS], [1, size], ArrayOrder::RowMajor);
        Darray { rank, gsizes, distributions, psizes, order }.layout::<f64>()
    };
    let count = |rank: usize| (rank..COLUMNS).step_by(size).len();
    let own = count(rank);

    // The second factor: rank 0 sends each rank its columns of the whole matrix, which arrive without gaps.
    let second: [[f64; COLUMNS]; INNER] =
        std::array::from_fn(|k| std::array::from_fn(|j| (3 * k) as f64 - j as f64));
    let mut columns = vec![0.0; INNER * own];
    let receive = root.start().receive_into(&mut columns[..])?;
    if rank == 0 {
        for to in 0..size {
            world.peer(to).send(&share(to, INNER)?.of(&second)?)?;
        }
    }
    receive.finish()?;

    // The product: each rank sends its columns without gaps, which arrive in the whole matrix.
    let part = product(&first, &columns, own);
    let mut whole = vec![[0.0; COLUMNS]; ROWS];
    let send = root.start().send(&part)?;
    if rank == 0 {
        for from in 0..size {
            let columns = share(from, ROWS)?;
            world.peer(from).receive_into(&mut columns.of_mut(&mut whole)?)?;
        }
    }
    send.finish()?;

    if rank == 0 {
        assert_eq!(whole.concat(), product(&first, &second.concat(), COLUMNS));
        println!("the product of {size} ranks is that of one");
        println!("the trace of its square part: {}", {
            let diagonal = layout!(f64[ROWS][COLUMNS] => [i, i] for i in 0..COLUMNS);
            let bytes = diagonal.of(&whole)?.pack();
            bytes
                .chunks_exact(8)
                .map(|value| f64::from_ne_bytes(value.try_into().expect("8 bytes")))
                .sum::<f64>()
        });
    }
    Ok(())
}
