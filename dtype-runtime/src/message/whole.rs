//! Whole messages in the format of messages: the trailer, and what a reader gets.

use std::array;

use super::{
    Fingerprint, OwnedMemory, Reader,
    fingerprint::fingerprint,
    limits::malformed,
    reader::{Bytes, Front},
};
use crate::Error;

/// The size of the trailer in bytes.
pub(crate) const TRAILER: usize = 32;

/// The mark of messages of this version, as a number in the byte order of the machine.
const MARK: u32 = u32::from_be_bytes(*b"dty\x01");

/// The last bytes of a message.
#[derive(Clone, Copy)]
pub(super) struct Trailer {
    pub fingerprint: u64,
    /// The size of the in-band part in bytes.
    pub in_band: u64,
    /// The size of the front block in bytes; 0 if there is none.
    pub front_size: u64,
    /// The number of the front block among all blocks; `u32::MAX` if there is none.
    pub front: u32,
}

impl Trailer {
    #[inline]
    pub fn bytes(self) -> [u8; TRAILER] {
        let mut bytes = [0; TRAILER];
        let numbers = [self.fingerprint, self.in_band, self.front_size];
        bytes[..24].copy_from_slice(numbers.map(u64::to_ne_bytes).as_flattened());
        bytes[24..28].copy_from_slice(&self.front.to_ne_bytes());
        bytes[28..].copy_from_slice(&MARK.to_ne_bytes());
        bytes
    }

    #[inline]
    fn read(bytes: &[u8; TRAILER]) -> Result<Self, Error> {
        let [fingerprint, in_band, front_size] =
            array::from_fn(|i| u64::from_ne_bytes(bytes.as_chunks().0[i]));
        let [front, mark] = array::from_fn(|i| u32::from_ne_bytes(bytes[24..].as_chunks().0[i]));
        if mark == MARK { Ok(Self { fingerprint, in_band, front_size, front }) } else { Err(no_mark(mark)) }
    }
}

/// Returns the reason why a message does not end with the mark of this version.
#[cold]
fn no_mark(found: u32) -> Error {
    malformed(if found.swap_bytes() == MARK {
        "it comes from a machine of another byte order"
    } else if found.to_be_bytes()[..3] == MARK.to_be_bytes()[..3] {
        "it comes from another version of this library"
    } else {
        "it does not end as an owned message does: the sender sent plain values, such as a `Vec` of numbers; \
         receive that type"
    })
}

/// Returns `true` if `length` bytes, whose last ones are `end`, end as a message of this version does, and
/// the sizes in the trailer fit. Numbers of a program end so only if they were made of a message.
#[cfg(feature = "mpi")]
#[inline]
pub(crate) fn is_message(end: &[u8], length: usize) -> bool {
    if !end.ends_with(&MARK.to_ne_bytes()) {
        return false;
    }
    let trailer = end.split_last_chunk().and_then(|(_, trailer)| Trailer::read(trailer).ok());
    let named = trailer.and_then(|trailer| trailer.in_band.checked_add(trailer.front_size));
    let named = named.and_then(|named| named.checked_add(TRAILER as u64));
    named.is_some_and(|named| named <= length as u64)
}

/// A message that has arrived, in memory of its own or not.
#[derive(Debug)]
pub enum Message<'m> {
    /// The bytes of the message.
    Borrowed(&'m [u8]),
    /// Memory whose initialized bytes are the message.
    #[cfg_attr(not(feature = "mpi"), allow(dead_code))]
    Owned(OwnedMemory),
}

impl<'m> Message<'m> {
    /// Returns the bytes of the message.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(memory) => memory.bytes(),
        }
    }

    /// Returns a reader of packed bytes.
    pub(super) fn packed(self) -> Reader<'m> {
        match self {
            Self::Borrowed(packed) => Reader::of_packed(packed),
            Self::Owned(memory) => Reader::of_memory(memory),
        }
    }

    /// Reads a value of the type that `describe` describes, and that has this name.
    pub(super) fn read<R>(
        self,
        describe: fn(&mut Fingerprint),
        name: &str,
        read: impl FnOnce(&mut Reader<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let bytes = self.bytes();
        let length = bytes.len();
        let (_, trailer) = bytes.split_last_chunk().ok_or_else(|| {
            malformed(format!(
                "it has {length} bytes, and an owned message has {TRAILER} or more: the sender sent plain \
                 values, such as a number; receive that type"
            ))
        })?;
        let trailer = Trailer::read(trailer)?;
        if trailer.fingerprint != fingerprint(describe) {
            return Err(malformed(format!(
                "it holds a value of another type than `{name}`: sender and receiver must name the same \
                 type, from the same source code"
            )));
        }
        let size = |size: u64| usize::try_from(size).ok().filter(|size| *size <= length);
        let has_front = trailer.front != u32::MAX;
        let sizes = size(trailer.in_band).zip(size(trailer.front_size)).and_then(|(in_band, front)| {
            let blocks = length.checked_sub(TRAILER)?.checked_sub(in_band)?.checked_sub(front)?;
            (has_front || front == 0).then_some((front, blocks))
        });
        let Some((front_size, blocks)) = sizes else {
            return Err(malformed("its trailer names more bytes than there are"));
        };
        let behind = front_size..length - TRAILER;
        let number = trailer.front;
        // If most of the memory is the front block, it can become a `Vec`, and the rest is copied.
        let rest: Vec<u8>;
        let (behind, front) = match self {
            Self::Owned(memory) if front_size >= length / 8 * 7 => {
                rest = memory.bytes()[behind].to_vec();
                (&rest[..], Bytes::Owned(Some(memory), front_size))
            }
            _ => (&bytes[behind], Bytes::Borrowed(&bytes[..front_size])),
        };
        let (blocks, in_band) = behind.split_at(blocks);
        let mut reader = Reader::new(in_band, blocks, Front { number, bytes: front });
        let value = read(&mut reader)?;
        reader.end()?;
        Ok(value)
    }
}
