//! Facts of MPI libraries that decide which calls build a datatype.

use core::ops::Range;

use crate::Measure;

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
    /// The effect of an hindexed of several copies of a resized datatype.
    pub buckets: Buckets,
    /// The size in bytes from which on the receiver of a message reads its blocks one at a time from the
    /// sender's memory, where these are few and the description of the datatype is short enough to be sent
    /// ahead.
    pub reads_from: Option<u64>,
    /// The structs whose copies are written out as one longer struct, because the library takes longer for
    /// each struct that it visits than for its members.
    pub written_out: WrittenOut,
    /// `true` if a struct of copies of a datatype is faster than a list of them, unless the datatype is
    /// strided.
    pub avoids_lists: bool,
    /// The size in bytes from which on the blocks of an hvector are faster as a contiguous datatype each.
    pub contiguous_from: Option<u64>,
}

/// The effect of an hindexed of several copies of a resized datatype.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Buckets {
    /// None: it is a datatype like any other.
    #[default]
    Usual,
    /// It is slow, unless the copies adjoin.
    Slow,
    /// The library misreads it.
    Misread,
}

/// The structs whose copies are written out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WrittenOut {
    /// No structs.
    #[default]
    Nothing,
    /// Structs with gaps between their members. The others are copied as blocks.
    Gaps,
    /// Structs with gaps between their members, or behind the last one up to the extent.
    Padded,
    /// All structs, and copies of lists.
    All,
}

impl WrittenOut {
    /// The largest number of members of a struct that is written out.
    pub(super) const MOST: u64 = 128;

    /// Returns `true` if the copies of a struct are written out.
    pub(super) fn includes(self, measure: &Measure) -> bool {
        let size = Ok(measure.size);
        match self {
            Self::Nothing => false,
            Self::Gaps => u64::try_from(measure.true_extent()) != size,
            Self::Padded => u64::try_from(measure.extent()) != size,
            Self::All => true,
        }
    }
}

impl Packing {
    /// MPICH, versions 4.0 to 4.2.
    pub const MPICH: Self = Self { fragment: Some(8 << 10), written_out: WrittenOut::Padded, ..Self::PLAIN };

    /// MPICH from version 4.3 on (`MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD`).
    pub const MPICH_4_3: Self = Self { reads_from: Some(8 << 10), ..Self::MPICH };

    /// Open MPI.
    pub const OPEN_MPI: Self = Self { written_out: WrittenOut::Gaps, ..Self::PLAIN };

    /// Intel MPI.
    pub const INTEL_MPI: Self = Self {
        buckets: Buckets::Slow,
        written_out: WrittenOut::All,
        avoids_lists: true,
        contiguous_from: Some(1 << 10),
        ..Self::PLAIN
    };

    /// A library of which nothing is known. It is the default.
    const PLAIN: Self = Self {
        fragment: None,
        buckets: Buckets::Usual,
        reads_from: None,
        written_out: WrittenOut::Nothing,
        avoids_lists: false,
        contiguous_from: None,
    };

    /// Returns what decides the calls for a datatype of `size` bytes of data. One of less than a fragment is
    /// packed at once, and sent at once.
    #[must_use]
    pub fn for_size(self, size: u64) -> Self {
        let reached = |least: Option<u64>| least.filter(|least| size >= *least);
        Self { fragment: reached(self.fragment), reads_from: reached(self.reads_from), ..self }
    }

    /// Returns the sizes in bytes of messages that the receiver reads block by block, if their blocks of
    /// `block` bytes on average are faster packed.
    ///
    /// ```
    /// use dtype_core::Packing;
    /// assert_eq!(Packing::MPICH_4_3.sizes_read(32), 8192..32_769);
    /// assert!(Packing::MPICH_4_3.sizes_read(5000).is_empty());
    /// assert!(Packing::MPICH.sizes_read(32).is_empty());
    /// ```
    pub fn sizes_read(self, block: u64) -> Range<u64> {
        let least = self.reads_from.filter(|_| block <= LONGEST_PACKED);
        least.map_or(0..0, |least| least..MOST_READ.saturating_mul(block).saturating_add(1))
    }

    // The ratios to a fragment below were measured on MPICH 4.0.2 and 5.0.2. Its loops over short blocks take
    // some 1.3 ns an element, and the calls for other blocks 50 ns a block.

    /// Returns `true` if the library walks over `count` of these blocks, and they are so many and so short
    /// that other calls are faster.
    pub(super) fn walks_over(self, Block { bytes, elements }: Block, count: u64) -> bool {
        let longest = self.fragment.map_or(0, |fragment| fragment / 16);
        bytes <= longest && elements <= 96 && bytes.saturating_mul(count) > 4 * longest
    }

    /// Returns the number of blocks in each part of a list of `count` of these blocks, if the list is faster
    /// in parts.
    pub(super) fn part_of_list(self, Block { bytes, elements }: Block, count: u64) -> Option<usize> {
        let longest = self.fragment? / 2;
        let part = self.part_of(bytes.saturating_mul(count), count)?;
        let is_faster =
            bytes <= longest / 64 && elements <= 32 && bytes.saturating_mul(part as u64) <= longest;
        is_faster.then_some(part)
    }

    /// Returns the number of blocks in each part of a list of `count` blocks of different lengths, which are
    /// these together, if the list is faster in parts.
    pub(super) fn part_of_lengths(self, Block { bytes, elements }: Block, count: u64) -> Option<usize> {
        let is_faster = elements / count.max(1) <= 16 || count > 4096;
        self.part_of(bytes, count).filter(|_| is_faster)
    }

    /// Returns the number of blocks in each part of a list of `count` blocks of `bytes` bytes in all, if the
    /// list is long enough. There are at most 64 parts, each of which is a datatype: from the 512th datatype
    /// of a program on, `MPI_Pack` of MPICH 4.0.2 leaves bytes out.
    fn part_of(self, bytes: u64, count: u64) -> Option<usize> {
        let part = count.div_ceil(64).max(16);
        (bytes >= self.fragment? && count > 2 * part).then_some(part as usize)
    }
}

/// The size of a block.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub bytes: u64,
    /// The number of its values, if they are contiguous and could be copied at once; else 0.
    pub elements: u64,
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
