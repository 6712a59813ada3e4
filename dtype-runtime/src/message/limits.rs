//! The limits of a message, and its errors.

use crate::Error;

/// The least size of a block in bytes. A shorter slice is copied into the in-band part.
pub(super) const BLOCK: usize = 32 << 10;

/// The greatest number of levels of pointers and sequences within each other.
pub(super) const DEEPEST: usize = 128;

/// The number of levels with any values. Beyond it, the values of all levels together may have
/// [`MOST_INLINE`] bytes, because each level keeps a value on the stack.
pub(super) const FEW: usize = 8;
pub(super) const MOST_INLINE: usize = 256 << 10;

/// The error of a message that cannot be read.
#[cold]
pub(crate) fn malformed(reason: impl Into<String>) -> Error {
    Error::Message { from: None, reason: reason.into() }
}

/// The error of a value that cannot be sent.
#[cold]
pub(crate) fn unsendable(reason: impl Into<String>) -> Error {
    Error::Unsendable { reason: reason.into() }
}

/// Returns the reason why a value of too many levels is an error.
#[cold]
pub(super) fn too_deep() -> String {
    format!(
        "its parts are nested more than {DEEPEST} levels deep; hold the nodes of a long list or a deep tree \
         in a `Vec`, and refer to them by their indices"
    )
}

/// Returns the reason why values of so many levels are too large.
#[cold]
pub(super) fn too_large(bytes: usize) -> String {
    format!(
        "its parts are nested more than {FEW} levels deep, and the values within each other have {bytes} \
         bytes, too many for the stack; hold large arrays in a `Box` or `Vec`"
    )
}
