//! Messages of any shape and any length, in all calls.

use std::{collections::BTreeMap, fmt::Debug};

use dtype_runtime::pack::Error as PackError;
use dtype_runtime::{Comm, Error, FromMessage, MpiDatatype, MpiMessage, Wire, comm::Arrived};
use mpi::{Tag, request, topology::SimpleCommunicator, traits::*};

use crate::samples::Particle;

#[derive(MpiMessage, Clone, Debug, PartialEq, Default)]
struct Config {
    title: String,
    steps: Vec<f64>,
    names: BTreeMap<String, Vec<u16>>,
    output: Option<Output>,
    particles: Vec<Particle>,
}

#[derive(MpiMessage, Clone, Debug, PartialEq)]
enum Output {
    File(String),
    Every { steps: u32, last: Vec<Output> },
}

/// A list of values within each other.
#[derive(MpiMessage)]
struct Deep(Option<Box<Deep>>);

/// A type that rsmpi's own calls do not take.
#[derive(MpiDatatype, Clone, Debug, PartialEq)]
struct Node {
    phase: Phase,
    letter: char,
    #[mpi(skip)]
    neighbours: Vec<usize>,
    weight: f64,
}

#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
enum Phase {
    Solid,
    Liquid,
}

/// A struct of which MPI transfers the padding.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
#[mpi(wire = "bytes")]
struct Whole {
    tag: u8,
    value: f64,
}

fn particle(i: usize) -> Particle {
    Particle { position: [i as f64; 3], velocity: [0.5; 3], id: i as u64, kind: i as u8 }
}

fn node(i: usize) -> Node {
    let phase = if i.is_multiple_of(2) { Phase::Solid } else { Phase::Liquid };
    Node { phase, letter: 'ü', neighbours: Vec::new(), weight: i as f64 }
}

fn config(i: usize) -> Config {
    Config {
        title: "t".repeat(i),
        steps: (0..i).map(|i| i as f64).collect(),
        names: (0..i % 7).map(|i| (i.to_string(), vec![1; i])).collect(),
        output: match i % 3 {
            0 => None,
            1 => Some(Output::File("out".repeat(i))),
            _ => Some(Output::Every { steps: 5, last: vec![Output::File(String::new()); i % 5] }),
        },
        particles: (0..i / 2).map(particle).collect(),
    }
}

/// The sizes of values: with and without blocks, with a block at the front and with many blocks.
const SIZES: [usize; 6] = [0, 1, 6, 1000, 5000, 40_000];

/// Sends values of unknown length from every rank to every other one, in all ways, and compares them.
pub fn point_to_point(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    world.attach().unwrap();
    each_way(world, config, &Config::default());
    each_way(world, |i| vec![0.5f64; i], &Vec::new());
    each_way(world, |i| vec![vec![i as f64; 5000]; i.min(50)], &vec![vec![1.0; 7]; 3]);
    each_way(world, |i| (vec![i as u32; i], vec![0.25f64; 2 * i], "x".repeat(i)), &Default::default());
    each_way(world, |i| [String::new(), "y".repeat(i)], &Default::default());
    each_way(world, |i| (0..i).map(node).collect::<Vec<_>>(), &Vec::new());
    each_way(world, |i| (i as u8, Some('a')), &(0, None));
    repeated(world);
    any_source(world);
    several(world);
}

/// Waits until a message has arrived from a rank.
fn arrived<'c>(world: &'c Comm<&SimpleCommunicator>, rank: usize) -> Arrived<'c> {
    loop {
        if let Some(arrived) = world.peer(rank).probe().unwrap() {
            return arrived;
        }
    }
}

