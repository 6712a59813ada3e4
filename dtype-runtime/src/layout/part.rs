//! What is selected of an element: values of one type.

use std::ptr;

use dtype_core::{MOST_ARRAYS, Progression, constant::RunBuffer, gcd};

use crate::{
    engine::Plan,
    pack::Copying,
    types::{Facts, MpiDatatype, entry::LazyDatatype},
};

/// What is selected of every element: values of one type, at regular distances in a few dimensions.
#[derive(Clone, Copy)]
pub struct Part {
    /// Bytes from the start of the element to the first value.
    pub(super) offset: usize,
    /// From the outermost array: how many are selected, bytes from one to the next.
    pub(super) arrays: [(usize, isize); MOST_ARRAYS],
    /// The type of the values.
    pub(super) leaf: &'static Leaf,
}

/// What is done with values of a type that only a region knows.
pub struct Leaf {
    pub(crate) size: usize,
    pub(crate) facts: &'static Facts,
    pub(super) runs: &'static RunBuffer,
    pub(super) lazy: fn() -> &'static LazyDatatype,
    pub(super) plan: fn() -> Plan,
    pub(crate) copying: Copying,
}

impl Leaf {
    /// That of a type.
    pub const fn of<T: MpiDatatype>() -> &'static Self {
        const {
            &Self {
                size: size_of::<T>(),
                facts: &T::FACTS,
                runs: &T::RUNS,
                lazy: T::lazy,
                plan: Plan::of::<T>,
                copying: Copying::of::<T>(),
            }
        }
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        let numbers = |part: &Self| (part.offset, part.arrays);
        numbers(self) == numbers(other) && ptr::eq(self.leaf, other.leaf)
    }
}

impl Part {
    /// Nothing.
    pub const EMPTY: Self = Self { offset: 0, arrays: [(0, 0); _], leaf: Leaf::of::<()>() };

    /// The value `offset` bytes from the start of the element.
    pub const fn first(offset: usize, leaf: &'static Leaf) -> Self {
        Self { offset, arrays: [(1, 0); _], leaf }
    }

    /// These entries of the k-th array, whose entries have that size, instead of its first one.
    #[must_use]
    pub const fn through(mut self, k: usize, entries: &Progression, size: usize) -> Self {
        self.offset += entries.start * size;
        self.arrays[k] = (entries.count, entries.step * size as isize);
        self
    }

    /// Number of values of each element.
    #[inline(always)]
    pub(super) const fn count(&self) -> usize {
        let (mut count, mut k) = (1, 0);
        while k < MOST_ARRAYS {
            count *= self.arrays[k].0;
            k += 1;
        }
        count
    }

    /// The bytes of an element from the least to one past the greatest that may be selected.
    const fn bounds(&self) -> (usize, usize) {
        let (mut low, mut high, mut k) = (self.offset, self.offset + self.leaf.size, 0);
        while k < MOST_ARRAYS {
            let (count, stride) = self.arrays[k];
            let reach = count.saturating_sub(1) * stride.unsigned_abs();
            if stride < 0 {
                low -= reach;
            } else {
                high += reach;
            }
            k += 1;
        }
        (low, high)
    }

    /// Where the i-th of the values begins.
    const fn nth(&self, mut i: usize) -> usize {
        let (mut at, mut k) = (self.offset, MOST_ARRAYS);
        while k > 0 {
            k -= 1;
            let (count, stride) = self.arrays[k];
            at = at.wrapping_add_signed((i % count) as isize * stride);
            i /= count;
        }
        at
    }

    /// What all distances between values are multiples of; 0 if there is a single one.
    const fn period(&self) -> usize {
        let (mut period, mut k) = (0, 0);
        while k < MOST_ARRAYS {
            if self.arrays[k].0 > 1 {
                period = gcd(period, self.arrays[k].1.unsigned_abs());
            }
            k += 1;
        }
        period
    }

    /// Whether both have a byte of an element in common.
    pub(super) const fn meets(&self, other: &Self) -> bool {
        let ((low, high), (other_low, other_high)) = (self.bounds(), other.bounds());
        let (values, others) = (self.count(), other.count());
        let nothing = values == 0 || others == 0 || self.leaf.size == 0 || other.leaf.size == 0;
        if nothing || high <= other_low || other_high <= low {
            return false;
        }
        // Columns of one matrix are a multiple of its rows apart, and a few bytes: no need to look at each
        // entry.
        let period = gcd(self.period(), other.period());
        if period > 0 {
            let apart = (other.offset as isize - self.offset as isize).rem_euclid(period as isize) as usize;
            if apart >= self.leaf.size && period - apart >= other.leaf.size {
                return false;
            }
        }
        let mut i = 0;
        while i < values {
            let (at, mut j) = (self.nth(i), 0);
            while j < others {
                let other_at = other.nth(j);
                if at < other_at + other.leaf.size && other_at < at + self.leaf.size {
                    return true;
                }
                j += 1;
            }
            i += 1;
        }
        false
    }
}
