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
pub(crate) mod cache;
pub(crate) mod check;
pub(crate) mod datatype;
pub(crate) mod entry;
pub(crate) mod facts;
pub(crate) mod fields;
pub(crate) mod marks;
#[cfg(feature = "mpi")]
pub(crate) mod rsmpi;
pub(crate) mod runtime;
#[cfg(feature = "mpi")]
mod values;

pub use datatype::MpiDatatype;
pub(crate) use datatype::Visitor;
pub(crate) use facts::Facts;
pub(crate) use fields::Field;
pub use marks::{AnyPattern, Complete};
#[cfg(feature = "mpi")]
pub use values::{Values, ValuesMut};
