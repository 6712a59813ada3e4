//! `cargo xtask bench pingpong`: half a ping-pong between two ranks, of all cases that are packed: on the
//! wire that `Wire::Auto` chooses, against the datatype that a user would write, `MPI_Pack` and a loop by
//! hand with a contiguous message, and the bytes as they lie in memory. What was measured of the ways between
//! which there is a choice becomes a table for `Wire::Auto`, if one is wanted.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    ffi::c_int,
    fmt::Write as _,
    fs,
    hint::black_box,
    io,
    path::Path,
    rc::Rc,
    time::{Duration, Instant},
};

use dtype_benches::measure::{Medians, print};
use dtype_runtime::{
    Wire,
    traits::*,
    wire::{self, Receivable, Sendable},
};
use mpi::{
    ffi::{self, MPI_Datatype},
    topology::{Process, SimpleCommunicator},
    traits::*,
};

use crate::{Arguments, Case, Way};

type Call<'a> = Box<dyn Fn(&Process<'_>) + 'a>;

/// A way to travel.
pub struct Travel<'a> {
    send: Call<'a>,
    receive: Call<'a>,
    /// The row of a table that is about such messages, if there is a choice of ways.
    row: Option<String>,
}

impl<'a> Travel<'a> {
    fn new(send: impl Fn(&Process<'_>) + 'a, receive: impl Fn(&Process<'_>) + 'a) -> Self {
        Self { send: Box::new(send), receive: Box::new(receive), row: None }
    }

    /// A message on the wire that is chosen, and packed.
    pub fn on_all_wires<M: Sendable + 'a, N: Receivable + 'a>(
        message: impl Fn() -> M + Clone + 'a,
        into: impl Fn() -> N + Clone + 'a,
    ) -> Vec<(&'static str, Self)> {
        let on = |wire| {
            let (message, into) = (message.clone(), into.clone());
            Self::new(
                move |process| process.send_over(wire, &message()).expect("it can travel so"),
                move |process| {
                    process.receive_over(wire, &mut into()).expect("it fits");
                },
            )
        };
        let row = wire::table_row(&message());
        vec![
            ("auto", Self { row, ..on(Wire::Auto) }),
            ("packed", on(Wire::Packed)),
            ("segments", on(Wire::Segments)),
        ]
    }

    /// A message with its least-cost datatype, in plain calls.
    pub fn least_cost<M: Buffer + 'a, N: BufferMut + 'a>(
        message: impl Fn() -> M + 'a,
        into: impl Fn() -> N + 'a,
    ) -> (&'static str, Self) {
        let receive = move |from: &Process<'_>| {
            from.receive_into(&mut into());
        };
        ("least-cost", Self::new(move |to| to.send(&message()), receive))
    }

    /// Values with the datatype that rsmpi gives them.
    pub fn of_values<T: Equivalence + 'a>(memory: *mut T, count: usize) -> Self {
        let values = move || unsafe { std::slice::from_raw_parts_mut(black_box(memory), count) };
        Self::new(
            move |to| to.send(values()),
            move |from| {
                from.receive_into(values());
            },
        )
    }

    /// A number of a datatype, which lives as long as its owner.
    pub fn of_raw(memory: *mut u8, count: c_int, datatype: MPI_Datatype, owner: impl Sized + 'a) -> Self {
        let owner = Rc::new(owner);
        let also = Rc::clone(&owner);
        Self::new(
            move |to| unsafe {
                let (_owner, communicator) = (&owner, to.as_communicator().as_raw());
                ffi::MPI_Send(memory.cast(), count, datatype, to.rank(), 0, communicator);
            },
            move |from| unsafe {
                let (_owner, communicator) = (&also, from.as_communicator().as_raw());
                let status = ffi::RSMPI_STATUS_IGNORE;
                ffi::MPI_Recv(memory.cast(), count, datatype, from.rank(), 0, communicator, status);
            },
        )
    }

