//! Parts: the values of one type that are selected within an element.

use std::ptr;

use dtype_core::{MOST_ARRAYS, Progression, constant::RunBuffer, gcd};

use crate::types::{MpiDatatype, ValueType};

/// The selected part of every element: values of one type, at regular distances in a few dimensions.
#[derive(Clone, Copy, PartialEq)]
pub struct Part {
    /// The bytes from the start of the element to the first value.
    pub(super) offset: usize,
    /// The number of selected entries of each array, and the bytes from one to the next. The outermost array
    /// is first.
    pub(super) arrays: [(usize, isize); MOST_ARRAYS],
    /// The type of the values.
    pub(super) leaf: &'static Leaf,
}

/// The type of values. Regions have no type parameters.
pub struct Leaf {
    pub(crate) of: &'static ValueType,
    pub(super) runs: &'static RunBuffer,
}

impl Leaf {
    /// Returns the leaf of a type.
    pub const fn of<T: MpiDatatype>() -> &'static Self {
        const { &Self { of: ValueType::of::<T>(), runs: &T::RUNS } }
    }
}

impl PartialEq for Leaf {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self, other)
    }
}

impl Part {
    /// A part without values.
    pub const EMPTY: Self = Self { offset: 0, arrays: [(0, 0); _], leaf: Leaf::of::<()>() };

    /// Returns the part of one value, `offset` bytes from the start of the element.
    pub const fn first(offset: usize, leaf: &'static Leaf) -> Self {
        Self { offset, arrays: [(1, 0); _], leaf }
    }

    /// Selects these entries of the `k`-th array instead of its first one. An entry has `size` bytes.
    #[must_use]
    pub const fn through(mut self, k: usize, entries: &Progression, size: usize) -> Self {
        self.offset += entries.start * size;
        self.arrays[k] = (entries.count, entries.step * size as isize);
        self
    }

    /// Returns `true` if the part is a whole element of `size` bytes.
    pub(super) fn is_whole(&self, size: usize) -> bool {
        (self.offset, self.leaf.of.size, self.count()) == (0, size, 1)
    }

    /// Returns the number of values in each element.
    #[inline(always)]
    pub(super) const fn count(&self) -> usize {
        let (mut count, mut k) = (1, 0);
        while k < MOST_ARRAYS {
            count *= self.arrays[k].0;
            k += 1;
        }
        count
    }

    /// Returns the range of bytes that contains all values: its first byte, and one past its last byte.
    const fn bounds(&self) -> (usize, usize) {
        let (mut low, mut high) = (self.offset, self.offset + self.leaf.of.size);
        let mut k = 0;
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

    /// Returns the offset of the `i`-th value in bytes.
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

    /// Returns the greatest common divisor of all distances between values, in bytes; 0 for a single value.
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

    /// Returns `true` if both parts have a byte of an element in common.
    pub(super) const fn meets(&self, other: &Self) -> bool {
        let ((low, high), (other_low, other_high)) = (self.bounds(), other.bounds());
        let (values, others) = (self.count(), other.count());
        let nothing = values == 0 || others == 0 || self.leaf.of.size == 0 || other.leaf.of.size == 0;
        if nothing || high <= other_low || other_high <= low {
            return false;
        }
        // The distance between a value of each part is `apart` plus a multiple of `period`. If values at such
        // distances never overlap, as in two columns of one matrix, no entries need to be compared.
        let period = gcd(self.period(), other.period());
        if period > 0 {
            let apart = (other.offset as isize - self.offset as isize).rem_euclid(period as isize) as usize;
            if apart >= self.leaf.of.size && period - apart >= other.leaf.of.size {
                return false;
            }
        }
        let mut i = 0;
        while i < values {
            let (at, mut j) = (self.nth(i), 0);
            while j < others {
                let other_at = other.nth(j);
                if at < other_at + other.leaf.of.size && other_at < at + self.leaf.of.size {
                    return true;
                }
                j += 1;
            }
            i += 1;
        }
        false
    }
}
