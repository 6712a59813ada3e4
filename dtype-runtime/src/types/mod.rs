//! Types that MPI can carry: the trait, what rsmpi may do with values, and buffers of values.
//!
//! [`MpiDatatype`] is derived. [`AnyPattern`] and [`Complete`] are bounds for generic code that hands values
//! to rsmpi's own calls; `Values` and `ValuesMut` (with the feature `mpi`) are what `T::buffer` and
//! `T::buffer_mut` give.

// The files: `datatype`, the trait; `base`, who implements it here; `fields`, `facts`, what structs are made
// of, and what is known of a type; `entry`, everything that is worked out of a type or layout once; `cache`,
// entries that have no `static` of their own; `check`, which bytes are values; `marks`, what rsmpi may do
// with values; `values`, `rsmpi`, what rsmpi asks of types; `runtime`, who has written an implementation. The
// room builds on `engine` and `mpi`, and knows no layouts.

mod base;
pub(crate) mod cache;
pub(crate) mod check;
pub(crate) mod datatype;
#[cfg(feature = "picture")]
mod draw;
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
