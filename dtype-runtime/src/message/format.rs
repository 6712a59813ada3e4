//! The bytes of a whole message: its blocks, its in-band part, and its trailer.

use std::{
    any::type_name,
    io::{self, Read, Write},
};

use super::{
    FromMessage, Message, MpiMessage, Writer,
    fingerprint::fingerprint,
    whole::Trailer,
    writer::{Block, keep, trim},
};
use crate::Error;

/// A message as the memory that it consists of.
#[derive(Debug)]
pub struct Encoded<'a> {
    /// The blocks in their order in the message.
    blocks: Vec<&'a [u8]>,
    /// The in-band part and the trailer.
    rest: Vec<u8>,
}

impl<'a> Encoded<'a> {
    /// Writes a value. `spare` says that the in-band part may use the memory of an earlier one, and keeps its
    /// own for the next.
    pub fn of<T: MpiMessage + ?Sized>(value: &'a T, spare: bool) -> Result<Self, Error> {
        let mut writer = Writer::new(spare);
        value.write(&mut writer)?;
        let Writer { in_band: mut rest, blocks, .. } = writer;
        let trailer = Trailer {
            fingerprint: fingerprint(T::describe),
            in_band: rest.len() as u64,
            front_size: 0,
            front: u32::MAX,
        };
        // Most messages have no blocks.
        let blocks = if blocks.is_empty() {
            rest.extend_from_slice(&trailer.bytes());
            Vec::new()
        } else {
            end(blocks, T::KEPT, trailer, &mut rest)
        };
        if !spare {
            trim(&mut rest);
        }
        Ok(Self { blocks, rest })
    }

    /// Returns a message without bytes, which no value has.
    #[cfg(feature = "mpi")]
    pub fn nothing() -> Self {
        Self { blocks: Vec::new(), rest: Vec::new() }
    }

    /// Returns the message in memory of its own, without blocks.
    #[cfg(feature = "mpi")]
    pub fn copied(self) -> Self {
        Self { blocks: Vec::new(), rest: self.into_bytes() }
    }

    /// Returns the size of the message in bytes.
    pub fn size(&self) -> usize {
        self.blocks.iter().map(|block| block.len()).sum::<usize>() + self.rest.len()
    }

    /// Returns the blocks, and the rest of the message behind them.
    pub fn parts(&self) -> (&[&'a [u8]], &[u8]) {
        (&self.blocks, &self.rest)
    }

    /// Returns the whole message as bytes.
    #[inline]
    pub fn into_bytes(self) -> Vec<u8> {
        if self.blocks.is_empty() { self.rest } else { self.joined() }
    }

    fn joined(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.size());
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

/// Moves the front block before the others, and ends the in-band part with the trailer.
fn end<'a>(mut blocks: Vec<Block<'a>>, kept: usize, trailer: Trailer, rest: &mut Vec<u8>) -> Vec<&'a [u8]> {
    let front = front(&blocks, kept);
    let trailer = Trailer {
        front_size: front.map_or(0, |front| blocks[front].bytes.len() as u64),
        front: front.and_then(|front| u32::try_from(front).ok()).unwrap_or(u32::MAX),
        ..trailer
    };
    if let Some(front) = front {
        blocks[..=front].rotate_right(1);
    }
    rest.extend_from_slice(&trailer.bytes());
    blocks.into_iter().map(|block| block.bytes).collect()
}

/// Returns the number of the block that goes to the front: the largest one whose memory the receiver can
/// keep.
fn front(blocks: &[Block<'_>], align: usize) -> Option<usize> {
    let kept = blocks.iter().enumerate().filter(|(_, block)| block.align == align);
    // The first one of the largest.
    kept.rev().max_by_key(|(_, block)| block.bytes.len()).map(|(number, _)| number)
}

impl Message<'_> {
    /// Makes the value.
    pub(crate) fn make<T: FromMessage>(self) -> Result<T, Error> {
        self.read(T::describe, type_name::<T>(), T::read)
    }

    /// Makes the value in the memory of an old one. After an error, the old value is unchanged.
    pub(crate) fn make_into<T: FromMessage>(self, value: &mut T) -> Result<(), Error> {
        Message::Borrowed(self.bytes()).read(T::describe, type_name::<T>(), T::check)?;
        self.read(T::describe, type_name::<T>(), |reader| value.read_into(reader))
    }
}

/// Returns a value as bytes: a whole message, as an owned value is sent.
///
/// # Errors
/// `Argument` if values are nested too deeply.
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
/// `Type` if the bytes are no message, a message of another type, or no value; `Value` if a `bool`, `char`,
/// `NonZero` or enum has no such value; `Memory` if there is no memory for the value.
pub fn from_bytes<T: FromMessage>(bytes: &[u8]) -> Result<T, Error> {
    Message::Borrowed(bytes).make()
}

/// Makes a value from the bytes of a whole message, in place of an old one. The memory that the old value
/// owns is used again where that is possible.
///
/// # Errors
/// The errors of [`from_bytes`]. The old value is unchanged then, except after `Memory`.
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
