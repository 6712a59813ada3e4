//! Receives of messages that were sent whole: into a place of exactly their size, or of any length (MPI 4.1
//! section 3.8). If a message does not fit its destination exactly, nothing is written, except by libraries
//! that copy what is probed ([`Probing::Slower`]): they write a part of it into long contiguous memory.

use std::{os::raw::c_void, sync::Arc};

use ::mpi::raw::AsRaw;
use dtype_engine::{Error as PackError, PackBuffer};

use super::{
    address::Address,
    attach::descriptions_on,
    bytes::Bytes,
    descriptions::Descriptions,
    frame::{are_plain, checks, fits},
    making::{Making, is_faster_typed, is_typed},
    request::{Matched, Outcome, Request, Room, size_of},
    sendable::{
        Span, Typed,
        sealed::{Read, Write},
    },
};
use crate::{
    Error,
    message::{Message, OwnedMemory, TRAILER, keep, spare},
    mpi::{Probing, Usable, checked, is_truncation, returning_errors, running},
};

/// The size in bytes up to which a message is received into a buffer without a probe, which would take longer
/// than the copy.
const COPIED: usize = 16 << 10;

/// The least size of a message in bytes that is received into memory of its own, which may become a `Vec`.
const LONG: usize = 64 << 10;

/// The target of a receive.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    /// The memory of the message, which consists of its packed bytes.
    Memory,
    /// The memory of the message, by its datatype.
    Datatype,
    /// A buffer, which is unpacked.
    Buffer,
}

impl Target {
    /// Returns the place for a message whose bytes are taken apart in this way, and which has the size of its
    /// destination.
    fn of<M: Write + ?Sized>(message: &mut M, making: Making) -> Self {
        if !message.any_pattern() || checks() {
            return Self::Buffer;
        }
        if message.span_mut().is_some() {
            return Self::Memory;
        }
        let typed = match making {
            Making::Typed => true,
            Making::Fastest => is_typed(message),
            Making::Packed | Making::InPlace => false,
        };
        if typed && may_be_typed(message) { Self::Datatype } else { Self::Buffer }
    }
}

/// Receives a message that was sent whole. `making` decides how its bytes are taken apart. A long message
/// that is received into its memory is probed first, since its size must be known, unless that is contiguous
/// and the library copies what is probed. So is a long one that needs a gap behind a buffer.
#[inline]
pub(crate) fn receive<M: Write + ?Sized>(
    mpi: &Usable,
    message: &mut M,
    making: Making,
    from: Address,
) -> Result<Address, Error> {
    let most = message.packed_size();
    // The checked mode looks for the description of the message that it has matched.
    let probing = if checks() { Probing::Faster } else { running().probing };
    let is_probed = probing == Probing::Faster;
    let is_short = most <= COPIED;
    let target = if is_short && !is_probed { Target::Buffer } else { Target::of(message, making) };
    if !is_probed && (is_short || target == Target::Buffer && !running().writes_past_buffer) {
        let mut room = Room::of(most)?;
        let outcome = room.receive(mpi, from);
        return arrived(mpi, message, (most, from), outcome, &room.buffer, None);
    }
    // By a datatype it is probed: the library reports one that ends within a value as too long.
    if probing == Probing::Slower
        && target == Target::Memory
        && let Some(Destination { place, bytes }) = destination(message, target)?
    {
        // SAFETY: 1, as `destination` says.
        let outcome = unsafe { from.receive_at(mpi, place, bytes.count, bytes.datatype) };
        let (sender, size) = sender_of(mpi, message, outcome, from)?;
        fits(message, size, Some(sender))?;
        is_plain(message, sender)?;
        return Ok(sender);
    }
    let Taken { sender, size, buffer } = returning_errors(mpi, from.communicator, || {
        take(mpi, Matched::wait_for(mpi, from)?, target, message)
    })?;
    match buffer {
        None => is_plain(message, sender)?,
        Some(arrived) => {
            let descriptions = descriptions_on(mpi, sender.communicator)?;
            unpack(mpi, message, &arrived[..size], sender, descriptions.as_deref())?;
        }
    }
    Ok(sender)
}

