//! The MPI library that the program runs with.

use std::sync::OnceLock;

use ::mpi::ffi;
use dtype_core::{Buckets, Packing, Purpose};

use crate::{Doubt, IntelMpi, Library, Mpich, OpenMpi, Probing, StandardAbi, Version, all_libraries, number};

/// The binary interfaces of MPI libraries: the values of handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// The standard's ABI (MPI 5.0 chapter 20).
    Abi,
    /// MPICH and libraries with its handles.
    Mpich,
    /// Open MPI.
    OpenMpi,
}

impl Family {
    /// Returns the interface of the library that the program runs with.
    #[inline]
    pub fn running() -> Self {
        // SAFETY: a constant of the library.
        Self::of(number(unsafe { ffi::RSMPI_COMM_WORLD }))
    }

    /// Returns the interface in which `MPI_COMM_WORLD` has this number. In Open MPI, it is an address.
    fn of(world: usize) -> Self {
        match world {
            0x101 => Self::Abi,
            0x4400_0000 => Self::Mpich,
            _ => Self::OpenMpi,
        }
    }
}

/// The library that the program runs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "a table of facts")]
pub struct Running {
    /// The name in the recorded prices (`dtype-engine/src/prices.csv`).
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// The version; (0, 0) if it is not known.
    pub version: Version,
    /// See [`Library::FILES`].
    pub files: &'static [&'static str],
    /// The columns of `constants.txt` with its constants, if it has the handles of MPICH: first those that
    /// older libraries lack.
    pub(crate) columns: &'static [&'static str],
    /// See [`Library::probing`].
    pub probing: Probing,
    /// `true` if strides of complex numbers are taken for multiples of their size
    /// ([`Library::tears_complex`]).
    pub(crate) tears_complex: bool,
    /// See [`Library::packing`].
    pub packing: Packing,
    /// See [`Library::misreads_buckets`].
    misreads_buckets: bool,
    /// The kinds of datatypes that the library is not known to pack as the standard says.
    pub doubts: &'static [Doubt],
    /// See [`Library::WRITES_PAST_BUFFER`].
    pub writes_past_buffer: bool,
    /// See [`Library::EXCHANGES_DATATYPES`].
    pub exchanges_datatypes: bool,
    /// See [`Library::HIDES_FILE_ERRORS`].
    pub hides_file_errors: bool,
    /// See [`Library::LONGEST_PATH`].
    pub longest_path: Option<usize>,
    /// See [`Library::JOINS_STRUCTS`].
    pub joins_structs: bool,
    /// See [`Library::LARGEST_CUT`].
    pub largest_cut: Option<u64>,
    /// See [`Library::REPORTS_EXCHANGES`].
    pub reports_exchanges: bool,
    /// See [`Library::CONFUSES_COUNTS`].
    pub confuses_counts: bool,
    /// See [`Library::has_persistent_collectives`].
    pub has_persistent_collectives: bool,
}

impl Running {
    /// Returns the library by its answer to `MPI_Get_library_version`. If none of the supported libraries
    /// answers so, it is treated as the library that this binary interface is named after, of an unknown
    /// version.
    pub fn of(answer: &str, family: Family) -> Self {
        let unknown = || {
            let like = match family {
                Family::Abi => Self::at::<StandardAbi>,
                Family::Mpich => Self::at::<Mpich>,
                Family::OpenMpi => Self::at::<OpenMpi>,
            };
            Self { doubts: &[Doubt::Any], ..like((0, 0)) }
        };
        Self::recognized(answer).map_or_else(unknown, |(library, _)| library)
    }

    /// Returns the library and the text of its version, or `None` if it is none of the supported ones.
    pub fn recognized(answer: &str) -> Option<(Self, &str)> {
        fn answered<L: Library>(answer: &str) -> Option<(Running, &str)> {
            let (_, version) = answer.split_once(L::ANSWER)?;
            let text = version.trim_start().split([',', ' ', '\t', '\n']).next()?;
            let mut numbers = text.split(|c: char| !c.is_ascii_digit());
            let [major, minor] = [(); 2].map(|()| numbers.next().and_then(|number| number.parse().ok()));
            Some((Running::at::<L>((major?, minor.unwrap_or(0))), text))
        }
        macro_rules! answered {
            ($($library:ident)*) => { [$(answered::<$library>(answer)),*] };
        }
        all_libraries!(answered!).into_iter().flatten().next()
    }

    /// Returns what decides which calls build a datatype for a purpose.
    pub(crate) fn packing_for(&self, purpose: Purpose) -> Packing {
        let is_misread = purpose == Purpose::Files && self.misreads_buckets;
        Packing {
            buckets: if is_misread { Buckets::Misread } else { self.packing.buckets },
            reads_from: self.packing.reads_from.filter(|_| purpose != Purpose::Files),
            ..self.packing
        }
    }

