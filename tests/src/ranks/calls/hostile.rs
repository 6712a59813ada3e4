//! Calls that a program makes by mistake, or in an unusual order, with messages so long that MPI sends them
//! only when they are received.

use dtype_runtime::*;
use mpi::{topology::SimpleCommunicator, traits::*};

/// The number of values of a long message.
const LONG: usize = 1_000_000;

/// If one rank has an error, or drops its exchange, those of the others end.
pub fn exchanges(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let (rank, size) = (world.rank(), world.size());
    let ring = world.graph(&[(rank + 1) % size], &[(rank + size - 1) % size]).unwrap();
    let is_wrong = rank == 0;
    let long = |count: usize| vec![vec![0.5; LONG]; count];
    let is_refused = |error: Error| matches!(error, Error::Messages { .. });
    for [messages, places] in [[1, 0], [0, 1]] {
        let count = |all: usize, more: usize| if is_wrong { all + more } else { all };
        // The message of a rank with another number of places arrives all the same.
        let is_told = |error: Error| messages > 0 && matches!(error, Error::Message { from: Some(0), .. });

        let mut received = long(count(size, places));
        let started = world.start().all_to_all_into(&long(count(size, messages)), &mut received);
        match started.and_then(Pending::finish) {
            Ok(()) => assert!(!is_wrong && messages == 0),
            Err(error) => assert!(if is_wrong { is_refused(error) } else { is_told(error) }),
        }
        let mut received = long(count(1, places));
        let started = ring.neighbours().start().all_to_all_into(&long(count(1, messages)), &mut received);
        match started.and_then(Pending::finish) {
            Ok(()) => assert!(!is_wrong && (messages == 0 || rank + 1 < size)),
            Err(error) => assert!(if is_wrong { is_refused(error) } else { is_told(error) }),
        }

        let right = long(size);
        let mut exchange = world.prepare().all_to_all_into(&right, &right).unwrap();
        let mut received = long(count(size, places));
        let error = exchange.run(&long(count(size, messages)), &mut received).unwrap_err();
        assert!(if is_wrong { is_refused(error) } else { matches!(error, Error::Neighbour { rank: 0, .. }) });
        let mut received = vec![vec![0.0; LONG]; size];
        exchange.run(&right, &mut received).unwrap();
        assert_eq!(received, right);
    }
    // A rank that drops its exchange still receives the messages of the others.
    let mut received = vec![vec![0.0; LONG]; size];
    let started = world.start().all_to_all_into(&long(size), &mut received).unwrap();
    if is_wrong {
        drop(started);
    } else {
        started.finish().unwrap();
        assert_eq!(received, long(size));
    }
}

