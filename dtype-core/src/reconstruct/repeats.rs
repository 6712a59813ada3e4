//! Where segments of a map repeat: see [`super::tree`].

use alloc::{vec, vec::Vec};
use core::iter::successors;

use super::atoms::Atoms;

/// For each element i and length q with i + 2q ≤ n: whether the segments of length q at i and at i + q have
/// the same shape. One bit each.
pub(super) struct Repeats {
    words_per_row: usize,
    bits: Vec<u64>,
    /// For each i, the q that E_q(i) is the largest of, and that: see [`Repeats::of`].
    pub(super) alike: Vec<(usize, usize)>,
}

impl Repeats {
    /// O(n²): for each i from the back, the length E_q(i) of the match between the map at i and at i + q.
    pub(super) fn of(atoms: &Atoms) -> Self {
        let n = atoms.len();
        let words_per_row = n / 2 / 64 + 1;
        let bits = vec![0; words_per_row * n];
        let mut repeats = Self { words_per_row, bits, alike: vec![(0, 0); n] };
        let mut matched = vec![0; n];
        for i in (0..n).rev() {
            for (q, matched) in matched.iter_mut().enumerate().take(n - i).skip(1) {
                let same_symbol = atoms.symbols[i] == atoms.symbols[i + q];
                *matched = match *matched {
                    _ if !same_symbol => 0,
                    length if i + q + 1 < n && atoms.difference(i) == atoms.difference(i + q) => length + 1,
                    _ => 1,
                };
                if *matched > repeats.alike[i].1 {
                    repeats.alike[i] = (q, *matched);
                }
                if *matched >= q {
                    repeats.bits[i * words_per_row + q / 64] |= 1 << (q % 64);
                }
            }
        }
        repeats
    }

    /// For each element, how many from it on are the longest repetition of a segment of `shortest` or more
    /// elements; but not one within as many elements as `left_out` says. O(n²).
    pub(super) fn reach(&self, n: usize, shortest: usize, left_out: impl Fn(usize) -> usize) -> Vec<usize> {
        let left_out: Vec<_> = (0..n).map(left_out).collect();
        let mut reach = vec![0; n];
        // Of 64 lengths at a time, how far the repetition goes from each element on.
        let mut ends = vec![[0u32; 64]; n];
        for word in 0..self.words_per_row {
            for i in (0..n).rev() {
                let mut bits = self.bits[i * self.words_per_row + word];
                while bits != 0 {
                    let bit = bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    let q = 64 * word + bit;
                    let next = i + q;
                    let goes_on = self.bits[next * self.words_per_row + word] >> bit & 1 == 1;
                    let end = if goes_on { ends[next][bit] as usize } else { next + q };
                    ends[i][bit] = end as u32;
                    if q >= shortest && end - i > left_out[i] {
                        reach[i] = reach[i].max(end - i);
                    }
                }
            }
        }
        reach
    }

    /// All q that hold at i, in order.
    pub(super) fn of_row(&self, i: usize) -> impl Iterator<Item = usize> {
        let words = &self.bits[i * self.words_per_row..(i + 1) * self.words_per_row];
        words.iter().enumerate().flat_map(|(word, bits)| {
            let ones = successors(Some(*bits), |bits| Some(bits & bits.wrapping_sub(1)));
            ones.take_while(|bits| *bits != 0).map(move |bits| 64 * word + bits.trailing_zeros() as usize)
        })
    }

    pub(super) fn holds(&self, i: usize, q: usize) -> bool {
        self.bits[i * self.words_per_row + q / 64] >> (q % 64) & 1 == 1
    }
}
