//! The bytes of a whole message: its blocks, its in-band part, and its trailer.

use std::{
    any::type_name,
    io::{self, Read, Write},
};

use super::{
    FromMessage, MpiMessage, OwnedMemory, Reader, Writer,
    fingerprint::fingerprint,
    limits::malformed,
    reader::{Bytes, Front},
    writer::{Block, keep, trim},
};
use crate::Error;

/// The size of the trailer in bytes.
const TRAILER: usize = 32;

/// The mark of messages of this version, as a number in the byte order of the machine.
const MARK: u32 = u32::from_be_bytes(*b"dty\x01");

/// The last bytes of a message.
#[derive(Clone, Copy)]
struct Trailer {
    fingerprint: u64,
    /// The size of the in-band part in bytes.
    in_band: u64,
    /// The size of the front block in bytes; 0 if there is none.
    front_size: u64,
    /// The number of the front block among all blocks; `u32::MAX` if there is none.
    front: u32,
}

impl Trailer {
    fn bytes(self) -> [u8; TRAILER] {
        let mut bytes = [0; TRAILER];
        let numbers = [self.fingerprint, self.in_band, self.front_size];
        bytes[..24].copy_from_slice(numbers.map(u64::to_ne_bytes).as_flattened());
        bytes[24..28].copy_from_slice(&self.front.to_ne_bytes());
        bytes[28..].copy_from_slice(&MARK.to_ne_bytes());
        bytes
    }

    fn read(bytes: &[u8; TRAILER]) -> Result<Self, Error> {
        let (numbers, last) = bytes.as_chunks::<8>().0.split_at(3);
        let number = |i: usize| u64::from_ne_bytes(numbers[i]);
        let [a, b, c, d, mark @ ..] = last[0];
        match u32::from_ne_bytes(mark) {
            MARK => {}
            other if other.swap_bytes() == MARK => {
                return Err(malformed("it comes from a machine of another byte order"));
            }
            other if other.to_be_bytes()[..3] == MARK.to_be_bytes()[..3] => {
                return Err(malformed("it comes from another version of this library"));
            }
            _ => {
                return Err(malformed(
                    "it does not end as a message of `send_message` or `to_bytes` does; receive plain \
                     values with `receive_values`",
                ));
            }
        }
        let front = u32::from_ne_bytes([a, b, c, d]);
        Ok(Self { fingerprint: number(0), in_band: number(1), front_size: number(2), front })
    }
}

/// Returns `true` if bytes end as a message of this version does.
#[cfg(feature = "mpi")]
pub(crate) fn is_message(bytes: &[u8]) -> bool {
    bytes.len() >= TRAILER && bytes.ends_with(&MARK.to_ne_bytes())
}

/// A message as the memory that it consists of.
#[derive(Debug)]
pub(crate) struct Encoded<'a> {
    /// The blocks in their order in the message.
    blocks: Vec<&'a [u8]>,
    /// The in-band part and the trailer.
    rest: Vec<u8>,
    size: usize,
}

impl<'a> Encoded<'a> {
    /// Writes a value. `spare` says that the in-band part may use the memory of an earlier one, and keeps its
    /// own for the next.
    pub fn of<T: MpiMessage + ?Sized>(value: &'a T, spare: bool) -> Result<Self, Error> {
        let mut writer = Writer::new(spare);
        value.write(&mut writer)?;
        let Writer { in_band: mut rest, mut blocks, .. } = writer;
        let front = front(&blocks, T::KEPT);
        let trailer = Trailer {
            fingerprint: fingerprint(T::describe),
            in_band: rest.len() as u64,
            front_size: front.map_or(0, |front| blocks[front].bytes.len() as u64),
            front: front.and_then(|front| u32::try_from(front).ok()).unwrap_or(u32::MAX),
        };
        if let Some(front) = front {
            blocks[..=front].rotate_right(1);
        }
        rest.extend_from_slice(&trailer.bytes());
        if !spare {
            trim(&mut rest);
        }
        let blocks: Vec<_> = blocks.into_iter().map(|block| block.bytes).collect();
        let size = blocks.iter().map(|block| block.len()).sum::<usize>() + rest.len();
        Ok(Self { blocks, rest, size })
    }

    /// Returns a message without bytes, which no value has.
    #[cfg(feature = "mpi")]
    pub fn nothing() -> Self {
        Self { blocks: Vec::new(), rest: Vec::new(), size: 0 }
    }

    /// Returns the message in memory of its own, without blocks.
    #[cfg(feature = "mpi")]
    pub fn copied(self) -> Self {
        let size = self.size;
        Self { blocks: Vec::new(), rest: self.into_bytes(), size }
    }

    /// Returns the size of the message in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the blocks, and the rest of the message behind them.
    pub fn parts(&self) -> (&[&'a [u8]], &[u8]) {
        (&self.blocks, &self.rest)
    }

    /// Returns the whole message as bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        if self.blocks.is_empty() {
            return self.rest;
        }
        let mut bytes = Vec::with_capacity(self.size);
        self.blocks.iter().for_each(|block| bytes.extend_from_slice(block));
        bytes.extend_from_slice(&self.rest);
        keep(self.rest);
        bytes
    }

    /// Keeps the memory of the in-band part for the next message.
    pub fn keep(self) {
        keep(self.rest);
    }
}