/// Messages without bytes, to this rank itself, to ranks that there are not, and on intercommunicators.
pub fn edges(world: &SimpleCommunicator) {
    let comm = &Comm::from(world);
    let (rank, size) = (comm.rank(), comm.size());
    let own = comm.peer(rank);
    // Nothing, and more than MPI sends before it is received, to this rank itself.
    let (nothing, long) = (Vec::<f64>::new(), vec![0.5; LONG]);
    for values in [&nothing, &long] {
        let mut send = own.prepare().send(values).unwrap();
        let mut receive = own.prepare().receive_into(values).unwrap();
        for _ in 0..3 {
            let mut place = vec![1.0; values.len()];
            let receiving = receive.start(&mut place[..]).unwrap();
            send.run(values).unwrap();
            receiving.finish().unwrap();
            assert_eq!(&place, values);
        }
        let messages = vec![values.clone(); size];
        let mut places = vec![nothing.clone(); size];
        comm.start().all_to_all_into(&messages, &mut places).unwrap().finish().unwrap();
        assert_eq!(places, messages);
        let mut exchange = comm.prepare().all_to_all_into(&messages, &messages).unwrap();
        let mut places = vec![nothing.clone(); size];
        exchange.run(&messages, &mut places).unwrap();
        assert_eq!(places, messages);
    }
    // A vector was prepared empty, and gets a message all the same: that is an error each time.
    let mut receive = own.prepare().receive_into(&nothing).unwrap();
    let mut place = nothing.clone();
    for _ in 0..2 {
        let sending = own.start().send(&[0.5; 3]).unwrap();
        assert!(matches!(receive.run(&mut place), Err(Error::Fit { .. })));
        sending.finish().unwrap();
    }
    assert_eq!(place, []);
    let sending = own.start().send(&nothing).unwrap();
    receive.run(&mut place).unwrap();
    sending.finish().unwrap();
    // Nothing comes on the wire of segments that was not asked for with its size.
    let segments = own.wire(Wire::Segments);
    let is_unsupported = |error: Error| assert!(error.kind() == ErrorKind::Unsupported, "{error}");
    is_unsupported(segments.swap(&mut [0.5; 3]).unwrap_err());
    is_unsupported(segments.try_receive::<f64>().unwrap_err());
    is_unsupported(segments.probe().err().unwrap());
    let mut value = [0.25; 3];
    own.synchronous().swap(&mut value).unwrap();
    assert_eq!(value, [0.25; 3]);
    // The root has no place for the result, and the others are not kept waiting.
    let reduced = comm.reduce_into(0, &[1u8], None, |a, b| a + b);
    assert_eq!(reduced.err().map(|error| error.kind()), (rank == 0).then_some(ErrorKind::Argument));
    for far in [size, i32::MAX as usize, u32::MAX as usize + 1, usize::MAX] {
        assert!(matches!(comm.peer(far).send(&0.5), Err(Error::Rank { .. })));
        assert!(matches!(comm.peer(far).prepare().send(&0.5), Err(Error::Rank { .. })));
        assert!(matches!(comm.peer(far).start().receive::<f64>(), Err(Error::Rank { .. })));
        assert!(matches!(comm.gather(far, &0.5), Err(Error::Rank { .. })));
    }
    let error = comm.graph(&[usize::MAX], &[]).err().unwrap();
    assert!(matches!(error, Error::Rank { .. }), "{error}");
}

/// Values whose fields the compiler has put in its own order.
#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
struct Ordered {
    first: u8,
    number: f64,
    last: bool,
}

