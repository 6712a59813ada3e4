//! Broadcasts of packed bytes (MPI 4.1 section 6.4).
//!
//! The first part has the same size on all ranks, whatever they expect: a header with the length of the
//! root's message, and the first bytes. So a short message is one `MPI_Bcast`. Longer messages continue in
//! further parts, so that one part is transferred while another one is packed or unpacked.

use std::{ops::Range, os::raw::c_int};

use ::mpi::ffi::MPI_Comm;

use super::{
    frame::{are_plain, break_seal, draw, fits, seal, seal_size, unseal},
    members::{Members, Rooted},
    parts::unseal_as,
    sendable::sealed::{Read, Write},
};
use crate::{
    Error,
    mpi::{Usable, called, packed_datatype},
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

    fn bytes(&self) -> [u8; HEADER] {
        let numbers = [self.size as u64, self.first as u64, self.part as u64, self.drawn];
        let mut bytes = [0; HEADER];
        bytes.copy_from_slice(numbers.map(u64::to_ne_bytes).as_flattened());
        bytes
    }

    /// Reads the header from a root. The header may be wrong, so its sizes are limited.
    fn read(bytes: &[u8]) -> Self {
        let (numbers, _) = bytes.as_chunks::<8>();
        let number = |i: usize| u64::from_ne_bytes(numbers[i]);
        let bytes = |i: usize| usize::try_from(number(i)).unwrap_or(usize::MAX);
        let size = bytes(0);
        let first = bytes(1).min(FIRST - HEADER - seal_size()).min(size);
        Self { size, first, part: bytes(2).clamp(1, PART), drawn: number(3) }
    }

    /// Returns the first part of the root's message, with the header.
    fn first_part<M: Read + ?Sized>(&self, message: &M) -> Result<[u8; FIRST], Error> {
        let mut part = [0; FIRST];
        part[..HEADER].copy_from_slice(&self.bytes());
        pack(message, 0..self.first, self.drawn, &mut part[HEADER..])?;
        Ok(part)
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

/// Sends the root's message to all ranks.
pub(crate) fn broadcast<M: Write + ?Sized>(root: Rooted<'_>, message: &mut M) -> Result<(), Error> {
    let Rooted { members: Members { mpi, communicator, .. }, rank: root, is_here: is_root } = root;
    let mut header = Header::of(message);
    let mut first = [0; FIRST];
    if is_root {
        first = header.first_part(message)?;
    }
    send(mpi, communicator, root, &mut first)?;
    if !is_root {
        header = Header::read(&first);
    }
    let mut receiving = Receiving::new(message, header.size, is_root);
    if !is_root {
        receiving.take(0..header.first, header.drawn, &first[HEADER..], root);
    }
    let mut packed = header.room()?;
    for (bytes, drawn) in header.other_parts() {
        let packed = &mut packed[..bytes.len() + seal_size()];
        if is_root {
            pack(receiving.message, bytes.clone(), drawn, packed)?;
        } else {
            break_seal(drawn, &mut packed[bytes.len()..]);
        }
        send(mpi, communicator, root, packed)?;
        if !is_root {
            receiving.take(bytes, drawn, packed, root);
        }
    }
    receiving.end()
}

/// Sends the root's message, of any size, to all ranks. `message` is `Some` only at the root. `values` is the
/// type of its values, if they are plain. Returns the message, and its size in bytes; at the root, it is
/// empty.
pub(crate) fn broadcast_whole<M: Read + ?Sized>(
    root: Rooted<'_>,
    message: Option<&M>,
    values: Option<&'static ValueType>,
) -> Result<(PackBuffer, usize), Error> {
    let Rooted { members: Members { mpi, communicator, .. }, rank: root, .. } = root;
    let mut first = match message {
        Some(message) => Header::of(message).first_part(message)?,
        None => [0; FIRST],
    };
    send(mpi, communicator, root, &mut first)?;
    let header = Header::read(&first);
    let size = if message.is_some() { 0 } else { header.size };
    let mut arrived = PackBuffer::with_room(size).map_err(Error::from);
    let mut take = |bytes: Range<usize>, drawn: u64, part: &[u8]| {
        let (packed, behind) = part.split_at(bytes.len());
        let whole = match &mut arrived {
            Ok(whole) if message.is_none() => whole,
            _ => return,
        };
        match unseal_as(values, header.size, (bytes.clone(), packed), drawn, behind, root) {
            Ok(()) => whole[bytes].copy_from_slice(packed),
            Err(error) => arrived = Err(error),
        }
    };
    take(0..header.first, header.drawn, &first[HEADER..]);
    let mut packed = header.room()?;
    for (bytes, drawn) in header.other_parts() {
        let packed = &mut packed[..bytes.len() + seal_size()];
        match message {
            Some(message) => pack(message, bytes.clone(), drawn, packed)?,
            None => break_seal(drawn, &mut packed[bytes.len()..]),
        }
        send(mpi, communicator, root, packed)?;
        take(bytes, drawn, packed);
    }
    Ok((arrived?, size))
}

/// The progress of a broadcast. A message that is refused is received nevertheless, because all ranks must
/// complete the call.
struct Receiving<'a, M: ?Sized> {
    message: &'a mut M,
    refused: Option<Error>,
    /// A buffer for the whole message, if it must be checked before any of it is written.
    whole: Option<PackBuffer>,
    size: usize,
}

impl<'a, M: Write + ?Sized> Receiving<'a, M> {
    fn new(message: &'a mut M, size: usize, is_root: bool) -> Self {
        let mut refused = fits(message, size, None).err();
        let looks_first = refused.is_none() && !is_root && !message.any_pattern();
        let mut whole = None;
        if looks_first {
            match PackBuffer::with_room(size) {
                Ok(buffer) => whole = Some(buffer),
                Err(error) => refused = Some(error.into()),
            }
        }
        Self { message, refused, whole, size }
    }

    /// Checks the seal of a part, which holds the packed bytes in the range `bytes`, and unpacks or stores
    /// the part.
    fn take(&mut self, bytes: Range<usize>, drawn: u64, part: &[u8], root: c_int) {
        if self.refused.is_some() {
            return;
        }
        let (packed, behind) = part.split_at(bytes.len());
        let sealed = unseal(self.message, bytes.clone(), drawn, behind, root);
        let sealed = sealed.and_then(|()| {
            let is_last = bytes.end == self.size;
            let plain = if is_last { are_plain(self.message, packed, self.size) } else { Ok(()) };
            plain.map_err(|error| error.sent_by(root))
        });
        let taken = sealed.and_then(|()| match &mut self.whole {
            Some(whole) => {
                whole[bytes].copy_from_slice(packed);
                Ok(())
            }
            None => self.message.unpack_range(bytes.start, packed),
        });
        self.refused = taken.err();
    }

    fn end(self) -> Result<(), Error> {
        match (self.refused, self.whole) {
            (Some(error), _) => Err(error),
            (None, Some(whole)) => self.message.unpack(&whole[..self.size]),
            (None, None) => Ok(()),
        }
    }
}

/// Sends bytes from the root to every rank. Their number is the same on all ranks.
fn send(mpi: &Usable, communicator: MPI_Comm, root: c_int, bytes: &mut [u8]) -> Result<(), Error> {
    called(mpi, "MPI_Bcast", communicator, || {
        let (place, count) = (bytes.as_mut_ptr().cast(), bytes.len() as c_int);
        // SAFETY: the bytes are borrowed mutably, and their number fits an MPI count.
        unsafe { mpi.MPI_Bcast(place, count, packed_datatype(), root, communicator) }
    })
}
