//! Where runs must be cut, so that solving the pieces solves the map. DESIGN.md has the argument.

use crate::{LinearCosts, Run, cost::least};

/// Whether a least-cost tree of a map need not cut runs but where [`cut`] does: the counts of vecs are free,
/// but each costs something, and no more than a leaf that is a part; an idx over longer runs gains nothing
/// against an idxbuc over leaves; and lists are not free, so that one of more than [`LISTED`] entries of a
/// run is no better than the run by itself.
pub(crate) const fn takes_runs_for_atoms(costs: &LinearCosts) -> bool {
    let vector = costs.vector.at(2).of(costs.leaf);
    let (index, bucket) = (costs.index, costs.index_bucket);
    let two_lookups = index.more.own.saturating_mul(2);
    costs.vector.is_flat()
        && costs.vector.first.own > 0
        && bucket.is_flat()
        && vector == costs.floor(2, true, false)
        && costs.part.of(vector) <= costs.part.of(costs.leaf).saturating_mul(2)
        && index.more.times == 0
        && index.more.own > 0
        && costs.bucket.own > 0
        && costs.bucket.own <= two_lookups
        && bucket.first.own.saturating_add(two_lookups)
            <= index.first.own.saturating_add(costs.vector.first.own)
        && Tiling::of(costs).within <= LISTED
}

/// The entries of a run of more than this number are not listed one by one, neither by an idx nor by an
/// idxbuc of another stride: where lists cost next to nothing, that would be the least-cost tree, and not fit
/// the memory.
pub(crate) const LISTED: u64 = 1 << 12;

/// Which of some runs are too long to be listed.
#[derive(Clone, Copy)]
pub(crate) enum Long {
    None,
    /// All are of this stride.
    At(i64),
    Several,
}

impl Long {
    /// With a further run.
    pub(crate) const fn with(self, count: u64, stride: i64) -> Self {
        match self {
            _ if count <= LISTED => self,
            Self::None => Self::At(stride),
            Self::At(known) if known == stride => self,
            _ => Self::Several,
        }
    }

    /// Whether an idx may list them all.
    pub(crate) const fn can_be_listed(self) -> bool {
        matches!(self, Self::None)
    }

    /// Whether they can be in buckets of a stride.
    pub(crate) const fn fits_buckets(self, stride: i64) -> bool {
        match self {
            Self::None => true,
            Self::At(known) => known == stride,
            Self::Several => false,
        }
    }
}

/// What is beyond all reason, so that differences and sums of what is not stay within the range.
pub(crate) const FAR: u64 = 1 << 60;

/// Whether differences of displacements, and numbers of entries, are far from the end of their range.
pub(crate) const fn is_within_reason(runs: &[Run]) -> bool {
    let mut i = 0;
    while i < runs.len() {
        let (first, length) = (runs[i].displacement.unsigned_abs(), runs[i].stride.unsigned_abs());
        match length.checked_mul(runs[i].count) {
            Some(length) if first < FAR && length < FAR => i += 1,
            _ => return false,
        }
    }
    entries(runs) < FAR
}

/// Entries of all runs together.
pub(crate) const fn entries(runs: &[Run]) -> u64 {
    let (mut i, mut sum) = (0, 0u64);
    while i < runs.len() {
        sum = sum.saturating_add(runs[i].count);
        i += 1;
    }
    sum
}

/// When an idx or idxbuc over vecs of one length, which takes longer runs for several copies, may cost less
/// than an idxbuc over the leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tiling {
    /// What a copy adds to an idx, and a bucket to an idxbuc.
    lookup: i64,
    bucket: i64,
    /// What that must save: of an idx, and of an idxbuc.
    index: i64,
    index_bucket: i64,
    /// The most copies that are worth taking from a run at either end of such a node, and from one within.
    at_end: u64,
    within: u64,
    /// The most entries of a run that are worth leaving to an idx over leaves, so that the rest is as long as
    /// the run beside it.
    left: u64,
}

