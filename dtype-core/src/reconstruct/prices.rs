//! The prices of a cost model, read once for all counts that a search can meet.

use alloc::vec::Vec;

use crate::{CostModel, Line, Price};

/// The prices of a model by count. The tables have the prices for up to as many copies as there are elements.
/// Linear prices are known for any count.
pub(super) struct Prices<'a> {
    costs: &'a dyn CostModel,
    vector: Vec<Price>,
    index: Vec<Price>,
    index_bucket: Vec<Price>,
    bucket: Price,
    pub(super) part: Price,
    pub(super) structure: u64,
    /// The prices as functions of the count, if they are linear.
    pub(super) linear: Option<Linear>,
}

/// Prices that are linear in the count.
pub(super) struct Linear {
    pub(super) vector: Line,
    pub(super) index: Line,
    /// The price without the buckets.
    pub(super) index_bucket: Line,
    bucket: Price,
}

impl<'a> Prices<'a> {
    /// Reads the prices for counts up to `n`, and at least up to 2, so that a line can be recognized.
    pub(super) fn of(costs: &'a dyn CostModel, n: usize) -> Self {
        let table = |price: &dyn Fn(u64) -> Price| (0..=n.max(2) as u64).map(price).collect::<Vec<_>>();
        let (bucket, part) = (costs.bucket(), costs.part());
        let mut prices = Self {
            costs,
            vector: table(&|count| costs.vector(count)),
            index: table(&|count| costs.index(count)),
            index_bucket: table(&|count| costs.index_bucket(count)),
            bucket,
            part,
            structure: costs.structure(),
            linear: None,
        };
        prices.linear = prices.lines();
        prices
    }

    /// Returns the price of a vec.
    pub(super) fn vector(&self, copies: u64) -> Price {
        match &self.linear {
            Some(linear) => linear.vector.at(copies),
            None => known(&self.vector, copies).unwrap_or_else(|| self.costs.vector(copies)),
        }
    }

    /// Returns the price of an idx.
    pub(super) fn index(&self, copies: u64) -> Price {
        match &self.linear {
            Some(linear) => linear.index.at(copies),
            None => known(&self.index, copies).unwrap_or_else(|| self.costs.index(copies)),
        }
    }

    /// Returns the price of an idxbuc.
    pub(super) fn index_bucket(&self, copies: u64, buckets: u64) -> Price {
        let all = match &self.linear {
            Some(linear) => linear.index_bucket.at(copies),
            None => known(&self.index_bucket, copies).unwrap_or_else(|| self.costs.index_bucket(copies)),
        };
        all.with(buckets, self.bucket)
    }

    fn lines(&self) -> Option<Linear> {
        let mut index_bucket = Line::through(&self.index_bucket)?;
        if self.bucket.times == 0 {
            // Buckets do not count the child, so the line must. Otherwise, each idxbuc has a bucket that
            // counts it.
            index_bucket = index_bucket.at_least_once()?;
        }
        Some(Linear {
            vector: Line::through(&self.vector)?.at_least_once()?,
            index: Line::through(&self.index)?.at_least_once()?,
            index_bucket,
            bucket: self.bucket,
        })
    }
}

impl Linear {
    /// Returns the cost that each bucket adds to an idxbuc over a child of cost `child`.
    pub(super) fn bucket_over(&self, child: u64) -> u128 {
        u128::from(self.bucket.own) + u128::from(self.bucket.times) * u128::from(child)
    }
}

impl Line {
    /// Returns the line through all prices for counts from 1 on, if they lie on one line, and this line does
    /// not fall.
    fn through(prices: &[Price]) -> Option<Self> {
        let one = *prices.get(1)?;
        let two = prices.get(2).copied().unwrap_or(one);
        let more = Price { own: two.own.checked_sub(one.own)?, times: two.times.checked_sub(one.times)? };
        // Extended back to a count of 0, the line may fall below 0. The tables serve such prices.
        let first = Price { own: one.own.checked_sub(more.own)?, times: one.times.checked_sub(more.times)? };
        let line = Self { first, more };
        let on_it = |(count, price): (usize, &Price)| {
            line.at(count as u64) == *price && price.own < u64::MAX && price.times < u64::MAX
        };
        prices.iter().enumerate().skip(1).all(on_it).then_some(line)
    }

    /// Returns the line if the child counts at least once for every count. Raises a constant factor of 0 to
    /// 1, as [`Price::of`] does.
    fn at_least_once(mut self) -> Option<Self> {
        if self.first.times == 0 && self.more.times == 0 {
            self.first.times = 1;
        }
        (self.first.times + self.more.times >= 1).then_some(self)
    }

    /// Returns the cost of a node without copies over a child of cost `child`, and the cost that each copy
    /// adds.
    pub(crate) fn over(&self, child: u64) -> (u128, u128) {
        let cost = |price: Price| u128::from(price.own) + u128::from(price.times) * u128::from(child);
        (cost(self.first), cost(self.more))
    }
}

fn known(prices: &[Price], copies: u64) -> Option<Price> {
    prices.get(usize::try_from(copies).ok()?).copied()
}
