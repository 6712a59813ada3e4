//! Guards, scopes, and what goes wrong between two ranks.

use std::mem;

use dtype_runtime::pack::Error as PackError;
use dtype_runtime::*;
use mpi::{topology::SimpleCommunicator, traits::*};

/// Transfers of several types.
struct Step<'s> {
    halo: Vec<Pending<'s>>,
}

pub fn pending(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let (rank, size) = (world.rank(), world.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    // A message is free as soon as its transfer has been started.
    let mut own = vec![rank as f64; 100_000];
    let sending = world.peer(next).start().send(&own).unwrap();
    own.fill(-1.0);
    let mut others = vec![0.0; 100_000];
    let mut receiving = world.peer(previous).start().receive_into(&mut others[..]).unwrap();
    while !receiving.is_done().unwrap() {}
    assert!(receiving.is_done().unwrap());
    receiving.finish().unwrap();
    sending.finish().unwrap();
    assert_eq!(others, vec![previous as f64; 100_000]);
    // A mixture of types in a list.
    let list = vec![
        world.peer(next).tag(1).start().send(&"text").unwrap(),
        world.peer(next).tag(2).start().send(&[1u8, 2]).unwrap(),
    ];
    assert_eq!(world.peer(previous).tag(2).receive::<[u8; 2]>().unwrap(), [1, 2]);
    assert_eq!(world.peer(previous).tag(1).receive::<String>().unwrap(), "text");
    for pending in list {
        pending.finish().unwrap();
    }
    // Dropped and forgotten.
    if size > 1 {
        // A message to this rank itself would be waited for before it is received.
        drop(world.peer(next).start().send(&0.5).unwrap());
        assert_eq!(world.peer(previous).receive::<f64>().unwrap(), 0.5);
    }
    mem::forget(world.peer(next).start().send(&1.5).unwrap());
    assert_eq!(world.peer(previous).receive::<f64>().unwrap(), 1.5);
    let mut place = 0.0;
    drop(world.peer(previous).tag(9).start().receive_into(&mut place).unwrap());
    let mut values = [rank; 3];
    if size == 2 {
        world.peer(next).swap(&mut values).unwrap();
        assert_eq!(values, [next; 3]);
    }
    // Messages are received in the order of the receives, also if one takes what comes.
    let (x, y) = (vec![1.0; 3], vec![2.0; 3]);
    for is_first in [true, false] {
        let mut p = Vec::<f64>::new();
        let (mut q, mut r) = ([0.0; 3], [0.0; 3]);
        let from = world.peer(previous).start();
        let to = world.peer(next);
        if size > 1 {
            let sends =
                [to.start().send(&x).unwrap(), to.start().send(&y).unwrap(), to.start().send(&x).unwrap()];
            let first = from.receive_into(&mut p).unwrap();
            let second = from.receive_into(&mut q).unwrap();
            if is_first {
                first.finish().unwrap();
                second.finish().unwrap();
                world.peer(previous).receive_into(&mut r).unwrap();
            } else {
                world.peer(previous).receive_into(&mut r).unwrap();
                second.finish().unwrap();
                first.finish().unwrap();
            }
            assert_eq!((&p, &q[..], &r[..]), (&x, &y[..], &x[..]));
            for send in sends {
                send.finish().unwrap();
            }
        }
    }
    // A long message arrives while this rank waits for its own.
    let long = vec![rank as f64; 1_000_000];
    let receiving = world.peer(previous).start().receive::<Vec<f64>>().unwrap();
    let sending = world.peer(next).start().send(&long).unwrap();
    sending.finish().unwrap();
    assert_eq!(receiving.finish().unwrap(), vec![previous as f64; 1_000_000]);
    if size > 1 {
        let receiving = world.peer(previous).start().receive::<Vec<f64>>().unwrap();
        world.peer(next).send(&long).unwrap();
        assert_eq!(receiving.finish().unwrap(), vec![previous as f64; 1_000_000]);
    }
    drop(world.peer(previous).start().receive::<String>().unwrap());
    // A list in a struct.
    let (mut above, mut below) = ([0.0; 4], Vec::<f32>::new());
    let halo = vec![
        world.peer(previous).tag(3).start().receive_into(&mut above).unwrap(),
        world.peer(previous).tag(4).start().receive_into(&mut below).unwrap(),
        world.peer(next).tag(3).start().send(&[rank as f64; 4]).unwrap(),
        world.peer(next).tag(4).start().send(&vec![0.5f32; rank]).unwrap(),
    ];
    for pending in (Step { halo }).halo {
        pending.finish().unwrap();
    }
    assert_eq!((above, below), ([previous as f64; 4], vec![0.5; previous]));
}

pub fn scopes(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let (rank, size) = (world.rank(), world.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    let long = vec![rank as f64; 1_000_000];
    let names = vec![format!("rank {rank}"); 1000];
    let matrix = [[rank as u16; 30]; 30];
    let (left, right) = (layout!(u16[30][30] => [.., 0]), layout!(u16[30][30] => [.., 29]));
    let mut numbers = vec![0.0; 1_000_000];
    let mut texts = Vec::<String>::new();
    let mut ghosts = [[0u16; 30]; 2];
    let (views, [above, below]) = ((left.of(&matrix), right.of(&matrix)), &mut ghosts);
    let sum: f64 = world
        .scope(|scope| {
            let (to, from) = (scope.peer(next), scope.peer(previous));
            from.tag(0).receive_into(&mut numbers[..])?;
            from.tag(1).receive_into(&mut texts)?;
            from.tag(2).receive_into(above)?;
            from.tag(3).receive_into(&mut below[..])?;
            to.tag(1).send(&names)?;
            to.send(&long)?;
            to.tag(2).send(&views.0)?;
            to.tag(3).send(&views.1)?;
            Ok(long.iter().sum())
        })
        .unwrap();
    assert_eq!(sum, rank as f64 * 1e6);
    assert_eq!(numbers, vec![previous as f64; 1_000_000]);
    assert_eq!(texts, vec![format!("rank {previous}"); 1000]);
    assert_eq!(ghosts, [[previous as u16; 30]; 2]);
    // Messages arrive in the order of the receives, also if the sends come first.
    let (x, y) = (vec![1.0; 3], vec![2.0; 3]);
    let (mut p, mut q) = (Vec::<f64>::new(), [0.0; 3]);
    let mut others = Vec::<f64>::new();
    world
        .scope(|scope| {
            let (to, from) = (scope.peer(next), scope.peer(previous));
            to.send(&x)?;
            to.send(&y)?;
            to.send(&long)?;
            from.receive_into(&mut p)?;
            from.receive_into(&mut q)?;
            from.receive_into(&mut others)
        })
        .unwrap();
    assert_eq!((p, &q[..], others), (x, &y[..], vec![previous as f64; 1_000_000]));
    // After an error of the function, what was sent has been sent, and nothing more is received.
    if size > 1 {
        let receiving = world.peer(previous).start().receive::<Vec<f64>>().unwrap();
        let result: Result<()> = world.scope(|scope| {
            scope.peer(next).send(&long)?;
            scope.peer(previous).tag(5).receive_into(&mut numbers[..])?;
            scope.peer(size).send(&long)
        });
        assert!(matches!(result, Err(Error::Rank { .. })));
        assert_eq!(receiving.finish().unwrap(), vec![previous as f64; 1_000_000]);
    }
    // An error of a transfer is that of the scope.
    let mut short = [0.0; 3];
    let result = world.scope(|scope| {
        scope.peer(next).send(&long)?;
        scope.peer(previous).receive_into(&mut short)
    });
    assert!(matches!(result, Err(Error::Fit { .. })), "{result:?}");
    assert_eq!(short, [0.0; 3]);
}

pub fn rest(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    if world.rank() == 0 {
        let there = world.peer(1);
        there.send(&[0.5; 3]).unwrap();
        there.send(&[0.5; 3]).unwrap();
        there.send(&vec![0.5; 3]).unwrap();
        there.send(&Some(1u8)).unwrap();
        there.send(&Some(1u8)).unwrap();
        there.send(&2u8).unwrap();
        there.send(&[1u8, 2, 3]).unwrap();
        there.send(&0.5).unwrap();
        there.tag(5).send("text").unwrap();
    } else if world.rank() == 1 {
        let there = world.peer(0);
        // Another number of values.
        let mut place = [0.0; 2];
        let error = there.receive_into(&mut place).unwrap_err();
        assert!(matches!(error, Error::Fit { found: Some(24) | None, expected: 16, .. }), "{error}");
        let error = there.receive::<[f64; 2]>().unwrap_err();
        assert!(matches!(error, Error::Fit { .. }), "{error}");
        let mut places = vec![0.0; 7];
        there.receive_into(&mut places).unwrap();
        assert_eq!(places, [0.5; 3]);
        // An owned value is no plain one, and the reverse.
        let error = there.receive::<Vec<f64>>().unwrap_err().to_string();
        assert!(error.contains("owned value") || error.contains("packed bytes"), "{error}");
        assert!(there.receive::<u8>().is_err());
        assert!(matches!(there.receive::<Option<u8>>(), Err(Error::Message { from: Some(0), .. })));
        assert!(matches!(there.receive::<Vec<u16>>(), Err(Error::Pack(PackError::Length { found: 3, .. }))));
        assert!(matches!(there.receive::<char>(), Err(Error::Fit { .. })));
        let arrived = loop {
            if let Some(arrived) = world.any().probe().unwrap() {
                break arrived;
            }
        };
        assert_eq!((arrived.tag(), arrived.from().rank()), (5, 0));
        assert!(there.tag(4).probe().unwrap().is_none());
        assert!(there.tag(4).try_receive::<String>().unwrap().is_none());
        assert_eq!(arrived.from().receive::<String>().unwrap(), "text");
        assert!(world.any().probe().unwrap().is_none());
    }
    world.barrier();
    // A long message in segments is received from any rank.
    let apart = Comm::from(world.duplicate());
    apart.attach().unwrap();
    let long: Vec<(u8, f64)> = (0..300_000).map(|i| (i as u8, f64::from(i))).collect();
    if world.rank() == 0 {
        apart.peer(1).wire(Wire::Segments).send(&long[..]).unwrap();
    } else if world.rank() == 1 {
        let mut place = vec![(0u8, 0.0); long.len()];
        let from = apart.any().wire(Wire::Segments).receive_into(&mut place[..]).unwrap();
        assert_eq!((from.rank(), place == long), (0, true));
    }
    world.barrier();
    // A plain message has a number of values, whatever its type is called.
    if world.rank() == 0 {
        world.peer(1).send(&vec![(1u8, 0.5f64); 100]).unwrap();
    } else if world.rank() == 1 {
        let arrived = loop {
            if let Some(arrived) = world.peer(0).probe().unwrap() {
                break arrived;
            }
        };
        assert_eq!((arrived.size(), arrived.count::<(u8, f64)>().unwrap()), (900, 100));
        assert!(arrived.count::<[u8; 7]>().is_err());
        assert_eq!(arrived.from().receive::<Vec<(u8, f64)>>().unwrap(), [(1, 0.5); 100]);
    }
}

/// Returns a value that depends on the global index.
fn value([i, j]: [usize; 2]) -> f64 {
    (1000 * i + j) as f64
}

/// Returns the local array of a part, with -1 in its ghost cells.
fn filled(part: &Part<2>, is_column_major: bool) -> Vec<f64> {
    let mut array = part.vec(-1.0);
    each(part, is_column_major, |at, index| array[at] = value(index));
    array
}

/// Calls a function with the place of each own element in the local array, and with its global index.
fn each(part: &Part<2>, is_column_major: bool, mut call: impl FnMut(usize, [usize; 2])) {
    let ([rows, columns], [own_rows, own_columns]) = (part.local(), part.own());
    for i in own_rows {
        for j in own_columns.clone() {
            let at = if is_column_major { j * rows + i } else { i * columns + j };
            call(at, part.global([i, j]));
        }
    }
}

pub fn parts(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let size = world.size();
    let global = [13, 2 * size + 1];
    let rows = world.blocks(global, [size, 1]);
    let columns = world.blocks(global, [1, size]).column_major();
    let dealt = world.blocks(global, [1, size]).cyclic([3, 2]);
    assert!(dealt.indices(1).eq((0..global[1]).filter(|j| j / 2 % size == world.rank())));
    let ghosts = rows.ghosts(2);
    let uneven = columns.widths([[1, 0], [0, 3]]);
    // A rank beyond the grid has nothing.
    let alone = world.blocks(global, [1, 1]);
    let all =
        [(rows, false), (columns, true), (dealt, false), (ghosts, false), (uneven, true), (alone, false)];
    let path = std::env::temp_dir().join(format!("dtype-calls-{}", std::process::id()));
    let path = world.broadcast(0, Some(path.to_string_lossy().into_owned())).unwrap();
    for (from, from_order) in &all {
        let source = filled(from, *from_order);
        for (to, to_order) in &all {
            let mut destination = to.vec(-1.0);
            world.redistribute(from, &source, to, &mut destination).unwrap();
            assert_eq!(destination, filled(to, *to_order), "{from:?} {to:?}");
        }
        let mut file = world.create(&path).unwrap();
        file.write(from, &source).unwrap();
        file.close().unwrap();
        for (to, to_order) in &all {
            let mut file = world.open(&path).unwrap();
            let mut destination = to.vec(-1.0);
            file.read(to, &mut destination).unwrap();
            file.close().unwrap();
            assert_eq!(destination, filled(to, *to_order), "{from:?} {to:?}");
        }
    }
    let mut file = world.create(&path).unwrap();
    file.append(&vec![world.rank() as u64; world.rank()]).unwrap();
    file.close().unwrap();
    let mut read = vec![0u64; size * (size - 1) / 2];
    let mut file = world.open(&path).unwrap();
    file.read_at(0, &mut read[..]).unwrap();
    file.close().unwrap();
    assert_eq!(read, (0..size).flat_map(|rank| vec![rank as u64; rank]).collect::<Vec<_>>());
    world.barrier();
    if world.rank() == 0 {
        std::fs::remove_file(&path).unwrap();
    }
    assert!(matches!(
        world.redistribute(
            &world.blocks([4], [0]),
            &Vec::<f64>::new(),
            &world.blocks([4], [1]),
            &mut vec![0.0; 4]
        ),
        Err(Error::Parameter { .. } | Error::Elsewhere { .. })
    ));

    // Halos: on a ring of rows, all ghost cells become those of the neighbours.
    let ring = world.cartesian([size, 1], [true, false]).unwrap();
    let part = ring.blocks([3 * size, 5], [size, 1]).ghosts(1);
    let mut cells = part.vec(-1.0);
    each(&part, false, |at, index| cells[at] = value(index));
    ring.halo::<f64, 2>(&part).unwrap().exchange(&mut cells).unwrap();
    let [own_rows, _] = part.ranges();
    let width = part.local()[1];
    for (row, global) in [(0, own_rows.start + 3 * size - 1), (4, own_rows.end)] {
        for j in 0..5 {
            assert_eq!(cells[row * width + j + 1], value([global % (3 * size), j]));
        }
    }
    assert!(world.cartesian([size + 1], [false]).is_err());

    let mut counters = vec![0u64; 3];
    let next = (world.rank() + 1) % size;
    let own = [world.rank() as u64; 3];
    world
        .window(&mut counters, |window| window.fence(|epoch| epoch.put(&own, next, &layout!(u64[3] => [..]))))
        .unwrap();
    assert_eq!(counters, [((world.rank() + size - 1) % size) as u64; 3]);
}