impl Tiling {
    /// Of a model that takes runs for atoms; under others it may leave cuts out.
    pub(crate) const fn of(costs: &LinearCosts) -> Self {
        const fn at_most(cost: u64) -> i64 {
            least(cost, 1 << 40) as i64
        }
        let (lookup, bucket) = (at_most(costs.index.more.own), at_most(costs.bucket.own));
        let (vector, leaf) = (at_most(costs.vector.at(2).own), at_most(costs.leaf));
        let (index, index_bucket) = (at_most(costs.index.first.own), at_most(costs.index_bucket.first.own));
        // What is taken from a run may be a part of its own, and what is behind it a node again.
        let part = at_most(costs.part.own);
        let run = at_most(costs.structure) + 2 * part + vector + leaf;
        let node = index + index_bucket + lookup + bucket + vector + leaf + part;
        let each = if lookup < bucket { lookup } else { bucket };
        let (at_end, within) = match each {
            0 => (0, 0),
            _ => (run / each + 2, (run + node) / each + 2),
        };
        let left = match lookup {
            0 => 0,
            _ => (part + vector + leaf) / lookup,
        };
        let (index, index_bucket) = (index + vector - index_bucket, bucket + vector);
        Self {
            lookup,
            bucket,
            index,
            index_bucket,
            at_end: at_end as u64,
            within: within as u64,
            left: left as u64,
        }
    }

    /// What so many copies of a run save, in an idx and in an idxbuc.
    const fn saved(&self, copies: u64) -> (i64, i64) {
        (self.bucket - copies as i64 * self.lookup, (2 - copies as i64) * self.bucket)
    }
}

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
pub(crate) struct Anchor {
    place: Place,
    before: u8,
    behind: u8,
    step: i64,
}

impl Anchor {
    pub(crate) const NONE: Self = Self { place: START, before: 0, behind: 0, step: 0 };
}

/// Whatever is cut in the entries `start..end` is cut `period` behind as well: both are alike.
#[derive(Clone, Copy)]
pub(crate) struct Repetition {
    start: u64,
    end: u64,
    period: u64,
}

impl Repetition {
    pub(crate) const NONE: Self = Self { start: 0, end: 0, period: 0 };
}

/// The longest stretch of one base type at one stride: a run, with the last entry of the one before where
/// that fits, or two neighbours of different runs.
#[derive(Clone, Copy)]
pub(crate) struct Stretch {
    start: u64,
    end: u64,
    stride: i64,
    base: u8,
}

impl Stretch {
    pub(crate) const NONE: Self = Self { start: 0, end: 0, stride: 0, base: 0 };
}

/// Memory to work in, whose lengths are limits. There are at most two stretches for each run, and no more
/// anchors than cuts.
pub(crate) struct Room<'a> {
    /// The cuts, in entries from the start of the map and in order.
    pub(crate) cuts: &'a mut [u64],
    pub(crate) stretches: &'a mut [Stretch],
    pub(crate) anchors: &'a mut [Anchor],
    pub(crate) repetitions: &'a mut [Repetition],
}

struct Cuts<'a> {
    runs: &'a [Run],
    tiling: &'a Tiling,
    room: Room<'a>,
    length: usize,
    stretches: usize,
    repetitions: usize,
    /// Whether there was room for everything.
    complete: bool,
}

