//! Type maps, type trees and least-cost descriptions of MPI derived datatypes.
//!
//! Data flows one way. A [`TypeMap`] lists base types and byte displacements, as in section 5.1 of the MPI
//! standard. [`reconstruct`](fn@reconstruct) turns it into the least-cost [`TypeTree`] under a [`CostModel`].
//! [`normalize`](fn@normalize) does the same for a layout that is already given as a tree and may be far too
//! large to list. [`Program::lower`] turns the tree into a list of constructor calls. This crate does not
//! call MPI and has no `unsafe` code: the derive macro runs it during expansion.
//!
//! ```
//! use dtype_core::{BaseType, NodeCosts, Program, Shape, TypeMap, reconstruct};
//!
//! // First row, then first column of a 4 × 4 matrix of `f64`.
//! let map = TypeMap::homogeneous(BaseType::F64, vec![0, 8, 16, 24, 0, 32, 64, 96])?;
//! let solution = reconstruct(&map, Shape::Tree, &NodeCosts::default())?;
//! assert_eq!(solution.cost, 16); // idx(8, leaf)
//! assert_eq!(solution.tree.flatten()?, map); // the law: flattening gives the map back
//!
//! let program = Program::lower(&solution.tree, None)?;
//! assert_eq!(
//!     program.to_string(),
//!     "t0 = MPI_Type_create_hindexed_block(8, 1, [0, 8, 16, 24, 0, 32, 64, 96], MPI_DOUBLE)\n\
//!      MPI_Type_commit(t0)\n"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

mod base_type;
mod bounds;
pub mod constant;
mod cost;
mod cuts;
mod data;
mod draw;
mod error;
mod gcd;
mod normalize;
#[cfg(feature = "picture")]
pub mod picture;
mod program;
mod reconstruct;
mod repeat;
mod run;
mod selection;
mod solution;
mod split;
mod tree;
mod type_map;

pub use base_type::{BaseType, NumberKind, UnknownBaseType};
pub use bounds::Bounds;
pub use cost::{CostModel, Line, LinearCosts, NodeCosts, Penalty, Price, Weighting};
pub use error::Error;
pub use gcd::gcd;
pub use normalize::{normalize, normalize_within, solve_layout};
pub use program::{
    Argument, ArgumentReader, ArrayOrder, Blocks, Buckets, CallsError, Constructor, ConstructorKind,
    Datatype, Distributed, Distribution, OldType, Packing, Program, Purpose, Share, Step, Subdimension,
    WrittenOut, grid_size,
};
pub use reconstruct::{Shape, reconstruct, reconstruct_within};
pub use run::{Run, Runs};
pub use selection::{
    Item, MOST_ARRAYS, MOST_BYTES, MOST_DIMENSIONS, MOST_FIXED_PIECES, MOST_PIECES, Progression,
    SelectionError, Text,
};
pub use solution::{Limits, Optimality, Solution};
pub use tree::{Measure, TypeTree};
pub use type_map::TypeMap;
