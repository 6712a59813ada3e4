//! Stretches of one base type at one stride, and the cuts where one stretch consists of several copies of
//! another.

use super::{
    model::Tiling,
    work::{Cuts, Stretch},
};
use crate::{Run, cost::least};

impl Cuts<'_> {
    /// Finds all stretches, in order.
    pub(super) const fn find_stretches(&mut self) {
        let (mut run, mut start, mut before) = (0, 0, None);
        while run < self.runs.len() {
            let Run { base, count, stride, .. } = self.runs[run];
            let mut from = start;
            if run > 0 && self.goes_on(run) {
                let step = self.step(run);
                if count > 1 && step == stride {
                    from -= 1;
                } else if !matches!(before, Some(stride) if stride == step) {
                    self.add_stretch(Stretch {
                        start: start - 1,
                        end: start + 1,
                        stride: step,
                        base: base as u8,
                    });
                }
            }
            if count > 1 {
                self.add_stretch(Stretch { start: from, end: start + count, stride, base: base as u8 });
            }
            before = if count > 1 { Some(stride) } else { None };
            start += count;
            run += 1;
        }
    }

    const fn add_stretch(&mut self, stretch: Stretch) {
        if self.stretches == self.room.stretches.len() {
            self.complete = false;
            return;
        }
        self.room.stretches[self.stretches] = stretch;
        self.stretches += 1;
    }

    /// Cuts each stretch that consists of several copies of a stretch beside it, or of one copy and few
    /// entries more.
    pub(super) const fn tile(&mut self) {
        let mut i = 0;
        while i < self.stretches && self.complete {
            if self.tiling.within > 0 {
                self.tile_by(i);
            }
            if let Some(next) = self.neighbour(i, true) {
                self.make_equal(i, next);
                self.halve(i);
            }
            i += 1;
        }
    }

    /// Cuts the longer one of two neighbours to the length of the shorter one, if few entries are left over.
    const fn make_equal(&mut self, one: usize, other: usize) {
        let (before, behind) = (self.room.stretches[one], self.room.stretches[other]);
        let (first, second) = (before.length(), behind.length());
        if first < second && second - first <= self.tiling.left {
            self.insert(behind.start + first);
        } else if second < first && first - second <= self.tiling.left {
            self.insert(before.end - second);
        }
    }

    /// Cuts neighbouring stretches of equal length in halves, if a shorter stretch precedes them and a
    /// shorter one follows. Then the halves of two neighbours may be the copies of a vec that repeats.
    const fn halve(&mut self, one: usize) {
        let length = self.room.stretches[one].length();
        let half = length / 2;
        let (Some(first), true) = (self.neighbour(one, false), length.is_multiple_of(2)) else { return };
        if !self.is_shorter(first, length) {
            return;
        }
        let mut last = one;
        while let Some(next) = self.neighbour(last, true) {
            last = next;
            if self.copies(next, length) != 1 || !self.is_tiled(next, length) {
                break;
            }
        }
        if self.is_shorter(last, length) {
            let (mut at, end) =
                (self.room.stretches[first].end - half, self.room.stretches[last].start + half);
            while at <= end && self.complete {
                self.insert(at);
                at += half;
            }
        }
    }

    /// Returns `true` if a stretch is shorter than `length`, but not shorter than half of it.
    const fn is_shorter(&self, stretch: usize, length: u64) -> bool {
        let own = self.room.stretches[stretch].length();
        length / 2 <= own && own < length
    }

    /// Cuts the neighbours of a stretch that are several copies of it, if enough of them are single copies.
    const fn tile_by(&mut self, one: usize) {
        let Tiling { at_end, within, index, index_bucket, .. } = *self.tiling;
        let length = self.room.stretches[one].length();
        let (mut first, mut start) = (one, self.room.stretches[one].start);
        while let Some(before) = self.neighbour(first, false) {
            let copies = self.copies(before, length);
            if copies == 1 && self.is_tiled(before, length) {
                // The stretch `before` has the same length, and these cuts were made for it.
                return;
            }
            if copies > within || !self.is_tiled(before, length) {
                start -= least(copies, at_end) * length;
                break;
            }
            (first, start) = (before, self.room.stretches[before].start);
        }
        // At either end of a node that is worth it, there may be a single copy from a longer stretch.
        let single = self.tiling.saved(1);
        let (mut saved, mut most, mut next) = (single, single, Some(first));
        let mut end = start;
        while let Some(stretch) = next {
            let copies = self.copies(stretch, length);
            if copies > within || !self.is_tiled(stretch, length) {
                end += least(copies, at_end) * length;
                break;
            }
            let (by_index, by_bucket) = self.tiling.saved(copies);
            saved = (larger(saved.0, single.0) + by_index, larger(saved.1, single.1) + by_bucket);
            most = (larger(most.0, saved.0), larger(most.1, saved.1));
            end = self.room.stretches[stretch].end;
            next = self.neighbour(stretch, true);
        }
        if most.0 + single.0 <= index && most.1 + single.1 <= index_bucket {
            return;
        }
        let mut at = start;
        while at <= end && self.complete {
            self.insert(at);
            at += length;
        }
    }

    /// Returns the neighbour of a stretch, with the same base type and stride. If `behind` is `true`, the
    /// neighbour begins where the stretch ends; otherwise, it ends where the stretch begins.
    const fn neighbour(&self, one: usize, behind: bool) -> Option<usize> {
        /// The number of stretches to look through. Stretches are in order, and overlap by at most one entry.
        const NEAR: usize = 6;
        let a = &self.room.stretches[one];
        let mut i = 1;
        while i <= NEAR {
            let other = if behind { one + i } else { one.wrapping_sub(i) };
            if other >= self.stretches {
                return None;
            }
            let b = &self.room.stretches[other];
            let meets = if behind { b.start == a.end } else { b.end == a.start };
            if meets && a.stride == b.stride && a.base == b.base {
                return Some(other);
            }
            i += 1;
        }
        None
    }

    /// Returns the number of copies of a length that fit into a stretch.
    const fn copies(&self, stretch: usize, length: u64) -> u64 {
        self.room.stretches[stretch].length() / length
    }

    /// Returns `true` if copies of a length fill a stretch.
    const fn is_tiled(&self, stretch: usize, length: u64) -> bool {
        self.room.stretches[stretch].length().is_multiple_of(length)
    }
}

const fn larger(a: i64, b: i64) -> i64 {
    if a > b { a } else { b }
}
