//! The performance guidelines for datatypes as a tool. It judges the datatypes of an MPI library, and fits
//! cost models to the library.
//!
//! - `generate`: layouts, random and published;
//! - `description`: datatypes as a user builds them; `datatype`: datatypes of the MPI library, made from
//!   these;
//! - `way`, `written`: packing by a pair of functions; the loops in C that the build script writes;
//! - `groups`: the layouts of the benchmarks, and their expectations;
//! - `applications`: the layouts of published applications;
//! - `loops`: packing by hand;
//! - `contenders`, `run`: the operations that are timed on the ranks of an MPI library, and their order;
//! - `results`: the measured times, as a file;
//! - `statistics`: medians and confidence intervals;
//! - `judgement`: the judgement of a ratio of times;
//! - `verdicts`: the judgements of all expectations;
//! - `calibrate`: cost models fitted to times;
//! - `progress`: the display of progress;
//! - `report`: the page, made from results alone.

pub mod applications;
pub mod calibrate;
#[cfg(feature = "mpi")]
mod contenders;
#[cfg(feature = "mpi")]
pub mod datatype;
pub mod description;
pub mod generate;
pub mod groups;
mod judgement;
mod loops;
pub mod progress;
pub mod report;
pub mod results;
#[cfg(feature = "mpi")]
pub mod run;
pub mod statistics;
pub mod verdicts;
pub mod way;
pub mod written;
