//! The decisions of a wire: whether a message is sent whole or in segments, and how its bytes are made.

use super::{Wire, address::Address, attach::tables_of, sendable::sealed::Read, table::Table};
use crate::{
    Error,
    mpi::{Usable, running},
};

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
        && message.spacing().is_some_and(|spacing| !spacing.is_mixed && spacing.mean_block >= LONG)
}

/// Returns `true` if the sender or the receiver of a message that is not contiguous should pass the datatype
/// to MPI on [`Wire::Auto`]. `peer` is the other rank. The tables that were
/// [measured](crate::Comm::calibrate) on the communicator decide, or else the table of the process.
///
/// # Errors
/// `Argument` if `DTYPE_WIRES` names a file that is not a table.
#[inline]
pub(crate) fn is_typed<M: Read + ?Sized>(mpi: &Usable, message: &M, peer: Address) -> Result<bool, Error> {
    let measured = tables_of(mpi, peer.communicator)?;
    match measured.as_ref().and_then(|tables| tables.of(peer.rank)) {
        Some(table) => Ok(table.is_typed(message)),
        None => Table::current().map(|table| table.is_typed(message)),
    }
}
