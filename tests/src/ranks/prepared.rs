//! Prepared messages, in one piece and in partitions, and reductions with functions of the program.

use std::{mem, os::raw::c_int, panic, slice};

use dtype_runtime::{Error, MpiDatatype, Wire, layout, traits::*, wire::send_receive_replace_packed};
use mpi::{topology::SimpleCommunicator, traits::*};

use crate::spy;

#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Mixed {
    is_odd: bool,
    value: f64,
}

fn mixed(number: usize) -> Mixed {
    Mixed { is_odd: number % 2 == 1, value: number as f64 }
}

/// Sends prepared messages around a ring, and receives them by prepared and other calls.
pub fn prepared(world: &SimpleCommunicator) {
    let (rank, size) = (world.rank(), world.size());
    let (next, previous) =
        (world.process_at_rank((rank + 1) % size), world.process_at_rank((rank + size - 1) % size));
    let from = ((rank + size - 1) % size) as usize;
    let values =
        |rank: usize, round: usize| -> Vec<Mixed> { (0..9).map(|i| mixed(rank + 10 * round + i)).collect() };
    let own = |round| values(rank as usize, round);
    let room = vec![mixed(0); 9];

    let mut send = next.prepare_send_packed(&own(0), 3).unwrap();
    let mut receive = previous.prepare_receive_packed(&room, 3).unwrap();
    for round in 0..5 {
        receive.start().unwrap();
        let mut message = own(round);
        send.start(&message).unwrap();
        message.fill(mixed(99)); // the message has been packed
        let mut into = room.clone();
        while !receive.is_done().unwrap() {}
        receive.finish(&mut into).unwrap();
        assert_eq!(into, values(from, round));
        // It can be taken again, and elsewhere: into a column.
        let mut matrix = [[mixed(0); 2]; 9];
        let column = layout!(Mixed[9][2] => [.., 1]);
        receive.finish(&mut column.of_mut(&mut matrix)).unwrap();
        assert_eq!(matrix.map(|row| row[1])[..], values(from, round));
    }
    send.wait().unwrap();
    assert!(send.is_done().unwrap());
    // Other calls receive it, and send to it. The rounds are in order.
    let mut synchronous = next.prepare_synchronous_send_packed(&own(0), 4).unwrap();
    synchronous.start(&own(7)).unwrap();
    let mut into = room.clone();
    previous.receive_values_into_with_tag(&mut into, 4).unwrap();
    synchronous.wait().unwrap();
    assert_eq!(into, values(from, 7));
    let mut receive = previous.prepare_receive_packed(&room, 5).unwrap();
    receive.start().unwrap();
    let message = own(8);
    mpi::request::scope(|scope| {
        let request = next.immediate_send_over_with_tag(scope, Wire::Auto, &message, 5).unwrap();
        receive.finish(&mut into).unwrap();
        request.wait().unwrap();
    });
    assert_eq!(into, values(from, 8));
    world.barrier();
    // Ready: the receive has been started before.
    let mut receive = previous.prepare_receive_packed(&room, 6).unwrap();
    receive.start().unwrap();
    world.barrier();
    // SAFETY: the barrier is behind the start of the receive.
    let mut ready = unsafe { next.prepare_ready_send_packed(&own(0), 6) }.unwrap();
    ready.start(&own(9)).unwrap();
    receive.finish(&mut into).unwrap();
    assert_eq!(into, values(from, 9));

    // Wrong sizes are errors on this side, and nothing is sent.
    assert!(matches!(send.start(&own(0)[1..]), Err(Error::Length { .. })));
    assert!(matches!(receive.finish(&mut into[1..]), Err(Error::Length { .. })));
    // A message that is too long or too short: an error, and the next one is right.
    let mut long = next.prepare_send_packed(&vec![mixed(1); 5000], 8).unwrap();
    let mut right = next.prepare_send_packed(&own(0), 8).unwrap();
    let mut receive = previous.prepare_receive_packed(&room, 8).unwrap();
    receive.start().unwrap();
    long.start(&vec![mixed(1); 5000]).unwrap();
    into.fill(mixed(50));
    assert!(matches!(receive.finish(&mut into), Err(Error::Fit { .. })));
    assert_eq!(into, [mixed(50); 9]);
    long.wait().unwrap();
    world.barrier();
    receive.start().unwrap();
    right.start(&own(2)).unwrap();
    receive.finish(&mut into).unwrap();
    assert_eq!(into, values(from, 2));
    world.barrier();
    // Requests that are dropped or forgotten while they are active.
    let mut never = previous.prepare_receive_packed(&room, 9).unwrap();
    never.start().unwrap();
    drop(never);
    mem::forget(previous.prepare_receive_packed(&room, 9).unwrap());
    mem::forget(next.prepare_send_packed(&room, 9).unwrap());
    // Sizes of nothing.
    let nothing: [u8; 0] = [];
    let (mut send, mut receive) = (
        next.prepare_send_packed(&nothing, 10).unwrap(),
        previous.prepare_receive_packed(&nothing, 10).unwrap(),
    );
    receive.start().unwrap();
    send.start(&nothing).unwrap();
    receive.finish(&mut [0u8; 0]).unwrap();

    // In place of what is sent.
    let mut turned = own(4);
    let status = send_receive_replace_packed(&mut turned, &next, &previous).unwrap();
    assert_eq!((turned, status.source_rank()), (values(from, 4), from as i32));
    // Synchronous, from even to odd ranks.
    if rank % 2 == 0 && rank + 1 < size {
        next.synchronous_send_packed(&mixed(3), 11).unwrap();
    } else if rank % 2 == 1 {
        let mut into = mixed(0);
        previous.receive_values_into_with_tag(&mut into, 11).unwrap();
        assert_eq!(into, mixed(3));
    }
    failed(world);
    partitions(world);
}

