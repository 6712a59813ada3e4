//! A layout as a part of an array: the elements that the layout contains.

use alloc::{vec, vec::Vec};

use super::nodes::Nodes;
use crate::TypeTree;

/// The elements of an array of up to three dimensions, drawn as squares in planes of rows. If there are too
/// many elements to draw, a square stands for several.
pub(super) struct Grid {
    /// The dimensions of the array.
    pub(super) dimensions: Vec<u64>,
    /// The number of planes that are drawn, of rows in a plane, and of squares in a row.
    pub(super) shown: [usize; 3],
    /// The number of elements in a square: planes, rows, columns.
    pub(super) step: [u64; 3],
    /// The filled part of each square, from 0 to 255.
    pub(super) filled: Vec<u8>,
}

/// The largest number of squares that are drawn in each dimension.
const MOST: [u64; 3] = [8, 40, 64];
/// The largest number of runs that are read, and of steps that are made.
const MOST_RUNS: usize = 1 << 20;
const MOST_STEPS: u64 = 1 << 24;

impl Grid {
    /// Infers the array from the strides of a tree, if they suggest one.
    pub(super) fn inferred(nodes: &Nodes<'_>, from: i64, to: i64) -> Option<Self> {
        let mut leaves = nodes.iter().filter_map(|tree| match tree {
            TypeTree::Leaf(base) => Some(base),
            _ => None,
        });
        let base = leaves.next()?;
        let element = base.extent();
        if leaves.any(|other| other != base) || from != 0 {
            return None;
        }
        let mut strides: Vec<u64> = nodes
            .iter()
            .filter_map(|tree| match tree {
                TypeTree::Vector { count: 2.., stride, .. } => Some(stride.unsigned_abs()),
                _ => None,
            })
            .filter(|stride| stride % element == 0 && *stride > element)
            .collect();
        strides.sort_unstable_by(|a, b| b.cmp(a));
        strides.dedup();
        let rows = *strides.first()?;
        let whole = to as u64;
        // A stride of fewer than four elements lies within a row, so it is not the length of a row.
        let within =
            strides.iter().find(|inner| **inner < rows && rows % **inner == 0 && **inner / element >= 4);
        let dimensions = match within {
            Some(inner) => vec![whole.div_ceil(rows), rows / inner, inner / element],
            None => vec![whole.div_ceil(rows), rows / element],
        };
        Self::of(nodes, &dimensions, element)
    }

    pub(super) fn of(nodes: &Nodes<'_>, dimensions: &[u64], element: u64) -> Option<Self> {
        let tree = nodes.node(0).tree;
        let elements = dimensions.iter().try_fold(1u64, |all, count| all.checked_mul(*count))?;
        if dimensions.is_empty() || dimensions.len() > 3 || elements == 0 || element == 0 {
            return None;
        }
        // Planes, rows, columns.
        let mut counts = [1; 3];
        counts[3 - dimensions.len()..].copy_from_slice(dimensions);
        // If there are several planes, they are drawn smaller.
        let most = |k: usize| if counts[0] > 1 && k > 0 { MOST[k] / 2 } else { MOST[k] };
        let step = [0, 1, 2].map(|k| counts[k].div_ceil(most(k)));
        let shown = [0, 1, 2].map(|k| counts[k].div_ceil(step[k]) as usize);
        let mut there = vec![0u64; shown.iter().product()];
        let mut steps = 0;
        for run in tree.few_runs(MOST_RUNS)?.as_slice() {
            // Count adjacent elements a row at a time, and other elements one by one.
            let is_whole = run.stride == element as i64;
            let mut i = 0;
            while i < run.count {
                let at = u64::try_from(run.displacement + run.stride * i as i64).ok()?;
                let index = at / element;
                let column = index % counts[2];
                let length = if is_whole { (counts[2] - column).min(run.count - i) } else { 1 };
                if index >= elements || steps > MOST_STEPS {
                    return None;
                }
                let place = [index / (counts[1] * counts[2]), index / counts[2] % counts[1]];
                let row = [0, 1].map(|k| (place[k] / step[k]) as usize);
                let row = (row[0] * shown[1] + row[1]) * shown[2];
                for square in column / step[2]..=(column + length - 1) / step[2] {
                    let begin = (square * step[2]).max(column);
                    let end = ((square + 1) * step[2]).min(column + length);
                    there[row + square as usize] += end - begin;
                    steps += 1;
                }
                i += length;
            }
        }
        let in_square = step.iter().product::<u64>();
        let filled = there.iter().map(|count| match *count {
            0 => 0,
            count => (count.min(in_square) * 255 / in_square).max(40) as u8,
        });
        Some(Self { dimensions: dimensions.to_vec(), shown, step, filled: filled.collect() })
    }
}
