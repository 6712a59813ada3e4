//! Wires: whatever brings the values, they arrive; and what does not fit is an error that leaves everything as it was.

use dtype_runtime::{
    Error, MpiDatatype, Wire, decode, layout,
    pack::{Data, DataMut},
    packed_size, send_receive_over, send_receive_over_with_tags, send_receive_packed,
    traits::*,
};
use mpi::{
    datatype::UserDatatype,
    request::scope,
    topology::{Process, SimpleCommunicator},
    traits::*,
};

use crate::samples::{Nested, Particle, Sample, Visit, for_each_sample};

const WIRES: [Wire; 4] = [Wire::Typed, Wire::Bytes, Wire::Packed, Wire::Auto];

/// Numbers of values: none, few, and as many as are more than a segment.
const COUNTS: [usize; 4] = [0, 1, 33, 3000];

fn neighbours(world: &SimpleCommunicator) -> (Process<'_>, Process<'_>, i32) {
    let (rank, size) = (world.rank(), world.size());
    let previous = (rank + size - 1) % size;
    (world.process_at_rank((rank + 1) % size), world.process_at_rank(previous), previous)
}

fn values<T: Sample>(rank: i32, count: usize) -> Vec<T> {
    (0..count).map(|i| T::sample(i % 97 + 40 * rank as usize)).collect()
}

/// A slice of every sample type goes to the next rank on every wire, with all calls.
pub fn round(world: &SimpleCommunicator) {
    struct Round<'a>(&'a SimpleCommunicator);
    impl Visit for Round<'_> {
        fn visit<T: Sample>(&mut self) {
            for count in COUNTS {
                for wire in WIRES {
                    travel::<T>(self.0, wire, count);
                }
            }
        }
    }
    for_each_sample(&mut Round(world));
    // In many segments; such as have to be looked at before any is written, too.
    for wire in WIRES {
        travel::<Particle>(world, wire, 30_000);
        travel::<Nested>(world, wire, 30_000);
    }
}

fn travel<T: Sample>(world: &SimpleCommunicator, wire: Wire, count: usize) {
    let (next, previous, from) = neighbours(world);
    let (own, expected) = (values::<T>(world.rank(), count), values::<T>(from, count));
    let empty = || vec![T::sample(1234); count];
    let mut received = empty();
    match send_receive_over(wire, &own, &next, &mut received, &previous) {
        Ok(status) => assert_eq!(status.source_rank(), from),
        Err(Error::Wire { wire: "bytes", .. }) if wire == Wire::Bytes => return,
        Err(error) => panic!("{error}"),
    }
    assert_eq!(received, expected, "{wire:?} {count}");

    // Blocking calls, the even ranks first; alone with oneself there would be nobody to receive.
    if world.size() > 1 {
        let mut received = empty();
        if world.rank() % 2 == 0 {
            next.send_over_with_tag(wire, &own[..], 7).unwrap();
        }
        let status = previous.receive_packed_into_with_tag(&mut received[..], 7).unwrap();
        assert_eq!((status.source_rank(), status.tag()), (from, 7));
        if world.rank() % 2 == 1 {
            next.send_over_with_tag(wire, &own[..], 7).unwrap();
        }
        assert_eq!(received, expected, "{wire:?} {count}");
    }

    let mut received = empty();
    scope(|scope| {
        let receive = previous.immediate_receive_packed_into(scope, &mut received[..]).unwrap();
        let send = next.immediate_send_over_with_tag(scope, wire, &own[..], 0).unwrap();
        receive.wait().unwrap();
        send.wait().unwrap();
    });
    assert_eq!(received, expected, "{wire:?} {count}");

    // Polled, from anybody. Others may only begin when this is over.
    world.barrier();
    let mut received = empty();
    scope(|scope| {
        let anybody = world.any_process();
        let mut receive = anybody.immediate_receive_packed_into(scope, &mut received[..]).unwrap();
        let mut send = next.immediate_send_packed(scope, &own[..]).unwrap();
        while !(receive.is_done().unwrap() & send.is_done().unwrap()) {
            std::thread::yield_now();
        }
    });
    assert_eq!(received, expected, "{wire:?} {count}");
    world.barrier();
}

