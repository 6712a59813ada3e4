//! Scenarios for wires: values arrive on every wire, and a message that does not fit is an error that leaves
//! the destination unchanged.

use dtype_runtime::{
    Error, MpiDatatype, Wire, decode, layout,
    pack::{Data, DataMut},
    packed_size,
    traits::*,
    wire,
    wire::{send_receive_over, send_receive_over_with_tags, send_receive_packed},
};
use dtype_tests::is_misfit;
use mpi::{
    datatype::UserDatatype,
    request::scope,
    topology::{Process, SimpleCommunicator},
    traits::*,
};
use num_complex::Complex;

use crate::samples::{Nested, Particle, Sample, Visit, for_each_sample};

mod checked;
mod collective;
mod counts;
pub mod host;
pub mod hostile;
mod large;
mod matching;
mod measured;

pub use checked::checked;
pub use collective::{collectives, exact, nothing};
pub use counts::counts;
pub use large::{beyond_4_gib, beyond_counts, large};
pub use matching::{matching, matching_of_threads};
pub use measured::measured;

/// The wires that can carry every message.
const WIRES: [Wire; 4] = [Wire::Typed, Wire::Packed, Wire::Auto, Wire::Segments];

/// The numbers of values in a message: none, few, and more than fit in a segment.
const COUNTS: [usize; 4] = [0, 1, 33, 3000];

fn neighbours(world: &SimpleCommunicator) -> (Process<'_>, Process<'_>, i32) {
    let (rank, size) = (world.rank(), world.size());
    let previous = (rank + size - 1) % size;
    (world.process_at_rank((rank + 1) % size), world.process_at_rank(previous), previous)
}

fn values<T: Sample>(rank: i32, count: usize) -> Vec<T> {
    (0..count).map(|i| T::sample(i % 97 + 40 * rank as usize)).collect()
}

/// Sends a slice of every sample type to the next rank on every wire, with all calls.
pub fn round(world: &SimpleCommunicator) {
    struct Round<'a>(&'a SimpleCommunicator);
    impl Visit for Round<'_> {
        fn visit<T: Sample>(&mut self) {
            for count in COUNTS {
                for wire in WIRES.into_iter().chain([Wire::Bytes]) {
                    travel::<T>(self.0, wire, count);
                }
            }
        }
    }
    wire::attach(world).unwrap();
    for_each_sample(&mut Round(world));
    // Messages of many segments, also of a restricted type, whose values are checked before any is written.
    for wire in WIRES {
        travel::<Particle>(world, wire, 30_000);
        travel::<Nested>(world, wire, 30_000);
    }
}

fn travel<T: Sample>(world: &SimpleCommunicator, wire: Wire, count: usize) {
    let (next, previous, from) = neighbours(world);
    let (own, expected) = (values::<T>(world.rank(), count), values::<T>(from, count));
    let empty = || vec![T::sample(1234); count];
    let mut received = empty();
    match send_receive_over(wire, &own, &next, &mut received, &previous) {
        Ok(status) => assert_eq!(status.source_rank(), from),
        Err(Error::Wire { wire: "bytes", .. }) if wire == Wire::Bytes => return,
        Err(error) => panic!("{error}"),
    }
    assert_eq!(received, expected, "{wire:?} {count}");

    // Blocking calls: even ranks send first. A single rank has no other rank to receive from it.
    if world.size() > 1 {
        let mut received = empty();
        if world.rank() % 2 == 0 {
            next.send_over_with_tag(wire, &own[..], 7).unwrap();
        }
        let status = previous.receive_over_with_tag(wire, &mut received[..], 7).unwrap();
        assert_eq!((status.source_rank(), status.tag()), (from, 7));
        if world.rank() % 2 == 1 {
            next.send_over_with_tag(wire, &own[..], 7).unwrap();
        }
        assert_eq!(received, expected, "{wire:?} {count}");
    }

    // On the wire of segments, a blocking call receives the message of an immediate send.
    let mut received = empty();
    if wire == Wire::Segments {
        scope(|scope| {
            let send = next.immediate_send_over_with_tag(scope, wire, &own[..], 0).unwrap();
            previous.receive_over(wire, &mut received[..]).unwrap();
            send.wait().unwrap();
        });
        assert_eq!(received, expected, "{wire:?} {count}");
        return;
    }
    scope(|scope| {
        let receive = previous.immediate_receive_values_into(scope, &mut received[..]).unwrap();
        let send = next.immediate_send_over_with_tag(scope, wire, &own[..], 0).unwrap();
        receive.wait().unwrap();
        send.wait().unwrap();
    });
    assert_eq!(received, expected, "{wire:?} {count}");

    // A receive from any source, completed by polling. The barriers keep the messages of other calls out.
    world.barrier();
    let mut received = empty();
    scope(|scope| {
        let anybody = world.any_process();
        let mut receive = anybody.immediate_receive_values_into(scope, &mut received[..]).unwrap();
        let mut send = next.immediate_send_packed(scope, &own[..]).unwrap();
        while !(receive.is_done().unwrap() & send.is_done().unwrap()) {
            std::thread::yield_now();
        }
    });
    assert_eq!(received, expected, "{wire:?} {count}");
    world.barrier();
}