    /// Packed in some way into one contiguous message.
    fn packed(way: &'a Way<'a>, size: usize) -> Self {
        let buffer = Rc::new(RefCell::new(vec![0u8; size]));
        let also = Rc::clone(&buffer);
        Self::new(
            move |to| {
                let mut buffer = buffer.borrow_mut();
                (way.pack)(&mut buffer);
                to.send(&buffer[..]);
            },
            move |from| {
                let mut buffer = also.borrow_mut();
                from.receive_into(&mut buffer[..]);
                (way.unpack)(&buffer);
            },
        )
    }
}

/// Runs of what takes long.
const FEW: usize = 5;

/// How long is measured.
struct Effort {
    runs: usize,
    at_least: Duration,
    /// After so long a [`FEW`] runs are enough.
    at_most: Duration,
    /// Journeys there and back in a run.
    batch: usize,
}

/// Measures a case on both ranks, and prints it on the first.
pub fn measure(arguments: &Arguments, case: &Case<'_>, table: &RefCell<Table>) {
    let world = SimpleCommunicator::world();
    let quick = arguments.options.quick;
    if quick && !(3000..400_000).contains(&case.size) {
        return;
    }
    assert_eq!(world.size(), 2, "a ping-pong takes two ranks");
    wire::attach(&world).expect("there is a context for segments");
    let by_way = |name: &str| case.ways.iter().find(|(way, _)| *way == name).map(|(_, way)| way);
    let packed: Vec<_> = ["hand", "mpi_pack"]
        .into_iter()
        .filter_map(|name| Some((name, Travel::packed(by_way(name)?, case.size))))
        .collect();
    let travels: Vec<(&str, &Travel<'_>)> =
        case.travels.iter().chain(&packed).map(|(name, travel)| (*name, travel)).collect();
    let hand = by_way("hand").expect("there is a loop by hand");
    for (name, travel) in &travels {
        check(&world, case, hand, name, travel);
    }
    let effort = Effort {
        runs: if quick { 7 } else { 15 },
        at_least: Duration::from_millis(if quick { 60 } else { 400 }),
        at_most: Duration::from_secs(if quick { 1 } else { 5 }),
        batch: (200_000 / (case.size + 400)).clamp(1, 200),
    };
    let times = rounds(&world, &travels, &effort);
    if world.rank() == 0 {
        let names = travels.iter().map(|(name, _)| *name);
        let medians = Medians::of(names.zip(times).map(|(name, times)| (name, times, None)));
        let mut row = medians.row("pingpong", case.name.clone(), "auto");
        row.library.clone_from(&arguments.library);
        let ours = ["packed", "segments", "least-cost"];
        (row.others_us, row.peers_us) = row.peers_us.into_iter().partition(|(name, _)| ours.contains(name));
        print(&row, arguments.options.json);
        for row in travels.iter().filter_map(|(_, travel)| travel.row.as_deref()) {
            table.borrow_mut().add(&medians, row);
        }
    }
}

/// What was measured of the ways between which there is a choice: by row of a table, how many times as long
/// the other way takes as the usual one.
#[derive(Default)]
pub struct Table(BTreeMap<String, Ratios>);

/// The logarithms of some ratios, and how many they are.
#[derive(Clone, Copy, Default)]
struct Ratios(f64, u32);

impl Ratios {
    fn mean(self) -> f64 {
        (self.0 / f64::from(self.1.max(1))).exp()
    }
}

impl Table {
    /// Less than this is a reason for the other way.
    const LIMIT: f64 = 0.95;

    /// Takes what was measured of a case, which is one of a row.
    fn add(&mut self, medians: &Medians, row: &str) {
        if let (Some(typed), Some(packed)) = (medians.time("least-cost"), medians.time("packed")) {
            self.insert(row, Ratios((typed / packed).ln(), 1));
        }
    }

    fn insert(&mut self, row: &str, ratios: Ratios) {
        let all = self.0.entry(row.to_owned()).or_default();
        (all.0, all.1) = (all.0 + ratios.0, all.1 + ratios.1);
    }

    /// Writes the rows into a file, in the form that `Wire::Auto` reads, together with those that are there
    /// from earlier runs.
    pub fn add_to(&mut self, file: &Path) -> io::Result<()> {
        let before = fs::read_to_string(file).unwrap_or_default();
        for line in before.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let [row @ .., _, ratio, cases] = &words[..]
                && let (Ok(ratio), Ok(cases)) = (ratio.parse::<f64>(), cases.parse::<u32>())
            {
                self.insert(&row.join(" "), Ratios(ratio.ln() * f64::from(cases), cases));
            }
        }
        let mut text = HEADER.to_owned();
        for (row, ratios) in &self.0 {
            let way = if ratios.mean() < Self::LIMIT { "typed" } else { "packed" };
            let _ = writeln!(text, "{row} {way} {:.2} {}", ratios.mean(), ratios.1);
        }
        fs::write(file, text)
    }
}

