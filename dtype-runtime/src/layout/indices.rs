//! Indices of a dimension in closed form, and those that two processes' shares of it have in common.
//!
//! Two shares whose blocks begin at distances `s` and `t` meet in the same way again and again, one least
//! common multiple of `s` and `t` apart: this is one *turn*. Within it, a block of the longer distance meets
//! a block of the other share only if the remainder of its distance from that block, divided by the shorter
//! distance, is small enough. So the blocks that meet are found by division, not by a search, and the common
//! indices take a few numbers, however long the dimension is.

#![cfg_attr(not(feature = "mpi"), expect(dead_code, reason = "only redistributions need common indices"))]

use std::{slice, sync::Arc};

use dtype_core::{Blocks, Share, gcd};

/// Indices in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Indices {
    Once(Share),
    Turns(Arc<Turns>),
}

/// Some shares of a dimension one after another, again and again at a distance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turns {
    /// The indices of one turn.
    turn: Vec<Share>,
    /// The number of indices in one turn.
    of_turn: usize,
    /// The distance from a turn to the next one; `usize::MAX` if there is none.
    step: usize,
    /// The number of indices. The last turn may have fewer than the others.
    count: usize,
}

impl Indices {
    /// No indices.
    const NONE: Self = Self::Once(Share::consecutive(0, 0));

    /// Returns the first `count` indices of turns that are `step` apart. A turn of one block is a block of a
    /// share.
    fn new(turn: Vec<Share>, step: usize, count: usize) -> Self {
        let of_turn = turn.iter().map(|share| share.count).sum();
        match turn[..] {
            [] => Self::NONE,
            [share] if count == of_turn => Self::Once(share),
            [Share { start, block, step: usize::MAX, .. }] => Self::Once(if block == step {
                Share::consecutive(start, count)
            } else {
                Share { start, block, step, count }
            }),
            _ => Self::Turns(Arc::new(Turns { turn, of_turn, step, count })),
        }
    }

    /// Returns the shares of one turn, their number of indices, and the distance between turns.
    fn turn(&self) -> (&[Share], usize, usize) {
        match self {
            Self::Once(share) => (slice::from_ref(share), share.count, usize::MAX),
            Self::Turns(turns) => (&turns.turn, turns.of_turn, turns.step),
        }
    }

    /// Returns the number of indices.
    pub fn count(&self) -> usize {
        match self {
            Self::Once(share) => share.count,
            Self::Turns(turns) => turns.count,
        }
    }

    /// Returns the index at a position, which is less than [`count`](Self::count).
    pub fn at(&self, position: usize) -> usize {
        let (shares, of_turn, step) = self.turn();
        let (turns, mut left) = (position / of_turn, position % of_turn);
        for share in shares {
            if left < share.count {
                // The first turn may be the only one: then the step is not added.
                return turns * step + share.at(left);
            }
            left -= share.count;
        }
        0
    }

    /// Returns the first index; 0 if there is none.
    pub fn first(&self) -> usize {
        if self.count() == 0 { 0 } else { self.at(0) }
    }

    /// Returns the least number that is greater than every index.
    pub fn limit(&self) -> usize {
        self.count().checked_sub(1).map_or(0, |last| self.at(last) + 1)
    }

    /// Returns `true` if this is one of the indices.
    pub fn contains(&self, index: usize) -> bool {
        let (shares, of_turn, step) = self.turn();
        let Some(ahead) = index.checked_sub(shares[0].start) else { return false };
        // A turn is no longer than the distance to the next one.
        let (turns, within) = (ahead / step, shares[0].start + ahead % step);
        let mut before = turns * of_turn;
        shares.iter().any(|share| {
            let has_index = position(share, within).is_some_and(|position| before + position < self.count());
            before += share.count;
            has_index
        })
    }

    /// Returns the indices `by` farther on.
    pub fn moved(mut self, by: usize) -> Self {
        match &mut self {
            Self::Once(share) => share.start += by,
            Self::Turns(turns) => {
                Arc::make_mut(turns).turn.iter_mut().for_each(|share| share.start += by);
            }
        }
        self
    }

