//! Facts of MPI libraries that decide which calls build a datatype.

/// The way in which an MPI library packs, as far as it decides which calls build a datatype that is fast.
/// docs/search.md has measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Packing {
    /// The size in bytes of the pieces of a message, if the library looks for the place where a piece begins
    /// by walking over the blocks of an hvector or a list, and copies the blocks at both ends of a piece one
    /// at a time. Whole copies in a contiguous datatype, and whole members of a struct, are found at once.
    pub fragment: Option<u64>,
    /// `true` if an hindexed of several copies of a resized datatype is slow, or is misread.
    pub avoids_buckets: bool,
}

impl Packing {
    /// MPICH from version 4 on.
    pub const MPICH: Self = Self { fragment: Some(8 << 10), avoids_buckets: false };

    /// Intel MPI.
    pub const INTEL_MPI: Self = Self { fragment: None, avoids_buckets: true };

    /// Returns what decides the calls for a datatype of `size` bytes of data. One of less than a fragment is
    /// packed at once.
    #[must_use]
    pub fn for_size(self, size: u64) -> Self {
        Self { fragment: self.fragment.filter(|fragment| size >= *fragment), ..self }
    }

    // The ratios to a fragment below were measured on MPICH 4.0.2 and 5.0.2.

    /// Returns `true` if the library walks over blocks of this many bytes, and `count` of them are so long
    /// that the walk costs more than other calls.
    pub(super) fn walks_over(self, bytes: u64, count: u64) -> bool {
        let longest = self.fragment.map_or(0, |fragment| fragment / 16);
        bytes <= longest && bytes.saturating_mul(count) > longest
    }

    /// Returns the number of blocks in each part of a list of `count` blocks of `bytes` bytes each, if the
    /// list is faster in parts.
    pub(super) fn part_of_list(self, bytes: u64, count: u64) -> Option<usize> {
        let longest = self.fragment? / 2;
        let part = self.part_of_lengths(count)?;
        let is_faster = bytes <= longest / 64 && bytes.saturating_mul(part as u64) <= longest;
        is_faster.then_some(part)
    }

    /// Returns the number of blocks in each part of a list of `count` blocks of different lengths, if the
    /// list is faster in parts. There are at most 64 parts, each of which is a datatype: from the 512th
    /// datatype of a program on, `MPI_Pack` of MPICH 4.0.2 leaves bytes out.
    pub(super) fn part_of_lengths(self, count: u64) -> Option<usize> {
        let part = count.div_ceil(64).max(16);
        (self.fragment.is_some() && count > 2 * part).then_some(part as usize)
    }
}

/// The purpose of an MPI datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Messages, including copies that MPI itself makes. Complex numbers that the library would copy wrongly
    /// are built as two numbers each.
    Messages,
    /// Views of files.
    Files,
    /// Any purpose, including reductions in windows: the datatype consists of the predefined datatypes in its
    /// tree.
    Any,
}
