//! The receiving side of a message.

use std::{any::type_name, mem};

use super::{
    OwnedMemory,
    limits::{BLOCK, DEEPEST, FEW, MOST_INLINE, malformed, too_deep, too_large},
};
use crate::Error;

/// The size of the memory that may be allocated for values before they have been read: this many bytes, or
/// this many times the bytes that are left, if that is more.
const CAUTIOUS: usize = 1 << 20;
const TIMES: usize = 8;

/// A message that is being read. The bytes may be of any origin: each length is compared with the bytes that
/// are there before memory is allocated.
#[derive(Debug)]
pub struct Reader<'m> {
    in_band: &'m [u8],
    /// The blocks that have not been read, without the front one.
    blocks: &'m [u8],
    front: Front<'m>,
    /// The number of blocks that have been read.
    block: u32,
    /// The least size of a block in bytes.
    least: usize,
    depth: usize,
    /// The size in bytes of the values that are being read, of all levels.
    inline: usize,
    /// The memory in bytes that has been allocated for values that have not been read.
    reserved: usize,
}

/// The block at the front of a message. Received memory can become the `Vec` that it is read into.
#[derive(Debug)]
pub(super) struct Front<'m> {
    /// The number of the block.
    pub number: u32,
    pub bytes: Bytes<'m>,
}

/// The bytes of a block.
#[derive(Debug)]
pub(super) enum Bytes<'m> {
    Borrowed(&'m [u8]),
    /// The first bytes of some memory; `None` after they have been taken.
    Owned(Option<OwnedMemory>, usize),
}

#[cold]
pub(super) fn too_short<T>(count: usize, bytes: usize) -> Error {
    malformed(format!(
        "{count} values of `{}` were announced, but only {bytes} bytes follow",
        type_name::<T>()
    ))
}

#[cold]
fn too_few_bytes(size: usize, left: usize) -> Error {
    malformed(format!("{size} bytes are to be read, but only {left} follow"))
}

#[cold]
fn bytes_follow(left: usize) -> Error {
    malformed(format!("{left} bytes follow the value"))
}

// A test looks for the symbols of public functions, so a debug build has them.
impl<'m> Reader<'m> {
    #[inline]
    pub(super) fn new(in_band: &'m [u8], blocks: &'m [u8], front: Front<'m>) -> Self {
        Self { in_band, blocks, front, block: 0, least: BLOCK, depth: 0, inline: 0, reserved: 0 }
    }

    /// Reads packed bytes of values, which have no blocks.
    #[cfg_attr(not(feature = "mpi"), allow(dead_code))]
    pub(crate) fn of_packed(packed: &'m [u8]) -> Self {
        let front = Front { number: u32::MAX, bytes: Bytes::Borrowed(&[]) };
        Self { least: usize::MAX, ..Self::new(packed, &[], front) }
    }

    /// Reads packed bytes of values, which are the bytes of some memory.
    #[cfg_attr(not(feature = "mpi"), allow(dead_code))]
    pub(crate) fn of_memory(memory: OwnedMemory) -> Self {
        let size = memory.bytes().len();
        let front = Front { number: 0, bytes: Bytes::Owned(Some(memory), size) };
        Self { least: 0, ..Self::new(&[], &[], front) }
    }

