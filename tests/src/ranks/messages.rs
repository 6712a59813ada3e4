//! Messages of any shape and any length, in all calls.

use std::{collections::BTreeMap, fmt::Debug};

use dtype_runtime::{
    Error, FromMessage, MpiDatatype, MpiMessage, Wire,
    traits::*,
    wire::{self},
};
use mpi::{
    Tag,
    request::{LocalScope, scope},
    topology::SimpleCommunicator,
    traits::*,
};

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
    wire::attach(world).unwrap();
    each_way(world, config, &Config::default());
    each_way(world, |i| vec![0.5f64; i], &Vec::new());
    each_way(world, |i| vec![vec![i as f64; 5000]; i.min(50)], &vec![vec![1.0; 7]; 3]);
    each_way(world, |i| (vec![i as u32; i], vec![0.25f64; 2 * i], "x".repeat(i)), &Default::default());
    each_way(world, |i| [String::new(), "y".repeat(i)], &Default::default());
    each_way(world, |i| (0..i).map(node).collect::<Vec<_>>(), &Vec::new());
    each_way(world, |i| (i as u8, Some('a')), &(0, None));
    repeated(world);
    any_source(world);
    scopes(world);
}

fn each_way<T: FromMessage + Clone + PartialEq + Debug>(
    world: &SimpleCommunicator,
    value: impl Fn(usize) -> T,
    old: &T,
) {
    let (rank, size) = (world.rank(), world.size());
    let next = world.process_at_rank((rank + 1) % size);
    let previous = world.process_at_rank((rank + size - 1) % size);
    for n in SIZES {
        let (own, expected) = (value(n + rank as usize), value(n + previous.rank() as usize));
        for way in 0..5 {
            scope(|scope| {
                let sending = next.immediate_send_message_with_tag(scope, &own, 7).unwrap();
                let arrived = match way {
                    0 => {
                        let (arrived, status) = previous.receive_message::<T>().unwrap();
                        assert_eq!((status.source_rank(), status.tag()), (previous.rank(), 7));
                        arrived
                    }
                    1 => {
                        let mut arrived = old.clone();
                        previous.receive_message_into_with_tag(&mut arrived, 7).unwrap();
                        arrived
                    }
                    2 => {
                        let mut arrived = expected.clone();
                        previous.receive_message_into(&mut arrived).unwrap();
                        arrived
                    }
                    3 => loop {
                        if let Some((arrived, _)) = previous.immediate_receive_message().unwrap() {
                            break arrived;
                        }
                    },
                    _ => previous.matched_probe().matched_receive_message().unwrap().0,
                };
                assert_eq!(arrived, expected);
                sending.wait().unwrap();
            });
        }
    }
}

/// Receives from all ranks in the order of arrival, without knowing anything of a message.
fn any_source(world: &SimpleCommunicator) {
    let (rank, size) = (world.rank() as usize, world.size() as usize);
    if rank > 0 {
        for i in 0..20 {
            world.process_at_rank(0).send_message_with_tag(&config(i * rank), i as Tag).unwrap();
        }
        return;
    }
    let mut seen = vec![0; size];
    for _ in 0..20 * (size - 1) {
        let (arrived, status) = world.any_process().receive_message::<Config>().unwrap();
        let from = status.source_rank() as usize;
        assert_eq!(status.tag() as usize, seen[from], "messages of one rank stay in order");
        assert_eq!(arrived, config(seen[from] * from));
        seen[from] += 1;
    }
}

/// Sends memory that occurs several times in a message, in part or whole.
fn repeated(world: &SimpleCommunicator) {
    let own = world.this_process();
    let values: Vec<f64> = (0..20_000u32).map(f64::from).collect();
    let message = (&values[..], (&values[10_000..], &values[..5000]), &values);
    scope(|all| {
        let sending = own.immediate_send_message(all, &message).unwrap();
        let (arrived, _) = own.receive_message::<(Vec<f64>, (Vec<f64>, Vec<f64>), Vec<f64>)>().unwrap();
        assert_eq!((&arrived.0, &arrived.2), (&values, &values));
        assert_eq!(arrived.1, (values[10_000..].to_vec(), values[..5000].to_vec()));
        sending.wait().unwrap();
    });
}

