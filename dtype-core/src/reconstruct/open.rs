//! Sequences of parts that end in a node over single atoms, extended atom by atom: see [`super::tree`].

use alloc::{vec, vec::Vec};

use super::{atoms::Atoms, prices::Prices};
use crate::{Price, TypeTree, repeat::Repeat};

/// What is known of the atoms before a search, for all rows.
pub(super) struct AtomRuns {
    /// For each kind of atom, what nodes over it cost as parts of a strc.
    costs: Vec<AtomCosts>,
    /// For each pair of neighbours, which of the different distances theirs is.
    stride: Vec<u32>,
    strides: usize,
    /// For each element, how many from it on are of its kind and evenly spaced.
    length: Vec<u32>,
    /// Whether a pair of neighbours is adjacent in memory, both leaves.
    adjacent: Vec<bool>,
}

/// Costs of parts over one kind of atom. All sums of as many as there are atoms fit `i64`.
#[derive(Clone, Copy)]
struct AtomCosts {
    single: i64,
    vector: Growing,
    index: Growing,
    /// With its first bucket; `more` is a copy in the last bucket.
    bucket: Growing,
    /// What a further bucket adds.
    next_bucket: i64,
}

/// A part with no copy yet, and what each copy adds.
#[derive(Clone, Copy)]
struct Growing {
    first: i64,
    more: i64,
}

impl AtomRuns {
    /// Nothing where the prices are not linear, or so high that sums might not fit.
    pub(super) fn of(atoms: &Atoms, prices: &Prices) -> Option<Self> {
        let linear = prices.linear.as_ref()?;
        let n = atoms.symbols.len();
        let part = |cost: u128| -> Option<i64> {
            let cost = u128::from(prices.part.own)
                .checked_add(u128::from(prices.part.times.max(1)).checked_mul(cost)?)?;
            // Each of n elements adds at most a first and a further cost and a bucket.
            (cost <= (i64::MAX / 8) as u128 / (n as u128 + 1)).then_some(cost as i64)
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

        let differences: Vec<i64> = (1..n).map(|i| atoms.difference(i - 1)).collect();
        let mut sorted = differences.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let stride = differences.iter().map(|d| sorted.partition_point(|s| s < d) as u32).collect();
        let same = |i: usize| atoms.symbols[i] == atoms.symbols[i + 1];
        let mut length = vec![1u32; n];
        for i in (0..n.saturating_sub(1)).rev() {
            if same(i) {
                let continues = i + 2 < n && same(i + 1) && differences[i] == differences[i + 1];
                length[i] = if continues { length[i + 1] + 1 } else { 2 };
            }
        }
        let adjacent = (1..n).map(|i| {
            let (atom, _) = &atoms.kinds[atoms.symbols[i] as usize];
            same(i - 1) && matches!(atom, TypeTree::Leaf(base) if differences[i - 1] == base.extent() as i64)
        });
        Some(Self { costs, stride, strides: sorted.len(), length, adjacent: adjacent.collect() })
    }

    /// How many elements from `start` on are of one kind and evenly spaced.
    pub(super) fn length(&self, start: usize) -> usize {
        self.length[start] as usize
    }

    /// Whether no node over the first `q > 1` elements of such a run, of cost `child`, is cheaper than a vec
    /// over its atoms, for any number of copies.
    pub(super) fn dominates(&self, prices: &Prices, symbol: u32, q: usize, child: u64) -> bool {
        let Some(linear) = &prices.linear else { return false };
        let vector = self.costs[symbol as usize].vector;
        let q = q as i64;
        if q == 1 {
            return false;
        }
        // Both sides are lines in the number of copies, from two copies on.
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

    /// Whether that is so for any `q` and `child`, which is no less than what an atom costs.
    pub(super) fn dominates_all(&self, prices: &Prices, symbol: u32, atom: u64) -> bool {
        self.costs[symbol as usize].vector.more == 0 && self.dominates(prices, symbol, 2, atom)
    }
}

/// The cheapest sequence of parts whose last part is an open node, and where that part begins in the row.
#[derive(Clone, Copy, Default)]
struct Open {
    cost: i64,
    begin: usize,
}

/// More than any cost, and far from overflow.
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
    /// An idxbuc grows by a bucket with each copy, unless that follows at the stride. So costs are kept
    /// relative to that of a bucket a copy, and change only for the stride that is met.
    bucket: Open,
    by_stride: Vec<Open>,
    /// The strides met in this run of one kind.
    met: Vec<u32>,
    /// Of any stride: those that have met none of theirs yet.
    fresh: Open,
    /// The elements of the run of one kind so far.
    copies: i64,
}

impl OpenRuns {
    /// Those of no elements.
    pub(super) fn begin(&mut self, runs: &AtomRuns) {
        self.forget_strides();
        self.by_stride.resize(runs.strides, NONE);
        (self.vector, self.index) = (NONE, NONE);
    }

