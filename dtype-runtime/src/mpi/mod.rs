//! The MPI library: its lifetime, its errors, its constructors. This module does not know types and layouts.
//!
//! - `init_finalize`: whether MPI may be called, and the cleanup at its end; `environment`: the thread level
//!   and the communicators of the process; `errors`: MPI errors as values;
//! - `construct`: the calls of a constructor program; `handle`: the datatypes built so far, each once;
//! - `shim`: functions in C, because only a C compiler knows the constants of `mpi.h`.

mod construct;
mod environment;
mod errors;
mod handle;
mod init_finalize;
pub(crate) mod shim;

pub(crate) use construct::{has_large_counts, predefined, size};
pub(crate) use errors::{
    SUCCESS, called, checked, is_truncation, return_errors, returning_errors, true_code, without_communicator,
};
pub(crate) use handle::{Handle, Slot};
pub use init_finalize::in_session;
pub(crate) use init_finalize::{
    at_end, greatest_tag, is_between_groups, no_copy, packed_datatype, ready, ready_on, writes_too_much,
};