    /// Returns `true` if both have an index in common.
    pub fn meet(&self, other: &Self) -> bool {
        // Both recur together after the least common multiple of their distances.
        let [step, other_step] = [self, other].map(|indices| indices.turn().2);
        let period = (step / gcd(step, other_step)).saturating_mul(other_step);
        let reach = self.first().max(other.first()).saturating_add(period);
        let (mut ours, mut theirs) = (self.shares().peekable(), other.shares().peekable());
        while let (Some(one), Some(two)) = (ours.peek(), theirs.peek()) {
            if one.start.max(two.start) >= reach {
                return false;
            }
            if common(one, two)[0].count() > 0 {
                return true;
            }
            if end(one) < end(two) {
                ours.next();
            } else {
                theirs.next();
            }
        }
        false
    }

    /// Returns the shares of all turns.
    fn shares(&self) -> impl Iterator<Item = Share> {
        let (shares, of_turn, step) = self.turn();
        let left = self.count();
        let all = (0..left.div_ceil(of_turn.max(1))).flat_map(move |turn| {
            shares.iter().map(move |share| Share { start: share.start + turn * step, ..*share })
        });
        first_of(all, left)
    }

    /// Builds a node that has `node` at each index, relative to the first one: `repeated` returns copies of a
    /// node at a distance, and `sequence` nodes at places, all in numbers of indices.
    pub fn nested<N: Clone>(
        &self,
        node: &N,
        repeated: impl Fn(N, usize, usize) -> N,
        sequence: impl Fn(Vec<(usize, N)>) -> N,
    ) -> N {
        let ((shares, of_turn, step), first) = (self.turn(), self.first());
        let of = |shares: &mut dyn Iterator<Item = Share>| {
            let blocks = shares.flat_map(|share| share.blocks().map(|blocks| (share, blocks)));
            let blocks = blocks.filter(|(_, blocks)| blocks.count > 0);
            let nodes = blocks.map(|(share, Blocks { position, count, length })| {
                let block = repeated(node.clone(), length, 1);
                (share.at(position) - first, repeated(block, count, share.step))
            });
            sequence(nodes.collect())
        };
        let turns = self.count().checked_div(of_turn).unwrap_or(0);
        let left = self.count() - turns * of_turn;
        let mut all = Vec::new();
        if turns > 0 {
            all.push((0, repeated(of(&mut shares.iter().copied()), turns, step)));
        }
        if left > 0 {
            all.push((turns * step, of(&mut first_of(shares.iter().copied(), left))));
        }
        sequence(all)
    }
}

impl From<Share> for Indices {
    fn from(share: Share) -> Self {
        Self::Once(share)
    }
}

/// Returns shares of the first `count` indices of some.
fn first_of(shares: impl Iterator<Item = Share>, mut count: usize) -> impl Iterator<Item = Share> {
    shares.map_while(move |share| {
        let some = share.count.min(count);
        count -= some;
        (some > 0).then_some(Share { count: some, ..share })
    })
}

/// Returns one past the last index of a share; 0 if it has none.
fn end(share: &Share) -> usize {
    share.count.checked_sub(1).map_or(0, |last| share.at(last) + 1)
}

/// Returns the position of an index in a share; `None` if the share does not have it.
fn position(share: &Share, index: usize) -> Option<usize> {
    let ahead = index.checked_sub(share.start)?;
    let (blocks, within) = (ahead / share.step, ahead % share.step);
    let position = blocks.checked_mul(share.block)?.checked_add(within)?;
    (within < share.block && position < share.count).then_some(position)
}

/// Returns the positions, in each of two shares of a dimension, of the indices that they have in common.
pub fn common(one: &Share, two: &Share) -> [Indices; 2] {
    Steps::new(one.step, two.step).common(one, two)
}

/// The distances between the blocks of two shares, and what follows from them for all shares with these
/// distances.
#[derive(Clone, Copy)]
pub struct Steps {
    is_swapped: bool,
    longer: usize,
    /// The greatest common divisor of both distances.
    divisor: usize,
    /// The number of the longer distances in one turn.
    turns: usize,
    /// The number of longer distances after which the remainder by the shorter distance is the divisor.
    inverse: usize,
}

