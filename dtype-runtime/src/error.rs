//! What can go wrong at run time.

use std::{convert::Infallible, fmt};

use dtype_core::{BaseType, SelectionError};

/// Any error of this crate: of datatypes, layouts, packing, messages and MPI calls.
///
/// `Debug` is the variant and the text of `Display`, since `unwrap` and a `main` that returns an error print
/// that.
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
    /// Packed bytes hold a pattern that is not a valid value of its type. Nothing of this message or segment
    /// has been written.
    #[error(
        "byte {offset} of the packed data: {found:#x} is not a valid `{what}`; the sender's layout differs, \
         or the data is damaged"
    )]
    InvalidValue {
        /// The type.
        what: &'static str,
        /// The packed byte at which it begins.
        offset: usize,
        /// Its bytes as a number, the first one lowest.
        found: u64,
    },
    /// A type tree is invalid, or its bytes cannot be counted.
    #[error(transparent)]
    Tree(#[from] dtype_core::Error),
    /// A layout reaches beyond the memory that it is joined to.
    #[error("the layout reaches from byte {first} to byte {end}, but the memory has {found} bytes")]
    Reach {
        /// Its first byte.
        first: i128,
        /// One past its last byte.
        end: i128,
        /// Bytes of the memory.
        found: usize,
    },
    /// A range of packed bytes is not within those of the layout.
    #[error("{start}..{end} is not a range of the {size} packed bytes")]
    Range {
        /// The first byte.
        start: usize,
        /// One past the last byte.
        end: usize,
        /// How many there are.
        size: usize,
    },
    /// Packed bytes begin or end within a value of a restricted type.
    #[error(
        "byte {position} of the packed data is within a value of a restricted type (not every byte pattern \
         is valid), which cannot be written in part: unpack whole values, or use an `Unpacker`, which waits \
         for the rest"
    )]
    Torn {
        /// The byte.
        position: usize,
    },
    /// Bytes cannot be written unchecked where a value of a restricted type is.
    #[error(
        "the layout holds values of a restricted type (`bool`, `char`, `NonZero` or an enum), so bytes \
         cannot be written there unchecked: unpack them"
    )]
    Restricted,
    /// Two layouts hold different base types, so that one cannot be copied into the other.
    #[error(
        "the layouts differ at packed byte {byte}: the source has a value of type {from}, the destination \
         one of type {to}"
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
    #[error("this `Transpack` was made for other plans, or for other numbers of copies: make one for these")]
    Plan,
    /// A segment given to an [`Unpacker`](crate::pack::Unpacker) does not have the checksum that its sender
    /// computed. Nothing of it has been written. (The wire of segments has no checksums.)
    #[error(
        "the segment is damaged: its CRC-32C is {found:#010x}, but the sender computed {expected:#010x}; \
         have it sent again"
    )]
    Checksum {
        /// The checksum that the sender computed.
        expected: u32,
        /// The checksum of what arrived.
        found: u32,
    },
    /// A layout selects what its array does not have, or the array is too large.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// A source has another shape than the array of the layout.
    #[error("the layout is part of an array of shape {expected:?}, but the source has shape {found:?}")]
    Shape {
        /// The lengths of the dimensions of the layout's array.
        expected: Vec<usize>,
        /// Those of the source, or its length if it is a slice.
        found: Vec<usize>,
    },
    /// A ready-made layout does not exist with these parameters.
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
        "the layout covers some bytes more than once, so the result would depend on the order of writing: it \
         can be sent with `of`, but not received into"
    )]
    Overlap,
    /// Two parts of one source overlap, and at least one of them is to be written.
    #[error(
        "layout {write} of those to be written and layout {other} of those {} overlap: receive into one \
         after the other, or into separate memory",
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
    /// A tag is out of range.
    #[error("{tag} is not a valid tag: with this MPI library tags are 0 to {greatest}")]
    Tag {
        /// The tag.
        tag: i32,
        /// The greatest tag.
        greatest: i32,
    },
    /// A rank is out of range.
    #[error("{rank} is not a rank of this communicator, which has {ranks}, counted from 0")]
    Rank {
        /// The rank.
        rank: i32,
        /// The size of the communicator.
        ranks: i32,
    },
    /// A table of wires cannot be used: that which the environment variable `DTYPE_WIRES` names, or one that
    /// was handed to `wire::calibrate_with`.
    #[error("the table of wires {table} cannot be used: {reason}")]
    Table {
        /// Which one.
        table: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A message has another size than what it is received into. Nothing has been written.
    #[error(
        "the message{} has {}{expected} packed bytes: sender and receiver must have the same number of \
         values",
        sender(*from),
        found.map_or("more than what it is received into, which has ".to_owned(), |found| {
            format!("{found} packed bytes, but what it is received into has ")
        })
    )]
    Fit {
        /// Packed bytes of what it is received into.
        expected: usize,
        /// Packed bytes of the message; nothing where it is only known that there are more.
        found: Option<usize>,
        /// The rank that sent it, and its tag; nothing in a collective call, and where they are not known.
        from: Option<(i32, i32)>,
    },
    /// A message holds other base types than what it is received into (only with `DTYPE_CHECK=1`, and between
    /// two ranks only on communicators with [`wire::attach`](crate::wire::attach())). Nothing has been
    /// written.
    #[error(
        "{} from rank {rank} holds {found}, but what it is received into holds {expected}: sender and \
         receiver must have the same base types in the same order",
        tag.map_or("the part".to_owned(), |tag| format!("the message with tag {tag}"))
    )]
    Mismatch {
        /// The rank that sent it.
        rank: i32,
        /// Its tag, unless it is a part of a collective call.
        tag: Option<i32>,
        /// The type signature of what it is received into.
        expected: String,
        /// That of the message.
        found: String,
    },
    /// Bytes that a rank announced in a collective call did not arrive. Nothing has been written.
    #[error(
        "rank {rank} announced {bytes} packed bytes in this collective call, but not all of them arrived: \
         all ranks must make the same calls, with the same version of this library and the same `DTYPE_CHECK`"
    )]
    Announced {
        /// The rank.
        rank: i32,
        /// The packed bytes that it announced.
        bytes: usize,
    },
    /// A message on the wire of segments is not a segment of ours. Some of what it is received into may have
    /// been written.
    #[error("rank {rank} sent something else than a segment of this message: {reason}")]
    Segment {
        /// The rank that sent it.
        rank: i32,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Messages or values cannot be divided among all ranks.
    #[error(
        "there are {found} {what}, but the communicator has {ranks} ranks: each must have one message, or an \
         equal part of whole values; an array is one value, so pass a slice of it (`&values[..]`)"
    )]
    Parts {
        /// What is divided.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// The number of ranks.
        ranks: usize,
    },
    /// A message cannot travel on a wire.
    #[error("this message cannot travel on the {wire} wire: {reason}")]
    Wire {
        /// The wire.
        wire: &'static str,
        /// Why not.
        reason: &'static str,
    },
    /// Bytes do not describe a layout, or a layout cannot be described in bytes.
    #[error("these bytes do not describe a layout: {reason}")]
    Marshal {
        /// Why not.
        reason: String,
    },
    /// There is no memory for a buffer.
    #[error("out of memory: a buffer of {bytes} bytes cannot be allocated")]
    Memory {
        /// The size of the buffer.
        bytes: usize,
    },
    /// A datatype has no type tree, or a base type has no datatype in this library.
    #[error("the datatype {name} cannot be used: {reason}")]
    Datatype {
        /// Its name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// A base type can only be packed as this machine stores it.
    #[error(
        "{base} can only be packed as this machine stores it: in another representation its bits would mean \
         something else"
    )]
    Representation {
        /// The base type.
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
    /// The MPI library has built another datatype than it was asked for, as Open MPI does where counts
    /// overflow. The datatype is not used.
    #[error(
        "asked for a datatype of {asked_size} bytes of data, in bytes {} to {} of memory, {library} has \
         built one of {built_size}, in bytes {} to {}: divide the message, or use another library",
        asked_range.0, asked_range.1, built_range.0, built_range.1
    )]
    Construction {
        /// The library, as it calls itself.
        library: String,
        /// Bytes of data of the datatype that was asked for.
        asked_size: u64,
        /// Its first byte, and one past its last one.
        asked_range: (i64, i64),
        /// Bytes of data of the datatype that was built, as `MPI_Type_size_x` says.
        built_size: i64,
        /// Its first byte and one past its last one, as `MPI_Type_get_true_extent_x` says.
        built_range: (i64, i64),
    },
    /// An MPI call failed.
    #[error("{call} failed: {text} (error code {code})")]
    Mpi {
        /// The MPI function.
        call: &'static str,
        /// What it returned.
        code: i32,
        /// The library's text of the error code.
        text: String,
    },
}

