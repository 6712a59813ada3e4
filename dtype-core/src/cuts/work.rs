//! The state of the search for cuts: the cuts so far, and the properties of the runs.

use super::model::Tiling;
use crate::Run;

/// A place in a map, between two entries or at an end.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The number of entries before the place.
    pub(super) at: u64,
    /// The run after the place, or the number of runs.
    pub(super) run: usize,
    /// The number of entries of that run before the place.
    pub(super) offset: u64,
}

pub(super) const START: Place = Place { at: 0, run: 0, offset: 0 };

/// A place that a repetition may cross: the base types before and behind the place, and the distance in bytes
/// (`step`) between the entries on either side.
#[derive(Clone, Copy)]
pub(crate) struct Anchor {
    pub(super) place: Place,
    pub(super) before: u8,
    pub(super) behind: u8,
    pub(super) step: i64,
}

impl Anchor {
    pub(crate) const NONE: Self = Self { place: START, before: 0, behind: 0, step: 0 };
}

/// A repetition: the entries `start..end` have the same shape as the entries `period` later, so both are cut
/// at the same places.
#[derive(Clone, Copy)]
pub(crate) struct Repetition {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) period: u64,
}

impl Repetition {
    pub(crate) const NONE: Self = Self { start: 0, end: 0, period: 0 };
}

/// A longest sequence of entries of one base type at one stride. It is either a run, extended by the last
/// entry of the run before if that entry fits the stride, or two neighbouring entries of different runs.
#[derive(Clone, Copy)]
pub(crate) struct Stretch {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) stride: i64,
    pub(super) base: u8,
}

impl Stretch {
    pub(crate) const NONE: Self = Self { start: 0, end: 0, stride: 0, base: 0 };

    pub(super) const fn length(&self) -> u64 {
        self.end - self.start
    }
}

/// The buffers for the search. Their lengths are limits. There are at most two stretches for each run, and no
/// more anchors than cuts.
pub(crate) struct Room<'a> {
    /// The cuts, in entries from the start of the map and in order.
    pub(crate) cuts: &'a mut [u64],
    pub(crate) stretches: &'a mut [Stretch],
    pub(crate) anchors: &'a mut [Anchor],
    pub(crate) repetitions: &'a mut [Repetition],
}

pub(super) struct Cuts<'a> {
    pub(super) runs: &'a [Run],
    pub(super) tiling: &'a Tiling,
    pub(super) room: Room<'a>,
    pub(super) length: usize,
    pub(super) stretches: usize,
    pub(super) repetitions: usize,
    /// `false` if a buffer in `room` was too short.
    pub(super) complete: bool,
}

impl<'a> Cuts<'a> {
    pub(super) const fn none(runs: &'a [Run], tiling: &'a Tiling, room: Room<'a>) -> Self {
        Self { runs, tiling, room, length: 0, stretches: 0, repetitions: 0, complete: true }
    }

    /// Returns `true` if a run has the same base type as the run before. The run must not be the first.
    pub(super) const fn goes_on(&self, run: usize) -> bool {
        self.runs[run].base as u8 == self.runs[run - 1].base as u8
    }

    /// Returns the distance in bytes to a run from the last entry of the run before. The run must not be the
    /// first.
    pub(super) const fn step(&self, run: usize) -> i64 {
        let last = &self.runs[run - 1];
        self.runs[run].displacement.wrapping_sub(last.entry(last.count - 1))
    }

    pub(super) const fn end_of(&self, place: Place) -> Place {
        Place { at: place.at + self.runs[place.run].count - place.offset, run: place.run + 1, offset: 0 }
    }

    /// Returns the index of the first cut that is not before `at`.
    pub(super) const fn find(&self, at: u64) -> usize {
        let (mut low, mut high) = (0, self.length);
        while low < high {
            let middle = low.midpoint(high);
            if self.room.cuts[middle] < at {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    pub(super) const fn insert(&mut self, at: u64) {
        let behind_all = self.length == 0 || self.room.cuts[self.length - 1] < at;
        let place = if behind_all { self.length } else { self.find(at) };
        if place == self.length || self.room.cuts[place] != at {
            self.insert_at(place, at);
        }
    }

    pub(super) const fn insert_at(&mut self, place: usize, at: u64) {
        if self.length == self.room.cuts.len() {
            self.complete = false;
            return;
        }
        let mut i = self.length;
        while i > place {
            self.room.cuts[i] = self.room.cuts[i - 1];
            i -= 1;
        }
        self.room.cuts[place] = at;
        self.length += 1;
    }
}
