//! The calls in the tables of README.md and of the guide, as they stand there. The step `house` looks up each
//! call of a table in this file; the scenario runs them.

use std::fmt::Debug;

use dtype_runtime::{
    Comm, DynamicLayout, Error, ErrorKind, MpiDatatype, MpiMessage, Peer, Result, Wire,
    comm::Lock,
    decode, layout,
    layout::{Darray, Halo},
    message, pack, unpack_into,
};
use mpi::{datatype::UserDatatype, topology::SimpleCommunicator, traits::*};

/// The communicator of all ranks.
type World<'w> = Comm<&'w SimpleCommunicator>;

#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
struct Particle {
    position: [f64; 3],
    kind: u8,
}

#[derive(MpiDatatype)]
#[repr(C)]
struct Cached {
    value: f64,
    #[mpi(skip)]
    square: f64,
}

#[derive(MpiMessage, Clone, Debug, Default, PartialEq)]
struct Task {
    name: String,
    input: Vec<f64>,
}

/// Runs the calls of all tables, on an even number of ranks.
pub fn documents(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let passed = layouts()
        .and_then(|()| bytes())
        .and_then(|()| calls(world))
        .and_then(|()| shared(world))
        .and_then(|()| values(world))
        .and_then(|()| messages(world))
        .and_then(|()| prepared(world))
        .and_then(|()| arrays(world))
        .and_then(|()| shared_memory(world))
        .and_then(|()| file(world))
        .and_then(|()| reductions(world))
        .and_then(|()| existing());
    if let Err(error) = passed {
        assert!(is_of_the_table(&error), "{error}");
        panic!("{error}");
    }
}

/// The calls of the README.
#[expect(elided_lifetimes_in_paths, reason = "the calls stand as in the README")]
fn calls(world: &World<'_>) -> Result {
    let (rank, size) = (world.rank(), world.size());
    if rank == 0 {
        let x = 0.5;
        world.peer(1).tag(7).send(&x)?;
        world.peer(1).wire(Wire::Typed).send(&x)?;
        world.peer(1).synchronous().send(&x)?;
        world.peer(1).start().send(&x)?.finish()?;
        let long = vec![x; 100_000];
        world.scope(|scope| scope.peer(1).send(&long))?;
        let (task, from): (Task, Peer) = world.any().receive()?;
        equal(task, Task::default());
        equal(from.rank(), 1);
        let sending = world.peer(1).start().send(&x)?;
        equal(from.receive()?, x);
        sending.finish()?;
        let arriving = world.peer(1).start().receive::<Task>()?;
        let task = arriving.finish()?;
        equal(task, Task::default());
    } else if rank == 1 {
        let there = world.peer(0);
        equal(there.tag(7).receive()?, 0.5);
        equal(there.receive()?, 0.5);
        equal(there.receive()?, 0.5);
        let received: f64 = loop {
            if let Some(received) = there.try_receive()? {
                break received;
            }
        };
        equal(received, 0.5);
        equal(there.receive()?, vec![0.5; 100_000]);
        there.send(&Task::default())?;
        there.send(&0.5)?;
        equal(there.receive()?, 0.5);
        there.send(&Task::default())?;
    }
    // Otherwise, what follows could be received from any rank, too.
    world.barrier();
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    let (x, mut y) = (rank, 0);
    world.exchange([(next, &x)], [(previous, &mut y)])?;
    equal(y, previous);
    let mut a = [rank, rank, 0];
    let (last, ghost) = (layout!(usize[3] => [1]), layout!(usize[3] => [2]));
    let (reads, mut writes) = layout::split(&mut a, &[last], &[ghost])?;
    world.exchange([(next, &reads[0])], [(previous, &mut writes[0])])?;
    equal(a, [rank, rank, previous]);
    let x = 0.5;
    equal(world.broadcast(0, (world.rank() == 0).then_some(x))?, x);
    let x = rank;
    equal(world.gather(0, &x)?, (rank == 0).then(|| (0..size).collect()));
    equal(world.all_gather(&x)?, (0..size).collect());
    let values: Vec<_> = (0..size).collect();
    equal(world.scatter(0, (world.rank() == 0).then_some(&values[..]))?, rank);
    let vectors: Vec<_> = (0..size).map(|other| vec![rank; other]).collect();
    equal(world.all_to_all(&vectors)?, (0..size).map(|other| vec![other; rank]).collect());
    let (views, mut places) = (vec![[rank; 3]; size], vec![[0; 3]; size]);
    world.all_to_all_into(&views, &mut places)?;
    equal(places, (0..size).map(|other| [other; 3]).collect());
    let x = rank as f64;
    equal(world.all_reduce(&x, |a, b| (*a).max(*b))?, (size - 1) as f64);
    equal(world.reduce(0, &x, |a, b| a.max(*b))?, (rank == 0).then_some((size - 1) as f64));
    equal(world.scan(&x, |a, b| a.max(*b))?, x);
    equal(world.scan_before(&x, |a, b| a.max(*b))?, (rank > 0).then_some(x - 1.0));
    Ok(())
}

