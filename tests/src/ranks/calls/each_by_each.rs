//! Every call that sends, received by every call that receives: one row, one column.

use std::{collections::BTreeMap, fmt::Debug};

use dtype_runtime::*;
use mpi::{topology::SimpleCommunicator, traits::*};

use crate::samples::{Particle, Sample};

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
    value: u32,
}

#[derive(MpiMessage, Clone, Debug, PartialEq)]
struct Task {
    title: String,
    steps: Vec<f64>,
    names: BTreeMap<String, Vec<u16>>,
    next: Option<Box<Task>>,
}

/// The number of calls that send, and of those that receive.
const SENDS: usize = 9;
const RECEIVES: usize = 13;

fn send<T: Message>(world: &Comm<&SimpleCommunicator>, call: usize, value: &T) -> Result {
    let peer = world.peer(1);
    match call {
        0 => peer.send(value),
        1 => peer.tag(0).send(value),
        2 => peer.synchronous().send(value),
        3 => peer.start().send(value)?.finish(),
        4 => {
            let mut pending = peer.start().send(value)?;
            while !pending.is_done()? {}
            pending.finish()
        }
        5 => world.exchange::<T, [u8]>([(1, value)], []),
        6 => world.scope(|scope| scope.peer(1).send(value)),
        7 => peer.wire(Wire::Packed).send(value),
        _ => peer.wire(Wire::Auto).send(value),
    }
}

