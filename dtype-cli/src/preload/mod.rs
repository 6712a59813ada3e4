//! The choice of a preloaded library (crate `dtype-interpose`) for a command: which of its words are programs
//! that use MPI, which MPI library each of them loads, and which preloaded library was built for that one.
//!
//! - `program`: the programs in a command, and the files of MPI that they load;
//! - `library`: the preloaded libraries, and the MPI library that each of them serves.

pub(crate) mod library;
pub(crate) mod program;