/// The calls of the README for what ranks share.
fn shared(world: &World<'_>) -> Result {
    let (rank, size) = (world.rank(), world.size());
    let (sources, destinations) = ([(rank + 1) % size], [(rank + size - 1) % size]);
    let graph = world.graph(&sources, &destinations)?;
    equal(graph.neighbours().all_gather(&rank)?, sources.to_vec());
    let grid = world.cartesian([size], [true])?;
    let x = rank;
    equal(grid.neighbours().all_gather(&x)?, vec![destinations[0], sources[0]]);

    let part = grid.blocks([3 * size], [size]).ghosts(1);
    let mut cells = part.vec(rank);
    let mut halo = grid.halo(&part)?;
    let mut pending = halo.start(&mut cells)?;
    let [interior] = pending.cells().interior();
    equal(interior, 2..3);
    equal(pending.cells()[[2]], rank);
    pending.finish()?;
    equal((cells[0], cells[4]), (destinations[0], sources[0]));

    let (rows, columns) = (world.blocks([4, size], [1, size]), world.blocks([4, size], [size, 1]));
    let (a, mut b) = (rows.vec(1u8), columns.vec(0));
    world.redistribute(&rows, &a, &columns, &mut b)?;
    equal(b, columns.vec(1));
    equal(rows.peers(&columns).iter().map(|(_, elements)| elements).sum::<u128>(), 4);
    let path = &path(world, "part")?;
    let (part, mut a) = (rows, a);
    let mut file = world.create(path)?;
    file.write(&part, &a)?;
    file.close()?;
    a.fill(0);
    let mut file = world.open(path)?;
    file.read(&part, &mut a)?;
    file.close()?;
    equal(a, rows.vec(1));
    if rank == 0 {
        std::fs::remove_file(path).expect("the file was written");
    }
    let mut values = vec![0u8; 3];
    world.window(&mut values, |window| {
        window.values_mut()[0] = 7;
        Ok(())
    })?;
    equal(values, vec![7, 0, 0]);
    Ok(())
}

/// Checks that values are equal. Their types are the same, so that those of received values can be inferred.
#[allow(clippy::needless_pass_by_value)]
fn equal<T: PartialEq + Debug>(found: T, expected: T) {
    assert_eq!(found, expected);
}

fn layouts() -> Result {
    equal(layout!(f64[64][64][64] => [1..63, 1..-1, 0]).count(), 62 * 62);
    equal(layout!(f64[100] => [0..;2]).count(), 50);
    equal(layout!(f64[8][8] => [i, i..] for i in 0..8).count(), 36);
    let n = 10;
    let m = 20;
    let a = 2;
    let b = 5;
    let j = 7;
    equal(layout!(f64[n][m] => [a..b, j])?.count(), 3);
    let indices = &[3, 1, 4];
    equal(layout!(f64[n] => {indices})?.count(), 3);
    let (first, second) = (layout!(f64[2][2] => [0, ..]), layout!(f64[2][2] => [1, ..]));
    let matrix = vec![0.5; 4];
    for column in [DynamicLayout::<f64, 2>::from(second), first.into()] {
        equal(column.of(&matrix)?.to_vec(), vec![0.5; 2]);
    }
    Ok(())
}