    fn at<L: Library>(version: Version) -> Self {
        Self {
            name: L::NAME,
            title: L::TITLE,
            version,
            files: L::FILES,
            columns: match (L::NAME, version) {
                (Mpich::NAME, (5.., _)) => &["mpich5", "mpich"],
                (IntelMpi::NAME, version) if version >= (2021, 19) => &["intel", "mpich"],
                _ => &["mpich"],
            },
            probing: L::probing(version),
            tears_complex: L::tears_complex(version),
            packing: L::packing(version),
            misreads_buckets: L::misreads_buckets(version),
            doubts: L::doubts(version),
            writes_past_buffer: L::WRITES_PAST_BUFFER,
            exchanges_datatypes: L::EXCHANGES_DATATYPES,
            hides_file_errors: L::HIDES_FILE_ERRORS,
            longest_path: L::LONGEST_PATH,
            joins_structs: L::JOINS_STRUCTS,
            largest_cut: L::LARGEST_CUT,
            reports_exchanges: L::REPORTS_EXCHANGES,
            confuses_counts: L::CONFUSES_COUNTS,
            has_persistent_collectives: L::has_persistent_collectives(version),
        }
    }
}

/// Returns the MPI library that the program runs with.
#[inline]
pub fn running() -> &'static Running {
    static RUNNING: OnceLock<Running> = OnceLock::new();
    RUNNING.get_or_init(|| {
        Running::of(&::mpi::environment::library_version().unwrap_or_default(), Family::running())
    })
}

#[cfg(test)]
mod tests {
    use super::{Doubt, Family, Probing, Running};

    #[test]
    fn libraries_are_known_by_what_they_say_of_themselves() {
        let known = |answer| {
            let Running { name, version, probing, .. } = Running::of(answer, Family::Mpich);
            (name, version, probing)
        };
        let open_mpi = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4";
        assert_eq!(known(open_mpi), ("openmpi", (4, 1), Probing::Equal));
        assert_eq!(known("Open MPI v5.0.11, package: Open MPI"), ("openmpi", (5, 0), Probing::Equal));
        assert_eq!(
            known("MPICH Version:      4.0.2\nMPICH Release date: 2022"),
            ("mpich", (4, 0), Probing::Equal)
        );
        assert_eq!(known("MPICH Version:\t5.0.2"), ("mpich", (5, 0), Probing::Faster));
        assert_eq!(
            known("Intel(R) MPI Library 2021.19 for Linux* OS\n"),
            ("intel", (2021, 19), Probing::Slower)
        );
        for (family, name) in [(Family::Abi, "abi"), (Family::Mpich, "mpich"), (Family::OpenMpi, "openmpi")] {
            let other = Running::of("CRAY MPICH version 8.1.29", family);
            assert_eq!((other.name, other.version, other.doubts), (name, (0, 0), &[Doubt::Any][..]));
            assert_eq!(other.tears_complex, family == Family::OpenMpi, "the worst is assumed");
        }
    }

    #[test]
    fn a_library_is_doubted_where_a_fault_is_known() {
        let doubts = |answer| Running::of(answer, Family::Mpich).doubts;
        let of_mpich_3 = [Doubt::Darray, Doubt::Interleaved];
        let of_open_mpi_5 = [Doubt::Reversed, Doubt::Empty, Doubt::Complex];
        assert_eq!(doubts("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), &of_open_mpi_5[..2]);
        assert_eq!(doubts("Open MPI v5.0.11, package: Open MPI"), of_open_mpi_5);
        assert_eq!(doubts("MPICH Version:      4.0.2\n"), []);
        assert_eq!(doubts("MPICH Version:      3.4.3\n"), of_mpich_3);
        assert_eq!(doubts("Intel(R) MPI Library 2021.19 for Linux* OS\n"), of_mpich_3);
        assert_eq!(doubts("another library"), [Doubt::Any]);
    }

    /// The preloaded library for MPICH also runs with Intel MPI.
    #[test]
    fn libraries_with_the_same_handles_differ() {
        let confuses_counts = |answer| Running::of(answer, Family::Mpich).confuses_counts;
        assert!(confuses_counts("Intel(R) MPI Library 2021.19 for Linux* OS\n"));
        assert!(!confuses_counts("MPICH Version:      5.0.2\n"));
    }

    #[test]
    fn families_are_known_by_their_world() {
        let found = [0x101, 0x4400_0000, 0x7f00_1234_5678].map(Family::of);
        assert_eq!(found, [Family::Abi, Family::Mpich, Family::OpenMpi]);
    }
}