/// The destination of a message, as arguments of an MPI call.
struct Destination {
    place: *mut c_void,
    bytes: Bytes,
}

/// Returns where MPI may write exactly the packed bytes of a message; `None` if they go into a buffer. The
/// memory is borrowed mutably, no byte of it is named twice, and any pattern may be written there.
fn destination<M: Write + ?Sized>(message: &mut M, target: Target) -> Result<Option<Destination>, Error> {
    match target {
        Target::Memory => {
            let span = message.span_mut();
            let there = span
                .map(|Span { place, size }| Ok(Destination { place: place.cast(), bytes: Bytes::of(size)? }));
            there.transpose()
        }
        Target::Datatype => Ok(message.typed_mut().ok().map(|Typed { place, count, datatype }| {
            let bytes = Bytes { count, datatype: datatype.as_raw(), owner: Some(datatype) };
            Destination { place, bytes }
        })),
        Target::Buffer => Ok(None),
    }
}

/// Unpacks a message of up to `room` bytes that a receive has put into `buffer`, and returns the address of
/// the sender. If the receive failed, returns its error.
fn arrived<M: Write + ?Sized>(
    mpi: &Usable,
    message: &mut M,
    (room, from): (usize, Address),
    outcome: Outcome,
    buffer: &[u8],
    descriptions: Option<&Descriptions>,
) -> Result<Address, Error> {
    let (sender, size) = sender_of(mpi, message, outcome, from)?;
    // A message longer than `room` may arrive without an error, because the buffer is larger.
    let bytes = buffer.get(..size).filter(|bytes| bytes.len() <= room);
    unpack(mpi, message, bytes.ok_or_else(|| is_too_long(message, sender))?, sender, descriptions)?;
    Ok(sender)
}

/// Returns the sender and the size of a message that a receive has brought, or the error of the receive.
fn sender_of<M: Read + ?Sized>(
    mpi: &Usable,
    message: &M,
    outcome: Outcome,
    from: Address,
) -> Result<(Address, usize), Error> {
    let code = match outcome {
        Ok(status) => return Ok((from.of_message(&status), size_of(mpi, &status))),
        Err(code) => code,
    };
    if !is_truncation(mpi, code) {
        checked(mpi, "MPI_Recv", code)?;
    }
    Err(is_too_long(message, from))
}

/// Returns the error for a message that is longer than its destination, from an address, which may be that of
/// any rank.
fn is_too_long<M: Read + ?Sized>(message: &M, from: Address) -> Error {
    let from = (from.rank >= 0).then_some((from.rank, from.tag));
    Error::Fit { value: message.step(), expected: message.packed_size(), found: None, from }
}

/// Adds the sender to an error of a message that it sent.
pub(crate) fn is_of(error: Error, sender: Address) -> Error {
    match error.sent_by(sender.rank) {
        Error::Fit { value, expected, found, from: None } => {
            Error::Fit { value, expected, found, from: Some((sender.rank, sender.tag)) }
        }
        error => error,
    }
}

/// A message that has been received.
struct Taken {
    sender: Address,
    size: usize,
    /// A buffer that begins with the message; `None` if it is in its destination.
    buffer: Option<PackBuffer>,
}

/// Receives a message that has been matched, if it has the size of its destination; else into a buffer, which
/// says what arrived.
fn take<M: Write + ?Sized>(
    mpi: &Usable,
    matched: Matched,
    target: Target,
    message: &mut M,
) -> Result<Taken, Error> {
    let (size, sender) = (matched.size, matched.sender());
    if size == message.packed_size()
        && let Some(Destination { place, bytes }) = destination(message, target)?
    {
        // SAFETY: 1, as `destination` says; 2, since it has exactly `size` bytes.
        unsafe { matched.receive_at(mpi, place, bytes.count, bytes.datatype) }?;
        return Ok(Taken { sender, size, buffer: None });
    }
    Ok(Taken { sender, size, buffer: Some(matched.receive(mpi)?) })
}

