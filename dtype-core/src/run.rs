//! Runs: maximal strided sequences of entries of one base type, the short form of a type map.

use alloc::vec::Vec;
use core::fmt;

use crate::BaseType;

/// `count` entries of one base type, `stride` bytes apart, the first at `displacement`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// The base type of all entries.
    pub base: BaseType,
    /// Displacement of the first entry, in bytes.
    pub displacement: i64,
    /// Number of entries, at least one.
    pub count: u64,
    /// Distance of consecutive entries, in bytes; 0 for a single entry.
    pub stride: i64,
}

impl Run {
    /// The number of entries at one stride after which the last run has that stride, whatever came before.
    pub(crate) const SETTLED: u64 = 4;

    /// Returns a run of one entry.
    pub const fn single(base: BaseType, displacement: i64) -> Self {
        Self { base, displacement, count: 1, stride: 0 }
    }

    /// Returns the effect of an entry on a type map that ends with the runs `before` and `last`. No other
    /// code defines what a run is.
    ///
    /// Three entries at a regular stride are a run. Two entries are a run only if they are adjacent, since
    /// any two have some stride. An entry joins the first run that it can join, so the runs depend on the map
    /// alone.
    pub(crate) const fn next(before: Option<Self>, last: Option<Self>, base: BaseType, at: i64) -> Next {
        let entry = Self::single(base, at);
        let Some(last) = last else { return Next::New(entry) };
        if last.base as u8 != base as u8 {
            return Next::New(entry);
        }
        let step = at.wrapping_sub(last.displacement);
        if last.count > 1 {
            let longer = Self { count: last.count.saturating_add(1), ..last };
            return if at == last.entry(last.count) { Next::Longer(longer) } else { Next::New(entry) };
        }
        let pair = Self { count: 2, stride: step, ..last };
        if step == base.extent() as i64 {
            return Next::Longer(pair);
        }
        if let Some(before) = before
            && before.count == 1
            && before.base as u8 == base as u8
            && last.displacement.wrapping_sub(before.displacement) == step
        {
            return Next::Three(Self { count: 3, stride: step, ..before });
        }
        Next::New(entry)
    }

    /// Returns the displacement of entry `i`. The arithmetic wraps, but cannot overflow for a run of a
    /// measured layout.
    pub(crate) const fn entry(&self, i: u64) -> i64 {
        self.displacement.wrapping_add(self.stride.wrapping_mul(i as i64))
    }

    /// Returns both runs as one, if `next` continues this one at the same stride.
    pub fn joined(self, next: Self) -> Option<Self> {
        let step = next.displacement.checked_sub(self.displacement)?;
        let stride = match (self.count, next.count) {
            (1, 1) => step,
            (1, _) => next.stride,
            _ => self.stride,
        };
        let continues = self.base == next.base
            && step == stride.checked_mul(i64::try_from(self.count).ok()?)?
            && (next.count == 1 || next.stride == stride);
        let count = self.count.checked_add(next.count)?;
        continues.then_some(Self { count, stride, ..self })
    }
}

/// Counts the leading differences of consecutive displacements that equal `stride`.
pub(crate) fn evenly_spaced(displacements: &[i64], stride: i64) -> usize {
    // A short sequence ends within the first few differences. A long one is compared in stretches without
    // branches, as fast as memory can be read.
    const FEW: usize = 8;
    const STRETCH: usize = 256;
    let differs = |pair: &[i64]| pair[1].wrapping_sub(pair[0]) != stride;
    if let Some(few) = displacements.windows(2).take(FEW).position(differs) {
        return few;
    }
    let mut rest = displacements;
    while rest.len() > STRETCH
        && rest[..=STRETCH].windows(2).fold(0, |bits, pair| bits | pair[1].wrapping_sub(pair[0]) ^ stride)
            == 0
    {
        rest = &rest[STRETCH..];
    }
    let more = rest.windows(2).position(differs).unwrap_or(rest.len().saturating_sub(1));
    displacements.len() - rest.len() + more
}

/// The effect of an entry on the runs of a type map.
pub(crate) enum Next {
    /// A replacement of the last run.
    Longer(Run),
    /// A replacement of the last two runs, which have one entry each.
    Three(Run),
    /// A new run behind the last one.
    New(Run),
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { base, displacement, count, stride } = self;
        match count {
            1 => write!(f, "{base} @ {displacement}"),
            _ => write!(f, "{count} × {base} @ {displacement} stride {stride}"),
        }
    }
}

/// A type map as a list of runs: its short form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs(Vec<Run>);

impl Runs {
    /// Appends a run, and joins it to the runs before if it continues them.
    pub fn push(&mut self, run: Run) {
        let singly = run.count.min(Run::SETTLED);
        (0..singly).for_each(|i| self.push_entry(run.base, run.entry(i)));
        if let Some(last) = self.0.last_mut() {
            last.count = last.count.saturating_add(run.count - singly);
        }
    }

    fn push_entry(&mut self, base: BaseType, at: i64) {
        let before = self.0.len().checked_sub(2).map(|place| self.0[place]);
        match Run::next(before, self.0.last().copied(), base, at) {
            Next::New(run) => self.0.push(run),
            Next::Longer(run) => self.replace(1, run),
            Next::Three(run) => self.replace(2, run),
        }
    }

    fn replace(&mut self, last: usize, run: Run) {
        self.0.truncate(self.0.len() - last);
        self.0.push(run);
    }

    /// Returns the runs in order.
    pub fn as_slice(&self) -> &[Run] {
        &self.0
    }
}

impl fmt::Display for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// The number of runs that are shown: the reader needs the shape, not the whole list.
        const SHOWN: usize = 6;
        for (i, run) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}{run}", if i == 0 { "" } else { ", " })?;
        }
        match self.0.len() {
            0 => f.write_str("(empty)"),
            n if n > SHOWN => write!(f, ", … ({n} runs in all)"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_join_only_where_type_and_stride_continue() {
        let run = |base, displacement, count, stride| Run { base, displacement, count, stride };
        let three = run(BaseType::F64, 0, 3, 8);
        assert_eq!(three.joined(run(BaseType::F64, 24, 2, 8)), Some(run(BaseType::F64, 0, 5, 8)));
        assert_eq!(three.joined(Run::single(BaseType::F64, 24)), Some(run(BaseType::F64, 0, 4, 8)));
        assert_eq!(Run::single(BaseType::F64, -8).joined(three), Some(run(BaseType::F64, -8, 4, 8)));
        assert_eq!(three.joined(run(BaseType::F64, 24, 2, 16)), None);
        assert_eq!(three.joined(Run::single(BaseType::F64, 32)), None);
        assert_eq!(three.joined(Run::single(BaseType::U64, 24)), None);
    }

    #[test]
    fn stretches_end_where_the_difference_is_another() {
        for length in [1, 2, 5, 9, 10, 256, 257, 258, 513, 1000] {
            for change in 0..=length {
                let step = |i: usize| if i > change { 7 } else { 0 };
                let displacements: Vec<i64> = (0..length).map(|i| 3 * i as i64 + step(i)).collect();
                assert_eq!(evenly_spaced(&displacements, 3), change.min(length - 1));
            }
        }
        assert_eq!(evenly_spaced(&[], 3), 0);
    }
}
