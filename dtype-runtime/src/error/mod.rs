//! The error type of this crate.

mod kind;

use std::{convert::Infallible, fmt};

use dtype_core::SelectionError;

pub use kind::ErrorKind;

use crate::pack;

/// Any error of this crate: of datatypes, layouts, packing, messages and MPI calls.
///
/// The text says what happened, with the values, and what to change. A program acts on the
/// [`kind`](Self::kind). The variants have the values; they may change in any version. `Debug` prints both,
/// since `unwrap` uses it.
///
/// # Do not return it from `main`
///
/// `run` prints the error of a rank, and ends the job. Without it, a rank that returns an
/// error from `main` first waits in `MPI_Finalize` for the other ranks. If these wait for a message of this
/// rank, the job hangs, and the error is never printed. So print the error, and end the job:
///
/// ```no_run
/// # #[cfg(feature = "mpi")] {
/// use dtype_runtime::{Comm, Result};
/// use mpi::traits::*;
///
/// fn work(world: &Comm) -> Result {
///     // … the program …
///     world.peer(0).send(&7)
/// }
///
/// fn main() {
///     let universe = mpi::initialize().unwrap();
///     let world = Comm::from(universe.world());
///     if let Err(error) = work(&world) {
///         eprintln!("rank {}: {error}", world.rank());
///         world.abort(1);
///     }
/// }
/// # main();
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Packed bytes, a plan, or memory for one.
    #[doc(hidden)]
    #[error(transparent)]
    Pack(#[from] pack::Error),
    /// An MPI call failed, or MPI does not allow it.
    #[cfg(feature = "mpi")]
    #[doc(hidden)]
    #[error(transparent)]
    Library(dtype_mpi::Error),
    /// The selection of a layout is invalid, or its array is too large.
    #[doc(hidden)]
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// An array of the program has another shape than the array of the layout.
    #[doc(hidden)]
    #[error("the layout or part is of an array of shape {expected:?}, but this array has shape {found:?}")]
    Shape {
        /// The lengths of the dimensions of the layout's array.
        expected: Vec<usize>,
        /// The lengths of the dimensions of the program's array, or its length if it is a slice.
        found: Vec<usize>,
    },
    /// A parameter of a layout or of a call has an invalid value.
    #[doc(hidden)]
    #[error("{shape}: {parameter} is {value}, but must be {requirement}")]
    Parameter {
        /// The layout: `Subarray`, `Darray`, `Halo` or `Tile`.
        shape: &'static str,
        /// The name of the parameter, with its dimension.
        parameter: String,
        value: i128,
        /// The requirement that the value does not meet.
        requirement: String,
    },
    /// A view of a file selects elements in another order than they have in the file.
    #[doc(hidden)]
    #[error(
        "a view of a file selects elements in ascending order, each of them once: sort the indices of the \
         layout, and use positive steps"
    )]
    Ascending,
    /// A file cannot be opened, read or written.
    #[doc(hidden)]
    #[error("{path}: {reason}")]
    File { path: String, reason: String },
    /// A reduction with a function of the program has no result.
    #[doc(hidden)]
    #[error("the reduction has no result: {reason}")]
    Reduction { reason: &'static str },
    /// A window cannot be opened or used.
    #[doc(hidden)]
    #[error("the window cannot be used: {reason}")]
    Window { reason: String },
    /// Another rank has an error in a collective call, so none has a result.
    #[doc(hidden)]
    #[error("rank {rank} has an error in this call, which its own message describes: no rank has a result")]
    Elsewhere {
        /// The rank. If several have errors, the highest of them.
        rank: i32,
    },
    /// The parts of a distributed array do not fit together.
    #[doc(hidden)]
    #[error("the global array cannot be redistributed: {reason}")]
    Distribution {
        /// The mistake, with its ranks and numbers.
        reason: String,
    },
    /// Two parts of one source overlap, and at least one of them is to be written.
    #[doc(hidden)]
    #[error(
        "layout {write} to be written and layout {other} {} overlap: receive into one after the other, or \
         into separate memory",
        if *is_read { "to be read" } else { "to be written" }
    )]
    Meet {
        /// The position of the layout in the list of layouts to be written.
        write: usize,
        /// The position of the other layout in its list.
        other: usize,
        /// `true` if the other layout is in the list of layouts to be read.
        is_read: bool,
    },
    /// A tag is out of range.
    #[doc(hidden)]
    #[error("{tag} is not a valid tag: with this MPI library tags are 0 to {greatest}")]
    Tag { tag: i32, greatest: i32 },
    /// A rank is out of range.
    #[doc(hidden)]
    #[error("{rank} is not a rank of this communicator, which has {ranks}, counted from 0")]
    Rank { rank: i32, ranks: i32 },
    /// A communicator has no neighbours.
    #[doc(hidden)]
    #[error("this communicator has no neighbours: create one with `world.cartesian(…)` or `world.graph(…)`")]
    NoNeighbours,
    /// Ranks name different edges of a graph.
    #[doc(hidden)]
    #[error(
        "the ranks name different edges of the graph, which have {sources} sources and {destinations} \
         destinations in all: a rank that is named as a destination must name the other rank as a source"
    )]
    Edges { sources: u64, destinations: u64 },
    /// A message has another size than its destination. Nothing has been written, except by Intel MPI into
    /// long memory.
    #[doc(hidden)]
    #[error(
        "the message{} has {}{}: sender and receiver must have the same number of \
         values of the same type",
        sender(*from),
        found.map_or("more than its destination, which has ".to_owned(), |found| {
            format!("{}, but its destination has ", size(found, *value))
        }),
        size(*expected, *value)
    )]
    Fit {
        /// The packed size of one value in bytes, or 1 if the destination does not consist of equal values.
        value: usize,
        /// The packed size of the destination in bytes.
        expected: usize,
        /// The packed size of the message in bytes; `None` if it is only known to be larger than `expected`.
        found: Option<usize>,
        /// The rank that sent the message, and its tag, which is negative if it is not known; `None` in a
        /// collective call, or if the rank is not known.
        from: Option<(i32, i32)>,
    },
    /// The communicator of a message that was prepared or started has been freed.
    #[doc(hidden)]
    #[error("the communicator of this message has been freed: prepare and start messages on one that lives")]
    Freed,
    /// A receive that was not started cannot be finished.
    #[doc(hidden)]
    #[error("{what} was not started: call `start` before `finish`")]
    NotStarted { what: &'static str },
    /// A rank sent another number of values than this rank expects from it, in a call that exchanges messages
    /// of several ranks. Nothing has been written.
    #[doc(hidden)]
    #[error(
        "rank {rank} sent {}, but this rank expects {} from it: {}all ranks must agree on what they \
         exchange; in a halo, on the widths, the number of arrays, the element type, and the sizes of shared \
         faces",
        found.map_or("more".to_owned(), |found| size(found, *value)),
        size(*expected, *value),
        if *found == Some(0) { "it has an error of its own, or nothing to send; " } else { "" }
    )]
    Neighbour {
        rank: i32,
        /// The packed size of one value in bytes.
        value: usize,
        /// The packed size of the destination in bytes.
        expected: usize,
        /// The packed size of the message in bytes; `None` if it is only known to be larger than `expected`.
        found: Option<usize>,
    },
    /// A message holds other base types than its destination. Nothing has been written. (The check needs
    /// `DTYPE_CHECK=1`, and between two ranks an attached communicator.)
    #[doc(hidden)]
    #[error(
        "{} from rank {rank} holds {found}, but its destination holds {expected}: sender and receiver must \
         have the same base types in the same order, as many of them",
        tag.map_or("the part".to_owned(), |tag| format!("the message with tag {tag}"))
    )]
    Mismatch {
        rank: i32,
        /// The tag of the message; `None` for a part of a collective call.
        tag: Option<i32>,
        expected: String,
        found: String,
    },
    /// Bytes that a rank announced in a collective call did not arrive. Nothing has been written.
    #[doc(hidden)]
    #[error(
        "rank {rank} announced {bytes} packed bytes in this collective call, but not all of them arrived: \
         all ranks must make the same calls, with the same version of this library and the same `DTYPE_CHECK`"
    )]
    Announced {
        /// The rank that announced the bytes.
        rank: i32,
        /// The number of packed bytes that the rank announced.
        bytes: usize,
    },
    /// A message on the segments wire is not a segment of the expected message. Part of the destination may
    /// have been written.
    #[doc(hidden)]
    #[error("rank {rank} sent a message that is not a segment of this one: {reason}")]
    Segment { rank: i32, reason: &'static str },
    /// A message cannot be divided among all ranks.
    #[doc(hidden)]
    #[error(
        "{found} packed bytes cannot be divided among {ranks} ranks or neighbours: each must have an equal \
         number of whole values; an array is one value, so pass a slice of it (`&values[..]`)"
    )]
    Parts {
        /// The packed size of the message in bytes.
        found: usize,
        ranks: usize,
    },
    /// There are more or fewer messages than ranks.
    #[doc(hidden)]
    #[error("there are {found} {what}, but there must be {ranks}: one for each rank or neighbour")]
    Messages {
        /// The name of the messages: `messages to send` or `messages to receive into`.
        what: &'static str,
        found: usize,
        ranks: usize,
    },
    /// A message cannot travel on a wire.
    #[doc(hidden)]
    #[error("this message cannot travel on the {wire} wire: {reason}")]
    Wire { wire: &'static str, reason: &'static str },
    /// Bytes are not a message, or not one of the type asked for. No value was made.
    #[doc(hidden)]
    #[error(
        "the message{} cannot be read: {reason}",
        from.map_or(String::new(), |rank| format!(" from rank {rank}"))
    )]
    Message {
        /// The rank that sent the message; `None` if the bytes come from elsewhere.
        from: Option<i32>,
        reason: String,
    },
    /// A value cannot be sent as a message.
    #[doc(hidden)]
    #[error("the value cannot be sent: {reason}")]
    Unsendable { reason: String },
    /// Bytes do not describe a layout, or a layout cannot be described in bytes.
    #[doc(hidden)]
    #[error("these bytes do not describe a layout: {reason}")]
    Marshal { reason: String },
}