fn each_way<T: FromMessage + Clone + PartialEq + Debug>(
    world: &Comm<&SimpleCommunicator>,
    value: impl Fn(usize) -> T,
    old: &T,
) {
    const WAYS: usize = 8;
    let (rank, size) = (world.rank(), world.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    for n in SIZES {
        let (own, expected) = (value(n + rank), value(n + previous));
        let receive = |way: usize| {
            let from = world.peer(previous);
            match way {
                0 => {
                    let (found, sender) = world.any().tag(7).receive::<T>().unwrap();
                    assert_eq!(sender.rank(), previous);
                    found
                }
                1 => {
                    let mut found = old.clone();
                    from.tag(7).receive_into(&mut found).unwrap();
                    found
                }
                2 => {
                    let mut found = expected.clone();
                    from.receive_into(&mut found).unwrap();
                    found
                }
                3 => loop {
                    if let Some(found) = from.try_receive().unwrap() {
                        break found;
                    }
                },
                4 => {
                    let found = arrived(world, previous);
                    assert_eq!((found.from().rank(), found.tag()), (previous, 7));
                    found.from().receive().unwrap()
                }
                5 => from.start().receive().unwrap().finish().unwrap(),
                6 => {
                    let mut found = old.clone();
                    let mut receiving = from.start().receive_into(&mut found).unwrap();
                    while !receiving.is_done().unwrap() {}
                    receiving.finish().unwrap();
                    found
                }
                _ => from.receive::<T>().unwrap(),
            }
        };
        for way in 0..WAYS {
            let sending = world.peer(next).tag(7).start().send(&own).unwrap();
            assert_eq!(receive(way), expected);
            sending.finish().unwrap();
            // From where it is.
            let transferred = world.scope(|scope| {
                scope.peer(next).tag(7).send(&own)?;
                assert_eq!(receive(way), expected);
                Ok(())
            });
            transferred.unwrap();
        }
    }
}

/// Receives from all ranks in the order of arrival, without knowing anything of a message.
fn any_source(world: &Comm<&SimpleCommunicator>) {
    let (rank, size) = (world.rank(), world.size());
    if rank > 0 {
        for i in 0..20 {
            world.peer(0).tag(i as Tag).send(&config(i * rank)).unwrap();
        }
        return;
    }
    let mut seen = vec![0; size];
    for i in 0..20 * (size - 1) {
        let (found, from): (Config, _) = if i % 2 == 0 {
            let arrived = loop {
                if let Some(arrived) = world.any().probe().unwrap() {
                    break arrived;
                }
            };
            let from = arrived.from();
            assert_eq!(arrived.tag() as usize, seen[from.rank()], "messages of one rank stay in order");
            (from.receive().unwrap(), from)
        } else {
            world.any().receive().unwrap()
        };
        let from = from.rank();
        assert_eq!(found, config(seen[from] * from), "messages of one rank stay in order");
        seen[from] += 1;
    }
}

/// Sends memory that occurs several times in a message, in part or whole.
fn repeated(world: &Comm<&SimpleCommunicator>) {
    let values: Vec<f64> = (0..20_000u32).map(f64::from).collect();
    let message = (&values[..], (&values[10_000..], &values[..5000]), &values);
    let transferred = world.scope(|scope| {
        scope.peer(world.rank()).send(&message)?;
        world.peer(world.rank()).receive::<(Vec<f64>, (Vec<f64>, Vec<f64>), Vec<f64>)>()
    });
    let found = transferred.unwrap();
    assert_eq!((&found.0, &found.2), (&values, &values));
    assert_eq!(found.1, (values[10_000..].to_vec(), values[..5000].to_vec()));
}

/// Sends a message of more bytes than an MPI count can count: two blocks, of which the larger one is kept.
pub fn large(world: &SimpleCommunicator) {
    const SIZE: usize = (1 << 31) + 12_345;
    let world = &Comm::from(world);
    let value = (vec![1u8; SIZE], "x".repeat(100_000), vec![2u8; 40_000]);
    if world.rank() == 0 {
        (0..2).for_each(|_| world.peer(1).send(&value).unwrap());
    } else {
        // Three lengths and the trailer.
        let size = SIZE + 140_000 + 3 * 4 + 32;
        for way in 0..2 {
            let arrived = arrived(world, 0);
            assert_eq!((arrived.size(), arrived.count::<u8>()), (size, Ok(size)));
            let found: (Vec<u8>, String, Vec<u8>) = match way {
                0 => world.peer(0).receive().unwrap(),
                _ => arrived.from().try_receive().unwrap().unwrap(),
            };
            assert!(found == value);
        }
    }
}

/// Sends from several places of memory at once, which are changed afterwards.
fn several(world: &Comm<&SimpleCommunicator>) {
    let own = world.peer(world.rank());
    let mut values: Vec<_> = (0..10u8).map(|i| vec![f64::from(i); 10_000]).collect();
    let transferred = world.scope(|scope| {
        for value in &values {
            scope.peer(world.rank()).send(value)?;
        }
        for value in &values {
            assert_eq!(own.receive::<Vec<f64>>()?, *value);
        }
        Ok(())
    });
    transferred.unwrap();
    let mut sending: Vec<_> = values.iter().map(|value| own.start().send(value).unwrap()).collect();
    values.clear();
    for i in 0..10u8 {
        assert_eq!(own.receive::<Vec<f64>>().unwrap(), vec![f64::from(i); 10_000]);
    }
    assert!(sending.iter_mut().all(|one| one.is_done().unwrap()));
}

/// Receives values of unknown number, sent by every call that sends such values.
pub fn values(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    world.attach().unwrap();
    let wires = [Wire::Typed, Wire::Packed, Wire::Auto];
    for n in [0, 1, 2, 100, 3000, 40_000] {
        let particles: Vec<_> = (0..n).map(particle).collect();
        unknown(world, &particles, &wires);
        plain(world, &particles);
        unknown(world, &(0..n).map(node).collect::<Vec<_>>(), &wires);
        let whole: Vec<_> = (0..n).map(|i| Whole { tag: i as u8, value: 0.5 }).collect();
        unknown(world, &whole, &[Wire::Typed, Wire::Packed, Wire::Auto, Wire::Bytes]);
        plain(world, &whole);
        let numbers: Vec<_> = (0..n).map(|i| i as f64).collect();
        unknown(world, &numbers, &[Wire::Typed, Wire::Packed, Wire::Auto, Wire::Bytes]);
        plain(world, &numbers);
        unknown(world, &(0..n).map(|i| i % 3 == 0).collect::<Vec<_>>(), &wires);
        unknown(world, &vec![[Phase::Solid, Phase::Liquid]; n], &wires);
    }
    not_whole(world);
}

/// Sends values to this rank on each wire, and receives them in each way.
fn unknown<T: FromMessage + MpiDatatype + PartialEq + Debug>(
    world: &Comm<&SimpleCommunicator>,
    values: &[T],
    wires: &[Wire],
) {
    let rank = world.rank();
    let (own, any) = (world.peer(rank), world.any());
    for (wire, way) in wires.iter().flat_map(|wire| (0..6).map(move |way| (*wire, way))) {
        let transferred = world.scope(|scope| {
            scope.peer(rank).tag(3).wire(wire).send(values)?;
            let counted = arrived(world, rank);
            assert_eq!((counted.tag(), counted.count::<T>()), (3, Ok(values.len())));
            let found: Vec<T> = match way {
                0 => own.receive()?,
                1 => any.tag(3).receive()?.0,
                2 => counted.from().receive()?,
                3 => {
                    let mut found = Vec::new();
                    own.tag(3).receive_into(&mut found)?;
                    found
                }
                4 => own.start().receive()?.finish()?,
                _ => loop {
                    if let Some(found) = own.try_receive()? {
                        break found;
                    }
                },
            };
            assert_eq!(found, values, "{wire:?}, way {way}");
            Ok(())
        });
        transferred.unwrap();
    }
}

/// Receives what rsmpi's own call sends.
fn plain<T: FromMessage + MpiDatatype + Equivalence + PartialEq + Debug>(
    world: &Comm<&SimpleCommunicator>,
    values: &[T],
) {
    let own = world.this_process();
    request::scope(|all| {
        let sending = own.immediate_send(all, values);
        let arrived = arrived(world, world.rank());
        assert_eq!(arrived.count::<T>(), Ok(values.len()));
        assert_eq!(arrived.from().receive::<Vec<T>>().unwrap(), values);
        sending.wait();
    });
}

/// A message that is no whole number of values, or holds none of the right type, is an error.
fn not_whole(world: &Comm<&SimpleCommunicator>) {
    let (own, itself) = (world.peer(world.rank()), world.this_process());
    request::scope(|all| {
        let sending = itself.immediate_send(all, &[7u8; 9][..]);
        let arrived_here = arrived(world, own.rank());
        let counted = arrived_here.count::<f64>();
        assert!(
            matches!(counted, Err(Error::Pack(PackError::Length { expected: 8, found: 9, .. }))),
            "{counted:?}"
        );
        let counted = arrived_here.count::<()>();
        assert!(
            matches!(counted, Err(Error::Pack(PackError::Length { expected: 0, found: 9, .. }))),
            "{counted:?}"
        );
        let found = own.receive::<Vec<f64>>();
        assert!(
            matches!(found, Err(Error::Pack(PackError::Length { expected: 8, found: 9, .. }))),
            "{found:?}"
        );
        sending.wait();
        let sending = itself.immediate_send(all, &[7u8; 0][..]);
        assert_eq!(arrived(world, own.rank()).count::<[u64; 0]>(), Ok(0));
        assert_eq!(own.receive::<Vec<f64>>().unwrap(), []);
        sending.wait();
        let sending = itself.immediate_send(all, &[7u8; 9][..]);
        let found = own.receive::<Vec<Phase>>();
        assert!(matches!(found, Err(Error::Pack(PackError::InvalidValue { .. }))), "{found:?}");
        sending.wait();
        let says = format!("the message from rank {} cannot be read", own.rank());
        let sending = itself.immediate_send(all, &[7u8; 9][..]);
        let error = own.receive::<Config>().unwrap_err().to_string();
        assert!(error.starts_with(&format!("{says}: it has 9")), "{error}");
        assert!(error.contains("plain values"), "{error}");
        sending.wait();
        let sending = itself.immediate_send(all, &[7u8; 99][..]);
        let error = arrived(world, own.rank()).from().receive::<Config>().unwrap_err().to_string();
        assert!(error.starts_with(&says), "{error}");
        assert!(error.contains("plain values"), "{error}");
        sending.wait();
    });
    let sending = own.start().send(&config(1)).unwrap();
    let error = own.receive::<Vec<[u64; 99]>>().unwrap_err().to_string();
    assert!(error.contains("it holds an owned value"), "{error}");
    sending.finish().unwrap();
    let sending = own.start().send(&config(10)).unwrap();
    let mut old = Some(vec![1u8; 100]);
    let error = own.receive_into(&mut old).unwrap_err().to_string();
    assert!(error.contains("another type than `core::option::Option<alloc::vec::Vec<u8>>`"), "{error}");
    assert_eq!(old, Some(vec![1; 100]));
    sending.finish().unwrap();
}

/// Makes every collective call, with values of all sizes.
pub fn collectives(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let (rank, size) = (world.rank(), world.size());
    for n in SIZES {
        let values = |from: usize| config(n / (from + 1));
        assert_eq!(world.all_gather(&values(rank)).unwrap(), (0..size).map(values).collect::<Vec<_>>());
        let leaving: Vec<Vec<Particle>> =
            (0..size).map(|to| (0..n / (rank + to + 1)).map(particle).collect()).collect();
        let arrived = world.all_to_all(&leaving).unwrap();
        for (from, arrived) in arrived.iter().enumerate() {
            assert_eq!(*arrived, (0..n / (rank + from + 1)).map(particle).collect::<Vec<_>>());
        }
        for root in 0..size {
            let own = (rank == root).then(|| values(root));
            assert_eq!(world.broadcast(root, own).unwrap(), values(root));
            let mut place = if rank == root { values(root) } else { config(rank) };
            world.broadcast_into(root, &mut place).unwrap();
            assert_eq!(place, values(root));
            let all = world.gather(root, &values(rank)).unwrap();
            assert_eq!(all, (rank == root).then(|| (0..size).map(values).collect()));
            let all: Option<Vec<_>> = (rank == root).then(|| (0..size).map(values).collect());
            assert_eq!(world.scatter(root, all.as_deref()).unwrap(), values(rank));
        }
    }
    mistakes(world);
}

/// A mistake on one rank is an error, after which the ranks can go on.
fn mistakes(world: &Comm<&SimpleCommunicator>) {
    let (rank, size) = (world.rank(), world.size());
    let is_missing = |error: Error| {
        error.to_string().contains("the message from rank 0 cannot be read: that rank had no value to send")
    };
    let at_root = |error: Error| match rank {
        0 => error.to_string().contains("the root must pass `Some`"),
        _ => is_missing(error),
    };
    assert!(at_root(world.broadcast::<Config>(0, None).unwrap_err()));
    assert!(at_root(world.scatter::<Config>(0, None).unwrap_err()));
    let few = (rank == 0).then(|| vec![config(1); size + 1]);
    match world.scatter(0, few.as_deref()) {
        Err(Error::Messages { found, ranks, .. }) => assert_eq!((rank, found, ranks), (0, size + 1, size)),
        other => assert!(rank > 0 && is_missing(other.unwrap_err())),
    }
    let one_short = vec![config(1); if rank == 0 { size - 1 } else { size }];
    match world.all_to_all(&one_short) {
        Err(Error::Messages { found, .. }) => assert_eq!((rank, found), (0, size - 1)),
        other => assert!(is_missing(other.unwrap_err())),
    }
    let deep = |levels: usize| (0..levels).fold(Deep(None), |deep, _| Deep(Some(Box::new(deep))));
    match world.all_gather(&deep(if rank == 0 { 1000 } else { 1 })) {
        Err(error) if rank == 0 => assert!(error.to_string().contains("128 levels"), "{error}"),
        other => assert!(other.is_err_and(is_missing)),
    }
    assert_eq!(world.all_gather(&rank).unwrap(), (0..size).collect::<Vec<_>>());
}
