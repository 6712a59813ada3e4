//! Owned messages as arguments of MPI calls, and messages of any length that are received (MPI 4.1 section
//! 3.8).

use dtype_engine::Error as PackError;

use super::{
    bytes::Bytes,
    request::{Matched, Outgoing},
    sendable::Span,
};
use crate::{
    Error,
    message::{Encoded, Message, OwnedMemory, keep, spare},
    mpi::Usable,
};

/// The least size of a message in bytes that is received into memory of its own, which may become a `Vec`.
pub(crate) const LONG: usize = 64 << 10;

/// The greatest number of blocks that MPI sends from where they are. More are copied first.
const MOST_BLOCKS: usize = 32;

/// Returns the message with at most [`MOST_BLOCKS`] blocks.
pub(crate) fn whole(encoded: Encoded<'_>) -> Encoded<'_> {
    if encoded.parts().0.len() <= MOST_BLOCKS { encoded } else { encoded.copied() }
}

/// Returns a message as arguments of an MPI call.
///
/// # Safety
/// 1. The message and its value stay as they are until the message has been sent.
pub(crate) unsafe fn outgoing(encoded: &Encoded<'_>) -> Result<Outgoing, Error> {
    let (blocks, rest) = encoded.parts();
    if blocks.is_empty() {
        let span = Span { place: rest.as_ptr().cast_mut(), size: rest.len() };
        // SAFETY: 1, by the caller's condition.
        return unsafe { Outgoing::of_span(span) };
    }
    let parts: Vec<_> = blocks.iter().copied().chain([rest]).collect();
    // SAFETY: 1, by the caller's condition.
    unsafe { Outgoing::of_parts(&parts) }
}

/// Receives a message into memory that is large enough for it.
pub(crate) fn received(mpi: &Usable, matched: Matched, memory: OwnedMemory) -> Result<OwnedMemory, Error> {
    let (size, bytes) = (matched.size, Bytes::of(matched.size)?);
    // SAFETY: MPI writes `size` bytes, and `receive_at` returns an error if not. There is room for them, so
    // that 1 and 2 of `receive_at` hold.
    unsafe { memory.filled(size, |place| matched.receive_at(mpi, place.cast(), bytes.count, bytes.datatype)) }
}

/// Receives a message of any shape into memory that is large enough for it.
pub(crate) fn take<'m>(mpi: &Usable, matched: Matched, memory: OwnedMemory) -> Result<Message<'m>, Error> {
    received(mpi, matched, memory).map(Message::Owned)
}

/// Receives a message: into memory of its own, if that may become a `Vec` of the alignment `kept`.
pub(crate) fn receive<R>(
    mpi: &Usable,
    matched: Matched,
    kept: usize,
    read: impl FnOnce(Message<'_>) -> Result<R, Error>,
) -> Result<R, Error> {
    let size = matched.size;
    if kept.is_power_of_two() && size >= LONG {
        let memory = OwnedMemory::with_room(size, kept)?;
        return read(take(mpi, matched, memory)?);
    }
    let (mut memory, bytes) = (spare(), Bytes::of(size)?);
    memory.clear();
    memory.try_reserve(size).map_err(|_| PackError::Memory { bytes: size })?;
    // SAFETY: there is room for `size` bytes, which MPI writes, unless it returns an error.
    unsafe {
        matched.receive_at(mpi, memory.as_mut_ptr().cast(), bytes.count, bytes.datatype)?;
        memory.set_len(size);
    }
    let read = read(Message::Borrowed(&memory));
    keep(memory);
    read
}
