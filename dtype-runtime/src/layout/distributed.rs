//! Distributed arrays: the parts of a global array that the ranks have, and the elements that two parts
//! share.

use std::array;

use dtype_core::{ArrayOrder, Share};

use super::{
    dynamic::DynamicLayout,
    indices::{Indices, Steps, common},
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

    /// Returns the rule that gives the only part, if there is one. The parts must be right.
    #[doc(hidden)]
    fn grid(&self) -> Option<Grid<D>> {
        None
    }
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
        shares: [Share; D],
        sizes: [usize; D],
        starts: [usize; D],
        order: ArrayOrder,
    ) -> Self {
        Self { part: IndexSet { gsizes, shares }, local: LocalArray { sizes, starts, order } }
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
    /// The part of the global array.
    pub(crate) part: IndexSet<D>,
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
            let whole = Whole::new(local)?;
            Ok(Self { here: part.all().layout(&local)?, part, whole })
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

/// A part of a global array: a share of each dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSet<const D: usize> {
    pub(crate) gsizes: [usize; D],
    shares: [Share; D],
}

impl<const D: usize> IndexSet<D> {
    /// Returns the number of elements.
    pub(crate) fn count(&self) -> u128 {
        product(self.shares.map(|share| share.count))
    }

    /// Returns the positions in both parts of the elements that they have in common, or `None` if there are
    /// none.
    pub(crate) fn common(&self, other: &Self) -> Option<[Positions<D>; 2]> {
        if self.count() == 0 || other.count() == 0 {
            return None;
        }
        let both = array::from_fn(|k| common(&self.shares[k], &other.shares[k]));
        Positions::of_both(&both)
    }

    /// Returns the positions of all elements.
    fn all(&self) -> Positions<D> {
        Positions(self.shares.map(|share| consecutive(0, share.count)))
    }

    /// Calls `visit` with each row of the part: a share of the elements of the global array, which has fewer
    /// than 2⁶³, in row-major order.
    pub(crate) fn for_each_row(&self, mut visit: impl FnMut(Share)) {
        if self.count() == 0 {
            return;
        }
        // The dimensions behind the last one that is divided are whole.
        let divided = (0..D).rfind(|k| self.shares[*k].count < self.gsizes[*k]).unwrap_or(0);
        let strides = self.strides();
        let Some(share) = self.shares.get(divided) else {
            return visit(Share::consecutive(0, 1));
        };
        let unit = strides[divided];
        let rows: usize = self.shares[..divided].iter().map(|share| share.count).product();
        for row in 0..rows {
            let (mut rest, mut first) = (row, 0);
            for k in (0..divided).rev() {
                let share = self.shares[k];
                first += share.at(rest % share.count) * strides[k];
                rest /= share.count;
            }
            visit(Share {
                start: first + share.start * unit,
                block: share.block * unit,
                step: share.step.saturating_mul(unit),
                count: share.count * unit,
            });
        }
    }

    /// Returns the distances between the elements of each dimension in the row-major global array.
    fn strides(&self) -> [usize; D] {
        let mut strides = [1; D];
        for k in (1..D).rev() {
            strides[k - 1] = strides[k] * self.gsizes[k];
        }
        strides
    }

    /// Returns numbers from which [`read`](Self::read) makes the part again.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> {
        let shares = self.shares.iter();
        let numbers = shares.flat_map(|share| [share.start, share.block, share.step, share.count]);
        numbers.map(|number| number as u64)
    }

    /// Reads a part of an array; `None` if the numbers are not those of a part.
    pub(crate) fn read(numbers: &mut impl Iterator<Item = u64>, gsizes: [usize; D]) -> Option<Self> {
        let mut shares = [Share::consecutive(0, 0); D];
        for (share, length) in shares.iter_mut().zip(gsizes) {
            let mut number = || usize::try_from(numbers.next()?).ok();
            *share = Share { start: number()?, block: number()?, step: number()?, count: number()? };
            if share.block == 0 || share.step < share.block {
                return None;
            }
            if let Some(last) = share.count.checked_sub(1) {
                let ahead = (last / share.block).checked_mul(share.step)?.checked_add(last % share.block)?;
                share.start.checked_add(ahead).filter(|last| *last < length)?;
            }
        }
        Some(Self { gsizes, shares })
    }
}

