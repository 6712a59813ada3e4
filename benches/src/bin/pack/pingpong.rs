//! `cargo xtask bench pingpong`: half a ping-pong between two ranks, of all cases that are packed: on the wire that `Wire::auto` chooses,
//! against the datatype that a user would write, `MPI_Pack` and a loop by hand with a contiguous message, and the bytes as they lie in
//! memory.

use std::{
    cell::RefCell,
    ffi::c_int,
    hint::black_box,
    rc::Rc,
    time::{Duration, Instant},
};

use dtype_benches::measure::{Medians, print};
use dtype_runtime::{
    Wire,
    traits::*,
    wire::{Message, MessageMut},
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
}

impl<'a> Travel<'a> {
    fn new(send: impl Fn(&Process<'_>) + 'a, receive: impl Fn(&Process<'_>) + 'a) -> Self {
        Self { send: Box::new(send), receive: Box::new(receive) }
    }

    /// A message on each of our wires that can carry it.
    pub fn on_all_wires<M: Message + 'a, N: MessageMut + 'a>(
        message: impl Fn() -> M + Clone + 'a,
        into: impl Fn() -> N + Clone + 'a,
    ) -> Vec<(&'static str, Self)> {
        let on = |wire| {
            let (message, into) = (message.clone(), into.clone());
            Self::new(
                move |process| process.send_over(wire, &message()).expect("it can travel so"),
                move |process| {
                    process.receive_packed_into(&mut into()).expect("it fits");
                },
            )
        };
        vec![("auto", on(Wire::auto())), ("packed", on(Wire::Packed))]
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

    /// So many of a datatype, which lives as long as its owner.
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

/// How long is measured.
struct Effort {
    runs: usize,
    at_least: Duration,
    /// Journeys there and back in a run.
    batch: usize,
}

/// Measures a case on both ranks, and prints it on the first.
pub fn measure(arguments: &Arguments, case: &Case<'_>) {
    let world = SimpleCommunicator::world();
    let quick = arguments.options.quick;
    if quick && !(3000..400_000).contains(&case.size) {
        return;
    }
    assert_eq!(world.size(), 2, "a ping-pong takes two ranks");
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
        runs: if quick { 7 } else { 21 },
        at_least: Duration::from_millis(if quick { 60 } else { 400 }),
        batch: (200_000 / (case.size + 400)).clamp(1, 200),
    };
    let times = rounds(&world, &travels, &effort);
    if world.rank() == 0 {
        let names = travels.iter().map(|(name, _)| *name);
        let medians = Medians::of(names.zip(times).map(|(name, times)| (name, times, None)));
        for ours in ["auto", "packed"] {
            let name = if ours == "auto" { case.name.clone() } else { format!("{}/{ours}", case.name) };
            let mut row = medians.row("pingpong", name, ours);
            row.library.clone_from(&arguments.library);
            row.peers_us.retain(|peer, _| !["auto", "packed"].contains(peer));
            print(&row, arguments.options.json);
        }
    }
}

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
        let mut goes_on = round < effort.runs || started.elapsed() < effort.at_least;
        world.process_at_rank(0).broadcast_into(&mut goes_on);
        if !goes_on {
            return times;
        }
        for i in (0..count).map(|i| (i + round) % count) {
            let Travel { send, receive } = travels[i].1;
            world.barrier();
            let start = Instant::now();
            for _ in 0..effort.batch {
                if rank == 0 {
                    send(&other);
                    receive(&other);
                } else {
                    receive(&other);
                    send(&other);
                }
            }
            times[i].push(start.elapsed() / (2 * effort.batch) as u32);
        }
        round += 1;
    }
}
