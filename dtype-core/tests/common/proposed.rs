//! Constructors that were proposed for MPI and are not in the standard (thesis section 7.3), as builders of
//! type trees.
//!
//! The builders return the tree in its literal form. All distances are in bytes. The builders fail with
//! [`Error::Argument`], which names the argument, if a value is invalid, and with [`Error::Overflow`] if the
//! layout reaches beyond `i64`.

use dtype_core::{Error, TypeTree};

/// The blocks of an MPI vector, `stride` bytes apart. Each block has `blocklength` copies of a child,
/// `extent` bytes apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The number of copies in each block, at least one.
    pub blocklength: u64,
    /// Bytes from the start of one block to that of the next.
    pub stride: i64,
    /// Bytes from one copy to the next within a block.
    pub extent: i64,
    /// The child that is repeated.
    pub child: TypeTree,
}

impl Blocks {
    /// Returns the *bounded vector*: the first `total` copies. The last block may be shorter than the others.
    ///
    /// # Errors
    /// See the module.
    pub fn bounded_vector(&self, total: u64) -> Result<TypeTree, Error> {
        self.copies(0, total)
    }

    /// Returns the *circular vector*: `total` copies of a bounded vector of `bound` copies, beginning with
    /// copy number `first`. Copy 0 follows copy `bound - 1`.
    ///
    /// # Errors
    /// See the module; `first` must be below `bound`.
    pub fn circular_vector(&self, total: u64, first: u64, bound: u64) -> Result<TypeTree, Error> {
        require(first < bound, "first", first, "below the bound")?;
        let until_the_end = (bound - first).min(total);
        let rounds = (total - until_the_end) / bound;
        let rest = (total - until_the_end) % bound;
        let parts = [
            self.copies(first, first + until_the_end)?,
            TypeTree::vector(rounds, 0, self.copies(0, bound)?),
            self.copies(0, rest)?,
        ];
        checked(TypeTree::structure([0; 3], parts))
    }

    /// Returns the copies `from..to`: the rest of the first block, whole blocks, and the beginning of a last
    /// block.
    fn copies(&self, from: u64, to: u64) -> Result<TypeTree, Error> {
        let Self { blocklength, stride, extent, child } = self;
        require(*blocklength > 0, "blocklength", *blocklength, "at least 1")?;
        let run = |count: u64| TypeTree::vector(count, *extent, child.clone());
        let at = |copy: u64| {
            let (block, inner) = (i64::try_from(copy / blocklength).ok()?, (copy % blocklength) as i64);
            block.checked_mul(*stride)?.checked_add(inner.checked_mul(*extent)?)
        };
        let first_whole = from.next_multiple_of(*blocklength).min(to);
        let whole = (to - first_whole) / blocklength;
        let last = first_whole + whole * blocklength;
        let starts = [from, first_whole, last].map(at);
        let [Some(a), Some(b), Some(c)] = starts else { return Err(Error::Overflow { node: "vec" }) };
        let blocks = TypeTree::vector(whole, *stride, run(*blocklength));
        checked(TypeTree::structure([a, b, c], [run(first_whole - from), blocks, run(to - last)]))
    }
}

/// Returns the *bucket* type: memory in buckets of `size` bytes. Bucket i holds `lengths[i]` copies of
/// `child`, `extent` bytes apart.
///
/// # Errors
/// See the module.
pub fn bucket(size: i64, lengths: &[u64], extent: i64, child: TypeTree) -> Result<TypeTree, Error> {
    let displacements = (0..lengths.len() as i64).map(|i| i.checked_mul(size)).collect::<Option<Vec<_>>>();
    let displacements = displacements.ok_or(Error::Overflow { node: "idxbuc" })?;
    checked(TypeTree::index_bucket(extent, lengths, displacements, child))
}

/// The blocks of a *triangular* type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Triangular {
    /// The number of blocks.
    pub count: u64,
    /// The number of copies in block 0.
    pub blocklength: u64,
    /// The number of copies that each block has more than the block before; negative if blocks become
    /// shorter.
    pub blockincrement: i64,
    /// Bytes from the start of one block to that of the next, without the increment.
    pub stride: i64,
    /// Bytes added to the stride: block i begins at i·(stride + strideincrement).
    pub strideincrement: i64,
    /// Bytes from one copy to the next within a block.
    pub extent: i64,
}

impl Triangular {
    /// Returns the tree over `child`.
    ///
    /// # Errors
    /// See the module; no block may have fewer than 0 copies.
    pub fn of(&self, child: TypeTree) -> Result<TypeTree, Error> {
        let block = |i: u64| {
            let i = i64::try_from(i).ok()?;
            let length =
                i.checked_mul(self.blockincrement)?.checked_add(i64::try_from(self.blocklength).ok()?)?;
            let at = i.checked_mul(self.stride.checked_add(self.strideincrement)?)?;
            Some((length, at))
        };
        if self.count > TypeTree::FLATTEN_LIMIT {
            return Err(Error::TooLong { entries: self.count, limit: TypeTree::FLATTEN_LIMIT });
        }
        let overflow = Error::Overflow { node: "idxbuc" };
        let (shortest, _) = block(self.count.saturating_sub(1)).ok_or_else(|| overflow.clone())?;
        require(
            shortest >= 0,
            "blockincrement",
            self.blockincrement,
            "such that no block is shorter than 0",
        )?;
        let blocks = (0..self.count).map(block).collect::<Option<Vec<_>>>().ok_or(overflow)?;
        let (buckets, displacements): (Vec<_>, Vec<_>) =
            blocks.into_iter().map(|(length, at)| (length as u64, at)).unzip();
        checked(TypeTree::index_bucket(self.extent, buckets, displacements, child))
    }
}

fn require(
    holds: bool,
    argument: &'static str,
    value: impl Into<i128>,
    requirement: &'static str,
) -> Result<(), Error> {
    let (argument, requirement) = (argument.into(), requirement.into());
    if holds { Ok(()) } else { Err(Error::Argument { argument, value: value.into(), requirement }) }
}

/// Checks that the layout of a tree fits `i64`, and returns the tree.
fn checked(tree: TypeTree) -> Result<TypeTree, Error> {
    tree.measure().map(|_| tree)
}
