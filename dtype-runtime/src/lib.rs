//! Send Rust structs and parts of arrays through MPI, with datatypes that the compiler computes.
//!
//! [`#[derive(MpiDatatype)]`](derive@MpiDatatype) turns a struct into a least-cost MPI datatype and
//! implements rsmpi's `Equivalence`, so that every rsmpi call accepts slices of it. [`layout!`] names a part
//! of an array and creates typed views of it that are rsmpi buffers. [`pack()`] and [`unpack_into`] convert
//! values to bytes and back in plain Rust, without MPI. `decode` reads datatypes that were built elsewhere.
//!
//! | you want to | use |
//! |---|---|
//! | send structs by rsmpi's calls | [`#[derive(MpiDatatype)]`](derive@MpiDatatype) |
//! | send a part of an array | [`layout!`], and the ready-made layouts in [`mod@layout`] |
//! | send structs faster | `send_over`, `receive_values_into`, and all else in `traits` and `wire` |
//! | send a `String`, a `Vec`, an enum | [`#[derive(MpiMessage)]`](derive@MpiMessage), [`message`] |
//! | fill ghost cells | `Halo` in [`mod@layout`] |
//! | move an array to another distribution, or transpose it | `Redistribution` in `wire` |
//! | read and write memory of other ranks, or files | `window`, `passive_window`, `File` in `wire` |
//! | reduce by a closure | `Reductions` in `traits` |
//! | pack to bytes, without MPI | [`pack()`], [`unpack_into`], [`mod@pack`] |
//! | read a datatype that other code has made | `decode` |
//! | know what is sent | `tree`, `explain`, `draw` of types and layouts; [`tree`] |
//! | tell another process of a layout | `marshal` |
//! | know which types may be fields | [`types`] |
//! | know what an error means | [`Error`] |
//!
//! ```
//! use dtype_runtime::{MpiDatatype, layout, pack, unpack_into};
//!
//! #[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
//! #[repr(C)]
//! struct Particle {
//!     position: [f64; 3],
//!     id: u64,
//!     kind: u8,
//! }
//!
//! let particles = [Particle { id: 7, kind: 1, ..Particle::default() }; 4];
//! let bytes = pack(&particles); // 33 bytes each: padding is not packed
//! let mut copy = [Particle::default(); 4];
//! unpack_into(&bytes, &mut copy)?;
//! assert_eq!(particles, copy);
//!
//! let matrix = [[0.5f64; 100]; 100];
//! let column = layout!(f64[100][100] => [.., 3]);
//! assert_eq!(column.tree().to_string(), "vec 100, stride 800\n└─ f64\n");
//! assert_eq!(column.of(&matrix).pack().len(), 800);
//! # Ok::<(), dtype_runtime::Error>(())
//! ```
//!
//! With rsmpi (the feature `mpi`, on by default):
//!
//! ```no_run
//! # #[cfg(feature = "mpi")] {
//! use dtype_runtime::layout;
//! use mpi::traits::*;
//!
//! let universe = mpi::initialize().unwrap();
//! let world = universe.world();
//! let mut matrix = [[0.0f64; 100]; 100];
//! let column = layout!(f64[100][100] => [.., 3]);
//! if world.rank() == 0 {
//!     world.process_at_rank(1).send(&column.of(&matrix));
//! } else {
//!     world.process_at_rank(0).receive_into(&mut column.of_mut(&mut matrix));
//! }
//! # }
//! ```
//!
//! Calls of this crate return an [`Error`]. Do not return it from the `main` of a program on several ranks:
//! it would be printed only when all ranks have reached `MPI_Finalize`. [`Error`] shows a `main` that prints
//! it and ends the job.
//!
//! Features:
//! - `mpi` (on by default): rsmpi's traits, and the modules `decode`, `traits` and `wire`;
//! - `marshal`: layouts as bytes;
//! - `picture`: pictures of layouts;
//! - `num-complex` and `half`: numbers of these crates may be fields;
//! - `nalgebra` (0.35) and `nalgebra-0_34` (0.34): matrices of fixed size may be fields, layouts apply to
//!   matrices and views, and matrices of any size are messages;
//! - `ndarray` (0.17): layouts apply to arrays and views, and arrays are messages;
//! - `serde`: types of serde are messages, as `message::Serde`.
#![deny(missing_docs)]

/// Tests the code of documents like that of this documentation.
macro_rules! documents {
    ($($name:ident $path:literal)*) => {
        $(#[cfg(all(doctest, feature = "mpi"))]
        #[doc = include_str!($path)]
        mod $name {})*
    };
}

