//! The peers of the benchmarks: faithful implementations of published algorithms, which are not part of the
//! product.

pub mod heuristics;
pub mod thesis;
pub mod traff;
