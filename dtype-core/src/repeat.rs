//! Nodes that repeat a child: what the searches choose between, and how such a node is built.

use alloc::{vec, vec::Vec};

use crate::TypeTree;

/// The node that repeats a child of a fixed length, and what it needs beyond the displacements themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    Vector,
    Index,
    Bucket,
}

/// Counts the differences of consecutive displacements as they are read, and knows which is the most
/// frequent.
///
/// That is the best stride of an idxbuc over what was read: copies that do not follow their predecessor at
/// the stride begin a new bucket.
pub(crate) struct StrideCounts {
    first: i64,
    read: u64,
    /// Left empty while all differences equal `first`.
    counts: Counter,
    best: (u64, i64),
}

impl StrideCounts {
    /// Begins with `read` differences, all equal to `first`.
    pub fn regular(first: i64, read: u64) -> Self {
        Self { first, read, counts: Counter::default(), best: (read, first) }
    }

    pub fn push(&mut self, difference: i64) {
        self.read += 1;
        if self.counts.is_empty() {
            if difference == self.first {
                self.best.0 += 1;
                return;
            }
            *self.counts.entry(self.first) = self.read - 1;
        }
        let count = self.counts.entry(difference);
        *count += 1;
        if *count > self.best.0 {
            self.best = (*count, difference);
        }
    }

    /// Whether all differences read so far are the same.
    pub fn is_regular(&self) -> bool {
        self.best.0 == self.read
    }

    /// Number of buckets if the copies read so far go into an idxbuc of the best stride.
    pub fn buckets(&self) -> u64 {
        self.read + 1 - self.best.0
    }
}

/// A count for each of some numbers: a hash table with linear probing. The derive's own tree has no room for
/// a crate that has one, and in an ordered map the counting would take most of a search's time.
#[derive(Default)]
struct Counter {
    /// A power of two of places, at most half of them taken.
    places: Vec<Option<(i64, u64)>>,
    taken: usize,
}

impl Counter {
    fn is_empty(&self) -> bool {
        self.taken == 0
    }

    /// The count of `number`, 0 when it is first asked for.
    fn entry(&mut self, number: i64) -> &mut u64 {
        if 2 * self.taken >= self.places.len() {
            self.grow();
        }
        let place = self.place(number);
        if self.places[place].is_none() {
            self.taken += 1;
        }
        &mut self.places[place].get_or_insert((number, 0)).1
    }

    /// Where `number` is, or the free place where it belongs.
    fn place(&self, number: i64) -> usize {
        // Fibonacci hashing: strides are multiples of powers of two, whose low bits say nothing.
        let hash = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mask = self.places.len() - 1;
        let mut place = (hash >> 32) as usize & mask;
        while self.places[place].is_some_and(|(known, _)| known != number) {
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        let larger = vec![None; (2 * self.places.len()).max(8)];
        for entry in core::mem::replace(&mut self.places, larger).into_iter().flatten() {
            let place = self.place(entry.0);
            self.places[place] = Some(entry);
        }
    }
}

/// Builds the node `kind` over `child`, whose copies lie at every `q`th of `segment`, moved to begin at
/// `shift`. A vec takes no shift: its copies begin at 0.
pub(crate) fn repeat(kind: Repeat, segment: &[i64], q: usize, shift: i64, child: TypeTree) -> TypeTree {
    let moved = |at: &i64| at - segment[0] + shift;
    let (count, stride) =
        ((segment.len() / q) as u64, segment.get(q).map_or(0, |second| second - segment[0]));
    // A vec needs no list, and a list of all elements is quicker to make without steps.
    let displacements: Vec<i64> = match (kind, q) {
        (Repeat::Vector, _) => Vec::new(),
        (_, 1) => segment.iter().map(moved).collect(),
        _ => segment.iter().step_by(q).map(moved).collect(),
    };
    match kind {
        Repeat::Vector => TypeTree::vector(count, stride, child),
        Repeat::Index => TypeTree::index(displacements, child),
        Repeat::Bucket => {
            let mut strides = StrideCounts::regular(stride, 0);
            displacements.windows(2).for_each(|pair| strides.push(pair[1] - pair[0]));
            let stride = strides.best.1;
            let (mut buckets, mut starts) = (Vec::new(), Vec::new());
            let mut expected = None;
            for at in displacements {
                match buckets.last_mut() {
                    Some(last) if expected == Some(at) => *last += 1,
                    _ => {
                        buckets.push(1);
                        starts.push(at);
                    }
                }
                expected = at.checked_add(stride);
            }
            TypeTree::index_bucket(stride, buckets, starts, child)
        }
    }
}
