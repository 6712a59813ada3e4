//! Collective calls with a layout for each rank: among neighbours, among all, and with a root.

use std::mem;

use dtype_runtime::{
    DynamicLayout, Error, layout,
    layout::{ArrayOrder, Subarray, split_mut},
    traits::*,
    wire::{PendingExchange, distributed_graph},
};
use mpi::{topology::SimpleCommunicator, traits::*};

use crate::engine::Random;

/// Returns the values that a rank sends along an edge: their number and values tell which edge it is.
fn values(from: i32, slot: usize) -> Vec<u32> {
    (0..(from as usize + 2 * slot) % 5).map(|i| (1000 * from as usize + 10 * slot + i) as u32).collect()
}

/// Sends along all edges in every way. Message `i` goes to `destinations[i]`; `arriving[j]` is the sender of
/// message `j` and the slot from which it was sent, or `None` if there is no neighbour.
fn along(world: &impl NeighbourCollectives, destinations: usize, arriving: &[Option<(i32, usize)>]) {
    let rank = world.rank();
    let sent: Vec<Vec<u32>> = (0..destinations).map(|slot| values(rank, slot)).collect();
    let expected: Vec<Vec<u32>> =
        arriving.iter().map(|from| from.map_or(vec![7], |(from, slot)| values(from, slot))).collect();
    let empty = || -> Vec<Vec<u32>> {
        let room =
            |(from, values): (&Option<_>, &Vec<u32>)| vec![if from.is_none() { 7 } else { 0 }; values.len()];
        arriving.iter().zip(&expected).map(room).collect()
    };
    let mut into = empty();
    world.neighbour_all_to_all_varcount_packed(&sent, &mut into).unwrap();
    assert_eq!(into, expected);

    // Two calls under way, ended in another order on other ranks, after one that was forgotten.
    let (mut lost, mut first, mut second) = (empty(), empty(), empty());
    mem::forget(world.start_neighbour_all_to_all_varcount_packed(&sent, &mut lost).unwrap());
    let one = world.start_neighbour_all_to_all_varcount_packed(&sent, &mut first).unwrap();
    let mut two = world.start_neighbour_all_to_all_varcount_packed(&sent, &mut second).unwrap();
    if rank % 2 == 0 {
        one.finish().unwrap();
        while !two.is_done().unwrap() {}
        two.finish().unwrap();
    } else {
        two.finish().unwrap();
        one.finish().unwrap();
    }
    assert_eq!([&lost, &first, &second], [&empty(), &expected, &expected]);

    let mut prepared = world.prepare_neighbour_all_to_all_varcount_packed(&sent, &into).unwrap();
    for _ in 0..3 {
        let mut into = empty();
        prepared.exchange(&sent, &mut into).unwrap();
        assert_eq!(into, expected);
        let mut into = empty();
        prepared.start(&sent, &mut into).unwrap().finish().unwrap();
        assert_eq!(into, expected);
    }
    let longer: Vec<Vec<u32>> = sent.iter().map(|sent| [&sent[..], &[1]].concat()).collect();
    let mut has_error = true;
    if destinations > 0 {
        assert!(matches!(
            world.prepare_neighbour_all_to_all_varcount_packed(&sent[1..], &into),
            Err(Error::Messages { what: "messages to send", .. })
        ));
    } else {
        // An error of a rank with destinations is one of all.
        let others = world.prepare_neighbour_all_to_all_varcount_packed(&sent, &into).map(|_| ());
        assert!(matches!(others, Ok(()) | Err(Error::Elsewhere { .. })), "{others:?}");
        has_error = others.is_err();
    }
    let all = world.all_gather_vec(&[destinations > 0, has_error]).unwrap();
    assert!(all.iter().all(|[_, has_error]| *has_error == all.iter().any(|[sends, _]| *sends)));
    // All ranks with destinations have an error, and none waits for them.
    let refused = prepared.exchange(&longer, &mut into);
    let sends_something = destinations > 0 && arriving.iter().any(Option::is_some);
    assert!(matches!(refused, Err(Error::Length { .. })) || !sends_something, "{refused:?}");

    // One value for all, and equal parts.
    let own = (rank as u8, 0.5 + f64::from(rank));
    let mut gathered = vec![(99u8, 99.0); arriving.len()];
    world.neighbour_all_gather_packed(&own, &mut gathered).unwrap();
    for (found, from) in gathered.iter().zip(arriving) {
        assert_eq!(*found, from.map_or((99, 99.0), |(from, _)| (from as u8, 0.5 + f64::from(from))));
    }
    let varied = vec![rank as u16; 1 + rank as usize % 3];
    let mut gathered: Vec<Vec<u16>> =
        arriving.iter().map(|from| vec![77; from.map_or(4, |(from, _)| 1 + from as usize % 3)]).collect();
    world.neighbour_all_gather_varcount_packed(&varied, &mut gathered).unwrap();
    for (found, from) in gathered.iter().zip(arriving) {
        assert!(found.iter().all(|value| *value == from.map_or(77, |(from, _)| from as u16)));
    }
    let parts: Vec<[bool; 3]> = (0..destinations).map(|slot| [rank % 2 == 0, slot % 2 == 0, true]).collect();
    let mut equal = vec![[false; 3]; arriving.len()];
    world.neighbour_all_to_all_packed(&parts, &mut equal).unwrap();
    for (found, from) in equal.iter().zip(arriving) {
        assert_eq!(*found, from.map_or([false; 3], |(from, slot)| [from % 2 == 0, slot % 2 == 0, true]));
    }
}

