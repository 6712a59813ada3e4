//! The MPI libraries that are supported, and everything that differs between them. No other file of the
//! workspace asks which library it is.
//!
//! A new library is a new implementation of [`Library`] and a new name in [`all_libraries`].

use dtype_core::Packing;

/// The major and the minor version of an MPI library.
pub type Version = (u32, u32);

/// A kind of datatypes that a library is not known to pack as the standard says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Datatypes with a stride of −1 byte.
    Reversed,
    /// Datatypes with parts that have no data.
    Empty,
    /// Datatypes with complex numbers.
    Complex,
    /// Datatypes whose copies of a part reach into one another.
    Interleaved,
    /// Datatypes that are made by `MPI_Type_create_darray`.
    Darray,
    /// All datatypes: the library is unknown.
    Any,
}

/// The effect of a probe (`MPI_Mprobe`) on a receive (`MPI_Mrecv`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probing {
    /// Messages of any size arrive sooner.
    Faster,
    /// Long messages arrive about as soon.
    Equal,
    /// Long messages are copied once more.
    Slower,
}

/// An MPI library: its names, and the ways in which it differs from others. docs/mpi-faults.md has the
/// reasons.
pub trait Library {
    /// The name in the recorded prices (`dtype-engine/src/prices.csv`).
    const NAME: &'static str;

    /// The name for people.
    const TITLE: &'static str;

    /// The text before the version number in the answer of `MPI_Get_library_version`.
    const ANSWER: &'static str;

    /// The beginnings of the names of the library's own files: its parts, plugins and bindings.
    const FILES: &'static [&'static str];

    /// `true` if the library may write a message that is too long past the end of its buffer, unless the
    /// datatype of the receive has a gap.
    const WRITES_PAST_BUFFER: bool;

    /// `true` if messages of long blocks, which all ranks exchange at a time, are faster by datatypes than
    /// packed.
    const EXCHANGES_DATATYPES: bool;

    /// `true` if the library returns no error from `MPI_File_write_at_all` and its like when the storage is
    /// full, or from `MPI_File_read_at_all` when the file ends.
    const HIDES_FILE_ERRORS: bool;

    /// The longest path of a file, in bytes, if the library ends the program for longer ones.
    const LONGEST_PATH: Option<usize>;

    /// `true` if the library copies a struct without gaps as one block, and not value by value.
    const JOINS_STRUCTS: bool;

    /// The size in bytes of the largest value that may arrive cut in two, if the library has a limit.
    const LARGEST_CUT: Option<u64>;

    /// `true` if the statuses of `MPI_Isendrecv` and `MPI_Isendrecv_replace` tell how many bytes have
    /// arrived.
    const REPORTS_EXCHANGES: bool;

    /// `true` if `MPI_Allgather` needs equal counts on its two sides.
    const CONFUSES_COUNTS: bool;

    /// Returns `true` if persistent collective calls can be started again and again.
    fn has_persistent_collectives(version: Version) -> bool;

    /// Returns `true` if the library assumes that strides of complex numbers are multiples of their size. It
    /// then packs other bytes than the datatype has.
    fn tears_complex(version: Version) -> bool;

    /// Returns the kinds of datatypes that the library is not known to pack as the standard says.
    fn doubts(version: Version) -> &'static [Doubt];

    /// Returns the effect of a probe on a receive.
    fn probing(version: Version) -> Probing;

    /// Returns the way in which the library packs, as far as it decides which calls build a datatype.
    fn packing(version: Version) -> Packing;

    /// Returns `true` if views of files with an hindexed of several copies of a resized datatype are misread.
    fn misreads_buckets(version: Version) -> bool;
}

/// Calls a macro with the types of all libraries.
#[macro_export]
macro_rules! all_libraries {
    ($macro:ident!) => {
        $macro! { StandardAbi OpenMpi Mpich IntelMpi }
    };
}

/// Open MPI, from version 4 on.
pub struct OpenMpi;

impl Library for OpenMpi {
    const NAME: &'static str = "openmpi";
    const TITLE: &'static str = "Open MPI";
    const ANSWER: &'static str = "Open MPI v";
    const FILES: &'static [&'static str] = &["libmpi", "libopen-", "libopen_mpi", "mca_", "libmca_"];
    const WRITES_PAST_BUFFER: bool = true;
    const EXCHANGES_DATATYPES: bool = true;
    const HIDES_FILE_ERRORS: bool = true;
    const LONGEST_PATH: Option<usize> = Some(240);
    const JOINS_STRUCTS: bool = true;
    const LARGEST_CUT: Option<u64> = Some(16);
    const REPORTS_EXCHANGES: bool = true;
    const CONFUSES_COUNTS: bool = false;

    fn has_persistent_collectives((major, _): Version) -> bool {
        major >= 5
    }

    fn tears_complex(version: Version) -> bool {
        // An unknown relative may do so, too.
        matches!(version, (0 | 5, 0))
    }

    fn doubts(version: Version) -> &'static [Doubt] {
        let all = &[Doubt::Reversed, Doubt::Empty, Doubt::Complex];
        if Self::tears_complex(version) { all } else { &all[..2] }
    }

    fn probing(_: Version) -> Probing {
        Probing::Equal
    }

    /// All descriptions of a layout become one list of blocks and loops over them.
    fn packing(_: Version) -> Packing {
        Packing::OPEN_MPI
    }

    fn misreads_buckets(_: Version) -> bool {
        false
    }
}

