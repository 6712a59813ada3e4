//! Collective calls on packed bytes, with any number of values on any rank, and with a rank that breaks the
//! rules.

use dtype_runtime::{Error, traits::*};
use mpi::{topology::SimpleCommunicator, traits::*};

use super::values;
use crate::samples::{Nested, Particle, Sample};

/// Checks all collective calls, with equal and different numbers of values, and with messages that do not
/// fit.
pub fn collectives(world: &SimpleCommunicator) {
    collect::<Particle>(world);
    collect::<Nested>(world);
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);

    // One rank breaks the rules: every call ends on every rank, and the next one works.
    let root = world.process_at_rank(0);
    let mut values = vec![1.5f64; if rank == ranks - 1 { 5 } else { 6 }];
    let result = root.broadcast_packed(&mut values);
    assert_eq!(result.is_err(), rank == ranks - 1 && rank > 0, "{result:?}");
    let mut all = vec![0u8; ranks];
    let wrong = vec![1u8; if rank == 0 { 2 } else { 1 }];
    assert!(matches!(world.all_gather_packed(&wrong, &mut all), Err(Error::Fit { .. })));
    assert_eq!(all, vec![0; ranks]);
    long_and_short(world);
    // All ranks act as the root of a gather, or none acts as the root of a scatter.
    let result = root.gather_packed_into_root(&(rank as u8), &mut all);
    assert_eq!(result.is_err(), rank > 0, "{result:?}");
    all.fill(0);
    let mut part = [9u8; 2];
    assert_eq!(
        root.scatter_packed_into(&mut part),
        Err(Error::Fit { value: 2, expected: 2 * ranks, found: Some(0), from: None })
    );
    let scattered = if rank == 0 {
        root.scatter_packed_into_root(&vec![1u8; 2 * ranks + 1], &mut part)
    } else {
        root.scatter_packed_into(&mut part)
    };
    let found = Some(2 * ranks + 1);
    assert_eq!(scattered, Err(Error::Fit { value: 2, expected: 2 * ranks, found, from: None }));
    assert_eq!(part, [9; 2]);
    // A restricted type in several parts: all values are checked before any is written.
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

/// Broadcasts one number from the root, repeated for each flag of the other ranks.
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

        // Rank i sends n + i + 2 k values to rank k.
        let messages: Vec<Vec<T>> = (0..ranks).map(|to| of(rank + to, n + rank + 2 * to)).collect();
        let mut into: Vec<Vec<T>> =
            (0..ranks).map(|from| vec![T::sample(999); n + from + 2 * rank]).collect();
        world.all_to_all_varcount_packed(&messages, &mut into).unwrap();
        for (from, found) in into.iter().enumerate() {
            assert!(*found == of(rank + from, n + from + 2 * rank));
        }
    }
}

/// Exchanges parts of about the size up to which they travel with their sizes. One rank sends long ones.
/// Another one expects more bytes than come, and gets an error.
fn long_and_short(world: &SimpleCommunicator) {
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    for size in [0, 2007, 2008, 2009] {
        let sizes = |from: usize| if from == 0 { size } else { 1 };
        let messages: Vec<Vec<u8>> = (0..ranks).map(|to| vec![to as u8; sizes(rank)]).collect();
        let mut into: Vec<Vec<u8>> = (0..ranks).map(|from| vec![99; sizes(from)]).collect();
        world.all_to_all_varcount_packed(&messages, &mut into).unwrap();
        assert!(into.iter().flatten().all(|byte| *byte == rank as u8), "{size}");
        let is_wrong = rank == ranks - 1;
        let more = usize::from(is_wrong);
        let mut into: Vec<Vec<u8>> = (0..ranks).map(|from| vec![99; sizes(from) + more]).collect();
        let result = world.all_to_all_varcount_packed(&messages, &mut into);
        assert_eq!(matches!(result, Err(Error::Fit { .. })), is_wrong, "{size}: {result:?}");
        let byte = if is_wrong { 99 } else { rank as u8 };
        assert!(into.iter().flatten().all(|found| *found == byte), "{size}");
    }
}

/// Checks the calls whose sizes are promised, in many sizes, and promised sizes that do not fit the buffers.
pub fn exact(world: &SimpleCommunicator) {
    exactly::<Particle>(world);
    exactly::<Nested>(world);
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let mut short = vec![7u8; 3 * ranks - 1];
    // SAFETY: all ranks make the same call, and have the same number of bytes.
    let result = unsafe { world.all_gather_packed_exact(&[rank as u8; 3], &mut short) };
    let expected = 3 * ranks - 1;
    assert_eq!(result, Err(Error::Fit { value: 1, expected, found: Some(3 * ranks), from: None }));
    assert!(short.iter().all(|byte| *byte == 7));
    // SAFETY: as before.
    let result = unsafe { world.all_to_all_packed_exact(&vec![1u8; ranks], &mut short) };
    assert_eq!(result.is_err(), 3 * ranks - 1 != ranks, "{result:?}");
    // Every rank sends an invalid value.
    let mut flags = vec![true; ranks];
    // SAFETY: as before.
    let result = unsafe { world.all_gather_packed_exact(&2u8, &mut flags) };
    let is_right = matches!(result, Err(Error::InvalidValue { .. } | Error::Mismatch { .. }));
    assert!(is_right && flags == vec![true; ranks], "{result:?}");
}

