//! Repetitions that cross the ends of runs. All copies of a repetition are cut at the same places.

use super::work::{Anchor, Cuts, Place, Repetition, START};
use crate::cost::least;

impl Cuts<'_> {
    /// Finds all repetitions that cross the end of a run. Such a repetition has pairs of places with the same
    /// base types on either side, and the same distance between the entries on either side.
    pub(super) const fn find_repetitions(&mut self) {
        let (mut place, mut count, mut i) = (START, 0, 1);
        while i + 1 < self.length && count < self.room.anchors.len() {
            place = self.place(self.room.cuts[i], place);
            let (last, next) = (self.before_end(place), &self.runs[place.run]);
            let before = &self.runs[last.run];
            let step = next.entry(place.offset).wrapping_sub(before.entry(last.offset - 1));
            self.room.anchors[count] =
                Anchor { place, before: before.base as u8, behind: next.base as u8, step };
            count += 1;
            i += 1;
        }
        self.complete &= i + 1 >= self.length;
        let mut first = 0;
        while first + 1 < count && self.complete {
            let a = self.room.anchors[first];
            let mut second = first + 1;
            while second < count {
                let b = &self.room.anchors[second];
                if a.step == b.step && a.before == b.before && a.behind == b.behind {
                    self.find_repetition(a.place, b.place);
                }
                second += 1;
            }
            first += 1;
        }
    }

    /// Returns the place of a cut. The search begins at `from`, which must not be after the cut.
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
        // Some pairs need no search. If both places are inside runs, the repetition of the runs' entries is
        // known. The same holds for the beginning of a run and a place inside this run, because the entry
        // before the run fits its stride. If the places are the ends of two equal runs, the pair of the
        // beginnings of these runs shows the repetition.
        if b.offset > 0 && (a.offset > 0 || a.run == b.run) || self.are_behind_others(a, b) {
            return;
        }
        let (before, behind) = (self.matching_before(a, b), self.matching_behind(a, b));
        let period = b.at - a.at;
        if before > 0 && behind > 0 && before + behind >= period && !self.is_known(a, b) {
            self.add_repetition(Repetition { start: a.at - before, end: a.at + behind, period });
        }
    }

    const fn add_repetition(&mut self, repetition: Repetition) {
        if self.repetitions == self.room.repetitions.len() {
            self.complete = false;
            return;
        }
        self.room.repetitions[self.repetitions] = repetition;
        self.repetitions += 1;
    }

    /// Returns `true` if both places are the ends of runs that are alike, and the beginnings of these runs
    /// match as well. The places must match on either side.
    const fn are_behind_others(&self, a: Place, b: Place) -> bool {
        if a.offset > 0 || b.offset > 0 || a.run < 2 {
            return false;
        }
        let (a, b) = (a.run - 1, b.run - 1);
        let (one, other) = (&self.runs[a], &self.runs[b]);
        one.count == other.count
            && one.stride == other.stride
            && self.runs[a - 1].base as u8 == self.runs[b - 1].base as u8
            && self.step(a) == self.step(b)
    }

    /// Returns `true` if both places lie in a known repetition, a whole number of periods apart. A repetition
    /// with a multiple of the period ends where the repetition with the period does.
    const fn is_known(&self, a: Place, b: Place) -> bool {
        let mut i = self.repetitions;
        while i > 0 {
            i -= 1;
            let Repetition { start, end, period } = self.room.repetitions[i];
            if start < a.at && b.at < end + period && (b.at - a.at).is_multiple_of(period) {
                return true;
            }
        }
        false
    }

    /// Returns the number of entries after both places that have the same shape.
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

    /// Returns the number of entries before both places that have the same shape and the same position
    /// relative to the entries after the places.
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

    /// Returns the place as the end of a run instead of the beginning of the next one.
    const fn before_end(&self, place: Place) -> Place {
        match place.offset {
            0 => Place { run: place.run - 1, offset: self.runs[place.run - 1].count, ..place },
            _ => place,
        }
    }

    /// Returns the distance in bytes from the entry after one place to the entry after the other.
    const fn distance(&self, a: Place, b: Place) -> i64 {
        self.runs[b.run].entry(b.offset).wrapping_sub(self.runs[a.run].entry(a.offset))
    }

    /// Cuts at the ends of all repetitions, and repeats every cut in one copy in the other copies.
    pub(super) const fn repeat(&mut self) {
        let mut i = 0;
        while i < self.repetitions {
            let Repetition { start, end, period } = self.room.repetitions[i];
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
            while i < self.repetitions {
                self.repeat_behind(self.room.repetitions[i]);
                self.repeat_before(self.room.repetitions[i]);
                i += 1;
            }
        }
    }

    /// Repeats the cuts of a repetition's copies in the copies after them, from front to back.
    const fn repeat_behind(&mut self, Repetition { start, end, period }: Repetition) {
        let (mut first, mut second) = (self.find(start), self.find(start + period));
        while first < self.length && self.room.cuts[first] <= end && self.complete {
            let copy = self.room.cuts[first] + period;
            while second < self.length && self.room.cuts[second] < copy {
                second += 1;
            }
            if second == self.length || self.room.cuts[second] > copy {
                self.insert_at(second, copy);
            }
            first += 1;
        }
    }

    /// Repeats the cuts of a repetition's copies in the copies before them, from back to front.
    const fn repeat_before(&mut self, Repetition { start, end, period }: Repetition) {
        let (mut first, mut second) = (self.find(end + 1), self.find(end + period + 1));
        while second > 0 && self.room.cuts[second - 1] >= start + period && self.complete {
            let copy = self.room.cuts[second - 1] - period;
            while first > 0 && self.room.cuts[first - 1] > copy {
                first -= 1;
            }
            if first > 0 && self.room.cuts[first - 1] == copy {
                second -= 1;
            } else {
                // The insertion moved all cuts from index `first` on by one index, so `second` now denotes
                // the next cut.
                self.insert_at(first, copy);
            }
        }
    }
}
