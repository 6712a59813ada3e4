//! Where runs must be cut, so that solving the pieces solves the map. DESIGN.md has the argument.

use crate::{Run, cost::least};

/// The most repetitions of a map that are looked at, and the most places where they may show.
const REPETITIONS: usize = 64;
const ANCHORS: usize = 256;

/// A place in a map, between two entries or at an end.
#[derive(Clone, Copy)]
struct Place {
    /// Entries before it.
    at: u64,
    /// The run behind it, or the number of runs.
    run: usize,
    /// Entries of that run before it.
    offset: u64,
}

const START: Place = Place { at: 0, run: 0, offset: 0 };

/// A place where a repetition may show: the base types on either side, and the distance across.
#[derive(Clone, Copy)]
struct Anchor {
    place: Place,
    before: u8,
    behind: u8,
    step: i64,
}

/// The entries `start..end` have the same shape as the ones `period` behind them.
#[derive(Clone, Copy)]
struct Repetition {
    start: u64,
    end: u64,
    period: u64,
}

struct Cuts<'a> {
    runs: &'a [Run],
    /// In entries from the start of the map, in order.
    list: &'a mut [u64],
    length: usize,
    repetitions: [Repetition; REPETITIONS],
    repeated: usize,
    /// Whether there was room for everything.
    complete: bool,
}

/// Where to cut a map: at the ends of its runs, at what a repetition makes of these, and where runs of one
/// length would fit into others. Solving the pieces solves the map under any model that takes [runs for
/// atoms](super::takes_runs_for_atoms).
///
/// `a² x a⁵ x a⁵ x a³` at a regular stride repeats with a period of six entries; so both runs of five are cut
/// behind the third entry, and what is found is `vec(3, strc(a², x, a³))`.
///
/// Writes the cuts, in entries from the start of the map and in order, both ends among them, and gives their
/// number; nothing if there is no room for all.
pub(crate) const fn cut(runs: &[Run], list: &mut [u64]) -> Option<usize> {
    let repetitions = [Repetition { start: 0, end: 0, period: 0 }; REPETITIONS];
    let mut cuts = Cuts { runs, list, length: 0, repetitions, repeated: 0, complete: true };
    cuts.insert_ends();
    cuts.insert_lengths();
    cuts.find_repetitions();
    cuts.repeat();
    if cuts.complete { Some(cuts.length) } else { None }
}

