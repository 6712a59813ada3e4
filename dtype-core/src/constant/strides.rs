//! The frequencies of the strides of pieces, counted in a constant.

use super::pieces::MOST;
use crate::{Run, cuts::Long};

/// The frequencies of the differences of displacements. The most frequent one is the best stride of an
/// idxbuc. The general search uses a hash table; this one uses a list.
pub(super) struct StrideCounts {
    pub differences: [i64; 2 * MOST],
    counts: [u64; 2 * MOST],
    pub length: usize,
    pub pushed: u64,
    /// The index of the most frequent difference. `most` is its frequency.
    best: usize,
    pub most: u64,
    /// `true` if entries of different base types were pushed, so that the other fields have no meaning.
    pub mixed: bool,
    /// The pieces whose entries are too many to be listed.
    pub long: Long,
}

impl StrideCounts {
    pub const fn new() -> Self {
        Self {
            differences: [0; _],
            counts: [0; _],
            length: 0,
            pushed: 0,
            best: 0,
            most: 0,
            mixed: false,
            long: Long::None,
        }
    }

    /// Returns the most frequent difference.
    pub const fn best(&self) -> i64 {
        self.differences[self.best]
    }

    /// Adds the piece `at` to the pieces from `start` on. Counts its distance to the piece before, and the
    /// distances within it.
    pub const fn push_piece(&mut self, pieces: &[Run], start: usize, at: usize) {
        let piece = &pieces[at];
        if piece.base as u8 != pieces[start].base as u8 {
            self.mixed = true;
            return;
        }
        self.long = self.long.with(piece.count, piece.stride);
        if at > start {
            let before = &pieces[at - 1];
            self.push(piece.displacement - before.entry(before.count - 1), 1);
        }
        if piece.count > 1 {
            self.push(piece.stride, piece.count - 1);
        }
    }

    pub const fn push(&mut self, difference: i64, count: u64) {
        let mut i = 0;
        while i < self.length && self.differences[i] != difference {
            i += 1;
        }
        if i == self.length {
            self.differences[i] = difference;
            self.length += 1;
        }
        self.pushed += count;
        self.counts[i] += count;
        if self.counts[i] > self.most {
            self.most = self.counts[i];
            self.best = i;
        }
    }
}
