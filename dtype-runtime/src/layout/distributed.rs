//! Distributed arrays: the parts of a global array that the ranks have, and the elements that two parts
//! share.

use std::array;

use dtype_core::{ArrayOrder, Share, gcd};

use super::{
    dynamic::DynamicLayout,
    region::Region,
    shapes::{Darray, Subarray, consecutive, one, refused},
    source::Place,
    traits::Layout,
};
use crate::{Error, types::MpiDatatype};

/// The parts of a global array that one rank has: see [`Comm::redistribute`](crate::Comm::redistribute). Only
/// this crate implements the trait.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no distribution of an array of {D} dimensions",
    label = "not the parts of a rank",
    note = "a rank's parts are a `Darray`, a `Subarray`, a `Placed`, or a list of one of these"
)]
#[doc(hidden)]
pub trait Distributed<const D: usize> {
    /// Returns the parts.
    ///
    /// # Errors
    /// `Argument` if a part is not within the array.
    #[doc(hidden)]
    fn parts(&self) -> Result<Vec<OwnPart<D>>, Error>;
}

/// A box of a global array that lies within a larger local array.
///
/// ```
/// use dtype_runtime::layout::{ArrayOrder, Placed, Subarray};
///
/// let order = ArrayOrder::RowMajor;
/// // Rows 4 to 7 of a global array of 8 × 8, with one row of ghost cells above and below them.
/// let part = Subarray { sizes: [8, 8], subsizes: [4, 8], starts: [4, 0], order };
/// let local = Subarray { sizes: [6, 8], subsizes: [4, 8], starts: [1, 0], order };
/// let own = Placed { part, local };
/// # assert_eq!(own.part.subsizes, own.local.subsizes);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Placed<const D: usize> {
    /// The box of the global array. Its `order` has no meaning.
    pub part: Subarray<D>,
    /// The box of the local array. It has the same lengths.
    pub local: Subarray<D>,
}

/// A part of a global array, and its place in a local array.
#[derive(Clone, Debug)]
pub struct OwnPart<const D: usize> {
    pub(crate) part: IndexSet<D>,
    pub(crate) local: LocalArray<D>,
}

impl<const D: usize> OwnPart<D> {
    /// Returns the part with a share of each dimension of an array of `gsizes`. `sizes` are the lengths of
    /// the local array, and `starts` the first index of the part there.
    pub(super) fn new(
        gsizes: [usize; D],
        shares: Vec<Share>,
        sizes: [usize; D],
        starts: [usize; D],
        order: ArrayOrder,
    ) -> Self {
        let mut indices = shares.into_iter().map(|share| match share {
            Share::Strided { start, count, step } => Indices::Strided { start, count, step: step.max(1) },
            Share::Listed(indices) => Indices::Listed(indices),
        });
        let indices = array::from_fn(|_| indices.next().expect("there is a share for each dimension"));
        let part = IndexSet { gsizes, indices: Positions(indices) };
        Self { part, local: LocalArray { sizes, starts, order } }
    }
}

/// The local array of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalArray<const D: usize> {
    /// The lengths of the dimensions.
    pub(crate) sizes: [usize; D],
    /// The first index of the part in each dimension.
    starts: [usize; D],
    pub(crate) order: ArrayOrder,
}

/// A part of a global array with elements `T`, and its local array.
pub struct Local<T, const D: usize> {
    /// The part within the local array, in row-major order.
    pub(crate) here: DynamicLayout<T, D>,
    /// The part within the global array, in row-major order.
    pub(crate) there: DynamicLayout<T, D>,
    whole: Whole<T, D>,
}

/// The local array of a part, with elements `T`.
pub struct Whole<T, const D: usize> {
    pub(crate) array: LocalArray<D>,
    /// All elements, in the order of the array.
    elements: DynamicLayout<T, D>,
}

impl<T: MpiDatatype, const D: usize> Whole<T, D> {
    pub(crate) fn new(array: LocalArray<D>) -> Result<Self, Error> {
        let elements = one(array.sizes, array.order, |k| consecutive(0, array.sizes[k]))?;
        Ok(Self { array, elements })
    }

