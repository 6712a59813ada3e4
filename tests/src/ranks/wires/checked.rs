//! The checked mode, `DTYPE_CHECK=1`: a message of other base types, or of another number of them, is an
//! error.

use dtype_runtime::{Error, MpiDatatype, Wire, layout, traits::*, wire};
use mpi::{request::scope, topology::SimpleCommunicator, traits::*};

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

pub fn checked(world: &SimpleCommunicator) {
    wire::attach(world).unwrap();
    let other = world.process_at_rank(1 - world.rank());
    let own = |n: usize| (0..n).map(|i| Sent { value: i as f64, id: i as u32 }).collect::<Vec<_>>();
    for wire in super::WIRES {
        for n in [1usize, 100, 60_000] {
            if world.rank() == 0 {
                for tag in 3..7 {
                    other.send_over_with_tag(wire, &own(n), tag).unwrap();
                }
                continue;
            }
            // Other base types in the same number of bytes.
            let mut wrong = vec![Other::default(); n];
            let error = other.receive_over_with_tag(wire, &mut wrong, 3).unwrap_err();
            let times = if n == 1 { String::new() } else { format!("{n} × ") };
            let size = 12 * n;
            assert_eq!(
                error.to_string(),
                format!(
                    "the message with tag 3 from rank 0 holds {times}{{f64, u32}} ({size} packed bytes), but \
                     its destination holds {times}{{u32, f64}} ({size} packed bytes): sender and receiver \
                     must have the same base types in the same order"
                )
            );
            assert!(wrong.iter().all(|value| *value == Other::default()));
            // Another number of values.
            let error = other.receive_over_with_tag(wire, &mut own(n + 1), 4).unwrap_err();
            assert!(matches!(error, Error::Mismatch { rank: 0, tag: Some(4), .. }), "{error}");
            // A destination of other base types that is longer than the message.
            let error = other.receive_over_with_tag(wire, &mut vec![0u8; 12 * n + 256], 5).unwrap_err();
            assert!(matches!(error, Error::Mismatch { rank: 0, tag: Some(5), .. }), "{error}");
            let mut right = vec![Same::default(); n];
            other.receive_over_with_tag(wire, &mut right, 6).unwrap();
            assert!(right.iter().zip(own(n)).all(|(value, sent)| value.inner == (sent.value, sent.id)));
        }
    }
    immediately(world);
    probed(world);
    // The message of a plain call has no description, and so is not checked.
    if world.rank() == 0 {
        other.send(&own(3)[..]);
    } else {
        let mut right = own(0);
        right.resize(3, Sent::default());
        other.receive_values_into(&mut right).unwrap();
        assert_eq!(right, own(3));
    }
    collectives(world);
}

fn immediately(world: &SimpleCommunicator) {
    let other = world.process_at_rank(1 - world.rank());
    let matrix = [[0.5f64; 4]; 4];
    let column = layout!(f64[4][4] => [.., 1]);
    // A message of other types, and one that is also longer than the destination.
    let mut into = [7u64; 4];
    for (n, of_own) in [(4, "4 × u64 (32 packed bytes)"), (1, "u64 (8 packed bytes)")] {
        scope(|scope| {
            if world.rank() == 0 {
                let view = column.of(&matrix);
                other.send_over_with_tag(Wire::Auto, &view, 9).unwrap();
                return;
            }
            let receive = other.immediate_receive_values_into_with_tag(scope, &mut into[..n], 9).unwrap();
            let error = receive.wait().unwrap_err();
            let Error::Mismatch { rank: 0, tag: Some(9), expected, found } = error else { panic!("{error}") };
            assert_eq!((expected.as_str(), found.as_str()), (of_own, "4 × f64 (32 packed bytes)"));
        });
    }
    assert_eq!(into, [7; 4]);
}

