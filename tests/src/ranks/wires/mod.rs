//! Scenarios for wires: values arrive on every wire, and a message that does not fit is an error that leaves
//! the destination unchanged.

use dtype_runtime::pack::Error as PackError;
use dtype_runtime::{
    Comm, Error, Message, MpiDatatype, Place, Wire, decode, layout,
    pack::{Data, DataMut},
    packed_size,
};
use dtype_tests::is_misfit;
use mpi::{datatype::UserDatatype, topology::SimpleCommunicator, traits::*};
use num_complex::Complex;

use crate::samples::{Nested, Particle, Sample, Visit, for_each_sample};

mod checked;
mod collective;
mod counts;
pub mod host;
pub mod hostile;
mod large;
mod matching;
mod parts;

pub use checked::checked;
pub use collective::{collectives, even, nothing};
pub use counts::counts;
pub use large::{beyond_4_gib, beyond_counts, large};
pub use matching::{matching, matching_of_threads};
pub use parts::parts;

/// The wires that can carry every message.
const WIRES: [Wire; 4] = [Wire::Typed, Wire::Packed, Wire::Auto, Wire::Segments];

/// The numbers of values in a message: none, few, and more than fit in a segment.
const COUNTS: [usize; 4] = [0, 1, 33, 3000];

/// Returns the next rank and the previous one on a ring.
fn around<C>(world: &Comm<C>) -> [usize; 2] {
    let (rank, size) = (world.rank(), world.size());
    [(rank + 1) % size, (rank + size - 1) % size]
}

fn values<T: Sample>(rank: usize, count: usize) -> Vec<T> {
    (0..count).map(|i| T::sample(i % 97 + 40 * rank)).collect()
}

/// Sends a message to the next rank, and receives one from the previous rank, on a wire.
fn shift<S, R>(
    world: &Comm<&SimpleCommunicator>,
    wire: Wire,
    tag: i32,
    message: &S,
    place: &mut R,
) -> Result<(), Error>
where
    S: Message + ?Sized,
    R: Place + ?Sized,
{
    let [next, previous] = around(world);
    // A message in segments is sent only by a call that waits. So even ranks send first, and a single rank,
    // which nobody receives from, uses another wire.
    if wire == Wire::Segments && world.size() > 1 {
        let (to, from) = (world.peer(next).tag(tag).wire(wire), world.peer(previous).tag(tag).wire(wire));
        if world.rank() % 2 == 0 {
            to.send(message)?;
            return from.receive_into(place);
        }
        let received = from.receive_into(place);
        return to.send(message).and(received);
    }
    let wire = if wire == Wire::Segments { Wire::Packed } else { wire };
    world.scope(|scope| {
        scope.peer(next).tag(tag).wire(wire).send(message)?;
        scope.peer(previous).tag(tag).receive_into(place)
    })
}

/// Sends a slice of every sample type to the next rank on every wire, with all calls.
pub fn round(world: &SimpleCommunicator) {
    struct Round<'a>(&'a Comm<&'a SimpleCommunicator>);
    impl Visit for Round<'_> {
        fn visit<T: Sample>(&mut self) {
            for count in COUNTS {
                for wire in WIRES.into_iter().chain([Wire::Bytes]) {
                    travel::<T>(self.0, wire, count);
                }
            }
        }
    }
    let world = &Comm::from(world);
    world.attach().unwrap();
    for_each_sample(&mut Round(world));
    // Messages of many segments, also of a restricted type, whose values are checked before any is written.
    for wire in WIRES {
        travel::<Particle>(world, wire, 30_000);
        travel::<Nested>(world, wire, 30_000);
    }
    // Segments are sent only by a call that waits, and the datatype of a message only while it is borrowed.
    let (next, particles) = (around(world)[0], values::<Particle>(0, 3000));
    let there = world.peer(next).wire(Wire::Segments);
    for result in [
        there.start().send(&particles).map(drop),
        there.synchronous().send(&particles),
        world.scope(|scope| scope.peer(next).wire(Wire::Segments).send(&particles)),
    ] {
        assert!(matches!(result, Err(Error::Wire { wire: "segments", .. })), "{result:?}");
    }
    let result = there.wire(Wire::Typed).start().send(&particles).map(drop);
    assert!(matches!(result, Err(Error::Wire { wire: "typed", .. })), "{result:?}");
}