/// Neighbours that there are not, or several times, and the greatest tag.
pub fn topologies(world: &SimpleCommunicator) {
    let comm = &Comm::from(world);
    let (rank, size) = (comm.rank(), comm.size());
    let is_refused = |error: Error| assert!(matches!(error, Error::Messages { .. }), "{error}");
    // No neighbours: an exchange without messages ends at once, and one with a message is refused.
    let alone = comm.graph(&[], &[]).unwrap();
    let nothing: [Vec<f64>; 0] = [];
    alone.neighbours().start().all_to_all_into(&nothing, &mut [0.0; 0]).unwrap().finish().unwrap();
    is_refused(alone.neighbours().start().all_to_all_into(&[0.5], &mut [0.0; 0]).unwrap_err());
    is_refused(alone.neighbours().all_to_all_into(&nothing, &mut [0.5]).unwrap_err());
    is_refused(alone.neighbours().all_to_all(&[0.5]).unwrap_err());
    // One neighbour three times, each message as long as MPI sends only when it is received.
    let value = Ordered { first: 1, number: 0.5, last: true };
    let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
    let triple = comm.graph(&[left; 3], &[right; 3]).unwrap();
    let values = [1, 2, 3].map(|i| vec![Ordered { first: i, ..value }; LONG / 10]);
    for is_dropped in [true, false] {
        let mut places = values.each_ref().map(|values| vec![Ordered::default(); values.len()]);
        let started = triple.neighbours().start().all_to_all_into(&values, &mut places).unwrap();
        if is_dropped && rank == 0 {
            drop(started);
        } else {
            started.finish().unwrap();
            assert_eq!(places, values);
        }
    }
    // Edges that only one of their ranks names: another number, and other ones.
    if size > 1 {
        let is_last = rank + 1 == size;
        let refused = comm.graph(if is_last { &[0] } else { &[] }, &[]).map(drop).unwrap_err().to_string();
        assert!(refused.contains("1 sources and 0 destinations in all"), "{refused}");
        let (from_first, to_first) = ([0; 1], [0; 1]);
        let [sources, destinations]: [&[usize]; 2] =
            if is_last { [&from_first, &to_first] } else { [&[], &[]] };
        let refused = comm.graph(sources, destinations).map(drop).unwrap_err().to_string();
        assert!(refused.contains("1 sources and 1 destinations in all"), "{refused}");
    }
    // A grid of more places than ranks: its parts would be missing in files.
    let few = comm.blocks([10, 10], [size + 1, 1]);
    let all = comm.blocks([10, 10], [size, 1]);
    let refused = |error: Error| error.to_string().contains("the number of places in its grid is");
    assert!(refused(comm.redistribute(&few, &few.vec(0.5), &all, &mut all.vec(0.0)).unwrap_err()));
    let path = std::env::temp_dir()
        .join(format!("dtype-hostile-{}", comm.all_gather(&std::process::id()).unwrap()[0]));
    let mut file = comm.create(&path).unwrap();
    assert!(refused(file.write(&few, &few.vec(0.5)).unwrap_err()));
    file.close().unwrap();
    if rank == 0 {
        std::fs::remove_file(&path).unwrap();
    }
    // A row that ends: the first rank and the last one have a neighbour that there is not.
    let row = comm.cartesian([size], [false]).unwrap();
    let sent = [vec![value; 3], vec![value; 2]];
    let mut places = [vec![Ordered::default(); 2], vec![Ordered::default(); 3]];
    let expected =
        [rank > 0, rank + 1 < size].map(|is_there| if is_there { value } else { Ordered::default() });
    row.neighbours().start().all_to_all_into(&sent, &mut places).unwrap().finish().unwrap();
    assert_eq!(places, [vec![expected[0]; 2], vec![expected[1]; 3]]);
    // The last rank has one place too few. Its neighbour is told, if the messages are wrong, too.
    let is_wrong = rank + 1 == size;
    let started = row.neighbours().start().all_to_all_into(&sent[..2 - usize::from(is_wrong)], &mut places);
    match started.and_then(Pending::finish) {
        Ok(()) => assert!(rank + 2 < size),
        Err(error) if is_wrong => is_refused(error),
        Err(error) => assert_eq!(error.rank(), Some(size - 1), "{error}"),
    }
    // The greatest tag that every standard has.
    let own = comm.peer(rank).tag(32767);
    let mut swapped = value;
    own.swap(&mut swapped).unwrap();
    assert_eq!(swapped, value);
    let mut receive = own.prepare().receive_into(&value).unwrap();
    let mut place = Ordered::default();
    let receiving = receive.start(&mut place).unwrap();
    own.prepare().send(&value).unwrap().run(&value).unwrap();
    receiving.finish().unwrap();
    assert_eq!(place, value);
}

/// A panic on one rank ends the job within `run`, also with a transfer under way that never ends.
pub fn panics(with: &str) {
    // The hook of the scenarios would end the rank before it unwinds.
    drop(std::panic::take_hook());
    run(|world| -> Result {
        let last = world.size() - 1;
        let values = vec![vec![0.5; LONG]; world.size()];
        let mut places = values.clone();
        // Later calls need no agreement.
        world.start().all_to_all_into(&values, &mut places)?.finish()?;
        let mut prepared = world.prepare().all_to_all_into(&values, &places)?;
        if world.rank() < last {
            return world.peer(last).tag(2).receive::<u8>().map(drop);
        }
        let _started = match with {
            "exchange" => world.start().all_to_all_into(&values, &mut places)?,
            "prepared" => prepared.start(&values, &mut places)?,
            "send" => world.peer(0).tag(1).start().send(&values[0])?,
            _ => world.peer(0).tag(1).start().receive_into(&mut places[0][..])?,
        };
        panic!("a rank panics");
    });
}

