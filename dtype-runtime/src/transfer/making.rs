//! The decisions of a wire: whether a message is sent whole or in segments, and how its bytes are made.

use super::{Wire, sendable::sealed::Read};
use crate::mpi::running;

/// The transfer of a message on a wire.
pub(crate) enum Transfer {
    /// One MPI message, whose bytes are made in this way.
    Whole(Making),
    /// Several messages of packed bytes, each sent while the next one is packed.
    Segments,
}

/// The way in which the bytes of a message are made, and taken apart by the receiver.
#[derive(Clone, Copy)]
pub(crate) enum Making {
    /// MPI makes the bytes by the datatype.
    Typed,
    /// The bytes are the memory itself.
    InPlace,
    /// Generated code packs the bytes.
    Packed,
    /// The fastest of the other three, as measured.
    Fastest,
}

impl Wire {
    pub(crate) fn transfer(self) -> Transfer {
        match self {
            Self::Typed => Transfer::Whole(Making::Typed),
            Self::Bytes => Transfer::Whole(Making::InPlace),
            Self::Packed => Transfer::Whole(Making::Packed),
            Self::Auto => Transfer::Whole(Making::Fastest),
            Self::Segments => Transfer::Segments,
        }
    }
}

/// Returns `true` if a message is faster by its datatype than packed when all ranks exchange messages at a
/// time.
pub(crate) fn is_faster_typed<M: Read + ?Sized>(message: &M) -> bool {
    /// The least mean size in bytes of the contiguous blocks.
    const LONG: usize = 64;
    running().exchanges_datatypes
        && message.span().is_none()
        && message.spacing().is_some_and(|spacing| spacing.mean_block >= LONG)
}
