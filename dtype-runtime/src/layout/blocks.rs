//! The part of a global array that a rank has: one description for loops, local arrays, halos,
//! redistributions and files.

use std::{array, ops::Range};

use dtype_core::{ArrayOrder, Share};

use super::{
    distributed::{Distributed, Division, Grid, OwnPart},
    halo::Halo,
    shapes::refused,
};
use crate::Error;

/// The part of a global array that a rank has. A communicator's `blocks` returns it.
///
/// The ranks form a grid, in row-major order: the last coordinate of a rank changes fastest, as in a
/// Cartesian communicator. Each dimension of the array is divided among the ranks along that dimension of the
/// grid, as equally as possible: if `n` indices are divided among `p` ranks, the first `n % p` ranks get one
/// index more than the others. (MPI's `darray` divides otherwise; it is [`Darray`](super::Darray).) Ranks
/// beyond the grid have no elements.
///
/// ```
/// use dtype_runtime::layout::Part;
///
/// // Rank 1 of 2 × 3 ranks, which divide a matrix of 8 × 7.
/// let part = Part::of(1, [8, 7], [2, 3]);
/// assert_eq!(part.ranges(), [0..4, 3..5]); // the columns are divided into 3, 2 and 2
/// assert_eq!(part.local(), [4, 2]);
/// // With a layer of ghost cells around them, the elements lie within a larger local array.
/// let part = part.ghosts(1);
/// assert_eq!((part.local(), part.own()), ([6, 4], [1..5, 1..3]));
/// assert_eq!(part.vec(0.0).len(), 24);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part<const D: usize> {
    rank: usize,
    array: [usize; D],
    grid: [usize; D],
    /// The number of ranks that there are, at most.
    ranks: usize,
    /// The sizes of the blocks that are dealt out in turn; `None` if each rank has one block.
    blocks: Option<[usize; D]>,
    /// The numbers of layers of ghost cells below and above the own elements.
    widths: [[usize; 2]; D],
    order: ArrayOrder,
}

impl<const D: usize> Part<D> {
    /// Returns the part of a rank: `array` has the lengths of the dimensions of the global array, and `grid`
    /// the numbers of ranks along them.
    pub const fn of(rank: usize, array: [usize; D], grid: [usize; D]) -> Self {
        let (widths, order) = ([[0; 2]; D], ArrayOrder::RowMajor);
        Self { rank, array, grid, ranks: usize::MAX, blocks: None, widths, order }
    }

    /// Returns the part among so many ranks, which the grid must not exceed.
    #[cfg(feature = "mpi")]
    pub(crate) const fn among(mut self, ranks: usize) -> Self {
        self.ranks = ranks;
        self
    }

    /// Returns the part that consists of blocks of these sizes, dealt out to the ranks in turn.
    ///
    /// ```
    /// use dtype_runtime::layout::Part;
    ///
    /// let part = Part::of(1, [10], [2]).cyclic([2]);
    /// assert_eq!(part.indices(0).collect::<Vec<_>>(), [2, 3, 6, 7]);
    /// assert_eq!(part.global([2]), [6]);
    /// ```
    #[must_use]
    pub const fn cyclic(mut self, blocks: [usize; D]) -> Self {
        self.blocks = Some(blocks);
        self
    }

    /// Returns the part in a local array with this number of layers of ghost cells on all sides.
    #[must_use]
    pub const fn ghosts(mut self, width: usize) -> Self {
        self.widths = [[width; 2]; D];
        self
    }

    /// Returns the part in a local array with these numbers of layers of ghost cells below and above the own
    /// elements, in each dimension.
    #[must_use]
    pub const fn widths(mut self, widths: [[usize; 2]; D]) -> Self {
        self.widths = widths;
        self
    }

    /// Returns the part in a local array in column-major order.
    #[must_use]
    pub const fn column_major(mut self) -> Self {
        self.order = ArrayOrder::ColumnMajor;
        self
    }