/// Sends a message of more bytes than an MPI count can count: two blocks, of which the larger one is kept.
pub fn large(world: &SimpleCommunicator) {
    const SIZE: usize = (1 << 31) + 12_345;
    let value = (vec![1u8; SIZE], "x".repeat(100_000), vec![2u8; 40_000]);
    if world.rank() == 0 {
        (0..2).for_each(|_| world.process_at_rank(1).send_message(&value).unwrap());
    } else {
        // Three lengths and the trailer.
        let (sender, size) = (world.process_at_rank(0), SIZE + 140_000 + 3 * 4 + 32);
        assert_eq!(sender.probe().count_of::<u8>(), Ok(size));
        let (arrived, _) = sender.receive_message::<(Vec<u8>, String, Vec<u8>)>().unwrap();
        assert!(arrived == value);
        drop(arrived);
        let matched = sender.matched_probe();
        assert_eq!(matched.1.count_of::<u8>(), Ok(size));
        let (arrived, _) = matched.matched_receive_message::<(Vec<u8>, String, Vec<u8>)>().unwrap();
        assert!(arrived == value);
    }
}

/// Sends from several places of memory at once, which are changed afterwards.
fn scopes(world: &SimpleCommunicator) {
    let mut values: Vec<_> = (0..10u8).map(|i| vec![f64::from(i); 10_000]).collect();
    scope(|all: &LocalScope<'_>| {
        let own = world.this_process();
        let mut sending: Vec<_> =
            values.iter().map(|value| own.immediate_send_message(all, value).unwrap()).collect();
        for value in &values {
            assert_eq!(own.receive_message::<Vec<f64>>().unwrap().0, *value);
        }
        assert!(sending.iter_mut().all(|one| one.is_done().unwrap()));
    });
    values.clear();
}

/// Receives values of unknown number, sent by every call that sends such values.
pub fn values(world: &SimpleCommunicator) {
    wire::attach(world).unwrap();
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
    confused(world);
}

/// Sends values to this rank on each wire, and receives them in each way.
fn unknown<T: FromMessage + MpiDatatype + PartialEq + Debug>(
    world: &SimpleCommunicator,
    values: &[T],
    wires: &[Wire],
) {
    let own = world.this_process();
    for (wire, way) in wires.iter().flat_map(|wire| (0..4).map(move |way| (wire, way))) {
        scope(|all| {
            let sending = own.immediate_send_over_with_tag(all, *wire, values, 3).unwrap();
            let (arrived, status) = match way {
                0 => own.receive_values::<T>().unwrap(),
                1 => world.any_process().receive_values_with_tag(3).unwrap(),
                2 => world.any_process().matched_probe().matched_receive_values().unwrap(),
                _ => loop {
                    if let Some(arrived) = own.immediate_receive_values().unwrap() {
                        break arrived;
                    }
                },
            };
            assert_eq!((&arrived[..], status.count_of::<T>()), (values, Ok(values.len())));
            sending.wait().unwrap();
        });
    }
}

/// Receives what rsmpi's own call sends.
fn plain<T: FromMessage + MpiDatatype + Equivalence + PartialEq + Debug>(
    world: &SimpleCommunicator,
    values: &[T],
) {
    let own = world.this_process();
    scope(|all| {
        let sending = own.immediate_send(all, values);
        let (arrived, status) = own.receive_values::<T>().unwrap();
        assert_eq!((&arrived[..], status.count_of::<T>()), (values, Ok(values.len())));
        sending.wait();
    });
}

/// A status of another message does no harm.
fn confused(world: &SimpleCommunicator) {
    let own = world.this_process();
    let (long, short) = (vec![1u8; 1 << 20], vec![2u8; 3]);
    scope(|all| {
        let sending = [&long, &short]
            .map(|message| own.immediate_send_over_with_tag(all, Wire::Packed, message, 5).unwrap());
        let (first, second) = (own.matched_probe_with_tag(5), own.matched_probe_with_tag(5));
        assert!((first.0, second.1).matched_receive_values::<u8>().is_err());
        assert!((second.0, first.1).matched_receive_values::<u8>().is_err());
        for one in sending {
            one.wait().unwrap();
        }
    });
}

