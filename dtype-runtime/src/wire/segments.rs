//! The wire of segments: a long message is sent in pieces, so that packing, transfer and unpacking overlap.
//!
//! Both sides must name this wire. The pieces are sent in [contexts](Contexts) of their own. The first piece
//! has a header, and is matched by rank and tag like any message. The header contains the number of the
//! message, which is the tag of the other pieces. So any number of messages may be in progress, in any order
//! and from any thread, and no piece is taken for one of another message.

use std::collections::VecDeque;

use ::mpi::{
    ffi::{MPI_Comm, MPI_Status},
    point_to_point::Status,
};

use super::{
    attach::{Contexts, next_number},
    frame::{accepted_description, describe, description_size},
    receive::status_of_nobody,
    request::{Address, Matched, Outgoing, Request},
    sendable::{
        Span,
        sealed::{Read, Write},
    },
};
use crate::{
    Error,
    mpi::{Usable, greatest_tag},
    pack::PackBuffer,
};

/// The largest number of packed bytes in a piece. A piece fits the second-level cache, and is so long that
/// one more message costs little.
pub(super) const PIECE: usize = 128 << 10;

/// The largest number of pieces that are being sent at a time.
const AHEAD: usize = 4;

/// The header of a first piece: a mark, the packed sizes of the message and of each piece but the last, and
/// the number of the message.
#[derive(Clone, Copy)]
struct Header {
    total: usize,
    piece: usize,
    number: i32,
}

const HEADER: usize = 32;
const MARK: u64 = u64::from_ne_bytes(*b"\xD7ype\x02seg");

impl Header {
    fn write(self, into: &mut [u8]) {
        let numbers = [MARK, self.total as u64, self.piece as u64, self.number as u64];
        into[..HEADER].copy_from_slice(numbers.map(u64::to_ne_bytes).as_flattened());
    }

    /// Returns the header of a first piece, or `None` if there is none or one of its numbers is impossible.
    fn read(mpi: &Usable, bytes: &[u8], communicator: MPI_Comm) -> Option<Self> {
        let (numbers, _) = bytes.get(..HEADER)?.as_chunks::<8>();
        let [mark, total, piece, number] = std::array::from_fn(|i| u64::from_ne_bytes(numbers[i]));
        let header = Self {
            total: total.try_into().ok()?,
            piece: piece.try_into().ok()?,
            number: number.try_into().ok()?,
        };
        let is_number = header.number <= greatest_tag(mpi, communicator);
        (mark == MARK && (1..=PIECE).contains(&header.piece) && is_number).then_some(header)
    }

    /// Returns the end of the piece that begins at packed byte `position`.
    fn end(&self, position: usize) -> usize {
        self.total.min(position.saturating_add(self.piece))
    }
}

/// A message that is being sent, piece by piece.
pub(super) struct SendingPieces<'a, M: ?Sized> {
    message: &'a M,
    rest: Address,
    header: Header,
    /// The number of packed bytes that are being sent or have been sent.
    position: usize,
    on_their_way: VecDeque<Request>,
    /// The largest number of pieces that are being sent at a time.
    ahead: usize,
}

impl<'a, M: Read + ?Sized> SendingPieces<'a, M> {
    /// Starts to send a message. If `all` is set, all pieces have been passed to MPI when the call returns,
    /// because only MPI makes progress while the program does other work.
    pub fn new(mpi: &Usable, message: &'a M, to: Address, all: bool) -> Result<Self, Error> {
        let contexts = Contexts::on(mpi, to.communicator)?;
        let (total, step) = (message.packed_size(), message.step());
        let header = Header {
            total,
            // Pieces end between values.
            piece: if step < PIECE { PIECE - PIECE % step } else { PIECE },
            number: next_number(mpi, contexts.rest),
        };
        let rest = Address { communicator: contexts.rest, tag: header.number, ..to };
        let (end, on_their_way) = (header.end(0), VecDeque::new());
        let ahead = if all { usize::MAX } else { AHEAD };
        let mut sending = Self { message, rest, header, position: 0, on_their_way, ahead };
        if to.is_nobody() {
            sending.position = total;
            return Ok(sending);
        }
        let description = description_size();
        let before = HEADER + description;
        let mut first = PackBuffer::with_room(before + end)?;
        header.write(&mut first);
        if description > 0 {
            describe(message, 0..total, &mut first[HEADER..before]);
        }
        let first = sending.pack(first, before, end)?;
        sending.on_their_way.push_back(first.start(mpi, Address { communicator: contexts.first, ..to })?);
        if all {
            sending.advance(mpi, false)?;
        }
        Ok(sending)
    }

