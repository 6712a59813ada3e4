//! The pack engine: compiles type trees into loops over contiguous blocks, and runs them between memory and
//! packed bytes. It knows type trees and base types, but no Rust types of users, and calls no MPI.
//!
//! [`Plan`] is a compiled type tree; [`Data`] and [`DataMut`] join one to memory.
//!
//! - `plan`: a compiled type tree, made of `node`s, with the `signature` of its packed bytes;
//! - `strategy`: decides how a node is run: by its own loops, as a list of `moves` or
//!   `records`, or in `passes`;
//! - `run`: runs a plan or a part of it, with `kernels`, between two `sides`;
//! - `blocks`: calls a visitor for each contiguous block of a plan;
//! - `transpack`: joins two plans into one copy;
//! - `data`: plans joined to memory; `stream`: their packed bytes part by part; `encoding`: the byte order of
//!   other machines; `buffer`: buffers that are used again;
//! - `prices`: how long messages of a shape take in MPI libraries.
//!
//! ```
//! use dtype_core::{BaseType, TypeTree};
//! use dtype_engine::{Data, Plan};
//!
//! // Every second of six bytes.
//! let plan = Plan::new(&TypeTree::vector(3, 2, TypeTree::Leaf(BaseType::U8)))?;
//! assert_eq!(Data::new(&plan, 1, &[1, 2, 3, 4, 5, 6], 0)?.pack(), [1, 3, 5]);
//! # Ok::<(), dtype_engine::Error>(())
//! ```
#![deny(missing_docs)]

mod blocks;
mod buffer;
mod data;
#[cfg(feature = "picture")]
mod draw;
mod encoding;
mod error;
mod kernels;
mod moves;
mod node;
mod passes;
mod plan;
pub mod prices;
mod records;
mod run;
mod sides;
mod signature;
mod strategy;
mod stream;
mod transpack;

pub use blocks::{Block, LeafVisitor};
pub use buffer::PackBuffer;
pub use data::{Data, DataMut, Valid, check_range, written};
pub use encoding::Representation;
pub use error::Error;
pub use kernels::copy_forward;
pub use node::Order;
pub use plan::{Layer, Plan, Spacing};
pub use sides::{Direction, Packing, Unpacking};
pub use stream::{Packer, Unpacker};
pub use transpack::Transpack;
