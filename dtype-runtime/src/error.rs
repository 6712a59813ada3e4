//! What can go wrong at run time.

use std::{convert::Infallible, fmt};

use dtype_core::{BaseType, SelectionError};

/// Why a datatype could not be built, or bytes not be packed or unpacked.
///
/// `Debug` says the same as `Display`, since a `main` that returns an error prints that.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A buffer of packed bytes has the wrong length.
    #[error("{what} takes {expected} packed bytes, but the buffer has {found}")]
    Length {
        /// What is packed or unpacked.
        what: &'static str,
        /// Bytes needed.
        expected: usize,
        /// Bytes given.
        found: usize,
    },
    /// Packed bytes hold a pattern that is no value of its type. Nothing has been written.
    #[error(
        "at byte {offset} of the packed data is {found:#x}, and no `{what}` has that value; the sender's \
         layout differs or the data is damaged"
    )]
    InvalidValue {
        /// The type.
        what: &'static str,
        /// Which packed byte it begins at.
        offset: usize,
        /// Its bytes as a number, the first one lowest.
        found: u64,
    },
    /// A type tree for packing is none, or its bytes cannot be counted.
    #[error("{0}")]
    Tree(#[from] dtype_core::Error),
    /// A layout leaves the memory that it is joined to.
    #[error("the layout reaches from byte {first} to byte {end} of the memory, which has bytes 0 to {found}")]
    Reach {
        /// Its first byte.
        first: i128,
        /// One past its last byte.
        end: i128,
        /// Bytes of the memory.
        found: usize,
    },
    /// A range of packed bytes is not one of the layout's.
    #[error("there are {size} packed bytes, so {start}..{end} is no range of them")]
    Range {
        /// The first byte.
        start: usize,
        /// One past the last byte.
        end: usize,
        /// How many there are.
        size: usize,
    },
    /// Packed bytes begin or end within a value of which not every pattern is one.
    #[error(
        "byte {position} of the packed data is within a value, of which not every pattern is one, so a part \
         of it cannot be written: unpack whole values, or use an `Unpacker`, which waits for the rest"
    )]
    Torn {
        /// Which byte.
        position: usize,
    },
    /// Bytes cannot be written unseen where a `bool`, `char`, `NonZero` or enum is.
    #[error(
        "the layout holds values of which not every pattern is one, so what is written there has to be \
         checked: unpack it"
    )]
    Restricted,
    /// Two layouts hold different values, so that one cannot be copied into the other.
    #[error(
        "the layouts differ at packed byte {byte}: the source has a value of type {from} there, the \
         destination one of type {to}"
    )]
    Signature {
        /// The first packed byte of the value.
        byte: usize,
        /// Its base type in the source.
        from: BaseType,
        /// And in the destination.
        to: BaseType,
    },
    /// A [`Transpack`](crate::pack::Transpack) was used with other plans, or other numbers of copies, than it
    /// was made for.
    #[error("this `Transpack` was made for other plans or other numbers of copies: make one for these")]
    Plan,
    /// A segment was damaged on the way. Nothing of it has been written.
    #[error(
        "the segment's CRC-32C is {found:#010x} instead of {expected:#010x}: it was damaged on the way; \
         have it sent again"
    )]
    Checksum {
        /// What the sender has computed.
        expected: u32,
        /// What has arrived.
        found: u32,
    },
    /// A bound of a layout is not one of its array, or the array too large.
    #[error("{0}")]
    Selection(#[from] SelectionError),
    /// What a layout is taken of has another shape than the layout's array.
    #[error("the layout is a part of an array of {expected:?} elements, but the source has {found:?}")]
    Shape {
        /// The lengths of the dimensions of the layout's array.
        expected: Vec<usize>,
        /// Those of the source, or its length if it is a slice.
        found: Vec<usize>,
    },
    /// The bytes of a type map are fewer than it reaches.
    #[error("the type map reaches to byte {expected}, but the source has {found} bytes")]
    TooShort {
        /// Bytes needed.
        expected: usize,
        /// Bytes given.
        found: usize,
    },
    /// A ready-made layout cannot be had with these parameters.
    #[error("{shape}: {parameter} is {value}, but must be {requirement}")]
    Parameter {
        /// The layout: `Subarray`, `Darray`, `Halo` or `Tile`.
        shape: &'static str,
        /// The parameter, with its dimension.
        parameter: String,
        /// The value.
        value: i128,
        /// What it must be.
        requirement: String,
    },
    /// A layout that selects something twice cannot be received into.
    #[error(
        "the layout covers some bytes more than once, so what arrives there would depend on the order in \
         which it is written: it can be sent with `of`, but not received into"
    )]
    Overlap,
    /// Parts of one source overlap, one of which is to be written.
    #[error(
        "layout {write} of those to be written and layout {other} of those {} have bytes in common: what is \
         written may overlap nothing else, so receive into one after the other, or into memory of its own",
        if *is_read { "to be read" } else { "to be written" }
    )]
    Meet {
        /// Which of the layouts to be written.
        write: usize,
        /// Which other one.
        other: usize,
        /// Whether that is one to be read.
        is_read: bool,
    },
    /// MPI has not been initialized.
    #[error(
        "MPI is not initialized: call `mpi::initialize()` before an MPI datatype is used, or `in_session` \
         in a program of sessions"
    )]
    NotInitialized,
    /// MPI has been finalized, and its datatypes with it; or `in_session` has returned.
    #[error(
        "MPI datatypes cannot be used any more: MPI is finalized, as when the `Universe` is dropped, or \
         `in_session` has returned, which a program can run once"
    )]
    Finalized,
    /// MPI was initialized for calls from its main thread only.
    #[error(
        "MPI was initialized for calls from one thread, and this is another one: call from the thread that \
         has initialized it, or use `mpi::initialize_with_threading(mpi::Threading::Multiple)`"
    )]
    Thread,
    /// A number is no tag.
    #[error("{tag} is no tag: a tag is 0 to {greatest} with this MPI library")]
    Tag {
        /// The number.
        tag: i32,
        /// The greatest tag.
        greatest: i32,
    },
    /// A number is no rank.
    #[error("{rank} is no rank of this communicator, which has {ranks}, counted from 0")]
    Rank {
        /// The number.
        rank: i32,
        /// How many ranks there are.
        ranks: i32,
    },
    /// The table of wires that the environment variable `DTYPE_WIRES` names cannot be used.
    #[error("the table of wires {file}, which `DTYPE_WIRES` names: {reason}")]
    Table {
        /// The file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A message has another size than what it is received into. Nothing has been written.
    #[error(
        "the message{} has {found} packed bytes, but what it is received into has {expected}: sender and \
         receiver must have the same values in all",
        sender(*from)
    )]
    Fit {
        /// Packed bytes of what it is received into.
        expected: usize,
        /// Packed bytes of the message.
        found: usize,
        /// The rank that sent it, and its tag; nothing in a collective call.
        from: Option<(i32, i32)>,
    },
    /// A message is longer than there was room for: longer than anything that could fit. Nothing has been
    /// written.
    #[error(
        "the message has more than {room} bytes, but what it is received into has {expected} packed ones: \
         sender and receiver must have the same values in all"
    )]
    TooLong {
        /// Packed bytes of what it is received into.
        expected: usize,
        /// What there was room for.
        room: usize,
    },
    /// A message holds other values than what it is received into (only with `DTYPE_CHECK=1`). Nothing has
    /// been written.
    #[error(
        "{} from rank {rank} holds {found}, but what it is received into holds {expected}: sender and \
         receiver must have the same base types in the same order",
        tag.map_or("its part".to_owned(), |tag| format!("the message with tag {tag}"))
    )]
    Mismatch {
        /// Who has sent it.
        rank: i32,
        /// Its tag, unless it is a part of a collective call.
        tag: Option<i32>,
        /// The type signature of what it is received into.
        expected: String,
        /// That of the message.
        found: String,
    },
    /// Bytes that a rank has announced in a collective call have not come. Nothing has been written.
    #[error(
        "the {bytes} packed bytes that rank {rank} has announced in this collective call have not all come: \
         all ranks must make the same calls, with the same version of this library and the same \
         `DTYPE_CHECK`"
    )]
    Announced {
        /// Which rank.
        rank: i32,
        /// The packed bytes that it has announced.
        bytes: usize,
    },
    /// What has arrived on the wire of segments is none of ours. Some of what it is received into may have
    /// been written.
    #[error("what rank {rank} has sent is no segment of this message: {reason}")]
    Segment {
        /// Who has sent it.
        rank: i32,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// What is to be divided among all ranks cannot be.
    #[error("there are {found} {what}, and {ranks} ranks: each must have as many")]
    Parts {
        /// What is divided.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many ranks.
        ranks: usize,
    },
    /// A message cannot travel on a wire.
    #[error("this message cannot travel on the {wire} wire: {reason}")]
    Wire {
        /// Which wire.
        wire: &'static str,
        /// Why not.
        reason: &'static str,
    },
    /// Bytes do not tell of a layout, or a layout cannot be told in bytes.
    #[error("these bytes are no layout: {reason}")]
    Marshal {
        /// Why not.
        reason: String,
    },
    /// There is no memory for a buffer.
    #[error("there is no memory for a buffer of {bytes} bytes")]
    Memory {
        /// Bytes of it.
        bytes: usize,
    },
    /// An existing datatype cannot be told by a type tree, or a leaf of a type tree is none in this library.
    #[error("the datatype {name} cannot be used: {reason}")]
    Datatype {
        /// Its name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// Values can be packed as this machine has them only.
    #[error(
        "{base} can be packed as this machine has it only: in another representation its bits would mean \
         something else"
    )]
    Representation {
        /// What cannot be written otherwise.
        base: BaseType,
    },
    /// An argument does not fit the type that the MPI call has for it.
    #[error("{call}: {value} does not fit its argument `{argument}`; the limit is {limit}")]
    Argument {
        /// The MPI function.
        call: &'static str,
        /// The standard's name of the argument.
        argument: &'static str,
        /// The value.
        value: i128,
        /// The greatest value that fits.
        limit: i128,
    },
    /// An MPI call failed.
    #[error("{call} failed: {text} (error code {code})")]
    Mpi {
        /// The MPI function.
        call: &'static str,
        /// What it returned.
        code: i32,
        /// What the library says of it.
        text: String,
    },
}

/// Who sent a message, and with which tag, if that is known.
fn sender(from: Option<(i32, i32)>) -> String {
    from.map_or_else(String::new, |(rank, tag)| format!(" from rank {rank} with tag {tag}"))
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Infallible> for Error {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl Error {
    /// Checks that a buffer has just the length that is needed.
    #[inline]
    pub(crate) fn unless_exactly(what: &'static str, expected: usize, found: usize) -> Result<(), Self> {
        if found == expected { Ok(()) } else { Err(Self::Length { what, expected, found }) }
    }

    /// Checks that a buffer has the length that is needed, or more.
    #[inline]
    pub(crate) fn unless_room(what: &'static str, expected: usize, found: usize) -> Result<(), Self> {
        if found >= expected { Ok(()) } else { Err(Self::Length { what, expected, found }) }
    }

    /// The same error in bytes that so many others precede.
    pub(crate) fn behind(self, bytes: usize) -> Self {
        match self {
            Self::InvalidValue { what, offset, found } => {
                Self::InvalidValue { what, offset: offset + bytes, found }
            }
            other => other,
        }
    }
}