/// Returns `true` if MPI may receive packed bytes with the datatype of a message. MPICH may not, if the
/// values have different base types.
fn may_be_typed<M: Read + ?Sized>(message: &M) -> bool {
    message.spacing().is_some_and(|spacing| !spacing.is_mixed() || running().joins_structs)
}

/// Checks that what MPI has written are plain values.
fn is_plain<M: Read + ?Sized>(message: &M, sender: Address) -> Result<(), Error> {
    let (size, mut end) = (message.packed_size(), [0; TRAILER]);
    if size < TRAILER {
        return Ok(());
    }
    message.pack_range(size - TRAILER..size, &mut end)?;
    are_plain(message, &end, size).map_err(|error| error.sent_by(sender.rank))
}

/// Unpacks a message if its size fits, and its description matches if there is one.
pub(super) fn unpack<M: Write + ?Sized>(
    mpi: &Usable,
    message: &mut M,
    arrived: &[u8],
    sender: Address,
    descriptions: Option<&Descriptions>,
) -> Result<(), Error> {
    if let Some(descriptions) = descriptions {
        descriptions.compare(mpi, message, arrived, sender)?;
    }
    fits(message, arrived.len(), Some(sender))?;
    are_plain(message, arrived, arrived.len()).map_err(|error| error.sent_by(sender.rank))?;
    message.unpack(arrived)
}

/// Returns the size of a buffer for a message that should have `size` packed bytes. In the checked mode the
/// buffer also takes a longer message, because the description is found by a hash of all bytes.
fn room_for(size: usize) -> usize {
    const CHECKED: usize = 1 << 20;
    if checks() { size.saturating_mul(2).saturating_add(CHECKED) } else { size }
}

/// A receive that has been started: MPI receives into a buffer while the program does other work.
pub(crate) struct Posted {
    request: Request,
    from: Address,
    room: usize,
    /// The descriptions of the communicator. They are kept here, because the communicator may be freed before
    /// the message arrives.
    descriptions: Option<Arc<Descriptions>>,
}

impl Posted {
    pub fn new<M: Read + ?Sized>(mpi: &Usable, message: &M, from: Address) -> Result<Self, Error> {
        let room = room_for(message.packed_size());
        let request = Request::receive(mpi, Room::of(room)?, from)?;
        Ok(Self { request, from, room, descriptions: descriptions_on(mpi, from.communicator)? })
    }

    /// Makes progress without waiting. Returns the address of the sender, or `None` if the message has not
    /// arrived yet.
    pub fn advance<M: Write + ?Sized>(
        &mut self,
        mpi: &Usable,
        message: &mut M,
    ) -> Result<Option<Address>, Error> {
        let Self { request, from, room, descriptions } = self;
        let Some(outcome) = request.advance(mpi, false) else { return Ok(None) };
        arrived(mpi, message, (*room, *from), outcome, request.buffer(), descriptions.as_deref()).map(Some)
    }
}

/// A receive that has been started, by the datatype of a message: MPI writes into its memory.
pub(crate) struct PostedTyped<M> {
    // Dropped first, which completes it.
    request: Result<Request, Error>,
    message: M,
    from: Address,
}

impl<M: Write> PostedTyped<M> {
    /// Starts to receive a message, or returns it if that is slower or not possible.
    pub fn new(mpi: &Usable, mut message: M, from: Address) -> Result<Self, M> {
        if !is_faster_typed(&message) || !message.any_pattern() {
            return Err(message);
        }
        // One element that is not contiguous has gaps. Several elements may be contiguous, each by itself.
        let Some(typed) = message.typed_mut().ok().filter(|typed| typed.count == 1) else {
            return Err(message);
        };
        // SAFETY: 1, since the request is dropped before the message, which borrows the memory mutably, and
        // any pattern may be written there. 2, since the datatype has gaps.
        let request = unsafe { Request::receive_typed(mpi, &typed, from) };
        Ok(Self { request, message, from })
    }