    /// For another kind of atom all strides begin anew.
    fn forget_strides(&mut self) {
        self.met.drain(..).for_each(|stride| self.by_stride[stride as usize] = NONE);
        (self.bucket, self.fresh, self.copies) = (NONE, NONE, 0);
    }

    /// Numbers that this takes.
    pub(super) fn size(&self) -> usize {
        self.by_stride.len()
    }

    /// Takes in element number `length` of the row that begins at `start`, and relaxes the best sequence of
    /// two or more parts for so many. `before` holds the best sequences for fewer.
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
        let joins = symbols[last - 1] == symbol;
        let mut relax = |open: Open, on_tie: bool| {
            if open.cost < NONE.cost
                && ((open.cost as u64) < parts.0 || on_tie && open.cost as u64 == parts.0)
            {
                *parts = (open.cost as u64, open.begin);
            }
        };
        relax(begun(length - 1, single), false);

        let continues = runs.length(last.saturating_sub(2)) > 2 && last >= start + 2;
        self.vector = if continues { self.vector.plus(vector.more) } else { NONE };
        if joins && length > 2 {
            self.vector = self.vector.or(begun(length - 2, vector.first + 2 * vector.more));
        }
        relax(self.vector, runs.adjacent[last - 1]);

        self.index = if joins { self.index.plus(index.more) } else { NONE };
        relax(self.index, false);
        self.index = self.index.or(begun(length - 1, index.first + index.more));

        let each = bucket.more + next_bucket;
        if joins {
            self.copies += 1;
            let stride = runs.stride[last - 1];
            let same = &mut self.by_stride[stride as usize];
            *same = same.or(self.fresh).plus(-next_bucket);
            self.met.push(stride);
            self.bucket = self.bucket.or(*same);
            relax(self.bucket.or(self.fresh).plus(each * self.copies), false);
        } else {
            self.forget_strides();
        }
        let fresh = begun(length - 1, bucket.first + bucket.more);
        self.fresh = self.fresh.or(fresh.plus(-each * self.copies));
    }
}

/// A vec or idx over `q` elements that may be the last part of a sequence.
#[derive(Clone)]
pub(super) struct Beginning {
    kind: Repeat,
    q: usize,
    /// Its cost as a part with two copies, and what each further copy adds.
    two: u64,
    more: u64,
}

impl Beginning {
    /// Of a node whose cost begins at `first` and grows by `more` a copy, given the price of a part.
    pub(super) fn of(kind: Repeat, q: usize, (first, more): (u128, u128), part: Price) -> Self {
        let times = u128::from(part.times.max(1));
        let two = u128::from(part.own).saturating_add(times.saturating_mul(first.saturating_add(2 * more)));
        Self { kind, q, two: saturate(two), more: saturate(times.saturating_mul(more)) }
    }

    pub(super) fn is(&self, kind: Repeat, q: usize) -> bool {
        (self.kind, self.q) == (kind, q)
    }

    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.is(other.kind, other.q)
    }

    /// Elements of two copies.
    pub(super) fn length(&self) -> usize {
        2 * self.q
    }
}

/// Sequences of parts whose last part is an open vec or idx over more than one atom, by where they end in the
/// row.
///
/// Of two such sequences that end in the same place with the same kind of node over as many elements, only
/// the cheaper is of use: what can follow depends on the last two copies only, and those are the same.
pub(super) struct OpenRepeats {
    ends: Vec<Vec<OpenRepeat>>,
}