/// An owned message is no plain value, even if it has the size of one.
pub fn owned_as_plain(world: &SimpleCommunicator) {
    let comm = &Comm::from(world);
    let (rank, size) = (comm.rank(), comm.size());
    // Texts whose messages have the size of numbers.
    let texts = [8, 8 * LONG].map(|length| {
        let texts = (length..length + 8).map(|length| "x".repeat(length));
        texts.map(|text| (message::to_bytes(&text).unwrap().len(), text)).find(|(bytes, _)| bytes % 8 == 0)
    });
    let [(bytes, text), (long_bytes, long)] = texts.map(Option::unwrap);
    let text = &*text;
    let is_refused = |found: Result| {
        let error = found.unwrap_err();
        assert_eq!((error.kind(), error.rank()), (ErrorKind::Type, Some(0)), "{error}");
        assert!(error.to_string().contains("it holds an owned value"), "{error}");
    };
    if size > 1 && rank == 0 {
        for i in 0..8 {
            comm.peer(1).send(if i < 7 { text } else { &long }).unwrap();
        }
    } else if rank == 1 {
        let peer = comm.peer(0);
        let mut place = vec![0.5; bytes / 8];
        is_refused(peer.receive::<Vec<f64>>().map(drop));
        is_refused(peer.receive_into(&mut place));
        is_refused(peer.receive_into(&mut place[..]));
        is_refused(peer.start().receive_into(&mut place[..]).and_then(Pending::finish));
        is_refused(peer.prepare().receive_into(&place[..]).and_then(|mut all| all.run(&mut place[..])));
        is_refused(comm.exchange::<[u8], _>([], [(0, &mut place[..])]));
        let numbers = place.len();
        let every_second = layout!(f64[2 * numbers] => [..;2]).unwrap();
        let mut gaps = vec![0.5; 2 * numbers];
        is_refused(peer.receive_into(&mut every_second.of_mut(&mut gaps).unwrap()));
        assert!(place.iter().chain(&gaps).all(|number| *number == 0.5), "nothing has been written");
        is_refused(peer.receive_into(&mut vec![0.5; long_bytes / 8][..]));
    }
    // Bytes may be those of a message that the program has made.
    let made = message::to_bytes(text).unwrap();
    assert_eq!(comm.all_gather(&made).unwrap(), vec![made.clone(); size]);
    let (blocks, _) = made.as_chunks::<8>();
    assert_eq!(comm.all_gather(&blocks.to_vec()).unwrap(), vec![blocks.to_vec(); size]);
    if size > 1 && rank == 0 {
        comm.peer(1).send(blocks).unwrap();
    } else if rank == 1 {
        let mut place = vec![[0u8; 8]; blocks.len()];
        comm.peer(0).receive_into(&mut place[..]).unwrap();
        assert_eq!(place, blocks);
    }
    // Calls of all ranks.
    let mut places = vec![vec![0.5; bytes / 8]; size];
    let [mut first, mut second] = [places[0].clone(), places[0].clone()];
    let messages = vec![text.to_owned(); size];
    is_refused(
        comm.all_to_all_into(&messages, &mut places.iter_mut().map(|all| &mut all[..]).collect::<Vec<_>>()),
    );
    assert_eq!(places, vec![vec![0.5; bytes / 8]; size]);
    match rank {
        0 => comm.broadcast_into(0, &mut text.to_owned()).unwrap(),
        _ => is_refused(comm.broadcast_into(0, &mut first[..])),
    }
    // These join or divide values.
    let is_told = |found: Result| assert_eq!(found.unwrap_err().kind(), ErrorKind::Argument);
    is_told(comm.all_gather_into(text, &mut second[..]));
    is_told(comm.gather_into(0, text, (rank == 0).then_some(&mut second[..])));
    let scattered = comm.scatter_into(0, (rank == 0).then_some(text), &mut second[..]);
    if rank == 0 {
        is_told(scattered);
    } else {
        drop(scattered.unwrap_err());
    }
    comm.all_gather(&rank).unwrap();
}

