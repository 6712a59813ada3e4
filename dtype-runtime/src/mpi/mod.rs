//! The MPI side: datatypes of MPI, made from layouts and taken apart again, and the wires on which values travel.
//!
//! - `life`: whether MPI may be called, and what is to be done when it ends; `errors`: errors of MPI as values;
//! - `construct`: the calls of a constructor program; `handle`: the datatypes built so far, each once;
//! - `buffers`: views and slices as rsmpi's buffers;
//! - `decode`: existing datatypes as type trees, kept on them by `attribute`;
//! - `shim`: what is written in C, because only a C compiler knows the constants of `mpi.h`.

mod attribute;
mod buffers;
mod construct;
mod decode;
mod errors;
mod handle;
mod life;
mod shim;
mod values;

pub use buffers::{LayoutDatatype, equivalent_datatype};
pub use decode::{Decoded, decode, normalize};
pub(crate) use errors::{
    SUCCESS, called, checked, is_truncation, return_errors, returning_errors, true_code, without_communicator,
};
pub(crate) use handle::Handle;
pub use life::in_session;
pub(crate) use life::{at_end, greatest_tag, no_copy, packed_datatype, ready, ready_on, writes_too_much};
pub use values::{Values, ValuesMut};
