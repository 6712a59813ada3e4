//! The pack engine itself: layouts compiled into loops over contiguous blocks. It knows trees and base types,
//! and nothing of Rust's.
//!
//! - `plan`: a tree compiled, made of `node`s, with the `signature` of its packed bytes;
//! - `how`: what is decided of a node before it is run, such as to list its blocks as `moves`;
//! - `run`: runs a plan, or a part of it, with `kernels`, between two `sides`; `blocks`: calls back for its
//!   blocks instead;
//! - `transpack`: two plans joined into one.

pub mod blocks;
#[cfg(feature = "picture")]
mod draw;
mod how;
mod kernels;
mod moves;
pub mod node;
pub mod plan;
mod run;
pub mod sides;
pub mod signature;
pub mod transpack;

pub(crate) use kernels::copy_forward;
pub(crate) use plan::Layer;
pub use plan::Plan;
#[cfg(feature = "mpi")]
pub use plan::Spacing;
pub(crate) use sides::{Direction, Packing, Unpacking};
