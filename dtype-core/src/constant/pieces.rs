//! What the small tree program works on: parts of a map that can be solved apart, and the pieces of each.

use super::RunBuffer;
use crate::{
    BaseType, Limits, Run,
    cuts::{Anchor, Repetition, Room, Stretch, Tiling, cut, entries},
};

/// The most pieces of a part: as many entries are solved exactly in an expansion, one by one.
pub(super) const MOST: usize = Limits::EXPANSION.exact_entries as usize;

/// The most repetitions of a part that are looked at.
const REPETITIONS: usize = 64;

/// Where a map falls apart: `true` before each run that begins a part.
///
/// If the entries of one base type follow each other, then no vec, idx or idxbuc of two or more copies
/// reaches across either end of that stretch: its child would hold the type and another one, and in two
/// copies of the child the type would not follow itself. So above both sides there are only strcs, which
/// merge into one at the root; and within a part the argument holds again, with fewer occurrences of the
/// other types.
pub(super) const fn parts(runs: &[Run]) -> [bool; RunBuffer::CAPACITY] {
    let mut begins = [false; RunBuffer::CAPACITY];
    begins[0] = true;
    let mut changed = true;
    while changed {
        changed = false;
        let mut start = 0;
        while start < runs.len() {
            let end = end_of(&begins, start, runs.len());
            // There is nothing to part in a single run.
            changed |= end > start + 1 && part_at_stretches(runs, start, end, &mut begins);
            start = end;
        }
    }
    begins
}

/// Where the part that begins at `start` ends.
pub(super) const fn end_of(begins: &[bool], start: usize, end: usize) -> usize {
    let mut at = start + 1;
    while at < end && !begins[at] {
        at += 1;
    }
    at
}

/// Parts the runs `start..end` at the ends of every stretch that holds all entries of its type. Whether there
/// was any.
const fn part_at_stretches(runs: &[Run], start: usize, end: usize, begins: &mut [bool]) -> bool {
    // By base type: the number of stretches.
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

/// How the runs of a part become pieces.
#[derive(Clone, Copy)]
pub(super) enum Grain {
    /// A piece for each run.
    Runs,
    /// Runs, cut wherever that can help; entries, where that would be too many cuts.
    Cut,
    /// A piece for each entry.
    Entries,
}

/// The pieces of a part.
pub(super) struct PieceList {
    /// The pieces, `length` of them; a piece is a run itself, with the stride of the whole even if it is a
    /// single entry.
    pub(super) list: [Run; MOST],
    pub(super) length: usize,
    /// For each piece, where the stretch of one base type at one stride ends that begins with it, and the
    /// stride.
    pub(super) end: [u8; MOST],
    pub(super) stride: [i64; MOST],
    /// Equal for pieces that are the same but for their place.
    pub(super) symbol: [u8; MOST],
    /// Whether solving the pieces solves the map.
    pub(super) exact: bool,
}

impl PieceList {
    /// Of the runs of a part.
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

    /// The symbol of a piece is the first one that is like it.
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

    /// Whether there was room for all that the cuts leave.
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

    /// From one piece to a later one, in bytes.
    pub(super) const fn distance(&self, from: usize, to: usize) -> i64 {
        self.list[to].displacement - self.list[from].displacement
    }

    const fn alike(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.list[a], &self.list[b]);
        a.base as u8 == b.base as u8 && a.count == b.count && (a.count == 1 || a.stride == b.stride)
    }
}
