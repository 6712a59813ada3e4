//! Prepared messages, and reductions with functions of the program.

use std::{mem, os::raw::c_int, panic};

use dtype_runtime::pack::Error as PackError;
use dtype_runtime::{Comm, Error, MpiDatatype, layout};
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

/// Returns the values that a rank sends in a round.
fn values(rank: usize, round: usize) -> Vec<Mixed> {
    (0..9).map(|i| mixed(rank + 10 * round + i)).collect()
}

/// Sends prepared messages around a ring, and receives them by prepared and other calls.
pub fn prepared(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let (rank, size) = (world.rank(), world.size());
    let (next, previous) = (world.peer((rank + 1) % size), world.peer((rank + size - 1) % size));
    let from = previous.rank();
    let own = |round| values(rank, round);
    let room = vec![mixed(0); 9];
    let mut into = room.clone();

    let mut send = next.tag(3).prepare().send(&own(0)).unwrap();
    let mut receive = previous.tag(3).prepare().receive_into(&room[..]).unwrap();
    for round in 0..5 {
        into.fill(mixed(0));
        let mut receiving = receive.start(&mut into[..]).unwrap();
        let mut message = own(round);
        let mut sending = send.start(&message).unwrap();
        message.fill(mixed(99)); // the message has been packed
        while !receiving.is_done().unwrap() {}
        receiving.finish().unwrap();
        while !sending.is_done().unwrap() {}
        assert!(sending.is_done().unwrap());
        sending.finish().unwrap();
        assert_eq!(into, values(from, round));
        // Elsewhere: into a column, and from one.
        let mut matrix = [[mixed(0); 2]; 9];
        let column = layout!(Mixed[9][2] => [.., 1]);
        let mut place = column.of_mut(&mut matrix);
        let receiving = receive.start(&mut place).unwrap();
        let message = [0, 1, 2, 3, 4, 5, 6, 7, 8].map(|i| [mixed(77), mixed(rank + 10 * (round + 50) + i)]);
        send.run(&column.of(&message)).unwrap();
        receiving.finish().unwrap();
        assert_eq!(matrix.map(|row| row[1])[..], values(from, round + 50));
        assert_eq!(matrix.map(|row| row[0]), [mixed(0); 9]);
        // Both wait.
        let sending = send.start(&own(round + 20)).unwrap();
        receive.run(&mut into[..]).unwrap();
        sending.finish().unwrap();
        assert_eq!(into, values(from, round + 20));
    }
    // Other calls receive it, and send to it. The rounds are in order.
    let mut synchronous = next.tag(4).synchronous().prepare().send(&own(0)).unwrap();
    let sending = synchronous.start(&own(7)).unwrap();
    previous.tag(4).receive_into(&mut into[..]).unwrap();
    sending.finish().unwrap();
    assert_eq!(into, values(from, 7));
    let mut receive = previous.tag(5).prepare().receive_into(&room[..]).unwrap();
    let receiving = receive.start(&mut into[..]).unwrap();
    let sending = next.tag(5).start().send(&own(8)).unwrap();
    receiving.finish().unwrap();
    sending.finish().unwrap();
    assert_eq!(into, values(from, 8));
    let mut sends = [5, 6].map(|tag| next.tag(tag).prepare().send(&own(0)).unwrap());
    let [first, second] = &mut sends;
    let sending = [first.start(&own(1)).unwrap(), second.start(&own(2)).unwrap()];
    assert_eq!(previous.tag(6).receive::<Vec<Mixed>>().unwrap(), values(from, 2));
    assert_eq!(previous.tag(5).start().receive::<Vec<Mixed>>().unwrap().finish().unwrap(), values(from, 1));
    for sending in sending {
        sending.finish().unwrap();
    }
    world.barrier();

    // Wrong sizes are errors on this side, and nothing is sent.
    assert!(matches!(send.start(&own(0)[1..]), Err(Error::Pack(PackError::Length { .. }))));
    assert!(matches!(send.run(&own(0)[1..]), Err(Error::Pack(PackError::Length { .. }))));
    assert!(matches!(receive.start(&mut into[1..]), Err(Error::Pack(PackError::Length { .. }))));
    assert!(matches!(receive.run(&mut into[1..]), Err(Error::Pack(PackError::Length { .. }))));
    // A message that is too long or too short: an error, and the next one is right.
    let mut right = next.tag(8).prepare().send(&own(0)).unwrap();
    let mut receive = previous.tag(8).prepare().receive_into(&room[..]).unwrap();
    for length in [5000, 3] {
        let mut wrong = next.tag(8).prepare().send(&vec![mixed(1); length]).unwrap();
        into.fill(mixed(50));
        let receiving = receive.start(&mut into[..]).unwrap();
        let sending = wrong.start(&vec![mixed(1); length]).unwrap();
        let refused = receiving.finish();
        assert!(matches!(refused, Err(Error::Fit { .. })), "{refused:?}");
        assert_eq!(into, [mixed(50); 9]);
        sending.finish().unwrap();
        world.barrier();
        let receiving = receive.start(&mut into[..]).unwrap();
        right.run(&own(2)).unwrap();
        receiving.finish().unwrap();
        assert_eq!(into, values(from, 2));
        world.barrier();
    }
    // Sizes of nothing.
    let mut send = next.tag(10).prepare().send(&[0u8; 0]).unwrap();
    let mut receive = previous.tag(10).prepare().receive_into(&[0u8; 0]).unwrap();
    let mut nothing = [0u8; 0];
    let receiving = receive.start(&mut nothing).unwrap();
    send.run(&[0u8; 0]).unwrap();
    receiving.finish().unwrap();
    // A rank and a tag that do not exist.
    assert!(matches!(world.peer(size).prepare().send(&0.5), Err(Error::Rank { .. })));
    assert!(matches!(world.peer(size).prepare().receive_into(&0.5), Err(Error::Rank { .. })));
    assert!(matches!(next.tag(-5).prepare().send(&0.5), Err(Error::Tag { .. })));

    // In place of what is sent.
    if rank ^ 1 < size {
        let (partner, mut turned) = (world.peer(rank ^ 1), own(4));
        partner.swap(&mut turned[..]).unwrap();
        assert_eq!(turned, values(partner.rank(), 4));
    }
    // Synchronous, from even to odd ranks.
    if rank % 2 == 0 && rank + 1 < size {
        next.tag(11).synchronous().send(&mixed(3)).unwrap();
    } else if rank % 2 == 1 {
        let mut into = mixed(0);
        previous.tag(11).receive_into(&mut into).unwrap();
        assert_eq!(into, mixed(3));
    }
    given_up(world);
    failed(world);
}

