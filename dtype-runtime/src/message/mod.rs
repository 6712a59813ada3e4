//! Messages of any shape: values with owned data of any length, as one message.
//!
//! A value of a type with [`MpiMessage`] can be sent, and one with [`FromMessage`] can be received. Both
//! traits are [derived](derive@crate::MpiMessage) together, for structs and for enums with data. All types
//! that derive [`MpiDatatype`](crate::MpiDatatype) have them. So have `String`, `Vec`, `Box`, `Option` and
//! `Result`, arrays, tuples, the maps, sets and queues of the standard library, `Cow`, `Rc`, `Arc` (each
//! pointer arrives as a value of its own), `Duration`, ranges, `i128`, and with features the arrays of
//! `ndarray` and `nalgebra`. With the feature `serde`, `Serde` carries most types of serde.
//!
//! Paths and strings of the system, addresses, points in time, cells and locks have neither trait. For a type
//! of another crate, implement the traits for a wrapper, as [`MpiMessage`] shows, or use `Serde`.
//!
//! `Comm` and `Peer` send and receive such values, like all others: the [front page](crate) lists their
//! calls. The functions of this module need no MPI:
//!
//! ```
//! use dtype_runtime::{MpiMessage, message::{from_bytes, to_bytes}};
//!
//! #[derive(MpiMessage, Debug, PartialEq)]
//! struct Config {
//!     title: String,
//!     steps: Vec<f64>,
//!     output: Option<Output>,
//! }
//!
//! #[derive(MpiMessage, Debug, PartialEq)]
//! enum Output { File(String), Every { steps: u32 } }
//!
//! let config = Config {
//!     title: "a run".to_owned(),
//!     steps: vec![0.5; 3],
//!     output: Some(Output::Every { steps: 10 }),
//! };
//! let bytes = to_bytes(&config)?;
//! assert_eq!(from_bytes::<Config>(&bytes)?, config);
//! assert!(from_bytes::<Vec<f64>>(&bytes).is_err()); // another type
//! # Ok::<(), dtype_runtime::Error>(())
//! ```
//!
//! # The bytes of a message
//!
//! A message consists of *blocks*, an *in-band part*, and a trailer of 32 bytes. The in-band part has tags,
//! lengths and short fields. A slice of 32 KiB or more whose memory is its packed bytes becomes a block of
//! its own, which the sender need not copy. `docs/messages.md` has the format.
//!
//! The trailer has a fingerprint of the type: the names of deriving types, their fields and variants, and
//! the base types. A message of another type is an error, as is one from a machine of another byte order.
//! Nothing is believed of what arrives: a length is compared with the bytes that are there before memory is
//! allocated, and values may be nested 128 levels deep. After an error there is no value, and nothing leaks.

// The files: `limits`, `writer`, `reader`, `whole` and `format`, the bytes of a message; `memory`, received
// memory that becomes a `Vec`; `fingerprint`; `plain`, values that travel as packed bytes; `traits`;
// `compose`, arrays and tuples of plain values; then the types of other crates: `pointers`, `sequences`,
// `choices`, `arrays`, `serde`. Types with `MpiDatatype` are in `pack/message.rs`. This module knows no MPI.

#[cfg(any(feature = "nalgebra", feature = "nalgebra-0_34", feature = "ndarray"))]
mod arrays;
mod choices;
mod compose;
mod fingerprint;
mod format;
mod limits;
mod memory;
mod plain;
mod pointers;
mod reader;
mod sequences;
#[cfg(feature = "serde")]
mod serde;
mod traits;
mod whole;
mod writer;

#[doc(hidden)]
pub use choices::{greatest, no_variant};
pub use fingerprint::Fingerprint;
#[cfg(feature = "mpi")]
pub(crate) use format::Encoded;
pub use format::{from_bytes, from_bytes_into, read_from, to_bytes, write_to};
pub(crate) use limits::malformed;
#[cfg(feature = "mpi")]
pub(crate) use limits::unsendable;
#[doc(hidden)]
pub use memory::OwnedMemory;
#[doc(hidden)]
pub use plain::{Plain, PlainValues, PlainValuesMut};
pub use reader::Reader;
#[cfg(feature = "serde")]
pub use serde::Serde;
pub(crate) use traits::fixed;
pub use traits::{FromMessage, MpiMessage};
#[doc(hidden)]
pub use whole::Message;
#[cfg(feature = "mpi")]
pub(crate) use whole::{TRAILER, is_message};
pub use writer::Writer;
#[cfg(feature = "mpi")]
pub(crate) use writer::{keep, spare};
