//! The calls of MPI that go through here, by chapter: each hands its arguments on to the one behind, with
//! packed bytes in their place where that is worth while.
//!
//! - `point_to_point`: messages; `persistent`: those that are prepared; `completion`: requests;
//! - `packing`: `MPI_Pack` and its like; `collective` and `neighbours`: those of all ranks;
//! - `life`: the beginning and the end, and datatypes that are committed.
//!
//! Programs promise what the standard asks of them: MPI is initialized, handles are live, buffers are there.
//! "The program's promise" in a proof means that.

pub(crate) mod collective;
pub(crate) mod completion;
pub(crate) mod life;
pub(crate) mod neighbours;
pub(crate) mod packing;
pub(crate) mod persistent;
pub(crate) mod point_to_point;
mod sides;
