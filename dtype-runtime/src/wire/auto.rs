//! What [`Wire::Auto`](super::Wire::Auto) chooses for a message that is not contiguous: a contiguous one goes
//! as it lies.

use super::{attach::tables_of, message::sealed::Read, request::Peer, table::Table};
use crate::Error;

/// Whether a message is best left to MPI, by its sender or receiver, whose `peer` is the other one: as was
/// [measured](super::calibrate) on the communicator, or else as the table of the process says.
///
/// # Errors
/// [`Error::Table`] where `DTYPE_WIRES` names what is no table.
#[inline]
pub(super) fn is_typed<M: Read + ?Sized>(message: &M, peer: Peer) -> Result<bool, Error> {
    let measured = tables_of(peer.communicator)?;
    match measured.as_ref().and_then(|tables| tables.of(peer.rank)) {
        Some(table) => Ok(table.is_typed(message)),
        None => Table::current().map(|table| table.is_typed(message)),
    }
}
