//! Open runs: sequences of parts that end in a node over single atoms and are extended element by element.
//! See [`super::tree`].

use alloc::{vec, vec::Vec};

use super::{
    atoms::{Atoms, numbered},
    prices::Prices,
};
use crate::{TypeTree, cuts::LISTED};

/// Properties of the atoms, computed once before a search and used by all rows.
pub(super) struct AtomRuns {
    /// The costs of nodes over each kind of atom, as parts of a strc.
    costs: Vec<AtomCosts>,
    /// The number of copies of the atom in each element.
    copies: Vec<i64>,
    /// The strides from each element to the next, and within each element, as indices into the sorted list of
    /// distinct strides.
    step: Vec<u32>,
    own: Vec<u32>,
    strides: usize,
    /// The number of elements from each element on that are copies of one atom, alike and evenly spaced.
    length: Vec<u32>,
    /// Three flags for each element. `pair` is `true` if the element and the next one are a vec of their
    /// atom, `goes_on` if the element after these two continues the vec, `adjacent` if both are leaves
    /// adjacent in memory.
    pair: Vec<bool>,
    goes_on: Vec<bool>,
    adjacent: Vec<bool>,
}

/// The costs of parts over one kind of atom. The sums for all atoms of the map fit `i64`.
#[derive(Clone, Copy)]
struct AtomCosts {
    single: i64,
    vector: Growing,
    index: Growing,
    /// The cost with the first bucket; `more` is for a copy in the last bucket.
    bucket: Growing,
    /// The cost of a further bucket.
    next_bucket: i64,
}

/// The cost of a part without copies, and the cost of each copy.
#[derive(Clone, Copy)]
struct Growing {
    first: i64,
    more: i64,
}

impl AtomRuns {
    /// Computes the properties of `atoms`. Returns `None` if the prices are not linear, or so high that sums
    /// may overflow.
    pub(super) fn of(atoms: &Atoms, prices: &Prices<'_>) -> Option<Self> {
        let linear = prices.linear.as_ref()?;
        let n = atoms.len();
        let copies = atoms.counts.iter().map(|count| u128::from(*count)).sum::<u128>();
        let part = |cost: u128| -> Option<i64> {
            let cost = u128::from(prices.part.own)
                .checked_add(u128::from(prices.part.times.max(1)).checked_mul(cost)?)?;
            // Each copy adds at most a first cost, a further cost and a bucket.
            (cost <= (i64::MAX / 8) as u128 / (copies + 1)).then_some(cost as i64)
        };
        let more = |cost: u128| Some(part(cost)? - i64::try_from(prices.part.own).ok()?);
        let growing = |(first, each): (u128, u128)| Some(Growing { first: part(first)?, more: more(each)? });
        let of_kind = |(_, cost): &(TypeTree, u64)| {
            let bucket_cost = linear.bucket_over(*cost);
            let (first, each) = linear.index_bucket.over(*cost);
            Some(AtomCosts {
                single: part((*cost).into())?,
                vector: growing(linear.vector.over(*cost))?,
                index: growing(linear.index.over(*cost))?,
                bucket: growing((first.checked_add(bucket_cost)?, each))?,
                next_bucket: more(bucket_cost)?,
            })
        };
        let costs = atoms.kinds.iter().map(of_kind).collect::<Option<Vec<_>>>()?;

        // The stride of a bucket may be a step between elements or a stride within one.
        let mut step = numbered(&[&atoms.steps[..], &atoms.strides].concat());
        let strides = step.iter().max().map_or(0, |last| *last as usize + 1);
        let own = step.split_off(atoms.steps.len());

        let (pair, goes_on) = atoms.pairs();
        let adjacent = |i: usize| {
            let (atom, _) = atoms.atom(i);
            pair[i] && matches!(atom, TypeTree::Leaf(base) if atoms.steps[i] == base.extent() as i64)
        };
        let mut length = vec![1u32; n];
        for i in (0..n.saturating_sub(1)).rev() {
            if pair[i] && atoms.are_alike(i, i + 1) {
                let continues = length[i + 1] > 1 && goes_on[i];
                length[i] = if continues { length[i + 1] + 1 } else { 2 };
            }
        }
        Some(Self {
            costs,
            copies: atoms.counts.iter().map(|count| *count as i64).collect(),
            step,
            own,
            strides,
            length,
            adjacent: (1..n).map(|i| adjacent(i - 1)).collect(),
            pair,
            goes_on,
        })
    }

