//! The scenario `messages`: random values of random types, sent in every call. No truncated or altered bytes
//! of them do harm.

use std::{any::type_name, fmt::Debug};

use dtype_runtime::{
    FromMessage,
    message::{from_bytes, from_bytes_into, to_bytes},
    traits::*,
    wire,
};
use dtype_tests::is_long;
use mpi::{request::scope, topology::SimpleCommunicator, traits::*};

use crate::{
    Any, MESSAGES, SEED, VisitMessage, for_each_message,
    sample::{Random, Sample},
};

/// The number of values of each type.
const ROUNDS: usize = 4;
const LONG_ROUNDS: usize = 100;

pub fn messages(world: &SimpleCommunicator) {
    wire::attach(world).unwrap();
    let rounds = if is_long() { LONG_ROUNDS } else { ROUNDS };
    for_each_message(&Alone { world, rounds });
    for (i, round) in (0..MESSAGES).flat_map(|i| (0..rounds).map(move |round| (i, round))) {
        all_calls(world, i, round);
    }
}

/// Returns the generator of a rank's values.
fn random_of(round: usize, rank: usize) -> Random {
    Random::new(SEED + (round * 64 + rank) as u64)
}

/// Sends values to this rank, whose own memory they become.
struct Alone<'a> {
    world: &'a SimpleCommunicator,
    rounds: usize,
}

impl VisitMessage for Alone<'_> {
    fn visit<T: FromMessage + Sample + Clone + PartialEq + Debug>(&self) {
        for round in 0..self.rounds {
            let case = format!("{}, round {round} of seed {SEED}", type_name::<T>());
            let rank = self.world.rank() as usize;
            let (value, old): (T, T) = (random_of(round, rank).sample(), random_of(round, 63).sample());
            harmless(&to_bytes(&value).unwrap(), &old, &case);
            let own = self.world.this_process();
            scope(|scope| {
                let sending = own.immediate_send_message(scope, &value).unwrap();
                assert!(own.receive_message::<T>().unwrap().0 == value, "{case}");
                sending.wait().unwrap();
            });
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
fn all_calls(world: &SimpleCommunicator, i: usize, round: usize) {
    let (rank, size) = (world.rank() as usize, world.size() as usize);
    // Every rank knows the values of all.
    let value = |rank: usize| Any::of_type(i, &mut random_of(round, rank));
    let case = format!("type {i}, round {round} of seed {SEED}");
    point_to_point(world, &value, &case);
    let all: Vec<_> = (0..size).map(value).collect();
    let own = &all[rank];
    assert!(world.all_gather_vec(own).unwrap() == all, "{case}");
    let leaving: Vec<_> = (0..size).map(|to| value((rank + to) % size)).collect();
    let arrived: Vec<_> = (0..size).map(|from| value((rank + from) % size)).collect();
    assert!(world.all_to_all_vec(&leaving).unwrap() == arrived, "{case}");
    let root = world.process_at_rank(round as i32 % world.size());
    let is_root = root.rank() == world.rank();
    let sent = is_root.then(|| own.clone());
    assert!(root.broadcast_message(sent).unwrap() == all[root.rank() as usize], "{case}");
    assert!(root.gather_vec(own).unwrap() == is_root.then(|| all.clone()), "{case}");
    assert!(root.scatter_message(is_root.then_some(&all[..])).unwrap() == *own, "{case}");
}

/// Sends a value to the next rank, and receives one in each way.
fn point_to_point(world: &SimpleCommunicator, value: &impl Fn(usize) -> Any, case: &str) {
    let (rank, size) = (world.rank(), world.size());
    let next = world.process_at_rank((rank + 1) % size);
    let previous = world.process_at_rank((rank + size - 1) % size);
    let (own, expected) = (value(rank as usize), value(previous.rank() as usize));
    for way in 0..5 {
        scope(|scope| {
            let sending = next.immediate_send_message_with_tag(scope, &own, way).unwrap();
            let (arrived, status) = match way {
                0 => previous.receive_message::<Any>().unwrap(),
                1 => world.any_process().receive_message_with_tag(1).unwrap(),
                2 => previous.matched_probe().matched_receive_message().unwrap(),
                3 => {
                    let mut old = value(63);
                    let status = previous.receive_message_into(&mut old).unwrap();
                    (old, status)
                }
                _ => loop {
                    if let Some(arrived) = previous.immediate_receive_message().unwrap() {
                        break arrived;
                    }
                },
            };
            assert!(arrived == expected && status.tag() == way, "{case}: way {way}");
            sending.wait().unwrap();
        });
    }
}