impl Error {
    /// Returns the kind of the error.
    ///
    /// ```
    /// use dtype_runtime::{ErrorKind, unpack_into};
    ///
    /// let error = unpack_into(&[1, 2], &mut [false; 2]).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Value);
    /// ```
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Pack(error) => kind_of_pack(error),
            Self::Selection { .. }
            | Self::Shape { .. }
            | Self::Parameter { .. }
            | Self::Ascending
            | Self::Window { .. }
            | Self::Distribution { .. }
            | Self::Meet { .. }
            | Self::Tag { .. }
            | Self::Rank { .. }
            | Self::NoNeighbours
            | Self::Edges { .. }
            | Self::Parts { .. }
            | Self::Messages { .. }
            | Self::Unsendable { .. } => ErrorKind::Argument,
            Self::Fit { .. } | Self::Neighbour { .. } | Self::Announced { .. } => ErrorKind::Size,
            Self::Mismatch { .. } | Self::Segment { .. } | Self::Message { .. } | Self::Marshal { .. } => {
                ErrorKind::Type
            }
            Self::Reduction { .. } | Self::Elsewhere { .. } => ErrorKind::Elsewhere,
            Self::Wire { .. } => ErrorKind::Unsupported,
            Self::Freed | Self::NotStarted { .. } => ErrorKind::State,
            Self::File { .. } => ErrorKind::File,
            #[cfg(feature = "mpi")]
            Self::Library(error) => kind_of_library(error),
        }
    }

    /// Returns the size that was expected and the one that was found, in bytes, if the error is about sizes.
    /// The latter is `None` if it is only known to be greater.
    ///
    /// ```
    /// use dtype_runtime::unpack_into;
    ///
    /// let error = unpack_into(&[1, 2], &mut [0u64; 3]).unwrap_err();
    /// assert_eq!(error.sizes(), Some((24, Some(2))));
    /// ```
    pub fn sizes(&self) -> Option<(usize, Option<usize>)> {
        match self {
            Self::Pack(pack::Error::Length { expected, found, .. }) => Some((*expected, Some(*found))),
            Self::Fit { expected, found, .. } | Self::Neighbour { expected, found, .. } => {
                Some((*expected, *found))
            }
            _ => None,
        }
    }

    /// Returns the rank that the error is about: the sender of a message, the rank with an error, or a rank
    /// that does not exist.
    pub fn rank(&self) -> Option<usize> {
        let rank = match self {
            Self::Fit { from, .. } => from.map(|(rank, _)| rank),
            Self::Message { from, .. } => *from,
            Self::Neighbour { rank, .. }
            | Self::Announced { rank, .. }
            | Self::Mismatch { rank, .. }
            | Self::Segment { rank, .. }
            | Self::Elsewhere { rank }
            | Self::Rank { rank, .. } => Some(*rank),
            _ => None,
        };
        rank.and_then(|rank| usize::try_from(rank).ok())
    }

    /// Adds the rank that sent a message that cannot be read.
    #[cfg(feature = "mpi")]
    pub(crate) fn sent_by(self, rank: i32) -> Self {
        match self {
            Self::Message { from: None, reason } => Self::Message { from: Some(rank), reason },
            other => other,
        }
    }
}

