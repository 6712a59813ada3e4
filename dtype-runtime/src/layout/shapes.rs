//! Ready-made layouts: the shapes that numerical programs exchange most, with their parameters.
//!
//! Each shape builds its pieces as `layout!` does with run-time values. Its layout is a [`DynamicLayout`],
//! with all methods of that type.

use std::array;

use dtype_core::{ArrayOrder, Distributed, Distribution, Item, Share, Subdimension};
use dtype_engine::Error as PackError;

use super::{dynamic::DynamicLayout, indices::Indices, pieces::Pieces};
use crate::{Error, types::MpiDatatype};

/// A box of an array, with the arguments of `MPI_Type_create_subarray` (MPI 4.1 section 5.1.3).
///
/// As with every layout, its datatype begins at the first selected value, to which its views point, and ends
/// with the last one. The datatype of `MPI_Type_create_subarray` has the bounds of the array, and its
/// displacement 0 is the array's first element. `Layout::array_datatype` returns this datatype, for files and
/// windows. [`offset`](crate::Layout::offset) returns the number of bytes from the array's first element to
/// the first selected value.
///
/// ```
/// use dtype_runtime::layout::{ArrayOrder, Subarray};
///
/// let inner = Subarray { sizes: [4, 4], subsizes: [2, 2], starts: [1, 1], order: ArrayOrder::RowMajor };
/// let matrix: Vec<u8> = (0..16).collect();
/// assert_eq!(inner.layout::<u8>()?.of(&matrix)?.pack(), [5, 6, 9, 10]);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subarray<const D: usize> {
    /// The lengths of the array's dimensions.
    pub sizes: [usize; D],
    /// The lengths of the box.
    pub subsizes: [usize; D],
    /// The first index of the box in each dimension.
    pub starts: [usize; D],
    /// The order of the array's elements in memory.
    pub order: ArrayOrder,
}

impl<const D: usize> Subarray<D> {
    /// Returns the layout for elements of type `T`.
    ///
    /// # Errors
    /// `Argument` if the box is not within the array, or if no memory can hold the array.
    pub fn layout<T: MpiDatatype>(&self) -> Result<DynamicLayout<T, D>, Error> {
        self.check()?;
        one(self.sizes, self.order, |k| consecutive(self.starts[k], self.subsizes[k]))
    }

    /// Checks that the box is within the array.
    pub(super) fn check(&self) -> Result<(), Error> {
        for k in 0..D {
            let [size, subsize, start] = [self.sizes, self.subsizes, self.starts].map(|all| all[k] as u64);
            Subdimension { size, subsize, start }.share(k).map_err(|error| of_shape("Subarray", error))?;
        }
        Ok(())
    }
}

/// The part of a distributed array that one process of a grid has, with the arguments of
/// `MPI_Type_create_darray` (MPI 4.1 section 5.1.4).
///
/// As with [`Subarray`], its datatype begins at the first selected value and ends with the last one.
/// `Layout::array_datatype` returns the datatype of `MPI_Type_create_darray`, with the bounds of the array.
///
/// ```
/// use dtype_runtime::layout::{ArrayOrder, Darray, Distribution};
///
/// // Blocks of rows over two processes, columns cyclically over three.
/// let own = Darray {
///     rank: 4,
///     gsizes: [4, 7],
///     distributions: [Distribution::Block(None), Distribution::Cyclic(None)],
///     psizes: [2, 3],
///     order: ArrayOrder::RowMajor,
/// };
/// let matrix: Vec<u8> = (0..28).collect();
/// assert_eq!(own.layout::<u8>()?.of(&matrix)?.pack(), [15, 18, 22, 25]);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Darray<const D: usize> {
    /// The rank of the process in the grid. The last dimension of the grid runs fastest, whatever `order` is.
    pub rank: usize,
    /// The lengths of the whole array's dimensions.
    pub gsizes: [usize; D],
    /// The distribution of each dimension.
    pub distributions: [Distribution; D],
    /// The lengths of the grid of processes; their product is the number of processes, MPI's `size`.
    pub psizes: [usize; D],
    /// The order of the array's elements in memory.
    pub order: ArrayOrder,
}

impl<const D: usize> Darray<D> {
    /// Returns the part of process `rank` if each dimension is divided into `psizes` blocks by
    /// [`Distribution::Block`], in row-major order. The last blocks may have fewer elements, or none. With
    /// all processes in one dimension, the parts are slabs; with one process in one dimension,
    /// they are pencils.
    ///
    /// ```
    /// use dtype_runtime::layout::Darray;
    ///
    /// // The third of four slabs of a cube, and one of 2 × 2 pencils along the last dimension.
    /// let slab = Darray::blocks(2, [8, 8, 8], [4, 1, 1]);
    /// let pencil = Darray::blocks(2, [8, 8, 8], [2, 2, 1]);
    /// assert_eq!(slab.local_sizes()?, [2, 8, 8]);
    /// assert_eq!(pencil.local_sizes()?, [4, 4, 8]);
    /// // 10 rows over 4 processes.
    /// let rows = |rank| Darray::blocks(rank, [10], [4]).local_sizes();
    /// assert_eq!([rows(0)?, rows(1)?, rows(2)?, rows(3)?], [[3], [3], [3], [1]]);
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    pub const fn blocks(rank: usize, gsizes: [usize; D], psizes: [usize; D]) -> Self {
        let distributions = [Distribution::Block(None); D];
        Self { rank, gsizes, distributions, psizes, order: ArrayOrder::RowMajor }
    }

