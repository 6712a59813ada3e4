//! The cases that are packed and sent: parts of arrays and slices of structs. The ways are loops by hand in
//! Rust and in C, generated code, plans, and MPI.

// Every loop stays within the array of its case and within its packed bytes. A case is measured only after
// all ways have packed and unpacked the same bytes. This holds for every unsafe block here, so none repeats
// it.
#![allow(clippy::undocumented_unsafe_blocks)]

pub mod arrays;
#[cfg(feature = "mpi")]
pub mod blocks;
mod c;
pub mod drawn;
#[cfg(feature = "mpi")]
mod mpi;
pub mod structs;
#[cfg(feature = "mpi")]
mod travel;
mod user;

use dtype_guidelines::way::Way;

#[cfg(feature = "mpi")]
pub use travel::{Other, Travel};

/// A kind of measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Packing and unpacking.
    Pack,
    /// Half a ping-pong between two ranks.
    Pingpong,
}

/// A benchmark that measures cases.
pub trait Bench {
    /// Returns `true` if a case is wanted for a task. `quick` cases also belong to a quick run.
    fn wants(&self, name: &str, task: Task, quick: bool) -> bool;

    /// Measures a case.
    fn measure(&self, case: &Case<'_>);
}

/// A placeholder: without MPI there are no messages.
#[cfg(not(feature = "mpi"))]
pub struct Travel<'a>(std::marker::PhantomData<&'a ()>);

/// A layout, with all ways to pack and to send it.
pub struct Case<'a> {
    /// The name, which ends with the size.
    pub name: String,
    /// The packed size in bytes.
    pub size: usize,
    /// The ways to pack, by name. The loop by hand comes first.
    pub ways: Vec<(&'static str, Way<'a>)>,
    /// The ways to send that do not pack with one of `ways`, by name. Empty without MPI.
    pub travels: Vec<(&'static str, Travel<'a>)>,
}