#[cfg(feature = "mpi")]
fn kind_of_library(error: &dtype_mpi::Error) -> ErrorKind {
    use dtype_mpi::Error as Of;
    match error {
        Of::NotInitialized | Of::Finalized | Of::Thread => ErrorKind::State,
        Of::Datatype { .. } | Of::Argument { .. } => ErrorKind::Unsupported,
        Of::Construction { .. } | Of::Mpi { .. } => ErrorKind::Mpi,
        Of::Tree(_) => ErrorKind::Argument,
    }
}

fn kind_of_pack(error: &pack::Error) -> ErrorKind {
    match error {
        pack::Error::Length { .. } => ErrorKind::Size,
        pack::Error::InvalidValue { .. } | pack::Error::Checksum { .. } => ErrorKind::Value,
        pack::Error::Tree { .. }
        | pack::Error::Reach { .. }
        | pack::Error::Range { .. }
        | pack::Error::Torn { .. }
        | pack::Error::Plan
        | pack::Error::Overlap => ErrorKind::Argument,
        pack::Error::Restricted | pack::Error::Representation { .. } => ErrorKind::Unsupported,
        pack::Error::Signature { .. } => ErrorKind::Type,
        pack::Error::Memory { .. } => ErrorKind::Memory,
    }
}

/// Returns a size in values, with the packed bytes in parentheses.
fn size(bytes: usize, value: usize) -> String {
    let plural = |number| if number == 1 { "" } else { "s" };
    match (bytes / value.max(1), bytes % value.max(1)) {
        _ if value <= 1 => format!("{bytes} packed byte{}", plural(bytes)),
        (values, rest) => {
            let part = if rest == 0 { "" } else { " and a part of one" };
            format!("{values} value{}{part} ({bytes} packed byte{})", plural(values), plural(bytes))
        }
    }
}

