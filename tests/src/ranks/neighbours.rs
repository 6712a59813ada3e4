//! Collective calls with a layout for each rank: among neighbours, among all, and with a root.

use std::mem;

use dtype_runtime::pack::Error as PackError;
use dtype_runtime::{
    Comm, DynamicLayout, Error, Pending,
    comm::Handle,
    layout,
    layout::{ArrayOrder, Subarray, split_mut},
};
use mpi::topology::SimpleCommunicator;

use crate::engine::Random;

/// Returns the values that a rank sends along an edge: their number and values tell which edge it is.
fn values(from: usize, slot: usize) -> Vec<u32> {
    (0..(from + 2 * slot) % 5).map(|i| (1000 * from + 10 * slot + i) as u32).collect()
}

/// Returns places that take messages of exactly their size.
fn exact<T>(lists: &mut [Vec<T>]) -> Vec<&mut [T]> {
    lists.iter_mut().map(Vec::as_mut_slice).collect()
}

/// Sends along all edges in every way. Message `i` goes to `destinations[i]`; `arriving[j]` is the sender of
/// message `j` and the slot from which it was sent, or `None` if there is no neighbour.
fn along(world: &Comm<impl Handle>, destinations: &[Option<usize>], arriving: &[Option<(usize, usize)>]) {
    let (rank, around) = (world.rank(), world.neighbours());
    assert_eq!(around.destinations().unwrap(), destinations);
    let senders: Vec<_> = arriving.iter().map(|from| from.map(|(from, _)| from)).collect();
    assert_eq!(around.sources().unwrap(), senders);
    let sent: Vec<Vec<u32>> = (0..destinations.len()).map(|slot| values(rank, slot)).collect();
    let expected: Vec<Vec<u32>> =
        arriving.iter().map(|from| from.map_or(vec![7], |(from, slot)| values(from, slot))).collect();
    let there: Vec<Vec<u32>> = arriving.iter().flatten().map(|(from, slot)| values(*from, *slot)).collect();
    let empty = || -> Vec<Vec<u32>> {
        let room =
            |(from, values): (&Option<_>, &Vec<u32>)| vec![if from.is_none() { 7 } else { 0 }; values.len()];
        arriving.iter().zip(&expected).map(room).collect()
    };
    let mut into = empty();
    around.all_to_all_into(&sent, &mut exact(&mut into)).unwrap();
    assert_eq!(into, expected);
    // Vectors take what comes.
    let mut into = vec![vec![7u32]; arriving.len()];
    around.all_to_all_into(&sent, &mut into).unwrap();
    assert_eq!(into, expected);
    assert_eq!(around.all_to_all(&sent).unwrap(), there);

    // Two calls under way, ended in another order on other ranks, after one that was forgotten.
    let mut lost = empty();
    let mut first = empty();
    let mut second = empty();
    {
        let [mut lost, mut first, mut second] =
            [&mut lost, &mut first, &mut second].map(|lists| exact(lists));
        mem::forget(around.start().all_to_all_into(&sent, &mut lost).unwrap());
        let one = around.start().all_to_all_into(&sent, &mut first).unwrap();
        let mut two = around.start().all_to_all_into(&sent, &mut second).unwrap();
        if rank % 2 == 0 {
            one.finish().unwrap();
            while !two.is_done().unwrap() {}
            two.finish().unwrap();
        } else {
            two.finish().unwrap();
            one.finish().unwrap();
        }
    }
    assert_eq!([&lost, &first, &second], [&empty(), &expected, &expected]);
    prepared(world, &sent, &expected, &empty, there.is_empty());

    // One value for all, and equal parts.
    let own = (rank as u8, 0.5 + rank as f64);
    let of = |from: usize| (from as u8, 0.5 + from as f64);
    let mut gathered = vec![(99u8, 99.0); arriving.len()];
    around.all_gather_into(&own, &mut gathered).unwrap();
    for (found, from) in gathered.iter().zip(&senders) {
        assert_eq!(*found, from.map_or((99, 99.0), of));
    }
    let expected: Vec<_> = senders.iter().flatten().map(|from| of(*from)).collect();
    assert_eq!(around.all_gather(&own).unwrap(), expected);
    let varied = |from: usize| vec![from as u16; 1 + from % 3];
    let mut gathered: Vec<Vec<u16>> =
        senders.iter().map(|from| vec![77; from.map_or(4, |from| varied(from).len())]).collect();
    around.all_gather_into(&varied(rank), &mut exact(&mut gathered)).unwrap();
    for (found, from) in gathered.iter().zip(&senders) {
        assert_eq!(*found, from.map_or(vec![77; 4], varied));
    }
    let expected: Vec<_> = senders.iter().flatten().map(|from| varied(*from)).collect();
    assert_eq!(around.all_gather(&varied(rank)).unwrap(), expected);
    let part = |from: usize, slot: usize| [from % 2 == 0, slot % 2 == 0, true];
    let parts: Vec<_> = (0..destinations.len()).map(|slot| part(rank, slot)).collect();
    let mut equal = vec![[false; 3]; arriving.len()];
    around.all_to_all_into(&parts, &mut equal).unwrap();
    for (found, from) in equal.iter().zip(arriving) {
        assert_eq!(*found, from.map_or([false; 3], |(from, slot)| part(from, slot)));
    }
    let expected: Vec<_> = arriving.iter().flatten().map(|(from, slot)| part(*from, *slot)).collect();
    assert_eq!(around.all_to_all(&parts).unwrap(), expected);
}

