//! What is packed and sent: parts of arrays and slices of structs, in all ways there are: by hand in Rust and
//! in C, by generated code, by plans, and by MPI.

// The peers may be unsafe, and are: every loop stays within the array of its case and within its packed
// bytes, and a case is measured only after all ways have been found to do the same. A comment at each would
// say this a hundred times.
#![allow(clippy::undocumented_unsafe_blocks)]

pub mod arrays;
mod c;
pub mod drawn;
#[cfg(feature = "mpi")]
mod mpi;
pub mod structs;
#[cfg(feature = "mpi")]
mod travel;

#[cfg(feature = "mpi")]
pub use travel::Travel;

/// What is measured of the cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Packing and unpacking.
    Pack,
    /// Half a ping-pong between two ranks.
    Pingpong,
}

/// Where cases are measured.
pub trait Bench {
    /// Whether a case is wanted for a task; `quick` ones are measured also where there is little time.
    fn wants(&self, name: &str, task: Task, quick: bool) -> bool;

    /// Measures a case.
    fn measure(&self, case: &Case<'_>);
}

/// Without MPI nothing travels.
#[cfg(not(feature = "mpi"))]
pub struct Travel<'a>(std::marker::PhantomData<&'a ()>);

/// Packs into bytes.
pub type Pack<'a> = Box<dyn Fn(&mut [u8]) + 'a>;
/// Unpacks bytes.
pub type Unpack<'a> = Box<dyn Fn(&[u8]) + 'a>;

/// A way to pack something and to unpack it.
pub struct Way<'a> {
    /// Packs it.
    pub pack: Pack<'a>,
    /// Unpacks it.
    pub unpack: Unpack<'a>,
}

impl<'a> Way<'a> {
    pub fn new(pack: impl Fn(&mut [u8]) + 'a, unpack: impl Fn(&[u8]) + 'a) -> Self {
        Self { pack: Box::new(pack), unpack: Box::new(unpack) }
    }
}

/// What is packed, in all ways.
pub struct Case<'a> {
    /// With its size.
    pub name: String,
    /// Packed bytes.
    pub size: usize,
    /// By name, the one by hand first.
    pub ways: Vec<(&'static str, Way<'a>)>,
    /// By name, how it travels otherwise than packed in one of these ways: nothing without MPI.
    pub travels: Vec<(&'static str, Travel<'a>)>,
}
