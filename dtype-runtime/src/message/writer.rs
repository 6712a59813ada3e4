//! The sending side of a message: its in-band part and its blocks.

use std::{cell::Cell, mem};

use super::limits::{BLOCK, DEEPEST, too_deep, unsendable};
use crate::Error;

/// A message that is being written. Numbers are in the byte order of the machine.
#[derive(Debug)]
pub struct Writer<'a> {
    pub(crate) in_band: Vec<u8>,
    pub(super) blocks: Vec<Block<'a>>,
    depth: usize,
}

/// The memory of a slice, which is a part of the message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<'a> {
    pub bytes: &'a [u8],
    /// The alignment of its elements.
    pub align: usize,
}

thread_local! {
    /// The memory of the last message. It is used again while it is in the caches, and allocating large
    /// memory costs more than filling it.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };

    /// The size in bytes of the last in-band part in memory of its own. The next one is likely to be as long.
    static LAST: Cell<usize> = const { Cell::new(0) };
}

/// The most bytes that a thread keeps for the next message.
const MOST_SPARE: usize = 16 << 20;

/// The most bytes that are allocated before a message is written.
const MOST_EXPECTED: usize = 1 << 20;

/// Returns the memory of an earlier message of this thread, or none.
pub(crate) fn spare() -> Vec<u8> {
    // While the thread ends, the thread-local variable is gone.
    SPARE.try_with(Cell::take).unwrap_or_default()
}

/// Keeps the memory of a message for the next one of this thread.
pub(crate) fn keep(mut memory: Vec<u8>) {
    if memory.capacity() <= MOST_SPARE {
        memory.clear();
        let _ = SPARE.try_with(|spare| spare.set(memory));
    }
}

/// Returns new memory, as large as that of the last message.
#[inline]
fn fresh() -> Vec<u8> {
    Vec::with_capacity(LAST.try_with(Cell::get).unwrap_or_default())
}

/// Ends an in-band part in memory of its own. Its caller may keep it, so unused memory is given back.
#[inline]
pub(super) fn trim(in_band: &mut Vec<u8>) {
    let size = in_band.len();
    let _ = LAST.try_with(|last| last.set(size.min(MOST_EXPECTED)));
    if in_band.capacity() / 2 > size {
        in_band.shrink_to_fit();
    }
}

/// Returns a vector with room for more bytes. It is passed by value: so a [local](Writer::local) writer needs
/// no address.
#[cold]
#[inline(never)]
fn grown(mut bytes: Vec<u8>, more: usize) -> Vec<u8> {
    bytes.reserve(more);
    bytes
}

/// Returns blocks with one more, by value like [`grown`].
#[cold]
#[inline(never)]
fn joined<'a>(mut blocks: Vec<Block<'a>>, block: Block<'a>) -> Vec<Block<'a>> {
    blocks.push(block);
    blocks
}

// A test looks for the symbols of public functions, so a debug build has them.
impl<'a> Writer<'a> {
    /// Creates an empty message, in memory of an earlier one if `spare` is set.
    #[inline]
    pub(super) fn new(spare: bool) -> Self {
        let in_band = if spare { self::spare() } else { fresh() };
        Self { in_band, blocks: Vec::new(), depth: 0 }
    }

    /// Calls `write` with a writer on the stack of the caller, whose fields can be in registers.
    #[inline(always)]
    pub(super) fn local<R>(&mut self, write: impl FnOnce(&mut Self) -> R) -> R {
        let mut local = Self {
            in_band: mem::take(&mut self.in_band),
            blocks: mem::take(&mut self.blocks),
            depth: self.depth,
        };
        let written = write(&mut local);
        *self = local;
        written
    }

    /// Makes room for more bytes.
    #[inline(always)]
    pub(super) fn room(&mut self, more: usize) {
        if self.in_band.capacity() - self.in_band.len() < more {
            self.in_band = grown(mem::take(&mut self.in_band), more);
        }
    }

    /// Writes bytes. Their number must be known to the reader.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.room(bytes.len());
        self.in_band.extend_from_slice(bytes);
    }

    /// Writes the length of a sequence, in 4 bytes if that is possible.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn length(&mut self, length: usize) {
        match u32::try_from(length) {
            Ok(short) if short != u32::MAX => self.bytes(&short.to_ne_bytes()),
            _ => self.long(length),
        }
    }

    #[inline(always)]
    fn long(&mut self, length: usize) {
        self.bytes(&u32::MAX.to_ne_bytes());
        self.bytes(&(length as u64).to_ne_bytes());
    }

    /// Writes the length of memory that consists of packed bytes, and then the memory.
    #[inline(always)]
    pub(super) fn counted(&mut self, bytes: &'a [u8], align: usize) {
        if bytes.len() < BLOCK {
            self.room(size_of::<u32>() + bytes.len());
            self.in_band.extend_from_slice(&(bytes.len() as u32).to_ne_bytes());
            self.in_band.extend_from_slice(bytes);
        } else {
            self.length(bytes.len());
            self.memory(bytes, align);
        }
    }

    /// Writes a byte for each of `count` values that have no bytes.
    pub(super) fn blank(&mut self, count: usize) {
        self.in_band.resize(self.in_band.len() + count, 0);
    }

    /// Writes memory that consists of packed bytes: as a block if it is long.
    #[inline(always)]
    pub(crate) fn memory(&mut self, bytes: &'a [u8], align: usize) {
        if bytes.len() < BLOCK {
            self.bytes(bytes);
        } else {
            self.blocks = joined(mem::take(&mut self.blocks), Block { bytes, align });
        }
    }

    /// Calls `write` one level deeper.
    #[inline]
    pub(super) fn nested(&mut self, write: impl FnOnce(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        if self.depth == DEEPEST {
            return Err(unsendable(too_deep()));
        }
        self.depth += 1;
        let written = write(self);
        self.depth -= 1;
        written
    }
}