    /// Returns the rule by which the grid divides the array.
    fn rule(&self) -> Grid<D> {
        let dimensions = array::from_fn(|k| Division {
            length: self.array[k],
            ranks: self.grid[k],
            block: self.blocks.map(|blocks| blocks[k].max(1)),
        });
        Grid { rank: self.rank, dimensions }
    }

    /// Returns the own indices in each dimension; none if the rank is beyond the grid.
    fn shares(&self) -> [Share; D] {
        self.rule().shares().unwrap_or([Share::consecutive(0, 0); D])
    }

    /// Returns the global indices of the own elements in dimension `k`, in ascending order; none if there is
    /// no such dimension.
    pub fn indices(&self, k: usize) -> impl Iterator<Item = usize> + use<D> {
        let share = self.shares().get(k).copied().unwrap_or(Share::consecutive(0, 0));
        (0..share.count).map(move |position| share.at(position))
    }

    /// Returns the ranges of the global indices of the own elements. Those of a [cyclic](Self::cyclic) part
    /// reach from its first index to its last, and other ranks have indices between them:
    /// [`indices`](Self::indices) returns the own ones.
    pub fn ranges(&self) -> [Range<usize>; D] {
        let own = |share: Share| share.count.checked_sub(1).map(|last| share.start..share.at(last) + 1);
        self.shares().map(|share| own(share).unwrap_or(0..0))
    }

    /// Returns the lengths of the dimensions of the local array, ghost cells included.
    pub fn local(&self) -> [usize; D] {
        let shares = self.shares();
        array::from_fn(|k| {
            let [below, above] = self.widths[k];
            shares[k].count.saturating_add(below).saturating_add(above)
        })
    }

    /// Returns the indices of the own elements in the local array.
    pub fn own(&self) -> [Range<usize>; D] {
        let shares = self.shares();
        array::from_fn(|k| {
            let [below, _] = self.widths[k];
            below..below.saturating_add(shares[k].count)
        })
    }

    /// Returns the global index of an own element, of which the index in the local array is given. (The
    /// index of a ghost cell gives the nearest own element.)
    pub fn global(&self, local: [usize; D]) -> [usize; D] {
        let shares = self.shares();
        array::from_fn(|k| {
            let (share, [below, _]) = (&shares[k], self.widths[k]);
            let position = local[k].saturating_sub(below);
            share.count.checked_sub(1).map_or(0, |last| share.at(position.min(last)))
        })
    }

    /// Returns the ranks that get elements of this rank if the array moves from this part to the part `to`,
    /// and the number of elements for each. Those that stay are the own rank's. So one process tells how many
    /// messages [`redistribute`](crate::Comm::redistribute) sends among any number of ranks.
    ///
    /// ```
    /// use dtype_runtime::layout::Part;
    ///
    /// // Rank 1 of 4: from blocks of 2 of 20 indices, dealt out in turn, to blocks of 3.
    /// let part = Part::of(1, [20], [4]).cyclic([2]);
    /// assert_eq!(part.indices(0).collect::<Vec<_>>(), [2, 3, 10, 11, 18, 19]);
    /// assert_eq!(part.peers(&Part::of(1, [20], [4]).cyclic([3])), [(0, 1), (1, 1), (2, 2), (3, 2)]);
    /// // From 65,536 ranks to as many, 2³¹ indices.
    /// let [from, to] = [64, 100].map(|block| Part::of(7, [1 << 31], [1 << 16]).cyclic([block]));
    /// let peers = from.peers(&to);
    /// assert_eq!(peers.iter().map(|(_, elements)| elements).sum::<u128>(), 1 << 15);
    /// ```
    ///
    /// # Panics
    /// If the result does not fit memory, as `vec!`.
    pub fn peers(&self, to: &Self) -> Vec<(usize, u128)> {
        let peers = self.rule().peers(&to.rule(), to.ranks);
        peers.into_iter().map(|(rank, [ours, _])| (rank, ours.count())).collect()
    }

