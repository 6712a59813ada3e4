//! The wire of segments: a long message is sent in pieces, so that packing, transfer and unpacking overlap.
//!
//! Both sides must name this wire. The pieces are sent in [contexts](Contexts) of their own. The first piece
//! has a header, and is matched by rank and tag like any message. The header contains the number of the
//! message, which is the tag of the other pieces. So any number of messages may be in progress, in any order
//! and from any thread, and no piece is taken for one of another message.

use std::collections::VecDeque;

use ::mpi::ffi::MPI_Comm;

use super::{
    address::Address,
    attach::{Contexts, next_number},
    frame::{accepted_description, describe, description_size},
    request::{Matched, Outgoing, Request},
    sendable::{
        Span,
        sealed::{Read, Write},
    },
    waiting::{is_nothing_awaited, matched_meanwhile, meanwhile},
};
use crate::{
    Error,
    mpi::{Usable, greatest_tag},
    pack::PackBuffer,
};

/// The largest number of packed bytes in a piece. A piece fits the second-level cache, and is so long that
/// one more message costs little.
pub(crate) const PIECE: usize = 128 << 10;

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

/// Sends a message in pieces, and waits until all have been sent.
pub(crate) fn send<M: Read + ?Sized>(mpi: &Usable, message: &M, to: Address) -> Result<(), Error> {
    let contexts = Contexts::on(mpi, to.communicator)?;
    let (total, step) = (message.packed_size(), message.step());
    let header = Header {
        total,
        // Pieces end between values.
        piece: if step < PIECE { PIECE - PIECE % step } else { PIECE },
        number: next_number(mpi, contexts.rest),
    };
    let rest = Address { communicator: contexts.rest, tag: header.number, ..to };
    let (mut position, mut under_way) = (header.end(0), VecDeque::new());
    let before = HEADER + description_size();
    let mut first = PackBuffer::with_room(before + position)?;
    header.write(&mut first);
    if before > HEADER {
        describe(message, 0..total, &mut first[HEADER..before]);
    }
    message.pack_range(0..position, &mut first[before..before + position])?;
    let first = Outgoing::of_buffer(first, before + position)?;
    under_way.push_back(first.start(mpi, Address { communicator: contexts.first, ..to })?);
    while position < total {
        if under_way.len() >= AHEAD
            && let Some(mut oldest) = under_way.pop_front()
        {
            sent(mpi, &mut oldest)?;
        }
        let end = header.end(position);
        let mut piece = PackBuffer::with_room(end - position)?;
        message.pack_range(position..end, &mut piece[..end - position])?;
        under_way.push_back(Outgoing::of_buffer(piece, end - position)?.start(mpi, rest)?);
        position = end;
    }
    under_way.into_iter().try_for_each(|mut request| sent(mpi, &mut request))
}

/// Waits until a piece has been sent.
fn sent(mpi: &Usable, piece: &mut Request) -> Result<(), Error> {
    if is_nothing_awaited() {
        return piece.is_sent(mpi, true).map(|_| ());
    }
    meanwhile(mpi, || piece.is_sent(mpi, false))
}

/// Receives a message that was sent in pieces, and returns the address of the sender.
pub(crate) fn receive<M: Write + ?Sized>(
    mpi: &Usable,
    message: &mut M,
    from: Address,
) -> Result<Address, Error> {
    let contexts = Contexts::on(mpi, from.communicator)?;
    let first = matched_meanwhile(mpi, Address { communicator: contexts.first, ..from })?;
    let sender = Address { communicator: from.communicator, ..first.sender() };
    let rest = Address { communicator: contexts.rest, ..from };
    let mut receiving = Receiving::new(mpi, message, first, rest)?;
    while receiving.position < receiving.header.total {
        let piece = matched_meanwhile(mpi, receiving.rest)?;
        receiving.receive(mpi, message, piece)?;
    }
    match (receiving.refused, receiving.whole) {
        (Some(refused), _) => Err(refused),
        (None, Some(whole)) => message.unpack(&whole[..receiving.header.total]).map(|()| sender),
        (None, None) => Ok(sender),
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
}

impl Receiving {
    fn new<M: Write + ?Sized>(
        mpi: &Usable,
        message: &mut M,
        first: Matched,
        rest: Address,
    ) -> Result<Self, Error> {
        let status = first.status;
        let size = first.size;
        let before = HEADER + description_size();
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
        let mut receiving = Self { rest, header, position: 0, whole, refused };
        receiving.take(message, &first[before..size])?;
        Ok(receiving)
    }

    /// Receives the next piece, directly into its memory if possible.
    fn receive<M: Write + ?Sized>(
        &mut self,
        mpi: &Usable,
        message: &mut M,
        piece: Matched,
    ) -> Result<(), Error> {
        let size = piece.size;
        let position = self.position;
        let end = self.header.end(self.position);
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
