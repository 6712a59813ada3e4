//! Nodes that repeat a child: what the searches choose between, and how such a node is built.

use alloc::{borrow::Cow, vec, vec::Vec};

use crate::{TypeTree, run::evenly_spaced};

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

    /// Reads a difference `times` times.
    pub fn push(&mut self, difference: i64, times: u64) {
        self.read += times;
        if self.counts.is_empty() {
            if difference == self.first {
                self.best.0 += times;
                return;
            }
            *self.counts.entry(self.first) = self.read - times;
        }
        let count = self.counts.entry(difference);
        *count += times;
        if *count > self.best.0 {
            self.best = (*count, difference);
        }
    }

    /// Whether all differences read so far are the same.
    pub fn is_regular(&self) -> bool {
        self.best.0 == self.read
    }

    /// The most frequent one.
    pub fn best(&self) -> i64 {
        self.best.1
    }

    /// Number of buckets if the copies read so far go into an idxbuc of the best stride.
    pub fn buckets(&self) -> u64 {
        self.read + 1 - self.best.0
    }
}

/// The number that more than half of some numbers are, if any is (Boyer and Moore, "MJRTY", 1991): it takes
/// no memory, unlike counting them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Majority {
    /// It can be no other.
    pub only: i64,
    lead: u64,
}

impl Majority {
    /// Reads more numbers.
    pub fn read(&mut self, mut numbers: impl Iterator<Item = i64>) {
        // Several at once, since each has to wait for the one before; whose leads then are added up.
        let mut several = [Self::default(); 4];
        while let Some(first) = numbers.next() {
            let [one, others @ ..] = &mut several;
            one.push(first);
            others.iter_mut().zip(&mut numbers).for_each(|(one, number)| one.push(number));
        }
        for Self { only, lead } in several {
            if only == self.only {
                self.lead += lead;
            } else if lead > self.lead {
                *self = Self { only, lead: lead - self.lead };
            } else {
                self.lead -= lead;
            }
        }
    }

    fn push(&mut self, number: i64) {
        // Without a branch, which would be guessed wrong at every other irregular number.
        self.only = if self.lead == 0 { number } else { self.only };
        self.lead = if number == self.only { self.lead + 1 } else { self.lead - 1 };
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

/// The best stride of an idxbuc over these displacements.
fn most_frequent_difference(displacements: &[i64]) -> i64 {
    let differences = || displacements.windows(2).map(|pair| pair[1] - pair[0]);
    let mut majority = Majority::default();
    majority.read(differences());
    if 2 * differences().filter(|difference| *difference == majority.only).count() >= displacements.len() {
        return majority.only;
    }
    let mut strides = StrideCounts::regular(majority.only, 0);
    differences().for_each(|difference| strides.push(difference, 1));
    strides.best()
}

/// Builds the node `kind` over `child`, whose copies lie at every `q`th of `segment`, moved to begin at
/// `shift`. A vec takes no shift: its copies begin at 0.
pub(crate) fn repeat(kind: Repeat, segment: &[i64], q: usize, shift: i64, child: TypeTree) -> TypeTree {
    if kind == Repeat::Vector {
        let stride = segment.get(q).map_or(0, |second| second - segment[0]);
        return TypeTree::vector((segment.len() / q) as u64, stride, child);
    }
    let places = match q {
        1 => Cow::Borrowed(segment),
        _ => Cow::Owned(segment.iter().step_by(q).copied().collect()),
    };
    let moved = |at: &i64| at - segment[0] + shift;
    if kind == Repeat::Index {
        return TypeTree::index(places.iter().map(moved).collect::<Vec<_>>(), child);
    }
    let stride = most_frequent_difference(&places);
    let (mut buckets, mut starts, mut rest) = (Vec::new(), Vec::new(), &*places);
    while let Some(first) = rest.first() {
        let count = evenly_spaced(rest, stride) + 1;
        buckets.push(count as u64);
        starts.push(moved(first));
        rest = &rest[count..];
    }
    TypeTree::index_bucket(stride, buckets, starts, child)
}

/// Builds the node `kind` over a single `child`, of which each element is so many copies at a stride of its
/// own: `(displacement, count, stride)`. Moved to begin at `shift`, and in buckets of the stride `best`. Only
/// an idx lists the copies one by one.
pub(crate) fn repeat_singles(
    kind: Repeat,
    elements: &[(i64, u64, i64)],
    best: i64,
    shift: i64,
    child: TypeTree,
) -> TypeTree {
    // Distances may be beyond the range, displacements are within it.
    let moved = |at: i64| at.wrapping_sub(elements[0].0).wrapping_add(shift);
    let copies = |(at, count, stride): (i64, u64, i64)| {
        (0..count).map(move |i| at.wrapping_add((i as i64).wrapping_mul(stride)))
    };
    match kind {
        Repeat::Vector => TypeTree::vector(elements.iter().map(|(_, count, _)| count).sum(), best, child),
        Repeat::Index => {
            let places = elements.iter().flat_map(|element| copies(*element)).map(moved);
            TypeTree::index(places.collect::<Vec<_>>(), child)
        }
        Repeat::Bucket => {
            let (mut buckets, mut places, mut expected) = (Vec::new(), Vec::new(), None);
            for &(first, count, stride) in elements {
                // At another stride, every copy begins a bucket.
                let together = if count > 1 && stride != best { 1 } else { count };
                for at in copies((first, count / together, stride)) {
                    match buckets.last_mut() {
                        Some(last) if expected == Some(at) => *last += together,
                        _ => {
                            buckets.push(together);
                            places.push(moved(at));
                        }
                    }
                    expected = Some(at.wrapping_add((together as i64).wrapping_mul(best)));
                }
            }
            TypeTree::index_bucket(best, buckets, places, child)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_majority_is_what_more_than_half_are() {
        for code in 0..3u32.pow(9) {
            let numbers: Vec<i64> = (0..9).map(|i| i64::from(code / 3u32.pow(i) % 3) - 1).collect();
            for length in 1..=numbers.len() {
                let mut majority = Majority::default();
                let (some, more) = numbers[..length].split_at(length / 3);
                majority.read(some.iter().copied());
                majority.read(more.iter().copied());
                for number in -1..=1 {
                    let count = numbers[..length].iter().filter(|other| **other == number).count();
                    assert!(2 * count <= length || majority.only == number, "{:?}", &numbers[..length]);
                }
            }
        }
    }
}