impl Steps {
    /// Returns what follows from the distances between the blocks of two shares.
    pub fn new(one: usize, two: usize) -> Self {
        let (longer, shorter) = (one.max(two), one.min(two));
        let is_swapped = one < two;
        if longer == usize::MAX {
            // A single block has no other remainders.
            return Self { is_swapped, longer, divisor: 1, turns: 1, inverse: 0 };
        }
        let divisor = gcd(longer, shorter);
        let turns = shorter / divisor;
        Self { is_swapped, longer, divisor, turns, inverse: inverse(longer / divisor, turns) }
    }

    /// Returns the number of blocks of one of the shares in one turn.
    pub fn turn_of(&self, share: &Share) -> usize {
        if share.step == self.longer { self.turns } else { self.longer / self.divisor }
    }

    /// Returns the positions, in each of two shares with these distances, of their common indices.
    pub fn common(&self, one: &Share, two: &Share) -> [Indices; 2] {
        if self.is_swapped {
            let [outer, inner] = self.of(two, one);
            [inner, outer]
        } else {
            self.of(one, two)
        }
    }

    /// Returns the positions of the common indices, for an `outer` share with the longer distance.
    fn of(&self, outer: &Share, inner: &Share) -> [Indices; 2] {
        let (low, limit) = (outer.start.max(inner.start), end(outer).min(end(inner)));
        if low >= limit {
            return [Indices::NONE; 2];
        }
        // The indices of one turn, and of the last one, are those from `low` on that are less than these.
        let turn = outer.step.checked_mul(self.turns).filter(|turn| *turn < limit - low);
        let reach = turn.map_or(limit, |turn| low + turn);
        let last_reach = turn.map_or(reach, |turn| low + (limit - low) % turn);
        let (mut outside, mut inside) = (Turn::default(), Turn::default());
        let (mut of_turn, mut of_last) = (0, 0);
        for block in self.meeting(outer, inner, low, reach) {
            let start = outer.start + block * outer.step;
            let first = start.max(low);
            let last = start.saturating_add(outer.block).min(reach);
            let position = |index: usize| block * outer.block + (index - start);
            let (from, to) = (below(inner, first), below(inner, last));
            if from == to {
                continue;
            }
            of_turn += to - from;
            of_last += below(inner, last.min(last_reach).max(first)) - from;
            inside.push(Share::consecutive(from, to - from));
            // A part of a block of the inner share, and then blocks.
            let head = from.checked_next_multiple_of(inner.block).map_or(to, |head| head.min(to));
            if from < head {
                outside.push(Share::consecutive(position(inner.at(from)), head - from));
            }
            if head < to {
                let (start, count) = (position(inner.at(head)), to - head);
                outside.push(if count <= inner.block {
                    Share::consecutive(start, count)
                } else {
                    Share { start, count, ..*inner }
                });
            }
        }
        let Some(turn) = turn else {
            return [outside, inside].map(|Turn(shares)| Indices::new(shares, usize::MAX, of_turn));
        };
        let count = (limit - low) / turn * of_turn + of_last;
        let steps = [self.turns * outer.block, turn / inner.step * inner.block];
        [Indices::new(outside.0, steps[0], count), Indices::new(inside.0, steps[1], count)]
    }