/// The first lines of a table.
const HEADER: &str = "\
# Which of two ways is the faster, as `cargo xtask bench pingpong --wires FILE` has found it between two ranks
# on one machine.
#
# LIBRARY strided BLOCK   BYTES   typed|packed  parts of arrays, of one base type, of BYTES in all, whose
#                                               contiguous blocks of BLOCK bytes are at equal distances
# LIBRARY nested  BLOCK   BYTES   typed|packed  the same in loops around loops
# LIBRARY listed  BLOCK   BYTES   typed|packed  the same anywhere
#
# Each row ends with how many times as long it takes typed as packed, and in how many cases.

";

/// What is sent arrives.
fn check(world: &SimpleCommunicator, case: &Case<'_>, hand: &Way<'_>, name: &str, travel: &Travel<'_>) {
    let values: Vec<u8> =
        (0..case.size).map(|i| (i % 61) as u8 + u8::try_from(name.len()).unwrap_or(0)).collect();
    let other = world.process_at_rank(1 - world.rank());
    if world.rank() == 0 {
        (hand.unpack)(&values);
        (travel.send)(&other);
    } else {
        (hand.unpack)(&vec![0; case.size]);
        (travel.receive)(&other);
        let mut found = vec![0; case.size];
        (hand.pack)(&mut found);
        assert!(found == values, "{}: something else arrives with `{name}`", case.name);
    }
}

/// The times of half a journey, of all in turn, another one first each time.
fn rounds(
    world: &SimpleCommunicator,
    travels: &[(&str, &Travel<'_>)],
    effort: &Effort,
) -> Vec<Vec<Duration>> {
    let (count, started) = (travels.len(), Instant::now());
    let mut times = vec![Vec::new(); count];
    let (rank, other) = (world.rank(), world.process_at_rank(1 - world.rank()));
    let mut round = 0;
    loop {
        // Both ranks end after the same round.
        let mut goes_on = match started.elapsed() {
            elapsed if elapsed < effort.at_least => true,
            elapsed if elapsed > effort.at_most => round < FEW,
            _ => round < effort.runs,
        };
        world.process_at_rank(0).broadcast_into(&mut goes_on);
        if !goes_on {
            return times;
        }
        for i in (0..count).map(|i| (i + round) % count) {
            let Travel { send, receive, .. } = travels[i].1;
            let journey = || {
                if rank == 0 {
                    send(&other);
                    receive(&other);
                } else {
                    receive(&other);
                    send(&other);
                }
            };
            // The caches are as this way leaves them, not as the one before did.
            journey();
            world.barrier();
            let start = Instant::now();
            (0..effort.batch).for_each(|_| journey());
            times[i].push(start.elapsed() / (2 * effort.batch) as u32);
        }
        round += 1;
    }
}