/// A message that is no whole number of values, or holds none of the right type, is an error.
fn not_whole(world: &SimpleCommunicator) {
    let own = world.this_process();
    scope(|all| {
        let sending = own.immediate_send(all, &[7u8; 9][..]);
        let status = own.probe();
        assert!(matches!(status.count_of::<f64>(), Err(Error::Length { expected: 8, found: 9, .. })));
        assert!(matches!(status.count_of::<()>(), Err(Error::Length { expected: 0, found: 9, .. })));
        assert!(matches!(own.receive_values::<f64>(), Err(Error::Length { expected: 8, found: 9, .. })));
        sending.wait();
        let sending = own.immediate_send(all, &[7u8; 0][..]);
        assert_eq!(own.probe().count_of::<[u64; 0]>(), Ok(0));
        assert_eq!(own.receive_values::<f64>().unwrap().0, []);
        sending.wait();
        let sending = own.immediate_send(all, &[7u8; 9][..]);
        assert!(matches!(own.receive_values::<Phase>(), Err(Error::InvalidValue { .. })));
        sending.wait();
        let sending = own.immediate_send(all, &[7u8; 9][..]);
        let error = own.receive_message::<Config>().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("the message from rank {} cannot be read: it has 9", world.rank()))
        );
        assert!(error.contains("receive plain values with `receive_values`"), "{error}");
        sending.wait();
        let sending = own.immediate_send(all, &[7u8; 99][..]);
        let error = own.matched_probe().matched_receive_message::<Config>().unwrap_err().to_string();
        assert!(error.starts_with(&format!("the message from rank {} cannot be read", world.rank())));
        assert!(error.contains("receive plain values with `receive_values`"), "{error}");
        sending.wait();
    });
    let sent = config(1);
    scope(|all| {
        let sending = own.immediate_send_message(all, &sent).unwrap();
        let error = own.receive_values::<[u64; 99]>().unwrap_err().to_string();
        assert!(error.contains("receive it with `receive_message`"), "{error}");
        sending.wait().unwrap();
    });
    if world.size() == 1 {
        let sent = config(10);
        scope(|all| {
            let sending = own.immediate_send_message(all, &sent).unwrap();
            let mut old = vec![1u8; 100];
            let error = own.receive_message_into(&mut old).unwrap_err().to_string();
            assert!(error.contains("another type than `alloc::vec::Vec<u8>`"), "{error}");
            assert_eq!(old, [1; 100]);
            sending.wait().unwrap();
        });
    }
}

/// Makes every collective call, with values of all sizes.
pub fn collectives(world: &SimpleCommunicator) {
    let (rank, size) = (world.rank() as usize, world.size() as usize);
    for n in SIZES {
        let values = |from: usize| config(n / (from + 1));
        assert_eq!(world.all_gather_vec(&values(rank)).unwrap(), (0..size).map(values).collect::<Vec<_>>());
        let leaving: Vec<Vec<Particle>> =
            (0..size).map(|to| (0..n / (rank + to + 1)).map(particle).collect()).collect();
        let arrived = world.all_to_all_vec(&leaving).unwrap();
        for (from, arrived) in arrived.iter().enumerate() {
            assert_eq!(*arrived, (0..n / (rank + from + 1)).map(particle).collect::<Vec<_>>());
        }
        for root in 0..size {
            let process = world.process_at_rank(root as i32);
            let own = (rank == root).then(|| values(root));
            assert_eq!(process.broadcast_message(own).unwrap(), values(root));
            let all = process.gather_vec(&values(rank)).unwrap();
            assert_eq!(all, (rank == root).then(|| (0..size).map(values).collect()));
            let all: Option<Vec<_>> = (rank == root).then(|| (0..size).map(values).collect());
            assert_eq!(process.scatter_message(all.as_deref()).unwrap(), values(rank));
        }
    }
    mistakes(world);
}

/// A mistake on one rank is an error, after which the ranks can go on.
fn mistakes(world: &SimpleCommunicator) {
    let (rank, size) = (world.rank() as usize, world.size() as usize);
    let root = world.process_at_rank(0);
    let is_missing = |error: Error| {
        error.to_string().contains("the message from rank 0 cannot be read: this rank had no value to send")
    };
    let at_root = |error: Error| match rank {
        0 => error.to_string().contains("the root must pass `Some`"),
        _ => is_missing(error),
    };
    assert!(at_root(root.broadcast_message::<Config>(None).unwrap_err()));
    assert!(at_root(root.scatter_message::<Config>(None).unwrap_err()));
    let few = (rank == 0).then(|| vec![config(1); size + 1]);
    match root.scatter_message(few.as_deref()) {
        Err(Error::Messages { found, ranks, .. }) => assert_eq!((rank, found, ranks), (0, size + 1, size)),
        other => assert!(rank > 0 && is_missing(other.unwrap_err())),
    }
    let one_short = vec![config(1); if rank == 0 { size - 1 } else { size }];
    match world.all_to_all_vec(&one_short) {
        Err(Error::Messages { found, .. }) => assert_eq!((rank, found), (0, size - 1)),
        other => assert!(is_missing(other.unwrap_err())),
    }
    let deep = |levels: usize| (0..levels).fold(Deep(None), |deep, _| Deep(Some(Box::new(deep))));
    match world.all_gather_vec(&deep(if rank == 0 { 1000 } else { 1 })) {
        Err(error) if rank == 0 => assert!(error.to_string().contains("128 levels"), "{error}"),
        other => assert!(other.is_err_and(is_missing)),
    }
    assert_eq!(world.all_gather_vec(&rank).unwrap(), (0..size).collect::<Vec<_>>());
}