/// Exchanges prepared messages with the neighbours, and makes mistakes with them.
fn prepared(
    world: &Comm<impl Handle>,
    sent: &[Vec<u32>],
    expected: &[Vec<u32>],
    empty: &impl Fn() -> Vec<Vec<u32>>,
    receives_nothing: bool,
) {
    let around = world.neighbours();
    let (mut into, sends) = (empty(), !sent.is_empty());
    let mut prepared = around.prepare().all_to_all_into(sent, &exact(&mut into)).unwrap();
    for _ in 0..3 {
        let mut into = empty();
        prepared.run(sent, &mut exact(&mut into)).unwrap();
        assert_eq!(into, expected);
        let mut into = empty();
        prepared.start(sent, &mut exact(&mut into)).unwrap().finish().unwrap();
        assert_eq!(into, expected);
    }
    let longer: Vec<Vec<u32>> = sent.iter().map(|sent| [&sent[..], &[1]].concat()).collect();
    let mut has_error = true;
    if sends {
        assert!(matches!(
            around.prepare().all_to_all_into(&sent[1..], &exact(&mut into)),
            Err(Error::Messages { what: "messages to send", .. })
        ));
    } else {
        // An error of a rank with destinations is one of all.
        let others = around.prepare().all_to_all_into(sent, &exact(&mut into)).map(|_| ());
        assert!(matches!(others, Ok(()) | Err(Error::Elsewhere { .. })), "{others:?}");
        has_error = others.is_err();
    }
    let all = world.all_gather(&[sends, has_error]).unwrap();
    assert!(all.iter().all(|[_, has_error]| *has_error == all.iter().any(|[sends, _]| *sends)));
    // All ranks with destinations have an error, and none waits for them.
    let refused = prepared.run(&longer, &mut exact(&mut into));
    let sends_something = sends && !receives_nothing;
    assert!(matches!(refused, Err(Error::Pack(PackError::Length { .. }))) || !sends_something, "{refused:?}");
}

