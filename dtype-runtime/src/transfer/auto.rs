//! The choice of [`Wire::Auto`](super::Wire::Auto) for a message that is not contiguous. Contiguous messages
//! are sent directly from memory.

use super::{address::Address, attach::tables_of, sendable::sealed::Read, table::Table};
use crate::{Error, mpi::Usable};

/// Returns `true` if the sender or the receiver of a message should pass the datatype to MPI. `peer` is the
/// other rank. The tables that were [measured](crate::Comm::calibrate) on the communicator decide, or else
/// the table of the process.
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
