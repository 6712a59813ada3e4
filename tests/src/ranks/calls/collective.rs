//! Collective calls, with values, slices, vectors, views and owned values.

use dtype_runtime::*;
use mpi::{topology::SimpleCommunicator, traits::*};

use crate::samples::{Particle, Sample};

/// Returns values that depend on the rank; their number, too.
fn particles(rank: usize) -> Vec<Particle> {
    (0..=rank).map(|i| Particle::sample(10 * rank + i)).collect()
}

fn names(rank: usize) -> Vec<String> {
    (0..rank).map(|i| format!("{i} of rank {rank}")).collect()
}

pub fn collective(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let (rank, size) = (world.rank(), world.size());
    for root in 0..size {
        let is_root = rank == root;
        let value: [f64; 3] = world.broadcast(root, is_root.then_some([root as f64; 3])).unwrap();
        assert_eq!(value, [root as f64; 3]);
        let all = world.broadcast(root, is_root.then(|| particles(root + 1))).unwrap();
        assert_eq!(all, particles(root + 1));
        assert_eq!(world.broadcast(root, is_root.then(|| names(3))).unwrap(), names(3));
        let long = world.broadcast(root, is_root.then(|| vec![(1u8, 0.5f64); 100_000])).unwrap();
        assert_eq!(long, [(1u8, 0.5f64); 100_000]);

        let mut place = if is_root { names(4) } else { names(2) };
        world.broadcast_into(root, &mut place).unwrap();
        assert_eq!(place, names(4));
        let mut place = if is_root { particles(5) } else { Vec::new() };
        world.broadcast_into(root, &mut place).unwrap();
        assert_eq!(place, particles(5));
        // A slice on some ranks, a vector on others.
        let mut place = if is_root { particles(5) } else { particles(6)[..6].to_vec() };
        if rank % 2 == 0 {
            world.broadcast_into(root, &mut place[..]).unwrap();
        } else {
            world.broadcast_into(root, &mut place).unwrap();
        }
        assert_eq!(place, particles(5));
        let mut matrix = [[if is_root { 1.0f64 } else { 0.0 }; 4]; 4];
        let column = layout!(f64[4][4] => [.., 1]);
        world.broadcast_into(root, &mut column.of_mut(&mut matrix)).unwrap();
        assert_eq!(matrix.map(|row| row[1]), [1.0; 4]);

        let gathered = world.gather(root, &rank).unwrap();
        assert_eq!(gathered, is_root.then(|| (0..size).collect::<Vec<_>>()));
        let gathered = world.gather(root, &particles(rank)).unwrap();
        assert_eq!(gathered, is_root.then(|| (0..size).map(particles).collect::<Vec<_>>()));
        let gathered = world.gather(root, &names(rank)).unwrap();
        assert_eq!(gathered, is_root.then(|| (0..size).map(names).collect::<Vec<_>>()));

        let mut all = vec![0.0f64; 2 * size];
        world.gather_into(root, &[rank as f64; 2], is_root.then_some(&mut all[..])).unwrap();
        let expected: Vec<_> = (0..2 * size).map(|i| (i / 2) as f64).collect();
        assert_eq!(all, if is_root { expected } else { vec![0.0; 2 * size] });
        let mut all = Vec::<Particle>::new();
        world.gather_into(root, &particles(rank), is_root.then_some(&mut all)).unwrap();
        assert_eq!(all, if is_root { (0..size).flat_map(particles).collect() } else { Vec::new() });

        let parts: Option<Vec<_>> = is_root.then(|| (0..size).map(particles).collect());
        assert_eq!(world.scatter(root, parts.as_deref()).unwrap(), particles(rank));
        let parts: Option<Vec<_>> = is_root.then(|| (0..size).map(names).collect());
        assert_eq!(world.scatter(root, parts.as_deref()).unwrap(), names(rank));
        let parts: Option<Vec<_>> = is_root.then(|| (0..size).collect());
        assert_eq!(world.scatter(root, parts.as_deref()).unwrap(), rank);

        // Places of different sizes, and shares.
        let all: Vec<_> = (0..size).flat_map(particles).collect();
        let mut own = particles(rank).iter().map(|_| Particle::sample(0)).collect::<Vec<_>>();
        world.scatter_into(root, is_root.then_some(&all), &mut own[..]).unwrap();
        assert_eq!(own, particles(rank));
        let all: Vec<_> = (0..3 * size).map(|i| i as f64).collect();
        let mut own = Vec::new();
        world.scatter_into(root, is_root.then_some(&all), &mut own).unwrap();
        assert_eq!(own, [0, 1, 2].map(|i| (3 * rank + i) as f64));
        let mut exact = [0.0; 3];
        if is_root {
            world.scatter_into(root, Some(&all), &mut own).unwrap();
        } else {
            world.scatter_into::<[f64], _>(root, None, &mut exact).unwrap();
            own = exact.to_vec();
        }
        assert_eq!(own, [0, 1, 2].map(|i| (3 * rank + i) as f64));
    }

    assert_eq!(world.all_gather(&rank).unwrap(), (0..size).collect::<Vec<_>>());
    assert_eq!(world.all_gather(&particles(rank)).unwrap(), (0..size).map(particles).collect::<Vec<_>>());
    assert_eq!(world.all_gather(&names(rank)).unwrap(), (0..size).map(names).collect::<Vec<_>>());
    let mut all = vec![Particle::sample(0); (0..size).map(|rank| rank + 1).sum()];
    world.all_gather_into(&particles(rank), &mut all[..]).unwrap();
    assert_eq!(all, (0..size).flat_map(particles).collect::<Vec<_>>());
    let mut all = Vec::<Particle>::new();
    world.all_gather_into(&particles(rank), &mut all).unwrap();
    assert_eq!(all, (0..size).flat_map(particles).collect::<Vec<_>>());

    let to = |from: usize, to: usize| vec![(from as u8, to as f64); from + to];
    let sent: Vec<_> = (0..size).map(|other| to(rank, other)).collect();
    let expected: Vec<_> = (0..size).map(|other| to(other, rank)).collect();
    assert_eq!(world.all_to_all(&sent).unwrap(), expected);
    let text = |from: usize, to: usize| format!("{from} to {to}").repeat(from + to);
    let texts: Vec<_> = (0..size).map(|other| text(rank, other)).collect();
    assert_eq!(world.all_to_all(&texts).unwrap(), (0..size).map(|i| text(i, rank)).collect::<Vec<_>>());
    let mut places: Vec<_> = expected.iter().map(|part| vec![(0u8, 0.0); part.len()]).collect();
    let mut exact: Vec<_> = places.iter_mut().map(Vec::as_mut_slice).collect();
    world.all_to_all_into(&sent, &mut exact).unwrap();
    assert_eq!(places, expected);
    let mut places = vec![Vec::<(u8, f64)>::new(); size];
    world.all_to_all_into(&sent, &mut places).unwrap();
    assert_eq!(places, expected);
    // Columns to rows.
    let n = size;
    let matrix: Vec<f64> = (0..n * n).map(|i| (100 * rank + i) as f64).collect();
    let mut turned = vec![0.0; n * n];
    let columns: Vec<_> = (0..n).map(|j| layout!(f64[n][n] => [.., j]).unwrap()).collect();
    let views: Vec<_> = columns.iter().map(|column| column.of(&matrix).unwrap()).collect();
    let mut rows: Vec<_> = turned.chunks_exact_mut(n).collect();
    world.all_to_all_into(&views, &mut rows).unwrap();
    for other in 0..n {
        let expected: Vec<_> = (0..n).map(|i| (100 * other + i * n + rank) as f64).collect();
        assert_eq!(turned[other * n..][..n], expected);
    }
}

