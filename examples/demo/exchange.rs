//! Exchanges between ranks. Every received value is checked, and every value that must not change.

use dtype_runtime::{Comm, FromMessage, Message, MpiDatatype, Place, Result, Wire, layout};
use mpi::traits::*;

use crate::layouts::{Cell, Matrix, Mixed, Particle, zero_grid, zero_matrix};

/// Sends particles and cells once round the ring of all ranks, and checks each arrival and the guards around
/// it.
pub fn ring(world: &Comm) -> Result {
    const PARTICLES: usize = 10_000;
    travel(world, PARTICLES, Particle::of)?;
    travel(world, 100, |rank, i| Cell {
        occupied: i % 3 == 0,
        particles: [Particle::of(rank, i), Particle::of(rank, i + 1)],
        summary: Mixed { flag: i as u8, value: f64::from(rank), level: -5, weight: 0.25 },
    })?;
    report(
        world,
        &format!("{PARTICLES} particles and 100 cells went around the ring of {} ranks", world.size()),
    );
    Ok(())
}

fn travel<T>(world: &Comm, count: usize, value: impl Fn(i32, usize) -> T) -> Result
where
    T: MpiDatatype + FromMessage + Copy + PartialEq + std::fmt::Debug,
{
    let (rank, size) = (world.rank() as i32, world.size() as i32);
    let of_rank = |rank: i32| -> Vec<T> { (0..count).map(|i| value(rank, i)).collect() };
    let mut values = of_rank(rank);
    for hop in 1..=size {
        // A guard on either side, which must keep its value.
        let guard = value(-1, 77);
        let mut arriving = vec![guard; count + 2];
        exchange_with_neighbours(world, &values, &mut arriving[1..=count])?;
        assert_eq!((arriving[0], arriving[count + 1]), (guard, guard), "a guard was overwritten");
        values = arriving[1..=count].to_vec();
        assert_eq!(values, of_rank((rank + size - hop) % size), "wrong values after hop {hop}");
    }
    Ok(())
}

/// Sends a message to the next rank, and receives one from the previous rank, both with MPI datatypes.
fn exchange_with_neighbours<S, R>(world: &Comm, message: &S, place: &mut R) -> Result
where
    S: Message + ?Sized,
    R: Place + ?Sized,
{
    let (rank, size) = (world.rank(), world.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    world.scope(|scope| {
        scope.peer(next).wire(Wire::Typed).send(message)?;
        world.peer(previous).wire(Wire::Typed).receive_into(place)
    })
}

/// Sends a column and a block of a matrix, and a face of a 3-D array, to the next rank. Each rank receives
/// these parts from the previous rank, at other positions in its own arrays.
pub fn sub_blocks(world: &Comm) -> Result {
    let (rank, size) = (world.rank() as i32, world.size() as i32);
    let previous = (rank + size - 1) % size;
    let cell = |rank: i32, i: usize, j: usize| f64::from(rank) * 1e7 + (i * 1000 + j) as f64;
    let matrix = |rank: i32| {
        let mut matrix = zero_matrix();
        for (i, row) in matrix.iter_mut().enumerate() {
            row.iter_mut().enumerate().for_each(|(j, value)| *value = cell(rank, i, j));
        }
        matrix
    };
    let check = |found: &Matrix, expected: &dyn Fn(usize, usize) -> f64| {
        for (i, row) in found.iter().enumerate() {
            for (j, value) in row.iter().enumerate() {
                assert_eq!(value.to_bits(), expected(i, j).to_bits(), "at [{i}][{j}]");
            }
        }
    };

    let own = matrix(rank);
    let mut target = matrix(-1);
    let (from, to) = (layout!(f64[1000][1000] => [.., 3]), layout!(f64[1000][1000] => [.., -1]));
    exchange_with_neighbours(world, &from.of(&own), &mut to.of_mut(&mut target))?;
    check(&target, &|i, j| if j == 999 { cell(previous, i, 3) } else { cell(-1, i, j) });

    let mut target = matrix(-1);
    let from = layout!(f64[1000][1000] => [100..300, 40..90]);
    let to = layout!(f64[1000][1000] => [0..=199, 950..]);
    exchange_with_neighbours(world, &from.of(&own), &mut to.of_mut(&mut target))?;
    check(&target, &|i, j| {
        if i < 200 && j >= 950 { cell(previous, i + 100, j - 950 + 40) } else { cell(-1, i, j) }
    });

    let point =
        |rank: i32, i: usize, j: usize, k: usize| f64::from(rank) * 1e6 + (i * 4096 + j * 64 + k) as f64;
    let grid = |rank: i32| {
        let mut grid = zero_grid();
        for (i, plane) in grid.iter_mut().enumerate() {
            for (j, line) in plane.iter_mut().enumerate() {
                line.iter_mut().enumerate().for_each(|(k, value)| *value = point(rank, i, j, k));
            }
        }
        grid
    };
    let own = grid(rank);
    let mut target = grid(-1);
    let from = layout!(f64[64][64][64] => [1..63, 1..63, 0]);
    let to = layout!(f64[64][64][64] => [63, 1..63, 1..63]);
    exchange_with_neighbours(world, &from.of(&own), &mut to.of_mut(&mut target))?;
    for (i, plane) in target.iter().enumerate() {
        for (j, line) in plane.iter().enumerate() {
            for (k, value) in line.iter().enumerate() {
                let inside = i == 63 && (1..63).contains(&j) && (1..63).contains(&k);
                let expected = if inside { point(previous, j, k, 0) } else { point(-1, i, j, k) };
                assert_eq!(value.to_bits(), expected.to_bits(), "at [{i}][{j}][{k}]");
            }
        }
    }
    report(world, "a column, a block and a face were exchanged; all other values are unchanged");
    Ok(())
}

/// Prints the text on rank 0 once all ranks have arrived here, and so have finished their checks.
fn report(world: &Comm, text: &str) {
    world.barrier();
    if world.rank() == 0 {
        println!("✓ {text}");
    }
}