    /// Returns the number of elements from `start` on that are alike, copies of one atom, and evenly spaced.
    pub(super) fn length(&self, start: usize) -> usize {
        self.length[start] as usize
    }

    /// Returns `true` if no node over the first `q > 1` atoms of a run is cheaper than a vec over its atoms,
    /// for any number of copies. The tree of these `q` atoms costs `child`.
    pub(super) fn dominates(&self, prices: &Prices<'_>, symbol: u32, q: u64, child: u64) -> bool {
        let Some(linear) = &prices.linear else { return false };
        let vector = self.costs[symbol as usize].vector;
        let q = q as i64;
        if q == 1 {
            return false;
        }
        // Both costs are linear in the number of copies, from two copies on.
        let (first, more) = linear.index_bucket.over(child);
        let lines =
            [linear.vector.over(child), linear.index.over(child), (first + linear.bucket_over(child), more)];
        let part = |cost: u128| u128::from(prices.part.own) + u128::from(prices.part.times.max(1)) * cost;
        let run = (vector.first + 2 * q * vector.more) as u128;
        lines.iter().all(|(first, more)| {
            part(first + 2 * more) >= run
                && part(*more) - u128::from(prices.part.own) >= (q * vector.more) as u128
        })
    }

    /// Returns `true` if [`dominates`](Self::dominates) holds for every `q`, and every `child` that costs at
    /// least as much as an atom.
    pub(super) fn dominates_all(&self, prices: &Prices<'_>, symbol: u32, atom: u64) -> bool {
        self.costs[symbol as usize].vector.more == 0 && self.dominates(prices, symbol, 2, atom)
    }
}

/// The cheapest sequence of parts whose last part is an open node, and the place in the row where that part
/// begins.
#[derive(Clone, Copy, Default)]
struct Open {
    cost: i64,
    begin: usize,
}

/// The value for a missing sequence: a cost above any real cost, and far from overflow.
const NONE: Open = Open { cost: i64::MAX / 2, begin: 0 };

impl Open {
    fn or(self, other: Self) -> Self {
        if other.cost < self.cost { other } else { self }
    }

    fn plus(self, cost: i64) -> Self {
        if self.cost >= NONE.cost { NONE } else { Self { cost: self.cost + cost, ..self } }
    }
}

/// The open runs of one row.
#[derive(Default)]
pub(super) struct OpenRuns {
    vector: Open,
    index: Open,
    /// The cheapest sequence that ends in an open idxbuc. Each copy adds a bucket to an idxbuc, unless the
    /// copy follows its predecessor at the stride of the idxbuc. So the costs here are relative to one bucket
    /// per copy, and a copy changes only the cost for one stride.
    bucket: Open,
    by_stride: Vec<Open>,
    /// The strides that occurred since the atom last changed.
    met: Vec<u32>,
    /// The cheapest sequence whose idxbuc has no fixed stride yet.
    fresh: Open,
    /// The number of consecutive copies of one atom so far, less one.
    copies: i64,
}

impl OpenRuns {
    /// Begins a row without elements.
    pub(super) fn begin(&mut self, runs: &AtomRuns) {
        self.forget_strides();
        self.by_stride.resize(runs.strides, NONE);
        (self.vector, self.index) = (NONE, NONE);
    }

