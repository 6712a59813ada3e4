//! Reductions with closures: a scalar product that does not depend on the number of ranks, and the place of
//! the largest element.
//!
//! Run it on any number of ranks: `mpiexec -n 4 target/debug/dot`.

use dtype_runtime::{Comm, MpiDatatype, Result, run};

const ELEMENTS: usize = 1000;

/// A sum with the error of its additions.
#[derive(MpiDatatype, Clone, Copy, Debug, Default)]
struct Sum {
    value: f64,
    error: f64,
}

impl Sum {
    /// Adds two sums, and keeps what the addition loses.
    fn plus(&self, other: &Self) -> Self {
        let value = self.value + other.value;
        let part = value - self.value;
        let lost = (self.value - (value - part)) + (other.value - part);
        Self { value, error: self.error + other.error + lost }
    }
}

/// The largest element, and its place.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
struct Largest {
    value: f64,
    place: u64,
    is_known: bool,
}

fn element(i: usize) -> (f64, f64) {
    (1e8 * (i as f64).sin(), ((7 * i) % 13) as f64 - 6.0)
}

fn dot(range: std::ops::Range<usize>) -> Sum {
    let products = range.map(element).map(|(a, b)| Sum { value: a * b, error: 0.0 });
    products.fold(Sum::default(), |sum, product| sum.plus(&product))
}

fn largest(range: std::ops::Range<usize>) -> Largest {
    let none = Largest { value: 0.0, place: 0, is_known: false };
    range.fold(none, |best, i| {
        larger(&best, &Largest { value: element(i).0, place: i as u64, is_known: true })
    })
}

fn larger(a: &Largest, b: &Largest) -> Largest {
    if !a.is_known || b.is_known && b.value > a.value { *b } else { *a }
}

fn main() {
    run(program);
}

fn program(world: &Comm) -> Result {
    let (rank, ranks) = (world.rank(), world.size());
    let own = rank * ELEMENTS / ranks..(rank + 1) * ELEMENTS / ranks;

    let sum = world.all_reduce(&dot(own.clone()), Sum::plus)?;
    let best = world.all_reduce(&largest(own), larger)?;

    let (alone, serial) = (dot(0..ELEMENTS), largest(0..ELEMENTS));
    assert_eq!(sum.value + sum.error, alone.value + alone.error);
    assert_eq!(best, serial);
    if rank == 0 {
        println!("the product of {ranks} ranks is that of one, and element {} is the largest", best.place);
    }
    Ok(())
}