/// If one rank has an error, the others complete the call.
pub fn failing(world: &SimpleCommunicator) {
    /// A list of values within each other.
    #[derive(MpiMessage)]
    struct Deep(Option<Box<Deep>>);

    let world = &Comm::from(world);
    let (rank, size) = (world.rank(), world.size());
    let deep = |levels: usize| (0..levels).fold(Deep(None), |inner, _| Deep(Some(Box::new(inner))));
    let own = deep(if rank == 0 { 1000 } else { 3 });
    let is_unsendable = |error: &Error| matches!(error, Error::Unsendable { .. });
    let is_message = |error: &Error| matches!(error, Error::Message { from: Some(0), .. });
    let is_told = |error: Error| {
        assert!(if rank == 0 { is_unsendable(&error) } else { is_message(&error) }, "{error}");
    };
    is_told(world.all_gather(&own).err().unwrap());
    // In a ring, the next rank is told, and the message that rank 0 receives has arrived.
    let mut place = Deep(None);
    let exchanged = world.exchange([((rank + 1) % size, &own)], [((rank + size - 1) % size, &mut place)]);
    match exchanged {
        Ok(()) => assert!(rank > 1),
        Err(error) => is_told(error),
    }
    assert_eq!(place.0.is_some(), (rank + size - 1) % size > 0);
    is_told(world.broadcast(0, (rank == 0).then_some(own)).err().unwrap());
    is_told(world.broadcast::<Vec<u8>>(0, None).unwrap_err());
    is_told(world.scatter::<String>(0, None).unwrap_err());
    let deeps: Vec<_> = (0..size).map(|_| deep(if rank == 0 { 1000 } else { 3 })).collect();
    is_told(world.all_to_all(&deeps).err().unwrap());
    let error = world.all_to_all(&vec![0.5; if rank == 0 { size + 1 } else { size }]).unwrap_err();
    assert!(if rank == 0 { matches!(error, Error::Messages { .. }) } else { is_message(&error) }, "{error}");
    let mut places = vec![[0.0; 3]; if rank == 0 { size - 1 } else { size }];
    let received = world.all_to_all_into(&vec![[0.5; 3]; size], &mut places);
    assert_eq!(received.is_err(), rank == 0);
    let mut share: Vec<f64> = Vec::new();
    let error = world.scatter_into(0, (rank == 0).then_some(&vec![0.5; size + 1]), &mut share).err();
    match error {
        None => assert_eq!(size, 1),
        Some(Error::Parts { .. }) => assert_eq!(rank, 0),
        Some(error) => assert!(is_message(&error), "{error}"),
    }
    // A misfit, and a root that there is not.
    let mut place = vec![0.0; if rank == 0 { 3 } else { 4 }];
    let received = world.broadcast_into(0, &mut place[..]);
    assert_eq!(received.is_err(), rank != 0);
    assert!(matches!(world.gather(size, &0.5), Err(Error::Rank { .. })));
    assert!(matches!(world.peer(size).send(&0.5), Err(Error::Rank { .. })));
    assert!(matches!(world.peer(0).tag(-5).send(&0.5), Err(Error::Tag { .. })));
}

