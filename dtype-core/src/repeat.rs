//! Nodes that repeat a child: their kinds, the counting of strides, and the functions that build the nodes.

use alloc::{borrow::Cow, vec, vec::Vec};

use crate::{TypeTree, run::evenly_spaced};

/// The kind of a node that repeats a child of a fixed length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    Vector,
    Index,
    Bucket,
}

/// The frequencies of the differences of consecutive displacements, counted while the displacements are read.
///
/// The most frequent difference is the best stride of an idxbuc over the displacements read so far. A copy
/// that does not follow its predecessor at the stride begins a new bucket.
pub(crate) struct StrideCounts {
    first: i64,
    read: u64,
    /// The frequency of each difference; empty while all differences equal `first`.
    counts: Counter,
    best: (u64, i64),
}

impl StrideCounts {
    /// Returns the frequencies after `read` differences, all equal to `first`.
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

    /// Returns `true` if all differences read so far are equal.
    pub fn is_regular(&self) -> bool {
        self.best.0 == self.read
    }

    /// Returns the most frequent difference.
    pub fn best(&self) -> i64 {
        self.best.1
    }

    /// Returns the number of buckets of an idxbuc with the best stride over the copies read so far.
    pub fn buckets(&self) -> u64 {
        self.read + 1 - self.best.0
    }
}

/// The number that makes up more than half of a sequence, if there is one (Boyer and Moore, "MJRTY", 1991).
/// Unlike counting all numbers, this takes constant memory.
#[derive(Clone, Copy, Default)]
pub(crate) struct Majority {
    /// The only number that can be the majority.
    pub only: i64,
    lead: u64,
}

impl Majority {
    /// Reads more numbers.
    pub fn read(&mut self, mut numbers: impl Iterator<Item = i64>) {
        // Each step depends on the one before, so four candidates are tracked independently. Their leads are
        // combined at the end.
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
        // Branch-free: a branch would be mispredicted at every second irregular number.
        self.only = if self.lead == 0 { number } else { self.only };
        self.lead = if number == self.only { self.lead + 1 } else { self.lead - 1 };
    }
}

/// A count for each number of a set: a hash table with linear probing. This crate has no required dependency,
/// because the derive builds it for every user, and `alloc` has no hash table. With an ordered map, the
/// counting would take most of a search's time.
#[derive(Default)]
struct Counter {
    /// The slots, of which at most half are taken. Their number is a power of two.
    places: Vec<Option<(i64, u64)>>,
    taken: usize,
}

impl Counter {
    fn is_empty(&self) -> bool {
        self.taken == 0
    }

    /// Returns the count of `number`, which is 0 at first.
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

    /// Returns the slot of `number`, or the free slot where it belongs.
    fn place(&self, number: i64) -> usize {
        // Fibonacci hashing: the low bits of strides are often equal, since many are multiples of powers of
        // two.
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

/// Returns the best stride of an idxbuc over these displacements.
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

/// Builds the node `kind` over `child`. The copies lie at every `q`th displacement of `segment`, moved to
/// begin at `shift`. A vec ignores `shift`: its copies begin at 0.
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

/// Builds the node `kind` over a single `child`. Each element `(displacement, count, stride)` stands for
/// `count` copies, `stride` bytes apart. The copies are moved to begin at `shift`. A vec and an idxbuc have
/// the stride `best`; only an idx lists the copies one by one.
pub(crate) fn repeat_singles(
    kind: Repeat,
    elements: &[(i64, u64, i64)],
    best: i64,
    shift: i64,
    child: TypeTree,
) -> TypeTree {
    // A distance may overflow `i64`, but every displacement fits, so wrapping gives the right result.
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
                // If the element has another stride than `best`, every copy begins a bucket.
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