/// A receive that is forgotten waits for no message of another communicator, if its own has been freed.
pub fn forgotten(world: &SimpleCommunicator) {
    let rank = world.rank() as usize;
    for _ in 0..3 {
        let freed = Comm::from(world.duplicate());
        std::mem::forget(freed.peer(rank).start().receive::<f64>().unwrap());
        std::mem::forget(freed.any().start().receive::<Vec<f64>>().unwrap());
        let prepared = freed.peer(rank).prepare().receive_into(&0.5).unwrap();
        drop(freed);
        // It may have the handle of the one before.
        let comm = Comm::from(world.duplicate());
        let mut place = 0.5;
        let mut prepared = prepared;
        if let Ok(mut pending) = prepared.start(&mut place) {
            let _ = pending.is_done();
        }
        let sending = comm.peer(rank).start().send(&1.5).unwrap();
        assert_eq!(comm.peer(rank).receive::<f64>().unwrap(), 1.5);
        sending.finish().unwrap();
    }
}

/// In the checked mode, `run` compares the base types of messages, and collective calls do, too.
pub fn checked() {
    run(|world| -> Result {
        if world.rank() == 0 {
            world.peer(1).send(&7u64)?;
            world.peer(1).start().send(&[7u64; 3])?.finish()?;
        } else if world.rank() == 1 {
            let error = world.peer(0).receive::<f64>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Type, "{error}");
            let error = world.peer(0).receive_into(&mut [0.5; 3]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Type, "{error}");
        }
        let gathered = match world.rank() {
            1 => world.all_gather(&0.5).map(drop),
            _ => world.all_gather(&7u64).map(drop),
        };
        assert_eq!(gathered.unwrap_err().kind(), ErrorKind::Type);
        let broadcast = match world.rank() {
            0 => world.broadcast(0, Some(0.5)).map(drop),
            _ => world.broadcast(0, None::<u64>).map(drop),
        };
        if world.rank() == 0 {
            return broadcast;
        }
        assert_eq!(broadcast.unwrap_err().kind(), ErrorKind::Type);
        Ok(())
    });
}

/// A receive of unknown size stays started while this rank makes other calls between two ranks, or between
/// neighbours. The sender waits until its long message is received.
pub fn across(world: &SimpleCommunicator) {
    let comm = &Comm::from(world);
    let (rank, size) = (comm.rank(), comm.size());
    if size == 1 {
        return;
    }
    let last = size - 1;
    let (right, left) = ((rank + 1) % size, (rank + last) % size);
    let ring = comm.graph(&[left], &[right]).unwrap();
    let ring = ring.neighbours();
    // The first call agrees with the other ranks on a communicator.
    ring.all_gather(&rank).unwrap();
    let long = vec![0.5; LONG];
    let calls: [&dyn Fn(); 7] = [
        &|| assert_eq!(ring.all_gather(&rank).unwrap(), [left]),
        &|| assert_eq!(ring.all_to_all(&[rank]).unwrap(), [left]),
        &|| {
            let mut place = [rank; 1];
            ring.start().all_to_all_into(&[rank], &mut place).unwrap().finish().unwrap();
            assert_eq!(place, [left]);
        },
        &|| {
            let mut place = rank;
            comm.exchange([(right, &rank)], [(left, &mut place)]).unwrap();
            assert_eq!(place, left);
        },
        &|| {
            let sending = comm.peer(right).tag(2).start().send(&rank).unwrap();
            assert_eq!(comm.peer(left).tag(2).receive::<usize>().unwrap(), left);
            sending.finish().unwrap();
        },
        &|| {
            comm.peer(right).tag(2).send(&rank).unwrap();
            let mut place = 0;
            comm.peer(left).tag(2).start().receive_into(&mut place).unwrap().finish().unwrap();
            assert_eq!(place, left);
        },
        &|| {
            let mut place = vec![rank];
            comm.scope(|scope| {
                scope.peer(right).tag(2).send(&rank)?;
                scope.peer(left).tag(2).receive_into(&mut place)
            })
            .unwrap();
            assert_eq!(place, [left]);
        },
    ];
    for call in calls {
        let receiving = (rank == 0).then(|| comm.peer(last).start().receive::<Vec<f64>>().unwrap());
        if rank == last {
            comm.peer(0).send(&long).unwrap();
        }
        call();
        if let Some(receiving) = receiving {
            assert_eq!(receiving.finish().unwrap(), long);
        }
        world.barrier();
    }
}