    /// Returns the numbers of the outer blocks with an index from `low` to `reach` that may meet an inner
    /// block, in ascending order: all of them, or those that the remainders tell.
    fn meeting(&self, outer: &Share, inner: &Share, low: usize, reach: usize) -> Vec<usize> {
        let (behind, within) = ((low - outer.start) / outer.step, (low - outer.start) % outer.step);
        let first = behind + usize::from(within >= outer.block);
        let start = first.checked_mul(outer.step).and_then(|start| start.checked_add(outer.start));
        let Some(start) = start.filter(|start| *start < reach) else { return Vec::new() };
        let blocks = (reach - start).div_ceil(outer.step);
        // An outer block meets an inner one if it begins less than its own length before it, or within it.
        let before = outer.block - 1;
        let window = before.saturating_add(inner.block);
        if blocks - 1 <= window / self.divisor {
            return (first..first + blocks).collect();
        }
        // The remainder of the first block, and from it the way to the window. The window is shorter than the
        // distance, since the distance is at most `blocks` times the divisor.
        let distance = inner.step;
        let remainder = if start < inner.start {
            (distance - (inner.start - start) % distance) % distance
        } else {
            (start - inner.start) % distance
        };
        let ahead = |from: usize, to: usize| if to < from { to + (distance - from) } else { to - from };
        let opening = ahead(remainder, ahead(before, 0));
        let mut found = Vec::new();
        let skipped = (self.divisor - opening % self.divisor) % self.divisor;
        for offset in (skipped..window).step_by(self.divisor) {
            // From the first block on, the remainder has to grow by this.
            let growth = (opening as u128 + offset as u128) % distance as u128 / self.divisor as u128;
            let block = (growth * self.inverse as u128 % self.turns as u128) as usize;
            // The first block and the last one may be two parts of a turn.
            let twice = [Some(block), block.checked_add(self.turns)];
            found.extend(
                twice.into_iter().flatten().filter(|block| *block < blocks).map(|block| first + block),
            );
        }
        found.sort_unstable();
        found
    }
}

/// The indices of one turn. Adjacent blocks are joined.
#[derive(Default)]
struct Turn(Vec<Share>);

impl Turn {
    fn push(&mut self, share: Share) {
        match self.0.last_mut() {
            Some(last)
                if last.count <= last.block
                    && share.count <= share.block
                    && last.start + last.count == share.start =>
            {
                *last = Share::consecutive(last.start, last.count + share.count);
            }
            _ => self.0.push(share),
        }
    }
}

/// Returns the number of indices of a share that are less than `limit`. The share has no end.
fn below(share: &Share, limit: usize) -> usize {
    limit
        .checked_sub(share.start)
        .map_or(0, |distance| distance / share.step * share.block + (distance % share.step).min(share.block))
}

/// Returns the number whose product with `number` is 1 modulo `modulus`, by Euclid's algorithm. Both have no
/// common divisor.
fn inverse(number: usize, modulus: usize) -> usize {
    // In each round, `factor` · `number` ≡ `rest`.
    let (mut rest, mut next) = (modulus as i128, (number % modulus) as i128);
    let (mut factor, mut next_factor) = (0, 1);
    while next != 0 {
        let quotient = rest / next;
        (rest, next) = (next, rest - quotient * next);
        (factor, next_factor) = (next_factor, factor - quotient * next_factor);
    }
    factor.rem_euclid(modulus as i128) as usize
}

#[cfg(test)]
mod tests {
    use dtype_core::Share;

    use super::{Indices, common};

    fn listed(share: &Share) -> Vec<usize> {
        (0..share.count).map(|position| share.at(position)).collect()
    }

    fn all(indices: &Indices) -> Vec<usize> {
        (0..indices.count()).map(|position| indices.at(position)).collect()
    }

    /// Checks the common indices against a search, and what is computed of them.
    fn check(one: &Share, two: &Share) -> Vec<usize> {
        let [ours, theirs] = common(one, two);
        let (first, second) = (listed(one), listed(two));
        let expected: Vec<usize> = first.iter().copied().filter(|index| second.contains(index)).collect();
        let of = |positions: &Indices, share: &Share| {
            all(positions).into_iter().map(|position| share.at(position)).collect::<Vec<_>>()
        };
        assert_eq!(
            (of(&ours, one), of(&theirs, two)),
            (expected.clone(), expected.clone()),
            "{one:?} {two:?}"
        );
        for indices in [&ours, &theirs] {
            let listed = all(indices);
            assert_eq!(indices.limit(), listed.last().map_or(0, |last| last + 1));
            let nested = indices.nested(
                &vec![0],
                |node, count, step| {
                    (0..count).flat_map(|i| node.iter().map(move |at| at + i * step)).collect()
                },
                |nodes| {
                    nodes.into_iter().flat_map(|(at, node)| node.into_iter().map(move |i| at + i)).collect()
                },
            );
            let moved: Vec<usize> = nested.into_iter().map(|at| at + indices.first()).collect();
            assert_eq!(moved, listed, "{indices:?}");
            let contained: Vec<usize> = (0..100).filter(|index| indices.contains(*index)).collect();
            assert_eq!(contained, listed.iter().copied().filter(|index| *index < 100).collect::<Vec<_>>());
        }
        all(&ours)
    }

