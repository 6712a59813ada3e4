//! The error type of the pack engine.

use dtype_core::BaseType;

/// An error of a plan, of the memory that it is joined to, or of packed bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A buffer of packed bytes has the wrong length.
    #[error("{what} takes {expected} packed bytes, but the buffer has {found}")]
    Length {
        /// The name of the type or object that is packed or unpacked.
        what: &'static str,
        /// The required length in bytes.
        expected: usize,
        /// The length of the buffer in bytes.
        found: usize,
    },
    /// Packed bytes hold a pattern that is not a valid value of their type. Nothing of this message or
    /// segment has been written.
    #[error(
        "byte {offset} of the packed data: {found:#x} is not a valid `{what}`; the sender's layout differs, \
         or the data is damaged"
    )]
    InvalidValue {
        /// The name of the type.
        what: &'static str,
        /// The position of the value's first packed byte.
        offset: usize,
        /// The bytes of the value as a little-endian number.
        found: u64,
    },
    /// A type tree is invalid, its byte positions exceed `i64`, or its type map is too long to list.
    #[error(transparent)]
    Tree(#[from] dtype_core::Error),
    /// A layout reaches beyond the memory that was passed with it.
    #[error("the layout reaches from byte {first} to byte {end}, but the memory has {found} bytes")]
    Reach {
        /// The first byte of the layout.
        first: i128,
        /// One past the last byte of the layout.
        end: i128,
        /// The size of the memory in bytes.
        found: usize,
    },
    /// A range is not within the packed bytes of the layout.
    #[error("{start}..{end} is not a range of the {size} packed bytes")]
    Range {
        /// The first byte of the range.
        start: usize,
        /// One past the last byte of the range.
        end: usize,
        /// The number of packed bytes.
        size: usize,
    },
    /// Packed bytes begin or end within a value of a restricted type.
    #[error(
        "byte {position} of the packed data is within a value of a restricted type (not every byte pattern \
         is valid), which cannot be written in part: unpack whole values, or use an `Unpacker`, which waits \
         for the rest"
    )]
    Torn {
        /// The position at which the packed bytes begin or end.
        position: usize,
    },
    /// Bytes cannot be written unchecked over values of a restricted type.
    #[error(
        "the layout holds values of a restricted type (`bool`, `char`, `NonZero` or an enum), so bytes \
         cannot be written there unchecked: unpack them"
    )]
    Restricted,
    /// Two layouts hold different base types, so one cannot be copied into the other.
    #[error(
        "the layouts differ at packed byte {byte}: the source has a value of type {from}, the destination \
         one of type {to}"
    )]
    Signature {
        /// The position of the value's first packed byte.
        byte: usize,
        /// The base type of the value in the source.
        from: BaseType,
        /// The base type of the value in the destination.
        to: BaseType,
    },
    /// A [`Transpack`](crate::Transpack) was used with other plans, or other numbers of copies, than those
    /// that it was made for.
    #[error("this `Transpack` was built for other plans or counts: build one for these plans and counts")]
    Plan,
    /// A segment given to an [`Unpacker`](crate::Unpacker) does not have the checksum that its sender
    /// computed. Nothing of the segment has been written. (Messages on the segments wire have no checksums.)
    #[error(
        "the segment is damaged: its CRC-32C is {found:#010x}, but the sender computed {expected:#010x}; \
         have it sent again"
    )]
    Checksum {
        /// The checksum that the sender computed.
        expected: u32,
        /// The checksum of the bytes that arrived.
        found: u32,
    },
    /// A layout that selects a byte twice cannot be received into.
    #[error(
        "the layout covers some bytes more than once, so the result would depend on the order of writing: it \
         can be sent with `of`, but not received into"
    )]
    Overlap,
    /// There is no memory for a buffer.
    #[error("out of memory: a buffer of {bytes} bytes cannot be allocated")]
    Memory {
        /// The size of the buffer in bytes.
        bytes: usize,
    },
    /// A base type can be packed only in the representation of this machine.
    #[error(
        "{base} can only be packed in the representation of this machine: its bits have another meaning in \
         other representations"
    )]
    Representation {
        /// The base type that cannot be converted.
        base: BaseType,
    },
}

impl Error {
    /// Checks that a buffer has exactly the required length.
    ///
    /// # Errors
    /// [`Length`](Self::Length).
    #[inline]
    pub fn unless_exactly(what: &'static str, expected: usize, found: usize) -> Result<(), Self> {
        if found == expected { Ok(()) } else { Err(Self::Length { what, expected, found }) }
    }

    /// Checks that a buffer has at least the required length.
    ///
    /// # Errors
    /// [`Length`](Self::Length).
    #[inline]
    pub fn unless_room(what: &'static str, expected: usize, found: usize) -> Result<(), Self> {
        if found >= expected { Ok(()) } else { Err(Self::Length { what, expected, found }) }
    }

    /// Adds `bytes` to the offset of an invalid value. The checked bytes follow `bytes` other packed bytes.
    #[must_use]
    pub fn behind(self, bytes: usize) -> Self {
        match self {
            Self::InvalidValue { what, offset, found } => {
                Self::InvalidValue { what, offset: offset + bytes, found }
            }
            other => other,
        }
    }
}