    /// Returns the same part in column-major order.
    #[must_use]
    pub const fn column_major(self) -> Self {
        Self { order: ArrayOrder::ColumnMajor, ..self }
    }

    /// Returns the numbers of elements of this process in each dimension: the lengths of an array of just
    /// these elements.
    ///
    /// # Errors
    /// The errors of [`layout`](Self::layout).
    pub fn local_sizes(&self) -> Result<[usize; D], Error> {
        Ok(self.shares()?.map(|share| share.count))
    }

    /// Returns the indices of this process in each dimension.
    pub(super) fn shares(&self) -> Result<[Share; D], Error> {
        let dimensions: [_; D] = array::from_fn(|k| Distributed {
            size: self.gsizes[k] as u64,
            distribution: self.distributions[k],
            processes: self.psizes[k] as u64,
        });
        let shares = Distributed::shares(self.rank as u64, &dimensions);
        let shares = shares.map_err(|error| of_shape("Darray", error))?;
        Ok(array::from_fn(|k| shares[k]))
    }

    /// Returns the layout for elements of type `T`.
    ///
    /// # Errors
    /// `Argument` if there is no such process, if a block length is 0, if the blocks do not cover the array,
    /// if a dimension that is not distributed has several processes, or if no memory can hold the array.
    pub fn layout<T: MpiDatatype>(&self) -> Result<DynamicLayout<T, D>, Error> {
        let shares = self.shares()?;
        one(self.gsizes, self.order, |k| shares[k].into())
    }
}

/// Converts an error of an argument to an error of a shape.
fn of_shape(shape: &'static str, error: dtype_core::Error) -> Error {
    match error {
        dtype_core::Error::Argument { argument, value, requirement } => {
            Error::Parameter { shape, parameter: argument, value, requirement }
        }
        error => PackError::Tree(error).into(),
    }
}

/// The elements of a matrix on adjacent diagonals, such as a triangle or a band: `[i, j]` with j − i from
/// `lowest` to `highest`. They are packed row by row, or column by column in column-major order.
///
/// ```
/// use dtype_runtime::layout::Band;
///
/// let matrix = [[1u8, 2, 3], [4, 5, 6], [7, 8, 9]];
/// assert_eq!(Band::upper_triangle([3, 3]).layout::<u8>()?.of(&matrix)?.pack(), [1, 2, 3, 5, 6, 9]);
/// assert_eq!(Band::tridiagonal([3, 3]).layout::<u8>()?.of(&matrix)?.pack(), [1, 2, 4, 5, 6, 8, 9]);
/// assert_eq!(Band::diagonal([3, 3], -1).layout::<u8>()?.of(&matrix)?.pack(), [4, 8]);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Band {
    /// The numbers of rows and columns of the matrix.
    pub sizes: [usize; 2],
    /// The lowest diagonal. The main diagonal is 0, and the diagonals below it are negative.
    pub lowest: isize,
    /// The highest diagonal.
    pub highest: isize,
    /// The order of the matrix's elements in memory.
    pub order: ArrayOrder,
}

impl Band {
    /// Returns the main diagonal and everything above it, in a matrix in row-major order.
    pub const fn upper_triangle(sizes: [usize; 2]) -> Self {
        Self { sizes, lowest: 0, highest: isize::MAX, order: ArrayOrder::RowMajor }
    }

    /// Returns the main diagonal and everything below it, in a matrix in row-major order.
    pub const fn lower_triangle(sizes: [usize; 2]) -> Self {
        Self { sizes, lowest: isize::MIN, highest: 0, order: ArrayOrder::RowMajor }
    }

    /// Returns one diagonal of a matrix in row-major order.
    pub const fn diagonal(sizes: [usize; 2], diagonal: isize) -> Self {
        Self { sizes, lowest: diagonal, highest: diagonal, order: ArrayOrder::RowMajor }
    }

    /// Returns the main diagonal and the two diagonals next to it, in a matrix in row-major order.
    pub const fn tridiagonal(sizes: [usize; 2]) -> Self {
        Self { sizes, lowest: -1, highest: 1, order: ArrayOrder::RowMajor }
    }

    /// Returns the same diagonals of a matrix in column-major order.
    #[must_use]
    pub const fn column_major(self) -> Self {
        Self { order: ArrayOrder::ColumnMajor, ..self }
    }