    /// Returns the place of an array for layouts in row-major order. `place` returns its place for a layout
    /// in the array's own order.
    pub(crate) fn place<M: Into<Error>>(
        &self,
        place: impl FnOnce(&Region<'_>) -> Result<Place, M>,
    ) -> Result<Place, Error> {
        let region = self.elements.region();
        let place = place(&region).map_err(Into::into)?;
        let strides = match self.array.order {
            ArrayOrder::RowMajor => place.strides,
            ArrayOrder::ColumnMajor => place.strides.or_else(|| Some(region.contiguous())),
        };
        Ok(Place { strides, ..place })
    }
}

impl<T: MpiDatatype, const D: usize> Local<T, D> {
    /// Returns the parts of a rank.
    pub(crate) fn all<P: Distributed<D> + ?Sized>(own: &P) -> Result<Vec<Self>, Error> {
        let parts = own.parts()?.into_iter().map(|OwnPart { part, local }| {
            Ok(Self { here: part.all().layout(&local)?, there: part.layout()?, whole: Whole::new(local)? })
        });
        parts.collect()
    }

    /// Returns the places of local arrays, of which there must be one for each part.
    pub(crate) fn places<M: Into<Error>>(
        all: &[Self],
        arrays: usize,
        mut place: impl FnMut(usize, &Region<'_>) -> Result<Place, M>,
    ) -> Result<Vec<Place>, Error> {
        let wrong = |arrays: usize, requirement: String| {
            refused("a distributed array", "the number of arrays", arrays, requirement)
        };
        if arrays != all.len() {
            return Err(wrong(arrays, format!("{}, the number of parts of this rank", all.len())));
        }
        let places = all.iter().enumerate().map(|(i, local)| {
            let place = local.whole.place(|region| place(i, region))?;
            if place.copies != 1 {
                return Err(wrong(place.copies, "1 for each part".to_owned()));
            }
            Ok(place)
        });
        places.collect()
    }
}

/// A part of a global array: some indices of each dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSet<const D: usize> {
    pub(crate) gsizes: [usize; D],
    indices: Positions<D>,
}

/// Indices of a dimension, in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Indices {
    /// `count` indices from `start` on, `step` apart; `step` is not 0.
    Strided {
        start: usize,
        count: usize,
        step: usize,
    },
    Listed(Vec<usize>),
}

impl Indices {
    fn count(&self) -> usize {
        match self {
            Self::Strided { count, .. } => *count,
            Self::Listed(indices) => indices.len(),
        }
    }

    /// Returns the index at a position.
    fn at(&self, position: usize) -> usize {
        match self {
            Self::Strided { start, step, .. } => start + position * step,
            Self::Listed(indices) => indices[position],
        }
    }

    /// Returns the position of an index.
    fn position(&self, index: usize) -> Option<usize> {
        match self {
            Self::Strided { start, count, step } => {
                let position = index.checked_sub(*start).filter(|from| from % step == 0)? / step;
                (position < *count).then_some(position)
            }
            Self::Listed(indices) => indices.binary_search(&index).ok(),
        }
    }

    /// Returns the positions of the common indices in both lists. Those of two progressions are progressions,
    /// too.
    fn common(&self, other: &Self) -> [Self; 2] {
        match (self, other) {
            (
                Self::Strided { start: a, count: m, step: s },
                Self::Strided { start: b, count: n, step: t },
            ) => {
                let none = || [Self::of(Vec::new()), Self::of(Vec::new())];
                if *m == 0 || *n == 0 {
                    return none();
                }
                let last = (a + (m - 1) * s).min(b + (n - 1) * t);
                // If the least common multiple is not a `usize`, there is one common index at most.
                let common = (s / gcd(*s, *t)).saturating_mul(*t);
                // The first index of the first progression that is not before the second one.
                let skipped = b.saturating_sub(*a).div_ceil(*s);
                if skipped >= *m || self.at(skipped) > last {
                    return none();
                }
                // From there on, i steps lead to an index of the second one: i · s ≡ b − index (mod t).
                let (index, modulus) = (self.at(skipped) as u128, *t as u128);
                let missing = (*b as u128 + modulus - index % modulus) % modulus;
                let Some(steps) = multiple(*s as u128, missing, modulus) else { return none() };
                let first = skipped.saturating_add(steps as usize);
                if first >= *m || self.at(first) > last {
                    return none();
                }
                let index = self.at(first);
                let count = 1 + (last - index) / common;
                [
                    Self::Strided { start: first, count, step: common / s },
                    Self::Strided { start: (index - b) / t, count, step: common / t },
                ]
            }
            _ if self.count() > other.count() => {
                let [theirs, ours] = other.common(self);
                [ours, theirs]
            }
            _ => {
                let common = (0..self.count()).filter_map(|i| Some((i, other.position(self.at(i))?)));
                let (ours, theirs) = common.unzip();
                [Self::of(ours), Self::of(theirs)]
            }
        }
    }

