//! The MPI library: its life, its errors, its constructors. It knows nothing of types and layouts.
//!
//! - `life`: whether MPI may be called, and what is to be done when it ends; `errors`: errors of MPI as
//!   values;
//! - `construct`: the calls of a constructor program; `handle`: the datatypes built so far, each once;
//! - `shim`: what is written in C, because only a C compiler knows the constants of `mpi.h`.

mod construct;
mod errors;
mod handle;
mod life;
pub(crate) mod shim;

pub(crate) use construct::{has_large_counts, predefined, size};
pub(crate) use errors::{
    SUCCESS, called, checked, is_truncation, return_errors, returning_errors, true_code, without_communicator,
};
pub(crate) use handle::{Handle, Slot};
pub use life::in_session;
pub(crate) use life::{
    at_end, greatest_tag, is_between_groups, no_copy, packed_datatype, ready, ready_on, writes_too_much,
};
