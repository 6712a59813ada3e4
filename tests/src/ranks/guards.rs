//! Every guard of something under way, in each order of calls that its type allows: `is_done` never, once,
//! twice, or until it says so; then the end, a drop, or `mem::forget`; also after an error, and after
//! `MPI_Finalize`.
//!
//! A row of [`KINDS`] says how a guard is made. The orders are made from the rows.

use std::{cell::Cell, mem, os::raw::c_int, path::PathBuf};

use dtype_runtime::{
    Error,
    layout::{Darray, Halo},
    traits::*,
    wire::{
        File, PartitionedReceive, PartitionedSend, PendingExchange, PendingHalo, PendingMessage, PendingRead,
        PendingReceive, PendingRedistribution, PendingSend, PendingWrite, PreparedReceive, PreparedSend,
        Redistribution,
    },
};
use mpi::{
    Tag,
    request::StaticScope,
    topology::{Process, SimpleCommunicator},
    traits::*,
};

use crate::files::Flag;
use crate::spy;

/// The values that each transfer moves.
type Values = [u64; 3];

/// The part of a guard's life that all guards have.
trait Life {
    fn is_done(&mut self) -> Result<bool, Error>;
    fn finish(self: Box<Self>) -> Result<(), Error>;
}

macro_rules! lives {
    ($([$($generics:tt)*] $type:ty: $finish:ident;)*) => {
        $(impl<$($generics)*> Life for $type {
            fn is_done(&mut self) -> Result<bool, Error> {
                <$type>::is_done(self)
            }
            fn finish(self: Box<Self>) -> Result<(), Error> {
                (*self).$finish().map(|_| ())
            }
        })*
    };
}

lives! {
    [] PendingSend<'static, Values, StaticScope>: wait;
    [] PendingReceive<'static, [u64], StaticScope>: wait;
    [] PendingMessage<'static, StaticScope>: wait;
    [] PendingExchange<'static, Vec<u64>>: finish;
    [] PendingHalo<'static, u64, 1>: finish;
    [] PendingRedistribution<'static, u64, 1>: finish;
    [] PendingWrite<'static>: finish;
    [] PendingRead<'static, Values>: finish;
    [] PendingRead<'static, [Flag]>: finish;
}

impl Life for PreparedSend<'static> {
    fn is_done(&mut self) -> Result<bool, Error> {
        PreparedSend::is_done(self)
    }

    fn finish(mut self: Box<Self>) -> Result<(), Error> {
        self.wait()
    }
}

/// A prepared receive, with its destination.
struct Prepared(PreparedReceive<'static>, &'static mut [u64]);

impl Life for Prepared {
    fn is_done(&mut self) -> Result<bool, Error> {
        self.0.is_done()
    }

    fn finish(mut self: Box<Self>) -> Result<(), Error> {
        self.0.finish(self.1)
    }
}

impl Life for PartitionedSend<'static> {
    fn is_done(&mut self) -> Result<bool, Error> {
        self.wait().map(|()| true)
    }

    fn finish(mut self: Box<Self>) -> Result<(), Error> {
        self.wait()
    }
}

/// A partitioned receive of one partition, with its destination.
struct Partitioned(PartitionedReceive<'static>, &'static mut [u64]);

impl Life for Partitioned {
    fn is_done(&mut self) -> Result<bool, Error> {
        self.0.has_arrived(0)
    }

    fn finish(mut self: Box<Self>) -> Result<(), Error> {
        self.0.finish(0, self.1)
    }
}

/// The place of a guard in the ring of all ranks.
struct Ring {
    world: &'static SimpleCommunicator,
    next: &'static Process<'static>,
    previous: &'static Process<'static>,
    file: &'static File,
    /// The tag of the next guard: messages of a guard that is dropped never meet another one.
    tag: Cell<Tag>,
}

impl Ring {
    fn new(world: &SimpleCommunicator, file: File) -> Self {
        let world: &'static SimpleCommunicator = leaked(world.duplicate());
        let (rank, size) = (world.rank(), world.size());
        let process = |rank: i32| -> &'static Process<'static> { leaked(world.process_at_rank(rank % size)) };
        let (next, previous) = (process(rank + 1), process(rank + size - 1));
        Self { world, next, previous, file: leaked(file), tag: Cell::new(100) }
    }

    /// Returns the values that a rank sends.
    fn values(&self, rank: i32) -> Values {
        [0, 1, 2].map(|i| 10 * (rank % self.world.size()) as u64 + i)
    }