/// Checks that prepared calls can be started again after a request has failed.
fn failed(world: &SimpleCommunicator) {
    let (rank, size) = (world.rank(), world.size());
    let next = world.process_at_rank((rank + 1) % size);
    let previous = world.process_at_rank((rank + size - 1) % size);
    let values = |rank: i32| -> Vec<Mixed> { (0..9).map(|i| mixed(rank as usize + i)).collect() };
    let mut into = vec![mixed(0); 9];
    let mut send = next.prepare_send_packed(&into, 12).unwrap();
    let mut receive = previous.prepare_receive_packed(&into, 12).unwrap();
    for fails in [true, false] {
        receive.start().unwrap();
        send.start(&values(rank)).unwrap();
        // SAFETY: sets a number of this process, which has one thread.
        unsafe { spy::c_fail_requests(c_int::from(fails)) };
        assert_eq!(receive.finish(&mut into).is_err(), fails);
        send.wait().unwrap();
    }
    assert_eq!(into, values(previous.rank()));
    world.barrier();
}

fn partitions(world: &SimpleCommunicator) {
    const PARTS: usize = 5;
    let (rank, size) = (world.rank(), world.size());
    let (next, previous) =
        (world.process_at_rank((rank + 1) % size), world.process_at_rank((rank + size - 1) % size));
    let from = ((rank + size - 1) % size) as usize;
    let part = [mixed(0); 3];
    let mut send = next.prepare_partitioned_send_packed(&part, PARTS, 20).unwrap();
    let mut receive = previous.prepare_partitioned_receive_packed(&part, PARTS, 20).unwrap();
    let value = |rank: usize, round: usize, part: usize| [mixed(100 * rank + 10 * round + part); 3];
    for round in 0..4 {
        receive.start().unwrap();
        // An order of its own in each round and on each rank.
        let order = (0..PARTS).map(|i| (i * (1 + round % 4) + rank as usize + round) % PARTS);
        let mut into = [[mixed(0); 3]; PARTS];
        assert!((0..PARTS).all(|part| size == 1 || receive.has_arrived(part).is_ok()));
        for part in order {
            send.ready(part, &value(rank as usize, round, part)).unwrap();
        }
        for part in (0..PARTS).rev() {
            if part % 2 == 0 {
                while !receive.has_arrived(part).unwrap() {}
            }
            receive.finish(part, &mut into[part]).unwrap();
        }
        assert!(into.iter().enumerate().all(|(part, found)| *found == value(from, round, part)));
        send.wait().unwrap();
        world.barrier();
    }
    assert!(matches!(send.ready(PARTS, &part), Err(Error::Parameter { .. })));
    assert!(matches!(send.ready(0, &part[1..]), Err(Error::Length { .. })));
    assert!(matches!(receive.has_arrived(PARTS), Err(Error::Parameter { .. })));
    // Each partition once a round, from one rank.
    let mut again = next.prepare_partitioned_send_packed(&part, 2, 21).unwrap();
    again.ready(1, &part).unwrap();
    assert!(matches!(again.ready(1, &part), Err(Error::Parameter { .. })));
    again.ready(0, &part).unwrap();
    let mut whole = previous.prepare_partitioned_receive_packed(&part, 2, 21).unwrap();
    let mut into = part;
    assert!(matches!(whole.finish(0, &mut into), Err(Error::NotStarted { .. })));
    whole.start().unwrap();
    whole.finish(0, &mut into).unwrap();
    whole.finish(1, &mut into).unwrap();
    again.wait().unwrap();
    let anybody = world.any_process();
    let mixed_up = anybody.prepare_partitioned_receive_packed(&part, 2, 21);
    assert!(matches!(mixed_up, Err(Error::Parameter { .. })));
    let mut none = next.prepare_partitioned_send_packed(&part, 0, 22).unwrap();
    assert!(matches!(none.ready(0, &part), Err(Error::Parameter { .. })));
    // A receive that was not started.
    let mut send = next.prepare_send_packed(&7u64, 23).unwrap();
    let mut once = previous.prepare_receive_packed(&0u64, 23).unwrap();
    let mut found = 0u64;
    assert!(matches!(once.finish(&mut found), Err(Error::NotStarted { .. })));
    once.start().unwrap();
    send.start(&7u64).unwrap();
    once.finish(&mut found).unwrap();
    send.wait().unwrap();
    assert_eq!(found, 7);
    world.barrier();
    // A message of somebody else on the tag.
    receive.start().unwrap();
    let mut odd = next.prepare_send_packed(&[7u64; 4], 20).unwrap();
    odd.start(&[7u64; 4]).unwrap();
    odd.wait().unwrap();
    let refused = receive.finish(1, &mut [mixed(0); 3]);
    assert!(matches!(refused, Err(Error::Message { .. } | Error::Fit { .. })), "{refused:?}");
}

