//! `cargo xtask bench pingpong`: half a ping-pong between two ranks, for all cases that are packed.
//!
//! Our message uses the wire that `Wire::Auto` chooses. The peers are the datatype that a user would write,
//! contiguous messages packed by `MPI_Pack` or by a loop by hand, and the bytes of the memory. The measured
//! ratios can be written as a table for `Wire::Auto`.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use clap::Parser;
use dtype_benches::{
    journeys::{Arguments, Direction, Effort, rounds},
    measure::{Medians, print},
    packing::{Bench, Case, Other, Task, Travel, arrays, structs},
};
use dtype_guidelines::way::Way;
use dtype_runtime::{__private::table_line, Comm};
use mpi::{topology::SimpleCommunicator, traits::*};

/// Times messages between two ranks.
#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: Arguments,
    /// The file of the table: see `cargo xtask bench --help`.
    #[arg(long)]
    wires: Option<PathBuf>,
}

/// The benchmark, with its options and communicator.
struct Pingpong {
    arguments: Arguments,
    world: SimpleCommunicator,
    /// The measured ratios, for `Wire::Auto`.
    table: RefCell<Table>,
}

impl Bench for Pingpong {
    fn wants(&self, name: &str, task: Task, quick: bool) -> bool {
        let wanted = task == Task::Pingpong && name.starts_with(&self.arguments.only);
        wanted && (quick || !self.arguments.options.quick)
    }

    fn measure(&self, case: &Case<'_>) {
        measure(&self.arguments, &self.world, case, &self.table);
    }
}

fn main() {
    let Command { arguments, wires } = Command::parse();
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    assert_eq!(world.size(), 2, "a ping-pong takes two ranks");
    let start = Instant::now();
    let calibration = Comm::from(&world).calibrate().expect("two ranks can measure");
    if world.rank() == 0 {
        println!("Measured in {:.0?}:\n{calibration}", start.elapsed());
    }
    let bench = Pingpong { arguments, world, table: RefCell::default() };
    arrays::run(&bench);
    structs::run(&bench);
    if let Some(file) = &wires
        && bench.world.rank() == 0
    {
        bench.table.borrow_mut().add_to(file).expect("the table can be written");
    }
}

/// Measures a case on both ranks, and prints it on rank 0.
fn measure(arguments: &Arguments, world: &SimpleCommunicator, case: &Case<'_>, table: &RefCell<Table>) {
    let quick = arguments.options.quick;
    if quick && !(3000..400_000).contains(&case.size) {
        return;
    }
    let by_way = |name: &str| case.ways.iter().find(|(way, _)| *way == name).map(|(_, way)| way);
    let packed: Vec<_> = ["hand", "mpi_pack"]
        .into_iter()
        .filter_map(|name| Some((name, Travel::packed(by_way(name)?, case.size))))
        .collect();
    let travels: Vec<(&str, &Travel<'_>)> =
        case.travels.iter().chain(&packed).map(|(name, travel)| (*name, travel)).collect();
    let hand = by_way("hand").expect("there is a loop by hand");
    for (name, travel) in &travels {
        check(world, case, hand, name, travel);
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
        let mut row = medians.row("pingpong", case.name.clone(), "auto");
        row.library.clone_from(&arguments.library);
        let ours = ["packed", "segments", "least-cost"];
        (row.others_us, row.peers_us) = row.peers_us.into_iter().partition(|(name, _)| ours.contains(name));
        print(&row, &arguments.options);
        for row in travels.iter().filter_map(|(_, travel)| travel.row.as_deref()) {
            table.borrow_mut().add(&medians, row);
        }
    }
}

/// The ratios of typed to packed times, by the beginning of a table row.
#[derive(Default)]
struct Table(BTreeMap<String, Ratios>);

/// The least and the greatest of some ratios, and their number.
#[derive(Clone, Copy)]
struct Ratios(f64, f64, usize);

impl Table {
    /// Adds the ratio of a case to its row.
    fn add(&mut self, medians: &Medians, row: &str) {
        if let (Some(typed), Some(packed)) = (medians.time("least-cost"), medians.time("packed")) {
            self.insert(row, Ratios(typed / packed, typed / packed, 1));
        }
    }

    fn insert(&mut self, row: &str, ratios: Ratios) {
        let all = self.0.entry(row.to_owned()).or_insert(Ratios(ratios.0, ratios.1, 0));
        *all = Ratios(all.0.min(ratios.0), all.1.max(ratios.1), all.2 + ratios.2);
    }

    /// Writes the rows into a file, in the form that `Wire::Auto` reads. The rows of earlier runs in the file
    /// are kept and merged.
    fn add_to(&mut self, file: &Path) -> io::Result<()> {
        let before = fs::read_to_string(file).unwrap_or_default();
        for line in before.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let [row @ .., _, least, most, cases] = &words[..]
                && let (Ok(least), Ok(most), Ok(cases)) = (least.parse(), most.parse(), cases.parse())
            {
                self.insert(&row.join(" "), Ratios(least, most, cases));
            }
        }
        let mut text = HEADER.to_owned();
        for (row, ratios) in &self.0 {
            text += &table_line(row, ratios.0..=ratios.1, ratios.2);
        }
        fs::write(file, text)
    }
}

/// The first lines of a table.
const HEADER: &str = "\
# Which of two ways is the faster, as `cargo xtask bench pingpong --wires FILE` has found it between two ranks
# on one machine; it is added to in other hours and on other machines.
#
# LIBRARY strided BLOCK   BYTES   typed|packed  parts of arrays, of one base type, of BYTES in all, whose
#                                               contiguous blocks of BLOCK bytes are at equal distances
# LIBRARY nested  BLOCK   BYTES   typed|packed  the same in loops around loops
# LIBRARY listed  BLOCK   BYTES   typed|packed  the same anywhere
# LIBRARY mixed   BLOCK   BYTES   typed|packed  structs with gaps, and parts of arrays of them
#
# Each row ends with how many times as long it takes typed as packed, at least and at most, and in how many
# cases. The way is the one that loses less where it loses most.

";

/// Checks that the bytes that are sent arrive.
fn check(world: &SimpleCommunicator, case: &Case<'_>, hand: &Way<'_>, name: &str, travel: &Travel<'_>) {
    let values: Vec<u8> =
        (0..case.size).map(|i| (i % 61) as u8 + u8::try_from(name.len()).unwrap_or(0)).collect();
    let comm = Comm::from(world);
    let other = Other::of(&comm);
    if world.rank() == 0 {
        (hand.unpack)(&values);
        (travel.send)(&other);
    } else {
        (hand.unpack)(&vec![0; case.size]);
        (travel.receive)(&other);
        let mut found = vec![0; case.size];
        (hand.pack)(&mut found);
        assert!(found == values, "{}: wrong values arrive with `{name}`", case.name);
    }
}
