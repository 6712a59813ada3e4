//! The MPI library under `dtype-runtime` and `dtype-interpose`: its lifetime, its errors, its constructors,
//! and the ways in which libraries differ. This crate knows no Rust types, and knows layouts only as trees.
//!
//! - `library`: the supported libraries, behind the trait [`Library`]; `running`: the one that the program
//!   runs with; `constants`: the constants of MPI in it; `large`: its functions with large counts;
//! - `usable`: the proof that MPI may be called; `calls`: the functions of MPI, which take it;
//! - `init_finalize`: whether MPI may be called, and the cleanup at its end; `environment`: the thread level
//!   and the communicators of the process; `errors`: MPI errors as values;
//! - `number`: handles as numbers; `construct`: the calls of a constructor program; `handle`: the datatypes
//!   built so far, each once;
//! - `envelope`: the outermost constructor of a datatype; `decode`: all of them, as a tree;
//! - `attribute`: values that are kept on datatypes;
//! - `truncation_guard`: a gap in a receive buffer.
//!
//! Each function that calls MPI takes the proof that MPI is usable ([`Usable`]), which [`ready`] gives.
#![deny(missing_docs)]

mod attribute;
mod calls;
pub mod constants;
mod construct;
mod decode;
mod envelope;
mod environment;
mod error;
mod errors;
mod handle;
mod init_finalize;
mod large;
mod library;
mod number;
mod running;
mod truncation_guard;
mod usable;

pub use attribute::{Attribute, OnDatatype};
pub use constants::predefined;
pub use construct::{construct, make, size};
pub use decode::{Contents, Decoded, constructors};
pub use envelope::{Combiner, Envelope};
pub use error::Error;
pub use errors::{
    SUCCESS, called, checked, class_of, is_truncation, return_errors, returning_errors, told, true_code,
    without_communicator,
};
pub use handle::{Built, Committed, Handle, Slot};
pub use init_finalize::{
    at_end, greatest_tag, in_session, is_between_groups, no_copy, packed_datatype, ready,
};
pub use library::{Doubt, IntelMpi, Library, Mpich, OpenMpi, Probing, StandardAbi, Version};
pub use number::number;
pub use running::{Family, Running, running};
pub use truncation_guard::with_gap;
pub use usable::Usable;

/// The environment variables in which launchers pass a process its rank in the job. Any launcher may start a
/// program of any library.
pub const RANK_VARIABLES: [&str; 4] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];

/// The environment variables in which launchers pass a process the number of ranks in the job.
pub const SIZE_VARIABLES: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];

/// The beginnings of the names of the launchers' processes that start ranks.
pub const LAUNCHERS: [&str; 4] = ["hydra_", "mpiexec", "orted", "prte"];