    /// Returns ascending indices, as strided ones if they are.
    fn of(indices: Vec<usize>) -> Self {
        let (start, count) = (indices.first().copied().unwrap_or(0), indices.len());
        let step = if count > 1 { indices[1] - indices[0] } else { 1 };
        if indices.windows(2).all(|pair| pair[1] - pair[0] == step) {
            Self::Strided { start, count, step }
        } else {
            Self::Listed(indices)
        }
    }

    /// Appends numbers from which [`read`](Self::read) makes the indices again.
    fn write(&self, numbers: &mut Vec<u64>) {
        match self {
            Self::Strided { start, count, step } => {
                numbers.extend([0, *start as u64, *count as u64, *step as u64]);
            }
            Self::Listed(indices) => {
                numbers.extend([1, indices.len() as u64]);
                numbers.extend(indices.iter().map(|index| *index as u64));
            }
        }
    }

    /// Reads the indices of a dimension of this length; `None` if the numbers are not those of indices.
    fn read(numbers: &mut impl Iterator<Item = u64>, length: usize) -> Option<Self> {
        let mut number = || usize::try_from(numbers.next()?).ok();
        match number()? {
            0 => {
                let start = number()?;
                let count = number()?;
                let step = number()?;
                let last = count.saturating_sub(1).checked_mul(step)?.checked_add(start)?;
                (step > 0 && (count == 0 || last < length)).then_some(Self::Strided { start, count, step })
            }
            1 => {
                let count = number().filter(|count| *count <= length)?;
                let indices = (0..count).map(|_| number()).collect::<Option<Vec<_>>>()?;
                let ascend = indices.windows(2).all(|pair| pair[0] < pair[1]);
                (ascend && indices.last().is_none_or(|last| *last < length)).then_some(Self::Listed(indices))
            }
            _ => None,
        }
    }
}

impl<const D: usize> IndexSet<D> {
    /// Returns the number of elements.
    pub(crate) fn count(&self) -> u128 {
        self.indices.count()
    }

    /// Returns the positions in both parts of the elements that they have in common, or `None` if there are
    /// none.
    pub(crate) fn common(&self, other: &Self) -> Option<[Positions<D>; 2]> {
        if self.count() == 0 || other.count() == 0 {
            return None;
        }
        let both: [_; D] = array::from_fn(|k| self.indices.0[k].common(&other.indices.0[k]));
        if both.iter().any(|[ours, _]| ours.count() == 0) {
            return None;
        }
        let side = |i: usize| Positions(array::from_fn(|k: usize| both[k][i].clone()));
        Some([side(0), side(1)])
    }

    /// Returns the positions of all elements.
    fn all(&self) -> Positions<D> {
        Positions(array::from_fn(|k| {
            let count = self.indices.0[k].count();
            Indices::Strided { start: 0, count, step: 1 }
        }))
    }

    /// Returns the layout of the part within the global array, in row-major order.
    fn layout<T: MpiDatatype>(&self) -> Result<DynamicLayout<T, D>, Error> {
        let whole = LocalArray { sizes: self.gsizes, starts: [0; D], order: ArrayOrder::RowMajor };
        self.indices.layout(&whole)
    }

    /// Appends numbers from which [`read`](Self::read) makes the part again.
    pub(crate) fn write(&self, numbers: &mut Vec<u64>) {
        self.indices.0.iter().for_each(|indices| indices.write(numbers));
    }

    /// Reads a part of an array; `None` if the numbers are not those of a part.
    pub(crate) fn read(numbers: &mut impl Iterator<Item = u64>, gsizes: [usize; D]) -> Option<Self> {
        let mut all = [const { Indices::Listed(Vec::new()) }; D];
        for (indices, length) in all.iter_mut().zip(gsizes) {
            *indices = Indices::read(numbers, length)?;
        }
        Some(Self { gsizes, indices: Positions(all) })
    }
}

