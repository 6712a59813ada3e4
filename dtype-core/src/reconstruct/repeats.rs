//! The repetitions of segments of a map: see [`super::tree`].

use alloc::{vec, vec::Vec};
use core::iter::successors;

use super::atoms::{Atoms, numbered};

/// The repetitions of a map. For each element i and length q with i + 2q ≤ n, one bit is set if the segments
/// of length q at i and at i + q have the same shape. A word holds the bits of 64 lengths. The words for the
/// same lengths lie in the order of their elements.
pub(super) struct Repeats {
    bits: Vec<u64>,
    /// For each i, the q with the largest E_q(i), and that value: see [`Repeats::of`].
    pub(super) alike: Vec<(usize, usize)>,
    /// The repetitions of vecs whose copies consist of different numbers of elements. `None` if all elements
    /// are single atoms.
    vectors: Option<Vectors>,
}

impl Repeats {
    /// Finds all repetitions in O(n²). For each i from the back, computes E_q(i): the length of the match
    /// between the map at i and at i + q.
    pub(super) fn of(atoms: &Atoms) -> Self {
        let n = atoms.len();
        let bits = vec![0; (n / 2 / 64 + 1) * n];
        let vectors = Vectors::of(atoms);
        let mut repeats = Self { bits, alike: vec![(0, 0); n], vectors };
        // No element follows the last one, so every match ends there.
        let differences: Vec<i64> = (1..n).map(|i| atoms.difference(i - 1)).collect();
        let (kinds, mut steps) = (atoms.alike(), numbered(&differences));
        steps.push(u32::MAX);
        let mut matched = vec![0u32; n];
        for i in (0..n).rev() {
            let (kind, step) = (kinds[i], steps[i]);
            let later = kinds[i..].chunks(64).zip(steps[i..].chunks(64));
            for (word, (lengths, (kinds, steps))) in matched.chunks_mut(64).zip(later).enumerate() {
                let mut longest = 0;
                for ((length, other), other_step) in lengths.iter_mut().zip(kinds).zip(steps) {
                    let goes_on = if *other_step == step { *length } else { 0 };
                    *length = if *other == kind { goes_on + 1 } else { 0 };
                    longest = longest.max(*length);
                }
                if longest as usize <= repeats.alike[i].1 && (longest as usize) < 64 * word {
                    continue;
                }
                for (bit, length) in lengths.iter().enumerate().take(kinds.len()) {
                    let (q, length) = (64 * word + bit, *length as usize);
                    if q > 0 && length > repeats.alike[i].1 {
                        repeats.alike[i] = (q, length);
                    }
                    if q > 0 && length >= q {
                        repeats.bits[word * n + i] |= 1 << bit;
                    }
                }
            }
        }
        repeats
    }

    /// Returns for each element the length, in elements, of the longest repetition that begins with it. A
    /// repetition counts if its segment has at least `shortest` elements, and if it is longer than `left_out`
    /// elements. O(n²).
    pub(super) fn reach(
        &self,
        n: usize,
        shortest: impl Fn(usize) -> usize,
        left_out: impl Fn(usize) -> usize,
    ) -> Vec<usize> {
        let left_out: Vec<_> = (0..n).map(left_out).collect();
        let mut reach = vec![0; n];
        // The end of the repetition from each element on, for 64 lengths at a time.
        let mut ends = vec![[0u32; 64]; n];
        for (word, words) in self.bits.chunks(n).enumerate() {
            for i in (0..n).rev() {
                let mut bits = words[i];
                while bits != 0 {
                    let bit = bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    let q = 64 * word + bit;
                    let next = i + q;
                    let goes_on = words[next] >> bit & 1 == 1;
                    let end = if goes_on { ends[next][bit] as usize } else { next + q };
                    ends[i][bit] = end as u32;
                    if q >= shortest(i) && end - i > left_out[i] {
                        reach[i] = reach[i].max(end - i);
                    }
                }
            }
        }
        if let Some(vectors) = &self.vectors {
            self.reach_of_vectors(vectors, &left_out, &mut reach);
        }
        reach
    }

    /// Like [`reach`](Self::reach), for vecs of a single atom.
    fn reach_of_vectors(&self, vectors: &Vectors, left_out: &[usize], reach: &mut [usize]) {
        // The segments from each element on that repeat: the end of each, and the end of its last copy.
        let mut ends: Vec<Vec<(usize, usize)>> = vec![Vec::new(); reach.len()];
        for i in (0..reach.len()).rev() {
            for middle in i + 1..=vectors.end[i] {
                let Some(next) = self.next(i, middle) else { continue };
                let known = ends[middle].iter().find(|(end, _)| *end == next);
                let last = known.map_or(next, |(_, last)| *last);
                ends[i].push((middle, last));
                if last - i > left_out[i] {
                    reach[i] = reach[i].max(last - i);
                }
            }
        }
    }

