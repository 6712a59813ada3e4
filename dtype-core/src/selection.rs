//! Selections in one dimension of an array, by the rules of ndarray's `s![]`; constants can evaluate them.
//!
//! The rules and the error messages are the same in macros, constants and the running program. The macro
//! reports an error at the token, a constant in its panic, and the running program in an error value.

use core::fmt;

use crate::gcd::gcd_and_inverse;

/// The largest number of dimensions of an array in a layout.
pub const MOST_DIMENSIONS: usize = 8;

/// The largest number of arrays within an element that one path of a layout selects from.
pub const MOST_ARRAYS: usize = 4;

/// The largest number of pieces (selected parts of an array) of a layout that is known at compile time.
pub const MOST_FIXED_PIECES: usize = 4096;

/// The largest number of pieces of any layout. So many pieces take half a gigabyte.
pub const MOST_PIECES: usize = 1 << 22;

/// The largest size of an array in bytes, and so the largest length of a dimension. Memory holds at most
/// `isize::MAX` bytes, and 64 of these are reserved for the rounding of datatypes.
pub const MOST_BYTES: i128 = isize::MAX as i128 - 64;

/// A selection in one dimension, in elements. Negative numbers count from the end of the dimension.
///
/// ```
/// use dtype_core::{Item, Progression};
///
/// // `[1..-1;2]` of a dimension of length 8: the indices 1, 3, 5.
/// let item = Item::Range { start: Some(1), end: Some(-1), closed: false, step: 2 };
/// assert_eq!(item.select(0, 8), Ok(Progression { start: 1, count: 3, step: 2 }));
///
/// let error = Item::Index(8).select(1, 8).unwrap_err();
/// let message = "index 8 is out of bounds: dimension 1 has length 8, so valid values are -8 to 7";
/// assert_eq!(error.to_string(), message);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// One index.
    Index(i128),
    /// The range `start..end;step`, or `start..=end;step` if it is closed. A negative step selects from the
    /// same range, but goes from its last index backwards.
    Range {
        /// The first index; `None` stands for 0.
        start: Option<i128>,
        /// The end of the range; `None` stands for the length of the dimension.
        end: Option<i128>,
        /// `true` if the end itself is selected.
        closed: bool,
        /// The distance from one index to the next.
        step: i128,
    },
}

/// Indices at equal distances: `start`, `start + step`, …, `count` in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Progression {
    /// The first index.
    pub start: usize,
    /// The number of indices.
    pub count: usize,
    /// The distance from one index to the next; 1 if there are fewer than two indices.
    pub step: isize,
}

/// The reason why a selection is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SelectionError {
    /// An index, or an end of a range, that is beyond its dimension.
    OutOfBounds {
        /// The kind of number: `index`, `range start` or `range end`.
        what: &'static str,
        /// The dimension, counted from 0.
        dimension: usize,
        /// The length of the dimension, in elements.
        length: usize,
        /// The number that was given.
        given: i128,
        /// The greatest number that is allowed.
        greatest: i128,
    },
    /// An entry of an index list that is beyond its dimension.
    ListedOutOfBounds {
        /// The position of the entry in the list, counted from 0.
        entry: usize,
        /// The dimension, counted from 0.
        dimension: usize,
        /// The length of the dimension, in elements.
        length: usize,
        /// The number that was given.
        given: i128,
    },
    /// A range that ends before it starts.
    Backwards {
        /// The dimension, counted from 0.
        dimension: usize,
        /// The index at which the range starts.
        start: usize,
        /// The index before which the range ends.
        end: usize,
    },
    /// A step of 0.
    NoStep {
        /// The dimension, counted from 0.
        dimension: usize,
    },
    /// A dimension whose length is negative or greater than [`MOST_BYTES`].
    Length {
        /// The dimension, counted from 0.
        dimension: usize,
        /// The length that was given.
        given: i128,
    },
    /// An array of more than [`MOST_DIMENSIONS`] dimensions.
    TooManyDimensions {
        /// The number of dimensions that was given.
        given: usize,
    },
    /// An array, or a selection from it, of more than [`MOST_BYTES`] bytes.
    TooLarge,
    /// A layout of too many pieces.
    TooManyPieces {
        /// The largest number of pieces: [`MOST_FIXED_PIECES`] or [`MOST_PIECES`].
        limit: usize,
    },
}