    /// Returns the layout for elements of type `T`.
    ///
    /// # Errors
    /// `Argument` if no memory can hold the matrix.
    pub fn layout<T: MpiDatatype>(&self) -> Result<DynamicLayout<T, 2>, Error> {
        let [rows, columns] = self.sizes;
        let mut pieces = Pieces::<T, 2>::new(self.sizes.map(|size| size as i128));
        let whole = pieces.whole();
        let mut push = |items: [Item; 2]| {
            let axes = array::from_fn(|k| pieces.select(k, self.sizes[k], items[k]));
            pieces.push(axes, &whole, []);
            pieces.is_right()
        };
        let at = |index: usize| Item::Index(index as i128);
        match self.order {
            ArrayOrder::RowMajor => {
                (0..rows).all(|i| push([at(i), clipped(i, self.lowest, self.highest, columns)]))
            }
            ArrayOrder::ColumnMajor => {
                let (lowest, highest) = (self.highest.saturating_neg(), self.lowest.saturating_neg());
                (0..columns).all(|j| push([clipped(j, lowest, highest, rows), at(j)]))
            }
        };
        DynamicLayout::new(pieces, self.order)
    }
}

/// Returns the indices from `index + lowest` to `index + highest` that lie within a dimension.
fn clipped(index: usize, lowest: isize, highest: isize, length: usize) -> Item {
    let index = index as isize;
    let start = usize::try_from(index.saturating_add(lowest)).unwrap_or(0).min(length);
    let end =
        usize::try_from(index.saturating_add(highest).saturating_add(1)).unwrap_or(0).clamp(start, length);
    span(start, end - start)
}

/// One tile of an array that is divided into equal tiles from its first element on. The last tiles of a
/// dimension may be smaller.
///
/// ```
/// use dtype_runtime::layout::{ArrayOrder, Tile};
///
/// let tile = Tile { sizes: [4, 5], tile: [2, 2], index: [1, 2], order: ArrayOrder::RowMajor };
/// let matrix: Vec<u8> = (0..20).collect();
/// assert_eq!(tile.layout::<u8>()?.of(&matrix)?.pack(), [14, 19]);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tile<const D: usize> {
    /// The lengths of the array's dimensions.
    pub sizes: [usize; D],
    /// The lengths of a tile.
    pub tile: [usize; D],
    /// The index of the tile among all tiles, in each dimension.
    pub index: [usize; D],
    /// The order of the array's elements in memory.
    pub order: ArrayOrder,
}

impl<const D: usize> Tile<D> {
    /// Returns the layout for elements of type `T`.
    ///
    /// # Errors
    /// `Argument` if there is no such tile, if a tile has a length of 0, or if no memory can hold the array.
    pub fn layout<T: MpiDatatype>(&self) -> Result<DynamicLayout<T, D>, Error> {
        let mut starts = [0; D];
        for (k, start) in starts.iter_mut().enumerate() {
            let size = self.sizes[k];
            let tile = self.tile[k];
            let index = self.index[k];
            if tile == 0 {
                return Err(refused("Tile", format!("tile[{k}]"), 0, "1 or more"));
            }
            *start = index.saturating_mul(tile);
            if *start >= size {
                let requirement = format!("less than {}, the number of tiles", size.div_ceil(tile));
                return Err(refused("Tile", format!("index[{k}]"), index, requirement));
            }
        }
        one(self.sizes, self.order, |k| consecutive(starts[k], self.tile[k].min(self.sizes[k] - starts[k])))
    }
}

/// Returns the layout of a single piece. `choose` returns its indices in each dimension, in order.
pub(super) fn one<T: MpiDatatype, const D: usize>(
    sizes: [usize; D],
    order: ArrayOrder,
    choose: impl Fn(usize) -> Indices,
) -> Result<DynamicLayout<T, D>, Error> {
    let mut pieces = Pieces::<T, D>::new(sizes.map(|size| size as i128));
    let axes = array::from_fn(|k| pieces.indices(k, choose(k)));
    pieces.push(axes, &pieces.whole(), []);
    DynamicLayout::new(pieces, order)
}

/// Returns `count` indices from `start` on.
pub(super) fn consecutive(start: usize, count: usize) -> Indices {
    Share::consecutive(start, count).into()
}

/// Returns the item that selects `count` indices from `start` on.
pub(crate) fn span(start: usize, count: usize) -> Item {
    let start = start as i128;
    Item::Range { start: Some(start), end: Some(start + count as i128), closed: false, step: 1 }
}

pub(crate) fn refused(
    shape: &'static str,
    parameter: impl Into<String>,
    value: impl TryInto<i128>,
    requirement: impl Into<String>,
) -> Error {
    let value = value.try_into().unwrap_or(i128::MAX);
    Error::Parameter { shape, parameter: parameter.into(), value, requirement: requirement.into() }
}
