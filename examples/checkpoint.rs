//! A checkpoint: a distributed matrix is written by all ranks, and read by fewer, under another distribution.
//!
//! Run it on any number of ranks: `mpiexec -n 4 target/debug/checkpoint`. With the name of a file, it keeps
//! the file, which `checkpoint.c` and `checkpoint.py` read: `mpiexec -n 4 target/debug/checkpoint cells.bin`.

use dtype_runtime::{Comm, MpiDatatype, Result, run};
use mpi::{topology::Color, traits::*};

const SIZES: [usize; 2] = [30, 20];

/// A cell of the simulation. The file has its packed bytes: nine of them.
#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Cell {
    is_wall: bool,
    pressure: f64,
}

fn cell(index: usize) -> Cell {
    Cell { is_wall: index % 7 == 0, pressure: index as f64 }
}

fn main() {
    run(program);
}

fn program(world: &Comm) -> Result {
    let (rank, ranks) = (world.rank(), world.size());
    let kept = std::env::args().nth(1);
    let path = (rank == 0).then(|| {
        let name = format!("dtype-checkpoint-{}", std::process::id());
        kept.clone().unwrap_or_else(|| std::env::temp_dir().join(name).display().to_string())
    });
    let path: String = world.broadcast(0, path)?;

    // Blocks of rows. All ranks write them into one file, in the order of the whole matrix.
    let rows = world.blocks(SIZES, [ranks, 1]);
    let [own, _] = rows.ranges();
    let own: Vec<Cell> = (own.start * SIZES[1]..own.end * SIZES[1]).map(cell).collect();
    let mut file = world.create(&path)?;
    file.write(&rows, &own)?;
    assert_eq!(file.size()?, (SIZES[0] * SIZES[1] * 9) as u64);
    file.close()?;

    // Fewer ranks read columns, which are dealt out in turn.
    let readers = ranks.max(2) - 1;
    let color = Color::with_value(i32::from(rank >= readers));
    let group = world.split_by_color(color).expect("every rank is in a group");
    if rank < readers {
        let group = Comm::from(group);
        let columns = group.blocks(SIZES, [1, readers]).cyclic([1, 1]);
        let [_, width] = columns.local();
        let mut read = columns.vec(Cell::default());
        group.open(&path)?.read(&columns, &mut read)?;
        let expected = |at: usize| cell(at / width * SIZES[1] + rank + at % width * readers);
        assert!(read.iter().enumerate().all(|(at, found)| *found == expected(at)));
    }
    world.barrier();
    if rank == 0 {
        if kept.is_none() {
            std::fs::remove_file(path).expect("the file was written");
        }
        println!("{readers} ranks have read what {ranks} have written");
    }
    Ok(())
}
