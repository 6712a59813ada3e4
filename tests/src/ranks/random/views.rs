//! Random parts of matrices, in messages and in collective calls.

use std::fmt::Debug;

use dtype_runtime::{Comm, DynamicLayout, Wire, layout};
use mpi::topology::SimpleCommunicator;

use super::each;
use crate::{
    engine::Random,
    redistribution::{Element, Mixed, Padded},
};

/// A part of a matrix, and the indices of its elements in memory, in the order of the message.
struct Part<T: Element> {
    layout: DynamicLayout<T, 2>,
    indices: Vec<usize>,
    /// The number of elements of the matrix.
    size: usize,
}

impl<T: Element> Part<T> {
    /// Draws a part of any matrix.
    fn any(drawn: &mut Random) -> Self {
        let [rows, columns] = [(); 2].map(|()| 1 + drawn.below(12));
        let mut range = |length: usize| {
            let start = drawn.below(length + 1);
            (start, start + drawn.below(length - start + 1), 1 + drawn.below(4))
        };
        let ((top, bottom, down), (left, right, across)) = (range(rows), range(columns));
        let in_row = |i: usize| (left..right).step_by(across).map(move |j| i * columns + j);
        let indices = (top..bottom).step_by(down).flat_map(in_row).collect();
        let layout = layout!(T[rows][columns] => [top..bottom;down, left..right;across]).unwrap();
        Self { layout, indices, size: rows * columns }
    }

    /// Draws a part of `count` elements: a column, a row, a triangle with what is left of its last row, or a
    /// matrix of whole rows.
    fn of(drawn: &mut Random, count: usize) -> Self {
        let (wide, at) = (1 + drawn.below(5), drawn.below(5));
        match drawn.below(4) {
            0 => {
                let column = at % wide;
                Self {
                    layout: layout!(T[count][wide] => [.., column]).unwrap(),
                    indices: (0..count).map(|i| i * wide + column).collect(),
                    size: count * wide,
                }
            }
            1 => Self {
                layout: layout!(T[wide][at + count] => [wide - 1, at..]).unwrap(),
                indices: (0..count).map(|j| (wide - 1) * (at + count) + at + j).collect(),
                size: wide * (at + count),
            },
            2 => {
                let rows = (0..=count).find(|rows| rows * (rows + 1) / 2 >= count).unwrap_or(0);
                let full = rows.saturating_sub(1);
                let rest = count - full * (full + 1) / 2;
                let own = |i: usize| if i < full { i + 1 } else { rest };
                Self {
                    layout: layout!(T[rows][rows] => [i, 0..own(i)] for i in 0..rows).unwrap(),
                    indices: (0..rows).flat_map(|i| (0..own(i)).map(move |j| i * rows + j)).collect(),
                    size: rows * rows,
                }
            }
            _ => Self {
                layout: layout!(T[count][1] => [.., ..]).unwrap(),
                indices: (0..count).collect(),
                size: count,
            },
        }
    }

    fn count(&self) -> usize {
        self.indices.len()
    }

    /// Returns a matrix of a rank; each element has a number of its own.
    fn filled(&self, rank: usize, case: u64) -> Vec<T> {
        (0..self.size).map(|i| T::of(case % 1000 + 10_000 * rank as u64 + i as u64)).collect()
    }

    /// Returns the selected elements of a matrix.
    fn selected(&self, matrix: &[T]) -> Vec<T> {
        self.indices.iter().map(|i| matrix[*i]).collect()
    }

    /// Checks that a matrix has these elements in the part, and those from before beside it.
    fn check(&self, matrix: &[T], elements: &[T], before: &[T], name: &str)
    where
        T: Debug,
    {
        assert_eq!(self.count(), elements.len(), "{name}");
        let mut expected = before.to_vec();
        for (i, element) in self.indices.iter().zip(elements) {
            expected[*i] = *element;
        }
        assert!(matrix == expected, "{name}: {matrix:?} instead of {expected:?}");
    }
}

pub fn views(world: &SimpleCommunicator) {
    each(world, 150, |world, drawn| match drawn.below(3) {
        0 => one::<f64>(world, drawn),
        1 => one::<Mixed>(world, drawn),
        _ => one::<Padded>(world, drawn),
    });
}