    /// Packs the next piece, which ends at packed byte `end`, behind the first `before` bytes of a buffer.
    fn pack(&mut self, mut buffer: PackBuffer, before: usize, end: usize) -> Result<Outgoing, Error> {
        let size = before + end - self.position;
        self.message.pack_range(self.position..end, &mut buffer[before..size])?;
        self.position = end;
        Outgoing::of_buffer(buffer, size)
    }

    /// Makes progress; if `wait` is set, waits until all pieces have been sent. Returns `true` if they have
    /// been sent.
    pub fn advance(&mut self, mpi: &Usable, wait: bool) -> Result<bool, Error> {
        while self.position < self.header.total {
            if self.on_their_way.len() >= self.ahead && !self.is_oldest_sent(mpi, wait)? {
                return Ok(false);
            }
            let end = self.header.end(self.position);
            let buffer = PackBuffer::with_room(end - self.position)?;
            let piece = self.pack(buffer, 0, end)?;
            self.on_their_way.push_back(piece.start(mpi, self.rest)?);
        }
        while !self.on_their_way.is_empty() {
            if !self.is_oldest_sent(mpi, wait)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_oldest_sent(&mut self, mpi: &Usable, wait: bool) -> Result<bool, Error> {
        if let Some(oldest) = self.on_their_way.front_mut()
            && !oldest.is_sent(mpi, wait)?
        {
            return Ok(false);
        }
        self.on_their_way.pop_front();
        Ok(true)
    }
}

/// A message whose first piece has arrived.
struct Receiving {
    rest: Address,
    header: Header,
    /// The number of packed bytes that have arrived.
    position: usize,
    /// A buffer for the whole message, if it must be checked before any of it is written.
    whole: Option<PackBuffer>,
    /// The reason for discarding the message. All of it is received nevertheless, because the sender waits
    /// for that.
    refused: Option<Error>,
    status: MPI_Status,
}

/// The progress of a receive.
enum Incoming {
    Awaited { first: Address, rest: Address },
    Begun(Receiving),
}

impl Incoming {
    fn new(mpi: &Usable, from: Address) -> Result<Self, Error> {
        let contexts = Contexts::on(mpi, from.communicator)?;
        let in_context = |communicator| Address { communicator, ..from };
        Ok(Self::Awaited { first: in_context(contexts.first), rest: in_context(contexts.rest) })
    }

    /// Makes progress; if `wait` is set, waits until the message has arrived. Returns its status, or `None`
    /// if it has not arrived yet.
    fn advance<M: Write + ?Sized>(
        &mut self,
        mpi: &Usable,
        message: &mut M,
        wait: bool,
    ) -> Result<Option<Status>, Error> {
        let receiving = match self {
            Self::Begun(receiving) => receiving,
            Self::Awaited { first, .. } if first.is_nobody() => return Ok(Some(status_of_nobody())),
            Self::Awaited { first, rest } => {
                let matched = if wait {
                    Some(Matched::wait_for(mpi, *first)?)
                } else {
                    Matched::look_for(mpi, *first)?
                };
                let Some(matched) = matched else { return Ok(None) };
                *self = Self::Begun(Receiving::new(mpi, message, matched, *rest)?);
                return self.advance(mpi, message, wait);
            }
        };
        receiving.advance(mpi, message, wait)
    }
}

impl Receiving {
    fn new<M: Write + ?Sized>(
        mpi: &Usable,
        message: &mut M,
        first: Matched,
        rest: Address,
    ) -> Result<Self, Error> {
        let (status, size, before) = (first.status, first.size, HEADER + description_size());
        let rank = status.MPI_SOURCE;
        let first = first.receive(mpi)?;
        let none = |reason| Error::Segment { rank, reason };
        let header = Header::read(mpi, &first[..size], rest.communicator)
            .ok_or(none("it does not begin with a header"))?;
        if size.checked_sub(before) != Some(header.end(0)) {
            return Err(none("its length is not the one in its header"));
        }
        let refused = accepted_description(message, header.total, &first[HEADER..before], &status).err();
        let looks_first = refused.is_none() && !message.any_pattern();
        let whole = if looks_first { Some(PackBuffer::with_room(header.total)?) } else { None };
        let rest = Address { rank, tag: header.number, ..rest };
        let mut receiving = Self { rest, header, position: 0, whole, refused, status };
        receiving.take(message, &first[before..size])?;
        Ok(receiving)
    }

    fn advance<M: Write + ?Sized>(
        &mut self,
        mpi: &Usable,
        message: &mut M,
        wait: bool,
    ) -> Result<Option<Status>, Error> {
        while self.position < self.header.total {
            let matched = if wait {
                Some(Matched::wait_for(mpi, self.rest)?)
            } else {
                Matched::look_for(mpi, self.rest)?
            };
            let Some(matched) = matched else { return Ok(None) };
            self.receive(mpi, message, matched)?;
        }
        match (self.refused.take(), self.whole.take()) {
            (Some(refused), _) => Err(refused),
            (None, Some(whole)) => message.unpack(&whole[..self.header.total]).map(|()| Some(self.status())),
            (None, None) => Ok(Some(self.status())),
        }
    }

    fn status(&self) -> Status {
        Status::from_raw(self.status)
    }

    /// Receives the next piece, directly into its memory if possible.
    fn receive<M: Write + ?Sized>(
        &mut self,
        mpi: &Usable,
        message: &mut M,
        piece: Matched,
    ) -> Result<(), Error> {
        let (size, position, end) = (piece.size, self.position, self.header.end(self.position));
        if size != end - position {
            // The piece is discarded.
            piece.receive(mpi)?;
            return Err(Error::Segment {
                rank: self.rest.rank,
                reason: "a later segment has a wrong length",
            });
        }
        if let Some(whole) = &mut self.whole {
            piece.receive_into(mpi, &mut whole[position..end])?;
        } else if self.refused.is_none()
            && let Some(Span { place, .. }) = message.span_mut()
        {
            // SAFETY: the span is borrowed mutably, holds `total` bytes, and any pattern may be written
            // there.
            let memory = unsafe { std::slice::from_raw_parts_mut(place.add(position), size) };
            piece.receive_into(mpi, memory)?;
        } else {
            let packed = piece.receive(mpi)?;
            return self.take(message, &packed[..size]);
        }
        self.position = end;
        Ok(())
    }

    /// Stores or unpacks a piece that has been received.
    fn take<M: Write + ?Sized>(&mut self, message: &mut M, packed: &[u8]) -> Result<(), Error> {
        let end = self.position + packed.len();
        if let Some(whole) = &mut self.whole {
            whole[self.position..end].copy_from_slice(packed);
        } else if self.refused.is_none() {
            message.unpack_range(self.position, packed)?;
        }
        self.position = end;
        Ok(())
    }
}

/// Receives a message that was sent on the wire of segments.
pub(super) fn receive<M: Write + ?Sized>(
    mpi: &Usable,
    message: &mut M,
    from: Address,
) -> Result<Status, Error> {
    let received = Incoming::new(mpi, from)?.advance(mpi, message, true)?;
    Ok(received.unwrap_or_else(status_of_nobody))
}

/// Sends one message while another one is received. Neither waits for the other.
pub(super) fn send_receive<M: Read + ?Sized, N: Write + ?Sized>(
    mpi: &Usable,
    message: &M,
    to: Address,
    into: &mut N,
    from: Address,
) -> Result<Status, Error> {
    let (mut sending, mut incoming) =
        (SendingPieces::new(mpi, message, to, false)?, Incoming::new(mpi, from)?);
    let (mut is_sent, mut received) = (false, None);
    while received.is_none() {
        is_sent = is_sent || sending.advance(mpi, false)?;
        received = incoming.advance(mpi, into, is_sent).transpose();
        std::thread::yield_now();
    }
    // The send is completed even after an error, because the other side waits for this rank's message.
    sending.advance(mpi, true)?;
    received.unwrap_or_else(|| Ok(status_of_nobody()))
}
