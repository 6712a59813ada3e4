//! Collective calls on packed bytes, with any number of values on any rank, and with a rank that breaks the
//! rules.

use dtype_runtime::pack::Error as PackError;
use dtype_runtime::{Comm, Error, comm::Handle};
use mpi::topology::SimpleCommunicator;

use super::values;
use crate::samples::{Nested, Particle, Sample};

/// Divides values into equal parts, one for each rank.
fn parts<T>(values: &[T], ranks: usize) -> Vec<&[T]> {
    let n = values.len() / ranks;
    (0..ranks).map(|rank| &values[rank * n..][..n]).collect()
}

/// Divides places for values into equal parts, one for each rank.
fn parts_mut<T>(mut places: &mut [T], ranks: usize) -> Vec<&mut [T]> {
    let n = places.len() / ranks;
    (0..ranks).map(|_| places.split_off_mut(..n).expect("there are as many")).collect()
}

/// Checks all collective calls, with equal and different numbers of values, and with messages that do not
/// fit.
pub fn collectives(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    collect::<Particle>(world);
    collect::<Nested>(world);
    let (rank, ranks) = (world.rank(), world.size());

    // One rank breaks the rules: every call ends on every rank, and the next one works.
    let mut values = vec![1.5f64; if rank == ranks - 1 { 5 } else { 6 }];
    let result = world.broadcast_into(0, &mut values[..]);
    assert_eq!(result.is_err(), rank == ranks - 1 && rank > 0, "{result:?}");
    let mut all = vec![0u8; ranks];
    let wrong = vec![1u8; if rank == 0 { 2 } else { 1 }];
    assert!(matches!(world.all_gather_into(&wrong, &mut all[..]), Err(Error::Fit { .. })));
    assert_eq!(all, vec![0; ranks]);
    long_and_short(world);
    // All ranks pass a place to a gather, or the root passes none.
    world.gather_into(0, &(rank as u8), Some(&mut all[..])).unwrap();
    let gathered = (0..ranks).map(|rank| rank as u8).collect();
    assert_eq!(all, if rank == 0 { gathered } else { vec![0; ranks] });
    let result = world.gather_into::<u8, [u8]>(0, &(rank as u8), None);
    assert_eq!(matches!(result, Err(Error::Unsendable { .. })), rank == 0, "{result:?}");
    assert_eq!(result.is_err(), rank == 0, "{result:?}");
    all.fill(0);
    // The root passes nothing to a scatter, or too much.
    let mut part = [9u8; 2];
    assert_eq!(
        world.scatter_into::<[u8], _>(0, None, &mut part),
        Err(Error::Fit { value: 2, expected: 2 * ranks, found: Some(0), from: None })
    );
    let mut share = vec![9u8; 2];
    let error = world.scatter_into::<[u8], _>(0, None, &mut share).unwrap_err();
    let is_message = matches!(error, Error::Message { from: Some(0), .. });
    assert!(if rank == 0 { matches!(error, Error::Unsendable { .. }) } else { is_message }, "{error}");
    let scattered = world.scatter_into(0, (rank == 0).then_some(&vec![1u8; 2 * ranks + 1]), &mut part);
    let found = Some(2 * ranks + 1);
    assert_eq!(scattered, Err(Error::Fit { value: 2, expected: 2 * ranks, found, from: None }));
    assert_eq!((part, share), ([9; 2], vec![9; 2]));
    // A restricted type in several parts: all values are checked before any is written.
    let mut flags = vec![false; 600_000];
    let truths = root_broadcasts(world, 1, &mut flags);
    assert!(truths.is_ok() && flags.iter().all(|flag| *flag == (rank > 0)), "{truths:?}");
    let lies = root_broadcasts(world, 2, &mut flags);
    assert_eq!(lies.is_err(), rank > 0, "{lies:?}");
    assert!(flags.iter().all(|flag| *flag == (rank > 0)));
    // More or fewer messages, or places, than ranks.
    for wrong in [ranks - 1, ranks + 1] {
        for [messages, places] in [[wrong, ranks], [ranks, wrong], [wrong, wrong]] {
            let mut into = vec![7u8; places];
            let result = world.all_to_all_into(&vec![1u8; messages], &mut into);
            let what = if messages == ranks { "places to receive into" } else { "messages to send" };
            assert_eq!(result, Err(Error::Messages { what, found: wrong, ranks }));
            assert!(into.iter().all(|byte| *byte == 7));
        }
    }
    world.all_gather_into(&(rank as u8), &mut all[..]).unwrap();
    assert_eq!(all, (0..ranks).map(|i| i as u8).collect::<Vec<_>>());
}