    /// Returns a local array whose elements are `value`, ghost cells included: its elements in the order of
    /// the array.
    ///
    /// # Panics
    /// If the local array does not fit memory, as `vec!`.
    pub fn vec<T: Clone>(&self, value: T) -> Vec<T> {
        vec![value; self.local().into_iter().fold(1, usize::saturating_mul)]
    }

    /// Returns the halo of the local array: its ghost cells, with all neighbours.
    pub fn halo(&self) -> Halo<D> {
        let halo = Halo { order: self.order, ..Halo::new(self.local(), 0) };
        halo.widths(self.widths)
    }
}

impl<const D: usize> From<&Part<D>> for Halo<D> {
    fn from(part: &Part<D>) -> Self {
        part.halo()
    }
}

impl<const D: usize> Distributed<D> for Part<D> {
    fn parts(&self) -> Result<Vec<OwnPart<D>>, Error> {
        if let Some(k) = self.grid.iter().position(|length| *length == 0) {
            return Err(refused("a part of an array", format!("grid[{k}]"), 0, "at least 1"));
        }
        if let Some(k) = self.blocks.and_then(|blocks| blocks.iter().position(|size| *size == 0)) {
            return Err(refused("a part of an array", format!("cyclic[{k}]"), 0, "at least 1"));
        }
        let places = self.grid.iter().fold(1usize, |places, length| places.saturating_mul(*length));
        if places > self.ranks {
            let requirement = format!("at most {}, the number of ranks", self.ranks);
            return Err(refused(
                "a part of an array",
                "the number of places in its grid",
                places,
                requirement,
            ));
        }
        let Some(shares) = self.rule().shares() else { return Ok(Vec::new()) };
        let starts = self.widths.map(|[below, _]| below);
        Ok(vec![OwnPart::new(self.array, shares, self.local(), starts, self.order)])
    }

    fn grid(&self) -> Option<Grid<D>> {
        Some(self.rule())
    }
}

#[cfg(test)]
mod tests {
    use super::Part;

    /// All parts of all small arrays have each element once, and differ by one index at most.
    #[test]
    fn each_index_is_in_one_part() {
        for length in 0..20 {
            for ranks in 1..7 {
                for block in [None, Some(1), Some(2), Some(5), Some(30)] {
                    let part = |rank| {
                        let part = Part::of(rank, [length], [ranks]);
                        block.map_or(part, |block| part.cyclic([block]))
                    };
                    let mut all: Vec<usize> = (0..ranks).flat_map(|rank| part(rank).indices(0)).collect();
                    if block.is_none() {
                        assert!(all.is_sorted());
                        let lengths = || (0..ranks).map(|rank| part(rank).local()[0]);
                        assert!(lengths().max().unwrap() - lengths().min().unwrap() <= 1);
                    }
                    all.sort_unstable();
                    assert_eq!(all, (0..length).collect::<Vec<_>>());
                    for rank in 0..ranks {
                        let part = part(rank).ghosts(2);
                        let own = part.own()[0].clone().map(|i| part.global([i])[0]);
                        assert!(own.eq(part.indices(0)));
                        assert_eq!(part.local(), [part.own()[0].len() + 4]);
                    }
                    assert_eq!(part(ranks).ranges()[0], 0..0);
                }
            }
        }
    }