/// Returns the number of elements with these numbers of indices in each dimension.
fn product(counts: impl IntoIterator<Item = usize>) -> u128 {
    counts.into_iter().fold(1, |product: u128, count| product.saturating_mul(count as u128))
}

/// Elements of an array or a part of one, by their positions in each dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Positions<const D: usize>([Indices; D]);

impl<const D: usize> Positions<D> {
    /// Returns the positions of elements in two parts, given by those in each dimension; `None` if there are
    /// none.
    fn of_both(both: &[[Indices; 2]; D]) -> Option<[Self; 2]> {
        let has_elements = both.iter().all(|[ours, _]| ours.count() > 0);
        has_elements.then(|| [0, 1].map(|side| Self(array::from_fn(|k| both[k][side].clone()))))
    }

    /// Returns the number of elements.
    pub(crate) fn count(&self) -> u128 {
        product(self.0.iter().map(Indices::count))
    }

    /// Returns `true` if both have an element in common. They must be positions in one part.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(one, two)| one.meet(two))
    }

    /// Returns the layout of the elements in the local array of their part. They are packed in row-major
    /// order, whatever the order of the array is.
    pub(crate) fn layout<T: MpiDatatype>(&self, local: &LocalArray<D>) -> Result<DynamicLayout<T, D>, Error> {
        one(local.sizes, ArrayOrder::RowMajor, |k| self.0[k].clone().moved(local.starts[k]))
    }
}

/// The rule by which the ranks of a grid divide a global array, and a rank. The ranks are in row-major order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid<const D: usize> {
    pub(crate) rank: usize,
    pub(super) dimensions: [Division; D],
}

/// The rule by which the ranks along a dimension of a grid divide the indices of this dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// The number of indices.
    pub length: usize,
    /// The number of ranks.
    pub ranks: usize,
    /// The length of the blocks that are dealt out in turn; `None` if each rank has one block, and the first
    /// ones have one index more if the length is no multiple of the number of ranks.
    pub block: Option<usize>,
}

impl Division {
    /// Returns the indices of the rank with this coordinate, which is less than the number of ranks.
    pub(super) fn share(&self, coordinate: usize) -> Share {
        let Self { length, ranks, block } = *self;
        if let Some(block) = block {
            return Share::dealt(block, coordinate, ranks, length);
        }
        let (least, more) = (length / ranks, length % ranks);
        let start = coordinate * least + coordinate.min(more);
        Share::consecutive(start, least + usize::from(coordinate < more))
    }

    /// Returns the coordinates, less than `most`, of the ranks that may have one of the first `blocks` blocks
    /// of a share, in ascending order. If that takes longer than to try all coordinates, it returns these.
    fn owners(&self, share: &Share, blocks: usize, most: usize) -> Vec<usize> {
        let mut found = Vec::new();
        for position in (0..share.count).step_by(share.block).take(blocks) {
            let first = share.at(position);
            let last = share.at(position + share.block.min(share.count - position) - 1);
            if first >= self.length {
                break;
            }
            // The numbers of blocks, which are dealt out in turn. Without blocks, each rank has one.
            let [first, last] = [first, last.min(self.length - 1)].map(|index| self.block_of(index));
            if last - first >= most || found.len() + (last - first) >= most {
                return (0..most).collect();
            }
            found.extend((first..=last).map(|block| block % self.ranks));
        }
        found.sort_unstable();
        found.dedup();
        found.truncate(found.partition_point(|coordinate| *coordinate < most));
        found
    }

    /// Returns the number of the block that has an index.
    fn block_of(&self, index: usize) -> usize {
        if let Some(block) = self.block {
            return index / block;
        }
        let (least, more) = (self.length / self.ranks, self.length % self.ranks);
        if more == 0 {
            return index / least;
        }
        match index.checked_sub(more * (least + 1)) {
            None => index / (least + 1),
            Some(behind) => more + behind / least,
        }
    }
}

impl<const D: usize> Grid<D> {
    /// Returns the lengths of the dimensions of the global array.
    pub(crate) fn gsizes(&self) -> [usize; D] {
        self.dimensions.map(|division| division.length)
    }

    /// Returns the coordinates of the rank, or `None` if the rank is beyond the grid.
    fn coordinates(&self) -> Option<[usize; D]> {
        let mut rest = self.rank;
        let mut coordinates = [0; D];
        for (coordinate, division) in coordinates.iter_mut().zip(&self.dimensions).rev() {
            *coordinate = rest.checked_rem(division.ranks)?;
            rest /= division.ranks;
        }
        (rest == 0).then_some(coordinates)
    }

