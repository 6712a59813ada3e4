//! The checked mode, `DTYPE_CHECK=1`: a message of other base types, or of another number of them, is an
//! error.

use dtype_runtime::{Comm, Error, MpiDatatype, Wire, layout};
use mpi::{topology::SimpleCommunicator, traits::*};

#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Sent {
    value: f64,
    id: u32,
}

/// A struct with the same number of bytes, but other base types.
#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Other {
    id: u32,
    value: f64,
}

/// A struct with the same base types, but another layout and other names.
#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
struct Same {
    inner: (f64, u32),
}

fn sent(n: usize) -> Vec<Sent> {
    (0..n).map(|i| Sent { value: i as f64, id: i as u32 }).collect()
}

pub fn checked(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    world.attach().unwrap();
    let other = world.peer(1 - world.rank());
    for wire in super::WIRES {
        for n in [1usize, 100, 60_000] {
            if world.rank() == 0 {
                for tag in 3..7 {
                    other.wire(wire).tag(tag).send(&sent(n)).unwrap();
                }
                continue;
            }
            // Other base types in the same number of bytes.
            let mut wrong = vec![Other::default(); n];
            let error = other.wire(wire).tag(3).receive_into(&mut wrong[..]).unwrap_err();
            let times = if n == 1 { String::new() } else { format!("{n} × ") };
            let size = 12 * n;
            assert_eq!(
                error.to_string(),
                format!(
                    "the message with tag 3 from rank 0 holds {times}{{f64, u32}} ({size} packed bytes), but \
                     its destination holds {times}{{u32, f64}} ({size} packed bytes): sender and receiver \
                     must have the same base types in the same order, as many of them"
                )
            );
            assert!(wrong.iter().all(|value| *value == Other::default()));
            // Another number of values.
            let error = other.wire(wire).tag(4).receive_into(&mut sent(n + 1)[..]).unwrap_err();
            assert!(matches!(error, Error::Mismatch { rank: 0, tag: Some(4), .. }), "{error}");
            // A destination of other base types that is longer than the message.
            let mut longer = vec![0u8; 12 * n + 256];
            let error = other.wire(wire).tag(5).receive_into(&mut longer[..]).unwrap_err();
            assert!(matches!(error, Error::Mismatch { rank: 0, tag: Some(5), .. }), "{error}");
            let mut right = vec![Same::default(); n];
            other.wire(wire).tag(6).receive_into(&mut right[..]).unwrap();
            assert!(right.iter().zip(sent(n)).all(|(value, sent)| value.inner == (sent.value, sent.id)));
        }
    }
    whatever_comes(world);
    immediately(world);
    probed(world);
    // The message of a plain call has no description, and so is not checked.
    if world.rank() == 0 {
        world.process_at_rank(1).send(&sent(3)[..]);
    } else {
        let mut right = vec![Sent::default(); 3];
        other.receive_into(&mut right[..]).unwrap();
        assert_eq!(right, sent(3));
    }
    collectives(world);
}

/// Places that take any number of values are checked as well.
fn whatever_comes(world: &Comm<&SimpleCommunicator>) {
    let other = world.peer(1 - world.rank());
    for n in [1usize, 100, 60_000] {
        if world.rank() == 0 {
            for _ in 0..4 {
                other.send(&sent(n)).unwrap();
            }
            continue;
        }
        let is_told = |error: &Error| matches!(error, Error::Mismatch { rank: 0, tag: Some(0), .. });
        let error = other.receive::<Vec<Other>>().unwrap_err();
        assert!(is_told(&error), "{error}");
        let error = other.receive_into(&mut vec![Other::default(); n]).unwrap_err();
        assert!(is_told(&error), "{error}");
        let error = other.start().receive::<Vec<Other>>().unwrap().finish().unwrap_err();
        assert!(is_told(&error), "{error}");
        let right: Vec<Same> = other.receive().unwrap();
        assert_eq!(right.len(), n);
    }
}

fn immediately(world: &Comm<&SimpleCommunicator>) {
    let other = world.peer(1 - world.rank());
    let matrix = [[0.5f64; 4]; 4];
    let column = layout!(f64[4][4] => [.., 1]);
    // A message of other types, and one that is also longer than the destination.
    let mut into = [7u64; 4];
    for (n, of_own) in [(4, "4 × u64 (32 packed bytes)"), (1, "u64 (8 packed bytes)")] {
        if world.rank() == 0 {
            other.tag(9).send(&column.of(&matrix)).unwrap();
            continue;
        }
        let error = other.tag(9).start().receive_into(&mut into[..n]).unwrap().finish().unwrap_err();
        let Error::Mismatch { rank: 0, tag: Some(9), expected, found } = error else { panic!("{error}") };
        assert_eq!((expected.as_str(), found.as_str()), (of_own, "4 × f64 (32 packed bytes)"));
    }
    assert_eq!(into, [7; 4]);
}