/// Views and data, into views and data of another shape.
pub fn views(world: &SimpleCommunicator) {
    let (next, previous, from) = neighbours(world);
    for n in [8usize, 300] {
        let number = |rank: i32, i: usize| f64::from(rank) * 1e6 + i as f64;
        let own: Vec<f64> = (0..n * n).map(|i| number(world.rank(), i)).collect();
        let columns = layout!(f64[n][n] => [.., ..;2]).unwrap();
        let rows = layout!(f64[n][n] => [..;2, ..]).unwrap();
        let expected: Vec<f64> = (0..n * n).filter(|i| i % n % 2 == 0).map(|i| number(from, i)).collect();
        for wire in [Wire::Typed, Wire::Packed, Wire::Auto] {
            let mut received = vec![-1.0; n * n];
            let view = columns.of(&own).unwrap();
            send_receive_over(wire, &view, &next, &mut rows.of_mut(&mut received).unwrap(), &previous)
                .unwrap();
            let found: Vec<f64> = received.chunks(n).step_by(2).flatten().copied().collect();
            assert_eq!(found, expected);
            assert!(received.chunks(n).skip(1).step_by(2).flatten().all(|value| *value == -1.0));
        }
        // As the datatype of a C program, of which only the plan is known here.
        let datatype = UserDatatype::vector((n * n / 2) as i32, 1, 2, &f64::equivalent_datatype());
        let plan = decode(&datatype).unwrap().plan().unwrap();
        let bytes: Vec<u8> = own.iter().flat_map(|number| number.to_ne_bytes()).collect();
        let mut received = vec![0u8; bytes.len()];
        let data = Data::new(&plan, 1, &bytes, 0).unwrap();
        let mut into = DataMut::new(&plan, 1, &mut received, 0).unwrap();
        send_receive_packed(&data, &next, &mut into, &previous).unwrap();
        assert!(matches!(next.send_over(Wire::Typed, &data), Err(Error::Wire { .. })));
        for (i, number_there) in received.as_chunks::<8>().0.iter().enumerate() {
            let expected = if i % 2 == 0 { number(from, i) } else { 0.0 };
            assert_eq!(f64::from_ne_bytes(*number_there), expected);
        }
    }
}

/// A message that does not fit is an error; the destination is as it was, and the next message arrives.
pub fn misfits(world: &SimpleCommunicator) {
    other_sizes(world);
    other_sizes_immediately(world);
    others_messages(world);
    long_restricted(world);
}

/// The error says both sizes.
fn other_sizes(world: &SimpleCommunicator) {
    let (sender, receiver) = (world.process_at_rank(0), world.process_at_rank(1));
    let particle = packed_size::<Particle>(1);
    let count = |wire: Wire, n: usize| {
        if wire == Wire::Bytes { n * size_of::<Particle>() } else { n * particle }
    };
    // Shorter, longer, and much longer than anything that was expected.
    for (sent, expected) in
        [(9, 10), (10, 9), (0, 5), (20_000, 5), (5, 20_000), (20_000, 20_001), (30_000, 2000)]
    {
        for wire in WIRES {
            if world.rank() == 0 {
                receiver.send_over(wire, &values::<Particle>(0, sent)).unwrap();
                receiver.send_packed(&7u8).unwrap();
            } else if world.rank() == 1 {
                let mut into = values::<Particle>(5, expected);
                let error = sender.receive_packed_into(&mut into).unwrap_err();
                let sizes = (expected * particle, count(wire, sent));
                match &error {
                    Error::Fit { expected, found } if wire != Wire::Auto => {
                        assert_eq!((*expected, *found), sizes, "{wire:?}: {error}");
                    }
                    Error::Fit { expected, .. } => assert_eq!(*expected, sizes.0, "{error}"),
                    Error::TooLong { expected, room } => {
                        assert!(*expected == sizes.0 && *room < sizes.1, "{error}");
                    }
                    _ => panic!("{error}"),
                }
                assert_eq!(into, values::<Particle>(5, expected), "the destination is as it was");
                let mut next = 0u8;
                sender.receive_packed_into(&mut next).unwrap();
                assert_eq!(next, 7);
            }
        }
    }
}

fn other_sizes_immediately(world: &SimpleCommunicator) {
    let (sender, receiver) = (world.process_at_rank(0), world.process_at_rank(1));
    if world.rank() == 0 {
        receiver.send(&vec![1.0f64; 100_000][..]);
        receiver.send_packed(&[1u8; 3]).unwrap();
        receiver.send_packed(&vec![1.0f64; 100_000]).unwrap();
        receiver.send_packed(&[9u8; 2]).unwrap();
    } else if world.rank() == 1 {
        let mut into = [5u8; 2];
        for wait in [true, false, true] {
            let error = scope(|scope| {
                let mut receive = sender.immediate_receive_packed_into(scope, &mut into).unwrap();
                if wait {
                    return receive.wait().unwrap_err();
                }
                loop {
                    match receive.is_done() {
                        Ok(done) => assert!(!done),
                        Err(error) => return error,
                    }
                }
            });
            assert!(
                matches!(error, Error::Fit { expected: 2, .. } | Error::TooLong { expected: 2, .. }),
                "{error}"
            );
            assert_eq!(into, [5; 2]);
        }
        sender.receive_packed_into(&mut into).unwrap();
        assert_eq!(into, [9; 2]);
    }
}