/// Where to cut a map: at the ends of its runs, at what a repetition makes of these, and where runs of one
/// length would fit into others. Solving the pieces solves the map under any model that takes [runs for
/// atoms](takes_runs_for_atoms).
///
/// `a² x a⁵ x a⁵ x a³` at a regular stride repeats with a period of six entries; so both runs of five are cut
/// behind the third entry, and what is found is `vec(3, strc(a², x, a³))`.
///
/// Writes the cuts, both ends of the map among them, and gives their number; nothing if there is no room for
/// all.
pub(crate) const fn cut(runs: &[Run], tiling: &Tiling, room: Room<'_>) -> Option<usize> {
    let mut cuts = Cuts { runs, tiling, room, length: 0, stretches: 0, repetitions: 0, complete: true };
    cuts.insert_ends();
    cuts.find_stretches();
    cuts.tile();
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
            if at.run < self.runs.len() && self.goes_on(at.run) {
                if self.runs[at.run - 1].count > 1 {
                    self.insert(at.at - 1);
                }
                if self.runs[at.run].count > 1 {
                    self.insert(at.at + 1);
                }
            }
        }
    }

    /// Whether a run, not the first one, is of the same base type as the one before.
    const fn goes_on(&self, run: usize) -> bool {
        self.runs[run].base as u8 == self.runs[run - 1].base as u8
    }

    const fn end_of(&self, place: Place) -> Place {
        Place { at: place.at + self.runs[place.run].count - place.offset, run: place.run + 1, offset: 0 }
    }

    /// All stretches, in order.
    const fn find_stretches(&mut self) {
        let (mut run, mut start, mut before) = (0, 0, None);
        while run < self.runs.len() {
            let Run { base, count, stride, displacement } = self.runs[run];
            let step = if run > 0 && self.goes_on(run) {
                let last = &self.runs[run - 1];
                Some(displacement.wrapping_sub(last.entry(last.count - 1)))
            } else {
                None
            };
            let mut from = start;
            if let Some(step) = step {
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

    /// A stretch may be several copies of what is a stretch beside it, or one of them with little left over.
    const fn tile(&mut self) {
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

    /// Cuts the longer one of two neighbours where it is as long as the shorter one, if little is left.
    const fn make_equal(&mut self, one: usize, other: usize) {
        let (before, behind) = (self.room.stretches[one], self.room.stretches[other]);
        let (first, second) = (before.end - before.start, behind.end - behind.start);
        if first < second && second - first <= self.tiling.left {
            self.insert(behind.start + first);
        } else if second < first && first - second <= self.tiling.left {
            self.insert(before.end - second);
        }
    }

    /// Halves of two neighbours may be the copies of a vec that repeats, where it begins and ends in shorter
    /// ones.
    const fn halve(&mut self, one: usize) {
        let Stretch { start, end, .. } = self.room.stretches[one];
        let (length, half) = (end - start, (end - start) / 2);
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

    /// Whether a stretch is shorter than a length, but not than half of it.
    const fn is_shorter(&self, stretch: usize, length: u64) -> bool {
        let Stretch { start, end, .. } = self.room.stretches[stretch];
        length / 2 <= end - start && end - start < length
    }

    /// Cuts the neighbours of a stretch, as far as they are several of it, where enough of them are but one.
    const fn tile_by(&mut self, one: usize) {
        let Tiling { at_end, within, index, index_bucket, .. } = *self.tiling;
        let Stretch { start, end, .. } = self.room.stretches[one];
        let length = end - start;
        let (mut first, mut start) = (one, start);
        while let Some(before) = self.neighbour(first, false) {
            let copies = self.copies(before, length);
            if copies == 1 && self.is_tiled(before, length) {
                // It has been done with that one.
                return;
            }
            if copies > within || !self.is_tiled(before, length) {
                start -= least(copies, at_end) * length;
                break;
            }
            (first, start) = (before, self.room.stretches[before].start);
        }
        // At either end of a node that is worth it there may be a single copy of a longer stretch.
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

    /// The stretch at the same stride that begins where one ends, or ends where it begins.
    const fn neighbour(&self, one: usize, behind: bool) -> Option<usize> {
        /// They are in order, and overlap by no more than an entry.
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

    /// How many copies of a length fit into a stretch.
    const fn copies(&self, stretch: usize, length: u64) -> u64 {
        let Stretch { start, end, .. } = self.room.stretches[stretch];
        (end - start) / length
    }

    /// Whether they fill it.
    const fn is_tiled(&self, stretch: usize, length: u64) -> bool {
        let Stretch { start, end, .. } = self.room.stretches[stretch];
        (end - start).is_multiple_of(length)
    }

    /// All repetitions that reach across the end of a run: they show at two places with the same on either
    /// side.
    const fn find_repetitions(&mut self) {
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
        // A place inside a run repeats with the run, and so does its beginning where the entry before belongs
        // to it as well; others repeat with the one before where the runs between are alike.
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

    /// Whether both places, with the same on either side, are the ends of runs that are alike, and so are
    /// the other ends of these.
    const fn are_behind_others(&self, a: Place, b: Place) -> bool {
        if a.offset > 0 || b.offset > 0 || a.run < 2 {
            return false;
        }
        let (a, b) = (a.run - 1, b.run - 1);
        let (one, other) = (&self.runs[a], &self.runs[b]);
        let (before_one, before_other) = (&self.runs[a - 1], &self.runs[b - 1]);
        let step = one.displacement.wrapping_sub(before_one.entry(before_one.count - 1));
        one.count == other.count
            && one.stride == other.stride
            && before_one.base as u8 == before_other.base as u8
            && step == other.displacement.wrapping_sub(before_other.entry(before_other.count - 1))
    }

    /// Whether both places lie in a repetition that is known, a number of periods apart: a multiple of a
    /// period ends where the period does.
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

    /// Makes all cuts of a repetition's copies in the copies behind them, from front to back.
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

    /// And in the copies before them, from back to front.
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
                // What comes next has moved to where the last one was.
                self.insert_at(first, copy);
            }
        }
    }

    /// The first cut that is not before a place.
    const fn find(&self, at: u64) -> usize {
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

    const fn insert(&mut self, at: u64) {
        let behind_all = self.length == 0 || self.room.cuts[self.length - 1] < at;
        let place = if behind_all { self.length } else { self.find(at) };
        if place == self.length || self.room.cuts[place] != at {
            self.insert_at(place, at);
        }
    }

    const fn insert_at(&mut self, place: usize, at: u64) {
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

const fn larger(a: i64, b: i64) -> i64 {
    if a > b { a } else { b }
}
