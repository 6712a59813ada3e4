//! The decisions of a wire: whether a message is sent whole or in segments, and how its bytes are made.

use std::sync::OnceLock;

use dtype_engine::prices::{Library, Shape, is_faster_by_datatype};

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
    /// The fastest of the other three, by the recorded prices.
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
    const LONG: f64 = 64.0;
    running().exchanges_datatypes
        && message.span().is_none()
        && message.spacing().is_some_and(|spacing| !spacing.is_mixed() && spacing.mean_block >= LONG)
}

/// Returns the shape of a message, or `None` if it has no blocks.
pub(crate) fn shape<M: Read + ?Sized>(message: &M) -> Option<Shape> {
    Some(Shape::new(message.packed_size(), message.spacing()?))
}

/// Returns `true` if the sender or the receiver of a message that is not contiguous should pass the datatype
/// to MPI on [`Wire::Auto`].
pub(crate) fn is_typed<M: Read + ?Sized>(message: &M) -> bool {
    shape(message).is_some_and(|shape| has_typed_shape(&shape))
}

/// Returns `true` if a message of this shape is faster by its datatype than packed, by the prices of the
/// running library.
pub fn has_typed_shape(shape: &Shape) -> bool {
    static PRICES: OnceLock<Vec<Library>> = OnceLock::new();
    let prices = PRICES.get_or_init(|| Library::nearest(running().name, running().version.0));
    is_faster_by_datatype(shape, prices)
}
