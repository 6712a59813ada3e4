//! Collective calls with another layout for each rank: the upper triangle of a matrix is scattered by rows,
//! so that all ranks have about as many elements, changed there, and gathered again.
//!
//! Run it on any number of ranks: `cargo xtask example unequal -n 4`.

use dtype_runtime::{Error, layout, layout::DynamicLayout, traits::*};
use mpi::traits::*;

/// The number of rows and columns.
const N: usize = 100;

fn main() -> Result<(), Error> {
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    let (rank, size) = (world.rank() as usize, world.size() as usize);

    // Of the first `i` rows, the triangle has this number of elements.
    let elements = |i: usize| i * N - i * (i.saturating_sub(1)) / 2;
    let all = elements(N);
    let first_row = |rank: usize| (0..N).find(|i| elements(*i) * size >= all * rank).unwrap_or(N);
    let rows = |rank: usize| (first_row(rank), if rank + 1 == size { N } else { first_row(rank + 1) });
    let triangle = |rank: usize| -> Result<DynamicLayout<f64, 2>, Error> {
        let (from, to) = rows(rank);
        Ok(layout!(f64[N][N] => [i, i..] for i in from..to)?)
    };

    let root = world.process_at_rank(0);
    let (from, to) = rows(rank);
    let mut own = vec![0.0; elements(to) - elements(from)];
    let mut matrix = vec![0.0; N * N];
    if rank == 0 {
        for (at, value) in matrix.iter_mut().enumerate() {
            *value = at as f64;
        }
        let layouts = (0..size).map(triangle).collect::<Result<Vec<_>, _>>()?;
        let parts = layouts.iter().map(|part| part.of(&matrix)).collect::<Result<Vec<_>, _>>()?;
        root.scatter_varcount_packed_into_root(&parts, &mut own[..])?;
    } else {
        root.scatter_varcount_packed_into(&mut own[..])?;
    }
    for value in &mut own {
        *value = -*value;
    }

    if rank > 0 {
        return root.gather_packed(&own[..]);
    }
    let mut parts: Vec<Vec<f64>> =
        (0..size).map(|rank| vec![0.0; elements(rows(rank).1) - elements(rows(rank).0)]).collect();
    root.gather_varcount_packed_into_root(&own[..], &mut parts)?;
    let changed = parts.concat();
    let upper = (0..N).flat_map(|i| (i..N).map(move |j| -((i * N + j) as f64)));
    assert!(changed.into_iter().eq(upper));
    let counts: Vec<_> = parts.iter().map(Vec::len).collect();
    println!("the {all} elements of a triangle came back from {size} ranks, in parts of {counts:?}");
    Ok(())
}