/// Sends one part of each rank by one call. All ranks draw the parts of all ranks.
#[allow(clippy::too_many_lines, reason = "a list of calls")]
fn one<T: Element>(world: &SimpleCommunicator, drawn: &mut Random) {
    let world = &Comm::from(world);
    let (rank, ranks) = (world.rank(), world.size());
    let case = drawn.below(1000) as u64;
    let sources: Vec<Part<T>> = (0..ranks).map(|_| Part::any(drawn)).collect();
    let arrays: Vec<Vec<T>> = sources.iter().enumerate().map(|(of, part)| part.filled(of, case)).collect();
    let messages: Vec<Vec<T>> = sources.iter().zip(&arrays).map(|(of, array)| of.selected(array)).collect();
    let own = sources[rank].layout.of(&arrays[rank]).unwrap();
    // A destination for the message of each rank, on each rank.
    let destinations: Vec<Vec<Part<T>>> =
        (0..ranks).map(|_| messages.iter().map(|message| Part::of(drawn, message.len())).collect()).collect();
    let destinations = &destinations[rank];
    let before: Vec<Vec<T>> = destinations.iter().map(|part| part.filled(rank + 100, case)).collect();
    let mut into = before.clone();
    let (root, wire) = (drawn.below(ranks), [Wire::Packed, Wire::Typed, Wire::Auto][drawn.below(3)]);
    let is_root = rank == root;
    let call = drawn.below(11);
    let name = format!("call {call} of rank {rank} over {wire:?}");
    let check = |into: &[Vec<T>], from: &dyn Fn(usize) -> bool| {
        for (of, part) in destinations.iter().enumerate() {
            let arrived = if from(of) { messages[of].clone() } else { part.selected(&before[of]) };
            part.check(&into[of], &arrived, &before[of], &format!("{name} from {of}"));
        }
    };
    let previous = (rank + ranks - 1) % ranks;
    let (to, from) = (world.peer((rank + 1) % ranks), world.peer(previous));
    match call {
        // A send of a scope, and a receive that waits.
        0 => {
            let mut view = destinations[previous].layout.of_mut(&mut into[previous]).unwrap();
            let transferred = world.scope(|scope| {
                scope.peer(to.rank()).wire(wire).tag(3).send(&own)?;
                from.wire(wire).tag(3).receive_into(&mut view)
            });
            transferred.unwrap();
            check(&into, &|of| of == previous);
        }
        // A receive that is started, or one of a scope, and a send that waits.
        1 => {
            let mut view = destinations[previous].layout.of_mut(&mut into[previous]).unwrap();
            if drawn.one_in(2) {
                let receive = from.tag(4).start().receive_into(&mut view).unwrap();
                to.wire(wire).tag(4).send(&own).unwrap();
                receive.finish().unwrap();
            } else {
                let transferred = world.scope(|scope| {
                    scope.peer(previous).tag(4).receive_into(&mut view)?;
                    to.wire(wire).tag(4).send(&own)
                });
                transferred.unwrap();
            }
            check(&into, &|of| of == previous);
        }
        2 => {
            let mut array = if is_root { arrays[root].clone() } else { into[root].clone() };
            let part = if is_root { &sources[root] } else { &destinations[root] };
            world.broadcast_into(root, &mut part.layout.of_mut(&mut array).unwrap()).unwrap();
            let unchanged = if is_root { &arrays[root] } else { &before[root] };
            part.check(&array, &messages[root], unchanged, &name);
        }
        // A destination for the messages of all ranks, of several sizes: on all ranks, or on the root.
        3 | 4 => {
            let all = messages.concat();
            let part = Part::<T>::of(drawn, all.len());
            let before = part.filled(rank + 200, case);
            let mut array = before.clone();
            let mut view = part.layout.of_mut(&mut array).unwrap();
            if call == 3 {
                world.all_gather_into(&own, &mut view).unwrap();
            } else {
                world.gather_into(root, &own, is_root.then_some(&mut view)).unwrap();
            }
            let arrived = if call == 3 || is_root { all } else { part.selected(&before) };
            part.check(&array, &arrived, &before, &name);
        }
        // Each rank gets as many elements as its place has: the root has all of them in one part.
        5 => {
            let all = messages.concat();
            let part = Part::<T>::of(drawn, all.len());
            let mut array = part.filled(root, case);
            let packed = dtype_runtime::pack(&all);
            part.layout.of_mut(&mut array).unwrap().unpack(&packed).unwrap();
            let view = part.layout.of(&array).unwrap();
            let mut place = destinations[rank].layout.of_mut(&mut into[rank]).unwrap();
            world.scatter_into(root, is_root.then_some(&view), &mut place).unwrap();
            check(&into, &|of| of == rank);
        }
        // Each rank sends its part to all of them: started, exchanged, prepared, or in one call.
        6..10 => {
            let views: Vec<_> = (0..ranks).map(|_| sources[rank].layout.of(&arrays[rank]).unwrap()).collect();
            let mut places: Vec<_> = destinations
                .iter()
                .zip(&mut into)
                .map(|(part, array)| part.layout.of_mut(array).unwrap())
                .collect();
            match call {
                6 => world.all_to_all_into(&views, &mut places).unwrap(),
                7 => {
                    world.exchange(views.iter().enumerate(), places.iter_mut().enumerate().rev()).unwrap();
                }
                8 => world.start().all_to_all_into(&views, &mut places).unwrap().finish().unwrap(),
                _ => {
                    let mut prepared = world.prepare().all_to_all_into(&views, &places).unwrap();
                    prepared.run(&views, &mut places).unwrap();
                }
            }
            check(&into, &|_| true);
        }
        // The root receives the part of each rank into a place of its own.
        _ => {
            let mut places: Vec<_> = destinations
                .iter()
                .zip(&mut into)
                .map(|(part, array)| part.layout.of_mut(array).unwrap())
                .collect();
            let places = places.iter_mut().enumerate().filter(|_| is_root);
            world.exchange([(root, &own)], places).unwrap();
            check(&into, &|_| is_root);
        }
    }
}