/// Views and data are received into views and data of another shape.
pub fn views(world: &SimpleCommunicator) {
    wire::attach(world).unwrap();
    let (next, previous, from) = neighbours(world);
    for n in [8usize, 300] {
        let number = |rank: i32, i: usize| f64::from(rank) * 1e6 + i as f64;
        let own: Vec<f64> = (0..n * n).map(|i| number(world.rank(), i)).collect();
        let columns = layout!(f64[n][n] => [.., ..;2]).unwrap();
        let rows = layout!(f64[n][n] => [..;2, ..]).unwrap();
        let expected: Vec<f64> = (0..n * n).filter(|i| i % n % 2 == 0).map(|i| number(from, i)).collect();
        for wire in WIRES {
            let mut received = vec![-1.0; n * n];
            let view = columns.of(&own).unwrap();
            send_receive_over(wire, &view, &next, &mut rows.of_mut(&mut received).unwrap(), &previous)
                .unwrap();
            let found: Vec<f64> = received.chunks(n).step_by(2).flatten().copied().collect();
            assert_eq!(found, expected);
            assert!(received.chunks(n).skip(1).step_by(2).flatten().all(|value| *value == -1.0));
        }
        // The datatype of a C program, of which only the plan is known here.
        let datatype = UserDatatype::vector((n * n / 2) as i32, 1, 2, &f64::equivalent_datatype());
        let plan = decode(&datatype).unwrap().plan().unwrap();
        let bytes: Vec<u8> = own.iter().flat_map(|number| number.to_ne_bytes()).collect();
        let mut received = vec![0u8; bytes.len()];
        let data = Data::new(&plan, 1, &bytes, 0).unwrap();
        let mut into = DataMut::new(&plan, 1, &mut received, 0).unwrap();
        send_receive_packed(&data, &next, &mut into, &previous).unwrap();
        assert!(matches!(next.send_over(Wire::Typed, &data), Err(Error::Wire { .. })));
        for (i, number_there) in received.as_chunks::<8>().0.iter().enumerate() {
            let expected = if i % 2 == 0 { number(from, i) } else { 0.0 };
            assert_eq!(f64::from_ne_bytes(*number_there), expected);
        }
    }
}

/// Complex numbers whose strides are not multiples of their size. Open MPI 5.0 rounds such strides down in
/// its own copies (`MPI_Pack` of an hvector of `MPI_C_DOUBLE_COMPLEX` with a stride of 24 bytes shows this).
pub fn complex(world: &SimpleCommunicator) {
    #[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
    #[repr(C)]
    struct Wave {
        wide: Complex<f64>,
        #[mpi(skip)]
        unsent: f64,
        other: Complex<f64>,
        narrow: [Complex<f32>; 3],
        tag: u32,
        last: u32,
    }

    fn wave(i: usize) -> Wave {
        let number = |k: usize| (10 * i + k) as f64;
        let (wide, other) = (Complex::new(number(1), number(2)), Complex::new(number(3), number(4)));
        let narrow = [5, 6, 7].map(|k| Complex::new(number(k) as f32, -number(k) as f32));
        Wave { wide, unsent: 0.0, other, narrow, tag: i as u32, last: !i as u32 }
    }

    wire::attach(world).unwrap();
    let (next, previous, from) = neighbours(world);
    // The messages are too long to travel eagerly. The buffer of an eager message may begin at an address for
    // which Open MPI's copies are right.
    let n = 4000;
    let of_rank = |rank: i32| -> Vec<Wave> { (0..n).map(|i| wave(i + 100 * rank as usize)).collect() };
    let (own, expected) = (of_rank(world.rank()), of_rank(from));
    for wire in WIRES {
        let mut received = vec![Wave::default(); n];
        send_receive_over(wire, &own[..], &next, &mut received[..], &previous).unwrap();
        assert_eq!(received, expected, "{wire:?}");

        macro_rules! column {
            ($($layout:tt)*) => {{
                let mut received = vec![Wave::default(); n];
                let layout = layout!($($layout)*).unwrap();
                let mut into = layout.of_mut(&mut received).unwrap();
                send_receive_over(wire, &layout.of(&own).unwrap(), &next, &mut into, &previous).unwrap();
                let packed = layout.of(&received).unwrap().pack();
                let expected = layout.of(&expected).unwrap().pack();
                assert!(packed == expected, "{wire:?}, {}", stringify!($($layout)*));
            }};
        }
        column!(Wave[n] => [..].wide);
        column!(Wave[n] => [..;3].other);
        column!(Wave[n] => [..].narrow[1]);
        column!(Wave[n] => [2..3900;5].wide);
    }
}