fn bytes() -> Result {
    let mut values = [Particle { kind: 3, ..Particle::default() }; 2];
    let bytes = pack(&values);
    values[1].kind = 4;
    unpack_into(&bytes, &mut values)?;
    equal(values[1].kind, 3);
    let cached = Cached { value: 0.5, square: 0.25 };
    equal((pack(std::slice::from_ref(&cached)).len(), cached.value * cached.value), (8, cached.square));
    let value = Task { name: "a".to_owned(), input: vec![0.5] };
    equal(message::from_bytes(&message::to_bytes(&value)?)?, value.clone());
    let mut written = Vec::new();
    message::write_to(&mut written, &value).expect("a vector takes everything");
    equal(message::read_from(&mut &written[..]).expect("a whole message"), value.clone());
    let value = value.name;
    equal(message::to_bytes(&message::Serde(value))?.is_empty(), false);
    Ok(())
}

/// Returns the path of a file of all ranks.
fn path(world: &World<'_>, name: &str) -> Result<String> {
    let path = std::env::temp_dir().join(format!("dtype-documents-{name}-{}", std::process::id()));
    world.broadcast(0, Some(path.display().to_string()))
}

/// Sends values, by our calls and by those of rsmpi.
fn values(world: &World<'_>) -> Result {
    let peer = world.peer(world.rank() ^ 1);
    world.attach()?;
    let values = [Particle { kind: 3, ..Particle::default() }; 2];
    let mut into = [Particle::default(); 2];
    for wire in [Wire::Auto, Wire::Typed, Wire::Packed] {
        peer.wire(wire).send(&values)?;
        peer.receive_into(&mut into)?;
        equal(into, values);
    }
    peer.wire(Wire::Bytes).send(&[1u8, 2])?;
    equal(peer.receive()?, [1u8, 2]);
    if world.rank() % 2 == 0 {
        peer.wire(Wire::Segments).send(&values)?;
    } else {
        peer.wire(Wire::Segments).receive_into(&mut into)?;
        equal(into, values);
    }
    peer.send(&values)?;
    equal(peer.receive::<Vec<Particle>>()?, values.to_vec());

    let array = [0.5, 1.5, 2.5];
    peer.send(&array)?;
    equal(peer.receive::<Vec<f64>>()?, array.to_vec());
    peer.send(&layout!(f64[3] => [1..]).of(&array))?;
    equal(peer.receive::<Vec<f64>>()?, array[1..].to_vec());
    let there = world.process_at_rank(peer.rank() as i32);
    there.send(&array[..]);
    equal(there.receive_vec::<f64>().0, array.to_vec());
    there.send(&layout!(f64[3] => [1..]).of(&array));
    equal(there.receive_vec::<f64>().0, array[1..].to_vec());
    let matrix = [[0.5f64; 100]; 100];
    equal(layout!(f64[100][100] => [.., 3]).of(&matrix).to_vec(), vec![0.5; 100]);

    let mut values = values.map(|value| Particle { kind: world.rank() as u8, ..value });
    peer.swap(&mut values)?;
    equal(values[1].kind, peer.rank() as u8);
    Ok(())
}