/// What rsmpi sends does not fit either; and what it sends with a datatype of the same values does.
fn others_messages(world: &SimpleCommunicator) {
    /// Few: where the packed bytes of 4,369 structs meet their datatype, MPICH 4.0.2 says that the message is truncated.
    const COUNTS_RECEIVED: [usize; 2] = [4, 100];
    let (sender, receiver) = (world.process_at_rank(0), world.process_at_rank(1));
    if world.rank() == 0 {
        receiver.send(&[1.0f64; 7][..]);
        receiver.send(&vec![1.0f64; 100_000][..]);
        receiver.send(&values::<Particle>(0, 3)[..]);
        receiver.send(&[2u8, 0, 1, 1][..]);
        receiver.send(&[2u8; 200_000][..]);
        for count in COUNTS_RECEIVED {
            receiver.send_packed(&values::<Particle>(0, count)).unwrap();
        }
    } else if world.rank() == 1 {
        let mut into = [0.5f64; 3];
        let error = sender.receive_packed_into(&mut into).unwrap_err();
        assert_eq!(error, Error::Fit { expected: 24, found: 56 });
        assert!(
            error
                .to_string()
                .starts_with("the message has 56 packed bytes, but what it is received into has 24")
        );
        let error = sender.receive_packed_into(&mut into).unwrap_err();
        let is_too_long = match error {
            Error::TooLong { expected: 24, .. } => true,
            // How long it is, is known where messages are looked for first: another table may want that.
            Error::Fit { expected: 24, found: 800_000 } => std::env::var_os("DTYPE_WIRES").is_some(),
            _ => false,
        };
        assert!(is_too_long, "{error}");
        assert_eq!(into, [0.5; 3]);
        let mut particles = values::<Particle>(5, 3);
        sender.receive_packed_into(&mut particles).unwrap();
        assert_eq!(particles, values::<Particle>(0, 3));
        // Values that are none.
        let mut flags = [true; 4];
        let error = sender.receive_packed_into(&mut flags).unwrap_err();
        assert!(matches!(error, Error::InvalidValue { offset: 0, found: 2, .. }), "{error}");
        assert_eq!(flags, [true; 4]);
        let mut flags = vec![true; 200_000];
        assert!(matches!(sender.receive_packed_into(&mut flags), Err(Error::InvalidValue { .. })));
        assert!(flags.iter().all(|flag| *flag));
        // And the other way round: packed here, received by MPI with a datatype.
        for count in COUNTS_RECEIVED {
            let mut particles = values::<Particle>(5, count);
            sender.receive_into(&mut particles[..]);
            assert_eq!(particles, values::<Particle>(0, count));
        }
    }
}

/// Long restricted values are looked at before any is written.
fn long_restricted(world: &SimpleCommunicator) {
    let (sender, receiver) = (world.process_at_rank(0), world.process_at_rank(1));
    if world.rank() == 0 {
        receiver.send_packed(&vec![3u8; 300_000]).unwrap();
        receiver.send_packed(&vec![1u8; 300_000]).unwrap();
    } else if world.rank() == 1 {
        let mut flags = vec![false; 300_000];
        assert!(matches!(sender.receive_packed_into(&mut flags), Err(Error::InvalidValue { .. })));
        assert!(flags.iter().all(|flag| !*flag));
        sender.receive_packed_into(&mut flags).unwrap();
        assert!(flags.iter().all(|flag| *flag));
    }
}

