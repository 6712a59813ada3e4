//! Every guard of something under way, in each order of calls that its type allows: `is_done` never, once,
//! twice, or until it says so; then the end, a drop, or `mem::forget`; also after an error, and after
//! `MPI_Finalize`.
//!
//! A row of [`MESSAGES`] or [`COLLECTIVE`] says how a guard is made. The orders are made from the rows.

use std::{cell::Cell, mem, os::raw::c_int, path::PathBuf};

use dtype_mpi::Error as LibraryError;
use dtype_runtime::{Comm, Error, File, Peer, Pending, Wire, comm::PendingHalo, layout::Darray};
use mpi::{
    Tag,
    topology::{CartesianCommunicator, SimpleCommunicator},
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
    ($($type:ty)*) => {
        $(impl Life for $type {
            fn is_done(&mut self) -> Result<bool, Error> {
                <$type>::is_done(self)
            }
            fn finish(self: Box<Self>) -> Result<(), Error> {
                (*self).finish().map(|_| ())
            }
        })*
    };
}

lives! {
    Pending<'static>
    Pending<'static, Vec<Flag>>
    PendingHalo<'static, u64, 1>
}

/// A value that is being received, with the memory that it is written to.
struct Arriving<T: 'static>(Pending<'static, T>, &'static mut T);

impl<T> Life for Arriving<T> {
    fn is_done(&mut self) -> Result<bool, Error> {
        self.0.is_done()
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        *self.1 = self.0.finish()?;
        Ok(())
    }
}

/// The place of a guard in the ring of all ranks.
struct Ring {
    world: &'static Comm,
    torus: &'static Comm<CartesianCommunicator>,
    file: &'static File,
    /// The tag of the next guard: messages of a guard that is dropped never meet another one.
    tag: Cell<Tag>,
}

impl Ring {
    fn new(world: &SimpleCommunicator, file: File) -> Self {
        let world: &'static Comm = leaked(Comm::from(world.duplicate()));
        let torus = leaked(world.cartesian([world.size()], [true]).unwrap());
        Self { world, torus, file: leaked(file), tag: Cell::new(100) }
    }

    /// Returns the rank that this one sends to, with the tag of the guard.
    fn next(&self) -> Peer<'static> {
        self.world.peer((self.world.rank() + 1) % self.world.size()).tag(self.tag.get())
    }

    /// Returns the rank that this one receives from, with the tag of the guard.
    fn previous(&self) -> Peer<'static> {
        let (rank, size) = (self.world.rank(), self.world.size());
        self.world.peer((rank + size - 1) % size).tag(self.tag.get())
    }

    /// Returns the values that a rank sends.
    fn values(rank: usize) -> Values {
        [0, 1, 2].map(|i| 10 * rank as u64 + i)
    }

    fn own(&self) -> &'static mut Values {
        leaked(Self::values(self.world.rank()))
    }

    /// Returns the values of the previous rank.
    fn expected(&self) -> Values {
        Self::values(self.previous().rank())
    }

    /// Receives what the guard of the previous rank sends.
    fn receive(&self) {
        assert_eq!(self.previous().receive::<Values>().unwrap(), self.expected());
    }

    /// Receives the owned value that the guard of the previous rank sends.
    fn receive_owned(&self) {
        assert_eq!(self.previous().receive::<Option<Values>>().unwrap(), Some(self.expected()));
    }

    /// Sends what the guard of the next rank receives.
    fn send(&self) {
        self.next().send(self.own()).unwrap();
    }

    /// Returns a message to each rank, of which all but that to the next one are empty, and a place for a
    /// message of each, with room for so many values of the previous one, whose place is returned as well.
    fn lists(&self, room: usize) -> (Vec<&'static [u64]>, Places, *const [u64]) {
        let (next, previous) = (self.next().rank(), self.previous().rank());
        let messages = (0..self.world.size()).map(|to| if to == next { &self.own()[..] } else { &[] });
        let sizes = (0..self.world.size()).map(|from| if from == previous { room } else { 0 });
        places(messages.collect(), sizes.collect(), previous)
    }

    /// Like [`lists`](Self::lists), for the two neighbours.
    fn around(&self, room: usize) -> (Vec<&'static [u64]>, Places, *const [u64]) {
        places(vec![&[], &self.own()[..]], vec![room, 0], 0)
    }
}

