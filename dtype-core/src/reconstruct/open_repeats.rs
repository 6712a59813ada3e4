//! Open repeats: sequences of parts that end in a node over more than a single atom and are extended copy by
//! copy. See [`super::tree`].

use alloc::{boxed::Box, vec, vec::Vec};

use crate::{Price, repeat::Repeat};

/// The first two copies of a node over more than a single atom, which may become the last part of a sequence.
#[derive(Clone)]
pub(super) struct Beginning {
    kind: Repeat,
    /// The numbers of elements of its first copy, and of both copies.
    q: usize,
    length: usize,
    /// The distance between the two copies, in bytes.
    stride: i64,
    /// The cost as a part with two copies in one bucket, the cost of each further copy, and the cost of each
    /// further bucket.
    two: u64,
    more: u64,
    bucket: u64,
}

impl Beginning {
    /// Returns the beginning of a node whose child has `q` elements. Its two copies have `length` elements in
    /// all and are `stride` bytes apart. The cost is `first`, plus `more` for each copy and `bucket` for each
    /// bucket, at the price of a part.
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

    /// Returns the number of elements of both copies.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Returns the sequence that ends with this node after the first `begin` elements, which cost `before`.
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

/// The next copy of an open repeat, if it has one.
pub(super) enum NextCopy {
    /// A copy of this many elements, at this distance in bytes from the last one.
    Of(usize, i64),
    /// The end of the row: a further copy would end beyond it.
    Behind,
    None,
}

/// The cost of a sequence whose last part is an open node, and the place in the row where that part begins.
#[derive(Clone, Copy)]
struct End {
    cost: i64,
    begin: usize,
}

/// A cost above that of any least-cost tree with open nodes, and far from overflow.
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

/// The cheapest sequences that end at one place in a node of one kind, whose copies have the same number of
/// elements. The further copies depend only on the last two copies, which all these sequences share. For an
/// idxbuc, the cost also depends on its stride.
pub(super) struct OpenRepeat {
    kind: Repeat,
    /// The number of elements of the last copy. `stride` is its distance in bytes from the copy before.
    pub(super) q: usize,
    stride: i64,
    /// The cheapest sequence; for an idxbuc, that of a stride that has not occurred. Its cost excludes `all`,
    /// the cost of all copies beyond the first two. Each of these copies costs `each`, which includes a
    /// bucket for an idxbuc.
    any: End,
    all: i64,
    each: i64,
    buckets: Option<Box<Buckets>>,
}

/// The cheapest sequences that end in an open idxbuc: for each stride that occurred, and over all strides. A
/// value changes only when its stride occurs.
struct Buckets {
    /// Sorted by stride.
    by_stride: Vec<(i64, End)>,
    best: End,
    /// The cost of one bucket.
    one: i64,
}

impl Buckets {
    /// Sets the sequence of a stride to the cheaper one of `other` and, if the stride is known, its present
    /// sequence. Adds `cost` to it.
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

    /// Takes in a further copy of `q` elements, `stride` bytes after the last one. Returns `false` if this is
    /// a vec of another stride, or if the cost would be too high.
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

    /// Moves the value out and leaves it without its buckets.
    fn take(&mut self) -> Self {
        Self { buckets: self.buckets.take(), ..*self }
    }

    /// Merges in sequences that end at the same place with the same copies.
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

/// Open repeats of a row whose next copy would end beyond the row, and the places where they end.
pub(super) type Waiting = Vec<(usize, OpenRepeat)>;

/// The open repeats of a row, by the place where they end. Few are open at a time, so all lists share one
/// vector.
pub(super) struct OpenRepeats {
    places: Vec<Place>,
    /// The first place of each list. `free` is the first place of the list of free places.
    first: Vec<u32>,
    free: u32,
}

struct Place {
    open: OpenRepeat,
    /// The next place in the same list.
    next: u32,
}

/// The end of a list.
const END: u32 = u32::MAX;

impl OpenRepeats {
    /// Creates the lists for rows of up to `n` elements.
    pub(super) fn new(n: usize) -> Self {
        Self { places: Vec::new(), first: vec![END; n + 1], free: END }
    }

    /// Begins a part after the first `length` elements, whose best sequence costs `before`. The row has `row`
    /// elements.
    pub(super) fn begin(&mut self, beginning: &Beginning, length: usize, before: u64, row: usize) {
        if length + beginning.length <= row {
            self.offer(length + beginning.length, beginning.behind(length, before));
        }
    }

    /// Begins a part after the first `length` elements of a row that is solved up to `known` elements. The
    /// part gets as many copies as it needs to end beyond those elements; `next` finds the copies.
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

    /// Takes all open repeats that end at `length` and relaxes `parts` by them. Those for which `next` finds
    /// a further copy move to the end of that copy. Those whose next copy would end beyond the row go to
    /// `waiting`, since the row may become longer.
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

    /// Continues the open repeats that waited because the row was too short.
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

    /// Moves the entry at a place, which is in no list, to the list of those that end at `end`.
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

    /// Returns the place of an entry that ends at `end` and is like `open`, and `true`. If there is none,
    /// returns the last place of that list, and `false`.
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

    /// Stores the value and returns its place.
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