fn messages(world: &World<'_>) -> Result {
    let peer = world.peer(world.rank() ^ 1);
    let value = Task { name: "a".to_owned(), input: vec![0.5; 3] };
    peer.send(&value)?;
    equal(peer.receive()?, value.clone());
    peer.send(&value)?;
    let mut kept = Task::default();
    peer.receive_into(&mut kept)?;
    equal(kept, value.clone());
    {
        let own = value.clone();
        peer.send(&own)?;
        let mut value = Task::default();
        peer.receive_into(&mut value)?;
        equal(value, own);
    }

    let all = vec![value.clone(); world.size()];
    let is_root = world.rank() == 0;
    equal(world.gather(0, &value)?, is_root.then(|| all.clone()));
    equal(world.all_gather(&value)?, all.clone());
    let own = value;
    let value = is_root.then(|| own.clone());
    equal(world.broadcast(0, value)?, own.clone());
    let values = is_root.then_some(&all[..]);
    equal(world.scatter(0, values)?, own);
    let vectors = vec![vec![world.rank(); 2]; world.size()];
    let from_each: Vec<_> = (0..world.size()).map(|rank| vec![rank; 2]).collect();
    equal(world.all_to_all(&vectors)?, from_each);
    Ok(())
}

fn prepared(world: &World<'_>) -> Result {
    let peer = world.peer(world.rank() ^ 1);
    let values = [0.5f64; 3];
    let mut into = [0.0; 3];
    let mut send = peer.tag(7).prepare().send(&values)?;
    let mut receive = peer.tag(7).prepare().receive_into(&into)?;
    for _ in 0..2 {
        let sending = send.start(&values)?;
        receive.run(&mut into)?;
        sending.finish()?;
        let receiving = receive.start(&mut into)?;
        send.run(&values)?;
        receiving.finish()?;
        equal(into, values);
    }
    let (views, mut places) = (vec![[world.rank(); 3]; world.size()], vec![[0; 3]; world.size()]);
    let mut exchange = world.prepare().all_to_all_into(&views, &places)?;
    exchange.run(&views, &mut places)?;
    exchange.start(&views, &mut places)?.finish()?;
    equal(places, (0..world.size()).map(|rank| [rank; 3]).collect());
    Ok(())
}

/// Exchanges ghost cells, distributions, and a layout for each rank.
fn arrays(world: &World<'_>) -> Result {
    let (rank, ranks) = (world.rank(), world.size());
    let cartesian = world.cartesian([ranks], [true])?;
    let mut grid = vec![rank as f64; 4];
    let halo = Halo::new([4], 1);
    cartesian.halo::<f64, 1>(halo)?.start(&mut grid)?.finish()?;
    equal(grid[0], ((rank + ranks - 1) % ranks) as f64);

    let rows = Darray::blocks(rank, [8, 6], [ranks, 1]);
    let columns = Darray::blocks(rank, [8, 6], [1, ranks]);
    let [a, mut b] = [&rows, &columns]
        .map(|part| part.local_sizes().map(|[height, width]| vec![rank; height * width]).unwrap_or_default());
    world.prepare().redistribute(&rows, &columns)?.run(&a, &mut b)?;
    equal(b.first().copied(), (!b.is_empty()).then_some(0));

    // Column `i` goes to rank `i`.
    let matrix = vec![rank; ranks * ranks];
    let layouts = (0..ranks).map(|i| layout!(usize[ranks][ranks] => [.., i])).collect::<Result<Vec<_>>>()?;
    let views = layouts.iter().map(|layout| layout.of(&matrix)).collect::<Result<Vec<_>>>()?;
    let mut into = vec![vec![0; ranks]; ranks];
    let from_each: Vec<_> = (0..ranks).map(|rank| vec![rank; ranks]).collect();
    world.all_to_all_into(&views, &mut into)?;
    equal(&into, &from_each);
    // Column 0 of each rank goes to rank 0.
    into = vec![vec![0; ranks]; ranks];
    let places = into.iter_mut().enumerate().filter(|_| rank == 0);
    world.exchange([(0, &views[0])], places)?;
    equal(&into, &if rank == 0 { from_each } else { vec![vec![0; ranks]; ranks] });
    let neighbours = [(rank + ranks - 1) % ranks, (rank + 1) % ranks];
    let ring = world.graph(&neighbours[..1], &neighbours[1..])?;
    ring.neighbours().all_to_all_into(&views[..1], &mut into[..1])?;
    equal(&into[0], &vec![neighbours[0]; ranks]);
    let views = [views[0].clone(), views[0].clone()];
    let mut into = vec![vec![0; ranks]; 2];
    cartesian.neighbours().all_to_all_into(&views, &mut into)?;
    equal(&into[1], &vec![neighbours[1]; ranks]);
    Ok(())
}