/// Exchanges with the neighbours in grids and graphs.
pub fn neighbours(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let (rank, size) = (world.rank(), world.size());
    let mut drawn = Random(dtype_tests::seed(53));
    for _ in 0..if dtype_tests::is_long() { 200 } else { 8 } {
        let divisors: Vec<_> = (1..=size).filter(|divisor| size % divisor == 0).collect();
        let lengths = [0; 2].map(|_| divisors[drawn.below(divisors.len())]);
        let lengths = if size % (lengths[0] * lengths[1]) == 0 { lengths } else { [lengths[0], 1] };
        let lengths = [lengths[0], lengths[1], size / lengths[0] / lengths[1]];
        let periodic = [0; 3].map(|_| drawn.below(2) == 0);
        let grid = world.cartesian(lengths, periodic).unwrap();
        let own = grid.rank_to_coordinates(grid.rank() as i32);
        let mut arriving = Vec::new();
        for k in 0..3 {
            let length = lengths[k] as i32;
            for (step, slot) in [(-1, 2 * k + 1), (1, 2 * k)] {
                let mut there = own.clone();
                there[k] += step;
                let is_there = (0..length).contains(&there[k]) || periodic[k];
                there[k] = there[k].rem_euclid(length);
                let number =
                    there.iter().zip(lengths).fold(0, |number, (at, length)| number * length + *at as usize);
                arriving.push(is_there.then_some((number, slot)));
            }
        }
        let destinations: Vec<_> = arriving.iter().map(|from| from.map(|(from, _)| from)).collect();
        along(&grid, &destinations, &arriving);

        // A random graph, with edges to the same rank twice and to the rank itself.
        let mut edges = Vec::new();
        for from in 0..size {
            for slot in 0..drawn.below(5) {
                edges.push((from, slot, drawn.below(size)));
            }
        }
        // Edges between two ranks keep their order.
        let to_me: Vec<_> =
            edges.iter().filter(|(_, _, to)| *to == rank).map(|(from, slot, _)| (*from, *slot)).collect();
        let from_me: Vec<_> = edges.iter().filter(|(from, ..)| *from == rank).map(|(_, _, to)| *to).collect();
        let sources: Vec<_> = to_me.iter().map(|(from, _)| *from).collect();
        let graph = world.graph(&sources, &from_me).unwrap();
        let arriving: Vec<_> = to_me.into_iter().map(Some).collect();
        along(&graph, &from_me.into_iter().map(Some).collect::<Vec<_>>(), &arriving);
    }
    // A communicator without neighbours, on all ranks alike; and a rank that is none.
    let none = [
        world.neighbours().all_gather(&1u8).err(),
        world.neighbours().all_gather_into(&1u8, &mut [0u8; 0]).err(),
        world.neighbours().all_to_all(&[1u8; 0]).err(),
        world.neighbours().all_to_all_into(&[1u8; 0], &mut [0u8; 0]).err(),
        world.neighbours().start().all_to_all_into(&[1u8; 0], &mut [0u8; 0]).err(),
        world.neighbours().prepare().all_to_all_into(&[1u8; 0], &[0u8; 0]).err(),
        world.neighbours().sources().err(),
    ];
    assert!(none.iter().all(|none| matches!(none, Some(Error::NoNeighbours))), "{none:?}");
    assert!(Error::NoNeighbours.to_string().contains("has no neighbours"));
    assert!(matches!(world.graph(&[size], &[]), Err(Error::Rank { .. })));
    if size > 1 {
        mistakes(world);
    }

    // Another number of values than the neighbour expects: an error that names it, and nothing is written
    // there.
    let ring = world.cartesian([size], [true]).unwrap();
    let sent = [vec![1u8; 1 + rank], vec![1u8; 1 + rank]];
    let around = [(rank + size - 1) % size, (rank + 1) % size];
    for is_started in [false, true] {
        let mut into = [vec![0u8; 1], vec![0u8; 1]];
        let mut places = exact(&mut into);
        let exchanged = if is_started {
            ring.neighbours().start().all_to_all_into(&sent, &mut places).and_then(Pending::finish)
        } else {
            ring.neighbours().all_to_all_into(&sent, &mut places)
        };
        match exchanged {
            Ok(()) => assert_eq!(around, [0; 2]),
            Err(Error::Neighbour { rank, expected: 1, .. }) => {
                assert!(rank > 0 && around.contains(&(rank as usize)));
            }
            Err(error) => panic!("{error}"),
        }
        for (place, from) in into.iter().zip(around) {
            assert!(*place == [0] || (from == 0 && *place == [1]), "{place:?} from rank {from}");
        }
    }
}