    fn own(&self) -> &'static mut Values {
        leaked(self.values(self.world.rank()))
    }

    /// Returns the values of the previous rank.
    fn expected(&self) -> Values {
        self.values(self.world.rank() + self.world.size() - 1)
    }

    /// Receives what the guard of the previous rank sends.
    fn receive(&self) {
        let mut into: Values = [0; 3];
        self.previous.receive_values_into_with_tag(&mut into, self.tag.get()).unwrap();
        assert_eq!(into, self.expected());
    }

    /// Sends what the guard of the next rank receives.
    fn send(&self) {
        self.next.send_over_with_tag(dtype_runtime::Wire::Packed, self.own(), self.tag.get()).unwrap();
    }
}

/// Returns a value that lives for ever: the program may forget a guard that borrows it.
fn leaked<T>(value: T) -> &'static mut T {
    Box::leak(Box::new(value))
}

/// A guard that has been made, and the memory into which it receives.
struct Started {
    life: Box<dyn Life>,
    into: Option<*const [u64]>,
}

impl Started {
    fn sending(life: impl Life + 'static) -> Self {
        Self { life: Box::new(life), into: None }
    }

    /// Returns a guard that receives into `into`, made by `start`.
    fn receiving<M: ?Sized + AsRef<[u64]>, L: Life + 'static>(
        into: &'static mut M,
        start: impl FnOnce(&'static mut M) -> L,
    ) -> Self {
        let place: *const [u64] = (*into).as_ref();
        Self { life: Box::new(start(into)), into: Some(place) }
    }
}

/// An error that a guard meets.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// The destination has room for fewer values.
    Room,
    /// A received value is invalid.
    Value,
    /// MPI says that a request has failed.
    Request,
    /// MPI says that a write has failed.
    Write,
}

/// Lets so many of the next immediate writes fail: see `c/spy.c`.
pub fn fail_writes(count: c_int) {
    // SAFETY: sets a number.
    unsafe { spy::c_fail_writes(count) };
}

/// A kind of guard: its name, the call that makes it, with room for so many values if it receives, the call
/// of the other side, and the errors that it may meet.
type Kind = (&'static str, fn(&Ring, usize) -> Started, fn(&Ring), &'static [Fault]);

