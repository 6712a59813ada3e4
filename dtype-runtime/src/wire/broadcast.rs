//! Broadcasts of packed bytes (MPI 4.1 section 6.4).
//!
//! The first bytes travel behind a header that says how long the root's message is, in a part of one size for
//! all ranks, whatever they expect: a short message is one `MPI_Bcast`. Longer ones go on in parts, so that
//! one travels while another is packed or unpacked. Where all ranks are promised to know the length there is
//! no header, nor seals.

use std::{ops::Range, os::raw::c_int};

use ::mpi::ffi::{self, MPI_Comm};

use super::{
    Receivable,
    frame::{draw, fits},
    members::{Members, Rooted},
    parts::Form,
};
use crate::{
    Error,
    mpi::{called, packed_datatype},
    pack::PackBuffer,
};

/// Bytes of a part, but of the first one with its header.
const PART: usize = 256 << 10;
const FIRST: usize = 1 << 10;
const HEADER: usize = 32;

/// What the root tells of its message.
struct Header {
    /// Packed bytes.
    size: usize,
    /// Those that travel with the header, and with each other part.
    first: usize,
    part: usize,
    /// The number of the seals.
    drawn: u64,
}

impl Header {
    fn of<M: Receivable + ?Sized>(message: &M, form: Form) -> Self {
        // Parts end between values.
        let whole = |bytes: usize| bytes - bytes % message.step().max(1);
        let (size, part) = (message.packed_size(), whole(PART));
        let first = whole(FIRST - HEADER - form.seal_size());
        let part = if part > 0 { part } else { PART };
        Self { size, first: if form.is_bare() { 0 } else { first.min(size) }, part, drawn: draw() }
    }

    fn bytes(&self) -> [u8; HEADER] {
        let numbers = [self.size as u64, self.first as u64, self.part as u64, self.drawn];
        let mut bytes = [0; HEADER];
        bytes.copy_from_slice(numbers.map(u64::to_ne_bytes).as_flattened());
        bytes
    }

    /// What a root says, and may lie.
    fn read(bytes: &[u8], form: Form) -> Self {
        let (numbers, _) = bytes.as_chunks::<8>();
        let number = |i: usize| u64::from_ne_bytes(numbers[i]);
        let bytes = |i: usize| usize::try_from(number(i)).unwrap_or(usize::MAX);
        let size = bytes(0);
        let first = bytes(1).min(FIRST - HEADER - form.seal_size()).min(size);
        Self { size, first, part: bytes(2).clamp(1, PART), drawn: number(3) }
    }
}

/// Sends the root's message to all ranks; `form` says whether its length and seals travel with it.
pub(super) fn broadcast<M: Receivable + ?Sized>(
    root: Rooted,
    message: &mut M,
    form: Form,
) -> Result<(), Error> {
    let Rooted { members: Members { communicator, .. }, rank: root, is_here: is_root } = root;
    let mut header = Header::of(message, form);
    let mut first = [0; FIRST];
    if !form.is_bare() {
        if is_root {
            let (place, behind) = first[HEADER..].split_at_mut(header.first);
            message.pack_range(0..header.first, place)?;
            form.seal(message, 0..header.first, header.drawn, behind);
            first[..HEADER].copy_from_slice(&header.bytes());
        }
        send(communicator, root, &mut first)?;
        if !is_root {
            header = Header::read(&first, form);
        }
    }
    let Header { size, first: from, part, drawn } = header;
    let mut receiving = Receiving::new(message, size, is_root);
    if !form.is_bare() && !is_root {
        receiving.take(form, 0..from, drawn, &first[HEADER..], root);
    }
    let mut packed = PackBuffer::with_room(part.min(size - from) + form.seal_size())?;
    for start in (from..size).step_by(part) {
        let bytes = start..size.min(start.saturating_add(part));
        let drawn = drawn.wrapping_add(start as u64);
        let packed = &mut packed[..bytes.len() + form.seal_size()];
        let (place, behind) = packed.split_at_mut(bytes.len());
        if is_root {
            receiving.message.pack_range(bytes.clone(), place)?;
            form.seal(receiving.message, bytes.clone(), drawn, behind);
        } else {
            form.break_seal(drawn, behind);
        }
        send(communicator, root, packed)?;
        if !is_root {
            receiving.take(form, bytes, drawn, packed, root);
        }
    }
    receiving.end()
}

/// What has come of a message so far. What is refused is received all the same: all ranks must come out of
/// the call.
struct Receiving<'a, M: ?Sized> {
    message: &'a mut M,
    refused: Option<Error>,
    /// What has to be looked at before any of it is written is put together first.
    whole: Option<PackBuffer>,
    size: usize,
}

impl<'a, M: Receivable + ?Sized> Receiving<'a, M> {
    fn new(message: &'a mut M, size: usize, is_root: bool) -> Self {
        let mut refused = fits(message, size, None).err();
        let looks_first = refused.is_none() && !is_root && !message.any_pattern();
        let mut whole = None;
        if looks_first {
            match PackBuffer::with_room(size) {
                Ok(buffer) => whole = Some(buffer),
                Err(error) => refused = Some(error),
            }
        }
        Self { message, refused, whole, size }
    }

    /// Takes a part with these packed bytes.
    fn take(&mut self, form: Form, bytes: Range<usize>, drawn: u64, part: &[u8], root: c_int) {
        if self.refused.is_some() {
            return;
        }
        let (packed, behind) = part.split_at(bytes.len());
        let sealed = form.unseal(self.message, bytes.clone(), drawn, behind, root);
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

/// Sends bytes of the root's to every rank: the same number on all ranks.
fn send(communicator: MPI_Comm, root: c_int, bytes: &mut [u8]) -> Result<(), Error> {
    called("MPI_Bcast", communicator, || {
        let (place, count) = (bytes.as_mut_ptr().cast(), bytes.len() as c_int);
        // SAFETY: the bytes are there, to be written, and fewer than an MPI count.
        unsafe { ffi::MPI_Bcast(place, count, packed_datatype(), root, communicator) }
    })
}
