//! The pack engine: compiles layouts into loops over contiguous blocks, and runs them. It knows type trees
//! and base types, but no Rust types.
//!
//! - `plan`: a compiled type tree, made of `node`s, with the `signature` of its packed bytes;
//! - `strategy`: decides how a node is run: by its own loops, as a list of `moves`, or in `passes`;
//! - `run`: runs a plan or a part of it, with `kernels`, between two `sides`;
//! - `blocks`: calls a visitor for each contiguous block of a plan;
//! - `transpack`: joins two plans into one copy.

pub mod blocks;
#[cfg(feature = "picture")]
mod draw;
mod kernels;
mod moves;
pub mod node;
mod passes;
pub mod plan;
mod run;
pub mod sides;
pub mod signature;
mod strategy;
pub mod transpack;

pub(crate) use kernels::copy_forward;
pub(crate) use plan::Layer;
pub use plan::Plan;
#[cfg(feature = "mpi")]
pub use plan::Spacing;
pub(crate) use sides::{Direction, Packing, Unpacking};