const KINDS: &[Kind] = &[
    (
        "PendingSend",
        |ring, _| {
            let tag = ring.tag.get();
            let wire = dtype_runtime::Wire::Packed;
            let values: &'static Values = ring.own();
            Started::sending(ring.next.immediate_send_over_with_tag(StaticScope, wire, values, tag).unwrap())
        },
        Ring::receive,
        &[Fault::None],
    ),
    (
        "PendingReceive",
        |ring, room| {
            let tag = ring.tag.get();
            Started::receiving(leaked(vec![0; room]).as_mut_slice(), |into| {
                ring.previous.immediate_receive_values_into_with_tag(StaticScope, into, tag).unwrap()
            })
        },
        Ring::send,
        &[Fault::None, Fault::Room],
    ),
    (
        "PendingMessage",
        |ring, _| {
            let tag = ring.tag.get();
            let values: &'static Values = ring.own();
            Started::sending(ring.next.immediate_send_message_with_tag(StaticScope, values, tag).unwrap())
        },
        |ring| {
            let (values, _) = ring.previous.receive_message_with_tag::<Values>(ring.tag.get()).unwrap();
            assert_eq!(values, ring.expected());
        },
        &[Fault::None],
    ),
    (
        "PreparedSend",
        |ring, _| {
            let values = ring.own();
            let mut send = ring.next.prepare_send_packed(values, ring.tag.get()).unwrap();
            send.start(values).unwrap();
            Started::sending(send)
        },
        Ring::receive,
        &[Fault::None, Fault::Request],
    ),
    (
        "PreparedReceive",
        |ring, room| {
            Started::receiving(leaked(vec![0; room]).as_mut_slice(), |into| {
                let mut receive = ring.previous.prepare_receive_packed(&*into, ring.tag.get()).unwrap();
                receive.start().unwrap();
                Prepared(receive, into)
            })
        },
        Ring::send,
        &[Fault::None, Fault::Room, Fault::Request],
    ),
    (
        "PartitionedSend",
        |ring, _| {
            let values = ring.own();
            let mut send = ring.next.prepare_partitioned_send_packed(values, 1, ring.tag.get()).unwrap();
            send.ready(0, values).unwrap();
            Started::sending(send)
        },
        |ring| {
            let mut receive =
                ring.previous.prepare_partitioned_receive_packed(&[0u64; 3], 1, ring.tag.get()).unwrap();
            let mut into: Values = [0; 3];
            receive.start().unwrap();
            receive.finish(0, &mut into).unwrap();
            assert_eq!(into, ring.expected());
        },
        &[Fault::None, Fault::Request],
    ),
    (
        "PartitionedReceive",
        |ring, room| {
            Started::receiving(leaked(vec![0; room]).as_mut_slice(), |into| {
                let tag = ring.tag.get();
                let mut receive = ring.previous.prepare_partitioned_receive_packed(&*into, 1, tag).unwrap();
                receive.start().unwrap();
                Partitioned(receive, into)
            })
        },
        |ring| {
            let values = ring.own();
            let mut send = ring.next.prepare_partitioned_send_packed(values, 1, ring.tag.get()).unwrap();
            send.ready(0, values).unwrap();
            send.wait().unwrap();
        },
        &[Fault::None, Fault::Room, Fault::Request],
    ),
    (
        "PendingExchange",
        |ring, room| {
            let (rank, size) = (ring.world.rank(), ring.world.size());
            let previous = (rank + size - 1) % size;
            let to: Vec<Vec<u64>> = (0..size)
                .map(|other| if other == (rank + 1) % size { ring.own().to_vec() } else { Vec::new() })
                .collect();
            let into: Vec<Vec<u64>> =
                (0..size).map(|other| vec![0; if other == previous { room } else { 0 }]).collect();
            let into = leaked(into);
            let place: *const [u64] = &raw const *into[previous as usize];
            let life = ring.world.start_all_to_all_varcount_packed(&to, into).unwrap();
            Started { life: Box::new(life), into: Some(place) }
        },
        |_| {},
        &[Fault::None, Fault::Room, Fault::Request],
    ),
    (
        "PendingHalo",
        |ring, _| {
            let torus = ring.world.create_cartesian_communicator(&[ring.world.size()], &[true], false);
            let torus = leaked(torus.expect("all ranks are on the ring"));
            let mut cells = vec![0; 9];
            cells[3..6].copy_from_slice(ring.own());
            let cells = leaked(cells);
            let place: *const [u64] = &raw const cells[..3];
            let life = Halo::new([9], 3).start(torus, cells).unwrap();
            Started { life: Box::new(life), into: Some(place) }
        },
        |_| {},
        &[Fault::None, Fault::Request],
    ),
    (
        "PendingRedistribution",
        |ring, _| {
            let (rank, size) = (ring.world.rank() as usize, ring.world.size() as usize);
            // Blocks of three: those of a rank move to the next one.
            let from = Darray::blocks(rank, [3 * size], [size]);
            let to = Darray::blocks((rank + size - 1) % size, [3 * size], [size]);
            let into = leaked(vec![0; 3]);
            let place: *const [u64] = &raw const into[..];
            let redistribution = leaked(Redistribution::new(ring.world, &from, &to).unwrap());
            let life = redistribution.start(&ring.own()[..], into.as_mut_slice()).unwrap();
            Started { life: Box::new(life), into: Some(place) }
        },
        |_| {},
        &[Fault::None, Fault::Request],
    ),
    (
        "PendingWrite",
        |ring, _| {
            let at = 24 * ring.world.rank() as u64;
            Started::sending(ring.file.start_write_at(at, ring.own()).unwrap())
        },
        |_| {},
        &[Fault::None, Fault::Write],
    ),
    (
        "PendingRead",
        |ring, _| {
            let (rank, size) = (ring.world.rank() as u64, ring.world.size() as u64);
            let at = 24 * ((rank + size - 1) % size);
            Started::receiving(leaked([0; 3]), |into| ring.file.start_read_at(at, into).unwrap())
        },
        |_| {},
        &[Fault::None],
    ),
    (
        "PendingRead of flags",
        |ring, _| {
            // Bytes of numbers, not all of which are 0 or 1.
            let at = 24 * ring.world.rank() as u64;
            let flags = leaked([Flag { is_set: false }; 24]);
            Started::sending(ring.file.start_read_at(at, &mut flags[..]).unwrap())
        },
        |_| {},
        &[Fault::Value],
    ),
];

/// The number of calls of `is_done`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Asked {
    Never,
    Once,
    Twice,
    UntilDone,
}

/// The end of a guard.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Finish,
    Drop,
    Forget,
}

