//! Prepared calls of random sizes, whose transfers are asked, finished, dropped and forgotten in random
//! orders.

use std::mem;

use dtype_runtime::Comm;
use mpi::topology::SimpleCommunicator;

use super::each;
use crate::{
    engine::Random,
    redistribution::{Element, Mixed, Padded},
};

pub fn prepared(world: &SimpleCommunicator) {
    each(world, 120, |world, drawn| {
        let world = &Comm::from(world);
        match (drawn.below(2), drawn.below(3)) {
            (0, 0) => messages::<f64>(world, drawn),
            (0, 1) => messages::<Mixed>(world, drawn),
            (0, _) => messages::<Padded>(world, drawn),
            (_, 0) => exchanges::<f64>(world, drawn),
            (_, 1) => exchanges::<Mixed>(world, drawn),
            (_, _) => exchanges::<Padded>(world, drawn),
        }
    });
}

/// Returns the values that a rank sends in a round.
fn values<T: Element>(count: usize, rank: usize, round: usize) -> Vec<T> {
    (0..count).map(|i| T::of((1000 * rank + 100 * round + i) as u64)).collect()
}

/// A number that no rank sends.
const NOTHING: u64 = 99_999;

/// Sends prepared messages in a ring, `shift` ranks further.
fn messages<T: Element>(world: &Comm<&SimpleCommunicator>, drawn: &mut Random) {
    let (rank, ranks) = (world.rank(), world.size());
    let (count, shift) = (drawn.below(60), drawn.below(ranks));
    let (to, from) = ((rank + shift) % ranks, (rank + ranks - shift) % ranks);
    let (next, previous) = (world.peer(to).tag(5), world.peer(from).tag(5));
    let nothing = vec![T::of(NOTHING); count];
    let sends = if drawn.one_in(3) { next.synchronous() } else { next };
    let mut send = sends.prepare().send(&nothing).unwrap();
    let mut receive = previous.prepare().receive_into(&nothing).unwrap();
    for round in 0..4 {
        let (own, expected) = (values::<T>(count, rank, round), values::<T>(count, from, round));
        let mut into = nothing.clone();
        if drawn.one_in(4) {
            // A receive that was started before takes the first message.
            let first = previous.start().receive::<Vec<T>>().unwrap();
            let receiving = receive.start(&mut into[..]).unwrap();
            let sent = next.start().send(&values::<T>(count, rank, round + 4)).unwrap();
            let sending = send.start(&own).unwrap();
            if drawn.one_in(2) {
                assert_eq!(first.finish().unwrap(), values::<T>(count, from, round + 4));
                receiving.finish().unwrap();
            } else {
                receiving.finish().unwrap();
                assert_eq!(first.finish().unwrap(), values::<T>(count, from, round + 4));
            }
            sent.finish().unwrap();
            sending.finish().unwrap();
            assert_eq!(into, expected, "round {round}");
            continue;
        }
        let mut receiving = if drawn.one_in(2) {
            receive.start(&mut into).unwrap()
        } else {
            receive.start(&mut into[..]).unwrap()
        };
        let mut sending = send.start(&own).unwrap();
        for _ in 0..drawn.below(3) {
            sending.is_done().unwrap();
            receiving.is_done().unwrap();
        }
        // The message of a receive that is forgotten is lost at the next start, or would be that of another
        // receive.
        let is_taken = match drawn.below(4) {
            0 if round < 3 => {
                mem::forget(receiving);
                false
            }
            1 => {
                while !receiving.is_done().unwrap() {}
                drop(receiving);
                false
            }
            _ => {
                receiving.finish().unwrap();
                true
            }
        };
        assert_eq!(into, if is_taken { expected } else { nothing.clone() }, "round {round}");
        match drawn.below(3) {
            0 => sending.finish().unwrap(),
            1 => drop(sending),
            _ => mem::forget(sending),
        }
    }
    // Both calls wait.
    let mut into = nothing;
    if shift > 0 && rank < to {
        send.run(&values::<T>(count, rank, 9)).unwrap();
        receive.run(&mut into).unwrap();
    } else {
        let sending = send.start(&values::<T>(count, rank, 9)).unwrap();
        receive.run(&mut into).unwrap();
        sending.finish().unwrap();
    }
    assert_eq!(into, values::<T>(count, from, 9));
}

/// Exchanges messages of any sizes between all ranks: by a call of all of them, or as neighbours in a graph.
fn exchanges<T: Element>(world: &Comm<&SimpleCommunicator>, drawn: &mut Random) {
    let (rank, ranks) = (world.rank(), world.size());
    // The number of values from each rank to each other one.
    let counts: Vec<Vec<usize>> =
        (0..ranks).map(|_| (0..ranks).map(|_| drawn.below(2) * drawn.below(30)).collect()).collect();
    let sent = |from: usize, to: usize, round: usize| values::<T>(counts[from][to], from, 10 * round + to);
    let nothing: Vec<Vec<T>> = (0..ranks).map(|from| vec![T::of(NOTHING); counts[from][rank]]).collect();
    let own = |round: usize| -> Vec<Vec<T>> { (0..ranks).map(|to| sent(rank, to, round)).collect() };
    let all: Vec<usize> = (0..ranks).collect();
    let graph = world.graph(&all, &all).unwrap();
    let mut exchange = if drawn.one_in(3) {
        graph.neighbours().prepare().all_to_all_into(&own(0), &nothing).unwrap()
    } else {
        world.prepare().all_to_all_into(&own(0), &nothing).unwrap()
    };
    for round in 0..4 {
        let (mut into, messages) = (nothing.clone(), own(round));
        let mut places: Vec<_> = into.iter_mut().map(Vec::as_mut_slice).collect();
        let mut is_taken = true;
        match drawn.below(5) {
            0 => exchange.run(&messages, &mut places).unwrap(),
            1 => exchange.run(&messages, &mut into).unwrap(),
            2 => {
                drop(exchange.start(&messages, &mut places).unwrap());
                is_taken = false;
            }
            3 => {
                mem::forget(exchange.start(&messages, &mut places).unwrap());
                is_taken = false;
            }
            _ => {
                let mut pending = exchange.start(&messages, &mut places).unwrap();
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