pub fn reductions(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let (rank, size) = (world.rank(), world.size());
    // Neither commutative nor the same in every bracket order of ranks, if ranks were swapped.
    let join = |a: &(u64, u64), b: &(u64, u64)| (a.0 * b.0, a.1 * b.0 + b.1);
    let own = |rank: usize| (rank as u64 + 2, rank as u64);
    let up_to = |end: usize| (0..end).map(own).reduce(|a, b| join(&a, &b));
    let all = up_to(size).unwrap();
    assert_eq!(world.all_reduce(&own(rank), join).unwrap(), all);
    assert_eq!(world.reduce(size - 1, &own(rank), join).unwrap(), (rank == size - 1).then_some(all));
    assert_eq!(Some(world.scan(&own(rank), join).unwrap()), up_to(rank + 1));
    assert_eq!(world.scan_before(&own(rank), join).unwrap(), up_to(rank));
    // Position by position.
    let values = [rank as f64, 1.0, -(rank as f64)];
    let last = size as f64 - 1.0;
    let greatest = world.all_reduce(&values[..], |a, b| a.max(*b)).unwrap();
    assert_eq!(greatest, [last, 1.0, 0.0]);
    assert_eq!(world.scan(&values.to_vec(), |a, b| a + b).unwrap()[1], rank as f64 + 1.0);
    assert_eq!(world.all_reduce(&Vec::<f64>::new(), |a, b| a + b).unwrap(), []);
    let mut into = [0.0; 3];
    world.all_reduce_into(&values, &mut into, |a, b| a.max(*b)).unwrap();
    assert_eq!(into, [last, 1.0, 0.0]);
    world.scan_into(&values, &mut into, |a, b| a + b).unwrap();
    assert_eq!(into[1], rank as f64 + 1.0);
    let mut into = [0.5; 3];
    world.reduce_into(0, &values, (rank == 0).then_some(&mut into[..]), |a, b| a.max(*b)).unwrap();
    assert_eq!(into, if rank == 0 { [last, 1.0, 0.0] } else { [0.5; 3] });
    // An array is one value.
    let sum = world.all_reduce(&[1u32, 2], |a, b| [a[0] + b[0], a[1] + b[1]]).unwrap();
    assert_eq!(sum, [size as u32, 2 * size as u32]);
}