/// Ranks without sources or without destinations; and errors of one rank, after which all go on.
fn mistakes(world: &Comm<&SimpleCommunicator>) {
    let (rank, size) = (world.rank(), world.size());
    let edge = match rank {
        0 => world.graph(&[], &[1]),
        1 => world.graph(&[0], &[]),
        _ => world.graph(&[], &[]),
    };
    let edge = edge.unwrap();
    let (sources, destinations) = (usize::from(rank == 1), usize::from(rank == 0));
    for _ in 0..2 {
        let mut into = [5u32; 1];
        edge.neighbours().all_gather_into(&(7 + rank as u32), &mut into[..sources]).unwrap();
        assert_eq!(into, [if rank == 1 { 7 } else { 5 }]);
        // A list that is too long is an error of this rank; messages to it are dropped.
        let refused = edge.neighbours().all_gather_into(&7u32, &mut [5u32; 2]);
        assert!(matches!(refused, Err(Error::Messages { found: 2, .. })), "{refused:?}");
        let none = &mut vec![[0u8; 0]; sources][..];
        edge.neighbours().all_to_all_into(&[[3u8; 3]][..destinations], none).unwrap_or_else(|error| {
            assert!(rank == 1 && matches!(error, Error::Neighbour { rank: 0, .. }), "{error}");
        });
    }
    let ring = world.cartesian([size], [true]).unwrap();
    let is_near = [1, size - 1].contains(&rank);
    let works = || {
        let mut into = [[0u8; 1]; 2];
        ring.neighbours().all_to_all_into(&[[1u8]; 2], &mut into).unwrap();
        assert_eq!(into, [[1], [1]]);
    };
    // Lists of one rank that are too long, or too short, in all calls.
    for sent in [&[[2u8; 1]; 3][usize::from(rank > 0)..], &[[2u8; 1]; 2][usize::from(rank == 0)..]] {
        let near = |call: &str, refused: Result<(), Error>| match refused {
            Err(Error::Messages { what: "messages to send", .. }) => assert_eq!(rank, 0),
            Err(Error::Neighbour { rank: 0, .. } | Error::Message { from: Some(0), .. }) => assert!(is_near),
            refused => assert!(refused.is_ok() && rank > 0 && !is_near, "{call}: {refused:?}"),
        };
        let around = ring.neighbours();
        let (mut room, mut vectors) = ([[0u8; 1]; 2], [const { Vec::<u8>::new() }; 2]);
        near("into values", around.all_to_all_into(sent, &mut room));
        near("started", around.start().all_to_all_into(sent, &mut room).and_then(Pending::finish));
        near("values", around.all_to_all(sent).map(|_| ()));
        near("into vectors", around.all_to_all_into(sent, &mut vectors));
        let started = around.start().all_to_all_into(sent, &mut vectors).and_then(Pending::finish);
        near("started into vectors", started);
        match ring.neighbours().prepare().all_to_all_into(sent, &room) {
            Err(Error::Messages { .. }) => assert_eq!(rank, 0),
            refused => {
                assert!(rank > 0 && matches!(refused, Err(Error::Elsewhere { rank: 0 })), "{refused:?}");
            }
        }
        works();
    }
    // A rank that does not exist.
    match world.graph(&[size - usize::from(rank > 0)], &[]) {
        Err(Error::Rank { .. }) => assert_eq!(rank, 0),
        graph => assert!(rank > 0 && matches!(graph, Err(Error::Elsewhere { rank: 0 }))),
    }
    works();
}

