//! The MPI library under `dtype-runtime` and `dtype-interpose`: its lifetime, its errors, its constructors,
//! and the ways in which libraries differ. This crate knows no Rust types, and knows layouts only as trees.
//!
//! - `library`: the supported libraries, behind the trait [`Library`]; [`Current`] is the one that this crate
//!   is built for;
//! - `usable`: the proof that MPI may be called; `calls`: the functions of MPI, which take it;
//! - `init_finalize`: whether MPI may be called, and the cleanup at its end; `environment`: the thread level
//!   and the communicators of the process; `errors`: MPI errors as values;
//! - `construct`: the calls of a constructor program; `handle`: the datatypes built so far, each once;
//! - `envelope`: the outermost constructor of a datatype; `attribute`: values that are kept on datatypes;
//! - `truncation_guard`: a gap in a receive buffer;
//! - `shim`: functions in C, because only a C compiler knows the constants of `mpi.h`.
//!
//! Each function that calls MPI takes the proof that MPI is usable ([`Usable`]), which [`ready`] gives.
#![deny(missing_docs)]

use std::sync::OnceLock;

mod attribute;
mod calls;
mod construct;
mod envelope;
mod environment;
mod error;
mod errors;
mod handle;
mod init_finalize;
mod library;
pub mod shim;
mod truncation_guard;
mod usable;

pub use attribute::{Attribute, OnDatatype};
pub use construct::{construct, has_large_counts, predefined, size};
pub use envelope::Envelope;
pub use error::Error;
pub use errors::{
    SUCCESS, called, checked, class_of, is_truncation, return_errors, returning_errors, true_code,
    without_communicator,
};
pub use handle::{Built, Handle, Slot};
pub use init_finalize::{
    at_end, greatest_tag, in_session, is_between_groups, no_copy, packed_datatype, ready,
};
pub use library::{Doubt, Fortran, IntelMpi, Library, Mpich, OpenMpi, Sign, StandardAbi, Version};
pub use truncation_guard::with_gap;
pub use usable::Usable;

/// The library that this crate is built for.
#[cfg(library = "openmpi")]
pub type Current = OpenMpi;
/// The library that this crate is built for.
#[cfg(library = "mpich")]
pub type Current = Mpich;
/// The library that this crate is built for.
#[cfg(library = "intel")]
pub type Current = IntelMpi;
/// The library that this crate is built for.
#[cfg(library = "abi")]
pub type Current = StandardAbi;

/// The version of the library that this crate is built for.
pub const VERSION: Version = (number(env!("DTYPE_MPI_MAJOR")), number(env!("DTYPE_MPI_MINOR")));

/// Parses a text of decimal digits.
const fn number(text: &str) -> u32 {
    let (mut value, mut i) = (0, 0);
    while i < text.len() {
        value = value * 10 + (text.as_bytes()[i] - b'0') as u32;
        i += 1;
    }
    value
}

/// The environment variables in which launchers pass a process its rank in the job. Any launcher may start a
/// program of any library.
pub const RANK_VARIABLES: [&str; 4] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];

/// The environment variables in which launchers pass a process the number of ranks in the job.
pub const SIZE_VARIABLES: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];

/// The beginnings of the names of the launchers' processes that start ranks.
pub const LAUNCHERS: [&str; 4] = ["hydra_", "mpiexec", "orted", "prte"];

/// A library as it is recognized in a running process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// The name in tables of measurements.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// The major version.
    pub major: u32,
    /// `true` if a receive is faster when the message is probed for first.
    pub is_faster_probed: bool,
    /// The kinds of datatypes that the library is not known to pack as the standard says.
    pub doubts: &'static [Doubt],
}

impl Running {
    /// Returns the library by its answer to `MPI_Get_library_version`. If none of the supported libraries
    /// answers so, the running library has the ABI of [`Current`], and is treated as that library.
    pub fn of(answer: &str) -> Self {
        let unknown = || Self { doubts: &[Doubt::Any], ..Self::at::<Current>(VERSION) };
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

    fn at<L: Library>(version: Version) -> Self {
        let is_faster_probed = L::is_faster_probed(version);
        Self {
            name: L::NAME,
            title: L::TITLE,
            major: version.0,
            is_faster_probed,
            doubts: L::doubts(version),
        }
    }
}

/// Returns the MPI library that the program runs with.
#[inline]
pub fn running() -> Running {
    static RUNNING: OnceLock<Running> = OnceLock::new();
    *RUNNING.get_or_init(|| Running::of(&::mpi::environment::library_version().unwrap_or_default()))
}

/// Returns the titles of the supported libraries, each with the sign by which it is recognized.
pub fn signs() -> impl Iterator<Item = (&'static str, Sign)> {
    macro_rules! signs {
        ($($library:ident)*) => { [$(($library::TITLE, $library::SIGN)),*] };
    }
    all_libraries!(signs!).into_iter()
}

#[cfg(test)]
mod tests {
    use super::{Current, Doubt, Library, Running, VERSION};

    #[test]
    fn libraries_are_known_by_what_they_say_of_themselves() {
        let known = |answer| {
            let Running { name, major, is_faster_probed, .. } = Running::of(answer);
            (name, major, is_faster_probed)
        };
        let open_mpi = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4";
        assert_eq!(known(open_mpi), ("openmpi", 4, false));
        assert_eq!(known("Open MPI v5.0.11, package: Open MPI"), ("openmpi", 5, false));
        assert_eq!(known("MPICH Version:      4.0.2\nMPICH Release date: 2022"), ("mpich", 4, false));
        assert_eq!(known("MPICH Version:\t5.0.2"), ("mpich", 5, true));
        assert_eq!(known("Intel(R) MPI Library 2021.19 for Linux* OS\n"), ("intel", 2021, false));
        let other = Running::of("CRAY MPICH version 8.1.29");
        assert_eq!((other.name, other.major, other.doubts), (Current::NAME, VERSION.0, &[Doubt::Any][..]));
    }

    #[test]
    fn a_library_is_doubted_where_a_fault_is_known() {
        let doubts = |answer| Running::of(answer).doubts;
        let of_mpich_3 = [Doubt::Darray, Doubt::Interleaved];
        let of_open_mpi_5 = [Doubt::Reversed, Doubt::Empty, Doubt::Complex];
        assert_eq!(doubts("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), &of_open_mpi_5[..2]);
        assert_eq!(doubts("Open MPI v5.0.11, package: Open MPI"), of_open_mpi_5);
        assert_eq!(doubts("MPICH Version:      4.0.2\n"), []);
        assert_eq!(doubts("MPICH Version:      3.4.3\n"), of_mpich_3);
        assert_eq!(doubts("Intel(R) MPI Library 2021.19 for Linux* OS\n"), of_mpich_3);
        assert_eq!(doubts("another library"), [Doubt::Any]);
    }
}
