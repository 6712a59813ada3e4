//! `cargo xtask bench libraries`: half a ping-pong between two ranks of an MPI library, for all cases that
//! are packed.
//!
//! Our message uses the wire that `Wire::Auto` chooses. The peers are the datatype that a user would write,
//! contiguous messages packed by `MPI_Pack` or by a loop by hand, and the bytes of the memory. The prices by
//! which `Wire::Auto` chooses are fitted to the recorded times.

use std::time::Duration;

use clap::Parser;
use dtype_benches::{
    journeys::{Arguments, Direction, Effort, rounds},
    measure::{Medians, print},
    packing::{Bench, Case, Other, Task, Travel, arrays, blocks, drawn, structs},
    record::{named, on_this_machine},
};
use dtype_guidelines::way::Way;
use dtype_runtime::Comm;
use mpi::{topology::SimpleCommunicator, traits::*};

/// Times messages between two ranks.
#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: Arguments,
}

/// The benchmark, with its options and communicator.
struct Libraries {
    arguments: Arguments,
    world: SimpleCommunicator,
}

impl Bench for Libraries {
    fn wants(&self, name: &str, task: Task, quick: bool) -> bool {
        let wanted = task == Task::Pingpong && name.starts_with(&self.arguments.only);
        wanted && (quick || !self.arguments.options.quick)
    }

    fn measure(&self, case: &Case<'_>) {
        measure(&self.arguments, &self.world, case);
    }
}

fn main() {
    let Command { arguments } = Command::parse();
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    assert_eq!(world.size(), 2, "a ping-pong takes two ranks");
    Comm::from(&world).attach().expect("both ranks attach");
    let bench = Libraries { arguments, world };
    arrays::run(&bench);
    blocks::run(&bench);
    structs::run(&bench);
    drawn::run(&bench);
}

/// Measures a case on both ranks, and prints it on rank 0.
fn measure(arguments: &Arguments, world: &SimpleCommunicator, case: &Case<'_>) {
    let quick = arguments.options.quick;
    if quick && !(3000..400_000).contains(&case.size) {
        return;
    }
    let by_way = |name: &str| case.ways.iter().find(|(way, _)| *way == name).map(|(_, way)| way);
    let packed: Vec<_> = ["hand", "mpi_pack"]
        .into_iter()
        .filter_map(|name| Some((name, Travel::packed(by_way(name)?, case.size))))
        .collect();
    let mut travels: Vec<(&str, &Travel<'_>)> =
        case.travels.iter().chain(&packed).map(|(name, travel)| (*name, travel)).collect();
    let hand = by_way("hand").expect("there is a loop by hand");
    travels.retain(|(name, travel)| is_right(world, case, hand, name, travel));
    if travels.iter().all(|(name, _)| *name != "auto") {
        return;
    }
    let effort = Effort {
        runs: if quick { 7 } else { 15 },
        at_least: Duration::from_millis(if quick { 60 } else { 400 }),
        at_most: Duration::from_secs(if quick { 1 } else { 5 }),
        batch: (200_000 / (case.size + 400)).clamp(1, 200),
    };
    let comm = Comm::from(world);
    let other = Other::of(&comm);
    let times = rounds(world, travels.len(), &effort, |way, direction| {
        let Travel { send, receive, .. } = travels[way].1;
        match direction {
            Direction::There => send(&other),
            Direction::Back => receive(&other),
        }
    });
    if world.rank() == 0 {
        let names = travels.iter().map(|(name, _)| *name);
        let medians = Medians::of(names.zip(times).map(|(name, times)| (name, times, None)));
        let shape = travels.iter().find_map(|(_, travel)| travel.shape);
        let name = named(&case.name, shape, case.size);
        let mut row = medians.row("libraries", name, "auto");
        row.library = on_this_machine(&arguments.library);
        let ours = ["packed", "segments", "typed-wire", "least-cost"];
        (row.others_us, row.peers_us) = row.peers_us.into_iter().partition(|(name, _)| ours.contains(name));
        print(&row, &arguments.options);
    }
}

/// Returns `true` on both ranks if the bytes that are sent arrive. Open MPI 5.0 copies complex numbers
/// wrongly.
///
/// # Panics
/// If our packed bytes are wrong.
fn is_right(
    world: &SimpleCommunicator,
    case: &Case<'_>,
    hand: &Way<'_>,
    name: &str,
    travel: &Travel<'_>,
) -> bool {
    let values: Vec<u8> =
        (0..case.size).map(|i| (i % 61) as u8 + u8::try_from(name.len()).unwrap_or(0)).collect();
    let comm = Comm::from(world);
    let other = Other::of(&comm);
    let mut is_right = true;
    if world.rank() == 0 {
        (hand.unpack)(&values);
        (travel.send)(&other);
    } else {
        (hand.unpack)(&vec![0; case.size]);
        (travel.receive)(&other);
        let mut found = vec![0; case.size];
        (hand.pack)(&mut found);
        is_right = found == values;
        if !is_right {
            eprintln!("{}: wrong values arrive with `{name}`, so it is not measured", case.name);
        }
        assert!(is_right || name != "packed", "{}", case.name);
    }
    world.process_at_rank(1).broadcast_into(&mut is_right);
    is_right
}
