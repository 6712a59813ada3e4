//! Arrays that are distributed over processes: the share of a dimension that a process has (MPI 4.1 section
//! 5.1.4).

use alloc::{
    format,
    string::{String, ToString},
};

use crate::Error;

/// The order of an array's elements in memory and in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArrayOrder {
    /// The last index runs fastest: C, Rust, `MPI_ORDER_C`.
    RowMajor,
    /// The first index runs fastest: Fortran, nalgebra, `MPI_ORDER_FORTRAN`.
    ColumnMajor,
}

impl ArrayOrder {
    /// Returns MPI's constant.
    pub const fn mpi_name(self) -> &'static str {
        match self {
            Self::RowMajor => "MPI_ORDER_C",
            Self::ColumnMajor => "MPI_ORDER_FORTRAN",
        }
    }
}

/// The distribution of one dimension over processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// let share = |coordinate, length| Distribution::Block(None).share(0, coordinate, 4, length);
    /// assert_eq!(share(3, 10)?, Share::consecutive(9, 1));
    /// assert_eq!(share(3, 5)?, Share::consecutive(5, 0));
    /// assert!(share(4, 10).is_err());
    /// # Ok::<(), dtype_core::Error>(())
    /// ```
    Block(Option<usize>),
    /// Blocks dealt out in turn: `MPI_DISTRIBUTE_CYCLIC`. A block has this number of elements; by default,
    /// one.
    Cyclic(Option<usize>),
}

/// Returns the number of processes in a grid of these lengths; `u64::MAX` if there are more.
///
/// ```
/// assert_eq!(dtype_core::grid_size([2, 3]), 6);
/// ```
pub fn grid_size(lengths: impl IntoIterator<Item = u64>) -> u64 {
    lengths.into_iter().fold(1, u64::saturating_mul)
}

/// The default number of elements in a block.
pub(super) const DEFAULT: &str = "MPI_DISTRIBUTE_DFLT_DARG";

impl Distribution {
    /// Returns MPI's constant.
    pub const fn mpi_name(self) -> &'static str {
        match self {
            Self::None => "MPI_DISTRIBUTE_NONE",
            Self::Block(_) => "MPI_DISTRIBUTE_BLOCK",
            Self::Cyclic(_) => "MPI_DISTRIBUTE_CYCLIC",
        }
    }

    /// Returns the argument beside the constant: the number of elements in a block, or MPI's constant for the
    /// default.
    pub fn mpi_argument(self) -> String {
        match self {
            Self::Block(Some(block)) | Self::Cyclic(Some(block)) => block.to_string(),
            Self::None | Self::Block(None) | Self::Cyclic(None) => DEFAULT.into(),
        }
    }

    /// Returns the distribution of MPI's constant, in blocks of so many elements or of the default; `None`
    /// for other names.
    pub fn from_mpi(name: &str, block: Option<usize>) -> Option<Self> {
        let all = [Self::None, Self::Block(block), Self::Cyclic(block)];
        all.into_iter().find(|distribution| distribution.mpi_name() == name)
    }
}

/// The share of a dimension that one process has: `count` indices in blocks of `block`, which begin `step`
/// apart. The last block may be shorter. No two blocks have an index in common.
///
/// ```
/// use dtype_core::Distribution;
///
/// // Blocks of 2 of 11 indices, dealt out to 2 processes.
/// let share = Distribution::Cyclic(Some(2)).share(0, 0, 2, 11)?;
/// assert_eq!((share.start, share.block, share.step, share.count), (0, 2, 4, 6));
/// assert_eq!((0..6).map(|position| share.at(position)).collect::<Vec<_>>(), [0, 1, 4, 5, 8, 9]);
/// # Ok::<(), dtype_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Share {
    /// The first index.
    pub start: usize,
    /// The number of indices in a block, at least 1.
    pub block: usize,
    /// The distance from the start of a block to that of the next one: at least `block`, and `usize::MAX` if
    /// there is no next one, whatever the length of the dimension is.
    pub step: usize,
    /// The number of indices.
    pub count: usize,
}

impl Share {
    /// Returns `count` indices from `start` on.
    pub const fn consecutive(start: usize, count: usize) -> Self {
        Self { start, block: if count == 0 { 1 } else { count }, step: usize::MAX, count }
    }

