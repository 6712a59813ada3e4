//! What the product is compared with: faithful implementations of published algorithms, kept out of the
//! product.

pub mod heuristics;
pub mod thesis;
pub mod traff;