fn shared_memory(world: &World<'_>) -> Result {
    let (rank, ranks) = (world.rank(), world.size());
    let own = rank as f64;
    let seven = 7.0f64;
    let next = (rank + 1) % ranks;
    let mut values = vec![0.0; 4];
    world
        .window(&mut values, |window| window.fence(|epoch| epoch.put(&own, next, &layout!(f64[4] => [1]))))?;
    equal(values[1], ((rank + ranks - 1) % ranks) as f64);
    world.passive_window(&mut values, |window| {
        window.lock(Lock::Shared, rank, |epoch| epoch.put(&seven, rank, &layout!(f64[4] => [2])))
    })?;
    equal(values[2], seven);
    Ok(())
}

fn file(world: &World<'_>) -> Result {
    let (rank, ranks) = (world.rank(), world.size());
    let path = &path(world, "file")?;
    let rows = Darray::blocks(rank, [5, 3], [ranks, 1]);
    let [height, width] = rows.local_sizes()?;
    let own = vec![rank as f64; height * width];
    world.create(path)?.write(&rows, &own)?;
    world.barrier();
    equal(std::fs::metadata(path).map(|file| file.len()).ok(), Some(5 * 3 * 8));
    let mut file = world.create(path)?;
    file.append(&own)?;
    drop(file.view(0, &layout!(f64[3] => [..]))?);
    file.close()?;
    world.barrier();
    if rank == 0 {
        std::fs::remove_file(path).expect("the file exists");
    }
    Ok(())
}

fn reductions(world: &World<'_>) -> Result {
    let value = 0.1 + world.rank() as f64;
    let sum = world.all_reduce(&value, |a, b| a + b)?;
    // The same bits on all ranks, and in each call.
    equal(world.all_gather(&sum.to_bits())?, vec![sum.to_bits(); world.size()]);
    for _ in 0..100 {
        equal(world.all_reduce(&value, |a, b| a + b)?.to_bits(), sum.to_bits());
    }
    equal(world.scan(&value, |a, b| a.max(*b))?, value);
    let greatest = world.reduce(0, &value, |a, b| a.max(*b))?;
    equal(greatest, (world.rank() == 0).then(|| 0.1 + (world.size() - 1) as f64));
    // Each rank combines, in an order that does not depend on the library.
    let all = world.all_gather(&value)?;
    equal(all.iter().sum::<f64>().to_bits(), all.iter().fold(0.0, |a, b| a + b).to_bits());
    Ok(())
}

fn existing() -> Result {
    let datatype = UserDatatype::vector(3, 1, 2, &f64::equivalent_datatype());
    equal(decode(&datatype)?.tree().to_string(), "vec 3, stride 16\n└─ f64\n".to_owned());
    drop(decode::normalize(&datatype)?);
    Ok(())
}

/// Returns `true` for the errors that the guide's table explains.
fn is_of_the_table(error: &Error) -> bool {
    assert!(error.sizes().is_none_or(|_| error.kind() == ErrorKind::Size));
    assert!(error.rank().is_none_or(|rank| rank < usize::MAX));
    matches!(
        error.kind(),
        ErrorKind::Argument
            | ErrorKind::Size
            | ErrorKind::Type
            | ErrorKind::Value
            | ErrorKind::Elsewhere
            | ErrorKind::Unsupported
            | ErrorKind::State
            | ErrorKind::Memory
            | ErrorKind::File
            | ErrorKind::Mpi
    )
}
