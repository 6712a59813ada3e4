//! The pack engine itself: layouts compiled into loops over contiguous blocks. It knows trees and base types,
//! and nothing of Rust's.
//!
//! - `plan`: a tree compiled, made of `node`s, with the `signature` of its packed bytes;
//! - `run`: runs a plan, or a part of it, with `kernels`; `blocks`: calls back for its blocks instead;
//! - `transpack`: two plans joined into one.

pub mod blocks;
mod kernels;
pub mod node;
pub mod plan;
pub mod run;
pub mod signature;
pub mod transpack;

pub(crate) use plan::Layer;
pub use plan::Plan;
#[cfg(feature = "mpi")]
pub use plan::Spacing;
pub(crate) use run::{Direction, Packing, Unpacking};
