//! The calls in the tables of README.md and of the guide, as they stand there. The step `house` looks up each
//! call of a table in this file; the scenario runs them.

use std::{fmt::Debug, path::PathBuf};

use dtype_runtime::{
    Comm, DynamicLayout, Error, MpiDatatype, MpiMessage, Wire, decode, layout,
    layout::{Darray, Halo},
    message, pack,
    traits::*,
    unpack_into,
    wire::{self, File, Lock, Redistribution, attach, passive_window, send_receive_replace_packed, window},
};
use mpi::{
    datatype::UserDatatype,
    topology::{Process, SimpleCommunicator},
    traits::*,
};

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
fn calls(world: &SimpleCommunicator) -> Result<(), Error> {
    let world = Comm::from(world);
    let (rank, size) = (world.rank(), world.size());
    if rank == 0 {
        let x = 0.5;
        world.peer(1).tag(7).send(&x)?;
        world.peer(1).wire(Wire::Typed).send(&x)?;
        world.peer(1).synchronous().send(&x)?;
        world.peer(1).start().send(&x)?.finish()?;
        let long = vec![x; 100_000];
        world.scope(|scope| scope.peer(1).send(&long))?;
        let (task, from) = world.any().receive()?;
        equal(task, Some(Task::default()));
        equal(from.rank(), 1);
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
        there.send(&Some(Task::default()))?;
    }
    // Otherwise, what follows could be received from any rank, too.
    world.barrier();
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    let (x, mut y) = (rank, 0);
    world.exchange([(next, &x)], [(previous, &mut y)])?;
    equal(y, previous);
    let value = (rank == 0).then(Task::default);
    equal(world.broadcast(0, value)?, Task::default());
    equal(world.gather(0, &x)?, (rank == 0).then(|| (0..size).collect()));
    equal(world.all_gather(&x)?, (0..size).collect());
    let values: Option<Vec<_>> = (rank == 0).then(|| (0..size).collect());
    let values = values.as_deref();
    equal(world.scatter(0, values)?, rank);
    let vectors: Vec<_> = (0..size).map(|other| vec![rank; other]).collect();
    equal(world.all_to_all(&vectors)?, (0..size).map(|other| vec![other; rank]).collect());
    let (views, mut places) = (vec![[rank; 3]; size], vec![[0; 3]; size]);
    world.all_to_all_into(&views, &mut places)?;
    equal(places, (0..size).map(|other| [other; 3]).collect());
    let x = rank as f64;
    equal(world.all_reduce(&x, |a, b| a.max(*b))?, (size - 1) as f64);
    equal(world.reduce(0, &x, |a, b| a.max(*b))?, (rank == 0).then_some((size - 1) as f64));
    equal(world.scan(&x, |a, b| a.max(*b))?, x);
    equal(world.scan_before(&x, |a, b| a.max(*b))?, (rank > 0).then_some(x - 1.0));
    Ok(())
}

/// The calls of the README for what ranks share.
fn shared(world: &SimpleCommunicator) -> Result<(), Error> {
    let world = Comm::from(world);
    let (rank, size) = (world.rank(), world.size());
    let (sources, destinations) = ([(rank + 1) % size], [(rank + size - 1) % size]);
    let graph = world.graph(&sources, &destinations)?;
    equal(graph.neighbours().all_gather(&rank)?, sources.to_vec());
    let grid = world.cartesian([size], [true])?;
    let x = rank;
    equal(grid.neighbours().all_gather(&x)?, vec![destinations[0], sources[0]]);

    let part = grid.blocks([3 * size], [size]).ghosts(1);
    let mut cells = part.vec(rank);
    let mut halo = grid.halo::<usize, 1>(&part)?;
    let mut pending = halo.start(&mut cells)?;
    equal(pending.cells()[[2]], rank);
    pending.finish()?;
    equal((cells[0], cells[4]), (destinations[0], sources[0]));

    let (rows, columns) = (world.blocks([4, size], [1, size]), world.blocks([4, size], [size, 1]));
    let (a, mut b) = (rows.vec(1u8), columns.vec(0));
    world.redistribute(&rows, &a, &columns, &mut b)?;
    equal(b, columns.vec(1));
    let path = std::env::temp_dir().join(format!("dtype-documents-part-{}", std::process::id()));
    let path = world.broadcast(0, Some(path.display().to_string()))?;
    let path = &path;
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

/// Returns the other rank of a pair.
fn partner(world: &SimpleCommunicator) -> Process<'_> {
    world.process_at_rank(world.rank() ^ 1)
}

/// Checks that values are equal. Their types are the same, so that those of received values can be inferred.
#[allow(clippy::needless_pass_by_value)]
fn equal<T: PartialEq + Debug>(found: T, expected: T) {
    assert_eq!(found, expected);
}