/// Broadcasts one number from the root, repeated for each flag of the other ranks.
fn root_broadcasts(world: &Comm<impl Handle>, number: u8, flags: &mut [bool]) -> Result<(), Error> {
    let mut numbers = vec![number; flags.len()];
    if world.rank() == 0 {
        world.broadcast(0, Some(numbers.clone())).unwrap();
        world.broadcast_into(0, &mut numbers[..])
    } else {
        let made = world.broadcast::<Vec<bool>>(0, None);
        let received = world.broadcast_into(0, flags);
        assert_eq!(made.map(drop), received);
        received
    }
}

fn collect<T: Sample>(world: &Comm<impl Handle>) {
    let (rank, ranks) = (world.rank(), world.size());
    for n in [1usize, 40, 20_000] {
        let of = |rank: usize, n: usize| values::<T>(rank, n);
        let root = ranks - 1;
        let is_root = rank == root;
        let mut message = of(if is_root { 3 } else { 4 }, n);
        world.broadcast_into(root, &mut message[..]).unwrap();
        assert!(message == of(3, n));
        assert!(world.broadcast(root, is_root.then(|| of(5, n))).unwrap() == of(5, n));

        // Rank i has n + i values.
        let each: Vec<Vec<T>> = (0..ranks).map(|i| of(i, n + i)).collect();
        let together = each.concat();
        let own = of(rank, n + rank);
        let mut all = vec![T::sample(999); together.len()];
        world.all_gather_into(&own, &mut all[..]).unwrap();
        assert!(all == together);
        assert!(world.all_gather(&own).unwrap() == each);
        let mut all = vec![T::sample(999); together.len()];
        world.gather_into(root, &own, is_root.then_some(&mut all[..])).unwrap();
        assert!(if is_root { all == together } else { all.iter().all(|value| *value == T::sample(999)) });
        assert!(world.gather(root, &own).unwrap() == is_root.then(|| each.clone()));
        let mut part = vec![T::sample(999); n + rank];
        world.scatter_into(root, is_root.then_some(&together), &mut part[..]).unwrap();
        assert!(part == own);
        assert!(world.scatter(root, is_root.then_some(&each[..])).unwrap() == own);

        let rows: Vec<T> = (0..ranks).flat_map(|to| of(rank + 10 * to, n)).collect();
        let mut columns = vec![T::sample(999); n * ranks];
        world.all_to_all_into(&parts(&rows, ranks), &mut parts_mut(&mut columns, ranks)).unwrap();
        assert!(columns == (0..ranks).flat_map(|from| of(from + 10 * rank, n)).collect::<Vec<_>>());

        // Rank i sends n + i + 2 k values to rank k.
        let messages: Vec<Vec<T>> = (0..ranks).map(|to| of(rank + to, n + rank + 2 * to)).collect();
        let expected: Vec<Vec<T>> = (0..ranks).map(|from| of(rank + from, n + from + 2 * rank)).collect();
        let mut into: Vec<Vec<T>> = expected.iter().map(|part| vec![T::sample(999); part.len()]).collect();
        let mut places: Vec<_> = into.iter_mut().map(Vec::as_mut_slice).collect();
        world.all_to_all_into(&messages, &mut places).unwrap();
        assert!(into == expected);
        assert!(world.all_to_all(&messages).unwrap() == expected);
    }
}