/// Who sent a message, and with which tag, if that is known.
fn sender(from: Option<(i32, i32)>) -> String {
    from.map_or_else(String::new, |(rank, tag)| format!(" from rank {rank} with tag {tag}"))
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        macro_rules! name {
            ($($variant:ident)*) => { match self { $(Self::$variant { .. } => stringify!($variant),)* } };
        }
        let name = name! {
            Length InvalidValue Tree Reach Range Torn Restricted Signature Plan Checksum Selection Shape
            Parameter Overlap Meet NotInitialized Finalized Thread Tag Rank Table Fit Mismatch Announced
            Segment Parts Wire Marshal Memory Datatype Representation Argument Construction Mpi
        };
        write!(f, "{name}: {self}")
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

    /// The same error in bytes that `bytes` others precede.
    pub(crate) fn behind(self, bytes: usize) -> Self {
        match self {
            Self::InvalidValue { what, offset, found } => {
                Self::InvalidValue { what, offset: offset + bytes, found }
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Error;

    #[test]
    fn debug_names_the_variant_and_says_what_display_says() {
        let error = Error::Fit { expected: 12, found: Some(3), from: None };
        assert_eq!(format!("{error:?}"), format!("Fit: {error}"));
        assert!(format!("{:?}", Error::Plan).starts_with("Plan: this `Transpack`"));
        let error = Error::from(dtype_core::Error::EmptyMap);
        assert!(format!("{error:?}").starts_with("Tree: "));
    }
}