/// One that ends in a certain place.
#[derive(Clone, Copy)]
pub(super) struct OpenRepeat {
    kind: Repeat,
    q: usize,
    cost: u64,
    more: u64,
    begin: usize,
}

impl OpenRepeats {
    /// Room for rows of up to `n` elements.
    pub(super) fn new(n: usize) -> Self {
        Self { ends: (0..=n).map(|_| Vec::new()).collect() }
    }

    /// Begins a part after the first `length` elements, of which the best sequence costs `before`. The row
    /// has `row` elements.
    pub(super) fn begin(&mut self, beginning: &Beginning, length: usize, before: u64, row: usize) {
        let Beginning { kind, q, two, more } = *beginning;
        let cost = before.saturating_add(two);
        self.offer(length + 2 * q, row, OpenRepeat { kind, q, cost, more, begin: length });
    }

    /// Begins a part after the first `length` elements of a row that has been solved for `known` elements: of
    /// as many copies as end behind them.
    pub(super) fn begin_again(
        &mut self,
        beginning: &Beginning,
        length: usize,
        (known, row, before, waiting): (usize, usize, u64, &mut Vec<(usize, OpenRepeat)>),
        continues: impl Fn(usize, Repeat, usize) -> bool,
    ) {
        let Beginning { kind, q, two, more } = *beginning;
        let (mut end, mut cost) = (length + 2 * q, before.saturating_add(two));
        while end <= known {
            if end + q > row {
                return waiting.push((end, OpenRepeat { kind, q, cost, more, begin: length }));
            }
            if !continues(end, kind, q) {
                return;
            }
            (end, cost) = (end + q, cost.saturating_add(more));
        }
        self.offer(end, row, OpenRepeat { kind, q, cost, more, begin: length });
    }

    /// Takes all that end at `length`, relaxes `parts` by them, and hands on those that `continues`; those
    /// of which another copy would end behind the row wait, should it become longer.
    pub(super) fn advance(
        &mut self,
        length: usize,
        row: usize,
        parts: &mut (u64, usize),
        waiting: &mut Vec<(usize, OpenRepeat)>,
        continues: impl Fn(Repeat, usize) -> bool,
    ) {
        if self.ends[length].is_empty() {
            return;
        }
        let mut here = core::mem::take(&mut self.ends[length]);
        for open in here.drain(..) {
            if open.cost < parts.0 {
                *parts = (open.cost, open.begin);
            }
            if length + open.q > row {
                waiting.push((length, open));
            } else if continues(open.kind, open.q) {
                self.hand_on(length, row, open);
            }
        }
        // The list goes back, so that its memory serves the next row.
        self.ends[length] = here;
    }

    /// Those that have waited while the row was shorter, of which `continues` tells with where they end.
    pub(super) fn go_on(
        &mut self,
        row: usize,
        waiting: &mut Vec<(usize, OpenRepeat)>,
        continues: impl Fn(usize, Repeat, usize) -> bool,
    ) {
        for (length, open) in core::mem::take(waiting) {
            if length + open.q > row {
                waiting.push((length, open));
            } else if continues(length, open.kind, open.q) {
                self.hand_on(length, row, open);
            }
        }
    }

    fn hand_on(&mut self, length: usize, row: usize, open: OpenRepeat) {
        let cost = open.cost.saturating_add(open.more);
        self.offer(length + open.q, row, OpenRepeat { cost, ..open });
    }

    fn offer(&mut self, end: usize, row: usize, open: OpenRepeat) {
        if end > row {
            return;
        }
        let list = &mut self.ends[end];
        match list.iter_mut().find(|known| (known.kind, known.q) == (open.kind, open.q)) {
            Some(known) if known.cost <= open.cost => {}
            Some(known) => *known = open,
            None => list.push(open),
        }
    }
}

fn saturate(cost: u128) -> u64 {
    u64::try_from(cost).unwrap_or(u64::MAX)
}