documents! {
    readme "../../README.md"
    first_program "../../docs/guide/first-program.md"
    transports "../../docs/guide/transports.md"
    index_lists "../../docs/guide/index-lists.md"
    messages "../../docs/guide/messages.md"
    files_and_windows "../../docs/guide/files-and-windows.md"
    python_extension "../../docs/guide/python-extension.md"
    debugging "../../docs/guide/debugging.md"
    format_of_messages "../../docs/messages.md"
}

#[macro_use]
mod tuples;

#[cfg(feature = "mpi")]
mod comm;
#[cfg(feature = "mpi")]
pub mod decode;
mod engine;
mod error;
mod expansion;
mod language;
pub mod layout;
#[cfg(feature = "marshal")]
pub mod marshal;
pub mod message;
#[cfg(feature = "mpi")]
mod mpi;
pub mod pack;
pub mod types;
#[cfg(feature = "mpi")]
pub mod wire;

#[cfg(feature = "mpi")]
pub use comm::{
    Any, Arrived, Cartesian, Comm, Handle, Message, Neighbours, Operand, Peer, Pending, Place, Scope,
    ScopedPeer, StartedPeer, run,
};
#[cfg(feature = "mpi")]
pub use decode::decode;
pub use dtype_derive::{MpiDatatype, MpiMessage};
pub use error::Error;
pub use layout::{DynamicLayout, Layout, StaticLayout, View, ViewMut};
#[cfg(feature = "mpi")]
pub use layout::{Halo, Part};
pub use message::{FromMessage, MpiMessage};
#[cfg(feature = "mpi")]
pub use mpi::in_session;
pub use pack::{pack, pack_into, packed_size, unpack_into};
pub use types::MpiDatatype;
#[cfg(feature = "mpi")]
pub use wire::{File, Redistribution, Wire};

/// The result of most calls of this crate.
pub type Result<T = (), E = Error> = core::result::Result<T, E>;

/// The extension traits of rsmpi's destinations, sources and communicators. Import them with
/// `use dtype_runtime::traits::*`, beside `mpi::traits::*`.
#[cfg(feature = "mpi")]
pub mod traits {
    pub use crate::wire::{
        MatchedMessage, MessageCollectives, MessageRoot, NeighbourCollectives, PackedCollectives, PackedRoot,
        ReceiveMessage, ReceiveOver, Reductions, RootReductions, SendMessage, SendOver, StatusCount,
    };
}

/// Type trees: how the crate describes a layout, and what such a description costs.
///
/// A [`TypeTree`](tree::TypeTree) describes each type, layout and decoded datatype.
/// [`Program`](tree::Program) lists the constructor calls for a tree, and [`Runs`](tree::Runs) its type map.
/// [`normalize`](fn@tree::normalize) finds a low-cost tree under a [`CostModel`](tree::CostModel).
pub mod tree {
    #[cfg(feature = "picture")]
    pub use dtype_core::picture::Picture;
    pub use dtype_core::{
        BaseType, Bounds, CostModel, Error, LinearCosts, Measure, NodeCosts, OldType, Optimality, Penalty,
        Program, Run, Runs, SelectionError, Solution, Step, TypeMap, TypeTree, Weighting, normalize,
    };
}

/// The items that expansions of the macros name. They are not part of the public interface, and may change in
/// any version.
#[doc(hidden)]
pub mod __private {
    pub use dtype_core::{BaseType, Item, LinearCosts, NodeCosts, Penalty, Weighting, constant::RunBuffer};
    pub use dtype_derive::layout;

    pub use crate::{
        Error,
        expansion::{Equivalence, EquivalentDatatype},
        layout::{
            ArrayOrder, Coverage, DynamicLayout, Elements, Fields, Memory, Selection, StaticLayout,
            entry::Entry,
            integer::{Integer, is_integer},
            pieces::{FixedPieces, Path, Pieces},
            region::Region,
        },
        message::{
            Fingerprint, FromMessage, MpiMessage, OwnedMemory, Plain, Reader, Writer, greatest, no_variant,
        },
        types::{
            MpiDatatype,
            datatype::Visitor,
            entry::{Description, LazyDatatype},
            facts::Facts,
            fields::Field,
            marks::{AnyPattern, Complete, MadeByRsmpi, ReceivedByMpi},
            runtime::Runtime,
        },
    };
}
