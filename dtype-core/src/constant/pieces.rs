//! The input of the search in [`super::table`]: the parts of a map that are solved separately, and their
//! pieces.

use super::RunBuffer;
use crate::{
    BaseType, Limits, Run,
    cuts::{Anchor, Repetition, Room, Stretch, Tiling, cut, entries},
};

/// The largest number of pieces of a part. An expansion solves as many entries exactly, one by one.
pub(super) const MOST: usize = Limits::EXPANSION.exact_entries as usize;

/// The largest number of repetitions of a part that are considered.
const REPETITIONS: usize = 64;

/// Splits a map into parts. Returns `true` for each run that begins a part.
///
/// If all entries of one base type follow each other, no vec, idx or idxbuc of two or more copies crosses
/// either end of that stretch. Its child would hold this type and another one, so the other type would
/// interrupt the entries of this type. So only strcs cross these ends, and they merge into one strc at the
/// root. The argument applies again within a part, where the other types have fewer occurrences.
pub(super) const fn parts(runs: &[Run]) -> [bool; RunBuffer::CAPACITY] {
    let mut begins = [false; RunBuffer::CAPACITY];
    begins[0] = true;
    let mut changed = true;
    while changed {
        changed = false;
        let mut start = 0;
        while start < runs.len() {
            let end = end_of(&begins, start, runs.len());
            // A single run cannot be split.
            changed |= end > start + 1 && part_at_stretches(runs, start, end, &mut begins);
            start = end;
        }
    }
    begins
}

/// Returns the end of the part that begins at `start`.
pub(super) const fn end_of(begins: &[bool], start: usize, end: usize) -> usize {
    let mut at = start + 1;
    while at < end && !begins[at] {
        at += 1;
    }
    at
}

/// Splits the runs `start..end` at both ends of every stretch that holds all entries of its type. Returns
/// `true` if it split any runs.
const fn part_at_stretches(runs: &[Run], start: usize, end: usize, begins: &mut [bool]) -> bool {
    // The number of stretches of each base type.
    let mut stretches = [0u8; BaseType::COUNT];
    let mut at = start;
    while at < end {
        let base = runs[at].base as usize;
        if at == start || runs[at - 1].base as usize != base {
            stretches[base] += 1;
        }
        at += 1;
    }
    let mut changed = false;
    at = start + 1;
    while at < end {
        let (before, here) = (runs[at - 1].base as usize, runs[at].base as usize);
        if before != here && (stretches[before] == 1 || stretches[here] == 1) && !begins[at] {
            begins[at] = true;
            changed = true;
        }
        at += 1;
    }
    changed
}

/// The rule by which the runs of a part become pieces.
#[derive(Clone, Copy)]
pub(super) enum Grain {
    /// A piece for each run.
    Runs,
    /// Pieces of runs, cut wherever this can help. If the runs need too many cuts, the rule is `Entries`.
    Cut,
    /// A piece for each entry or, if there are more than [`MOST`] entries, for each run.
    Entries,
}

/// The pieces of a part.
pub(super) struct PieceList {
    /// The pieces, `length` of them. A piece is a run itself. It has the stride of the run that it was cut
    /// from, even if it is a single entry.
    pub(super) list: [Run; MOST],
    pub(super) length: usize,
    /// The end of the stretch that begins with each piece, and the stride of that stretch. A stretch has one
    /// base type and one stride.
    pub(super) end: [u8; MOST],
    pub(super) stride: [i64; MOST],
    /// The symbol of each piece. Pieces that differ only in their displacements have the same symbol.
    pub(super) symbol: [u8; MOST],
    /// `true` if solving the pieces solves the map.
    pub(super) exact: bool,
}

impl PieceList {
    /// Cuts the runs of a part into pieces.
    pub(super) const fn of(runs: &[Run], grain: Grain, tiling: &Tiling) -> Self {
        let mut pieces = Self {
            list: [runs[0]; MOST],
            length: 0,
            end: [0; MOST],
            stride: [0; MOST],
            symbol: [0; MOST],
            exact: true,
        };
        let few = entries(runs) <= MOST as u64;
        match grain {
            Grain::Runs => pieces.add_runs(runs),
            Grain::Cut if pieces.add_cut(runs, tiling) => {}
            _ if few => pieces.add_entries(runs),
            _ => {
                pieces.exact = false;
                pieces.add_runs(runs);
            }
        }
        pieces.find_symbols();
        pieces.find_stretches();
        pieces
    }

    /// Gives each piece the symbol of the first piece that is like it.
    const fn find_symbols(&mut self) {
        let mut i = 0;
        while i < self.length {
            let mut first = 0;
            while !self.alike(first, i) {
                first += 1;
            }
            self.symbol[i] = first as u8;
            i += 1;
        }
    }

    const fn find_stretches(&mut self) {
        let mut i = self.length;
        while i > 0 {
            i -= 1;
            let piece = &self.list[i];
            (self.end[i], self.stride[i]) = (i as u8 + 1, if piece.count > 1 { piece.stride } else { 0 });
            if i + 1 == self.length {
                continue;
            }
            let next = &self.list[i + 1];
            let step = next.displacement - piece.entry(piece.count - 1);
            let fits = (piece.count == 1 || piece.stride == step) && (next.count == 1 || next.stride == step);
            if fits && piece.base as u8 == next.base as u8 {
                let goes_on = next.count > 1 || self.stride[i + 1] == step;
                let two = i as u8 + 2;
                (self.end[i], self.stride[i]) = (if goes_on { self.end[i + 1] } else { two }, step);
            }
        }
    }

    const fn add_runs(&mut self, runs: &[Run]) {
        self.length = 0;
        while self.length < runs.len() {
            self.list[self.length] = runs[self.length];
            self.length += 1;
        }
    }

    const fn add_entries(&mut self, runs: &[Run]) {
        self.length = 0;
        let mut i = 0;
        while i < runs.len() {
            let mut entry = 0;
            while entry < runs[i].count {
                self.add(runs, i, entry, 1);
                entry += 1;
            }
            i += 1;
        }
    }

    /// Adds the pieces between the cuts. Returns `false` if there are more cuts than the buffers hold.
    const fn add_cut(&mut self, runs: &[Run], tiling: &Tiling) -> bool {
        let mut cuts = [0; MOST + 1];
        let room = Room {
            cuts: &mut cuts,
            stretches: &mut [Stretch::NONE; 2 * RunBuffer::CAPACITY],
            anchors: &mut [Anchor::NONE; MOST],
            repetitions: &mut [Repetition::NONE; REPETITIONS],
        };
        let Some(length) = cut(runs, tiling, room) else { return false };
        let (mut run, mut start, mut i) = (0, 0, 1);
        while i < length {
            let (from, to) = (cuts[i - 1], cuts[i]);
            self.add(runs, run, from - start, to - from);
            if to - start == runs[run].count {
                start = to;
                run += 1;
            }
            i += 1;
        }
        true
    }

    const fn add(&mut self, runs: &[Run], run: usize, from: u64, count: u64) {
        self.list[self.length] = Run { displacement: runs[run].entry(from), count, ..runs[run] };
        self.length += 1;
    }

    /// Returns the distance from one piece to a later one, in bytes.
    pub(super) const fn distance(&self, from: usize, to: usize) -> i64 {
        self.list[to].displacement - self.list[from].displacement
    }

    const fn alike(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.list[a], &self.list[b]);
        a.base as u8 == b.base as u8 && a.count == b.count && (a.count == 1 || a.stride == b.stride)
    }
}