/// Memory to receive into.
type Places = &'static mut [&'static mut [u64]];

/// Returns messages, and places of these sizes, and one of them.
fn places(
    messages: Vec<&'static [u64]>,
    sizes: Vec<usize>,
    at: usize,
) -> (Vec<&'static [u64]>, Places, *const [u64]) {
    let places: Vec<_> = sizes.into_iter().map(|size| leaked(vec![0; size]).as_mut_slice()).collect();
    let place: *const [u64] = &raw const *places[at];
    (messages, leaked(places), place)
}

/// Returns a value that lives for ever: the program may forget a guard that borrows it.
fn leaked<T>(value: T) -> &'static mut T {
    Box::leak(Box::new(value))
}

/// A guard that has been made, and the memory into which it receives values that are checked.
struct Started {
    life: Box<dyn Life>,
    into: Option<Box<dyn Fn() -> Vec<u64>>>,
}

impl Started {
    fn new(life: impl Life + 'static) -> Self {
        Self { life: Box::new(life), into: None }
    }

    /// Returns a guard that receives into memory that lives for ever.
    fn with<M: ?Sized + AsRef<[u64]> + 'static>(life: impl Life + 'static, into: *const M) -> Self {
        // SAFETY: the memory lives for ever, and is read when the guard is gone.
        let read = move || unsafe { &*into }.as_ref().to_vec();
        Self { life: Box::new(life), into: Some(Box::new(read)) }
    }

    /// Returns a guard that receives into `into`, made by `start`.
    fn receiving<M: ?Sized + AsRef<[u64]>, L: Life + 'static>(
        into: &'static mut M,
        start: impl FnOnce(&'static mut M) -> L,
    ) -> Self {
        let place: *const M = into;
        Self::with(start(into), place)
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

/// The guards of messages between two ranks.
const MESSAGES: &[Kind] = &[
    (
        "a started send",
        |ring, _| Started::new(ring.next().start().send(ring.own()).unwrap()),
        Ring::receive,
        &[Fault::None],
    ),
    (
        "a started send of packed bytes",
        |ring, _| Started::new(ring.next().wire(Wire::Packed).start().send(&ring.own()[..]).unwrap()),
        Ring::receive,
        &[Fault::None],
    ),
    (
        "a started synchronous send",
        |ring, _| Started::new(ring.next().synchronous().start().send(ring.own()).unwrap()),
        Ring::receive,
        &[Fault::None],
    ),
    (
        "a started send of an owned value",
        |ring, _| Started::new(ring.next().start().send(&Some(*ring.own())).unwrap()),
        Ring::receive_owned,
        &[Fault::None],
    ),
    (
        "a started receive",
        |ring, _| {
            Started::receiving(leaked([0; 3]), |into| {
                Arriving(ring.previous().start().receive::<Values>().unwrap(), into)
            })
        },
        Ring::send,
        &[Fault::None],
    ),
    (
        "a started receive of too few values",
        |ring, _| {
            Started::receiving(leaked([0; 2]), |into| {
                Arriving(ring.previous().start().receive::<[u64; 2]>().unwrap(), into)
            })
        },
        Ring::send,
        &[Fault::Room],
    ),
    (
        "a started receive of any number of values",
        |ring, _| {
            Started::receiving(leaked(Vec::new()), |into| {
                Arriving(ring.previous().start().receive::<Vec<u64>>().unwrap(), into)
            })
        },
        Ring::send,
        &[Fault::None],
    ),
    (
        "a started receive of flags",
        |ring, _| Started::new(ring.previous().start().receive::<Vec<Flag>>().unwrap()),
        // Bytes of numbers, not all of which are 0 or 1.
        |ring| ring.next().send(&[7u64; 3]).unwrap(),
        &[Fault::Value],
    ),
    (
        "a started receive into values",
        |ring, room| {
            Started::receiving(leaked(vec![0; room]).as_mut_slice(), |into| {
                ring.previous().start().receive_into(into).unwrap()
            })
        },
        Ring::send,
        &[Fault::None, Fault::Room],
    ),
    (
        "a started receive into a vector",
        |ring, _| {
            Started::receiving(leaked(vec![0; 2]), |into| ring.previous().start().receive_into(into).unwrap())
        },
        Ring::send,
        &[Fault::None],
    ),
    (
        "a started receive into flags",
        |ring, _| {
            let flags = leaked([Flag { is_set: false }; 24]);
            Started::new(ring.previous().start().receive_into(flags).unwrap())
        },
        |ring| ring.next().send(&[7u64; 3]).unwrap(),
        &[Fault::Value],
    ),
    (
        "a prepared send",
        |ring, _| {
            let values = ring.own();
            let send = leaked(ring.next().prepare().send(values).unwrap());
            Started::new(send.start(values).unwrap())
        },
        Ring::receive,
        &[Fault::None, Fault::Request],
    ),
    (
        "a prepared synchronous send",
        |ring, _| {
            let values = ring.own();
            let send = leaked(ring.next().synchronous().prepare().send(values).unwrap());
            Started::new(send.start(values).unwrap())
        },
        Ring::receive,
        &[Fault::None, Fault::Request],
    ),
    (
        "a prepared receive",
        |ring, room| {
            Started::receiving(leaked(vec![0; room]).as_mut_slice(), |into| {
                leaked(ring.previous().prepare().receive_into(&*into).unwrap()).start(into).unwrap()
            })
        },
        Ring::send,
        &[Fault::None, Fault::Room, Fault::Request],
    ),
    (
        "a prepared receive of flags",
        |ring, _| {
            let flags = leaked([Flag { is_set: false }; 24]);
            let receive = leaked(ring.previous().prepare().receive_into(&*flags).unwrap());
            Started::new(receive.start(flags).unwrap())
        },
        |ring| ring.next().send(&[7u64; 3]).unwrap(),
        &[Fault::Value],
    ),
];

/// The guards of calls that all ranks make.
const COLLECTIVE: &[Kind] = &[
    (
        "a started exchange",
        |ring, room| {
            let (messages, places, place) = ring.lists(room);
            let life = ring.world.start().all_to_all_into(&messages, places).unwrap();
            Started::with(life, place)
        },
        |_| {},
        &[Fault::None, Fault::Room],
    ),
    (
        "a prepared exchange",
        |ring, room| {
            let (messages, places, place) = ring.lists(room);
            let prepared = leaked(ring.world.prepare().all_to_all_into(&messages, places).unwrap());
            let life = prepared.start(&messages, places).unwrap();
            Started::with(life, place)
        },
        |_| {},
        &[Fault::None, Fault::Room, Fault::Request],
    ),
    (
        "a started exchange with neighbours",
        |ring, room| {
            let (messages, places, place) = ring.around(room);
            let life = ring.torus.neighbours().start().all_to_all_into(&messages, places).unwrap();
            Started::with(life, place)
        },
        |_| {},
        &[Fault::None, Fault::Room],
    ),
    (
        "a prepared exchange with neighbours",
        |ring, room| {
            let (messages, places, place) = ring.around(room);
            let around = ring.torus.neighbours();
            let prepared = leaked(around.prepare().all_to_all_into(&messages, places).unwrap());
            let life = prepared.start(&messages, places).unwrap();
            Started::with(life, place)
        },
        |_| {},
        &[Fault::None, Fault::Room, Fault::Request],
    ),
    (
        "an exchange of flags",
        |ring, _| {
            let flags = |room: usize| leaked(vec![Flag { is_set: false }; room]).as_mut_slice();
            let places = leaked([flags(24), flags(0)]);
            let messages = [&[][..], &[7u64; 3]];
            let life = ring.torus.neighbours().start().all_to_all_into(&messages, places).unwrap();
            Started::new(life)
        },
        |_| {},
        &[Fault::Value],
    ),
    (
        "a halo",
        |ring, _| {
            let part = ring.torus.blocks([3 * ring.world.size()], [ring.world.size()]).ghosts(3);
            let mut cells = part.vec(0);
            cells[3..6].copy_from_slice(ring.own());
            let cells = leaked(cells);
            let place: *const [u64] = &raw const cells[..3];
            let life = leaked(ring.torus.halo(&part).unwrap()).start(cells).unwrap();
            Started::with(life, place)
        },
        |_| {},
        &[Fault::None, Fault::Request],
    ),
    (
        "a redistribution",
        |ring, _| {
            let (rank, size) = (ring.world.rank(), ring.world.size());
            // Blocks of three: those of a rank move to the next one.
            let from = Darray::blocks(rank, [3 * size], [size]);
            let to = Darray::blocks((rank + size - 1) % size, [3 * size], [size]);
            let into = leaked(vec![0; 3]);
            let place: *const [u64] = &raw const into[..];
            let redistribution = leaked(ring.world.prepare().redistribute(&from, &to).unwrap());
            let life = redistribution.start(&ring.own()[..], into.as_mut_slice()).unwrap();
            Started::with(life, place)
        },
        |_| {},
        &[Fault::None, Fault::Request],
    ),
    (
        "a write to a file",
        |ring, _| {
            let at = 24 * ring.world.rank() as u64;
            Started::new(ring.file.start().write_at(at, ring.own()).unwrap())
        },
        |_| {},
        &[Fault::None, Fault::Write],
    ),
    (
        "a read from a file",
        |ring, _| {
            let at = 24 * ring.previous().rank() as u64;
            Started::receiving(leaked([0; 3]), |into| ring.file.start().read_at(at, into).unwrap())
        },
        |_| {},
        &[Fault::None],
    ),
    (
        "a read of flags from a file",
        |ring, _| {
            // Bytes of numbers, not all of which are 0 or 1.
            let at = 24 * ring.world.rank() as u64;
            let flags = leaked([Flag { is_set: false }; 24]);
            Started::new(ring.file.start().read_at(at, &mut flags[..]).unwrap())
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
    let world = Comm::from(world);
    let name = std::env::temp_dir().join("dtype-guards");
    let path = world.broadcast(0, Some(format!("{}-{}", name.display(), std::process::id())));
    let path = PathBuf::from(path.unwrap());
    let mut file = world.create(&path).unwrap();
    file.write_at_all(24 * world.rank() as u64, &Ring::values(world.rank())).unwrap();
    (file, path)
}

/// Ends each guard in each order.
pub fn orders(world: &SimpleCommunicator) {
    let (file, path) = file(world);
    let ring = Ring::new(world, file);
    for &(name, start, other_side, faults) in MESSAGES.iter().chain(COLLECTIVE) {
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
            let (arrived, expected) = (into.map(|into| into()), ring.expected());
            let is_right = arrived.as_ref().is_none_or(|arrived| {
                if fails { arrived.iter().all(|value| *value == 0) } else { *arrived == expected }
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
    for &(name, start, other_side, _) in MESSAGES.iter().chain(COLLECTIVE) {
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
        assert_eq!(life.is_done(), Err(Error::Library(LibraryError::Finalized)), "{name}");
        if i % 2 == 0 {
            assert_eq!(life.finish(), Err(Error::Library(LibraryError::Finalized)), "{name}");
        }
    }
}
