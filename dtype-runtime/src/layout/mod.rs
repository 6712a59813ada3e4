//! Layouts: parts of arrays, the sources that they apply to, and views of them.
//!
//! [`layout!`](crate::layout!) creates a [`StaticLayout`] or a [`DynamicLayout`]. The ready-made layouts are
//! [`Subarray`] and [`Darray`], which take MPI's own arguments, and [`Halo`], [`Band`] and [`Tile`]. The
//! methods `of` and `of_mut` apply a layout to a source. A source is any [`ArrayLike`]: nested arrays,
//! slices, `Vec`s, and with features the arrays of `ndarray` and the matrices of `nalgebra`. The result is a
//! [`View`] or a [`ViewMut`]; [`split_mut`] returns several views of one source.
//!
//! ```
//! use dtype_runtime::layout::Halo;
//!
//! // 6 × 6 cells, and a ring of ghost cells around them.
//! let up = Halo::new([8, 8], 1).part::<f64>([-1, 0])?;
//! let mut cells = vec![0.5; 8 * 8];
//! let packed = up.send.of(&cells)?.pack(); // the first row of cells
//! up.receive.of_mut(&mut cells)?.unpack(&packed)?; // the ghost cells above it
//! # Ok::<(), dtype_runtime::Error>(())
//! ```
//!
//! `view_mut.data().copy_from(&view.data())` copies directly from one layout into another.
//!
//! # Explanations
//!
//! [`Layout::explain`] shows a layout: the selected elements beside the type tree, the cost, the constructor
//! calls, and the predicted times of a message. For `layout!(f64[6][6] => [i, i..] for i in 0..6)`, the upper
//! triangle of a matrix, it begins:
//!
//! ```text
//! 21 values of an array [6][6], 168 bytes; cost 22, the least cost
//! solved at macro expansion
//!
//! ■ ■ ■ ■ ■ ■   idxbuc 6 of [6, 5, 4, 3, 2, 1] at [0, 56, 112, 168, 224, 280], stride 8
//! · ■ ■ ■ ■ ■   └─ f64
//! · · ■ ■ ■ ■
//! · · · ■ ■ ■
//! · · · · ■ ■
//! · · · · · ■
//!
//! t0 = MPI_Type_create_hindexed(6, [6, 5, 4, 3, 2, 1], [0, 56, 112, 168, 224, 280], MPI_DOUBLE)
//! MPI_Type_commit(t0)
//! ```
//!
//! The nodes of a tree are `vec` (MPI's hvector), `idx` (hindexed_block), `idxbuc` (hindexed) and `strc`
//! (struct). Strides and displacements are in bytes. The cost is the number of words that describe the tree:
//! a size, not a time.

// The files:
// - `traits`: the trait of all layouts, and the types of views; `view`: the methods of views;
// - `elements`: the elements of views; `splitting`: views of several parts of one source;
// - `own_methods`: the methods of the trait as inherent methods of each layout;
// - `region`: the selection of a layout as numbers, with `part`, `list` and `nest`;
// - `pieces`: the builders of regions; `overlap`: tests for bytes that are selected twice;
// - `fixed` and `dynamic`: the two kinds of layouts; `shapes` and `halo`: the ready-made layouts;
// - `distributed`: the parts of distributed arrays; `blocks`: the part of a rank of a grid;
// - `source`: the sources of layouts; `shape`: shapes and kinds as types;
// - `entry`: the results that are computed once for a layout;
// - `explain` and `draw`: layouts in words and as pictures;
// - `datatype` and `buffers`: rsmpi's traits for layouts and views.
//
// This module builds on `types`, `engine` and `pack`.

#[cfg(feature = "mpi")]
mod blocks;
#[cfg(feature = "mpi")]
pub(crate) mod buffers;
#[cfg(feature = "mpi")]
mod cells;
#[cfg(feature = "mpi")]
mod datatype;
#[cfg(feature = "mpi")]
pub(crate) mod distributed;
#[cfg(feature = "picture")]
mod draw;
mod dynamic;
mod elements;
pub(crate) mod entry;
mod explain;
pub(crate) mod fixed;
pub(crate) mod halo;
mod indices;
pub(crate) mod integer;
pub(crate) mod list;
pub(crate) mod nest;
mod overlap;
mod own_methods;
pub(crate) mod part;
pub(crate) mod pieces;
pub(crate) mod region;
mod shape;
pub(crate) mod shapes;
pub(crate) mod source;
mod splitting;
mod traits;
pub(crate) mod view;

#[cfg(feature = "mpi")]
pub use blocks::Part;
#[cfg(feature = "mpi")]
pub use cells::Cells;
#[cfg(feature = "mpi")]
pub use datatype::LayoutDatatype;
#[cfg(feature = "mpi")]
pub use distributed::{Distributed, Placed};
pub use dtype_core::{ArrayOrder, Distribution};
pub use dynamic::DynamicLayout;
pub use elements::{Iter, IterMut};
pub use fixed::{Selection, StaticLayout};
pub use halo::{Halo, HaloPart, Neighbours};
pub use shape::{Dimensions, Elements, Fields, Memory, WholeElements};
pub use shapes::{Band, Darray, Subarray, Tile};
pub use source::{ArrayLike, ArrayLikeMut, Mismatch, Outcome};
pub use splitting::{Rest, Split, SplitMut, split, split_mut};
pub use traits::{Coverage, Disjoint, Layout, UnknownCoverage, View, ViewMut};

pub use crate::types::{
    cache::{LayoutCache, layout_cache},
    entry::LayoutOrigin,
};
