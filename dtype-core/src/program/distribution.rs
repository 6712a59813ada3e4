//! Arrays that are distributed over processes: the share of a dimension that a process has (MPI 4.1 section
//! 5.1.4).

use alloc::{format, string::String, vec::Vec};
use core::mem::size_of;

use crate::Error;

/// The order of an array's elements in memory and in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArrayOrder {
    /// The last index runs fastest: C, Rust, `MPI_ORDER_C`.
    RowMajor,
    /// The first index runs fastest: Fortran, nalgebra, `MPI_ORDER_FORTRAN`.
    ColumnMajor,
}

/// The distribution of one dimension over processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Distribution {
    /// A dimension that is not distributed: `MPI_DISTRIBUTE_NONE`. There is one process.
    None,
    /// One block for each process: `MPI_DISTRIBUTE_BLOCK`. A block has this number of elements. By default,
    /// it has as MPI's `MPI_DISTRIBUTE_DFLT_DARG` says: the length divided by the number of processes,
    /// rounded up. The last blocks have fewer elements, or none: 10 elements over 4 processes are 3, 3, 3
    /// and 1.
    ///
    /// ```
    /// use dtype_core::{Distribution, Share};
    ///
    /// let count = |processes, length, coordinate| {
    ///     match Distribution::Block(None).share(0, coordinate, processes, length) {
    ///         Ok(Share::Strided { count, .. }) => count,
    ///         other => panic!("{other:?}"),
    ///     }
    /// };
    /// assert_eq!([0, 1, 2, 3].map(|i| count(4, 10, i)), [3, 3, 3, 1]);
    /// assert_eq!([0, 1, 2, 3].map(|i| count(4, 5, i)), [2, 2, 1, 0]);
    /// ```
    Block(Option<usize>),
    /// Blocks dealt out in turn: `MPI_DISTRIBUTE_CYCLIC`. A block has this number of elements; by default,
    /// one.
    Cyclic(Option<usize>),
}

/// The share of a dimension that one process has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Share {
    /// `count` elements from `start` on, `step` apart.
    Strided {
        /// The first element.
        start: usize,
        /// The number of elements.
        count: usize,
        /// The distance from one element to the next.
        step: usize,
    },
    /// A list of elements.
    Listed(Vec<usize>),
}

impl Distribution {
    /// Returns the share that the process at `coordinate` of `processes` has of the `length` elements of a
    /// dimension.
    ///
    /// # Errors
    /// [`Error::Argument`], with the number of the `dimension`, if a block has no elements, if the blocks do
    /// not cover the array, or if a dimension that is not distributed has several processes.
    /// [`Error::TooLong`] if there is no memory for the list of elements.
    pub fn share(
        self,
        dimension: usize,
        coordinate: usize,
        processes: usize,
        length: usize,
    ) -> Result<Share, Error> {
        match self {
            Self::None if processes > 1 => {
                let requirement = "1, as the dimension is not distributed";
                Err(refused(format!("psizes[{dimension}]"), processes, requirement.into()))
            }
            Self::None => Ok(Share::Strided { start: 0, count: length, step: 1 }),
            Self::Block(Some(0)) | Self::Cyclic(Some(0)) => {
                Err(refused(format!("the block of distributions[{dimension}]"), 0, "1 or more".into()))
            }
            Self::Block(block) => {
                let block = block.unwrap_or_else(|| length.div_ceil(processes).max(1));
                let least = length.div_ceil(processes);
                if block < least {
                    let argument = format!("the block of distributions[{dimension}]");
                    let requirement =
                        format!("{least} or more, so that {processes} blocks hold {length} elements");
                    return Err(refused(argument, block, requirement));
                }
                let start = coordinate.saturating_mul(block).min(length);
                Ok(Share::Strided { start, count: block.min(length - start), step: 1 })
            }
            Self::Cyclic(block) => {
                let block = block.unwrap_or(1);
                if block == 1 {
                    let start = coordinate.min(length);
                    let count = (length - start).div_ceil(processes);
                    return Ok(Share::Strided { start, count, step: processes });
                }
                let blocks = || (coordinate..length.div_ceil(block)).step_by(processes);
                let of_block = |i: usize| i * block..i.saturating_add(1).saturating_mul(block).min(length);
                // Only the last block of the array may be shorter, so no block is longer than the first.
                let most = blocks().next().map_or(0, |i| of_block(i).len()).saturating_mul(blocks().len());
                let mut indices = Vec::new();
                let entries = most as u64;
                indices
                    .try_reserve_exact(most)
                    .map_err(|_| Error::TooLong { entries, limit: MOST_LISTED })?;
                indices.extend(blocks().flat_map(of_block));
                Ok(Share::Listed(indices))
            }
        }
    }
}

/// The largest number of indices that a list in memory can have.
const MOST_LISTED: u64 = isize::MAX as u64 / size_of::<usize>() as u64;

fn refused(argument: String, value: usize, requirement: String) -> Error {
    Error::Argument { argument, value: value as i128, requirement }
}
