//! Sequences of parts that end in a node over more than a single atom, extended copy by copy: see
//! [`super::tree`].

use alloc::{boxed::Box, vec, vec::Vec};

use crate::{Price, repeat::Repeat};

/// A node over more than a single atom that may be the last part of a sequence.
#[derive(Clone)]
pub(super) struct Beginning {
    kind: Repeat,
    /// Elements of its first copy, and of both.
    q: usize,
    length: usize,
    /// From one copy to the other, in bytes.
    stride: i64,
    /// Its cost as a part with two copies, in one bucket, and what each further copy adds, and bucket.
    two: u64,
    more: u64,
    bucket: u64,
}

impl Beginning {
    /// Of a node over `q` elements, which repeat until `length` and `stride` bytes apart. Its cost begins at
    /// `first` and grows by `more` a copy and by `bucket` a bucket, given the price of a part.
    pub(super) fn of(
        (kind, q): (Repeat, usize),
        (length, stride): (usize, i64),
        (first, more, bucket): (u128, u128, u128),
        part: Price,
    ) -> Self {
        let times = |cost: u128| u128::from(part.times.max(1)).saturating_mul(cost);
        let two = times(first.saturating_add(2 * more).saturating_add(bucket));
        let two = saturate(two.saturating_add(part.own.into()));
        Self { kind, q, length, stride, two, more: saturate(times(more)), bucket: saturate(times(bucket)) }
    }

    pub(super) fn is(&self, kind: Repeat, q: usize) -> bool {
        (self.kind, self.q) == (kind, q)
    }

    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.is(other.kind, other.q)
    }

    /// Elements of two copies.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// The sequence that it ends behind `begin` elements that cost `before`.
    fn behind(&self, begin: usize, before: u64) -> OpenRepeat {
        let Self { kind, q, length, stride, two, more, bucket } = *self;
        let (two, one) = (End { cost: at_most(before.saturating_add(two)), begin }, at_most(bucket));
        let (q, more) = (length - q, at_most(more));
        if kind != Repeat::Bucket {
            return OpenRepeat { kind, q, stride, any: two, all: 0, each: more, buckets: None };
        }
        let buckets = Buckets { by_stride: vec![(stride, two)], best: two, one };
        let buckets = Some(Box::new(buckets));
        OpenRepeat { kind, q, stride, any: two.plus(one), all: 0, each: more + one, buckets }
    }
}

/// Whether an open repeat has a further copy.
pub(super) enum NextCopy {
    /// One of so many elements, so far behind the last one.
    Of(usize, i64),
    /// It would end behind the row.
    Behind,
    None,
}

/// What a sequence costs whose last part is an open node, and where that begins in the row.
#[derive(Clone, Copy)]
struct End {
    cost: i64,
    begin: usize,
}

/// More than any least-cost tree costs where nodes are open, and far from overflow.
const NONE: i64 = i64::MAX / 4;

fn at_most(cost: u64) -> i64 {
    cost.min(NONE as u64) as i64
}

impl End {
    fn or(self, other: Self) -> Self {
        if other.cost < self.cost { other } else { self }
    }

    fn plus(self, cost: i64) -> Self {
        Self { cost: self.cost + cost, ..self }
    }
}

/// The cheapest sequences that end in a certain place, with a node of one kind over as many elements. What
/// can follow depends on the last two copies only, and those are the same; of an idxbuc, on its stride too.
pub(super) struct OpenRepeat {
    kind: Repeat,
    /// Elements of the last copy, and how far it is from the one before.
    pub(super) q: usize,
    stride: i64,
    /// Relative to what all copies beyond the first two have cost, which is `each` a copy, for an idxbuc with
    /// a bucket.
    any: End,
    all: i64,
    each: i64,
    buckets: Option<Box<Buckets>>,
}

/// Of an open idxbuc, the cheapest sequence for each stride that was met, and of all. They change only where
/// their stride is met.
struct Buckets {
    /// In the order of the strides.
    by_stride: Vec<(i64, End)>,
    best: End,
    /// What a bucket costs.
    one: i64,
}

impl Buckets {
    /// The sequence of a stride becomes the cheaper one of that, if it was met, and `other`, plus `cost`.
    fn relax(&mut self, stride: i64, other: End, cost: i64) {
        let end = match self.by_stride.binary_search_by_key(&stride, |(known, _)| *known) {
            Ok(place) => {
                let known = &mut self.by_stride[place].1;
                *known = known.or(other).plus(cost);
                *known
            }
            Err(place) => {
                self.by_stride.insert(place, (stride, other.plus(cost)));
                other.plus(cost)
            }
        };
        self.best = self.best.or(end);
    }
}

impl OpenRepeat {
    fn cheapest(&self) -> End {
        self.buckets.as_ref().map_or(self.any, |buckets| buckets.best.or(self.any)).plus(self.all)
    }

    /// Takes in a copy more, of `q` elements and `stride` bytes behind the last one; unless a vec has another
    /// stride, or it costs too much.
    fn grow(&mut self, q: usize, stride: i64) -> bool {
        let all = self.all + self.each;
        if all >= NONE || self.kind == Repeat::Vector && stride != self.stride {
            return false;
        }
        if let Some(buckets) = &mut self.buckets {
            buckets.relax(stride, self.any, -buckets.one);
        }
        (self.q, self.stride, self.all) = (q, stride, all);
        true
    }

    /// Leaves it without its buckets.
    fn take(&mut self) -> Self {
        Self { buckets: self.buckets.take(), ..*self }
    }

