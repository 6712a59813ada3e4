//! The limits of a message, and its errors.

use crate::Error;

/// The least size of a block in bytes. A shorter slice is copied into the in-band part.
pub(super) const BLOCK: usize = 32 << 10;

/// The greatest number of levels of pointers and sequences within each other.
pub(super) const DEEPEST: usize = 128;

/// The error of a message that cannot be read.
#[cold]
pub(crate) fn malformed(reason: impl Into<String>) -> Error {
    Error::Message { reason: reason.into() }
}

#[cold]
pub(super) fn too_deep() -> Error {
    malformed(format!("values are nested more than {DEEPEST} levels deep"))
}