/// Drops and forgets transfers of prepared messages, and the prepared messages themselves.
fn given_up(world: &Comm<&SimpleCommunicator>) {
    let (rank, size) = (world.rank(), world.size());
    let (next, previous) = (world.peer((rank + 1) % size), world.peer((rank + size - 1) % size));
    let mut into = vec![mixed(0); 9];
    let mut send = next.tag(13).prepare().send(&into).unwrap();
    let mut receive = previous.tag(13).prepare().receive_into(&into[..]).unwrap();
    for round in 0..3 {
        // A transfer that was dropped or forgotten ends when the message is started again.
        if size > 1 {
            // A message to this rank itself would be waited for before it is received.
            drop(send.start(&values(rank, round)).unwrap());
            receive.run(&mut into[..]).unwrap();
            assert_eq!(into, values(previous.rank(), round));
        }
        mem::forget(receive.start(&mut into[..]).unwrap());
        mem::forget(send.start(&values(rank, 5)).unwrap());
        let receiving = receive.start(&mut into[..]).unwrap();
        send.run(&values(rank, 6)).unwrap();
        receiving.finish().unwrap();
        assert_eq!(into, values(previous.rank(), 6));
    }
    // Transfers that never end.
    let mut never = previous.tag(9).prepare().receive_into(&into[..]).unwrap();
    drop(never.start(&mut into[..]).unwrap());
    drop(never);
    let mut never = previous.tag(9).prepare().receive_into(&into[..]).unwrap();
    mem::forget(never.start(&mut into[..]).unwrap());
    drop(never);
    assert_eq!(into, values(previous.rank(), 6));
    mem::forget(previous.tag(9).prepare().receive_into(&into[..]).unwrap());
    mem::forget(next.tag(9).prepare().send(&into).unwrap());
    world.barrier();
}

/// Checks that prepared calls can be started again after a request has failed.
fn failed(world: &Comm<&SimpleCommunicator>) {
    let (rank, size) = (world.rank(), world.size());
    let (next, previous) = (world.peer((rank + 1) % size), world.peer((rank + size - 1) % size));
    let mut into = vec![mixed(0); 9];
    let mut send = next.tag(12).prepare().send(&into).unwrap();
    let mut receive = previous.tag(12).prepare().receive_into(&into[..]).unwrap();
    for fails in [true, false] {
        let receiving = receive.start(&mut into[..]).unwrap();
        let sending = send.start(&values(rank, 0)).unwrap();
        // SAFETY: sets a number of this process, which has one thread.
        unsafe { spy::c_fail_requests(c_int::from(fails)) };
        assert_eq!(receiving.finish().is_err(), fails);
        sending.finish().unwrap();
    }
    assert_eq!(into, values(previous.rank(), 0));
    world.barrier();
}