impl Item {
    /// All indices of a dimension, `..`.
    pub const ALL: Self = Self::Range { start: None, end: None, closed: false, step: 1 };

    /// Returns the indices selected from dimension number `dimension`, of length `length`. A range may be
    /// empty.
    ///
    /// # Errors
    /// [`SelectionError::OutOfBounds`], [`SelectionError::Backwards`] and [`SelectionError::NoStep`].
    pub const fn select(self, dimension: usize, length: usize) -> Result<Progression, SelectionError> {
        match self {
            Self::Index(index) => match at("index", dimension, length, index, 1) {
                Ok(start) => Ok(Progression { start, count: 1, step: 1 }),
                Err(error) => Err(error),
            },
            Self::Range { start, end, closed, step } => {
                let first = match start {
                    None => Ok(0),
                    Some(start) => at("range start", dimension, length, start, 0),
                };
                let past = match end {
                    None => Ok(length),
                    Some(end) => at("range end", dimension, length, end, closed as i128),
                };
                let (first, past) = match (first, past) {
                    (Ok(first), Ok(past)) => (first, past + (closed && end.is_some()) as usize),
                    (Err(error), _) | (_, Err(error)) => return Err(error),
                };
                if past < first {
                    return Err(SelectionError::Backwards { dimension, start: first, end: past });
                }
                if step == 0 {
                    return Err(SelectionError::NoStep { dimension });
                }
                let length = (past - first) as u128;
                let count = length.div_ceil(step.unsigned_abs()) as usize;
                let start = if step < 0 && count > 0 { past - 1 } else { first };
                // With two or more indices, the step is smaller than the length of the dimension, so it fits
                // `isize`.
                Ok(Progression { start, count, step: if count < 2 { 1 } else { step as isize } })
            }
        }
    }
}

/// Returns `given` as an index counted from the front, which must be at most `length - below`.
const fn at(
    what: &'static str,
    dimension: usize,
    length: usize,
    given: i128,
    below: i128,
) -> Result<usize, SelectionError> {
    let greatest = length as i128 - below;
    let index = if given < 0 { given.saturating_add(length as i128) } else { given };
    if index < 0 || index > greatest {
        return Err(SelectionError::OutOfBounds { what, dimension, length, given, greatest });
    }
    Ok(index as usize)
}

impl Progression {
    /// Returns the `i`-th index.
    pub const fn nth(&self, i: usize) -> usize {
        self.start.wrapping_add_signed((i as isize).wrapping_mul(self.step))
    }

    /// Returns the least and the greatest index, or `None` if there is no index.
    pub const fn bounds(&self) -> Option<(usize, usize)> {
        match self.count {
            0 => None,
            count if self.step < 0 => Some((self.nth(count - 1), self.start)),
            count => Some((self.start, self.nth(count - 1))),
        }
    }

    /// Returns `true` if both progressions have an index in common.
    pub const fn meets(&self, other: &Self) -> bool {
        let (Some((first, last)), Some((other_first, other_last))) = (self.bounds(), other.bounds()) else {
            return false;
        };
        let low = if first > other_first { first } else { other_first };
        let high = if last < other_last { last } else { other_last };
        let (step, other_step) = (self.step.unsigned_abs() as i128, other.step.unsigned_abs() as i128);
        // first + i·step = other_first + j·other_step: i·step ≡ apart (mod other_step).
        let apart = other_first as i128 - first as i128;
        let (divisor, inverse) = gcd_and_inverse(step, other_step);
        if low > high || apart % divisor != 0 {
            return false;
        }
        let modulus = other_step / divisor;
        let i = ((apart / divisor) % modulus * inverse).rem_euclid(modulus);
        // First the least common index from `first` on, then from `low` on. Common indices repeat at the
        // least common multiple of the steps.
        let (common, period) = (first as i128 + i * step, step * modulus);
        let missing = low as i128 - common;
        let steps = if missing > 0 { (missing + period - 1) / period } else { -(-missing / period) };
        common + steps * period <= high as i128
    }
}