    /// Restarts all strides, because another kind of atom begins.
    fn forget_strides(&mut self) {
        self.met.drain(..).for_each(|stride| self.by_stride[stride as usize] = NONE);
        (self.bucket, self.fresh, self.copies) = (NONE, NONE, 0);
    }

    /// Returns the number of stored values, one for each stride.
    pub(super) fn size(&self) -> usize {
        self.by_stride.len()
    }

    /// Takes in the last of the first `length` elements of the row that begins at `start`. Relaxes the best
    /// sequence of two or more parts for these elements. `before` holds the costs of the best sequences for
    /// fewer elements.
    pub(super) fn step(
        &mut self,
        (runs, symbols): (&AtomRuns, &[u32]),
        (start, length): (usize, usize),
        before: &[u64],
        parts: &mut (u64, usize),
    ) {
        let last = start + length - 1;
        let symbol = symbols[last];
        let AtomCosts { single, vector, index, bucket, next_bucket } = runs.costs[symbol as usize];
        if length < 2 {
            return;
        }
        let begun = |begin: usize, cost: i64| Open { cost: before[begin] as i64 + cost, begin };
        let (joins, copies) = (symbols[last - 1] == symbol, runs.copies[last]);
        let mut relax = |open: Open, on_tie: bool| {
            if open.cost < NONE.cost
                && ((open.cost as u64) < parts.0 || on_tie && open.cost as u64 == parts.0)
            {
                *parts = (open.cost as u64, open.begin);
            }
        };
        let alone = if copies == 1 { single } else { vector.first + vector.more * copies };
        relax(begun(length - 1, alone), false);

        let goes_on = length > 2 && runs.goes_on[last - 2];
        self.vector = if goes_on { self.vector.plus(vector.more * copies) } else { NONE };
        if length > 2 && runs.pair[last - 1] {
            let both = runs.copies[last - 1] + copies;
            self.vector = self.vector.or(begun(length - 2, vector.first + vector.more * both));
        }
        relax(self.vector, runs.adjacent[last - 1]);

        let listed = copies <= LISTED as i64;
        self.index = if joins && listed { self.index.plus(index.more * copies) } else { NONE };
        relax(self.index, false);
        if listed {
            self.index = self.index.or(begun(length - 1, index.first + index.more * copies));
        }

        let each = bucket.more + next_bucket;
        if joins {
            self.copies += copies;
            self.meet(runs.step[last - 1], next_bucket);
            if copies > 1 {
                self.meet(runs.own[last], next_bucket * (copies - 1));
            }
            if !listed {
                self.keep_stride(runs.own[last]);
            }
            relax(self.bucket.or(self.fresh).plus(each * self.copies), false);
        } else {
            self.forget_strides();
            self.copies = copies - 1;
        }
        let first = self.copies - (copies - 1);
        let fresh = begun(length - 1, bucket.first + bucket.more).plus(-each * first);
        if copies > 1 {
            let same = &mut self.by_stride[runs.own[last] as usize];
            *same = same.or(fresh.plus(-next_bucket * (copies - 1)));
            self.met.push(runs.own[last]);
            self.bucket = self.bucket.or(*same);
        }
        if listed {
            self.fresh = self.fresh.or(fresh);
        }
    }

    /// Forgets all strides except one.
    fn keep_stride(&mut self, stride: u32) {
        let (kept, copies) = (self.by_stride[stride as usize], self.copies);
        self.forget_strides();
        self.by_stride[stride as usize] = kept;
        self.met.push(stride);
        (self.bucket, self.copies) = (kept, copies);
    }

    /// Takes in copies that follow at `stride`, which saves `saved` if the idxbuc has that stride.
    fn meet(&mut self, stride: u32, saved: i64) {
        let same = &mut self.by_stride[stride as usize];
        *same = same.or(self.fresh).plus(-saved);
        self.met.push(stride);
        self.bucket = self.bucket.or(*same);
    }
}