/// Elements of an array or a part of one, by their positions in each dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Positions<const D: usize>([Indices; D]);

impl<const D: usize> Positions<D> {
    /// Returns the number of elements.
    pub(crate) fn count(&self) -> u128 {
        self.0.iter().fold(1, |count, indices| count.saturating_mul(indices.count() as u128))
    }

    /// Returns `true` if both have an element in common. They must be positions in one part.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(one, two)| one.common(two)[0].count() > 0)
    }

    /// Returns the layout of the elements in the local array of their part. They are packed in row-major
    /// order, whatever the order of the array is.
    pub(crate) fn layout<T: MpiDatatype>(&self, local: &LocalArray<D>) -> Result<DynamicLayout<T, D>, Error> {
        one(local.sizes, ArrayOrder::RowMajor, |k| match (&self.0[k], local.starts[k]) {
            (Indices::Strided { start, count, step }, first) => {
                Share::Strided { start: first + start, count: *count, step: *step }
            }
            (Indices::Listed(positions), first) => {
                Share::Listed(positions.iter().map(|position| first + position).collect())
            }
        })
    }
}

impl<const D: usize> Distributed<D> for Darray<D> {
    fn parts(&self) -> Result<Vec<OwnPart<D>>, Error> {
        let (shares, sizes) = (self.shares()?, self.local_sizes()?);
        Ok(vec![OwnPart::new(self.gsizes, shares, sizes, [0; D], self.order)])
    }
}

impl<const D: usize> Distributed<D> for Subarray<D> {
    fn parts(&self) -> Result<Vec<OwnPart<D>>, Error> {
        let local = Self { sizes: self.subsizes, starts: [0; D], ..*self };
        Placed { part: *self, local }.parts()
    }
}

impl<const D: usize> Distributed<D> for Placed<D> {
    fn parts(&self) -> Result<Vec<OwnPart<D>>, Error> {
        let Self { part, local } = self;
        part.check()?;
        local.check()?;
        if let Some(k) = (0..D).find(|&k| part.subsizes[k] != local.subsizes[k]) {
            let requirement = format!("{}, the length of the part", part.subsizes[k]);
            let parameter = format!("local.subsizes[{k}]");
            return Err(refused("Placed", parameter, local.subsizes[k], requirement));
        }
        let shares = (0..D).map(|k| consecutive(part.starts[k], part.subsizes[k])).collect();
        Ok(vec![OwnPart::new(part.sizes, shares, local.sizes, local.starts, local.order)])
    }
}

impl<const D: usize, P: Distributed<D>> Distributed<D> for [P] {
    fn parts(&self) -> Result<Vec<OwnPart<D>>, Error> {
        let parts = self.iter().map(P::parts).collect::<Result<Vec<_>, _>>()?;
        Ok(parts.into_iter().flatten().collect())
    }
}

impl<const D: usize, const N: usize, P: Distributed<D>> Distributed<D> for [P; N] {
    fn parts(&self) -> Result<Vec<OwnPart<D>>, Error> {
        self[..].parts()
    }
}

impl<const D: usize, P: Distributed<D>> Distributed<D> for Vec<P> {
    fn parts(&self) -> Result<Vec<OwnPart<D>>, Error> {
        self[..].parts()
    }
}

impl<const D: usize, P: Distributed<D> + ?Sized> Distributed<D> for &P {
    fn parts(&self) -> Result<Vec<OwnPart<D>>, Error> {
        (**self).parts()
    }
}

/// Returns the least number i with i · `step` ≡ `wanted` modulo `modulus`, if there is one, by Euclid's
/// algorithm. The numbers are less than 2⁶⁴.
fn multiple(step: u128, wanted: u128, modulus: u128) -> Option<u128> {
    // In each round, `factor` · `step` ≡ `rest`.
    let (mut rest, mut next) = (modulus as i128, (step % modulus) as i128);
    let (mut factor, mut next_factor) = (0, 1);
    while next != 0 {
        let quotient = rest / next;
        (rest, next) = (next, rest - quotient * next);
        (factor, next_factor) = (next_factor, factor - quotient * next_factor);
    }
    let divisor = rest as u128;
    let period = modulus / divisor;
    let factor = factor.rem_euclid(period as i128) as u128;
    (wanted % divisor == 0).then(|| factor * (wanted / divisor) % period)
}