/// The checked mode does not change the length of a message that a program sees, and plain calls receive it.
fn probed(world: &SimpleCommunicator) {
    let other = world.process_at_rank(1 - world.rank());
    let own = |n: usize| (0..n).map(|i| Sent { value: i as f64, id: i as u32 }).collect::<Vec<_>>();
    for n in [0usize, 1, 100, 60_000] {
        for wire in [Wire::Typed, Wire::Packed, Wire::Auto] {
            // In MPICH, a plain receive of the packed bytes of many structs is an error.
            let is_plain = wire == Wire::Typed || n <= 100;
            if world.rank() == 0 {
                for _ in 0..if is_plain { 5 } else { 2 } {
                    other.send_over_with_tag(wire, &own(n), 8).unwrap();
                }
                // A plain message with as many bytes. This library receives it after plain calls have
                // received checked messages.
                other.send_with_tag(&vec![Other { id: 7, value: 0.5 }; n][..], 8);
                let values = own(n);
                scope(|scope| {
                    other.immediate_send_over_with_tag(scope, wire, &values, 9).unwrap().wait().unwrap();
                });
                continue;
            }
            let count = |status: mpi::point_to_point::Status| {
                assert_eq!(status.count(u8::equivalent_datatype()), 12 * n as i32);
                status.count(Sent::datatype().unwrap()) as usize
            };
            assert_eq!(count(other.probe_with_tag(8)), n, "{wire:?}");
            let mut into = vec![Sent::default(); count(world.any_process().probe_with_tag(8))];
            world.any_process().receive_values_into(&mut into).unwrap();
            assert_eq!(into, own(n));
            if is_plain {
                let (message, status) = other.matched_probe_with_tag(8);
                let mut into = vec![Sent::default(); count(status)];
                assert_eq!(count(message.matched_receive_into(&mut into[..])), n);
                assert_eq!(into, own(n));
                into.fill(Sent::default());
                assert_eq!(count(other.receive_into_with_tag(&mut into[..], 8)), n);
                assert_eq!(into, own(n));
                let (into, status) = other.receive_vec_with_tag::<Sent>(8);
                assert_eq!((into, count(status)), (own(n), n));
            }
            into.fill(Sent::default());
            scope(|scope| {
                let receive = other.immediate_receive_values_into_with_tag(scope, &mut into, 8).unwrap();
                assert_eq!(count(receive.wait().unwrap()), n);
            });
            assert_eq!(into, own(n));
            let mut plain = vec![Other::default(); n];
            other.receive_values_into_with_tag(&mut plain, 8).unwrap();
            assert!(plain.iter().all(|value| *value == Other { id: 7, value: 0.5 }));
            // A message of other types is still an error.
            let found = other.receive_values_into_with_tag(&mut vec![Other::default(); n], 9);
            assert_eq!(matches!(found, Err(Error::Mismatch { .. })), n > 0, "{found:?}");
        }
    }
}

fn collectives(world: &SimpleCommunicator) {
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let told = |result: Result<(), Error>| {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Mismatch { tag: None, .. }), "{error}");
    };
    let sent = vec![Sent::default(); 2];
    let mut all = vec![Other { id: 5, value: 5.0 }; 2 * ranks];
    let before = all.clone();
    told(world.all_gather_packed(&sent, &mut all));
    told(world.all_to_all_packed(&vec![Sent::default(); ranks], &mut all[..ranks]));
    let mut each = vec![vec![Other::default(); 2]; ranks];
    told(world.all_to_all_varcount_packed(&vec![sent.clone(); ranks], &mut each));
    let root = world.process_at_rank(0);
    if rank == 0 {
        told(root.gather_packed_into_root(&sent, &mut all));
        root.broadcast_packed(&mut vec![Sent::default(); 50_000]).unwrap();
        told(root.scatter_packed_into_root(&vec![Sent::default(); 2 * ranks], &mut all[..2]));
    } else {
        root.gather_packed(&sent).unwrap();
        let mut broadcast = vec![before[0]; 50_000];
        told(root.broadcast_packed(&mut broadcast));
        assert!(broadcast.iter().all(|value| *value == before[0]));
        told(root.scatter_packed_into(&mut all[..2]));
    }
    assert_eq!(all, before);
    // Messages of the right types arrive, from ranks with different numbers of values.
    let mut all = vec![Same::default(); (0..ranks).map(|rank| rank + 1).sum()];
    world.all_gather_packed(&vec![Sent { value: rank as f64, id: 1 }; rank + 1], &mut all).unwrap();
    assert!(all.last().is_some_and(|last| last.inner == (ranks as f64 - 1.0, 1)));
}
