//! Scenarios that exchange values and parts of arrays between ranks.

use std::fmt::Debug;

use dtype_runtime::{MpiDatatype, layout};
use mpi::{
    point_to_point::send_receive_into,
    topology::{Process, SimpleCommunicator},
    traits::*,
};

use crate::samples::{Aligned, Nested, Nothing, Packed, Particle, Sample, Visit, for_each_sample};

fn neighbours(world: &SimpleCommunicator) -> (Process<'_>, Process<'_>, i32) {
    let (rank, size) = (world.rank(), world.size());
    let previous = (rank + size - 1) % size;
    (world.process_at_rank((rank + 1) % size), world.process_at_rank(previous), previous)
}

/// Sends a slice of every sample type to the next rank, which receives it between guards.
pub fn ring(world: &SimpleCommunicator) {
    struct Ring<'a>(&'a SimpleCommunicator);
    impl Visit for Ring<'_> {
        fn visit<T: Sample>(&mut self) {
            const COUNT: usize = 33;
            let (next, previous, from) = neighbours(self.0);
            let values =
                |rank: i32| (0..COUNT).map(|i| T::sample(i + 40 * rank as usize)).collect::<Vec<_>>();
            let guard = T::sample(1234);
            let mut buffer = [guard; COUNT + 2];
            let own = values(self.0.rank());
            let status = send_receive_into(&own[..], &next, &mut buffer[1..=COUNT], &previous);
            assert_eq!(status.count(T::equivalent_datatype()), COUNT as i32);
            assert_eq!(buffer[1..=COUNT], values(from));
            assert_eq!((buffer[0], buffer[COUNT + 1]), (guard, guard));
        }
    }
    for_each_sample(&mut Ring(world));
}

/// The derive accepts everything that rsmpi's own derive accepts. As in rsmpi's examples, structs of
/// different shapes with the same type signature are received as one another.
pub fn equivalents(world: &SimpleCommunicator) {
    #[derive(MpiDatatype, Default, PartialEq, Debug)]
    struct Rust {
        b: bool,
        f: f64,
        i: u16,
    }
    #[derive(MpiDatatype, Default, PartialEq, Debug)]
    #[repr(C)]
    struct C {
        b: bool,
        f: f64,
        i: u16,
    }
    #[derive(MpiDatatype, Default, PartialEq, Debug)]
    struct Ordered {
        bf: (bool, f64),
        i: u16,
    }
    #[derive(MpiDatatype, Default, PartialEq, Debug)]
    struct NestedTuple {
        bfi: (bool, (f64, u16)),
    }
    #[derive(MpiDatatype, Default, PartialEq, Debug)]
    struct Unnamed(bool, f64, u16);
    #[derive(MpiDatatype, Default, PartialEq, Debug)]
    struct Parent {
        b: bool,
        child: Child,
    }
    #[derive(MpiDatatype, Default, PartialEq, Debug)]
    struct Child(f64, u16);
    #[derive(MpiDatatype, Default, PartialEq, Debug)]
    struct Flags(bool, bool, bool);
    #[derive(MpiDatatype, Default, PartialEq, Debug)]
    struct FlagArray([bool; 3]);
    #[derive(MpiDatatype, Default, PartialEq, Debug)]
    struct Groups((i8, bool, i8), (i8, bool, i8), (i8, bool, i8));
    #[derive(MpiDatatype, Default, PartialEq, Debug)]
    struct GroupArray([(i8, bool, i8); 3]);
    #[derive(MpiDatatype, Default, PartialEq, Debug)]
    struct Empty;
    #[derive(MpiDatatype, Default, PartialEq, Debug)]
    struct NoneOfThem([i32; 0]);

    fn become_each_other<A, B>(world: &SimpleCommunicator, a: &A, b: &B)
    where
        A: Equivalence + Default + PartialEq + Debug,
        B: Equivalence + Default + PartialEq + Debug,
    {
        let itself = world.process_at_rank(world.rank());
        let (mut from_b, mut from_a) = (A::default(), B::default());
        send_receive_into(a, &itself, &mut from_a, &itself);
        send_receive_into(b, &itself, &mut from_b, &itself);
        assert_eq!((&from_b, &from_a), (a, b));
    }

    let rust = Rust { b: true, f: 3.4, i: 7 };
    become_each_other(world, &rust, &C { b: true, f: 3.4, i: 7 });
    become_each_other(world, &rust, &Ordered { bf: (true, 3.4), i: 7 });
    become_each_other(world, &rust, &NestedTuple { bfi: (true, (3.4, 7)) });
    become_each_other(world, &rust, &Unnamed(true, 3.4, 7));
    become_each_other(world, &rust, &Parent { b: true, child: Child(3.4, 7) });
    become_each_other(world, &Flags(true, false, true), &FlagArray([true, false, true]));
    let groups = [(1, true, 1), (2, false, 2), (3, true, 3)];
    become_each_other(world, &Groups(groups[0], groups[1], groups[2]), &GroupArray(groups));
    become_each_other(world, &Empty, &NoneOfThem([]));
}