    /// Returns all lengths q for which the segment at `i` repeats, in ascending order.
    pub(super) fn of_row(&self, i: usize) -> impl Iterator<Item = usize> {
        let words = self.bits[i..].iter().step_by(self.alike.len());
        words.enumerate().flat_map(|(word, bits)| {
            let ones = successors(Some(*bits), |bits| Some(bits & bits.wrapping_sub(1)));
            ones.take_while(|bits| *bits != 0).map(move |bits| 64 * word + bits.trailing_zeros() as usize)
        })
    }

    /// Returns `true` if the segment of length `q` at `i` and the one after it have the same shape, element
    /// by element.
    pub(super) fn holds(&self, i: usize, q: usize) -> bool {
        self.bits[q / 64 * self.alike.len() + i] >> (q % 64) & 1 == 1
    }

    /// Returns the end of the copy of the segment `from..middle` that begins at `middle`, if there is one.
    pub(super) fn next(&self, from: usize, middle: usize) -> Option<usize> {
        let end = 2 * middle - from;
        if end <= self.alike.len() && self.holds(from, middle - from) {
            return Some(end);
        }
        self.vectors.as_ref()?.next(from, middle)
    }

    /// Returns the number of atoms in the elements `from..to`.
    pub(super) fn atoms(&self, from: usize, to: usize) -> u64 {
        match &self.vectors {
            Some(vectors) => vectors.atoms[to] - vectors.atoms[from],
            None => (to - from) as u64,
        }
    }

    /// Returns `true` if equal segments always have equal numbers of elements.
    pub(super) fn are_alike(&self) -> bool {
        self.vectors.is_none()
    }

    /// Returns the ends of the segments from `i` on that are vecs of a single atom, and whose next copy is
    /// cut into elements in another way.
    pub(super) fn vectors(&self, i: usize) -> impl Iterator<Item = usize> {
        let ends = self.vectors.as_ref().map_or(0..0, |vectors| i + 1..vectors.end[i] + 1);
        let unlike = move |middle: &usize| 2 * middle - i > self.alike.len() || !self.holds(i, middle - i);
        ends.filter(unlike).filter(move |middle| self.next(i, *middle).is_some())
    }
}

/// The stretches of elements that are a vec of one atom. Two equal vecs may be cut into elements in different
/// ways.
struct Vectors {
    /// Four values for each element: the number of atoms before it, its symbol, the stride of the atoms from
    /// it on, and the end of the stretch that begins with it.
    atoms: Vec<u64>,
    symbol: Vec<u32>,
    stride: Vec<i64>,
    end: Vec<usize>,
}

impl Vectors {
    /// Finds the stretches. Returns `None` if all elements are single atoms, because then equal segments
    /// consist of equal elements.
    fn of(atoms: &Atoms) -> Option<Self> {
        if atoms.counts.iter().all(|count| *count == 1) {
            return None;
        }
        let (pair, goes_on) = atoms.pairs();
        let n = atoms.len();
        let mut end: Vec<usize> = (1..=n).collect();
        for i in (0..n).rev() {
            if goes_on.get(i) == Some(&true) {
                end[i] = end[i + 1];
            } else if pair.get(i) == Some(&true) {
                end[i] = i + 2;
            }
        }
        let stride = |i: usize| match atoms.counts[i] {
            1 if pair.get(i) == Some(&true) => atoms.steps[i],
            _ => atoms.strides[i],
        };
        let before = atoms.counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        });
        Some(Self {
            atoms: core::iter::once(0).chain(before).collect(),
            symbol: atoms.symbols.clone(),
            stride: (0..n).map(stride).collect(),
            end,
        })
    }

    /// Like [`Repeats::next`], for a segment that is a vec of atoms.
    fn next(&self, from: usize, middle: usize) -> Option<usize> {
        if middle >= self.end.len() || middle > self.end[from] {
            return None;
        }
        let length = self.atoms[middle] - self.atoms[from];
        if self.symbol[from] != self.symbol[middle] || self.stride[from] != self.stride[middle] {
            return None;
        }
        let copy = &self.atoms[middle..=self.end[middle]];
        copy.binary_search(&(self.atoms[middle] + length)).ok().map(|elements| middle + elements)
    }
}
