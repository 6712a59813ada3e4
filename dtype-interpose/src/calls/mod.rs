//! The handlers of the intercepted calls, by chapter of the standard. `calls.txt` says which functions each
//! handler serves. The last argument of a handler, `next`, makes the call by the next function of the same
//! name. If packing is worth while, the handler passes a packed buffer to `next` in place of the program's.
//!
//! - `point_to_point`: messages; `completion`: requests;
//! - `packing`: `MPI_Pack` and `MPI_Unpack`;
//! - `collective`: collective calls; `members`: the ranks that take part, and their blocks;
//!   `collective_buffers`: the two buffers of a call;
//! - `one_sided`: windows of other ranks;
//! - `init_finalize`: initialization and finalization, and calls that create and free datatypes.
//!
//! # Safety
//! Each handler is `unsafe` on the same conditions: 1. The arguments are those of a call by the program, so
//! the promises hold that `SAFETY` comments cite. 2. `next` makes this call with the arguments that it gets,
//! and returns the library's code.

pub(crate) mod collective;
mod collective_buffers;
pub(crate) mod completion;
pub(crate) mod init_finalize;
pub(crate) mod members;
pub(crate) mod one_sided;
pub(crate) mod packing;
pub(crate) mod point_to_point;