/// Returns the number of the block that goes to the front: the largest one whose memory the receiver can
/// keep.
fn front(blocks: &[Block<'_>], align: usize) -> Option<usize> {
    let kept = blocks.iter().enumerate().filter(|(_, block)| block.align == align);
    // The first one of the largest.
    kept.rev().max_by_key(|(_, block)| block.bytes.len()).map(|(number, _)| number)
}

/// A message that has arrived, in memory of its own or not.
pub(crate) enum Message<'m> {
    Borrowed(&'m [u8]),
    #[cfg_attr(not(feature = "mpi"), allow(dead_code))]
    Owned(OwnedMemory),
}

impl Message<'_> {
    /// Makes the value.
    pub fn make<T: FromMessage>(self) -> Result<T, Error> {
        self.read::<T, T>(|reader| T::read(reader))
    }

    /// Makes the value in the memory of an old one. After an error, the old value is unchanged.
    pub fn make_into<T: FromMessage>(self, value: &mut T) -> Result<(), Error> {
        let bytes = match &self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(memory) => memory.bytes(),
        };
        Message::Borrowed(bytes).read::<T, ()>(|reader| T::check(reader))?;
        self.read::<T, ()>(|reader| value.read_into(reader))
    }

    fn read<T: MpiMessage, R>(
        self,
        read: impl FnOnce(&mut Reader<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let bytes = match &self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(memory) => memory.bytes(),
        };
        let length = bytes.len();
        let (_, trailer) = bytes.split_last_chunk().ok_or_else(|| {
            malformed(format!(
                "it has {length} bytes, and a message of `send_message` or `to_bytes` has {TRAILER} or more; \
                 receive plain values with `receive_values`"
            ))
        })?;
        let trailer = Trailer::read(trailer)?;
        if trailer.fingerprint != fingerprint(T::describe) {
            return Err(malformed(format!(
                "it holds a value of another type than `{}`: sender and receiver must name the same type, \
                 from the same source code",
                type_name::<T>()
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

/// Returns a value as bytes: a whole message, as `send_message` sends it.
///
/// # Errors
/// [`Error::Unsendable`] if values are nested too deeply.
///
/// ```
/// use dtype_runtime::message::{from_bytes, to_bytes};
///
/// let words = ["rows".to_owned(), "columns".to_owned()];
/// assert_eq!(from_bytes::<[String; 2]>(&to_bytes(&words)?)?, words);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
pub fn to_bytes<T: MpiMessage + ?Sized>(value: &T) -> Result<Vec<u8>, Error> {
    Ok(Encoded::of(value, false)?.into_bytes())
}

/// Makes a value from the bytes of a whole message.
///
/// # Errors
/// [`Error::Message`] if the bytes are no message, a message of another type, or no value;
/// [`Error::InvalidValue`] if a `bool`, `char`, `NonZero` or enum has no such value; [`Error::Memory`].
pub fn from_bytes<T: FromMessage>(bytes: &[u8]) -> Result<T, Error> {
    Message::Borrowed(bytes).make()
}

/// Makes a value from the bytes of a whole message, in place of an old one. The memory that the old value
/// owns is used again where that is possible.
///
/// # Errors
/// The errors of [`from_bytes`]. The old value is unchanged then, except after [`Error::Memory`].
pub fn from_bytes_into<T: FromMessage>(bytes: &[u8], value: &mut T) -> Result<(), Error> {
    Message::Borrowed(bytes).make_into(value)
}

/// Writes a value to a file or stream. Large slices are written from where they are. The size of the message
/// comes first, in 8 bytes, so that several messages can follow one another.
///
/// ```
/// use dtype_runtime::message::{read_from, write_to};
///
/// let mut file = Vec::new();
/// write_to(&mut file, &vec![1u64, 2])?;
/// write_to(&mut file, "three")?;
/// let mut file = &file[..];
/// assert_eq!(read_from::<Vec<u64>>(&mut file)?, [1, 2]);
/// assert_eq!(read_from::<String>(&mut file)?, "three");
/// # std::io::Result::Ok(())
/// ```
///
/// # Errors
/// The errors of the stream; those of [`to_bytes`] as [`io::ErrorKind::InvalidInput`].
pub fn write_to<T: MpiMessage + ?Sized>(to: &mut impl Write, value: &T) -> io::Result<()> {
    let encoded =
        Encoded::of(value, true).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    to.write_all(&(encoded.size() as u64).to_ne_bytes())?;
    let (blocks, rest) = encoded.parts();
    blocks.iter().chain([&rest]).try_for_each(|part| to.write_all(part))?;
    encoded.keep();
    Ok(())
}

/// Reads a value that [`write_to`] wrote. No more is read than its message.
///
/// # Errors
/// The errors of the stream; those of [`from_bytes`] as [`io::ErrorKind::InvalidData`].
pub fn read_from<T: FromMessage>(from: &mut impl Read) -> io::Result<T> {
    let mut size = [0; 8];
    from.read_exact(&mut size)?;
    let size = u64::from_ne_bytes(size);
    // The size is not believed: memory grows as bytes arrive.
    let mut bytes = Vec::new();
    from.take(size).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != size {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    from_bytes(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}