fn receive<T: FromMessage>(world: &Comm<&SimpleCommunicator>, call: usize, mut old: T) -> Result<T> {
    let peer = world.peer(0);
    match call {
        0 => peer.receive(),
        1 => peer.receive_into(&mut old).map(|()| old),
        2 => loop {
            if let Some(value) = peer.try_receive()? {
                return Ok(value);
            }
        },
        3 => {
            let (value, from): (T, Peer<'_>) = world.any().receive()?;
            assert_eq!(from.rank(), 0);
            Ok(value)
        }
        4 => {
            assert_eq!(world.any().tag(0).wire(Wire::Packed).receive_into(&mut old)?.rank(), 0);
            Ok(old)
        }
        5 => peer.start().receive()?.finish(),
        6 => {
            let mut pending = peer.start().receive_into(&mut old)?;
            while !pending.is_done()? {}
            pending.finish()?;
            Ok(old)
        }
        7 => {
            world.scope(|scope| scope.peer(0).receive_into(&mut old))?;
            Ok(old)
        }
        8 => world.exchange::<[u8], T>([], [(0, &mut old)]).map(|()| old),
        9 => loop {
            if let Some(arrived) = world.any().probe()? {
                assert_eq!((arrived.from().rank(), arrived.tag()), (0, 0));
                return arrived.from().receive();
            }
        },
        10 => {
            let (value, from) = world.any().start().receive()?.finish()?;
            assert_eq!(from.rank(), 0);
            Ok(value)
        }
        11 => {
            let mut pending = world.any().start().receive_into(&mut old)?;
            while !pending.is_done()? {}
            assert_eq!(pending.finish()?.rank(), 0);
            Ok(old)
        }
        _ => loop {
            if let Some((value, from)) = world.any().try_receive()? {
                assert_eq!(from.rank(), 0);
                return Ok(value);
            }
        },
    }
}

/// Sends a value by every call, and receives it by every call.
fn all<T: FromMessage + Message + Clone + Debug + PartialEq>(
    world: &Comm<&SimpleCommunicator>,
    value: &T,
    old: &T,
) {
    for sending in 0..SENDS {
        for receiving in 0..RECEIVES {
            if world.rank() == 0 {
                send(world, sending, value).unwrap();
            } else if world.rank() == 1 {
                let received = receive(world, receiving, old.clone()).unwrap();
                assert_eq!(received, *value, "call {sending} by call {receiving}");
            }
        }
    }
}

/// Like [`all`], for values that rsmpi's own calls take as well.
fn all_and_rsmpi<T: MpiDatatype + Equivalence + FromMessage + Clone + Debug + PartialEq>(
    world: &Comm<&SimpleCommunicator>,
    values: &[T],
) {
    let others = values.iter().rev().cloned().collect::<Vec<_>>();
    all(world, &values.to_vec(), &others);
    all(world, &values[0], &others[0]);
    for receiving in 0..RECEIVES {
        if world.rank() == 0 {
            world.process_at_rank(1).send(values);
        } else if world.rank() == 1 {
            assert_eq!(receive(world, receiving, others.clone()).unwrap(), values, "by call {receiving}");
        }
    }
    for receiving in 0..RECEIVES {
        if world.rank() == 0 {
            let peer = world.peer(1);
            peer.wire(Wire::Typed).send(values).unwrap();
            world.scope(|scope| scope.peer(1).wire(Wire::Typed).send(values)).unwrap();
            let typed = peer.wire(Wire::Typed).start().send(values);
            assert!(matches!(typed, Err(Error::Wire { .. })));
        } else if world.rank() == 1 {
            for _ in 0..2 {
                assert_eq!(receive(world, receiving, others.clone()).unwrap(), values, "by call {receiving}");
            }
        }
    }
    for sending in 0..SENDS {
        if world.rank() == 0 {
            send(world, sending, &values.to_vec()).unwrap();
        } else if world.rank() == 1 {
            let mut received = others.clone();
            world.process_at_rank(0).receive_into(&mut received[..]);
            assert_eq!(received, values, "call {sending}");
        }
    }
}

pub fn each_by_each(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let particles: Vec<_> = (0..50).map(Particle::sample).collect();
    all_and_rsmpi(world, &particles);
    all_and_rsmpi(world, &[0.5f64, 1.5, 2.5]);
    all_and_rsmpi(world, &[true, false]);
    let task = Task {
        title: "title".to_owned(),
        steps: vec![0.5; 20_000],
        names: BTreeMap::from([("a".to_owned(), vec![1, 2])]),
        next: Some(Box::new(Task {
            title: String::new(),
            steps: Vec::new(),
            names: BTreeMap::new(),
            next: None,
        })),
    };
    let other = Task { steps: vec![1.0; 3], next: None, ..task.clone() };
    all(world, &task, &other);
    all(world, &vec![task.clone(), other.clone()], &vec![other.clone()]);
    all(world, &Some(task.clone()), &None);
    all(world, &"text".to_owned(), &String::new());
    all(world, &("text".to_owned(), 0.5), &(String::new(), 1.5));
    all(world, &Some(particles.clone()), &None);
    // Tuples of plain values are plain.
    all(world, &(7u8, 0.5f64), &(0, 0.0));
    all(world, &vec![(7u8, 0.5f64, [1i16, 2, 3], 'a'); 10_000], &Vec::new());
    all(world, &((1u8, 2u64), [(true, 0.5f32); 3]), &((0, 0), [(false, 0.0); 3]));
    all(world, &[[0.5f64; 3]; 4], &[[0.0; 3]; 4]);
    all(world, &vec![[0.5f64; 3]; 4], &vec![[0.0; 3]; 7]);
    all(world, &['a', 'ß'], &['x', 'y']);
    all(world, &Box::new([0.5f64; 100]), &Box::new([0.0; 100]));
    all(world, &vec![0.25f32; 3].into_boxed_slice(), &Box::default());
    all(world, &vec![0u8; 1 << 20], &Vec::new());
    all(world, &Vec::<f64>::new(), &vec![0.5]);
    all(world, &vec![Whole { tag: 1, value: 2 }; 3], &Vec::new());
    let (whole, other) = (Whole { tag: 1, value: 2 }, Whole { tag: 0, value: 0 });
    all(world, &whole, &other);
    all(world, &[whole; 2], &[other; 2]);
    all(world, &(whole, 3u8), &(other, 0));
    all(world, &vec![(3u8, [whole; 2], 'a'); 20], &Vec::new());
    // Values without bytes.
    all(world, &[(1u8, 'a'); 0], &[(1u8, 'a'); 0]);
    all(world, &([0.5f64; 0], 1u8), &([0.5; 0], 0));
    // A skipped field gets its default, or stays as it is.
    let node = Node { phase: Phase::Liquid, letter: 'ß', neighbours: Vec::new(), weight: 0.5 };
    let old = Node { phase: Phase::Solid, letter: 'a', neighbours: Vec::new(), weight: 0.0 };
    all(world, &node, &old);
    all(world, &vec![node.clone(); 30], &vec![old.clone(); 2]);
    let mut place = Node { neighbours: vec![1, 2], ..old };
    match world.rank() {
        0 => world.peer(1).send(&node).unwrap(),
        1 => {
            world.peer(0).receive_into(&mut place).unwrap();
            assert_eq!(place, Node { neighbours: vec![1, 2], ..node });
        }
        _ => {}
    }
}