/// Returns the file of all ranks, with the values of each.
fn file(world: &SimpleCommunicator) -> (File, PathBuf) {
    let name = std::env::temp_dir().join("dtype-guards");
    let path = world
        .process_at_rank(0)
        .broadcast_message((world.rank() == 0).then(|| format!("{}-{}", name.display(), std::process::id())));
    let path = PathBuf::from(path.unwrap());
    let mut file = File::create(world, &path).unwrap();
    file.write_at_all(24 * world.rank() as u64, &[0, 1, 2].map(|i| 10 * world.rank() as u64 + i)).unwrap();
    (file, path)
}

/// Ends each guard in each order.
pub fn orders(world: &SimpleCommunicator) {
    let (file, path) = file(world);
    let ring = Ring::new(world, file);
    for &(name, start, other_side, faults) in KINDS {
        for asked in [Asked::Never, Asked::Once, Asked::Twice, Asked::UntilDone] {
            for end in [End::Finish, End::Drop, End::Forget] {
                for &fault in faults {
                    // A halo or a redistribution of one rank has no requests.
                    if fault == Fault::Request && world.size() == 1 {
                        continue;
                    }
                    fail_writes(c_int::from(fault == Fault::Write));
                    let started = start(&ring, if fault == Fault::Room { 2 } else { 3 });
                    other_side(&ring);
                    // SAFETY: sets a number.
                    unsafe { spy::c_fail_requests(c_int::from(fault == Fault::Request)) };
                    live(&ring, started, asked, end, fault, &format!("{name}, {fault:?}, {asked:?}"));
                    // SAFETY: as above.
                    unsafe { spy::c_fail_requests(0) };
                    ring.tag.set(ring.tag.get() + 1);
                }
            }
        }
    }
    world.barrier();
    if world.rank() == 0 {
        std::fs::remove_file(path).unwrap();
    }
}

/// Lives the life of a guard, and checks each answer: an error is that of each later call.
fn live(ring: &Ring, started: Started, asked: Asked, end: End, fault: Fault, name: &str) {
    let Started { mut life, into } = started;
    let mut answers = Vec::new();
    match asked {
        Asked::Never => {}
        Asked::Once => answers.push(life.is_done()),
        Asked::Twice => answers.extend([life.is_done(), life.is_done()]),
        Asked::UntilDone => {
            while life.is_done() == Ok(false) {
                std::thread::yield_now();
            }
            answers.extend([life.is_done(), life.is_done()]);
            assert!(answers.iter().all(|answer| *answer != Ok(false)), "{name}: {answers:?}");
        }
    }
    let fails = fault != Fault::None;
    let first = answers.iter().position(Result::is_err).unwrap_or(answers.len());
    let mut errors =
        answers.split_off(first).into_iter().map(|answer| answer.map(|_| ())).collect::<Vec<_>>();
    match end {
        End::Finish => {
            let finished = life.finish();
            assert_eq!(finished.is_err(), fails, "{name}: {finished:?}");
            errors.extend(fails.then_some(finished));
            // SAFETY: the memory lives for ever, and the guard is gone.
            let arrived = into.map(|into| unsafe { &*into });
            let expected = ring.expected();
            let is_right = arrived.is_none_or(|arrived| {
                if fails { arrived.iter().all(|value| *value == 0) } else { arrived == expected }
            });
            assert!(is_right, "{name}: {arrived:?} instead of {expected:?}");
        }
        End::Drop => drop(life),
        End::Forget => mem::forget(life),
    }
    assert!(errors.iter().all(|error| error.is_err() && fails && *error == errors[0]), "{name}: {errors:?}");
}

/// Keeps each guard beyond the end of MPI: its calls are errors then, and it can be dropped.
pub fn beyond_the_end() {
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    let (file, path) = file(&world);
    let ring = Ring::new(&world, file);
    let mut kept = Vec::new();
    for &(name, start, other_side, _) in KINDS {
        for _ in 0..2 {
            kept.push((name, start(&ring, 3).life));
            other_side(&ring);
            ring.tag.set(ring.tag.get() + 1);
        }
    }
    world.barrier();
    if world.rank() == 0 {
        std::fs::remove_file(path).unwrap();
    }
    drop(universe);
    for (i, (name, mut life)) in kept.into_iter().enumerate() {
        assert_eq!(life.is_done(), Err(Error::Finalized), "{name}");
        if i % 2 == 0 {
            assert_eq!(life.finish(), Err(Error::Finalized), "{name}");
        }
    }
}