/// A value that some ranks cannot clone in a reduction.
#[derive(MpiDatatype)]
struct Cloned {
    from: i32,
    panics: bool,
}

impl Clone for Cloned {
    fn clone(&self) -> Self {
        assert!(!self.panics, "no clone");
        Self { ..*self }
    }
}

/// Reduces values of several types with functions that do not commute.
pub fn reductions(world: &SimpleCommunicator) {
    let (rank, ranks) = (world.rank(), world.size());
    // An interval of ranks: only neighbours combine, the lower one first.
    let join = |a: &(i32, i32, bool), b: &(i32, i32, bool)| (a.0, b.1, a.2 && b.2 && a.1 + 1 == b.0);
    let own = (rank, rank, true);
    assert_eq!(world.all_reduce_with(&own, join).unwrap(), (0, ranks - 1, true));
    assert_eq!(world.scan_with(&own, join).unwrap(), (0, rank, true));
    let below = world.exclusive_scan_with(&own, join).unwrap();
    assert_eq!(below, (rank > 0).then_some((0, rank - 1, true)));
    for root in 0..ranks {
        let reduced = world.process_at_rank(root).reduce_with(&own, join).unwrap();
        assert_eq!(reduced, (rank == root).then_some((0, ranks - 1, true)));
    }
    // Many values, of a restricted type with padding, and of nothing.
    for count in [0, 1, 1000, 100_000] {
        let values: Vec<Mixed> = (0..count).map(|i| mixed(i + rank as usize)).collect();
        let mut into = vec![mixed(0); count];
        let add = |a: &Mixed, b: &Mixed| Mixed { is_odd: a.is_odd != b.is_odd, value: a.value + b.value };
        world.all_reduce_into_with(&values, &mut into, add).unwrap();
        let ranks = ranks as usize;
        let sum = |i: usize| mixed(i * ranks + ranks * (ranks - 1) / 2);
        assert!(into.iter().enumerate().all(|(i, found)| *found == sum(i)), "{count}");
    }
    assert!(world.all_reduce_with(&(rank % 2 == 0), |a, b| *a || *b).unwrap());
    assert_eq!(world.all_reduce_with(&(rank < 1), |a, b| *a && *b).unwrap(), ranks == 1);
    assert_eq!(
        world.all_reduce_with(&[[f64::from(rank); 3]; 2], |a, b| {
            std::array::from_fn(|i| std::array::from_fn(|j| a[i][j].max(b[i][j])))
        }),
        Ok([[f64::from(ranks - 1); 3]; 2])
    );
    world.all_reduce_with(&(), |(), ()| ()).unwrap();

    // A function that uses what is around it, from a thread of its own.
    let calls = std::sync::atomic::AtomicUsize::new(0);
    world
        .all_reduce_with(&1u64, |a, b| {
            calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            a + b
        })
        .unwrap();
    assert!(calls.into_inner() <= 2 * ranks as usize);

    // Different numbers of values: an error on all ranks, and no hang.
    if ranks > 1 {
        let values = vec![1u32; 1 + rank as usize];
        let reduced = world.all_reduce_into_with(&values, &mut values.clone(), |a, b| a + b);
        assert!(matches!(reduced, Err(Error::Reduction { .. })), "{reduced:?}");
        assert!(matches!(
            world.all_reduce_into_with(&[1u8; 2], &mut [0; 1], |a, b| a + b),
            Err(Error::Length { .. })
        ));
        // An error of one rank: the others do not wait for it.
        let mut into = [0u8; 2];
        let reduced =
            world.all_reduce_into_with(&[1u8; 2], &mut into[usize::from(rank == 0)..], |a, b| a + b);
        assert_eq!(matches!(reduced, Err(Error::Length { .. })), rank == 0);
        assert!(rank == 0 || matches!(reduced, Err(Error::Reduction { .. })), "{reduced:?}");
        // Other types of the same size.
        let reduced = if rank == 0 {
            world.all_reduce_with(&1i64, |a, b| a + b).map(|_| ())
        } else {
            world.all_reduce_with(&1f64, |a, b| a + b).map(|_| ())
        };
        assert!(matches!(reduced, Err(Error::Reduction { .. })), "{reduced:?}");
        let reduced = if rank == 0 {
            world.all_reduce_into_with(&[1u8; 9], &mut [0; 9], |a, b| a + b)
        } else {
            world.all_reduce_into_with(&[1u64; 2], &mut [0; 2], |a, b| a + b)
        };
        assert!(matches!(reduced, Err(Error::Reduction { .. })), "{reduced:?}");
        // Invalid values of another rank.
        let reduced = if rank == 0 {
            world.all_reduce_with(&7u8, |a, _| *a).map(|_| true)
        } else {
            world.all_reduce_with(&true, |a, b| *a && *b)
        };
        assert!(rank == 0 || matches!(reduced, Err(Error::Reduction { .. })), "{reduced:?}");
    }
    // A panic on the ranks that combine: it continues there, and is an error elsewhere.
    if ranks > 1 {
        panic::set_hook(Box::new(|_| {}));
        let mut own = [0u8; 1];
        let result = panic::catch_unwind(panic::AssertUnwindSafe(|| {
            world.all_reduce_into_with(slice::from_ref(&1u8), &mut own, |_, _| panic!("no sum"))
        }));
        drop(panic::take_hook());
        match result {
            Ok(reduced) => assert!(matches!(reduced, Err(Error::Reduction { .. })), "{reduced:?}"),
            Err(panic) => assert_eq!(panic.downcast_ref::<&str>(), Some(&"no sum")),
        }
        assert_eq!(own, [0]);
        // A panic when a value is cloned: no rank gets a sum without the values of this one.
        let values = [Cloned { from: rank, panics: rank == 1 }];
        let mut into = [Cloned { from: 0, panics: false }];
        panic::set_hook(Box::new(|_| {}));
        let result = panic::catch_unwind(panic::AssertUnwindSafe(|| {
            let sum = |a: &Cloned, b: &Cloned| Cloned { from: a.from + b.from, panics: false };
            world.all_reduce_into_with(&values, &mut into, sum)
        }));
        drop(panic::take_hook());
        let all = ranks * (ranks - 1) / 2;
        assert!(!matches!(result, Ok(Ok(()))) || into[0].from == all, "{result:?}: {}", into[0].from);
    }
    assert_eq!(world.all_reduce_with(&rank, |a, b| a + b).unwrap(), ranks * (ranks - 1) / 2);
}