    /// Returns the rank's share of each dimension, or `None` if the rank is beyond the grid.
    pub(super) fn shares(&self) -> Option<[Share; D]> {
        let coordinates = self.coordinates()?;
        Some(array::from_fn(|k| self.dimensions[k].share(coordinates[k])))
    }

    /// Returns the number of elements of the rank.
    pub(crate) fn count(&self) -> u128 {
        self.shares().map_or(0, |shares| product(shares.map(|share| share.count)))
    }

    /// Returns the ranks less than `ranks` that have elements of this rank if `other` divides the array, and
    /// the positions of these elements, in the part of this rank and in that of the other one. Their order is
    /// that of the ranks.
    ///
    /// Each dimension is divided independently of the others. Along a dimension, this takes a step for each
    /// block of this rank in a turn, but at most one for each rank.
    pub(crate) fn peers(&self, other: &Self, ranks: usize) -> Vec<(usize, [Positions<D>; 2])> {
        let Some(own) = self.shares() else { return Vec::new() };
        // The distance between the ranks of neighbouring coordinates, and the number of coordinates.
        let mut distance = 1usize;
        let mut distances = [1usize; D];
        let mut most = [0; D];
        for (k, division) in other.dimensions.iter().enumerate().rev() {
            if division.ranks == 0 || own[k].count == 0 {
                return Vec::new();
            }
            distances[k] = distance;
            most[k] = ranks.div_ceil(distance).min(division.ranks);
            distance = distance.saturating_mul(division.ranks);
        }
        // If there are none along a dimension, the longer ones need no work.
        let mut order: [usize; D] = array::from_fn(|k| k);
        order.sort_unstable_by_key(|k| most[*k]);
        let mut along = [const { Vec::new() }; D];
        for k in order {
            let division = &other.dimensions[k];
            let steps = Steps::new(own[k].step, division.share(0).step);
            let coordinates = division.owners(&own[k], steps.turn_of(&own[k]), most[k]);
            let shared = coordinates.into_iter().map(|coordinate| {
                let both = steps.common(&own[k], &division.share(coordinate));
                (coordinate.saturating_mul(distances[k]), both)
            });
            along[k].extend(shared.filter(|(_, [ours, _])| ours.count() > 0));
            if along[k].is_empty() {
                return Vec::new();
            }
        }
        let all = along.iter().map(Vec::len).fold(1, usize::saturating_mul);
        let mut peers = Vec::with_capacity(all);
        peers.extend((0..all).filter_map(|mut number| {
            let mut chosen = [0; D];
            for (k, choice) in chosen.iter_mut().enumerate().rev() {
                *choice = number % along[k].len();
                number /= along[k].len();
            }
            let coordinates = (0..D).map(|k| along[k][chosen[k]].0);
            let rank = coordinates.fold(0, usize::saturating_add);
            let both = || Positions::of_both(&array::from_fn(|k| along[k][chosen[k]].1.clone()));
            if rank < ranks { Some((rank, both()?)) } else { None }
        }));
        peers
    }

    /// Returns the numbers that are equal if and only if the rules are.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> {
        let rules = self.dimensions.iter();
        // No block has 0 indices.
        let numbers = rules.flat_map(|rule| [rule.length, rule.ranks, rule.block.unwrap_or(0)]);
        numbers.map(|number| number as u64)
    }
}

impl<const D: usize> Distributed<D> for Darray<D> {
    fn parts(&self) -> Result<Vec<OwnPart<D>>, Error> {
        let shares = self.shares()?;
        let sizes = shares.map(|share| share.count);
        Ok(vec![OwnPart::new(self.gsizes, shares, sizes, [0; D], self.order)])
    }

    fn grid(&self) -> Option<Grid<D>> {
        let dimensions = array::from_fn(|k| {
            let (length, ranks) = (self.gsizes[k], self.psizes[k]);
            Division { length, ranks, block: Some(self.distributions[k].block(ranks, length)) }
        });
        Some(Grid { rank: self.rank, dimensions })
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
        let shares = array::from_fn(|k| Share::consecutive(part.starts[k], part.subsizes[k]));
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

    fn grid(&self) -> Option<Grid<D>> {
        (**self).grid()
    }
}
