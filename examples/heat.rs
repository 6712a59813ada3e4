//! The heat equation on a square that is divided into boxes. Each rank has one box with a layer of ghost
//! cells around it. `Halo` fills them with the cells of the neighbours.
//!
//! Run it on any number of ranks: `mpiexec -n 4 target/debug/heat`.

use dtype_runtime::{Comm, Halo, Result, layout, run};

/// The number of cells along each side of the square.
const SIDE: usize = 48;
const STEPS: usize = 200;

/// A box of cells with one layer of ghost cells around it, stored row by row.
struct Grid {
    rows: usize,
    columns: usize,
    cells: Vec<f64>,
}

impl Grid {
    fn new(rows: usize, columns: usize, start: impl Fn(usize, usize) -> f64) -> Self {
        let mut cells = vec![0.0; (rows + 2) * (columns + 2)];
        for i in 0..rows {
            (0..columns).for_each(|j| cells[(i + 1) * (columns + 2) + j + 1] = start(i, j));
        }
        Self { rows, columns, cells }
    }

    /// Computes one time step: each cell moves towards the average of its four neighbours.
    fn step(&mut self) {
        let width = self.columns + 2;
        let old = self.cells.clone();
        for i in 1..=self.rows {
            for at in i * width + 1..=i * width + self.columns {
                let around = old[at - width] + old[at - 1] + old[at + 1] + old[at + width];
                self.cells[at] = old[at] + 0.2 * (around - 4.0 * old[at]);
            }
        }
    }
}

fn main() {
    run(program);
}

fn program(world: &Comm) -> Result {
    let (rank, size) = (world.rank(), world.size());

    // Arranges the ranks in a grid, as square as possible, and finds this rank's box in the square.
    let down = (1..=size).filter(|rows| size % rows == 0 && rows * rows <= size).max().unwrap_or(1);
    let across = size / down;
    let (row, column) = (rank / across, rank % across);
    let part = |k: usize, parts: usize| k * SIDE / parts..(k + 1) * SIDE / parts;
    let (rows, columns) = (part(row, down), part(column, across));
    let hot = |i: usize, j: usize| if (10..20).contains(&i) && (15..30).contains(&j) { 100.0 } else { 0.0 };
    let mut grid = Grid::new(rows.len(), columns.len(), |i, j| hot(rows.start + i, columns.start + j));

    // The communicator knows the neighbours. Ghost cells beyond the edge of the square stay cold.
    let boxes = world.cartesian([down, across], [false; 2])?;
    let halo = Halo::new([grid.rows + 2, grid.columns + 2], 1).faces();
    let mut exchange = boxes.halo::<f64, 2>(halo)?;
    for _ in 0..STEPS {
        exchange.exchange(&mut grid.cells)?;
        grid.step();
    }

    // Rank 0 collects the boxes and computes the whole square by itself. The results are equal to the last
    // bit.
    let inner = layout!(f64[grid.rows + 2][grid.columns + 2] => [1..-1, 1..-1])?;
    if rank > 0 {
        return world.peer(0).send(&inner.of(&grid.cells)?);
    }
    let mut whole = Grid::new(SIDE, SIDE, hot);
    (0..STEPS).for_each(|_| whole.step());
    let mut together = vec![0.0; whole.cells.len()];
    for from in 0..size {
        let (rows, columns) = (part(from / across, down), part(from % across, across));
        let box_of =
            layout!(f64[SIDE + 2][SIDE + 2] => [rows.start + 1..=rows.end, columns.start + 1..=columns.end])?;
        let mut place = box_of.of_mut(&mut together)?;
        if from == 0 {
            place.unpack(&inner.of(&grid.cells)?.pack())?;
        } else {
            world.peer(from).receive_into(&mut place)?;
        }
    }
    assert_eq!(together, whole.cells);
    println!("{size} boxes hold after {STEPS} steps what a single one does; each sends faces like");
    println!("{}", halo.part::<f64>([0, 1])?.send.explain());
    Ok(())
}
