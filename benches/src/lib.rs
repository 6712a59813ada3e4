//! The common parts of the benchmarks: the peers, the cases, and the measuring and printing of rows.

#[cfg(feature = "mpi")]
pub mod boxes;
pub mod cases;
#[cfg(feature = "mpi")]
pub mod faces;
#[cfg(feature = "mpi")]
pub mod journeys;
pub mod measure;
pub mod packing;
pub mod peers;
pub mod policy;
pub mod prices;
pub mod record;
#[cfg(feature = "codecs")]
pub mod shapes;
