//! A Fourier transform of two dimensions of an array. Each is whole on every rank while it is transformed: in
//! between, one line moves the array from slabs of the first dimension to slabs of the last one.
//!
//! Run it on any number of ranks: `mpiexec -n 4 target/debug/pencil`.

use dtype_runtime::{Comm, Result, run};
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

fn main() {
    run(program);
}

fn program(world: &Comm) -> Result {
    let ranks = world.size();

    // Slabs hold whole lines of the last dimension. The others hold whole lines of the first one, and lie in
    // memory in column-major order, so that those lines are contiguous, too.
    let slabs = world.blocks(SIZES, [ranks, 1, 1]);
    let pencils = world.blocks(SIZES, [1, 1, ranks]).column_major();

    let mut lines = slabs.vec(Complex64::default());
    let [_, columns, depth] = SIZES;
    let [own, _, _] = slabs.ranges();
    let first = own.start * columns * depth;
    lines.iter_mut().enumerate().for_each(|(i, line)| *line = value(first + i));
    transform(&mut lines, depth);
    let mut across = pencils.vec(Complex64::default());
    world.redistribute(&slabs, &lines, &pencils, &mut across)?;
    transform(&mut across, SIZES[0]);

    // Every rank computes the whole transform of these two dimensions by itself.
    let mut whole: Vec<_> = (0..SIZES.iter().product()).map(value).collect();
    transform(&mut whole, depth);
    let [_, _, own] = pencils.ranges();
    for (at, line) in across.chunks(SIZES[0]).enumerate() {
        let (j, k) = (at % columns, own.start + at / columns);
        let mut expected: Vec<_> = (0..SIZES[0]).map(|i| whole[(i * columns + j) * depth + k]).collect();
        transform(&mut expected, SIZES[0]);
        assert_eq!(line, expected, "line {j}, {k}");
    }
    assert_eq!(across.len(), SIZES[0] * columns * own.len());
    if world.rank() == 0 {
        println!("{ranks} ranks transform an array of {SIZES:?} as one rank does");
    }
    Ok(())
}
