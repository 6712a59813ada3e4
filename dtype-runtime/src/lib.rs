//! MPI for Rust programs: send structs, parts of arrays, and values of any shape, by calls whose names can be
//! guessed, and with datatypes that the compiler computes.
//!
//! ```no_run
//! # #[cfg(feature = "mpi")] {
//! use dtype_runtime::*;
//!
//! #[derive(MpiDatatype, Clone, Debug)]
//! struct Particle { position: [f64; 3], id: u64, kind: u8 }
//!
//! fn main() {
//!     run(|world| -> Result {
//!         let next = (world.rank() + 1) % world.size();
//!         let particle = Particle { position: [0.5; 3], id: world.rank() as u64, kind: 1 };
//!         let sending = world.peer(next).start().send(&vec![particle; 100])?;
//!         let (arrived, from): (Vec<Particle>, Peer) = world.any().receive()?;
//!         sending.finish()?;
//!         println!("{} particles from rank {}", arrived.len(), from.rank());
//!         Ok(())
//!     });
//! }
//! # main();
//! # }
//! ```
//!
//! # Five rules
//!
//! 1. There is one verb for each operation of MPI. The type of the value decides how it travels.
//! 2. `verb` makes a value; `verb_into` fills memory that is there. (Calls that only fill, such as `exchange`
//!    and `swap`, have no second name.)
//! 3. Options come before the verb: `world.peer(1).tag(7).send(&x)?`.
//! 4. Everything hangs on a communicator, `Comm`, or on a rank of it, `Peer`.
//! 5. There is one `?` a line. A root is the first argument, and one call serves all ranks: what only the
//!    root has, or gets, is an `Option`.
//!
//! # What travels
//!
//! - A type with [`#[derive(MpiDatatype)]`](derive@MpiDatatype): structs of numbers, arrays and tuples of
//!   them. Values, slices and `Vec`s of such types are *plain*: they travel as packed bytes, which any MPI
//!   program may send or receive. The type also implements rsmpi's `Equivalence`, so rsmpi's own calls take
//!   it.
//! - A part of an array: [`layout!`] names it, `layout.of(&array)` is a view of it to send, and
//!   `layout.of_mut(&mut array)` one to receive into. Views are plain. If the numbers in the layout are
//!   literals, it needs no `?`; if they are values, it is a `Result`, and so is `of`.
//! - A type with [`#[derive(MpiMessage)]`](derive@MpiMessage), or of the standard library: a `String`, an
//!   `Option`, an enum, a struct with a `Vec`. Such values are *owned*: they travel in the format of
//!   [`message`].
//!
//! Generic code sends and receives `T`, `Vec<T>` and slices of `T: MpiDatatype + FromMessage`, or of
//! `T: MpiMessage + FromMessage`.
//!
//! The type alone makes a value plain or owned, never its length: `[f64; 3]`, `Vec<Particle>`
//! and `(u8, f64)` are plain, `Option<Particle>` and `(String, f64)` are owned. Plain values without data,
//! such as `()`, have no bytes, so a `Vec` of them arrives empty.
//!
//! As in MPI, the sender and the receiver must name the same types. A message of another size, or with
//! invalid values, is an error. Another type of the same size is one only with `DTYPE_CHECK=1` in the
//! environment.
//!
//! # The calls
//!
//! | MPI | call |
//! |---|---|
//! | `MPI_Init`, `MPI_Finalize` | `run`; or `Comm::from` a communicator of rsmpi |
//! | `MPI_Comm_rank`, `MPI_Comm_size` | `world.rank()`, `world.size()` |
//! | `MPI_Send`, `MPI_Ssend` | `world.peer(1).send(&x)?`, `.synchronous()` |
//! | `MPI_Recv` | `let x: T = world.peer(0).receive()?`, `receive_into(&mut x)?` |
//! | `MPI_ANY_SOURCE` | `let (x, from) = world.any().receive()?` |
//! | tags | `world.peer(1).tag(7)`; without it, 0 is sent and any is received; `exchange` uses 0 |
//! | `MPI_Iprobe`, `MPI_Improbe` | `probe()?`, `try_receive()?` |
//! | `MPI_Isend`, `MPI_Irecv` | `world.peer(1).start().send(&x)?`, then `is_done()?`, `finish()?` |
//! | the same, without a copy | `world.scope(\|scope\| …)?` |
//! | `MPI_Send_init`, `MPI_Recv_init` | `world.peer(1).prepare().send(&x)?`, then `run(&x)?`, `start(&x)?` |
//! | `MPI_Sendrecv` | `world.exchange([(next, &x)], [(previous, &mut y)])?` |
//! | the same with parts of one array | [`layout::split`]`(&mut a, &[last], &[ghost])?` gives the views |
//! | `MPI_Sendrecv_replace` | `world.peer(1).swap(&mut x)?` |
//! | `MPI_Bcast` | `world.broadcast(0, (world.rank() == 0).then_some(x))?`, `broadcast_into(0, &mut x)?` |
//! | `MPI_Gather`, `MPI_Gatherv` | `world.gather(0, &x)?`, `gather_into` |
//! | `MPI_Scatter`, `MPI_Scatterv` | `world.scatter(0, Some(&values))?`, others `None`; `scatter_into` |
//! | `MPI_Allgather`, `MPI_Allgatherv` | `world.all_gather(&x)?`, `all_gather_into` |
//! | `MPI_Alltoall`, `MPI_Alltoallv` | `world.all_to_all(&values)?` |
//! | `MPI_Alltoallw` | `world.all_to_all_into(&views, &mut places)?` |
//! | `MPI_Reduce`, `MPI_Allreduce` | `world.reduce(0, &x, \|a, b\| a + b)?`, `all_reduce`; of plain values |
//! | `MPI_Scan`, `MPI_Exscan` | `scan`, `scan_before` |
//! | `MPI_Cart_create` | `world.cartesian([2, 3], [true, false])?` |
//! | `MPI_Dist_graph_create_adjacent` | `world.graph(&sources, &destinations)?` |
//! | `MPI_Neighbor_allgather`, … | `grid.neighbours().all_gather(&x)?`, `all_to_all` |
//! | a rank's part of an array | `world.blocks([rows, columns], [2, 3])`: `ranges()`, `local()`, `own()` |
//! | ghost cells | `grid.halo(&part)?`, then `exchange(&mut array)?` |
//! | ghost cells while the program computes | `halo.start(&mut array)?`, `cells().interior()`, `finish()?` |
//! | another distribution, a transpose | `world.redistribute(&rows, &a, &columns, &mut b)?` |
//! | the same, many times | `world.prepare().redistribute(&rows, &columns)?`, then `run(&a, &mut b)?` |
//! | `MPI_File_open`, … | `world.create(path)?`, `open`, then `write(&part, &a)?`, `read(&part, &mut a)?` |
//! | `MPI_File_write_at_all`, … | `file.write_at_all(bytes, &x)?`, `read_at_all`, `append(&x)?` |
//! | `MPI_File_iwrite_at`, … | `file.start().write_at(bytes, &x)?`, `read_at` |
//! | `MPI_Win_create`, … | `world.window(&mut values, \|window\| window.fence(\|epoch\| …))?` |
//! | `MPI_Put`, `MPI_Get` | `epoch.put(&x, rank, &layout)?`, `get` |
//! | `MPI_Accumulate` | `epoch.accumulate(&x, SystemOperation::sum(), rank, &layout)?` |
//! | anything else | rsmpi's calls: a `Comm` dereferences to rsmpi's communicator |
//!
//! | other tasks | |
//! |---|---|
//! | pack to bytes, without MPI | [`pack()`], [`unpack_into`], [`mod@pack`] |
//! | read a datatype that other code has made | `decode` |
//! | know what is sent | `tree`, `explain`, `draw` of types and layouts; [`tree`] |
//! | tell another process of a layout | `marshal` |
//! | know which types may be fields | [`types`] |
//! | know what an error means | [`Error`] |
//! | find a call by rsmpi's name, such as `immediate_send` | the search of this documentation |
//!
//! A blocking send of a long message waits until it is received, and so do `finish()` and dropping what
//! sends. In a ring, where all ranks send first, start the sends and finish them after the receives, or use
//! `exchange`.
//!
//! # Without MPI
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
//! # Errors
//!
//! Calls return an [`Error`]. `run` prints the error of a rank and ends the job. Without it, do not return
//! an error from the `main` of a program on several ranks: it would be printed only when all ranks have
//! reached `MPI_Finalize`. [`Error`] shows a `main` that prints it and ends the job.
//!
//! Features:
//! - `mpi` (on by default): all calls between ranks, rsmpi's traits, and the modules `comm` and `decode`;
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
pub mod comm;
#[cfg(feature = "mpi")]
pub mod decode;
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
#[cfg(feature = "mpi")]
mod transfer;
pub mod types;

#[cfg(feature = "mpi")]
pub use comm::{
    Any, Comm, File, HaloExchange, Lock, Message, Peer, Pending, PendingHalo, Place, PreparedExchange,
    PreparedReceive, PreparedSend, Redistribution, run,
};
#[cfg(feature = "mpi")]
pub use decode::decode;
pub use dtype_derive::{MpiDatatype, MpiMessage};
pub use error::{Error, ErrorKind};
pub use layout::{DynamicLayout, Layout, StaticLayout, View, ViewMut};
#[cfg(feature = "mpi")]
pub use layout::{Halo, Part};
pub use message::{FromMessage, MpiMessage};
pub use pack::{pack, pack_into, packed_size, unpack_into};
#[cfg(feature = "mpi")]
pub use transfer::Wire;
pub use types::MpiDatatype;

/// The result of most calls of this crate.
pub type Result<T = (), E = Error> = core::result::Result<T, E>;

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
            entry::LazyDatatype,
            facts::Facts,
            fields::Field,
            marks::{AnyPattern, Complete, MadeByRsmpi, ReceivedByMpi},
            runtime::Runtime,
        },
    };
    #[cfg(feature = "mpi")]
    pub use crate::{comm::shape_of, transfer::making::has_typed_shape};
}