    /// All pairs of blocks that are dealt out, and parts of them from any block on.
    #[test]
    fn common_indices_are_those_of_a_search() {
        let mut shares = vec![Share::consecutive(0, 0), Share::consecutive(7, 30), Share::consecutive(3, 1)];
        for processes in 1..5 {
            for block in [1, 2, 3, 5, 8] {
                for coordinate in 0..processes {
                    shares.push(Share::dealt(block, coordinate, processes, 61));
                    let share = Share::dealt(block, coordinate, processes, 90);
                    shares.push(Share { start: share.start + 17, count: share.count.min(23), ..share });
                }
            }
        }
        for one in &shares {
            let met: Vec<_> = shares.iter().map(|two| check(one, two)).collect();
            // Positions in one share meet if they have one in common.
            for (two, listed) in shares.iter().zip(&met).step_by(3) {
                for (three, others) in shares.iter().zip(&met).step_by(7) {
                    let [[ours, _], [theirs, _]] = [common(one, two), common(one, three)];
                    assert_eq!(ours.meet(&theirs), listed.iter().any(|index| others.contains(index)));
                }
            }
        }
    }

    /// Many blocks in a turn, few of which meet: they are found by their remainders.
    #[test]
    fn blocks_that_meet_are_found_by_division() {
        for (block, processes, other, others) in
            [(3, 37, 4, 29), (1, 64, 1, 63), (7, 101, 5, 97), (2, 50, 6, 35)]
        {
            for coordinate in [0, 1, processes / 2, processes - 1] {
                let one = Share::dealt(block, coordinate, processes, 40_000);
                let mut found: Vec<usize> =
                    (0..others).flat_map(|q| check(&one, &Share::dealt(other, q, others, 40_000))).collect();
                found.sort_unstable();
                assert_eq!(found, (0..one.count).collect::<Vec<_>>());
            }
        }
    }

    /// Dimensions of 2⁶⁰ indices, and distances beyond them.
    #[test]
    fn the_longest_dimensions_take_a_few_numbers() {
        let length = 1 << 60;
        // Positions within one share that never meet are told apart within one turn.
        let [three, five, other] =
            [(3, 0), (5, 0), (5, 1)].map(|(block, coordinate)| Share::dealt(block, coordinate, 2, length));
        let [[first, _], [second, _]] = [common(&three, &five), common(&three, &other)];
        assert!(!first.meet(&second) && first.meet(&first));
        let one = |coordinate| Share::dealt(64, coordinate, 3, length);
        let two = |coordinate| Share::dealt(100, coordinate, 7, length);
        let counts = (0..7).map(|q| common(&one(1), &two(q))[0].count());
        assert_eq!(counts.sum::<usize>(), one(1).count);
        let [ours, _] = common(&one(1), &two(2));
        assert!(ours.turn().0.len() < 64, "{ours:?}");
        let far = [Share::dealt(1, 5, (1 << 63) - 1, length), Share::dealt(1, 5, 1 << 62, length)];
        assert_eq!(common(&far[0], &far[1]).map(|indices| indices.count()), [1, 1]);
        let whole = Share::consecutive(0, usize::MAX);
        assert_eq!(common(&whole, &one(2))[0].count(), one(2).count);
        assert_eq!(common(&Share::dealt(1 << 63, 1, 3, usize::MAX), &whole)[0].count(), (1 << 63) - 1);
    }
}