/// The checked mode does not change the length of a message that a program sees, and plain calls receive it.
fn probed(world: &Comm<&SimpleCommunicator>) {
    let other = world.peer(1 - world.rank());
    let plainly = world.process_at_rank(1 - world.rank() as i32);
    for n in [0usize, 1, 100, 60_000] {
        for wire in [Wire::Typed, Wire::Packed, Wire::Auto] {
            // In MPICH, a plain receive of the packed bytes of many structs is an error.
            let is_plain = wire == Wire::Typed || n <= 100;
            if world.rank() == 0 {
                for _ in 0..if is_plain { 5 } else { 2 } {
                    other.wire(wire).tag(8).send(&sent(n)).unwrap();
                }
                // A plain message with as many bytes. This library receives it after plain calls have
                // received checked messages.
                plainly.send_with_tag(&vec![Other { id: 7, value: 0.5 }; n][..], 8);
                let values = sent(n);
                world.scope(|scope| scope.peer(1).wire(wire).tag(9).send(&values)).unwrap();
                continue;
            }
            let count = |status: mpi::point_to_point::Status| {
                assert_eq!(status.count(u8::equivalent_datatype()), 12 * n as i32);
                status.count(Sent::datatype().unwrap()) as usize
            };
            assert_eq!(count(plainly.probe_with_tag(8)), n, "{wire:?}");
            let arrived = loop {
                if let Some(arrived) = world.any().tag(8).probe().unwrap() {
                    break arrived;
                }
            };
            assert_eq!((arrived.size(), arrived.count::<Sent>().unwrap()), (12 * n, n), "{wire:?}");
            let mut into = vec![Sent::default(); count(world.any_process().probe_with_tag(8))];
            world.any().receive_into(&mut into[..]).unwrap();
            assert_eq!(into, sent(n));
            if is_plain {
                let (message, status) = plainly.matched_probe_with_tag(8);
                let mut into = vec![Sent::default(); count(status)];
                assert_eq!(count(message.matched_receive_into(&mut into[..])), n);
                assert_eq!(into, sent(n));
                into.fill(Sent::default());
                assert_eq!(count(plainly.receive_into_with_tag(&mut into[..], 8)), n);
                assert_eq!(into, sent(n));
                let (into, status) = plainly.receive_vec_with_tag::<Sent>(8);
                assert_eq!((into, count(status)), (sent(n), n));
            }
            into.fill(Sent::default());
            other.tag(8).start().receive_into(&mut into[..]).unwrap().finish().unwrap();
            assert_eq!(into, sent(n));
            let mut plain = vec![Other::default(); n];
            other.tag(8).receive_into(&mut plain[..]).unwrap();
            assert!(plain.iter().all(|value| *value == Other { id: 7, value: 0.5 }));
            // A message of other types is still an error.
            let found = other.tag(9).receive_into(&mut vec![Other::default(); n][..]);
            assert_eq!(matches!(found, Err(Error::Mismatch { .. })), n > 0, "{found:?}");
        }
    }
}

fn collectives(world: &Comm<&SimpleCommunicator>) {
    let (rank, ranks) = (world.rank(), world.size());
    let told = |result: Result<(), Error>| {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Mismatch { tag: None, .. }), "{error}");
    };
    let is_root = rank == 0;
    let own = vec![Sent::default(); 2];
    let mut all = vec![Other { id: 5, value: 5.0 }; 2 * ranks];
    let before = all.clone();
    told(world.all_gather_into(&own, &mut all[..]));
    told(world.all_gather_into(&own, &mut all.clone()));
    told(world.all_to_all_into(&vec![Sent::default(); ranks], &mut all[..ranks]));
    let mut each = vec![vec![Other::default(); 2]; ranks];
    told(world.all_to_all_into(&vec![own.clone(); ranks], &mut each));
    let mut each: Vec<_> = all.chunks_exact_mut(2).collect();
    told(world.all_to_all_into(&vec![own.clone(); ranks], &mut each));
    let gathered = world.gather_into(0, &own, is_root.then_some(&mut all[..]));
    if is_root {
        told(gathered);
        world.broadcast_into(0, &mut vec![Sent::default(); 50_000][..]).unwrap();
        told(world.scatter_into(0, Some(&vec![Sent::default(); 2 * ranks]), &mut all[..2]));
    } else {
        gathered.unwrap();
        let mut broadcast = vec![before[0]; 50_000];
        told(world.broadcast_into(0, &mut broadcast[..]));
        assert!(broadcast.iter().all(|value| *value == before[0]));
        told(world.scatter_into::<[Sent], _>(0, None, &mut all[..2]));
    }
    assert_eq!(all, before);
    // Messages of the right types arrive, from ranks with different numbers of values.
    let mut all = vec![Same::default(); (0..ranks).map(|rank| rank + 1).sum()];
    world.all_gather_into(&vec![Sent { value: rank as f64, id: 1 }; rank + 1], &mut all[..]).unwrap();
    assert!(all.last().is_some_and(|last| last.inner == (ranks as f64 - 1.0, 1)));
}
