//! A Fourier transform of two dimensions of an array. Each is whole on every rank while it is transformed: in
//! between, one line moves the array from slabs of the first dimension to slabs of the last one.
//!
//! Run it on any number of ranks: `mpiexec -n 4 target/debug/pencil`.

use dtype_runtime::{Error, layout::Darray, wire::Redistribution};
use mpi::traits::*;
use num_complex::Complex64;
use rustfft::FftPlanner;

/// The lengths of the array's dimensions.
const SIZES: [usize; 3] = [12, 10, 8];

/// Transforms each line of the last dimension, which lies in memory one element after another.
fn transform(lines: &mut [Complex64], length: usize) {
    FftPlanner::new().plan_fft_forward(length).process(lines);
}

fn value(index: usize) -> Complex64 {
    Complex64::new(((7 * index) % 23) as f64, ((3 * index) % 5) as f64)
}

fn main() -> Result<(), Error> {
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);

    // Slabs hold whole lines of the last dimension. The others hold whole lines of the first one, and lie in
    // memory in column-major order, so that those lines are contiguous, too.
    let slabs = Darray::blocks(rank, SIZES, [ranks, 1, 1]);
    let pencils = Darray::blocks(rank, SIZES, [1, 1, ranks]).column_major();
    let room =
        |part: &Darray<3>| Ok::<_, Error>(vec![Complex64::default(); part.local_sizes()?.iter().product()]);

    let mut lines = room(&slabs)?;
    let [_, columns, depth] = SIZES;
    let first = rank * SIZES[0].div_ceil(ranks) * columns * depth;
    lines.iter_mut().enumerate().for_each(|(i, line)| *line = value(first + i));
    transform(&mut lines, depth);
    let mut across = room(&pencils)?;
    Redistribution::new(&world, &slabs, &pencils)?.run(&lines, &mut across)?;
    transform(&mut across, SIZES[0]);

    // Every rank computes the whole transform of these two dimensions by itself.
    let mut whole: Vec<_> = (0..SIZES.iter().product()).map(value).collect();
    transform(&mut whole, depth);
    let local = pencils.local_sizes()?;
    let start = rank * depth.div_ceil(ranks);
    for (at, line) in across.chunks(SIZES[0]).enumerate() {
        let (j, k) = (at % columns, start + at / columns);
        let mut expected: Vec<_> = (0..SIZES[0]).map(|i| whole[(i * columns + j) * depth + k]).collect();
        transform(&mut expected, SIZES[0]);
        assert_eq!(line, expected, "line {j}, {k}");
    }
    assert_eq!(across.len(), local.iter().product());
    if rank == 0 {
        println!("{ranks} ranks transform an array of {SIZES:?} as one rank does");
    }
    Ok(())
}
