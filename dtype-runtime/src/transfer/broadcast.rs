//! Broadcasts of packed bytes (MPI 4.1 section 6.4).
//!
//! The first part has the same size on all ranks, whatever they expect: a header with the length of the
//! root's message, and the first bytes. So a short message is one `MPI_Bcast`. Longer messages continue in
//! further parts, so that one part is transferred while another one is packed or unpacked.

use std::{ops::Range, os::raw::c_int};

use super::{
    frame::{are_plain, break_seal, draw, fits, read_numbers, seal, seal_size, unseal, write_numbers},
    members::{Members, Rooted},
    parts::unseal_as,
    pieces::Pieces,
    sendable::sealed::{Read, Write},
};
use crate::{
    Error,
    mpi::{called, packed_datatype},
    pack::PackBuffer,
    types::ValueType,
};

/// The largest size of a part other than the first one, in bytes.
const PART: usize = 256 << 10;
/// The size of the first part in bytes, including the header and the seal.
const FIRST: usize = 1 << 10;
/// The size of the header in bytes.
const HEADER: usize = 32;

/// The header of the root's message.
struct Header {
    /// The packed size of the message in bytes.
    size: usize,
    /// The number of packed bytes in the first part.
    first: usize,
    /// The number of packed bytes in each other part.
    part: usize,
    /// The random number of the seals.
    drawn: u64,
}

impl Header {
    fn of<M: Read + ?Sized>(message: &M) -> Self {
        // Parts end between values.
        let whole = |bytes: usize| bytes - bytes % message.step().max(1);
        let (size, part) = (message.packed_size(), whole(PART));
        let first = whole(FIRST - HEADER - seal_size());
        let part = if part > 0 { part } else { PART };
        Self { size, first: first.min(size), part, drawn: draw() }
    }

    /// Receives the first part, and reads the header. The header may be wrong, so its sizes are limited.
    fn receive(root: Rooted<'_>) -> Result<(Self, [u8; FIRST]), Error> {
        let mut part = [0; FIRST];
        send(root, &mut part)?;
        let [size, first, other, drawn] = read_numbers(&part);
        let [size, first, other] = [size, first, other].map(|size| size.try_into().unwrap_or(usize::MAX));
        let first = first.min(FIRST - HEADER - seal_size()).min(size);
        Ok((Self { size, first, part: other.clamp(1, PART), drawn }, part))
    }

    /// Receives the other parts. `take` gets each part, with its packed bytes and the number of its seal.
    fn receive_parts(
        &self,
        root: Rooted<'_>,
        first: &[u8; FIRST],
        mut take: impl FnMut(Range<usize>, u64, &[u8]),
    ) -> Result<(), Error> {
        take(0..self.first, self.drawn, &first[HEADER..]);
        let mut part = self.room()?;
        self.other_parts().try_for_each(|(bytes, drawn)| {
            let part = &mut part[..bytes.len() + seal_size()];
            break_seal(drawn, &mut part[bytes.len()..]);
            send(root, part)?;
            take(bytes, drawn, part);
            Ok(())
        })
    }

    /// Returns the packed bytes of each other part, and the random number of its seal.
    fn other_parts(&self) -> impl Iterator<Item = (Range<usize>, u64)> {
        let Self { size, first, part, drawn } = *self;
        let of = move |start: usize| {
            (start..size.min(start.saturating_add(part)), drawn.wrapping_add(start as u64))
        };
        (first..size).step_by(part).map(of)
    }

    /// Returns a buffer for the largest other part, with its seal.
    fn room(&self) -> Result<PackBuffer, Error> {
        Ok(PackBuffer::with_room(self.part.min(self.size - self.first) + seal_size())?)
    }
}

/// Sends the message of the root to all ranks.
pub(crate) fn broadcast<M: Write + ?Sized>(root: Rooted<'_>, message: &mut M) -> Result<(), Error> {
    if root.is_here {
        return send_message(root, message);
    }
    let (header, first) = Header::receive(root)?;
    let mut pieces = Pieces::new(message, header.size, |message| fits(message, header.size, None));
    header.receive_parts(root, &first, |bytes, drawn, part| {
        let (packed, behind) = part.split_at(bytes.len());
        pieces.take(bytes.start, packed, |message| {
            let is_last = bytes.end == header.size;
            unseal(message, bytes, drawn, behind, root.rank)?;
            let plain = if is_last { are_plain(message, packed, header.size) } else { Ok(()) };
            plain.map_err(|error| error.sent_by(root.rank))
        });
    })?;
    pieces.end()
}

/// Sends the message of the root, of any size, to all ranks. `message` is `Some` only at the root. `values`
/// is the type of its values, if they are plain. Returns the message, and its size in bytes; at the root, it
/// is empty.
pub(crate) fn broadcast_whole<M: Read + ?Sized>(
    root: Rooted<'_>,
    message: Option<&M>,
    values: Option<&'static ValueType>,
) -> Result<(PackBuffer, usize), Error> {
    if let Some(message) = message {
        send_message(root, message)?;
        return Ok((PackBuffer::with_room(0)?, 0));
    }
    let (header, first) = Header::receive(root)?;
    let mut arrived = PackBuffer::with_room(header.size).map_err(Error::from);
    header.receive_parts(root, &first, |bytes, drawn, part| {
        let (packed, behind) = part.split_at(bytes.len());
        let Ok(whole) = &mut arrived else { return };
        match unseal_as(values, header.size, (bytes.clone(), packed), drawn, behind, root.rank) {
            Ok(()) => whole[bytes].copy_from_slice(packed),
            Err(error) => arrived = Err(error),
        }
    })?;
    Ok((arrived?, header.size))
}

/// Sends a message of this rank to all others.
fn send_message<M: Read + ?Sized>(root: Rooted<'_>, message: &M) -> Result<(), Error> {
    let header = Header::of(message);
    let mut first = [0; FIRST];
    write_numbers([header.size as u64, header.first as u64, header.part as u64, header.drawn], &mut first);
    pack(message, 0..header.first, header.drawn, &mut first[HEADER..])?;
    send(root, &mut first)?;
    let mut part = header.room()?;
    header.other_parts().try_for_each(|(bytes, drawn)| {
        let part = &mut part[..bytes.len() + seal_size()];
        pack(message, bytes, drawn, part)?;
        send(root, part)
    })
}

/// Packs some of the packed bytes of a message as a part, and seals it.
fn pack<M: Read + ?Sized>(
    message: &M,
    bytes: Range<usize>,
    drawn: u64,
    part: &mut [u8],
) -> Result<(), Error> {
    let (place, behind) = part.split_at_mut(bytes.len());
    message.pack_range(bytes.clone(), place)?;
    seal(message, bytes, drawn, behind);
    Ok(())
}

/// Sends bytes from the root to every rank (`MPI_Bcast`). Their number is the same on all ranks.
fn send(root: Rooted<'_>, bytes: &mut [u8]) -> Result<(), Error> {
    let Rooted { members: Members { mpi, communicator, .. }, rank, .. } = root;
    called(mpi, "MPI_Bcast", communicator, || {
        let (place, count) = (bytes.as_mut_ptr().cast(), bytes.len() as c_int);
        // SAFETY: the bytes are borrowed mutably, and their number fits an MPI count.
        unsafe { mpi.MPI_Bcast(place, count, packed_datatype(), rank, communicator) }
    })
}