/// Exchanges parts of about the size up to which they travel with their sizes. One rank sends long ones.
/// Another one expects more bytes than come, and gets an error.
fn long_and_short(world: &Comm<impl Handle>) {
    let (rank, ranks) = (world.rank(), world.size());
    for size in [0, 2007, 2008, 2009] {
        let sizes = |from: usize| if from == 0 { size } else { 1 };
        let messages: Vec<Vec<u8>> = (0..ranks).map(|to| vec![to as u8; sizes(rank)]).collect();
        let mut into: Vec<Vec<u8>> = (0..ranks).map(|from| vec![99; sizes(from)]).collect();
        let mut places: Vec<_> = into.iter_mut().map(Vec::as_mut_slice).collect();
        world.all_to_all_into(&messages, &mut places).unwrap();
        assert!(into.iter().flatten().all(|byte| *byte == rank as u8), "{size}");
        let is_wrong = rank == ranks - 1;
        let more = usize::from(is_wrong);
        let mut into: Vec<Vec<u8>> = (0..ranks).map(|from| vec![99; sizes(from) + more]).collect();
        let mut places: Vec<_> = into.iter_mut().map(Vec::as_mut_slice).collect();
        let result = world.all_to_all_into(&messages, &mut places);
        assert_eq!(matches!(result, Err(Error::Fit { .. })), is_wrong, "{size}: {result:?}");
        assert_eq!(result.is_err(), is_wrong, "{size}: {result:?}");
        let byte = if is_wrong { 99 } else { rank as u8 };
        assert!(into.iter().flatten().all(|found| *found == byte), "{size}");
    }
}

/// Checks the calls with the same number of values on all ranks, in many sizes, and with places of another
/// size.
pub fn even(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    evenly::<Particle>(world);
    evenly::<Nested>(world);
    let (rank, ranks) = (world.rank(), world.size());
    let mut short = vec![7u8; 3 * ranks - 1];
    let result = world.all_gather_into(&[rank as u8; 3], &mut short[..]);
    let expected = 3 * ranks - 1;
    assert_eq!(result, Err(Error::Fit { value: 1, expected, found: Some(3 * ranks), from: None }));
    let mut places = vec![[7u8; 2]; ranks];
    let result = world.all_to_all_into(&vec![1u8; ranks], &mut places);
    assert_eq!(result, Err(Error::Fit { value: 2, expected: 2, found: Some(1), from: None }));
    assert!(short.iter().chain(places.as_flattened()).all(|byte| *byte == 7));
    // Every rank sends an invalid value.
    let mut flags = vec![true; ranks];
    let result = world.all_gather_into(&2u8, &mut flags[..]);
    let is_right =
        matches!(result, Err(Error::Pack(PackError::InvalidValue { .. }) | Error::Mismatch { .. }));
    assert!(is_right && flags == vec![true; ranks], "{result:?}");
}

