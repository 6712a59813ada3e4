//! Scenarios for random structs, which `build/structs.rs` writes: `mpiexec -n 2 generated ring`.
//!
//! They are a program of their own, because the structs take longer to compile than all other scenarios.

mod pairs;
mod ring;

use std::ops::Range;

use dtype_runtime::MpiDatatype;
use dtype_tests::{Cover, run, with_world};

fn main() {
    run(|name| match name {
        "ring" => with_world(ring::ring),
        "pairs" => with_world(pairs::pairs),
        _ => panic!("no scenario `{name}`"),
    });
}

/// A length that the macro cannot see.
const LENGTH: usize = 3;

/// A generic struct, solved for each instantiation.
#[derive(MpiDatatype)]
#[allow(dead_code)]
pub struct Generic<T, const N: usize> {
    first: u8,
    items: [T; N],
    last: T,
}

impl<T: Cover, const N: usize> Cover for Generic<T, N> {
    fn cover(at: usize, bytes: &mut Vec<Range<usize>>) {
        u8::cover(at + std::mem::offset_of!(Self, first), bytes);
        <[T; N]>::cover(at + std::mem::offset_of!(Self, items), bytes);
        T::cover(at + std::mem::offset_of!(Self, last), bytes);
    }
}

/// An action on every struct.
pub trait Visit {
    fn visit<T: MpiDatatype + Cover>(&self);
}

/// The code that `build/structs.rs` writes.
#[allow(clippy::all, clippy::pedantic, clippy::restriction)]
mod structs {
    use std::ops::Range;

    use dtype_runtime::MpiDatatype;

    use super::{Cover, Generic, LENGTH, Visit};

    include!(concat!(env!("OUT_DIR"), "/structs.rs"));
}
pub use structs::{SEED, STRUCTS, for_each};
