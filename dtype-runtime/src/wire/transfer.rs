//! The two things that a wire says: the protocol, and how the bytes of a message are made.

use super::Wire;

/// The transfer of a message on a wire.
pub(super) enum Transfer {
    /// One MPI message, whose bytes are made in this way.
    Whole(Making),
    /// Several messages of packed bytes, each sent while the next one is packed.
    Segments,
}

/// The way in which the bytes of a message are made, and taken apart by the receiver.
#[derive(Clone, Copy)]
pub(super) enum Making {
    /// MPI makes them by the datatype.
    Typed,
    /// They are the memory itself.
    InPlace,
    /// Generated code packs them.
    Packed,
    /// The fastest of these, as measured.
    Fastest,
}

impl Wire {
    pub(super) fn transfer(self) -> Transfer {
        match self {
            Self::Typed => Transfer::Whole(Making::Typed),
            Self::Bytes => Transfer::Whole(Making::InPlace),
            Self::Packed => Transfer::Whole(Making::Packed),
            Self::Auto => Transfer::Whole(Making::Fastest),
            Self::Segments => Transfer::Segments,
        }
    }
}