impl Cuts<'_> {
    /// The ends of all runs. Where one base type goes on at another stride, an entry more or less on either
    /// side may belong to something else by chance.
    const fn insert_ends(&mut self) {
        let mut at = START;
        self.insert(0);
        while at.run < self.runs.len() {
            at = self.end_of(at);
            self.insert(at.at);
            if at.run < self.runs.len() && self.runs[at.run].base as u8 == self.runs[at.run - 1].base as u8 {
                if self.runs[at.run - 1].count > 1 {
                    self.insert(at.at - 1);
                }
                if self.runs[at.run].count > 1 {
                    self.insert(at.at + 1);
                }
            }
        }
    }

    const fn end_of(&self, place: Place) -> Place {
        Place { at: place.at + self.runs[place.run].count - place.offset, run: place.run + 1, offset: 0 }
    }

    /// An idx over vecs of one length may take longer runs for several, from either end: among neighbours of
    /// one base type only, and with fewer copies than twice their number less two, or an idxbuc over the
    /// leaves costs less.
    const fn insert_lengths(&mut self) {
        let (mut start, mut first) = (0, 0);
        while first < self.runs.len() {
            let mut end = first + 1;
            while end < self.runs.len() && self.runs[end].base as u8 == self.runs[first].base as u8 {
                end += 1;
            }
            let mut run = first;
            while run < end {
                if end - first > 2 && self.runs[run].count > 2 {
                    self.insert_lengths_into(start, run, first, end);
                }
                start += self.runs[run].count;
                run += 1;
            }
            first = end;
        }
    }

    const fn insert_lengths_into(&mut self, start: u64, run: usize, first: usize, end: usize) {
        let (whole, mut other) = (&self.runs[run], first);
        while other < end {
            let Run { displacement, count, stride, .. } = self.runs[other];
            if count == 1 || stride == whole.stride {
                self.insert_length(start, whole.count, count, end - first - 2);
                // The last entry of the run before may belong to this one as well.
                let before = &self.runs[if other > first { other - 1 } else { other }];
                if displacement.wrapping_sub(before.entry(before.count - 1)) == whole.stride {
                    self.insert_length(start, whole.count, count + 1, end - first - 2);
                }
            }
            other += 1;
        }
    }

    /// Cuts the run at `start` at the first multiples of a length, from both ends. A single entry is a leaf.
    const fn insert_length(&mut self, start: u64, whole: u64, length: u64, most: usize) {
        let (mut copies, mut entries) = (1, length);
        while length > 1 && copies <= most && entries < whole && self.complete {
            self.insert(start + entries);
            self.insert(start + whole - entries);
            copies += 1;
            entries += length;
        }
    }

    /// All repetitions that reach across the end of a run: they show at two places with the same on either
    /// side.
    const fn find_repetitions(&mut self) {
        let mut anchors = [Anchor { place: START, before: 0, behind: 0, step: 0 }; ANCHORS];
        let (mut place, mut count, mut i) = (START, 0, 1);
        while i + 1 < self.length && count < ANCHORS {
            place = self.place(self.list[i], place);
            let (last, next) = (self.before_end(place), &self.runs[place.run]);
            let before = &self.runs[last.run];
            let step = next.entry(place.offset).wrapping_sub(before.entry(last.offset - 1));
            anchors[count] = Anchor { place, before: before.base as u8, behind: next.base as u8, step };
            count += 1;
            i += 1;
        }
        self.complete &= i + 1 >= self.length;
        let mut first = 0;
        while first + 1 < count {
            let a = anchors[first];
            let mut second = first + 1;
            while second < count {
                let b = &anchors[second];
                if a.step == b.step && a.before == b.before && a.behind == b.behind {
                    self.find_repetition(a.place, b.place);
                }
                second += 1;
            }
            first += 1;
        }
    }

    /// The place of a cut, not before another one.
    const fn place(&self, at: u64, mut from: Place) -> Place {
        while from.run < self.runs.len() {
            let end = self.end_of(from);
            if end.at > at {
                break;
            }
            from = end;
        }
        Place { at, run: from.run, offset: from.offset + at - from.at }
    }

    const fn find_repetition(&mut self, a: Place, b: Place) {
        // A place inside a run repeats with the run.
        if (a.offset > 0 && b.offset > 0) || self.is_known(a, b) {
            return;
        }
        let (before, behind) = (self.matching_before(a, b), self.matching_behind(a, b));
        let period = b.at - a.at;
        if before == 0 || behind == 0 || before + behind < period {
            return;
        }
        if self.repeated == REPETITIONS {
            self.complete = false;
            return;
        }
        self.repetitions[self.repeated] = Repetition { start: a.at - before, end: a.at + behind, period };
        self.repeated += 1;
    }

    /// Whether both places lie in a repetition that is known, a number of periods apart: a multiple of a
    /// period ends where the period does.
    const fn is_known(&self, a: Place, b: Place) -> bool {
        let mut i = self.repeated;
        while i > 0 {
            i -= 1;
            let Repetition { start, end, period } = self.repetitions[i];
            if start < a.at && b.at < end + period && (b.at - a.at).is_multiple_of(period) {
                return true;
            }
        }
        false
    }

    /// How many entries behind both places have the same shape.
    const fn matching_behind(&self, mut a: Place, mut b: Place) -> u64 {
        let (from, distance) = (a.at, self.distance(a, b));
        while b.run < self.runs.len() {
            let (left, right) = (&self.runs[a.run], &self.runs[b.run]);
            if left.base as u8 != right.base as u8 || self.distance(a, b) != distance {
                break;
            }
            let step = least(left.count - a.offset, right.count - b.offset);
            if step > 1 && left.stride != right.stride {
                return a.at + 1 - from;
            }
            a = self.place(a.at + step, a);
            b = self.place(b.at + step, b);
        }
        a.at - from
    }

    /// How many entries before both places have the same shape, and lie the same way to what is behind.
    const fn matching_before(&self, mut a: Place, mut b: Place) -> u64 {
        let (from, distance) = (a.at, self.distance(a, b));
        while a.at > 0 {
            a = self.before_end(a);
            b = self.before_end(b);
            let (left, right) = (&self.runs[a.run], &self.runs[b.run]);
            let (one, other) = (left.entry(a.offset - 1), right.entry(b.offset - 1));
            if left.base as u8 != right.base as u8 || other.wrapping_sub(one) != distance {
                break;
            }
            let step = least(a.offset, b.offset);
            if step > 1 && left.stride != right.stride {
                return from + 1 - a.at;
            }
            a = Place { at: a.at - step, offset: a.offset - step, ..a };
            b = Place { at: b.at - step, offset: b.offset - step, ..b };
        }
        from - a.at
    }

    /// The same place, as the end of a run rather than the beginning of one.
    const fn before_end(&self, place: Place) -> Place {
        match place.offset {
            0 => Place { run: place.run - 1, offset: self.runs[place.run - 1].count, ..place },
            _ => place,
        }
    }

    /// In bytes, from the entry behind one place to the entry behind the other.
    const fn distance(&self, a: Place, b: Place) -> i64 {
        self.runs[b.run].entry(b.offset).wrapping_sub(self.runs[a.run].entry(a.offset))
    }

    /// The ends of all repetitions, and whatever cut lies in one copy in the other as well.
    const fn repeat(&mut self) {
        let mut i = 0;
        while i < self.repeated {
            let Repetition { start, end, period } = self.repetitions[i];
            self.insert(start);
            self.insert(end);
            self.insert(start + period);
            self.insert(end + period);
            i += 1;
        }
        let mut before = 0;
        while before < self.length && self.complete {
            before = self.length;
            let mut i = 0;
            while i < self.repeated {
                self.repeat_cuts(self.repetitions[i]);
                i += 1;
            }
        }
    }

    /// Makes the cuts of both copies the same, from back to front.
    const fn repeat_cuts(&mut self, Repetition { start, end, period }: Repetition) {
        let (mut first, mut second) = (self.length, self.length);
        loop {
            while first > 0 && self.list[first - 1] > end {
                first -= 1;
            }
            while second > 0 && self.list[second - 1] > end + period {
                second -= 1;
            }
            let one = if first > 0 { self.list[first - 1] } else { 0 };
            let other = if second > 0 { self.list[second - 1] } else { 0 };
            let (one_in, other_in) = (first > 0 && one >= start, second > 0 && other >= start + period);
            if !self.complete || (!one_in && !other_in) {
                return;
            }
            if one_in && (!other_in || one + period > other) {
                self.insert(one + period);
                first -= 1;
            } else if other_in && (!one_in || other > one + period) {
                // Inserted before `other`, which is as good as a step back.
                self.insert(other - period);
            } else {
                first -= 1;
                second -= 1;
            }
        }
    }

    const fn insert(&mut self, at: u64) {
        let mut place = self.length;
        while place > 0 && self.list[place - 1] > at {
            place -= 1;
        }
        if place > 0 && self.list[place - 1] == at {
            return;
        }
        if self.length == self.list.len() {
            self.complete = false;
            return;
        }
        let mut i = self.length;
        while i > place {
            self.list[i] = self.list[i - 1];
            i -= 1;
        }
        self.list[place] = at;
        self.length += 1;
    }
}