fn layouts() -> Result<(), Error> {
    equal(layout!(f64[64][64][64] => [1..63, 1..-1, 0]).count(), 62 * 62);
    equal(layout!(f64[100] => [0..;2]).count(), 50);
    equal(layout!(f64[8][8] => [i, i..] for i in 0..8).count(), 36);
    let (n, m, a, b, j) = (10, 20, 2, 5, 7);
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

fn bytes() -> Result<(), Error> {
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

/// Sends values, by our calls and by those of rsmpi.
fn values(world: &SimpleCommunicator) -> Result<(), Error> {
    let there = partner(world);
    attach(world)?;
    let values = [Particle { kind: 3, ..Particle::default() }; 2];
    let mut into = [Particle::default(); 2];
    for wire in [Wire::Auto, Wire::Typed, Wire::Packed] {
        there.send_over(wire, &values)?;
        there.receive_values_into(&mut into)?;
        equal(into, values);
    }
    there.send_over(Wire::Bytes, &[1u8, 2])?;
    equal(there.receive_values::<u8>()?.0, vec![1, 2]);
    if world.rank() % 2 == 0 {
        there.send_over(Wire::Segments, &values)?;
    } else {
        there.receive_over(Wire::Segments, &mut into)?;
        equal(into, values);
    }
    there.send_packed(&values)?;
    equal(there.receive_values::<Particle>()?.0, values.to_vec());

    let array = [0.5, 1.5, 2.5];
    there.send(&array[..]);
    equal(there.receive_vec::<f64>().0, array.to_vec());
    there.send(&layout!(f64[3] => [1..]).of(&array));
    equal(there.receive_vec::<f64>().0, array[1..].to_vec());
    let matrix = [[0.5f64; 100]; 100];
    equal(layout!(f64[100][100] => [.., 3]).of(&matrix).to_vec(), vec![0.5; 100]);

    let mut values = values.map(|value| Particle { kind: world.rank() as u8, ..value });
    send_receive_replace_packed(&mut values, &there, &there)?;
    equal(values[1].kind, there.rank() as u8);
    Ok(())
}

fn messages(world: &SimpleCommunicator) -> Result<(), Error> {
    let there = partner(world);
    let value = Task { name: "a".to_owned(), input: vec![0.5; 3] };
    there.send_message(&value)?;
    equal(there.receive_message()?.0, value.clone());
    there.send_message(&value)?;
    let mut kept = Task::default();
    there.receive_message_into(&mut kept)?;
    equal(kept, value.clone());

    let root = world.process_at_rank(0);
    let (own, ranks) = (value, world.size() as usize);
    let all = vec![own.clone(); ranks];
    let is_root = world.rank() == 0;
    let value = is_root.then(|| own.clone());
    equal(root.broadcast_message(value)?, own.clone());
    equal(root.gather_vec(&own)?, is_root.then(|| all.clone()));
    equal(world.all_gather_vec(&own)?, all.clone());
    equal(root.scatter_message(is_root.then_some(&all[..]))?, own);
    let vectors = vec![vec![world.rank(); 2]; ranks];
    let from_each: Vec<_> = (0..world.size()).map(|rank| vec![rank; 2]).collect();
    equal(world.all_to_all_vec(&vectors)?, from_each);
    Ok(())
}

fn prepared(world: &SimpleCommunicator) -> Result<(), Error> {
    let there = partner(world);
    let (values, tag) = ([0.5f64; 3], 7);
    let mut into = [0.0; 3];
    let mut send = there.prepare_send_packed(&values, tag)?;
    let mut receive = there.prepare_receive_packed(&values, tag)?;
    receive.start()?;
    send.start(&values)?;
    receive.finish(&mut into)?;
    send.wait()?;
    let mut send = there.prepare_partitioned_send_packed(&values, 1, tag)?;
    let mut receive = there.prepare_partitioned_receive_packed(&values, 1, tag)?;
    receive.start()?;
    send.ready(0, &values)?;
    receive.finish(0, &mut into)?;
    send.wait()?;
    equal(into, values);
    Ok(())
}

/// Exchanges ghost cells, distributions, and a layout for each rank.
fn arrays(world: &SimpleCommunicator) -> Result<(), Error> {
    let (rank, ranks) = (world.rank(), world.size());
    let cartesian = world.create_cartesian_communicator(&[ranks], &[true], false).expect("a ring");
    let mut grid = vec![f64::from(rank); 4];
    let halo = Halo::new([4], 1);
    halo.on::<f64>(&cartesian)?.start(&mut grid)?.finish()?;
    equal(grid[0], f64::from((rank + ranks - 1) % ranks));

    let (own, n) = (rank as usize, ranks as usize);
    let rows = Darray::blocks(own, [8, 6], [n, 1]);
    let columns = Darray::blocks(own, [8, 6], [1, n]);
    let [a, mut b] = [&rows, &columns]
        .map(|part| part.local_sizes().map(|[height, width]| vec![own; height * width]).unwrap_or_default());
    Redistribution::new(world, &rows, &columns)?.run(&a, &mut b)?;
    equal(b.first().copied(), (!b.is_empty()).then_some(0));

    // Column `i` goes to rank `i`.
    let matrix = vec![rank; n * n];
    let layouts = (0..n).map(|i| layout!(i32[n][n] => [.., i])).collect::<Result<Vec<_>, _>>()?;
    let views = layouts.iter().map(|layout| layout.of(&matrix)).collect::<Result<Vec<_>, _>>()?;
    let mut into = vec![vec![-1; n]; n];
    let from_each: Vec<_> = (0..ranks).map(|rank| vec![rank; n]).collect();
    world.all_to_all_varcount_packed(&views, &mut into)?;
    equal(&into, &from_each);
    let root = world.process_at_rank(0);
    if rank == 0 {
        into = vec![vec![-1; n]; n];
        root.gather_varcount_packed_into_root(&views[0], &mut into)?;
        equal(&into, &from_each);
    } else {
        root.gather_packed(&views[0])?;
    }
    let neighbours = [(rank + ranks - 1) % ranks, (rank + 1) % ranks];
    let ring = wire::distributed_graph(world, &neighbours[..1], &neighbours[1..])?;
    ring.neighbour_all_to_all_varcount_packed(&views[..1], &mut into[..1])?;
    equal(&into[0], &vec![neighbours[0]; n]);
    let views = [views[0].clone(), views[0].clone()];
    let mut into = vec![vec![-1; n]; 2];
    cartesian.neighbour_all_to_all_varcount_packed(&views, &mut into)?;
    equal(&into[1], &vec![neighbours[1]; n]);
    Ok(())
}

fn shared_memory(world: &SimpleCommunicator) -> Result<(), Error> {
    let (rank, ranks) = (world.rank(), world.size());
    let next = (rank + 1) % ranks;
    let (own, seven) = (f64::from(rank), 7.0f64);
    let mut values = vec![0.0; 4];
    window(world, &mut values, |window| {
        window.fence(|epoch| epoch.put(&own, next, &layout!(f64[4] => [1])))
    })???;
    equal(values[1], f64::from((rank + ranks - 1) % ranks));
    passive_window(world, &mut values, |window| {
        window.lock(Lock::Shared, rank, |epoch| epoch.put(&seven, rank, &layout!(f64[4] => [2])))
    })???;
    equal(values[2], seven);
    Ok(())
}

fn file(world: &SimpleCommunicator) -> Result<(), Error> {
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let own = std::env::temp_dir().join(format!("dtype-{}-documents", std::process::id()));
    let own = (rank == 0).then(|| own.to_str().expect("a path of text").to_owned());
    let path = &PathBuf::from(world.process_at_rank(0).broadcast_message(own)?);
    let rows = Darray::blocks(rank, [5, 3], [ranks, 1]);
    let [height, width] = rows.local_sizes()?;
    let own = vec![rank as f64; height * width];
    File::create(world, path)?.write_distributed(0, &rows, &own)?;
    world.barrier();
    equal(std::fs::metadata(path).map(|file| file.len()).ok(), Some(5 * 3 * 8));
    let mut file = File::create(world, path)?;
    file.append(&own)?;
    drop(file.view(0, &layout!(f64[3] => [..]))?);
    file.close()?;
    world.barrier();
    if rank == 0 {
        std::fs::remove_file(path).expect("the file exists");
    }
    Ok(())
}

fn reductions(world: &SimpleCommunicator) -> Result<(), Error> {
    let value = 0.1 + f64::from(world.rank());
    let sum = world.all_reduce_with(&value, |a, b| a + b)?;
    // The same bits on all ranks, and in each call.
    equal(world.all_gather_vec(&sum.to_bits())?, vec![sum.to_bits(); world.size() as usize]);
    for _ in 0..100 {
        equal(world.all_reduce_with(&value, |a, b| a + b)?.to_bits(), sum.to_bits());
    }
    equal(world.scan_with(&value, |a, b| a.max(*b))?, value);
    let root = world.process_at_rank(0);
    let greatest = root.reduce_with(&value, |a, b| a.max(*b))?;
    equal(greatest, (world.rank() == 0).then(|| 0.1 + f64::from(world.size() - 1)));
    // One rank combines, in an order that does not depend on the library.
    if let Some(all) = root.gather_vec(&value)? {
        equal(all.iter().sum::<f64>().to_bits(), all.iter().fold(0.0, |a, b| a + b).to_bits());
    }
    Ok(())
}

fn existing() -> Result<(), Error> {
    let datatype = UserDatatype::vector(3, 1, 2, &f64::equivalent_datatype());
    equal(decode(&datatype)?.tree().to_string(), "vec 3, stride 16\n└─ f64\n".to_owned());
    drop(decode::normalize(&datatype)?);
    Ok(())
}

/// Returns `true` for the errors that the guide's table explains.
fn is_of_the_table(error: &Error) -> bool {
    matches!(
        error,
        Error::Fit { .. }
            | Error::InvalidValue { .. }
            | Error::Mismatch { .. }
            | Error::Shape { .. }
            | Error::Reach { .. }
            | Error::Parameter { .. }
            | Error::Neighbour { .. }
            | Error::Distribution { .. }
            | Error::Announced { .. }
            | Error::Rank { .. }
            | Error::Tag { .. }
            | Error::Window { .. }
            | Error::File { .. }
            | Error::Reduction { .. }
            | Error::Memory { .. }
            | Error::Message { .. }
            | Error::Mpi { .. }
    )
}
