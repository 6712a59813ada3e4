//! Random parts of matrices, in messages and in collective calls.

use std::fmt::Debug;

use dtype_runtime::{DynamicLayout, Wire, layout, traits::*};
use mpi::{
    request::scope,
    topology::{Process, SimpleCommunicator},
    traits::*,
};

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
fn one<T: Element>(world: &SimpleCommunicator, drawn: &mut Random) {
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
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
    let at = |rank: usize| -> Process<'_> { world.process_at_rank((rank % ranks) as i32) };
    let call = drawn.below(7);
    let name = format!("call {call} of rank {rank} over {wire:?}");
    let check = |into: &[Vec<T>], from: &dyn Fn(usize) -> bool| {
        for (of, part) in destinations.iter().enumerate() {
            let arrived = if from(of) { messages[of].clone() } else { part.selected(&before[of]) };
            part.check(&into[of], &arrived, &before[of], &format!("{name} from {of}"));
        }
    };
    let previous = (rank + ranks - 1) % ranks;
    match call {
        0 => {
            let mut view = destinations[previous].layout.of_mut(&mut into[previous]).unwrap();
            scope(|scope| {
                let sent = at(rank + 1).immediate_send_over_with_tag(scope, wire, &own, 3).unwrap();
                at(previous).receive_over_with_tag(wire, &mut view, 3).unwrap();
                sent.wait().unwrap();
            });
            check(&into, &|of| of == previous);
        }
        1 => {
            let mut view = destinations[previous].layout.of_mut(&mut into[previous]).unwrap();
            scope(|scope| {
                let receive =
                    at(previous).immediate_receive_values_into_with_tag(scope, &mut view, 4).unwrap();
                at(rank + 1).send_over_with_tag(wire, &own, 4).unwrap();
                receive.wait().unwrap();
            });
            check(&into, &|of| of == previous);
        }
        2 => {
            let mut array = if rank == root { arrays[root].clone() } else { into[root].clone() };
            let part = if rank == root { &sources[root] } else { &destinations[root] };
            at(root).broadcast_packed(&mut part.layout.of_mut(&mut array).unwrap()).unwrap();
            let unchanged = if rank == root { &arrays[root] } else { &before[root] };
            part.check(&array, &messages[root], unchanged, &name);
        }
        3 => {
            // A destination for the messages of all ranks.
            let all = messages.concat();
            let part = Part::<T>::of(drawn, all.len());
            let before = part.filled(rank + 200, case);
            let mut array = before.clone();
            let gathered = world.all_gather_packed(&own, &mut part.layout.of_mut(&mut array).unwrap());
            if messages.iter().all(|message| message.len() == messages[0].len()) {
                gathered.unwrap();
                part.check(&array, &all, &before, &name);
            } else {
                // Messages of several sizes fit if there is room for all of them.
                let arrived = if gathered.is_ok() { all } else { part.selected(&before) };
                part.check(&array, &arrived, &before, &name);
            }
        }
        4 if rank == root => {
            let mut views: Vec<_> = destinations
                .iter()
                .zip(&mut into)
                .map(|(part, array)| part.layout.of_mut(array).unwrap())
                .collect();
            at(root).gather_varcount_packed_into_root(&own, &mut views).unwrap();
            check(&into, &|_| true);
        }
        4 => at(root).gather_packed(&own).unwrap(),
        5 => {
            // Each rank gets the part that the root has for it: the sources are those of the root.
            let mut view = destinations[rank].layout.of_mut(&mut into[rank]).unwrap();
            if rank == root {
                let views: Vec<_> =
                    sources.iter().zip(&arrays).map(|(part, array)| part.layout.of(array).unwrap()).collect();
                at(root).scatter_varcount_packed_into_root(&views, &mut view).unwrap();
            } else {
                at(root).scatter_varcount_packed_into(&mut view).unwrap();
            }
            check(&into, &|of| of == rank);
        }
        _ => {
            // Each rank sends its part to all of them.
            let views: Vec<_> = (0..ranks).map(|_| sources[rank].layout.of(&arrays[rank]).unwrap()).collect();
            let mut room: Vec<_> = destinations
                .iter()
                .zip(&mut into)
                .map(|(part, array)| part.layout.of_mut(array).unwrap())
                .collect();
            world.all_to_all_varcount_packed(&views, &mut room).unwrap();
            check(&into, &|_| true);
        }
    }
}
