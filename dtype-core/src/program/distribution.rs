//! Arrays that are distributed over processes: what a process has of a dimension (MPI 4.1 section 5.1.4).

use alloc::{format, string::String, vec::Vec};
use core::mem::size_of;

use crate::Error;

/// Which index of an array runs fastest, in memory and on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArrayOrder {
    /// The last one: C, Rust, `MPI_ORDER_C`.
    RowMajor,
    /// The first one: Fortran, nalgebra, `MPI_ORDER_FORTRAN`.
    ColumnMajor,
}

/// How one dimension is distributed over processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Distribution {
    /// Not at all: `MPI_DISTRIBUTE_NONE`. There is one process.
    None,
    /// One block for each process: `MPI_DISTRIBUTE_BLOCK`. Of this number of elements, or, by default, as
    /// equal as can be.
    Block(Option<usize>),
    /// Blocks dealt in turn: `MPI_DISTRIBUTE_CYCLIC`. Of this number of elements, or of one.
    Cyclic(Option<usize>),
}

/// What one process has of a dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Share {
    /// `count` elements from `start` on, `step` apart.
    Strided {
        /// The first one.
        start: usize,
        /// How many.
        count: usize,
        /// From one to the next.
        step: usize,
    },
    /// These elements.
    Listed(Vec<usize>),
}

impl Distribution {
    /// What the process at `coordinate` of `processes` has of the `length` elements of a dimension.
    ///
    /// # Errors
    /// [`Error::Argument`] where a block has no elements, blocks do not reach through the array, or a
    /// dimension that is not distributed has several processes, with the number of the `dimension`;
    /// [`Error::TooLong`] where there is no memory for the list of the elements.
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
                // The first block is never a shorter one, unless it is the only one.
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

/// The most indices that a list may have, for memory at all.
const MOST_LISTED: u64 = isize::MAX as u64 / size_of::<usize>() as u64;

fn refused(argument: String, value: usize, requirement: String) -> Error {
    Error::Argument { argument, value: value as i128, requirement }
}
