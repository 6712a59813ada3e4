//! The performance guidelines for datatypes as a tool: what a library does badly, and what things cost there.
//!
//! - `groups`: the layouts of the benchmarks and what is expected of them; `applications`: those of published
//!   applications; `loops`: packing by hand;
//! - `contenders`, `run`: what is timed, and when, on the ranks of an MPI library;
//! - `results`: what was measured, as a file; `statistics`: medians and how sure they are; `verdicts`: what
//!   was expected against what was measured;
//! - `calibrate`: cost models fitted to times;
//! - `progress`: what is seen meanwhile; `report`: the page, made of results alone.

pub mod applications;
pub mod calibrate;
#[cfg(feature = "mpi")]
mod contenders;
pub mod groups;
mod loops;
pub mod progress;
pub mod report;
pub mod results;
#[cfg(feature = "mpi")]
pub mod run;
pub mod statistics;
pub mod verdicts;