fn travel<T: Sample>(world: &Comm<&SimpleCommunicator>, wire: Wire, count: usize) {
    let [next, previous] = around(world);
    let (to, from) = (world.peer(next).wire(wire), world.peer(previous).wire(wire));
    let (own, expected) = (values::<T>(world.rank(), count), values::<T>(previous, count));
    let empty = || vec![T::sample(1234); count];
    let mut received = empty();
    match shift(world, wire, 0, &own, &mut received[..]) {
        Ok(()) => {}
        Err(Error::Wire { wire: "bytes", .. }) if wire == Wire::Bytes => {
            for result in [to.send(&own), to.synchronous().send(&own[..])] {
                assert!(matches!(result, Err(Error::Wire { wire: "bytes", .. })), "{result:?}");
            }
            assert_eq!(received, empty());
            return;
        }
        Err(error) => panic!("{error}"),
    }
    assert_eq!(received, expected, "{wire:?} {count}");

    // Blocking calls: even ranks send first. A single rank has no other rank to receive from it.
    if world.size() > 1 {
        let mut received = empty();
        if world.rank() % 2 == 0 {
            to.tag(7).send(&own[..]).unwrap();
        }
        if wire == Wire::Segments {
            from.tag(7).receive_into(&mut received[..]).unwrap();
        } else {
            let arrived = loop {
                if let Some(arrived) = from.probe().unwrap() {
                    break arrived;
                }
                std::thread::yield_now();
            };
            assert_eq!((arrived.from().rank(), arrived.tag()), (previous, 7));
            // Values without bytes cannot be counted.
            if packed_size::<T>(1) > 0 {
                assert_eq!(arrived.count::<T>().unwrap(), count);
            }
            arrived.from().wire(wire).receive_into(&mut received[..]).unwrap();
        }
        if world.rank() % 2 == 1 {
            to.tag(7).send(&own[..]).unwrap();
        }
        assert_eq!(received, expected, "{wire:?} {count}");
    }
    if wire == Wire::Segments {
        return;
    }

    let start = || {
        // A message that is sent by its datatype is borrowed, so it is not started here.
        let to = if wire == Wire::Typed { to.wire(Wire::Packed) } else { to };
        to.start().send(&own[..]).unwrap()
    };
    let mut received = empty();
    let receiving = from.start().receive_into(&mut received[..]).unwrap();
    let sending = start();
    receiving.finish().unwrap();
    sending.finish().unwrap();
    assert_eq!(received, expected, "{wire:?} {count}");

    let mut received = empty();
    world.exchange([(next, &own)], [(previous, &mut received[..])]).unwrap();
    assert_eq!(received, expected, "{wire:?} {count}");

    // Receives from any source, one of them completed by polling. The barriers keep the messages of other
    // calls out.
    world.barrier();
    let mut received = empty();
    let sending = start();
    assert_eq!(world.any().receive_into(&mut received[..]).unwrap().rank(), previous);
    sending.finish().unwrap();
    assert_eq!(received, expected, "{wire:?} {count}");
    world.barrier();
    let mut sending = start();
    let mut received = None;
    while !(received.is_some() & sending.is_done().unwrap()) {
        received = received.or_else(|| world.any().try_receive::<Vec<T>>().unwrap());
        std::thread::yield_now();
    }
    let (received, sender) = received.unwrap();
    assert_eq!(sender.rank(), previous);
    // The number of values without bytes does not travel.
    if packed_size::<T>(1) > 0 {
        assert_eq!(received, expected, "{wire:?} {count}");
    }
    world.barrier();
}