/// A layout for each rank, on both sides, in calls with and without a root.
pub fn each(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let (rank, ranks) = (world.rank(), world.size());
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
            0 => world.all_to_all_into(&views, &mut into).unwrap(),
            1 => world.start().all_to_all_into(&views, &mut into).unwrap().finish().unwrap(),
            _ => {
                let mut prepared = world.prepare().all_to_all_into(&views, &into).unwrap();
                prepared.run(&views, &mut into).unwrap();
                // A list of one rank that is too short: an error on all, and then they go on.
                let refused = prepared.run(&views[usize::from(rank == 0)..], &mut into).unwrap_err();
                assert_eq!(matches!(refused, Error::Messages { .. }), rank == 0, "{refused}");
                assert!(rank == 0 || matches!(refused, Error::Neighbour { rank: 0, .. }), "{refused}");
                prepared.run(&views, &mut into).unwrap();
            }
        }
        assert!((0..ranks).all(|from| is_right(&received, rank, from)), "way {way}");
    }

    for root in 0..ranks {
        // A root that receives into a layout for each rank, and sends from one.
        let own = [(root, &views[root])];
        let mut received = vec![0u32; n * n];
        if rank == root {
            let (_, mut into) = split_mut(&mut received, &boxes).unwrap();
            world.exchange(own, into.iter_mut().enumerate()).unwrap();
            assert!((0..ranks).all(|from| is_right(&received, root, from)));
        } else {
            world.exchange::<_, [u32]>(own, []).unwrap();
        }
        let mut received = vec![0u32; n * n];
        let mut into = box_of(rank, root).of_mut(&mut received).unwrap();
        let sends = views.iter().enumerate().filter(|_| rank == root);
        world.exchange(sends, [(root, &mut into)]).unwrap();
        assert!(is_right(&received, rank, root));
        with_root(world, root);
    }
    // The wrong number of messages to all, on one rank: an error on all.
    let mut into = vec![[0u8; 1]; ranks];
    let sent = vec![[1u8; 1]; if rank == 0 { ranks + 1 } else { ranks }];
    let refused = world.start().all_to_all_into(&sent, &mut into).and_then(Pending::finish);
    assert_eq!(matches!(refused, Err(Error::Messages { .. })), rank == 0, "{refused:?}");
    assert!(rank == 0 || matches!(refused, Err(Error::Neighbour { rank: 0, .. })), "{refused:?}");
    let refused = world.prepare().all_to_all_into(&sent, &into).map(|_| ());
    assert_eq!(matches!(refused, Err(Error::Messages { .. })), rank == 0, "{refused:?}");
    assert!(rank == 0 || refused == Err(Error::Elsewhere { rank: 0 }), "{refused:?}");
}

/// Gathers into a column, and scatters from one. Mistakes are errors on every rank that they concern, and all
/// ranks complete the call.
fn with_root(world: &Comm<&SimpleCommunicator>, root: usize) {
    let (rank, ranks) = (world.rank(), world.size());
    let column = layout!(u32[ranks][3] => [.., 1]).unwrap();
    let mut matrix = vec![0u32; 3 * ranks];
    let mut place = column.of_mut(&mut matrix).unwrap();
    world.gather_into(root, &(5 + rank as u32), (rank == root).then_some(&mut place)).unwrap();
    let number = |at: usize| if rank == root && at % 3 == 1 { 5 + at as u32 / 3 } else { 0 };
    assert!(matrix.iter().enumerate().all(|(at, found)| *found == number(at)), "{matrix:?}");
    let mut own = 0u32;
    let values = column.of(&matrix).unwrap();
    world.scatter_into(root, (rank == root).then_some(&values), &mut own).unwrap();
    assert_eq!(own, 5 + rank as u32);

    let mut one = [0u32; 1];
    let short = vec![5u32; ranks + 1];
    let scattered = world.scatter_into(root, (rank == root).then_some(&short[..]), &mut one);
    assert!(matches!(scattered, Err(Error::Fit { .. })), "{scattered:?}");
    let mut few = vec![0u32; ranks - 1];
    let gathered = world.gather_into(root, &5u32, (rank == root).then_some(&mut few[..]));
    assert_eq!(matches!(gathered, Err(Error::Fit { .. })), rank == root, "{gathered:?}");
    assert!(one == [0] && few.iter().all(|found| *found == 0));
    let mut two = [[0u32; 2]; 1];
    let sends = short.iter().take(ranks).enumerate().filter(|_| rank == root);
    let exchanged = world.exchange(sends, [(root, &mut two[0])]);
    let is_misfit = |rank: i32| rank as usize == root;
    assert!(matches!(exchanged, Err(Error::Neighbour { rank, .. }) if is_misfit(rank)), "{exchanged:?}");
    assert_eq!(two, [[0; 2]]);
}