    /// Returns the indices below `length` of the blocks of `block` indices that process `coordinate` gets, if
    /// they are dealt out to `processes` in turn. A block of 0 indices counts as one of 1. Without processes,
    /// there are no indices.
    pub const fn dealt(block: usize, coordinate: usize, processes: usize, length: usize) -> Self {
        let block = if block == 0 { 1 } else { block };
        let (start, step) = (coordinate.saturating_mul(block), block.saturating_mul(processes));
        if start >= length || processes == 0 {
            return Self::consecutive(length, 0);
        }
        if processes == 1 || step >= length {
            let left = length - start;
            return Self::consecutive(start, if processes == 1 || left < block { left } else { block });
        }
        let (whole, rest) = ((length - start) / step, (length - start) % step);
        Self { start, block, step, count: whole * block + if rest < block { rest } else { block } }
    }

    /// Returns the index at a position, which is less than `count`.
    pub const fn at(&self, position: usize) -> usize {
        // The last block may be the only one: then the step is not added.
        self.start + position / self.block * self.step + position % self.block
    }

    /// Returns the whole blocks, and the shorter one behind them: for each, the position of its first index,
    /// the number of blocks, and their length. There may be none of either kind.
    pub const fn blocks(&self) -> [Blocks; 2] {
        let (whole, rest) = (self.count / self.block, self.count % self.block);
        let first = Blocks { position: 0, count: whole, length: self.block };
        [first, Blocks { position: self.count - rest, count: (rest > 0) as usize, length: rest }]
    }
}

/// Blocks of equal lengths of a [`Share`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The position of the first index.
    pub position: usize,
    /// The number of blocks.
    pub count: usize,
    /// The number of indices in each.
    pub length: usize,
}

impl Distribution {
    /// Returns the share that the process at `coordinate` of `processes` has of the `length` elements of a
    /// dimension.
    ///
    /// # Errors
    /// [`Error::Argument`], with the number of the `dimension`, if there is no such process, if a block has
    /// no elements, if the blocks do not cover the array, or if a dimension that is not distributed has
    /// several processes.
    pub fn share(
        self,
        dimension: usize,
        coordinate: usize,
        processes: usize,
        length: usize,
    ) -> Result<Share, Error> {
        match self {
            _ if coordinate >= processes => {
                let argument = format!("the coordinate in dimension {dimension}");
                let requirement = format!("less than {processes}, the number of processes");
                Err(refused(argument, coordinate, requirement))
            }
            Self::None if processes > 1 => {
                let requirement = "1, as the dimension is not distributed";
                Err(refused(format!("psizes[{dimension}]"), processes, requirement.into()))
            }
            Self::None => Ok(Share::consecutive(0, length)),
            Self::Block(Some(0)) | Self::Cyclic(Some(0)) => {
                Err(refused(format!("the block of distributions[{dimension}]"), 0, "1 or more".into()))
            }
            Self::Block(_) => {
                let block = self.block(processes, length);
                let least = length.div_ceil(processes);
                if block < least {
                    let argument = format!("the block of distributions[{dimension}]");
                    let requirement =
                        format!("{least} or more, so that {processes} blocks hold {length} elements");
                    return Err(refused(argument, block, requirement));
                }
                let start = coordinate.saturating_mul(block).min(length);
                Ok(Share::consecutive(start, block.min(length - start)))
            }
            Self::Cyclic(_) => Ok(Share::dealt(self.block(processes, length), coordinate, processes, length)),
        }
    }

    /// Returns the number of elements of a block, if `processes`, of which there is at least one, divide a
    /// dimension of `length` elements.
    ///
    /// ```
    /// use dtype_core::Distribution::{Block, Cyclic, None};
    ///
    /// let blocks = [None, Block(Option::None), Block(Some(5)), Cyclic(Option::None), Cyclic(Some(2))];
    /// assert_eq!(blocks.map(|distribution| distribution.block(4, 10)), [10, 3, 5, 1, 2]);
    /// ```
    pub fn block(self, processes: usize, length: usize) -> usize {
        match self {
            Self::None => length.max(1),
            Self::Block(block) => block.unwrap_or_else(|| length.div_ceil(processes.max(1)).max(1)),
            Self::Cyclic(block) => block.unwrap_or(1),
        }
    }
}

fn refused(argument: String, value: usize, requirement: String) -> Error {
    Error::Argument { argument, value: value as i128, requirement }
}