/// A message that does not fit is an error: the destination is unchanged, and the next message arrives.
pub fn misfits(world: &SimpleCommunicator) {
    other_sizes(world);
    other_sizes_immediately(world);
    others_messages(world);
    long_restricted(world);
}

/// A message of another size is an error that names both sizes.
fn other_sizes(world: &SimpleCommunicator) {
    let (sender, receiver) = (world.process_at_rank(0), world.process_at_rank(1));
    let particle = packed_size::<Particle>(1);
    wire::attach(world).unwrap();
    // The messages are shorter, longer, and much longer than the receiver expects.
    for (sent, expected) in
        [(9, 10), (10, 9), (0, 5), (20_000, 5), (5, 20_000), (20_000, 20_001), (30_000, 2000)]
    {
        for wire in WIRES {
            if world.rank() == 0 {
                receiver.send_over(wire, &values::<Particle>(0, sent)).unwrap();
                receiver.send_packed(&7u8).unwrap();
            } else if world.rank() == 1 {
                let mut into = values::<Particle>(5, expected);
                let error = sender.receive_over(wire, &mut into).unwrap_err();
                assert!(
                    is_misfit(&error, expected * particle, sent * particle),
                    "{wire:?}, {sent} to {expected}: {error}"
                );
                assert_eq!(into, values::<Particle>(5, expected), "the destination is as it was");
                let mut next = 0u8;
                sender.receive_values_into(&mut next).unwrap();
                assert_eq!(next, 7);
            }
        }
    }
}

fn other_sizes_immediately(world: &SimpleCommunicator) {
    let (sender, receiver) = (world.process_at_rank(0), world.process_at_rank(1));
    if world.rank() == 0 {
        receiver.send(&vec![1.0f64; 100_000][..]);
        receiver.send_packed(&[1u8; 3]).unwrap();
        receiver.send_packed(&vec![1.0f64; 100_000]).unwrap();
        receiver.send_packed(&[9u8; 2]).unwrap();
    } else if world.rank() == 1 {
        let mut into = [5u8; 2];
        for wait in [true, false, true] {
            let error = scope(|scope| {
                let mut receive = sender.immediate_receive_values_into(scope, &mut into).unwrap();
                if wait {
                    return receive.wait().unwrap_err();
                }
                loop {
                    match receive.is_done() {
                        Ok(done) => assert!(!done),
                        Err(error) => return error,
                    }
                }
            });
            assert!(matches!(error, Error::Fit { expected: 2, .. }), "{error}");
            assert_eq!(into, [5; 2]);
        }
        sender.receive_values_into(&mut into).unwrap();
        assert_eq!(into, [9; 2]);
    }
}

