//! The scenario `messages`: random values of random types, sent in every call. No truncated or altered bytes
//! of them do harm.

use std::{any::type_name, fmt::Debug, slice};

use dtype_runtime::{
    Comm, FromMessage,
    message::{from_bytes, from_bytes_into, to_bytes},
};
use dtype_tests::is_long;
use mpi::topology::SimpleCommunicator;

use crate::{
    Any, MESSAGES, SEED, VisitMessage, for_each_message,
    sample::{Random, Sample},
};

/// The number of values of each type.
const ROUNDS: usize = 4;
const LONG_ROUNDS: usize = 100;

pub fn messages(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    world.attach().unwrap();
    let rounds = if is_long() { LONG_ROUNDS } else { ROUNDS };
    for_each_message(&Alone { world, rounds });
    let (rank, size) = (world.rank(), world.size());
    let ring = world.graph(&[(rank + size - 1) % size], &[(rank + 1) % size]).unwrap();
    ring.attach().unwrap();
    for (i, round) in (0..MESSAGES).flat_map(|i| (0..rounds).map(move |round| (i, round))) {
        all_calls(world, &ring, i, round);
    }
}

/// Returns the generator of a rank's values.
fn random_of(round: usize, rank: usize) -> Random {
    Random::new(SEED + (round * 64 + rank) as u64)
}

/// Sends values to this rank, whose own memory they become.
struct Alone<'a> {
    world: &'a Comm<&'a SimpleCommunicator>,
    rounds: usize,
}

impl VisitMessage for Alone<'_> {
    fn visit<T: FromMessage + Sample + Clone + PartialEq + Debug>(&self) {
        for round in 0..self.rounds {
            let case = format!("{}, round {round} of seed {SEED}", type_name::<T>());
            let rank = self.world.rank();
            let (value, old): (T, T) = (random_of(round, rank).sample(), random_of(round, 63).sample());
            harmless(&to_bytes(&value).unwrap(), &old, &case);
            let own = self.world.peer(rank);
            let sending = own.start().send(&value).unwrap();
            assert!(own.receive::<T>().unwrap() == value, "{case}");
            sending.finish().unwrap();
            let mut into = old;
            own.swap(&mut into).unwrap();
            let sent = self.world.scope(|scope| {
                scope.peer(rank).send(&value)?;
                own.receive_into(&mut into)
            });
            sent.unwrap();
            assert!(into == value, "{case}");
        }
    }
}

/// Reads truncated and altered messages: each is an error, or another value. Old values stay after an error.
fn harmless<T: FromMessage + Clone + PartialEq + Debug>(bytes: &[u8], old: &T, case: &str) {
    // All of them if the message is short, and a few otherwise.
    let step = if bytes.len() > 200 { bytes.len() / 10 } else { 1 };
    for end in (0..bytes.len()).step_by(step) {
        assert!(from_bytes::<T>(&bytes[..end]).is_err(), "{case}: truncated to {end} bytes");
    }
    let mut altered = bytes.to_vec();
    for at in (0..bytes.len()).step_by(step) {
        for change in [1, 0x80, 0xFF] {
            altered[at] ^= change;
            let mut into = old.clone();
            let outcome = from_bytes_into(&altered, &mut into);
            match from_bytes::<T>(&altered) {
                Ok(_) => assert!(outcome.is_ok(), "{case}: byte {at} altered by {change}"),
                Err(_) => assert!(outcome.is_err() && into == *old, "{case}: byte {at} altered by {change}"),
            }
            altered[at] ^= change;
        }
    }
}