pub fn neighbours(world: &SimpleCommunicator) {
    let grid = world.create_cartesian_communicator(&[world.size()], &[false], false).unwrap();
    let grid = &Comm::from(grid);
    let (rank, size) = (grid.rank(), grid.size());
    let (below, above) = (rank.checked_sub(1), Some(rank + 1).filter(|above| *above < size));
    assert_eq!(grid.neighbours().sources().unwrap(), [below, above]);
    assert_eq!(grid.neighbours().destinations().unwrap(), [below, above]);
    let there: Vec<_> = [below, above].into_iter().flatten().collect();
    assert_eq!(grid.neighbours().all_gather(&rank).unwrap(), there);
    let all: Vec<_> = there.iter().map(|rank| names(*rank)).collect();
    assert_eq!(grid.neighbours().all_gather(&names(rank)).unwrap(), all);
    let to = |from: usize, is_up: bool| format!("{from} {is_up}");
    let received = grid.neighbours().all_to_all(&[to(rank, false), to(rank, true)]).unwrap();
    let expected = [below.map(|below| to(below, true)), above.map(|above| to(above, false))];
    assert_eq!(received, expected.into_iter().flatten().collect::<Vec<_>>());
    let mut places = [vec![-1.0], vec![-1.0]];
    grid.neighbours().all_to_all_into(&[vec![rank as f64; 2], vec![rank as f64; 3]], &mut places).unwrap();
    assert_eq!(places[0], below.map_or(vec![-1.0], |below| vec![below as f64; 3]));
    assert_eq!(places[1], above.map_or(vec![-1.0], |above| vec![above as f64; 2]));
    let mut places = [[-1.0; 2]; 2];
    grid.neighbours().all_gather_into(&[rank as f64; 2], &mut places).unwrap();
    assert_eq!(places, [below, above].map(|other| other.map_or([-1.0; 2], |other| [other as f64; 2])));
    // A rank with an error tells its neighbours.
    let failed = grid.neighbours().all_to_all(&vec![0.5; if rank == 0 { 3 } else { 2 }]);
    assert_eq!(failed.is_err(), rank <= 1, "{failed:?}");

    let world = &Comm::from(world);
    let all: Vec<usize> = if rank == 0 { (0..size).collect() } else { Vec::new() };
    let star = world.graph(&all, &[0]).unwrap();
    let reports = star.neighbours().all_gather(&particles(rank)).unwrap();
    assert_eq!(reports, all.iter().map(|rank| particles(*rank)).collect::<Vec<_>>());
    assert!(matches!(world.neighbours().all_gather(&0.5), Err(Error::NoNeighbours)));
    assert!(world.graph(&[size], &[]).is_err());
}