    /// Waits until the message has arrived.
    pub fn wait(self, mpi: &Usable) -> Result<(), Error> {
        let Some(outcome) = self.request?.advance(mpi, true) else { return Ok(()) };
        let (sender, size) = sender_of(mpi, &self.message, outcome, self.from)?;
        fits(&self.message, size, Some(sender))
    }
}

/// A message of any length that has been received.
pub(crate) struct Found {
    pub sender: Address,
    memory: Memory,
}

enum Memory {
    /// Memory of the thread, which is kept for the next message.
    Spare(Vec<u8>),
    /// Memory of exactly the message's size.
    Copied(Vec<u8>),
    /// Memory that may become a `Vec`.
    Owned(OwnedMemory),
}

impl Found {
    /// Waits for a message, and receives it: see [`receive`](Self::receive). The error handler is replaced
    /// once for both calls.
    pub fn wait_for(
        mpi: &Usable,
        from: Address,
        kept: usize,
        lend: impl FnOnce(usize) -> Option<OwnedMemory>,
    ) -> Result<Self, Error> {
        returning_errors(mpi, from.communicator, || {
            Self::receive(mpi, Matched::wait_for(mpi, from)?, kept, lend)
        })
    }

    /// Receives a message that has been matched: into memory of its own, if that may become a `Vec` of
    /// the alignment `kept`. This is the memory that `lend` returns for its size in bytes, if that is large
    /// enough.
    pub fn receive(
        mpi: &Usable,
        matched: Matched,
        kept: usize,
        lend: impl FnOnce(usize) -> Option<OwnedMemory>,
    ) -> Result<Self, Error> {
        let (size, sender) = (matched.size, matched.sender());
        let bytes = Bytes::of(size)?;
        if kept.is_power_of_two() && size >= LONG && !checks() {
            let lent = lend(size).filter(|memory| memory.room() >= size);
            let memory = lent.map_or_else(|| OwnedMemory::with_room(size, kept), Ok)?;
            let fill = |place: *mut u8| {
                // SAFETY: 1 and 2, since there is room for `size` bytes.
                unsafe { matched.receive_at(mpi, place.cast(), bytes.count, bytes.datatype) }
            };
            // SAFETY: 1, since MPI writes `size` bytes, and `receive_at` returns an error if not.
            let memory = Memory::Owned(unsafe { memory.filled(size, fill) }?);
            return Ok(Self { sender, memory });
        }
        let mut memory = spare();
        memory.clear();
        memory.try_reserve(size).map_err(|_| PackError::Memory { bytes: size })?;
        // SAFETY: there is room for `size` bytes, which MPI writes, unless it returns an error.
        unsafe {
            matched.receive_at(mpi, memory.as_mut_ptr().cast(), bytes.count, bytes.datatype)?;
            memory.set_len(size);
        }
        Ok(Self { sender, memory: Memory::Spare(memory) })
    }

    /// Gives the memory of the thread back: the message may wait for long until it is read.
    pub fn put_aside(self) -> Self {
        let Self { sender, memory } = self;
        let memory = match memory {
            Memory::Spare(bytes) => {
                let copied = bytes.as_slice().to_vec();
                keep(bytes);
                Memory::Copied(copied)
            }
            memory => memory,
        };
        Self { sender, memory }
    }

    /// Calls a function with the message.
    pub fn read<R>(self, read: impl FnOnce(Message<'_>) -> Result<R, Error>) -> Result<R, Error> {
        match self.memory {
            Memory::Spare(bytes) => {
                let read = read(Message::Borrowed(&bytes));
                keep(bytes);
                read
            }
            Memory::Copied(bytes) => read(Message::Borrowed(&bytes)),
            Memory::Owned(memory) => read(Message::Owned(memory)),
        }
    }
}
