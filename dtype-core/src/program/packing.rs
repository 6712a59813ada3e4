//! Facts of MPI libraries that decide which calls build a datatype.

/// The largest number of blocks that MPICH reads: what Linux takes in one call (`IOV_MAX`).
const MOST_READ: u64 = 1024;

/// The mean length in bytes of the longest blocks that are faster packed than read, as measured on MPICH
/// 5.0.2.
const LONGEST_PACKED: u64 = 4 << 10;

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
    /// The size in bytes from which on the receiver of a message reads its blocks one at a time from the
    /// sender's memory, where these are few and the description of the datatype is short enough to be sent
    /// ahead.
    pub reads_from: Option<u64>,
}

impl Packing {
    /// MPICH from version 4 on.
    pub const MPICH: Self = Self { fragment: Some(8 << 10), ..Self::PLAIN };

    /// MPICH from version 4.3 on (`MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD`).
    pub const MPICH_4_3: Self = Self { reads_from: Some(8 << 10), ..Self::MPICH };

    /// Intel MPI.
    pub const INTEL_MPI: Self = Self { avoids_buckets: true, ..Self::PLAIN };

    /// A library of which nothing is known. It is the default.
    const PLAIN: Self = Self { fragment: None, avoids_buckets: false, reads_from: None };

    /// Returns what decides the calls for a datatype of `size` bytes of data. One of less than a fragment is
    /// packed at once, and sent at once.
    #[must_use]
    pub fn for_size(self, size: u64) -> Self {
        let reached = |least: Option<u64>| least.filter(|least| size >= *least);
        Self { fragment: reached(self.fragment), reads_from: reached(self.reads_from), ..self }
    }

    /// Returns `true` if the receiver would read `blocks` blocks of `size` bytes in all one at a time, and if
    /// that costs more than to pack them.
    pub(super) fn reads_one_by_one(self, blocks: u64, size: u64) -> bool {
        self.reads_from.is_some() && (2..=MOST_READ).contains(&blocks) && size / blocks <= LONGEST_PACKED
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
