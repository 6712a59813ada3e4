//! The MPI library under `dtype-runtime` and `dtype-interpose`: its lifetime, its errors, its constructors,
//! and the ways in which libraries differ. This crate does not know types and layouts.
//!
//! - `library`: the supported libraries, behind the trait [`Library`]; [`Current`] is the one that this crate
//!   is built for;
//! - `init_finalize`: whether MPI may be called, and the cleanup at its end; `environment`: the thread level
//!   and the communicators of the process; `errors`: MPI errors as values;
//! - `construct`: the calls of a constructor program; `handle`: the datatypes built so far, each once;
//! - `envelope`: the outermost constructor of a datatype; `attribute`: values that are kept on datatypes;
//! - `truncation_guard`: a gap in a receive buffer;
//! - `shim`: functions in C, because only a C compiler knows the constants of `mpi.h`.
//!
//! # Safety
//! Functions that take handles are `unsafe` on two conditions: 1. MPI is usable, as [`ready`] checks. 2. The
//! handles are live.
#![deny(missing_docs)]

mod attribute;
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

pub use attribute::{Attribute, OnDatatype};
pub use construct::{has_large_counts, predefined, size};
pub use envelope::Envelope;
pub use error::Error;
pub use errors::{
    SUCCESS, called, checked, is_truncation, return_errors, returning_errors, true_code, without_communicator,
};
pub use handle::{Built, Construct, Handle, Slot};
pub use init_finalize::{
    at_end, greatest_tag, in_session, is_between_groups, no_copy, packed_datatype, ready, ready_on,
};
pub use library::{Fortran, Library, Mpich, OpenMpi, Sign, StandardAbi, Version};
pub use truncation_guard::with_gap;

/// The library that this crate is built for.
#[cfg(library = "openmpi")]
pub type Current = OpenMpi;
/// The library that this crate is built for.
#[cfg(library = "mpich")]
pub type Current = Mpich;
/// The library that this crate is built for.
#[cfg(library = "abi")]
pub type Current = StandardAbi;

/// The version of the library that this crate is built for.
pub const VERSION: Version = (number(env!("DTYPE_MPI_MAJOR")), number(env!("DTYPE_MPI_MINOR")));

/// Returns the number that a text of decimal digits writes.
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

/// The beginnings of the names of the launchers' processes that start ranks.
pub const LAUNCHERS: [&str; 4] = ["hydra_", "mpiexec", "orted", "prte"];

/// Returns the name of a library in tables and its major version, such as `mpich-4`, from the answer of
/// `MPI_Get_library_version`. Returns `None` if no supported library answers so.
pub fn name_in_tables(answer: &str) -> Option<String> {
    macro_rules! answers {
        ($($library:ident)*) => { [$(($library::NAME, $library::ANSWER)),*] };
    }
    all_libraries!(answers!).into_iter().find_map(|(name, front)| {
        let (_, number) = answer.split_once(front)?;
        let major: String = number.trim_start().chars().take_while(char::is_ascii_digit).collect();
        Some(format!("{name}-{major}"))
    })
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
    use super::name_in_tables;

    #[test]
    fn libraries_are_known_by_what_they_say_of_themselves() {
        let name = |answer| name_in_tables(answer).unwrap();
        assert_eq!(name("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), "openmpi-4");
        assert_eq!(name("Open MPI v5.0.11, package: Open MPI"), "openmpi-5");
        assert_eq!(name("MPICH Version:      4.0.2\nMPICH Release date: 2022"), "mpich-4");
        assert_eq!(name_in_tables("Some MPI v5.0"), None);
    }
}