/// A value that some ranks cannot clone in a reduction.
#[derive(MpiDatatype)]
struct Cloned {
    from: usize,
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
    let world = &Comm::from(world);
    let (rank, ranks) = (world.rank(), world.size());
    // An interval of ranks: only neighbours combine, the lower one first.
    let join = |a: &(usize, usize, bool), b: &(usize, usize, bool)| (a.0, b.1, a.2 && b.2 && a.1 + 1 == b.0);
    let own = (rank, rank, true);
    assert_eq!(world.all_reduce(&own, join).unwrap(), (0, ranks - 1, true));
    assert_eq!(world.scan(&own, join).unwrap(), (0, rank, true));
    let below = world.scan_before(&own, join).unwrap();
    assert_eq!(below, rank.checked_sub(1).map(|below| (0, below, true)));
    for root in 0..ranks {
        let reduced = world.reduce(root, &own, join).unwrap();
        assert_eq!(reduced, (rank == root).then_some((0, ranks - 1, true)));
    }
    // Many values, of a restricted type with padding, and of nothing.
    for count in [0, 1, 1000, 100_000] {
        let values: Vec<Mixed> = (0..count).map(|i| mixed(i + rank)).collect();
        let mut into = vec![mixed(0); count];
        let add = |a: &Mixed, b: &Mixed| Mixed { is_odd: a.is_odd != b.is_odd, value: a.value + b.value };
        world.all_reduce_into(&values, &mut into, add).unwrap();
        assert_eq!(world.all_reduce(&values, add).unwrap(), into);
        let sum = |i: usize| mixed(i * ranks + ranks * (ranks - 1) / 2);
        assert!(into.iter().enumerate().all(|(i, found)| *found == sum(i)), "{count}");
    }
    assert!(world.all_reduce(&(rank % 2 == 0), |a, b| *a || *b).unwrap());
    assert_eq!(world.all_reduce(&(rank < 1), |a, b| *a && *b).unwrap(), ranks == 1);
    assert_eq!(
        world.all_reduce(&[[rank as f64; 3]; 2], |a, b| {
            std::array::from_fn(|i| std::array::from_fn(|j| a[i][j].max(b[i][j])))
        }),
        Ok([[(ranks - 1) as f64; 3]; 2])
    );
    world.all_reduce(&(), |(), ()| ()).unwrap();

    // A function that uses what is around it, from a thread of its own.
    let calls = std::sync::atomic::AtomicUsize::new(0);
    world
        .all_reduce(&1u64, |a, b| {
            calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            a + b
        })
        .unwrap();
    assert!(calls.into_inner() <= 2 * ranks);

    // Different numbers of values: an error on all ranks, and no hang.
    if ranks > 1 {
        let values = vec![1u32; 1 + rank];
        let reduced = world.all_reduce_into(&values, &mut values.clone(), |a, b| a + b);
        assert!(matches!(reduced, Err(Error::Reduction { .. })), "{reduced:?}");
        assert!(matches!(
            world.all_reduce_into(&[1u8; 2], &mut [0; 1], |a, b| a + b),
            Err(Error::Pack(PackError::Length { .. }))
        ));
        // An error of one rank: the others do not wait for it.
        let mut into = [0u8; 2];
        let reduced = world.all_reduce_into(&[1u8; 2], &mut into[usize::from(rank == 0)..], |a, b| a + b);
        assert_eq!(matches!(reduced, Err(Error::Pack(PackError::Length { .. }))), rank == 0);
        assert!(rank == 0 || matches!(reduced, Err(Error::Reduction { .. })), "{reduced:?}");
        // Other types of the same size.
        let reduced = if rank == 0 {
            world.all_reduce(&1i64, |a, b| a + b).map(|_| ())
        } else {
            world.all_reduce(&1f64, |a, b| a + b).map(|_| ())
        };
        assert!(matches!(reduced, Err(Error::Reduction { .. })), "{reduced:?}");
        let reduced = if rank == 0 {
            world.all_reduce_into(&[1u8; 9], &mut [0; 9], |a, b| a + b)
        } else {
            world.all_reduce_into(&[1u64; 2], &mut [0; 2], |a, b| a + b)
        };
        assert!(matches!(reduced, Err(Error::Reduction { .. })), "{reduced:?}");
        // Invalid values of another rank.
        let reduced = if rank == 0 {
            world.all_reduce(&7u8, |a, _| *a).map(|_| true)
        } else {
            world.all_reduce(&true, |a, b| *a && *b)
        };
        assert!(rank == 0 || matches!(reduced, Err(Error::Reduction { .. })), "{reduced:?}");
    }
    // A panic on the ranks that combine: it continues there, and is an error elsewhere.
    if ranks > 1 {
        panic::set_hook(Box::new(|_| {}));
        let mut own = [0u8; 1];
        let result = panic::catch_unwind(panic::AssertUnwindSafe(|| {
            world.all_reduce_into(&[1u8], &mut own, |_, _| panic!("no sum"))
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
            world.all_reduce_into(&values, &mut into, sum)
        }));
        drop(panic::take_hook());
        let all = ranks * (ranks - 1) / 2;
        assert!(!matches!(result, Ok(Ok(()))) || into[0].from == all, "{result:?}: {}", into[0].from);
    }
    assert_eq!(world.all_reduce(&rank, |a, b| a + b).unwrap(), ranks * (ranks - 1) / 2);
}
