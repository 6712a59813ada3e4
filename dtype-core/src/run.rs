//! Runs: maximal strided stretches of one base type, the short form of a type map.

use alloc::vec::Vec;
use core::fmt;

use crate::{BaseType, TypeTree};

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
    /// A run of one entry.
    pub fn single(base: BaseType, displacement: i64) -> Self {
        Self { base, displacement, count: 1, stride: 0 }
    }

    /// The run as a tree that begins at 0: a leaf, or a vec of leaves.
    pub(crate) fn tree(&self) -> TypeTree {
        match (self.count, TypeTree::Leaf(self.base)) {
            (1, leaf) => leaf,
            (count, leaf) => TypeTree::vector(count, self.stride, leaf),
        }
    }

    /// The run that both make together, if `next` continues this one at the same stride.
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

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { base, displacement, count, stride } = self;
        match count {
            1 => write!(f, "{base} @ {displacement}"),
            // Any two make a run of some stride; only neighbours are worth telling as one.
            2 if *stride != base.size() as i64 => {
                write!(f, "{base} @ {displacement}, {base} @ {}", displacement.wrapping_add(*stride))
            }
            _ => write!(f, "{count} × {base} @ {displacement} stride {stride}"),
        }
    }
}

/// A type map as a list of runs, each as long as it can be when read from the front.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs(Vec<Run>);

impl Runs {
    /// Appends a run, joining it to the last one where it continues it.
    pub fn push(&mut self, next: Run) {
        if let Some(last) = self.0.last_mut()
            && let Some(joined) = last.joined(next)
        {
            *last = joined;
        } else {
            self.0.push(next);
        }
    }

    /// The runs in order.
    pub fn as_slice(&self) -> &[Run] {
        &self.0
    }
}

impl fmt::Display for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Longer maps are cut here: the reader wants the shape, not the list.
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
}