/// All collective calls, of equal and of different numbers of values, and such as do not fit.
pub fn collectives(world: &SimpleCommunicator) {
    collect::<Particle>(world);
    collect::<Nested>(world);
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);

    // Broken by one rank: every call ends on every rank, and the next one works.
    let root = world.process_at_rank(0);
    let mut values = vec![1.5f64; if rank == ranks - 1 { 5 } else { 6 }];
    let result = root.broadcast_packed(&mut values);
    assert_eq!(result.is_err(), rank == ranks - 1 && rank > 0, "{result:?}");
    let mut all = vec![0u8; ranks];
    let wrong = vec![1u8; if rank == 0 { 2 } else { 1 }];
    assert!(matches!(world.all_gather_packed(&wrong, &mut all), Err(Error::Fit { .. })));
    assert_eq!(all, vec![0; ranks]);
    // Where all of them think that they are the root of a gather, or none of a scatter.
    let result = root.gather_packed_into_root(&(rank as u8), &mut all);
    assert_eq!(result.is_err(), rank > 0, "{result:?}");
    all.fill(0);
    let mut part = [9u8; 2];
    assert_eq!(root.scatter_packed_into(&mut part), Err(Error::Fit { expected: 2 * ranks, found: 0 }));
    let scattered = if rank == 0 {
        root.scatter_packed_into_root(&vec![1u8; 2 * ranks + 1], &mut part)
    } else {
        root.scatter_packed_into(&mut part)
    };
    assert_eq!(scattered, Err(Error::Fit { expected: 2 * ranks, found: 2 * ranks + 1 }));
    assert_eq!(part, [9; 2]);
    // What has to be looked at before any of it is written, in several parts.
    let mut flags = vec![false; 600_000];
    let truths = root_broadcasts(world, 1, &mut flags);
    assert!(truths.is_ok() && flags.iter().all(|flag| *flag == (rank > 0)), "{truths:?}");
    let lies = root_broadcasts(world, 2, &mut flags);
    assert_eq!(lies.is_err(), rank > 0, "{lies:?}");
    assert!(flags.iter().all(|flag| *flag == (rank > 0)));
    if ranks > 1 {
        let error = world.all_to_all_packed(&vec![1u8; ranks + 1], &mut all).unwrap_err();
        assert!(matches!(error, Error::Parts { .. }), "{error}");
    }
    world.all_gather_packed(&(rank as u8), &mut all).unwrap();
    assert_eq!(all, (0..ranks).map(|i| i as u8).collect::<Vec<_>>());
}

/// The root sends as many numbers as the others have flags.
fn root_broadcasts(world: &SimpleCommunicator, number: u8, flags: &mut Vec<bool>) -> Result<(), Error> {
    let root = world.process_at_rank(0);
    if world.rank() == 0 {
        root.broadcast_packed(&mut vec![number; flags.len()])
    } else {
        root.broadcast_packed(flags)
    }
}

fn collect<T: Sample>(world: &SimpleCommunicator) {
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    for n in [1usize, 40, 20_000] {
        let of = |rank: usize, n: usize| values::<T>(rank as i32, n);
        let root = world.process_at_rank(world.size() - 1);
        let is_root = rank == ranks - 1;
        let mut message = of(if is_root { 3 } else { 4 }, n);
        root.broadcast_packed(&mut message).unwrap();
        assert!(message == of(3, n));

        // Rank i has n + i values.
        let together: Vec<T> = (0..ranks).flat_map(|i| of(i, n + i)).collect();
        let mut all = vec![T::sample(999); together.len()];
        world.all_gather_packed(&of(rank, n + rank), &mut all).unwrap();
        assert!(all == together);
        let mut all = vec![T::sample(999); together.len()];
        if is_root {
            root.gather_packed_into_root(&of(rank, n + rank), &mut all).unwrap();
            assert!(all == together);
        } else {
            root.gather_packed(&of(rank, n + rank)).unwrap();
        }
        let mut part = vec![T::sample(999); n + rank];
        if is_root {
            root.scatter_packed_into_root(&together, &mut part).unwrap();
        } else {
            root.scatter_packed_into(&mut part).unwrap();
        }
        assert!(part == of(rank, n + rank));

        let rows: Vec<T> = (0..ranks).flat_map(|to| of(rank + 10 * to, n)).collect();
        let mut columns = vec![T::sample(999); n * ranks];
        world.all_to_all_packed(&rows, &mut columns).unwrap();
        assert!(columns == (0..ranks).flat_map(|from| of(from + 10 * rank, n)).collect::<Vec<_>>());

        // From rank i to rank k go n + i + 2 k values.
        let messages: Vec<Vec<T>> = (0..ranks).map(|to| of(rank + to, n + rank + 2 * to)).collect();
        let mut into: Vec<Vec<T>> =
            (0..ranks).map(|from| vec![T::sample(999); n + from + 2 * rank]).collect();
        world.all_to_all_varcount_packed(&messages, &mut into).unwrap();
        for (from, found) in into.iter().enumerate() {
            assert!(*found == of(rank + from, n + from + 2 * rank));
        }
    }
}

#[derive(MpiDatatype, Clone, Copy, PartialEq)]
#[repr(C)]
struct Page {
    numbers: [u64; 511],
    mark: u8,
}