/// Views and data are received into views and data of another shape.
pub fn views(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    world.attach().unwrap();
    let [next, previous] = around(world);
    for n in [8usize, 300] {
        let number = |rank: usize, i: usize| rank as f64 * 1e6 + i as f64;
        let own: Vec<f64> = (0..n * n).map(|i| number(world.rank(), i)).collect();
        let columns = layout!(f64[n][n] => [.., ..;2]).unwrap();
        let rows = layout!(f64[n][n] => [..;2, ..]).unwrap();
        let expected: Vec<f64> = (0..n * n).filter(|i| i % n % 2 == 0).map(|i| number(previous, i)).collect();
        for wire in WIRES {
            let mut received = vec![-1.0; n * n];
            let view = columns.of(&own).unwrap();
            shift(world, wire, 0, &view, &mut rows.of_mut(&mut received).unwrap()).unwrap();
            let found: Vec<f64> = received.chunks(n).step_by(2).flatten().copied().collect();
            assert_eq!(found, expected);
            assert!(received.chunks(n).skip(1).step_by(2).flatten().all(|value| *value == -1.0));
        }
        // The datatype of a C program, of which only the plan is known here.
        let datatype = UserDatatype::vector((n * n / 2) as i32, 1, 2, &f64::equivalent_datatype());
        let plan = decode(&datatype).unwrap().plan().unwrap();
        let bytes: Vec<u8> = own.iter().flat_map(|number| number.to_ne_bytes()).collect();
        let data = Data::new(&plan, 1, &bytes, 0).unwrap();
        for wire in [Wire::Packed, Wire::Auto, Wire::Segments] {
            let mut received = vec![0u8; bytes.len()];
            let mut place = DataMut::new(&plan, 1, &mut received, 0).unwrap();
            shift(world, wire, 0, &data, &mut place).unwrap();
            for (i, number_there) in received.as_chunks::<8>().0.iter().enumerate() {
                let expected = if i % 2 == 0 { number(previous, i) } else { 0.0 };
                assert_eq!(f64::from_ne_bytes(*number_there), expected);
            }
        }
        assert!(matches!(world.peer(next).wire(Wire::Typed).send(&data), Err(Error::Wire { .. })));
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

    let world = &Comm::from(world);
    world.attach().unwrap();
    let [_, previous] = around(world);
    // The messages are too long to travel eagerly. The buffer of an eager message may begin at an address for
    // which Open MPI's copies are right.
    let n = 4000;
    let of_rank = |rank: usize| -> Vec<Wave> { (0..n).map(|i| wave(i + 100 * rank)).collect() };
    let (own, expected) = (of_rank(world.rank()), of_rank(previous));
    for wire in WIRES {
        let mut received = vec![Wave::default(); n];
        shift(world, wire, 0, &own[..], &mut received[..]).unwrap();
        assert_eq!(received, expected, "{wire:?}");

        macro_rules! column {
            ($($layout:tt)*) => {{
                let mut received = vec![Wave::default(); n];
                let layout = layout!($($layout)*).unwrap();
                let mut into = layout.of_mut(&mut received).unwrap();
                shift(world, wire, 0, &layout.of(&own).unwrap(), &mut into).unwrap();
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
    let world = &Comm::from(world);
    other_sizes(world);
    other_sizes_started(world);
    others_messages(world);
    long_restricted(world);
    long_plain(world);
    long_plain_otherwise(world);
}

/// A message of another size is an error that names the expected size, and the other one if it is known.
fn other_sizes(world: &Comm<&SimpleCommunicator>) {
    let particle = packed_size::<Particle>(1);
    world.attach().unwrap();
    // The messages are shorter, longer, and much longer than the receiver expects.
    for (sent, expected) in
        [(9, 10), (10, 9), (0, 5), (20_000, 5), (5, 20_000), (20_000, 20_001), (30_000, 2000)]
    {
        for wire in WIRES {
            if world.rank() == 0 {
                let receiver = world.peer(1);
                receiver.wire(wire).send(&values::<Particle>(0, sent)).unwrap();
                receiver.send(&7u8).unwrap();
            } else if world.rank() == 1 {
                let sender = world.peer(0);
                let mut into = values::<Particle>(5, expected);
                let error = sender.wire(wire).receive_into(&mut into[..]).unwrap_err();
                assert!(
                    is_misfit(&error, expected * particle, sent * particle),
                    "{wire:?}, {sent} to {expected}: {error}"
                );
                assert_eq!(into, values::<Particle>(5, expected), "the destination is as it was");
                assert_eq!(sender.receive::<u8>().unwrap(), 7);
            }
        }
    }
}

fn other_sizes_started(world: &Comm<&SimpleCommunicator>) {
    if world.rank() == 0 {
        world.process_at_rank(1).send(&vec![1.0f64; 100_000][..]);
        let receiver = world.peer(1);
        receiver.send(&[1u8; 3]).unwrap();
        receiver.send(&vec![1.0f64; 100_000]).unwrap();
        receiver.send(&[9u8; 2]).unwrap();
    } else if world.rank() == 1 {
        let sender = world.peer(0);
        let mut into = [5u8; 2];
        for is_polled in [false, true, false] {
            let mut receiving = sender.start().receive_into(&mut into).unwrap();
            while is_polled && !receiving.is_done().unwrap() {
                std::thread::yield_now();
            }
            let error = receiving.finish().unwrap_err();
            assert!(matches!(error, Error::Fit { expected: 2, .. }), "{error}");
            assert_eq!(into, [5; 2]);
        }
        sender.receive_into(&mut into).unwrap();
        assert_eq!(into, [9; 2]);
    }
}

/// Messages that rsmpi sends: one of another size is an error, and one with a datatype of the same values
/// arrives.
fn others_messages(world: &Comm<&SimpleCommunicator>) {
    /// The counts of structs that MPI receives. They are small, because MPICH reports an error if the
    /// datatype of a struct receives 8 KiB or more of packed bytes.
    const COUNTS_RECEIVED: [usize; 2] = [4, 100];
    if world.rank() == 0 {
        let receiver = world.process_at_rank(1);
        receiver.send(&[1.0f64; 7][..]);
        receiver.send(&vec![1.0f64; 100_000][..]);
        receiver.send(&values::<Particle>(0, 3)[..]);
        receiver.send(&[2u8, 0, 1, 1][..]);
        receiver.send(&[2u8; 200_000][..]);
        for count in COUNTS_RECEIVED {
            world.peer(1).send(&values::<Particle>(0, count)).unwrap();
        }
    } else if world.rank() == 1 {
        let sender = world.peer(0);
        let mut into = [0.5f64; 3];
        let error = sender.receive_into(&mut into).unwrap_err();
        assert!(is_misfit(&error, 24, 56), "{error}");
        let error = sender.receive_into(&mut into[..]).unwrap_err();
        assert!(is_misfit(&error, 24, 800_000), "{error}");
        assert_eq!(into, [0.5; 3]);
        let mut particles = values::<Particle>(5, 3);
        sender.receive_into(&mut particles[..]).unwrap();
        assert_eq!(particles, values::<Particle>(0, 3));
        // Bytes that are not a valid value are an error.
        let mut flags = [true; 4];
        let error = sender.receive_into(&mut flags).unwrap_err();
        assert!(matches!(error, Error::Pack(PackError::InvalidValue { offset: 0, found: 2, .. })), "{error}");
        assert_eq!(flags, [true; 4]);
        let mut flags = vec![true; 200_000];
        assert!(matches!(
            sender.receive_into(&mut flags[..]),
            Err(Error::Pack(PackError::InvalidValue { .. }))
        ));
        assert!(flags.iter().all(|flag| *flag));
        // The converse: packed by this library, received by MPI with a datatype.
        for count in COUNTS_RECEIVED {
            let mut particles = values::<Particle>(5, count);
            world.process_at_rank(0).receive_into(&mut particles[..]);
            assert_eq!(particles, values::<Particle>(0, count));
        }
    }
}

/// Long messages of a restricted type: all values are checked before any is written.
fn long_restricted(world: &Comm<&SimpleCommunicator>) {
    if world.rank() == 0 {
        world.peer(1).send(&vec![3u8; 300_000]).unwrap();
        world.peer(1).send(&vec![1u8; 300_000]).unwrap();
    } else if world.rank() == 1 {
        let mut flags = vec![false; 300_000];
        let received = world.peer(0).receive_into(&mut flags[..]);
        assert!(matches!(received, Err(Error::Pack(PackError::InvalidValue { .. }))));
        assert!(flags.iter().all(|flag| !*flag));
        world.peer(0).receive_into(&mut flags[..]).unwrap();
        assert!(flags.iter().all(|flag| *flag));
    }
}

/// Long messages of numbers, into memory and into columns: one of another size is an error, and the next
/// message arrives. Only libraries that copy what is probed write something, into contiguous memory.
fn long_plain(world: &Comm<&SimpleCommunicator>) {
    let column_of = |rows: usize| layout!(f64[rows][3] => [.., 1]).unwrap();
    for rows in [2100usize, 30_000] {
        let expected = 8 * rows;
        for sent in [8, expected - 8, expected - 3, expected + 3, expected + 8, 10 * expected] {
            for wire in [Wire::Auto, Wire::Typed, Wire::Packed] {
                let what = format!("{wire:?}, {sent} bytes for {expected}");
                if world.rank() == 0 {
                    for _ in 0..3 {
                        world.peer(1).send(&vec![1u8; sent]).unwrap();
                    }
                    world.peer(1).send(&7u8).unwrap();
                } else if world.rank() == 1 {
                    let sender = world.peer(0);
                    let (mut numbers, mut columns) = (vec![5.0f64; rows], vec![5.0f64; 3 * rows]);
                    let column = column_of(rows);
                    let errors = [
                        sender.wire(wire).receive_into(&mut numbers[..]).unwrap_err(),
                        sender
                            .wire(wire)
                            .receive_into(&mut column.of_mut(&mut columns).unwrap())
                            .unwrap_err(),
                        world.any().receive_into(&mut numbers[..]).unwrap_err(),
                    ];
                    for error in errors {
                        assert!(is_misfit(&error, expected, sent), "{what}: {error}");
                    }
                    if dtype_mpi::running().probing != dtype_mpi::Probing::Slower {
                        assert!(numbers.iter().all(|number| *number == 5.0), "{what}");
                    }
                    assert!(columns.iter().all(|number| *number == 5.0), "{what}");
                    assert_eq!(sender.receive::<u8>().unwrap(), 7);
                }
            }
        }
    }
}

/// Long messages of numbers of another size that meet other receives: of a rank from itself, into a value,
/// and in exchange for a message.
fn long_plain_otherwise(world: &Comm<&SimpleCommunicator>) {
    const NUMBERS: usize = 3000;
    const SIZE: usize = 8 * NUMBERS;
    for sent in [SIZE - 8, SIZE + 8, 10 * SIZE] {
        let mut numbers = [5.0f64; NUMBERS];
        let me = world.peer(world.rank());
        let sending = me.start().send(&vec![1u8; sent]).unwrap();
        let error = me.receive_into(&mut numbers).unwrap_err();
        sending.finish().unwrap();
        assert!(is_misfit(&error, SIZE, sent), "of itself, {sent}: {error}");
        if world.rank() == 0 {
            world.peer(1).send(&vec![1u8; sent]).unwrap();
            world.peer(1).swap(&mut vec![1u8; sent][..]).unwrap_err();
        } else if world.rank() == 1 {
            let error = world.peer(0).receive::<[f64; NUMBERS]>().map(|_| ()).unwrap_err();
            assert!(is_misfit(&error, SIZE, sent), "a value, {sent}: {error}");
            let error = world.peer(0).swap(&mut numbers[..]).unwrap_err();
            assert!(is_misfit(&error, SIZE, sent), "in exchange, {sent}: {error}");
        }
    }
}

/// Several threads at a time, each with a tag of its own, exchange long messages, and decode and build
/// datatypes.
pub fn threads() {
    let (universe, threading) =
        mpi::initialize_with_threading(mpi::Threading::Multiple).expect("MPI is initialized once");
    assert_eq!(threading, mpi::Threading::Multiple);
    Comm::from(universe.world()).attach().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4usize {
            scope.spawn(move || {
                let world = SimpleCommunicator::world();
                let world = &Comm::from(&world);
                let (rank, tag) = (world.rank(), thread as i32);
                for round in 0..20 {
                    let n = 3 + (round * 7 + thread) % 5;
                    let datatype = UserDatatype::vector(n as i32, 1, 2, &f64::equivalent_datatype());
                    let decoded = decode(&datatype).unwrap();
                    assert_eq!(decoded.tree().measure().unwrap().entries, n as u64);
                    decoded.datatype().unwrap();
                    layout!(f64[n][n] => [.., 0]).unwrap().datatype().unwrap();
                    let count = 4000 * (1 + round % 4);
                    let of = |rank: usize| values::<Particle>(rank + 10 * thread, count);
                    let mut received = vec![Particle::sample(1); count];
                    shift(world, WIRES[round % 4], tag, &of(rank), &mut received[..]).unwrap();
                    assert!(received == of(1 - rank));
                }
            });
        }
    });
    drop(universe);
}