impl SelectionError {
    /// Returns the message, which a constant can panic with.
    pub const fn message(&self) -> Text {
        let text = Text::new();
        match *self {
            Self::OutOfBounds { what, dimension, length, given, greatest } => {
                let text = text.text(what).text(" ").number(given).text(" is out of bounds: dimension ");
                let text = text.number(dimension as i128).text(" has length ").number(length as i128);
                if greatest < 0 {
                    return text.text(", so it has no elements to select");
                }
                text.text(", so valid values are ").number(-(length as i128)).text(" to ").number(greatest)
            }
            Self::ListedOutOfBounds { entry, dimension, length, given } => {
                let text =
                    text.text("entry ").number(entry as i128).text(" of the index list is ").number(given);
                let text = text.text(", out of bounds: dimension ").number(dimension as i128);
                let text = text.text(" has length ").number(length as i128);
                if length == 0 {
                    return text.text(", so it has no elements to select");
                }
                text.text(", so valid values are 0 to ").number(length as i128 - 1)
            }
            Self::Backwards { dimension, start, end } => {
                let text = text.text("the range of dimension ").number(dimension as i128);
                let text = text.text(" starts at index ").number(start as i128);
                let text = text.text(" and ends before index ").number(end as i128);
                text.text("; the smaller bound comes first, also with a negative step")
            }
            Self::NoStep { dimension } => {
                let text = text.text("the step of dimension ").number(dimension as i128);
                text.text(" is 0; it must be 1 or more, or negative to go from back to front")
            }
            Self::Length { dimension, given } => {
                let text = text.text("the length of dimension ").number(dimension as i128);
                text.text(" is ").number(given).text("; it must be between 0 and ").number(MOST_BYTES)
            }
            Self::TooManyDimensions { given } => {
                let text = text.number(given as i128).text(" dimensions, but a layout has at most ");
                text.number(MOST_DIMENSIONS as i128)
            }
            Self::TooLarge => {
                let text = text.text("the array, or the selected part of it, takes more than ");
                text.number(MOST_BYTES).text(" bytes, the limit of an array in memory")
            }
            Self::TooManyPieces { limit } => {
                let text = text.text("the layout has more than ").number(limit as i128);
                if limit > MOST_FIXED_PIECES {
                    return text.text(" pieces, the limit; send it in parts");
                }
                let text = text.text(" pieces, the limit at compile time; use a variable as the bound of a");
                text.text(" loop, so that the layout is computed at run time")
            }
        }
    }
}

impl fmt::Display for SelectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message().as_str())
    }
}

impl core::error::Error for SelectionError {}

/// A text that a constant can build.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    bytes: [u8; Self::CAPACITY],
    length: usize,
}

impl Text {
    const CAPACITY: usize = 256;

    const fn new() -> Self {
        Self { bytes: [0; _], length: 0 }
    }

    /// Returns the text.
    pub const fn as_str(&self) -> &str {
        match core::str::from_utf8(self.bytes.split_at(self.length).0) {
            Ok(text) => text,
            Err(_) => "",
        }
    }

    const fn text(mut self, text: &str) -> Self {
        let mut i = 0;
        while i < text.len() && self.length < Self::CAPACITY {
            self.bytes[self.length] = text.as_bytes()[i];
            self.length += 1;
            i += 1;
        }
        self
    }

    const fn number(self, number: i128) -> Self {
        let mut digits = Self::new();
        let (mut rest, mut first) = (number.unsigned_abs(), true);
        while first || rest > 0 {
            digits.bytes[digits.length] = b'0' + (rest % 10) as u8;
            digits.length += 1;
            rest /= 10;
            first = false;
        }
        let mut text = if number < 0 { self.text("-") } else { self };
        while digits.length > 0 && text.length < Self::CAPACITY {
            digits.length -= 1;
            text.bytes[text.length] = digits.bytes[digits.length];
            text.length += 1;
        }
        text
    }
}