fn exactly<T: Sample>(world: &SimpleCommunicator) {
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let of = |rank: usize, n: usize| values::<T>(rank as i32, n);
    let blank = |n: usize| vec![T::sample(999); n];
    for n in [0usize, 1, 40, 30_000] {
        let root = world.process_at_rank(world.size() - 1);
        let is_root = rank == ranks - 1;
        let together: Vec<T> = (0..ranks).flat_map(|i| of(i, n)).collect();
        let (mut all, mut part) = (blank(n * ranks), blank(n));
        let mut message = of(if is_root { 3 } else { 4 }, n);
        let rows: Vec<T> = (0..ranks).flat_map(|to| of(rank + 10 * to, n)).collect();
        let mut columns = blank(n * ranks);
        // SAFETY: all ranks make the same calls with the same root, and have the same number of values.
        unsafe {
            root.broadcast_packed_exact(&mut message).unwrap();
            world.all_gather_packed_exact(&of(rank, n), &mut all).unwrap();
            assert!(all == together);
            if is_root {
                all = blank(n * ranks);
                root.gather_packed_into_root_exact(&of(rank, n), &mut all).unwrap();
                root.scatter_packed_into_root_exact(&together, &mut part).unwrap();
            } else {
                root.gather_packed_exact(&of(rank, n)).unwrap();
                root.scatter_packed_into_exact(&mut part).unwrap();
            }
            world.all_to_all_packed_exact(&rows, &mut columns).unwrap();
        }
        assert!(message == of(3, n) && all == together && part == of(rank, n));
        assert!(columns == (0..ranks).flat_map(|from| of(from + 10 * rank, n)).collect::<Vec<_>>());
        // The calls without promised sizes give the same values.
        let (mut all, mut part, mut columns) = (blank(n * ranks), blank(n), blank(n * ranks));
        world.all_gather_packed(&of(rank, n), &mut all).unwrap();
        world.all_to_all_packed(&rows, &mut columns).unwrap();
        assert!(all == together);
        if is_root {
            all = blank(n * ranks);
            root.gather_packed_into_root(&of(rank, n), &mut all).unwrap();
            root.scatter_packed_into_root(&together, &mut part).unwrap();
        } else {
            root.gather_packed(&of(rank, n)).unwrap();
            root.scatter_packed_into(&mut part).unwrap();
        }
        assert!(all == together && part == of(rank, n));
        assert!(columns == (0..ranks).flat_map(|from| of(from + 10 * rank, n)).collect::<Vec<_>>());
    }
    // Broadcasts around the lengths at which a further part begins.
    for bytes in [900usize, 983, 984, 985, 1024, 262_144, 263_128, 600_000] {
        let n = bytes / size_of::<T>() + 1;
        let root = world.process_at_rank(0);
        for n in [n - 1, n, n + 1] {
            let mut message = of(rank, n);
            root.broadcast_packed(&mut message).unwrap();
            assert!(message == of(0, n));
        }
        let mut message = vec![rank as u8; bytes];
        root.broadcast_packed(&mut message).unwrap();
        assert!(message == vec![0; bytes]);
    }
}

/// Checks all collective calls for every set of ranks that have nothing to send or to receive.
pub fn nothing(world: &SimpleCommunicator) {
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    for chosen in 0..1usize << ranks {
        for count in [1usize, 300, 70_000] {
            let has = |rank: usize| if chosen >> rank & 1 == 1 { count } else { 0 };
            let of = |rank: usize| values::<Particle>(rank as i32, has(rank));
            let blank = |count: usize| vec![Particle::sample(999); count];
            let together: Vec<Particle> = (0..ranks).flat_map(of).collect();
            let mut all = blank(together.len());
            world.all_gather_packed(&of(rank), &mut all).unwrap();
            assert!(all == together);
            for root in 0..ranks {
                let process = world.process_at_rank(root as i32);
                let (mut all, mut part) = (blank(together.len()), blank(has(rank)));
                if rank == root {
                    process.gather_packed_into_root(&of(rank), &mut all).unwrap();
                    assert!(all == together);
                    process.scatter_packed_into_root(&together, &mut part).unwrap();
                } else {
                    process.gather_packed(&of(rank)).unwrap();
                    process.scatter_packed_into(&mut part).unwrap();
                }
                assert!(part == of(rank));
                let mut message = if rank == root { of(root) } else { blank(has(root)) };
                process.broadcast_packed(&mut message).unwrap();
                assert!(message == of(root));
            }
            // The chosen ranks send to all ranks; then all ranks send to the chosen ones.
            let messages: Vec<Vec<Particle>> = (0..ranks).map(|_| of(rank)).collect();
            let mut into: Vec<Vec<Particle>> = (0..ranks).map(|from| blank(has(from))).collect();
            world.all_to_all_varcount_packed(&messages, &mut into).unwrap();
            assert!(into.iter().enumerate().all(|(from, found)| *found == of(from)));
            let messages: Vec<Vec<Particle>> = (0..ranks).map(of).collect();
            let mut into: Vec<Vec<Particle>> = (0..ranks).map(|_| blank(has(rank))).collect();
            world.all_to_all_varcount_packed(&messages, &mut into).unwrap();
            assert!(into.iter().all(|found| *found == of(rank)));
            let n = if chosen == 0 { 0 } else { count };
            let mut columns = blank(n * ranks);
            world.all_to_all_packed(&values::<Particle>(rank as i32, n * ranks), &mut columns).unwrap();
            assert!(
                n == 0
                    || columns[n * (ranks - 1)] == values::<Particle>(ranks as i32 - 1, n * ranks)[n * rank]
            );
        }
    }
}