/// Exchanges with the neighbours in grids and graphs.
#[allow(clippy::too_many_lines, reason = "one topology after another")]
pub fn neighbours(world: &SimpleCommunicator) {
    let (rank, size) = (world.rank(), world.size());
    let mut drawn = Random(dtype_tests::seed(53));
    for _ in 0..if dtype_tests::is_long() { 200 } else { 8 } {
        let divisors: Vec<_> = (1..=size).filter(|divisor| size % divisor == 0).collect();
        let lengths = [0; 2].map(|_| divisors[drawn.below(divisors.len())]);
        let lengths = if size % (lengths[0] * lengths[1]) == 0 { lengths } else { [lengths[0], 1] };
        let lengths = [lengths[0], lengths[1], size / lengths[0] / lengths[1]];
        let periodic = [0; 3].map(|_| drawn.below(2) == 0);
        let grid = world.create_cartesian_communicator(&lengths, &periodic, false).unwrap();
        let own = grid.rank_to_coordinates(grid.rank());
        let mut arriving = Vec::new();
        for k in 0..3 {
            for (step, slot) in [(-1, 2 * k + 1), (1, 2 * k)] {
                let mut there = own.clone();
                there[k] += step;
                let is_there = (0..lengths[k]).contains(&there[k]) || periodic[k];
                there[k] = there[k].rem_euclid(lengths[k]);
                let number = there.iter().zip(lengths).fold(0, |number, (at, length)| number * length + at);
                arriving.push(is_there.then_some((number, slot)));
            }
        }
        along(&grid, 6, &arriving);

        // A random graph, with edges to the same rank twice and to the rank itself.
        let mut edges = Vec::new();
        for from in 0..size {
            for slot in 0..drawn.below(5) {
                edges.push((from, slot, drawn.below(size as usize) as i32));
            }
        }
        // Edges between two ranks keep their order.
        let to_me: Vec<_> =
            edges.iter().filter(|(_, _, to)| *to == rank).map(|(from, slot, _)| (*from, *slot)).collect();
        let from_me: Vec<_> = edges.iter().filter(|(from, ..)| *from == rank).map(|(_, _, to)| *to).collect();
        let sources: Vec<_> = to_me.iter().map(|(from, _)| *from).collect();
        let graph = distributed_graph(world, &sources, &from_me).unwrap();
        let arriving: Vec<_> = to_me.into_iter().map(Some).collect();
        along(&graph, from_me.len(), &arriving);
    }
    // A communicator without neighbours, on all ranks alike; and a rank that is none.
    let none = world.neighbour_all_gather_packed(&1u8, &mut [0u8; 0]).unwrap_err().to_string();
    assert!(none.contains("has no neighbours"), "{none}");
    assert!(matches!(distributed_graph(world, &[size], &[]), Err(Error::Rank { .. })));

    // Ranks without sources or without destinations; and errors of one rank, after which all go on.
    if size > 1 {
        let edge = match rank {
            0 => distributed_graph(world, &[], &[1]),
            1 => distributed_graph(world, &[0], &[]),
            _ => distributed_graph(world, &[], &[]),
        };
        let edge = edge.unwrap();
        for _ in 0..2 {
            let mut into = [5u32; 1];
            edge.neighbour_all_gather_packed(&(7 + rank as u32), &mut into).unwrap();
            assert_eq!(into, [if rank == 1 { 7 } else { 5 }]);
            edge.neighbour_all_to_all_packed(&[3u8; 3][..], &mut into[..0]).unwrap_or_else(|error| {
                assert!(rank == 1 && matches!(error, Error::Neighbour { rank: 0, .. }), "{error}");
            });
        }
        let ring = world.create_cartesian_communicator(&[size], &[true], false).unwrap();
        let (odd, mut into) = ([1u8; 3], [0u8; 2]);
        let divided = ring.neighbour_all_to_all_packed(&odd[..if rank == 0 { 3 } else { 2 }], &mut into[..]);
        let is_near = [1, size - 1].contains(&rank);
        match divided {
            Err(Error::Parts { found: 3, ranks: 2 }) => assert_eq!(rank, 0),
            Err(Error::Neighbour { rank: 0, .. }) => assert!(is_near),
            divided => assert!(divided.is_ok() && rank > 0 && !is_near, "{divided:?}"),
        }
        ring.neighbour_all_to_all_packed(&odd[..2], &mut into[..]).unwrap();
        assert_eq!(into, [1, 1]);
        let short = ring.neighbour_all_to_all_varcount_packed(
            &[[2u8; 1]; 2][..if rank == 0 { 1 } else { 2 }],
            &mut [[0u8; 1]; 2],
        );
        assert_eq!(matches!(short, Err(Error::Messages { .. })), rank == 0);
        // Lists of one rank that are too short, in calls that start and prepare.
        let (sent, mut room) = ([[2u8; 1]; 2], [[0u8; 1]; 2]);
        let sent = &sent[usize::from(rank == 0)..];
        let short = ring.start_neighbour_all_to_all_varcount_packed(sent, &mut room);
        match short.and_then(PendingExchange::finish) {
            Err(Error::Messages { .. }) => assert_eq!(rank, 0),
            Err(Error::Neighbour { rank: 0, .. }) => assert!(is_near),
            short => assert!(short.is_ok() && rank > 0 && !is_near, "{short:?}"),
        }
        match ring.prepare_neighbour_all_to_all_varcount_packed(sent, &room) {
            Err(Error::Messages { .. }) => assert_eq!(rank, 0),
            short => assert!(rank > 0 && matches!(short, Err(Error::Elsewhere { rank: 0 })), "{short:?}"),
        }
        // A rank that does not exist.
        let sources = [size - i32::from(rank > 0)];
        match distributed_graph(world, &sources, &[]) {
            Err(Error::Rank { .. }) => assert_eq!(rank, 0),
            graph => assert!(rank > 0 && matches!(graph, Err(Error::Elsewhere { rank: 0 }))),
        }
        ring.neighbour_all_to_all_packed(&odd[..2], &mut into[..]).unwrap();
    }

    // Another number of values than the neighbour expects: an error that names it, and nothing is written.
    let ring = world.create_cartesian_communicator(&[size], &[true], false).unwrap();
    let sent = [vec![1u8; 1 + rank as usize], vec![1u8; 1 + rank as usize]];
    let mut into = [vec![0u8; 1], vec![0u8; 1]];
    let around = [(rank + size - 1) % size, (rank + 1) % size];
    match ring.neighbour_all_to_all_varcount_packed(&sent, &mut into) {
        Ok(()) => assert_eq!(around, [0; 2]),
        Err(Error::Neighbour { rank, expected: 1, .. }) => {
            assert!(rank > 0 && around.contains(&rank));
            assert_eq!(into, [[0], [0]]);
        }
        Err(error) => panic!("{error}"),
    }
}