    /// The elements that go to each rank are those of a search, also in grids of other shapes and sizes, and
    /// among fewer ranks than a grid has places.
    #[test]
    fn peers_are_those_of_a_search() {
        let array = [13, 8];
        let parts = |rank: usize| {
            let of = move |grid, blocks: Option<[usize; 2]>| {
                let part = Part::of(rank, array, grid).ghosts(rank);
                blocks.map_or(part, |blocks| part.cyclic(blocks))
            };
            [
                of([1, 1], None),
                of([3, 2], None),
                of([2, 4], Some([2, 1])),
                of([6, 1], Some([1, 3])),
                of([2, 3], Some([5, 2])),
                of([1, 7], Some([20, 2])),
            ]
        };
        let elements = |part: &Part<2>| -> Vec<[usize; 2]> {
            part.indices(0).flat_map(|i| part.indices(1).map(move |j| [i, j])).collect()
        };
        for rank in 0..9 {
            for from in parts(rank) {
                let own = elements(&from);
                for (i, to) in parts(rank).iter().enumerate() {
                    let to = to.among(6);
                    let searched = (0..6).map(|other| {
                        let theirs = elements(&parts(other)[i]);
                        (other, own.iter().filter(|element| theirs.contains(element)).count() as u128)
                    });
                    let searched: Vec<_> = searched.filter(|(_, count)| *count > 0).collect();
                    assert_eq!(from.peers(&to), searched, "{from:?} {to:?}");
                }
            }
        }
        // The longest dimensions, and grids of as many places: no work is done beside a dimension in which
        // there is nothing.
        let whole = |grid| Part::of(0, [usize::MAX], grid);
        assert_eq!(whole([1]).peers(&whole([1])), [(0, u128::from(u64::MAX))]);
        assert_eq!(whole([5]).peers(&whole([1])).len(), 1);
        assert_eq!(whole([1]).peers(&whole([5])).len(), 5);
        let places = [1, usize::MAX];
        assert_eq!(Part::of(0, [0, usize::MAX], [1, 1]).peers(&Part::of(0, [0, usize::MAX], places)), []);
        assert_eq!(Part::of(1, [2, usize::MAX], [2, 1]).peers(&Part::of(0, [1, usize::MAX], places)), []);
        let turned = Part::of(0, [usize::MAX, 1], [usize::MAX, 1]);
        assert_eq!(Part::of(1, [usize::MAX, 2], [1, 2]).peers(&turned), []);
        // Nobody has an element of a grid without places.
        assert_eq!(Part::of(0, [4], [1]).peers(&Part::of(0, [4], [0])), []);
        assert_eq!(Part::of(0, [4], [0]).peers(&Part::of(0, [4], [1])), []);
        // Blocks without indices count as those of one index until they are an error, and other arrays may be
        // shorter.
        assert_eq!(Part::of(0, [4], [1]).peers(&Part::of(0, [2], [3]).cyclic([0])), [(0, 1), (1, 1)]);
        assert_eq!(Part::of(0, [9], [1]).peers(&Part::of(0, [2], [3])), [(0, 1), (1, 1)]);
    }

    #[test]
    fn ranks_are_in_row_major_order() {
        let parts = (0..6).map(|rank| Part::of(rank, [5, 4], [2, 3]).ranges());
        let expected = [[0..3, 0..2], [0..3, 2..3], [0..3, 3..4], [3..5, 0..2], [3..5, 2..3], [3..5, 3..4]];
        assert!(parts.eq(expected));
        assert!(Part::of(0, [4], [0]).indices(0).next().is_none());
        assert!(Part::of(0, [4], [1]).indices(1).next().is_none());
        let large = Part::of(1, [usize::MAX], [2]);
        assert_eq!(large.ranges()[0], usize::MAX / 2 + 1..usize::MAX);
    }

    #[test]
    fn the_largest_arrays_have_parts() {
        let half = usize::MAX / 2 + 1;
        let cyclic = |rank| Part::of(rank, [usize::MAX], [3]).cyclic([half]).ranges()[0].clone();
        assert_eq!([0, 1, 2].map(cyclic), [0..half, half..usize::MAX, 0..0]);
        let part = Part::of(0, [usize::MAX], [1]).ghosts(usize::MAX);
        assert_eq!((part.local(), part.own()[0].end), ([usize::MAX], usize::MAX));
        // The number of elements exceeds a `usize`.
        let matrix = Part::of(0, [1 << (usize::BITS / 2); 2], [1, 1]);
        assert!(std::panic::catch_unwind(|| matrix.vec(0u8)).is_err());
    }
}