/// Skipped fields of any type are neither sent nor written on receipt.
pub fn skipped(world: &SimpleCommunicator) {
    #[derive(MpiDatatype, Clone, Debug, PartialEq)]
    struct Node {
        id: u16,
        #[mpi(skip)]
        neighbours: Vec<usize>,
        value: f64,
        #[mpi(skip)]
        name: String,
        last: u8,
    }
    let (next, previous, from) = neighbours(world);
    let node = |rank: i32, i: usize| Node {
        id: i as u16 + 100 * rank as u16,
        neighbours: vec![i; 3 + rank as usize],
        value: i as f64 / 7.0 + f64::from(rank),
        name: format!("{i} of {rank}"),
        last: i as u8 ^ rank as u8,
    };
    let rank = world.rank();
    let own: Vec<Node> = (0..50).map(|i| node(rank, i)).collect();
    let mut received = own.clone();
    send_receive_into(&Node::buffer(&own), &next, &mut Node::buffer_mut(&mut received), &previous);
    for (i, received) in received.into_iter().enumerate() {
        let (sent, Node { neighbours, name, .. }) = (node(from, i), node(rank, i));
        assert_eq!(received, Node { neighbours, name, ..sent });
    }
}

/// Collective calls accept every type as a buffer: the stride between values is the extent.
pub fn collectives(world: &SimpleCommunicator) {
    fn collect<T: Sample>(world: &SimpleCommunicator) {
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        let own = [T::sample(rank), T::sample(rank + 100)];
        let mut all = vec![T::sample(999); 2 * size];
        world.all_gather_into(&own[..], &mut all[..]);
        for (rank, pair) in all.chunks(2).enumerate() {
            assert_eq!(pair, [T::sample(rank), T::sample(rank + 100)]);
        }
        let mut value = T::sample(if rank == 0 { 7 } else { 8 });
        world.process_at_rank(0).broadcast_into(&mut value);
        assert_eq!(value, T::sample(7));
        let mut exchanged = vec![T::sample(999); size];
        let rows: Vec<T> = (0..size).map(|to| T::sample(10 * rank + to)).collect();
        world.all_to_all_into(&rows[..], &mut exchanged[..]);
        for (from, value) in exchanged.iter().enumerate() {
            assert_eq!(*value, T::sample(10 * from + rank));
        }
    }
    collect::<Particle>(world);
    collect::<Packed>(world);
    collect::<Aligned>(world);
    collect::<Nested>(world);

    // A message without data is still a message.
    let mut nothing = [Nothing { unit: (), none: [] }; 3];
    world.process_at_rank(0).broadcast_into(&mut nothing[..]);
    let (next, previous, _) = neighbours(world);
    let sent = nothing;
    let status = send_receive_into(&sent[..], &next, &mut nothing[..], &previous);
    assert_eq!(status.count(u8::equivalent_datatype()), 0);
}

/// Parts of arrays are received into parts of another shape with the same type signature. All other elements
/// keep their values.
pub fn views(world: &SimpleCommunicator) {
    let (next, previous, from) = neighbours(world);
    let rank = world.rank();
    let number = |rank: i32, i: usize, j: usize| f64::from(rank) * 1e4 + (i * 100 + j) as f64;
    let matrix = |rank: i32| {
        let mut matrix = [[0.0; 30]; 20];
        for (i, row) in matrix.iter_mut().enumerate() {
            row.iter_mut().enumerate().for_each(|(j, value)| *value = number(rank, i, j));
        }
        matrix
    };
    let own = matrix(rank);

    // Every second element of a column is received into a row of another array.
    let mut line = [[-1.0; 10]; 2];
    let (column, row) = (layout!(f64[20][30] => [..;2, -2]), layout!(f64[2][10] => [1, ..]));
    send_receive_into(&column.of(&own), &next, &mut row.of_mut(&mut line), &previous);
    let expected: Vec<f64> = (0..20).step_by(2).map(|i| number(from, i, 28)).collect();
    assert_eq!(line, [[-1.0; 10], expected.try_into().unwrap()]);

    // A block with steps in both dimensions is received into another place.
    let mut target = matrix(-1);
    let (block, place) =
        (layout!(f64[20][30] => [1..20;3, 2..=29;5]), layout!(f64[20][30] => [10..17, 20..26]));
    assert_eq!((block.count(), place.count()), (7 * 6, 7 * 6));
    send_receive_into(&block.of(&own), &next, &mut place.of_mut(&mut target), &previous);
    for (i, row) in target.iter().enumerate() {
        for (j, value) in row.iter().enumerate() {
            let inside = (10..17).contains(&i) && (20..26).contains(&j);
            let expected =
                if inside { number(from, 1 + 3 * (i - 10), 2 + 5 * (j - 20)) } else { number(-1, i, j) };
            assert_eq!(*value, expected, "at [{i}][{j}]");
        }
    }

    // The elements are structs, in four dimensions.
    let particles = [[[[Particle::sample(rank as usize); 3]; 2]; 4]; 2];
    let guard = Particle::sample(1000);
    let mut target = [guard; 40];
    let (from_layout, to) =
        (layout!(Particle[2][4][2][3] => [.., 1..3, 1, ..;2]), layout!(Particle[40] => [4..20;2]));
    send_receive_into(&from_layout.of(&particles), &next, &mut to.of_mut(&mut target), &previous);
    for (i, particle) in target.iter().enumerate() {
        let inside = (4..20).contains(&i) && i % 2 == 0;
        assert_eq!(*particle, if inside { Particle::sample(from as usize) } else { guard }, "at [{i}]");
    }

    // A view is received into a plain slice.
    let mut values = [0.0; 20];
    let column = layout!(f64[20][30] => [.., 0]);
    send_receive_into(&column.of(&own), &next, &mut values[..], &previous);
    assert!(values.iter().enumerate().all(|(i, value)| *value == number(from, i, 0)));
}
