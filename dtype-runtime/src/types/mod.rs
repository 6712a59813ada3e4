//! Types that MPI can carry: what a type is made of, in constants and in the running program. No layouts, and
//! no packing.
//!
//! - `datatype`: the trait; `base`: who implements it here; `fields`, `facts`: what structs are made of, and
//!   what is known of a type;
//! - `entry`: everything that is worked out of a type or layout once; `cache`: entries that have no `static`
//!   of their own;
//! - `check`: which bytes are values; `marks`: what rsmpi may do with values; `values`, `rsmpi`: what rsmpi
//!   asks of types;
//! - `runtime`: who has written an implementation.

mod base;
pub mod cache;
pub mod check;
pub mod datatype;
pub mod entry;
pub mod facts;
pub mod fields;
pub mod marks;
#[cfg(feature = "mpi")]
pub mod rsmpi;
pub mod runtime;
#[cfg(feature = "mpi")]
pub mod values;

pub use datatype::{MpiDatatype, Visitor};
pub use facts::Facts;
pub use fields::Field;
