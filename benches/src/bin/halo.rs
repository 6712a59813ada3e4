//! `cargo xtask bench halo`: exchanges of the faces of a box in three dimensions, against the code that a
//! user would write with MPI's own calls: subarray datatypes, a neighbourhood collective, packing by hand.

use std::{
    cell::RefCell,
    hint::black_box,
    time::{Duration, Instant},
};

use clap::Parser;
use dtype_benches::{
    boxes::{MANY, Way, measure},
    faces::{Buffers, Calls, Faces, free},
    journeys::Arguments,
};
use dtype_runtime::{Comm, Halo};
use mpi::{
    topology::{CartesianCommunicator, SimpleCommunicator},
    traits::*,
};

/// Times halo exchanges.
#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: Arguments,
}

fn main() {
    let Command { arguments } = Command::parse();
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    let comm = Comm::from(&world);
    let ranks = comm.size();
    let lengths = if ranks == 4 { [2, 2, 1] } else { [ranks, 1, 1] };
    let grid = |lengths, periodic| comm.cartesian(lengths, periodic).expect("all ranks are in the grid");
    // Dimensions of one rank are not periodic, so that no rank is its own neighbour.
    let open = grid(lengths, lengths.map(|length| length > 1));
    for side in [64, 128] {
        for width in [1, 2] {
            exchange(&arguments, &world, &open, &format!("faces/{side}/width-{width}"), side, width);
        }
    }
    // The ghost cells of the last dimension are short rows, far apart.
    let along = grid([1, 1, ranks], [false, false, true]);
    for width in [1, 2, 8, 16] {
        exchange(&arguments, &world, &along, &format!("last/64/width-{width}"), 64, width);
    }
    let torus = grid(lengths, [true; 3]);
    exchange(&arguments, &world, &torus, "torus/64/width-1", 64, 1);
    overlap(&arguments, &world, &open);
}

/// Exchanges the faces of a box of `side` cells along each dimension.
fn exchange(
    arguments: &Arguments,
    world: &SimpleCommunicator,
    grid: &Comm<CartesianCommunicator>,
    case: &str,
    side: usize,
    width: usize,
) {
    let sizes = [side + 2 * width; 3];
    let array = || RefCell::new(vec![f64::from(world.rank()); sizes.iter().product()]);
    let (own, once, typed, neighbour, hand, persistent) =
        (array(), array(), array(), array(), array(), array());
    let halo = Halo::new(sizes, width).faces();
    let prepared = RefCell::new(grid.halo::<f64, 3>(halo).expect("a halo"));
    let plain = Faces::new(Calls::OF_PROGRAMS, grid, sizes, width);
    let buffers = RefCell::new(Buffers::new(&plain));
    let kept = RefCell::new(Buffers::new(&plain));
    let requests = RefCell::new(kept.borrow_mut().prepared(&plain));
    let ways: Vec<Way<'_>> = vec![
        ("ours", Box::new(|| prepared.borrow_mut().exchange(&mut *own.borrow_mut()).expect("it arrives"))),
        (
            "ours once",
            Box::new(|| {
                let mut exchange = grid.halo::<f64, 3>(halo).expect("a halo");
                exchange.exchange(&mut *once.borrow_mut()).expect("it arrives");
            }),
        ),
        ("subarrays", Box::new(|| plain.by_subarrays(&mut typed.borrow_mut()))),
        ("neighbourhood", Box::new(|| plain.by_neighbourhood(&mut neighbour.borrow_mut()))),
        ("by hand", Box::new(|| buffers.borrow_mut().exchange(&plain, &mut hand.borrow_mut()))),
        (
            "by hand persistent",
            Box::new(|| {
                let (mut array, mut requests) = (persistent.borrow_mut(), requests.borrow_mut());
                kept.borrow_mut().run(&plain, &mut array, &mut requests);
            }),
        ),
    ];
    for (_, way) in &ways {
        way();
    }
    let expected = own.borrow();
    for (name, array) in [
        ("once", &once),
        ("subarrays", &typed),
        ("neighbourhood", &neighbour),
        ("by hand", &hand),
        ("persistent", &persistent),
    ] {
        assert!(*array.borrow() == *expected, "{name}: the ghost cells are the same");
    }
    drop(expected);
    measure("halo", arguments, world, case, MANY, &ways);
    free(&mut requests.borrow_mut());
}

/// Exchanges while the program computes for a millisecond.
fn overlap(arguments: &Arguments, world: &SimpleCommunicator, grid: &Comm<CartesianCommunicator>) {
    let sizes = [66; 3];
    let halo = Halo::new(sizes, 1).faces();
    let prepared = RefCell::new(grid.halo::<f64, 3>(halo).expect("a halo"));
    let array = RefCell::new(vec![0.5; sizes.iter().product()]);
    // The work is counted, not timed, so that ranks that share a core do it one after another.
    let turns = turns_of(Duration::from_millis(1));
    let ways: Vec<Way<'_>> = vec![
        (
            "ours",
            Box::new(|| {
                let (mut exchange, mut array) = (prepared.borrow_mut(), array.borrow_mut());
                let mut pending = exchange.start(&mut *array).expect("it starts");
                compute(turns / 2);
                let _ = pending.is_done().expect("it is tested");
                compute(turns - turns / 2);
                pending.finish().expect("it arrives");
            }),
        ),
        ("computation", Box::new(|| compute(turns))),
        (
            "exchange",
            Box::new(|| prepared.borrow_mut().exchange(&mut *array.borrow_mut()).expect("it arrives")),
        ),
        (
            "one after the other",
            Box::new(|| {
                prepared.borrow_mut().exchange(&mut *array.borrow_mut()).expect("it arrives");
                compute(turns);
            }),
        ),
    ];
    measure("halo", arguments, world, "overlap/64/1-ms", MANY, &ways);
}

fn compute(turns: u64) {
    let mut sum = 1.0f64;
    for i in 0..turns {
        sum = black_box(sum * 1.000_001 + i as f64);
    }
    black_box(sum);
}

/// Returns the number of iterations that take so long.
fn turns_of(time: Duration) -> u64 {
    const SOME: u64 = 1_000_000;
    let start = Instant::now();
    compute(SOME);
    (SOME as f64 * time.as_secs_f64() / start.elapsed().as_secs_f64()) as u64
}