fn evenly<T: Sample>(world: &Comm<impl Handle>) {
    let (rank, ranks) = (world.rank(), world.size());
    let of = |rank: usize, n: usize| values::<T>(rank, n);
    let blank = |n: usize| vec![T::sample(999); n];
    for n in [0usize, 1, 40, 30_000] {
        let root = ranks - 1;
        let is_root = rank == root;
        let together: Vec<T> = (0..ranks).flat_map(|i| of(i, n)).collect();
        let (mut all, mut part) = (blank(n * ranks), blank(n));
        let mut message = of(if is_root { 3 } else { 4 }, n);
        let rows: Vec<T> = (0..ranks).flat_map(|to| of(rank + 10 * to, n)).collect();
        let mut columns = blank(n * ranks);
        world.broadcast_into(root, &mut message[..]).unwrap();
        world.all_gather_into(&of(rank, n), &mut all[..]).unwrap();
        assert!(all == together);
        if is_root {
            all = blank(n * ranks);
        }
        world.gather_into(root, &of(rank, n), is_root.then_some(&mut all[..])).unwrap();
        world.scatter_into(root, is_root.then_some(&together), &mut part[..]).unwrap();
        world.all_to_all_into(&parts(&rows, ranks), &mut parts_mut(&mut columns, ranks)).unwrap();
        assert!(message == of(3, n) && all == together && part == of(rank, n));
        assert!(columns == (0..ranks).flat_map(|from| of(from + 10 * rank, n)).collect::<Vec<_>>());
    }
    // Broadcasts around the lengths at which a further part begins.
    for bytes in [900usize, 983, 984, 985, 1024, 262_144, 263_128, 600_000] {
        let n = bytes / size_of::<T>() + 1;
        for n in [n - 1, n, n + 1] {
            let mut message = of(rank, n);
            world.broadcast_into(0, &mut message[..]).unwrap();
            assert!(message == of(0, n));
            assert!(world.broadcast(0, (rank == 0).then(|| of(1, n))).unwrap() == of(1, n));
        }
        let mut message = vec![rank as u8; bytes];
        world.broadcast_into(0, &mut message[..]).unwrap();
        assert!(message == vec![0; bytes]);
        assert!(world.broadcast(0, (rank == 0).then(|| vec![1u8; bytes])).unwrap() == vec![1; bytes]);
    }
}

/// Checks all collective calls for every set of ranks that have nothing to send or to receive.
pub fn nothing(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let (rank, ranks) = (world.rank(), world.size());
    for chosen in 0..1usize << ranks {
        for count in [1usize, 300, 70_000] {
            let has = |rank: usize| if chosen >> rank & 1 == 1 { count } else { 0 };
            let blank = |count: usize| vec![Particle::sample(999); count];
            let each: Vec<Vec<Particle>> = (0..ranks).map(|rank| values(rank, has(rank))).collect();
            let (own, together) = (&each[rank], each.concat());
            let mut all = blank(together.len());
            world.all_gather_into(own, &mut all[..]).unwrap();
            assert!(all == together);
            assert!(world.all_gather(own).unwrap() == each);
            for (root, of_root) in each.iter().enumerate() {
                let is_root = rank == root;
                let (mut all, mut part) = (blank(together.len()), blank(has(rank)));
                world.gather_into(root, own, is_root.then_some(&mut all[..])).unwrap();
                assert!(!is_root || all == together);
                world.scatter_into(root, is_root.then_some(&together), &mut part[..]).unwrap();
                assert!(part == *own);
                let mut message = if is_root { own.clone() } else { blank(has(root)) };
                world.broadcast_into(root, &mut message[..]).unwrap();
                assert!(message == *of_root);
            }
            // The chosen ranks send to all ranks; then all ranks send to the chosen ones.
            let messages: Vec<&[Particle]> = vec![own; ranks];
            let mut into: Vec<Vec<Particle>> = (0..ranks).map(|from| blank(has(from))).collect();
            let mut places: Vec<_> = into.iter_mut().map(Vec::as_mut_slice).collect();
            world.all_to_all_into(&messages, &mut places).unwrap();
            assert!(into == each);
            let mut into: Vec<Vec<Particle>> = (0..ranks).map(|_| blank(has(rank))).collect();
            let mut places: Vec<_> = into.iter_mut().map(Vec::as_mut_slice).collect();
            world.all_to_all_into(&each, &mut places).unwrap();
            assert!(into.iter().all(|found| found == own));
            let n = if chosen == 0 { 0 } else { count };
            let (own, mut columns) = (values::<Particle>(rank, n * ranks), blank(n * ranks));
            world.all_to_all_into(&parts(&own, ranks), &mut parts_mut(&mut columns, ranks)).unwrap();
            let last = values::<Particle>(ranks - 1, n * ranks);
            assert!(parts(&columns, ranks)[ranks - 1] == parts(&last, ranks)[rank]);
        }
    }
}
