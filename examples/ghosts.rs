//! Ghost cells by one-sided transfers: each rank puts its outermost cells next to those of its neighbours,
//! who need not call anything for it.
//!
//! Run it on any number of ranks: `mpiexec -n 4 target/debug/ghosts`.

use dtype_runtime::{Comm, Result, layout, run};

/// The number of own cells of each rank.
const OWN: usize = 10;
const STEPS: usize = 25;

/// Returns the next values of the cells between the outermost ones.
fn next(cells: &[f64]) -> Vec<f64> {
    cells.windows(3).map(|near| 0.25 * near[0] + 0.5 * near[1] + 0.25 * near[2]).collect()
}

fn main() {
    run(program);
}

fn program(world: &Comm) -> Result {
    let (rank, ranks) = (world.rank(), world.size());
    let [before, after] = [rank + ranks - 1, rank + 1].map(|rank| rank % ranks);
    let start = |i: usize| if i < OWN / 2 { 100.0 } else { i as f64 };

    let mut cells: Vec<f64> = (0..OWN + 2).map(|i| start((rank * OWN + i).saturating_sub(1))).collect();
    world.window(&mut cells, |window| {
        for _ in 0..STEPS {
            let ends = [window.values()[1], window.values()[OWN]];
            window.exchange(&[before, after], &[before, after], |epoch| {
                epoch.put(&ends[0], before, &layout!(f64[OWN + 2] => [-1]))?;
                epoch.put(&ends[1], after, &layout!(f64[OWN + 2] => [0]))
            })?;
            let new = next(window.values());
            window.values_mut()[1..=OWN].copy_from_slice(&new);
        }
        Ok(())
    })?;

    // Every rank computes the whole ring by itself.
    let count = OWN * ranks;
    let mut all: Vec<f64> = (0..count).map(start).collect();
    for _ in 0..STEPS {
        let ring: Vec<f64> = [&all[count - 1..], &all[..], &all[..1]].concat();
        all = next(&ring);
    }
    assert_eq!(cells[1..=OWN], all[rank * OWN..][..OWN]);
    if rank == 0 {
        println!("{ranks} ranks hold after {STEPS} steps what a single one does");
    }
    Ok(())
}
