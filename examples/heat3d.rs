//! The heat equation on a torus of three dimensions, with messages and computation at the same time. While
//! the cells of the neighbours are under way, a rank computes the cells that do not need them.
//!
//! Run it on any number of ranks: `mpiexec -n 4 target/debug/heat3d`.

use std::ops::Range;

use dtype_runtime::{Comm, Result, run};

/// The number of cells along each side of the torus.
const SIDE: usize = 24;
const STEPS: usize = 20;

type Index = [usize; 3];

/// Returns the next value of a cell: it moves towards the average of its six neighbours.
fn next(at: impl Fn(Index) -> f64, [i, j, k]: Index) -> f64 {
    let around = at([i - 1, j, k]) + at([i + 1, j, k]) + at([i, j - 1, k]) + at([i, j + 1, k]);
    let own = at([i, j, k]);
    own + 0.1 * (around + at([i, j, k - 1]) + at([i, j, k + 1]) - 6.0 * own)
}

/// Returns all indices of a box.
fn indices([a, b, c]: [Range<usize>; 3]) -> impl Iterator<Item = Index> {
    a.flat_map(move |i| {
        let c = c.clone();
        b.clone().flat_map(move |j| c.clone().map(move |k| [i, j, k]))
    })
}

/// Divides a number of ranks into three factors that are close to one another.
fn divided(ranks: usize) -> [usize; 3] {
    let largest =
        |n: usize, power: u32| (1..=n).filter(|d| n % d == 0 && d.pow(power) <= n).max().unwrap_or(1);
    let first = largest(ranks, 3);
    let second = largest(ranks / first, 2);
    [ranks / first / second, second, first]
}

fn main() {
    run(program);
}

fn program(world: &Comm) -> Result {
    let ranks = divided(world.size());
    let torus = world.cartesian(ranks, [true; 3])?;

    // This rank's box in the torus, and its array with a layer of ghost cells around it.
    let part = torus.blocks([SIDE; 3], ranks).ghosts(1);
    let sizes = part.local();
    let flat = |[i, j, k]: Index| (i * sizes[1] + j) * sizes[2] + k;
    let global = |index: Index| part.global(index);
    let start = |[i, j, k]: Index| if i < SIDE / 2 && j < SIDE / 3 { 100.0 } else { k as f64 };

    let halo = part.halo().faces();
    let mut old = part.vec(0.0);
    indices(halo.own()).for_each(|index| old[flat(index)] = start(global(index)));
    let mut new = old.clone();
    let mut exchange = torus.halo::<f64, 3>(halo)?;
    for _ in 0..STEPS {
        let mut pending = exchange.start(&mut old)?;
        let cells = pending.cells();
        for index in indices(cells.interior()) {
            new[flat(index)] = next(|at| cells[at], index);
        }
        pending.finish()?;
        let interior = halo.interior();
        let is_inside = |index: &Index| interior.iter().zip(index).all(|(range, i)| range.contains(i));
        for index in indices(halo.own()).filter(|index| !is_inside(index)) {
            new[flat(index)] = next(|at| old[flat(at)], index);
        }
        std::mem::swap(&mut old, &mut new);
    }

    // Every rank computes the whole torus by itself. The results are equal to the last bit.
    let whole = |[i, j, k]: Index| ((i % SIDE) * SIDE + j % SIDE) * SIDE + k % SIDE;
    let mut all: Vec<f64> = indices([0..SIDE, 0..SIDE, 0..SIDE]).map(start).collect();
    for _ in 0..STEPS {
        let around = |[i, j, k]: Index| [i + SIDE, j + SIDE, k + SIDE];
        let step = |index| next(|at| all[whole(at)], around(index));
        all = indices([0..SIDE, 0..SIDE, 0..SIDE]).map(step).collect();
    }
    assert!(indices(halo.own()).all(|index| old[flat(index)] == all[whole(global(index))]));
    if world.rank() == 0 {
        println!("{} boxes hold after {STEPS} steps what a single one does", world.size());
    }
    Ok(())
}
