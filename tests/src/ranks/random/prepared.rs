//! Prepared calls of random sizes, whose guards are asked, finished and dropped in random orders.

use dtype_runtime::traits::*;
use mpi::{topology::SimpleCommunicator, traits::*};

use super::each;
use crate::{
    engine::Random,
    redistribution::{Element, Mixed, Padded},
};

pub fn prepared(world: &SimpleCommunicator) {
    each(world, 120, |world, drawn| match (drawn.below(3), drawn.below(3)) {
        (0, 0) => messages::<f64>(world, drawn),
        (0, 1) => messages::<Mixed>(world, drawn),
        (0, _) => messages::<Padded>(world, drawn),
        (1, 0) => partitions::<f64>(world, drawn),
        (1, _) => partitions::<Mixed>(world, drawn),
        (_, 0) => exchanges::<f64>(world, drawn),
        (_, 1) => exchanges::<Mixed>(world, drawn),
        (_, _) => exchanges::<Padded>(world, drawn),
    });
}

/// Returns the values that a rank sends in a round.
fn values<T: Element>(count: usize, rank: usize, round: usize) -> Vec<T> {
    (0..count).map(|i| T::of((1000 * rank + 100 * round + i) as u64)).collect()
}

/// A number that no rank sends.
const NOTHING: u64 = 99_999;

/// Sends prepared messages in a ring, `shift` ranks further.
fn messages<T: Element>(world: &SimpleCommunicator, drawn: &mut Random) {
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let (count, shift) = (drawn.below(60), drawn.below(ranks));
    let (to, from) = ((rank + shift) % ranks, (rank + ranks - shift) % ranks);
    let (next, previous) = (world.process_at_rank(to as i32), world.process_at_rank(from as i32));
    let nothing = vec![T::of(NOTHING); count];
    let mut send = next.prepare_send_packed(&nothing, 5).unwrap();
    let mut receive = previous.prepare_receive_packed(&nothing, 5).unwrap();
    for round in 0..4 {
        receive.start().unwrap();
        send.start(&values::<T>(count, rank, round)).unwrap();
        for _ in 0..drawn.below(3) {
            send.is_done().unwrap();
            receive.is_done().unwrap();
        }
        let mut into = nothing.clone();
        // The next start drops a message that is not taken. The last one would be that of another receive.
        let is_taken = !drawn.one_in(4);
        if is_taken || round == 3 {
            receive.finish(&mut into).unwrap();
            assert_eq!(into, values::<T>(count, from, round), "round {round}");
        }
        if drawn.one_in(2) {
            send.wait().unwrap();
        }
    }
}

/// Sends messages in partitions, in an order of its own on each rank.
fn partitions<T: Element>(world: &SimpleCommunicator, drawn: &mut Random) {
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let (count, parts) = (drawn.below(20), 1 + drawn.below(6));
    let (to, from) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    let (next, previous) = (world.process_at_rank(to as i32), world.process_at_rank(from as i32));
    let nothing = vec![T::of(NOTHING); count];
    let mut send = next.prepare_partitioned_send_packed(&nothing, parts, 6).unwrap();
    let mut receive = previous.prepare_partitioned_receive_packed(&nothing, parts, 6).unwrap();
    for round in 0..3 {
        receive.start().unwrap();
        let first = drawn.below(parts) + rank;
        let order = |i: usize| (first + i) % parts;
        for part in (0..parts).map(order) {
            send.ready(part, &values::<T>(count, rank, 10 * round + part)).unwrap();
        }
        for part in (0..parts).map(|i| order(parts - 1 - i)) {
            if drawn.one_in(2) {
                while !receive.has_arrived(part).unwrap() {}
            }
            let mut into = nothing.clone();
            receive.finish(part, &mut into).unwrap();
            assert_eq!(into, values::<T>(count, from, 10 * round + part), "part {part} of round {round}");
        }
        send.wait().unwrap();
    }
}

/// Exchanges messages of any sizes between all ranks.
fn exchanges<T: Element>(world: &SimpleCommunicator, drawn: &mut Random) {
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    // The number of values from each rank to each other one.
    let counts: Vec<Vec<usize>> =
        (0..ranks).map(|_| (0..ranks).map(|_| drawn.below(2) * drawn.below(30)).collect()).collect();
    let sent = |from: usize, to: usize, round: usize| values::<T>(counts[from][to], from, 10 * round + to);
    let nothing: Vec<Vec<T>> = (0..ranks).map(|from| vec![T::of(NOTHING); counts[from][rank]]).collect();
    let own = |round: usize| -> Vec<Vec<T>> { (0..ranks).map(|to| sent(rank, to, round)).collect() };
    let mut exchange = world.prepare_all_to_all_varcount_packed(&own(0), &nothing).unwrap();
    for round in 0..4 {
        let (mut into, messages) = (nothing.clone(), own(round));
        let mut is_taken = true;
        match drawn.below(4) {
            0 => exchange.exchange(&messages, &mut into).unwrap(),
            1 => {
                drop(exchange.start(&messages, &mut into).unwrap());
                is_taken = false;
            }
            2 => {
                std::mem::forget(exchange.start(&messages, &mut into).unwrap());
                is_taken = false;
            }
            _ => {
                let mut pending = exchange.start(&messages, &mut into).unwrap();
                while !pending.is_done().unwrap() {}
                assert!(pending.is_done().unwrap());
                pending.finish().unwrap();
            }
        }
        let expected: Vec<Vec<T>> =
            if is_taken { (0..ranks).map(|from| sent(from, rank, round)).collect() } else { nothing.clone() };
        assert_eq!(into, expected, "round {round}");
    }
}
