//! The choice of a preloaded library (crate `dtype-interpose`) for a command: which of its words are programs
//! that use MPI, which MPI library each of them loads, and which preloaded library fits that one.
//!
//! - `command`: the words of a command, and the programs among them;
//! - `program`: the files of MPI that a program loads; `rust`: those of programs that take what is there;
//! - `library`: the preloaded libraries, and the MPI library that each of them serves.

pub(crate) mod command;
pub(crate) mod library;
pub(crate) mod program;
mod rust;
