//! What the benchmarks share: the peers they measure against, the cases, and how a row is measured and
//! printed.

pub mod cases;
#[cfg(feature = "mpi")]
pub mod datatype;
pub mod description;
pub mod generate;
pub mod guidelines;
#[cfg(feature = "mpi")]
pub mod journeys;
pub mod measure;
pub mod packing;
pub mod peers;
pub mod record;
