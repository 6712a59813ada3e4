//! What the benchmarks share: the peers they measure against, the cases, and how a row is measured and
//! printed.

pub mod cases;
pub mod generate;
pub mod measure;
pub mod packing;
pub mod peers;
pub mod record;