/// MPICH, from version 4 on, and libraries with its ABI.
pub struct Mpich;

impl Library for Mpich {
    const NAME: &'static str = "mpich";
    const TITLE: &'static str = "MPICH";
    const ANSWER: &'static str = "MPICH Version:";
    const FILES: &'static [&'static str] = &["libmpi", "libpmpi"];
    const WRITES_PAST_BUFFER: bool = false;
    const EXCHANGES_DATATYPES: bool = false;
    const HIDES_FILE_ERRORS: bool = false;
    const LONGEST_PATH: Option<usize> = None;
    const JOINS_STRUCTS: bool = false;
    const LARGEST_CUT: Option<u64> = None;
    const REPORTS_EXCHANGES: bool = false;
    const CONFUSES_COUNTS: bool = false;

    /// In MPICH 4.0, persistent collective calls can be started once, if at all.
    fn has_persistent_collectives(version: Version) -> bool {
        version >= (4, 1)
    }

    fn tears_complex(_: Version) -> bool {
        false
    }

    fn doubts((major, _): Version) -> &'static [Doubt] {
        if major >= 4 { &[] } else { &[Doubt::Darray, Doubt::Interleaved] }
    }

    fn probing((major, _): Version) -> Probing {
        if major == 5 { Probing::Faster } else { Probing::Equal }
    }

    /// From version 4 on, yaksa packs. From version 4.3 on, receivers read the memory of senders.
    fn packing(version: Version) -> Packing {
        match version {
            (0..4, _) => Packing::default(),
            (4, 0..3) => Packing::MPICH,
            _ => Packing::MPICH_4_3,
        }
    }

    fn misreads_buckets((major, _): Version) -> bool {
        major < 5
    }
}

/// Intel MPI, from version 2021 on. It descends from MPICH, and has the same handles.
pub struct IntelMpi;

impl Library for IntelMpi {
    const NAME: &'static str = "intel";
    const TITLE: &'static str = "Intel MPI";
    const ANSWER: &'static str = "Intel(R) MPI Library";
    const FILES: &'static [&'static str] = Mpich::FILES;
    const WRITES_PAST_BUFFER: bool = false;
    const EXCHANGES_DATATYPES: bool = false;
    const HIDES_FILE_ERRORS: bool = true;
    const LONGEST_PATH: Option<usize> = Some(240);
    const JOINS_STRUCTS: bool = false;
    const LARGEST_CUT: Option<u64> = None;
    const REPORTS_EXCHANGES: bool = false;
    const CONFUSES_COUNTS: bool = true;

    fn has_persistent_collectives(_: Version) -> bool {
        true
    }

    fn tears_complex(_: Version) -> bool {
        false
    }

    /// Block-cyclic dimensions have the values of other places, as in MPICH before version 4.
    fn doubts(_: Version) -> &'static [Doubt] {
        &[Doubt::Darray, Doubt::Interleaved]
    }

    fn probing(_: Version) -> Probing {
        Probing::Slower
    }

    fn packing(_: Version) -> Packing {
        Packing::INTEL_MPI
    }

    fn misreads_buckets(_: Version) -> bool {
        false
    }
}

/// The ABI of MPI 5 (chapter 20), with any library that has it. The library is not known when this crate is
/// compiled.
pub struct StandardAbi;

impl Library for StandardAbi {
    const NAME: &'static str = "abi";
    const TITLE: &'static str = "the standard's ABI";
    /// The libraries answer with their own names.
    const ANSWER: &'static str = "the standard's ABI ";
    const FILES: &'static [&'static str] =
        &["libmpi", "libpmpi", "libopen-", "libopen_mpi", "mca_", "libmca_"];
    const WRITES_PAST_BUFFER: bool = true;
    const EXCHANGES_DATATYPES: bool = false;
    const HIDES_FILE_ERRORS: bool = true;
    const LONGEST_PATH: Option<usize> = Some(240);
    const JOINS_STRUCTS: bool = false;
    const LARGEST_CUT: Option<u64> = Some(16);
    const REPORTS_EXCHANGES: bool = false;
    const CONFUSES_COUNTS: bool = true;

    fn has_persistent_collectives(_: Version) -> bool {
        true
    }

    fn tears_complex(_: Version) -> bool {
        false
    }

    fn doubts(_: Version) -> &'static [Doubt] {
        &[Doubt::Any]
    }

    fn probing(_: Version) -> Probing {
        Probing::Equal
    }

    fn packing(_: Version) -> Packing {
        Packing::default()
    }

    fn misreads_buckets(_: Version) -> bool {
        true
    }
}