    /// Takes in others that end in the same place, with the same copies.
    fn merge(&mut self, other: &Self) {
        let moved = |end: End| end.plus(other.all - self.all);
        self.any = self.any.or(moved(other.any));
        if let (Some(buckets), Some(others)) = (&mut self.buckets, &other.buckets) {
            for (stride, end) in &others.by_stride {
                buckets.relax(*stride, moved(*end), 0);
            }
        }
    }
}

/// Open repeats of a row whose next copy would end behind it, and where they end.
pub(super) type Waiting = Vec<(usize, OpenRepeat)>;

/// Open repeats of a row, by where they end: lists in one memory, as few are open at a time.
pub(super) struct OpenRepeats {
    places: Vec<Place>,
    /// The first place of each list, and of one of those that are free.
    first: Vec<u32>,
    free: u32,
}

struct Place {
    open: OpenRepeat,
    /// In the same list.
    next: u32,
}

/// Where a list ends.
const END: u32 = u32::MAX;

impl OpenRepeats {
    /// Room for rows of up to `n` elements.
    pub(super) fn new(n: usize) -> Self {
        Self { places: Vec::new(), first: vec![END; n + 1], free: END }
    }

    /// Begins a part after the first `length` elements, of which the best sequence costs `before`. The row
    /// has `row` elements.
    pub(super) fn begin(&mut self, beginning: &Beginning, length: usize, before: u64, row: usize) {
        if length + beginning.length <= row {
            self.offer(length + beginning.length, beginning.behind(length, before));
        }
    }

    /// Begins a part after the first `length` elements of a row that has been solved for `known` elements: of
    /// as many copies as end behind them, as `next` tells.
    pub(super) fn begin_again(
        &mut self,
        beginning: &Beginning,
        length: usize,
        (known, row, before, waiting): (usize, usize, u64, &mut Waiting),
        next: impl Fn(usize, &OpenRepeat) -> NextCopy,
    ) {
        let (mut end, mut open) = (length + beginning.length, beginning.behind(length, before));
        while end <= known {
            match next(end, &open) {
                NextCopy::Of(q, stride) if open.grow(q, stride) => end += q,
                NextCopy::Behind => return waiting.push((end, open)),
                NextCopy::Of(..) | NextCopy::None => return,
            }
        }
        if end <= row {
            self.offer(end, open);
        }
    }

    /// Takes all that end at `length`, relaxes `parts` by them, and hands on those that have a further copy,
    /// as `next` tells; those of which it would end behind the row wait, should that become longer.
    pub(super) fn advance(
        &mut self,
        length: usize,
        parts: &mut (u64, usize),
        waiting: &mut Waiting,
        next: impl Fn(usize, &OpenRepeat) -> NextCopy,
    ) {
        let mut here = core::mem::replace(&mut self.first[length], END);
        while here != END {
            let Place { open, next: behind } = &mut self.places[here as usize];
            let behind = *behind;
            let End { cost, begin } = open.cheapest();
            if cost < NONE && (cost as u64) < parts.0 {
                *parts = (cost as u64, begin);
            }
            match next(length, open) {
                NextCopy::Of(q, stride) if open.grow(q, stride) => self.hand_on(here, length + q),
                NextCopy::Behind => {
                    waiting.push((length, open.take()));
                    self.release(here);
                }
                NextCopy::Of(..) | NextCopy::None => self.release(here),
            }
            here = behind;
        }
    }

    /// Those that have waited while the row was shorter.
    pub(super) fn go_on(&mut self, waiting: &mut Waiting, next: impl Fn(usize, &OpenRepeat) -> NextCopy) {
        for (length, mut open) in core::mem::take(waiting) {
            match next(length, &open) {
                NextCopy::Of(q, stride) if open.grow(q, stride) => self.offer(length + q, open),
                NextCopy::Behind => waiting.push((length, open)),
                NextCopy::Of(..) | NextCopy::None => {}
            }
        }
    }

    fn offer(&mut self, end: usize, open: OpenRepeat) {
        match self.find(end, &open) {
            (known, true) => self.places[known as usize].open.merge(&open),
            (last, false) => {
                let place = self.keep(open);
                self.append(end, last, place);
            }
        }
    }

    /// Moves what is in a place, and in no list, to those that end at `end`.
    fn hand_on(&mut self, place: u32, end: usize) {
        match self.find(end, &self.places[place as usize].open) {
            (known, true) => {
                let open = self.places[place as usize].open.take();
                self.places[known as usize].open.merge(&open);
                self.release(place);
            }
            (last, false) => self.append(end, last, place),
        }
    }

    /// The place of one that ends at `end` and is like `open`, or else the last of that list.
    fn find(&self, end: usize, open: &OpenRepeat) -> (u32, bool) {
        let (mut last, mut here) = (END, self.first[end]);
        while here != END {
            let known = &self.places[here as usize];
            if (known.open.kind, known.open.q) == (open.kind, open.q) {
                return (here, true);
            }
            (last, here) = (here, known.next);
        }
        (last, false)
    }

    fn append(&mut self, end: usize, last: u32, place: u32) {
        self.places[place as usize].next = END;
        match last {
            END => self.first[end] = place,
            _ => self.places[last as usize].next = place,
        }
    }

    /// The place where it is put.
    fn keep(&mut self, open: OpenRepeat) -> u32 {
        match self.free {
            END => {
                self.places.push(Place { open, next: END });
                self.places.len() as u32 - 1
            }
            place => {
                let place = &mut self.places[place as usize];
                place.open = open;
                core::mem::replace(&mut self.free, place.next)
            }
        }
    }

    fn release(&mut self, place: u32) {
        self.places[place as usize].next = core::mem::replace(&mut self.free, place);
    }
}

fn saturate(cost: u128) -> u64 {
    u64::try_from(cost).unwrap_or(u64::MAX)
}