/// Returns the text ` from rank … with tag …` as far as they are known.
fn sender(from: Option<(i32, i32)>) -> String {
    match from {
        None => String::new(),
        Some((rank, ..0)) => format!(" from rank {rank}"),
        Some((rank, tag)) => format!(" from rank {rank} with tag {tag}"),
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.kind())
    }
}

impl From<Infallible> for Error {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl From<dtype_core::Error> for Error {
    fn from(error: dtype_core::Error) -> Self {
        pack::Error::from(error).into()
    }
}

#[cfg(test)]
mod tests {
    use super::Error;

    #[test]
    fn debug_names_the_kind_and_says_what_display_says() {
        let error = Error::Fit { value: 4, expected: 12, found: Some(6), from: Some((1, 0)) };
        assert_eq!(
            error.to_string(),
            "the message from rank 1 with tag 0 has 1 value and a part of one (6 packed bytes), but its \
             destination has 3 values (12 packed bytes): sender and receiver must have the same number of \
             values of the same type"
        );
        assert_eq!(format!("{error:?}"), format!("Size: {error}"));
        assert_eq!((error.sizes(), error.rank()), (Some((12, Some(6))), Some(1)));
        let error = Error::Fit { value: 1, expected: 1, found: None, from: Some((2, -1)) };
        assert_eq!(
            error.to_string(),
            "the message from rank 2 has more than its destination, which has 1 packed byte: sender and \
             receiver must have the same number of values of the same type"
        );
        let error = Error::from(dtype_core::Error::EmptyMap);
        assert!(format!("{error:?}").starts_with("Argument: "));
    }
}