/// A layout for each rank, on both sides, in calls with and without a root.
pub fn each(world: &SimpleCommunicator) {
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let n = 3 * ranks;
    // Every rank has a matrix, and sends its columns 3i to 3i + 2 to rank i, which receives them as rows.
    let columns =
        |i: usize| -> DynamicLayout<u32, 2> { layout!(u32[n][n] => [i.., 3 * i..3 * i + 3]).unwrap() };
    let box_of = |i: usize, from: usize| {
        // Row-major pieces of the same number of elements, at another place for each sender.
        Subarray { sizes: [n, n], subsizes: [n - i, 3], starts: [i, 3 * from], order: ArrayOrder::RowMajor }
            .layout::<u32>()
            .unwrap()
    };
    let element = |of: usize, i: usize, j: usize| (10_000 * of + 100 * i + j) as u32;
    let matrix: Vec<u32> = (0..n * n).map(|at| element(rank, at / n, at % n)).collect();
    let is_right = |received: &[u32], of: usize, from: usize| {
        (0..n).all(|i| {
            (0..3).all(|j| {
                let expected = if i < of { 0 } else { element(from, i, 3 * of + j) };
                received[i * n + 3 * from + j] == expected
            })
        })
    };
    let sent: Vec<_> = (0..ranks).map(columns).collect();
    let views: Vec<_> = sent.iter().map(|layout| layout.of(&matrix).unwrap()).collect();
    let boxes: Vec<_> = (0..ranks).map(|from| box_of(rank, from)).collect();
    for way in 0..3 {
        let mut received = vec![0u32; n * n];
        let (_, mut into) = split_mut(&mut received, &boxes).unwrap();
        match way {
            0 => world.all_to_all_varcount_packed(&views, &mut into).unwrap(),
            1 => world.start_all_to_all_varcount_packed(&views, &mut into).unwrap().finish().unwrap(),
            _ => {
                let mut prepared = world.prepare_all_to_all_varcount_packed(&views, &into).unwrap();
                prepared.exchange(&views, &mut into).unwrap();
                // A list of one rank that is too short: an error on all, and then they go on.
                let refused = prepared.exchange(&views[usize::from(rank == 0)..], &mut into).unwrap_err();
                assert_eq!(matches!(refused, Error::Messages { .. }), rank == 0, "{refused}");
                assert!(rank == 0 || matches!(refused, Error::Neighbour { rank: 0, .. }), "{refused}");
                prepared.exchange(&views, &mut into).unwrap();
            }
        }
        assert!((0..ranks).all(|from| is_right(&received, rank, from)), "way {way}");
    }

    // A root that gathers into a layout for each rank, and scatters from one.
    for root in 0..ranks {
        let process = world.process_at_rank(root as i32);
        let own = &views[root];
        let mut received = vec![0u32; n * n];
        if rank == root {
            let (_, mut into) = split_mut(&mut received, &boxes).unwrap();
            process.gather_varcount_packed_into_root(own, &mut into).unwrap();
            assert!((0..ranks).all(|from| is_right(&received, root, from)));
        } else {
            process.gather_packed(own).unwrap();
        }
        let mut received = vec![0u32; n * n];
        let mut into = box_of(rank, root).of_mut(&mut received).unwrap();
        if rank == root {
            process.scatter_varcount_packed_into_root(&views, &mut into).unwrap();
        } else {
            process.scatter_varcount_packed_into(&mut into).unwrap();
        }
        assert!(is_right(&received, rank, root));
        // Mistakes are errors on every rank that they concern, and all ranks complete the call.
        let mut one = [0u32; 1];
        let (scattered, gathered) = if rank == root {
            let short: Vec<u32> = vec![5; ranks + 1];
            let scattered = process.scatter_varcount_packed_into_root(&short, &mut one);
            (scattered, process.gather_varcount_packed_into_root(&5u32, &mut vec![0u32; ranks - 1]))
        } else {
            (process.scatter_varcount_packed_into(&mut one), process.gather_packed(&5u32))
        };
        assert_eq!(matches!(scattered, Err(Error::Messages { .. })), rank == root);
        assert_eq!(matches!(scattered, Err(Error::Neighbour { .. })), rank != root, "{scattered:?}");
        assert_eq!(matches!(gathered, Err(Error::Messages { .. })), rank == root);
        assert_eq!(one, [0]);
    }
    // The wrong number of messages to all, on one rank: an error on all.
    let mut into = vec![[0u8; 1]; ranks];
    let sent = vec![[1u8; 1]; if rank == 0 { ranks + 1 } else { ranks }];
    let refused = world.start_all_to_all_varcount_packed(&sent, &mut into).and_then(PendingExchange::finish);
    assert_eq!(matches!(refused, Err(Error::Messages { .. })), rank == 0, "{refused:?}");
    assert!(rank == 0 || matches!(refused, Err(Error::Neighbour { rank: 0, .. })), "{refused:?}");
    let refused = world.prepare_all_to_all_varcount_packed(&sent, &into).map(|_| ());
    assert_eq!(matches!(refused, Err(Error::Messages { .. })), rank == 0, "{refused:?}");
    assert!(rank == 0 || refused == Err(Error::Elsewhere { rank: 0 }), "{refused:?}");
}