    /// Reads the next `size` bytes.
    ///
    /// # Errors
    /// `Type` if there are fewer.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn bytes(&mut self, size: usize) -> Result<&'m [u8], Error> {
        let Some((bytes, rest)) = self.in_band.split_at_checked(size) else {
            return Err(too_few_bytes(size, self.in_band.len()));
        };
        self.in_band = rest;
        Ok(bytes)
    }

    /// Reads the next `N` bytes.
    ///
    /// # Errors
    /// `Type` if there are fewer.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let Some((bytes, rest)) = self.in_band.split_first_chunk() else {
            return Err(too_few_bytes(N, self.in_band.len()));
        };
        self.in_band = rest;
        Ok(*bytes)
    }

    /// Reads the length of a sequence. It may exceed the number of values that follow.
    ///
    /// # Errors
    /// `Type` if the message ends here.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn length(&mut self) -> Result<usize, Error> {
        match u32::from_ne_bytes(self.array()?) {
            u32::MAX => self.long(),
            short => Ok(short as usize),
        }
    }

    /// Reads the length of memory and then the memory, if both are in the in-band part. Otherwise reads
    /// nothing.
    #[inline(always)]
    pub(super) fn short(&mut self) -> Option<&'m [u8]> {
        let (length, rest) = self.in_band.split_first_chunk()?;
        let length = u32::from_ne_bytes(*length) as usize;
        let is_short = length < BLOCK && length < self.least;
        let (bytes, rest) = rest.split_at_checked(length).filter(|_| is_short)?;
        self.in_band = rest;
        Some(bytes)
    }

    /// Reads the rest of a length that does not fit 4 bytes.
    #[cold]
    fn long(&mut self) -> Result<usize, Error> {
        let length = u64::from_ne_bytes(self.array()?);
        usize::try_from(length).map_err(|_| malformed(format!("a sequence of {length} values")))
    }

    /// Returns `count` if so many values of at least `least` bytes can follow.
    #[inline]
    pub(super) fn fits<T>(&mut self, count: usize, least: usize) -> Result<usize, Error> {
        if least == 0 {
            self.bytes(count)?;
        } else if count > self.bytes_left() / least {
            return Err(too_short::<T>(count, self.bytes_left()));
        }
        Ok(count)
    }

    /// Reads `size` bytes that the sender wrote as memory: from a block if they are many.
    #[inline(always)]
    pub(crate) fn memory(&mut self, size: usize) -> Result<&[u8], Error> {
        if size < self.least { self.bytes(size) } else { self.block(size) }
    }

    /// Reads the next block.
    fn block(&mut self, size: usize) -> Result<&[u8], Error> {
        let number = self.block;
        self.block += 1;
        if number != self.front.number {
            let Some((block, rest)) = self.blocks.split_at_checked(size) else {
                return Err(too_short::<u8>(size, self.blocks.len()));
            };
            self.blocks = rest;
            return Ok(block);
        }
        let bytes = match &self.front.bytes {
            Bytes::Borrowed(bytes) => bytes,
            Bytes::Owned(Some(memory), length) => &memory.bytes()[..*length],
            Bytes::Owned(None, _) => return Err(malformed("a block is missing")),
        };
        if bytes.len() == size { Ok(bytes) } else { Err(too_short::<u8>(size, bytes.len())) }
    }

    /// Returns the received memory, if the next `size` bytes are its first ones and it has this alignment.
    /// They have then been read.
    #[inline]
    pub(super) fn take_memory(&mut self, size: usize, align: usize) -> Option<OwnedMemory> {
        if size < self.least || self.block != self.front.number {
            return None;
        }
        let Bytes::Owned(memory, length) = &mut self.front.bytes else { return None };
        let taken = memory.take_if(|memory| *length == size && memory.align() == align)?;
        self.block += 1;
        Some(taken)
    }

    /// Calls `read` for values that have no blocks.
    pub(crate) fn in_band_only<R>(&mut self, read: impl FnOnce(&mut Self) -> R) -> R {
        let least = mem::replace(&mut self.least, usize::MAX);
        let read = read(self);
        self.least = least;
        read
    }

    /// Calls `read` one level deeper, for values of type `T`.
    #[inline]
    pub(super) fn nested<T, R>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let (depth, inline) = (self.depth, self.inline);
        let inside = inline.saturating_add(size_of::<T>());
        if depth == DEEPEST {
            return Err(malformed(too_deep()));
        }
        if depth >= FEW && inside > MOST_INLINE {
            return Err(malformed(too_large(inside)));
        }
        (self.depth, self.inline) = (depth + 1, inside);
        let read = read(self);
        (self.depth, self.inline) = (depth, inline);
        read
    }

    /// Returns the number of values to allocate memory for, before any of `count` values has been read. If
    /// they have been read, they are no longer [`reserved`](Self::release).
    #[inline]
    pub(super) fn reserve<T>(&mut self, count: usize) -> usize {
        let most = self.bytes_left().saturating_mul(TIMES).max(CAUTIOUS).saturating_sub(self.reserved);
        let some = count.min(most / size_of::<T>().max(1));
        self.reserved += some * size_of::<T>();
        some
    }

    /// Ends the reservation of memory for values.
    #[inline]
    pub(super) fn release<T>(&mut self, some: usize) {
        self.reserved -= some * size_of::<T>();
    }

    /// Returns `true` if there is a front block that has not been read.
    #[inline]
    fn has_front(&self) -> bool {
        self.front.number != u32::MAX && self.block <= self.front.number
    }

    /// Returns the number of bytes that have not been read.
    #[inline]
    pub(super) fn bytes_left(&self) -> usize {
        let front = match &self.front.bytes {
            _ if !self.has_front() => 0,
            Bytes::Borrowed(bytes) => bytes.len(),
            Bytes::Owned(_, length) => *length,
        };
        self.in_band.len() + self.blocks.len() + front
    }

    /// Checks that everything has been read.
    #[inline]
    pub(super) fn end(&self) -> Result<(), Error> {
        match self.bytes_left() {
            0 if !self.has_front() => Ok(()),
            left => Err(bytes_follow(left)),
        }
    }
}