/// Sends values of type `i` in all calls between two ranks, and in all collective calls.
fn all_calls(world: &Comm<&SimpleCommunicator>, ring: &Comm, i: usize, round: usize) {
    let (rank, size) = (world.rank(), world.size());
    // Every rank knows the values of all.
    let value = |rank: usize| Any::of_type(i, &mut random_of(round, rank));
    let case = format!("type {i}, round {round} of seed {SEED}");
    point_to_point(world, &value, &case);
    let all: Vec<_> = (0..size).map(value).collect();
    let old = || value(63);
    let own = &all[rank];
    assert!(world.all_gather(own).unwrap() == all, "{case}");
    let leaving: Vec<_> = (0..size).map(|to| value((rank + to) % size)).collect();
    let arrived: Vec<_> = (0..size).map(|from| value((rank + from) % size)).collect();
    assert!(world.all_to_all(&leaving).unwrap() == arrived, "{case}");
    let mut places: Vec<_> = (0..size).map(|_| old()).collect();
    world.all_to_all_into(&leaving, &mut places).unwrap();
    assert!(places == arrived, "{case}");
    let mut places: Vec<_> = (0..size).map(|_| old()).collect();
    world.start().all_to_all_into(&leaving, &mut places).unwrap().finish().unwrap();
    assert!(places == arrived, "{case}");
    let mut places: Vec<_> = (0..size).map(|_| old()).collect();
    world.exchange(leaving.iter().enumerate(), places.iter_mut().enumerate()).unwrap();
    assert!(places == arrived, "{case}");
    let root = round % size;
    let is_root = rank == root;
    assert!(world.broadcast(root, is_root.then(|| own.clone())).unwrap() == all[root], "{case}");
    let mut place = if is_root { own.clone() } else { old() };
    world.broadcast_into(root, &mut place).unwrap();
    assert!(place == all[root], "{case}");
    assert!(world.gather(root, own).unwrap() == is_root.then(|| all.clone()), "{case}");
    assert!(world.scatter(root, is_root.then_some(&all[..])).unwrap() == *own, "{case}");
    // The neighbours in a ring.
    let previous = value((rank + size - 1) % size);
    assert!(ring.neighbours().all_gather(own).unwrap() == slice::from_ref(&previous), "{case}");
    let mut place = [old()];
    ring.neighbours().all_to_all_into(slice::from_ref(own), &mut place).unwrap();
    assert!(place[0] == previous, "{case}");
}

/// The number of ways to receive a value.
const WAYS: i32 = 10;

/// Sends a value to the next rank, and receives one in each way.
fn point_to_point(world: &Comm<&SimpleCommunicator>, value: &impl Fn(usize) -> Any, case: &str) {
    let (rank, size) = (world.rank(), world.size());
    let (next, previous) = (world.peer((rank + 1) % size), world.peer((rank + size - 1) % size));
    let (own, expected) = (value(rank), value(previous.rank()));
    for way in 0..WAYS {
        let sending = next.tag(way).start().send(&own).unwrap();
        let mut old = value(63);
        let arrived = match way {
            0 => previous.receive().unwrap(),
            1 => world.any().tag(1).receive().map(|(arrived, _)| arrived).unwrap(),
            2 => loop {
                if let Some(arrived) = previous.probe().unwrap() {
                    assert_eq!((arrived.from().rank(), arrived.tag()), (previous.rank(), way), "{case}");
                    break arrived.from().receive().unwrap();
                }
            },
            3 => {
                previous.receive_into(&mut old).unwrap();
                old
            }
            4 => loop {
                if let Some(arrived) = previous.try_receive().unwrap() {
                    break arrived;
                }
            },
            5 => {
                let from = world.any().tag(5).receive_into(&mut old).unwrap();
                assert_eq!(from.rank(), previous.rank(), "{case}");
                old
            }
            6 => previous.tag(6).start().receive().unwrap().finish().unwrap(),
            7 => {
                let mut receiving = previous.start().receive_into(&mut old).unwrap();
                while !receiving.is_done().unwrap() {}
                receiving.finish().unwrap();
                old
            }
            8 => {
                world.scope(|scope| scope.peer(previous.rank()).tag(8).receive_into(&mut old)).unwrap();
                old
            }
            _ => loop {
                if let Some((arrived, from)) = world.any().tag(way).try_receive().unwrap() {
                    assert_eq!(from.rank(), previous.rank(), "{case}");
                    break arrived;
                }
            },
        };
        assert!(arrived == expected, "{case}: way {way}");
        sending.finish().unwrap();
    }
}
