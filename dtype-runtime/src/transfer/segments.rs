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
    frame::{compare_described, describe, description_size, fits, read_numbers, write_numbers},
    pieces::Pieces,
    request::{Outgoing, Request},
    sendable::sealed::{Read, Write},
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
        write_numbers([MARK, self.total as u64, self.piece as u64, self.number as u64], into);
    }

    /// Returns the header of a first piece, or `None` if there is none or one of its numbers is impossible.
    fn read(mpi: &Usable, bytes: &[u8], communicator: MPI_Comm) -> Option<Self> {
        let [mark, total, piece, number] = read_numbers(bytes.get(..HEADER)?);
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
        number: next_number(mpi, contexts.rest.communicator),
    };
    let rest = Address { communicator: contexts.rest.communicator, tag: header.number, ..to };
    let (mut position, mut under_way) = (header.end(0), VecDeque::new());
    let before = HEADER + description_size();
    let mut first = PackBuffer::with_room(before + position)?;
    header.write(&mut first);
    if before > HEADER {
        describe(message, 0..total, &mut first[HEADER..before]);
    }
    message.pack_range(0..position, &mut first[before..before + position])?;
    let first = Outgoing::of_buffer(first, before + position)?;
    under_way.push_back(first.start(mpi, Address { communicator: contexts.first.communicator, ..to })?);
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
    let first = matched_meanwhile(mpi, Address { communicator: contexts.first.communicator, ..from })?;
    let size = first.size;
    let sender = Address { communicator: from.communicator, ..first.sender() };
    let rank = sender.rank;
    let first = first.receive(mpi)?;
    let none = |reason| Error::Segment { rank, reason };
    let header = Header::read(mpi, &first[..size], contexts.rest.communicator)
        .ok_or(none("it does not begin with a header"))?;
    let before = HEADER + description_size();
    let mut position = header.end(0);
    if size.checked_sub(before) != Some(position) {
        return Err(none("its length is not the one in its header"));
    }
    let mut pieces = Pieces::new(message, header.total, |message| {
        compare_described(message, &first[HEADER..before], sender)?;
        fits(message, header.total, Some(sender))
    });
    pieces.take(0, &first[before..size], |_| Ok(()));
    let rest = Address { communicator: contexts.rest.communicator, rank, tag: header.number };
    while position < header.total {
        let piece = matched_meanwhile(mpi, rest)?;
        let (start, size) = (position, piece.size);
        position = header.end(start);
        if size != position - start {
            // The piece is discarded.
            piece.receive(mpi)?;
            return Err(none("a later segment has a wrong length"));
        }
        match pieces.memory(start..position) {
            Some(memory) => piece.receive_into(mpi, memory)?,
            None => pieces.take(start, &piece.receive(mpi)?[..size], |_| Ok(())),
        }
    }
    pieces.end()?;
    Ok(sender)
}
