//! Types that MPI can carry: the trait, the marks for rsmpi, and buffers of values.
//!
//! [`MpiDatatype`] is derived. [`AnyPattern`] is a bound for generic code whose values MPI itself writes, as
//! in windows. `T::buffer` and `T::buffer_mut` (with the feature `mpi`) return `Values` and `ValuesMut`.

// The files: `datatype`, the trait; `base`, its implementations for types of other crates; `fields` and
// `facts`, constants about structs and other types; `entry`, everything that is computed once from a type or
// layout; `cache`, the entries of layouts of run time; `check`, the validity of packed bytes;
// `marks`, what rsmpi may do with values; `value_type`, a type for code without type parameters; `values` and
// `rsmpi`, the traits of rsmpi; `runtime`, the type that ties expansions to this crate. This module uses
// `engine` and `mpi`, and does not know layouts.

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
pub(crate) mod value_type;
#[cfg(feature = "mpi")]
mod values;

pub use datatype::MpiDatatype;
pub(crate) use datatype::Visitor;
#[cfg(feature = "mpi")]
pub(crate) use datatype::layout_number;
pub(crate) use facts::Facts;
pub(crate) use fields::Field;
pub use marks::{AnyPattern, Complete};
pub(crate) use value_type::{Copying, ValueType};
#[cfg(feature = "mpi")]
pub use values::{Values, ValuesMut};