/// Messages that rsmpi sends: one of another size is an error, and one with a datatype of the same values
/// arrives.
fn others_messages(world: &SimpleCommunicator) {
    /// The counts of structs that MPI receives. They are small, because MPICH reports an error if the
    /// datatype of a struct receives 8 KiB or more of packed bytes.
    const COUNTS_RECEIVED: [usize; 2] = [4, 100];
    let (sender, receiver) = (world.process_at_rank(0), world.process_at_rank(1));
    if world.rank() == 0 {
        receiver.send(&[1.0f64; 7][..]);
        receiver.send(&vec![1.0f64; 100_000][..]);
        receiver.send(&values::<Particle>(0, 3)[..]);
        receiver.send(&[2u8, 0, 1, 1][..]);
        receiver.send(&[2u8; 200_000][..]);
        for count in COUNTS_RECEIVED {
            receiver.send_packed(&values::<Particle>(0, count)).unwrap();
        }
    } else if world.rank() == 1 {
        let mut into = [0.5f64; 3];
        let error = sender.receive_values_into(&mut into).unwrap_err();
        assert!(is_misfit(&error, 24, 56), "{error}");
        let error = sender.receive_values_into(&mut into).unwrap_err();
        assert!(is_misfit(&error, 24, 800_000), "{error}");
        assert_eq!(into, [0.5; 3]);
        let mut particles = values::<Particle>(5, 3);
        sender.receive_values_into(&mut particles).unwrap();
        assert_eq!(particles, values::<Particle>(0, 3));
        // Bytes that are not a valid value are an error.
        let mut flags = [true; 4];
        let error = sender.receive_values_into(&mut flags).unwrap_err();
        assert!(matches!(error, Error::InvalidValue { offset: 0, found: 2, .. }), "{error}");
        assert_eq!(flags, [true; 4]);
        let mut flags = vec![true; 200_000];
        assert!(matches!(sender.receive_values_into(&mut flags), Err(Error::InvalidValue { .. })));
        assert!(flags.iter().all(|flag| *flag));
        // The converse: packed by this library, received by MPI with a datatype.
        for count in COUNTS_RECEIVED {
            let mut particles = values::<Particle>(5, count);
            sender.receive_into(&mut particles[..]);
            assert_eq!(particles, values::<Particle>(0, count));
        }
    }
}

/// Long messages of a restricted type: all values are checked before any is written.
fn long_restricted(world: &SimpleCommunicator) {
    let (sender, receiver) = (world.process_at_rank(0), world.process_at_rank(1));
    if world.rank() == 0 {
        receiver.send_packed(&vec![3u8; 300_000]).unwrap();
        receiver.send_packed(&vec![1u8; 300_000]).unwrap();
    } else if world.rank() == 1 {
        let mut flags = vec![false; 300_000];
        assert!(matches!(sender.receive_values_into(&mut flags), Err(Error::InvalidValue { .. })));
        assert!(flags.iter().all(|flag| !*flag));
        sender.receive_values_into(&mut flags).unwrap();
        assert!(flags.iter().all(|flag| *flag));
    }
}

/// Several threads at a time, each with a tag of its own, exchange long messages, and decode and build
/// datatypes.
pub fn threads() {
    let (universe, threading) =
        mpi::initialize_with_threading(mpi::Threading::Multiple).expect("MPI is initialized once");
    assert_eq!(threading, mpi::Threading::Multiple);
    let rank = universe.world().rank();
    wire::attach(&universe.world()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let world = SimpleCommunicator::world();
                let other = world.process_at_rank(1 - rank);
                for round in 0..20 {
                    let n = 3 + (round * 7 + thread as usize) % 5;
                    let datatype = UserDatatype::vector(n as i32, 1, 2, &f64::equivalent_datatype());
                    let decoded = decode(&datatype).unwrap();
                    assert_eq!(decoded.tree().measure().unwrap().entries, n as u64);
                    decoded.datatype().unwrap();
                    layout!(f64[n][n] => [.., 0]).unwrap().datatype().unwrap();
                    let of = |rank: i32| values::<Particle>(rank + 10 * thread, 4000 * (1 + round % 4));
                    let mut received = vec![Particle::sample(1); 4000 * (1 + round % 4)];
                    send_receive_over_with_tags(
                        WIRES[round % 4],
                        &of(rank),
                        &other,
                        thread,
                        &mut received,
                        &other,
                        thread,
                    )
                    .unwrap();
                    assert!(received == of(1 - rank));
                }
            });
        }
    });
    drop(universe);
}

/// Calls that use a broken table of wires return an error. All other calls work.
pub fn table(world: &SimpleCommunicator) {
    let own = world.process_at_rank(0);
    let (numbers, n) = (vec![1.0f64; 64], 8);
    let column = layout!(f64[n][n] => [.., 1]).unwrap();
    let mut received = vec![0.0f64; 8];
    let view = column.of(&numbers).unwrap();
    scope(|scope| {
        let error = own.send_over(Wire::Auto, &view).unwrap_err();
        assert!(matches!(error, Error::Table { .. }), "{error}");
        println!("{error}");
        let send = own.immediate_send_packed(scope, &view).unwrap();
        own.receive_values_into(&mut received).unwrap();
        send.wait().unwrap();
    });
    assert_eq!(received, [1.0; 8]);
}