/// Of 4,096 bytes, 4,089 packed.
fn page(i: usize) -> Page {
    Page { numbers: [i as u64; 511], mark: i as u8 }
}

/// A message of more than 3 GiB on every wire.
pub fn large(world: &SimpleCommunicator) {
    const COUNT: usize = (3 << 30) / size_of::<Page>() + 1000;
    let mut pages = vec![page(0); COUNT];
    let (sender, receiver) = (world.process_at_rank(0), world.process_at_rank(1));
    for (round, wire) in [Wire::Packed, Wire::Bytes, Wire::Typed, Wire::Auto].into_iter().enumerate() {
        if world.rank() == 0 {
            pages.iter_mut().enumerate().for_each(|(i, page)| {
                page.numbers[510] = (i * (round + 1)) as u64;
                page.mark = (i + round) as u8;
            });
            receiver.send_over(wire, &pages).unwrap();
        } else {
            sender.receive_packed_into(&mut pages).unwrap();
            for (i, page) in pages.iter().enumerate() {
                assert_eq!((page.numbers[0], page.numbers[510]), (0, (i * (round + 1)) as u64), "{wire:?}");
                assert_eq!(page.mark, (i + round) as u8, "{wire:?}");
            }
        }
    }
}

/// More values, and more bytes, than an MPI count.
pub fn beyond_counts(world: &SimpleCommunicator) {
    /// Twice as many are 2.2 GiB packed, and so many an odd number of bytes.
    const COUNT: usize = 288_001;
    let (rank, root) = (world.rank(), world.process_at_rank(0));
    {
        let mut bytes = vec![0u8; (1 << 31) + 12_345];
        for place in (7..bytes.len()).step_by(1 << 20) {
            bytes[place] = (place >> 20) as u8;
        }
        if rank == 0 {
            world.process_at_rank(1).send_over(Wire::Typed, &bytes).unwrap();
        } else {
            let mut received = vec![1u8; bytes.len()];
            root.receive_packed_into(&mut received).unwrap();
            assert!(received == bytes);
        }
    }
    let own = |rank: i32| -> Vec<Page> { (0..COUNT).map(|i| page(i + rank as usize)).collect() };
    let both = || [own(0), own(1)].concat();
    let mut into = vec![page(0); if rank == 0 { 2 * COUNT } else { COUNT }];
    if rank == 0 {
        root.gather_packed_into_root(&own(0), &mut into).unwrap();
        assert!(into == both());
        into = own(5);
        root.scatter_packed_into_root(&both(), &mut into).unwrap();
    } else {
        root.gather_packed(&own(1)).unwrap();
        root.scatter_packed_into(&mut into).unwrap();
    }
    assert!(into == own(rank));
    drop(into);
    let (messages, mut into) = if rank == 0 {
        ([vec![page(3)], both()], [vec![page(0)], vec![page(0); 2]])
    } else {
        ([vec![page(4); 2], Vec::new()], [vec![page(0); 2 * COUNT], Vec::new()])
    };
    world.all_to_all_varcount_packed(&messages, &mut into).unwrap();
    assert!(into == if rank == 0 { [vec![page(3)], vec![page(4); 2]] } else { [both(), Vec::new()] });
}

/// Several threads at a time, each with a tag of its own, exchange long messages, decode datatypes and build them.
pub fn threads() {
    let (universe, threading) =
        mpi::initialize_with_threading(mpi::Threading::Multiple).expect("MPI is initialized once");
    assert_eq!(threading, mpi::Threading::Multiple);
    let rank = universe.world().rank();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let world = SimpleCommunicator::world();
                let other = world.process_at_rank(1 - rank);
                for round in 0..20 {
                    let n = 3 + (round * 7 + thread as usize) % 5;
                    let datatype = UserDatatype::vector(n as i32, 1, 2, &f64::equivalent_datatype());
                    let decoded = decode(&datatype).unwrap();
                    assert_eq!(decoded.tree().measure().unwrap().entries, n as u64);
                    decoded.datatype().unwrap();
                    layout!(f64[n][n] => [.., 0]).unwrap().datatype().unwrap();
                    let of = |rank: i32| values::<Particle>(rank + 10 * thread, 4000 * (1 + round % 4));
                    let mut received = vec![Particle::sample(1); 4000 * (1 + round % 4)];
                    send_receive_over_with_tags(
                        WIRES[round % 4],
                        &of(rank),
                        &other,
                        thread,
                        &mut received,
                        &other,
                        thread,
                    )
                    .unwrap();
                    assert!(received == of(1 - rank));
                }
            });
        }
    });
    drop(universe);
}
