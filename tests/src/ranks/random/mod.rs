//! Random calls against brute force: each rank computes what all ranks have, one element at a time, and
//! compares all of its memory. A failing case prints its seed.

mod prepared;
mod reductions;
mod views;
mod windows;

use std::panic;

use mpi::{topology::SimpleCommunicator, traits::*};

pub use prepared::prepared;
pub use reductions::reductions;
pub use views::views;
pub use windows::windows;

use crate::{engine::Random, halo, redistribution};

/// Returns the number of cases of a run: `few`, or 10,000 with `DTYPE_LONG=1`.
fn cases(few: u64) -> u64 {
    if dtype_tests::is_long() { 10_000 } else { few }
}

/// Runs cases on all ranks, which draw the same numbers. `DTYPE_SEED` chooses the first of them.
fn each(world: &SimpleCommunicator, few: u64, mut case: impl FnMut(&SimpleCommunicator, &mut Random)) {
    let first = dtype_tests::seed(1);
    for seed in first..first + cases(few) {
        let print = panic::take_hook();
        let ranks = world.size();
        panic::set_hook(Box::new(move |panic| {
            eprintln!("DTYPE_SEED={seed} on {ranks} ranks:");
            eprintln!("{panic}");
            std::process::exit(1);
        }));
        case(world, &mut Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        panic::set_hook(print);
    }
}

/// Exchanges halos of random grids: sizes, widths, ends, neighbours, orders, and several arrays.
pub fn halos(world: &SimpleCommunicator) {
    each(world, 60, |world, drawn| match drawn.below(3) {
        0 => halo::random::<1>(world, drawn, 0),
        1 => halo::random::<2>(world, drawn, 0),
        _ => halo::random::<3>(world, drawn, 0),
    });
}

/// Redistributes random arrays between random distributions: blocks, cyclic ones, boxes within others.
pub fn redistributions(world: &SimpleCommunicator) {
    each(world, 100, |world, drawn| match drawn.below(4) {
        0 => redistribution::random::<1>(world, drawn, 0),
        1 => redistribution::random::<2>(world, drawn, 0),
        2 => redistribution::random::<3>(world, drawn, 0),
        _ => redistribution::random::<4>(world, drawn, 0),
    });
}
