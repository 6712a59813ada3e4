//! Packed bytes as a stream: in parts of any size, in any order, with a checksum, in any byte order (like
//! Open MPI's convertor).

use std::{
    collections::BTreeMap,
    io::{self, Read, Seek, SeekFrom, Write},
    ops::Range,
};

use super::{
    data::{Data, DataMut, check_range},
    encoding::{Encoding, LARGEST_UNIT, Representation},
};
use crate::{
    Error,
    sides::CHUNK,
    signature::{Signature, Unit},
};

/// A packer that packs part by part, from any position: a `Read` and `Seek`.
///
/// ```
/// use std::io::Read;
/// use dtype_runtime::pack::{Representation, data_of};
///
/// let values = [(1u8, 2u32), (3, 4)];
/// let mut packer = data_of(&values).packer().with_representation(Representation::BigEndian)?;
/// let mut part = [0; 7]; // ends within the second value
/// packer.read_exact(&mut part)?;
/// assert_eq!(part, [1, 0, 0, 0, 2, 3, 0]);
/// packer.read_exact(&mut part[..3])?;
/// assert_eq!(part[..3], [0, 0, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Packer<'a> {
    data: Data<'a>,
    position: usize,
    encoding: Encoding,
    checksum: Option<u32>,
}

impl<'a> Data<'a> {
    /// Returns a packer that begins at the first byte.
    pub fn packer(&self) -> Packer<'a> {
        Packer::new(self.clone())
    }
}

impl<'a> Packer<'a> {
    pub(super) fn new(data: Data<'a>) -> Self {
        Self { data, position: 0, encoding: Encoding::default(), checksum: None }
    }

    /// Changes the representation. The packer begins again at the first byte, with a new checksum.
    ///
    /// # Errors
    /// [`Error::Representation`] if the layout was decoded from a datatype with a `long double`, or with
    /// another type whose conversion takes more than another byte order.
    pub fn with_representation(self, representation: Representation) -> Result<Self, Error> {
        let encoding = Encoding::new(representation, self.data.signature())?;
        Ok(Self { encoding, checksum: self.checksum.map(|_| 0), ..Self::new(self.data) })
    }

    /// Returns the size of all packed bytes in this representation.
    pub fn size(&self) -> usize {
        self.data.size_in(self.encoding.resizes)
    }

    /// Also computes a checksum of the packed bytes, while they are in the cache.
    #[must_use]
    pub fn with_checksum(self) -> Self {
        Self { checksum: Some(0), ..self }
    }

    /// Returns the CRC-32C of all bytes that have been packed since the last
    /// [`set_position`](Self::set_position); `None` without [`with_checksum`](Self::with_checksum).
    pub fn checksum(&self) -> Option<u32> {
        self.checksum
    }

    /// Returns the position of the next byte.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Moves to a position, and begins a new checksum.
    ///
    /// # Errors
    /// [`Error::Range`] if the position is beyond the last byte.
    pub fn set_position(&mut self, position: usize) -> Result<(), Error> {
        check_range(&(position..position), self.size())?;
        self.position = position;
        self.checksum = self.checksum.map(|_| 0);
        Ok(())
    }

    /// Packs as many bytes as are left and fit into `packed`. Returns their number: 0 at the end.
    pub fn pack(&mut self, packed: &mut [u8]) -> usize {
        let size = packed.len().min(self.size() - self.position);
        let packed = &mut packed[..size];
        if self.encoding.is_native() && self.checksum.is_none() {
            self.fill(packed);
            return size;
        }
        for chunk in packed.chunks_mut(CHUNK) {
            self.fill(chunk);
            self.checksum = self.checksum.map(|checksum| crc32c::crc32c_append(checksum, chunk));
        }
        size
    }

    /// Packs the next `packed.len()` bytes. The caller has checked that they exist.
    fn fill(&mut self, packed: &mut [u8]) {
        let bytes = self.position..self.position + packed.len();
        self.position = bytes.end;
        let read = |bytes: Range<usize>, packed: &mut [u8]| {
            self.data.pack_range(bytes, packed).expect("as many bytes as the range has");
        };
        if self.encoding.is_native() {
            return read(bytes, packed);
        }
        let signature = self.data.signature();
        for part in Stretch::of(signature, bytes.clone(), self.encoding.resizes) {
            let target = &mut packed[part.bytes.start - bytes.start..part.bytes.end - bytes.start];
            match part.unit {
                None if self.encoding.resizes => {
                    let mut native = vec![0; part.native.len()];
                    read(part.native.clone(), &mut native);
                    self.encoding.encode_all(signature, part.native.start, &native, target);
                }
                None => {
                    read(part.native.clone(), target);
                    self.encoding.turn(signature, part.native.start, target);
                }
                // A number is encoded as a whole, even if only a part of it is requested.
                Some(unit) => {
                    let (mut native, mut encoded) = ([0; LARGEST_UNIT], [0; LARGEST_UNIT]);
                    let (native, encoded) =
                        (&mut native[..unit.native.len()], &mut encoded[..unit.bytes.len()]);
                    read(unit.native, native);
                    self.encoding.encode(native, encoded);
                    let within = part.bytes.start - unit.bytes.start..part.bytes.end - unit.bytes.start;
                    target.copy_from_slice(&encoded[within]);
                }
            }
        }
    }
}

/// A stretch of a range of packed bytes: whole units, or some bytes of one unit.
struct Stretch {
    /// The range in the representation.
    bytes: Range<usize>,
    /// The range among the packed bytes of this machine; if `unit` is given, that of the whole unit.
    native: Range<usize>,
    /// The unit, if the stretch is a part of one.
    unit: Option<Unit>,
}

impl Stretch {
    /// Splits a range into the end of a unit, whole units, and the beginning of a unit.
    fn of(signature: &Signature, bytes: Range<usize>, external: bool) -> impl Iterator<Item = Self> {
        let (mut start, end) = (bytes.start, bytes.end);
        std::iter::from_fn(move || {
            if start == end {
                return None;
            }
            let first = signature.unit_at(start, external);
            // After the last packed byte, `unit_at` gives the unit of a next copy, so whole units end there,
            // too.
            let last = signature.unit_at(end, external);
            let part = if first.bytes.start == start && last.bytes.start > start {
                let native = first.native.start..last.native.start;
                Self { bytes: start..last.bytes.start, native, unit: None }
            } else {
                let bytes = start..end.min(first.bytes.end);
                Self { bytes, native: first.native.clone(), unit: Some(first) }
            };
            start = part.bytes.end;
            Some(part)
        })
    }
}

impl Read for Packer<'_> {
    fn read(&mut self, packed: &mut [u8]) -> io::Result<usize> {
        Ok(self.pack(packed))
    }
}

impl Seek for Packer<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = position_of(to, self.position, self.size())?;
        self.set_position(position).map_err(invalid_input)?;
        Ok(position as u64)
    }
}

fn position_of(to: SeekFrom, position: usize, size: usize) -> io::Result<usize> {
    let at = match to {
        SeekFrom::Start(at) => i128::from(at),
        SeekFrom::End(by) => size as i128 + i128::from(by),
        SeekFrom::Current(by) => position as i128 + i128::from(by),
    };
    usize::try_from(at).map_err(invalid_input)
}

fn invalid_input(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, error)
}

/// An unpacker for segments of the packed bytes, in any order. Segments may be lost and sent again, arrive
/// twice, and end within a value.
///
/// Numbers are written whole: if only a part of a number has arrived, its bytes wait for the rest. As a
/// `Write` and `Seek`, the unpacker accepts the bytes from a position on.
///
/// ```
/// use dtype_runtime::pack::data_of_mut;
///
/// let mut values = [(0u8, 'a'); 2];
/// let mut unpacker = data_of_mut(&mut values).unpacker();
/// unpacker.unpack(3, &[0, 0, 2, b'c', 0, 0, 0])?;
/// assert_eq!(unpacker.missing().collect::<Vec<_>>(), [0..3]);
/// unpacker.unpack(0, &[1, b'b', 0, 0])?; // byte 3 arrives twice
/// assert!(unpacker.is_complete());
/// assert_eq!(values, [(1, 'b'), (2, 'c')]);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
#[derive(Debug)]
pub struct Unpacker<'a> {
    data: DataMut<'a>,
    encoding: Encoding,
    /// The position of the next byte that `Write` takes.
    position: usize,
    /// The ranges that have arrived: the end of each range, by its first byte. No two ranges touch.
    arrived: BTreeMap<usize, usize>,
    /// The units that have arrived only in part, by their first byte.
    waiting: BTreeMap<usize, Waiting>,
    checksum: Option<u32>,
}

/// A number that has arrived only in part.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    bytes: [u8; LARGEST_UNIT],
    /// A bit for each byte that has arrived.
    there: u16,
}

impl<'a> DataMut<'a> {
    /// Returns an unpacker for segments in any order.
    pub fn unpacker(self) -> Unpacker<'a> {
        Unpacker::new(self)
    }
}

impl<'a> Unpacker<'a> {
    pub(super) fn new(data: DataMut<'a>) -> Self {
        let (arrived, waiting) = (BTreeMap::new(), BTreeMap::new());
        Self { data, encoding: Encoding::default(), position: 0, arrived, waiting, checksum: None }
    }

    /// Changes the representation of the bytes that arrive. The record of earlier arrivals, including the
    /// checksum, is cleared.
    ///
    /// # Errors
    /// The errors of [`Packer::with_representation`].
    pub fn with_representation(self, representation: Representation) -> Result<Self, Error> {
        let encoding = Encoding::new(representation, self.data.as_data().signature())?;
        Ok(Self { encoding, checksum: self.checksum.map(|_| 0), ..Self::new(self.data) })
    }

    /// Returns the size of all packed bytes in this representation.
    pub fn size(&self) -> usize {
        self.data.as_data().size_in(self.encoding.resizes)
    }

    /// Also computes a checksum of the unpacked bytes, while they are in the cache.
    #[must_use]
    pub fn with_checksum(self) -> Self {
        Self { checksum: Some(0), ..self }
    }

    /// Returns the CRC-32C of all unpacked segments, one after the other in the order of their arrival;
    /// `None` without [`with_checksum`](Self::with_checksum). If each segment has its own checksum,
    /// [`unpack_checked`](Self::unpack_checked) compares it before anything is written.
    pub fn checksum(&self) -> Option<u32> {
        self.checksum
    }

    /// Unpacks a segment whose first byte is at `position`.
    ///
    /// # Errors
    /// [`Error::Range`] if the segment exceeds the packed bytes, and [`Error::InvalidValue`] if a value would
    /// become invalid. Nothing of the segment is accepted then.
    pub fn unpack(&mut self, position: usize, segment: &[u8]) -> Result<(), Error> {
        let end = position.saturating_add(segment.len());
        check_range(&(position..end), self.size())?;
        self.check(position, segment)?;
        let mut at = position;
        while at < end {
            // Only the last chunk may end within a unit, so a number that was checked as a whole is written
            // as a whole.
            let next = self.checksum.map_or(end, |_| self.floor(at + CHUNK).min(end));
            let chunk = &segment[at - position..next - position];
            self.write_checked(at, chunk);
            self.checksum = self.checksum.map(|checksum| crc32c::crc32c_append(checksum, chunk));
            at = next;
        }
        self.note(position, end);
        Ok(())
    }

    /// Unpacks a segment if its CRC-32C is the one that the sender has computed. A damaged segment leaves the
    /// destination unchanged, and can be requested again.
    ///
    /// # Errors
    /// The errors of [`unpack`](Self::unpack), and [`Error::Checksum`] if the checksums differ.
    pub fn unpack_checked(&mut self, position: usize, segment: &[u8], checksum: u32) -> Result<(), Error> {
        let found = crc32c::crc32c(segment);
        if found != checksum {
            return Err(Error::Checksum { expected: checksum, found });
        }
        self.unpack(position, segment)
    }

    /// Returns the ranges of packed bytes that have not arrived, in order.
    pub fn missing(&self) -> impl Iterator<Item = Range<usize>> + use<'_> {
        let starts = self.arrived.keys().copied().chain([self.size()]);
        let ends = [0].into_iter().chain(self.arrived.values().copied());
        ends.zip(starts).filter(|(end, start)| end < start).map(|(end, start)| end..start)
    }

    /// Returns `true` if all bytes have arrived. Then all values have been written.
    pub fn is_complete(&self) -> bool {
        self.missing().next().is_none()
    }

    /// Records that a range has arrived.
    fn note(&mut self, mut start: usize, mut end: usize) {
        if start == end {
            return;
        }
        // Ranges that touch the new range are merged with it.
        while let Some((before, until)) = self.arrived.range(..=end).next_back().map(|(a, b)| (*a, *b))
            && until >= start
        {
            self.arrived.remove(&before);
            (start, end) = (start.min(before), end.max(until));
        }
        self.arrived.insert(start, end);
    }

    /// Returns the stretches of a segment.
    fn parts(&self, position: usize, segment: &[u8]) -> Vec<Stretch> {
        Stretch::of(
            self.data.as_data().signature(),
            position..position + segment.len(),
            self.encoding.resizes,
        )
        .collect()
    }

    /// Returns the greatest position up to `byte` that does not lie within a number. It is at most the size.
    fn floor(&self, byte: usize) -> usize {
        self.data.as_data().floor(byte, self.encoding.resizes)
    }

    /// Checks all values that a segment contains or completes.
    fn check(&self, position: usize, segment: &[u8]) -> Result<(), Error> {
        if !self.data.is_restricted() {
            return Ok(());
        }
        let mut space = Vec::new();
        for part in self.parts(position, segment) {
            let bytes = &segment[part.bytes.start - position..part.bytes.end - position];
            if let Some(unit) = &part.unit {
                let waiting = self.waiting_with(unit, &part, bytes);
                if let Some(number) = self.number(&waiting, unit) {
                    self.data.validate(unit.native.start, &number[..unit.native.len()])?;
                }
                continue;
            }
            let mut done = 0;
            while done < bytes.len() {
                let (taken, at, packed) = self.decoded(part.bytes.start + done, &bytes[done..], &mut space);
                self.data.validate(at, packed)?;
                done += taken;
            }
        }
        Ok(())
    }

    /// Writes the complete numbers of a segment that has been checked, and keeps the other bytes.
    fn write_checked(&mut self, position: usize, segment: &[u8]) {
        let mut space = Vec::new();
        for part in self.parts(position, segment) {
            let bytes = &segment[part.bytes.start - position..part.bytes.end - position];
            if let Some(unit) = &part.unit {
                let waiting = self.waiting_with(unit, &part, bytes);
                self.waiting.insert(unit.bytes.start, waiting);
                if let Some(number) = self.number(&waiting, unit) {
                    self.waiting.remove(&unit.bytes.start);
                    // SAFETY: the number has been validated, and is a unit of the packed bytes.
                    unsafe { self.data.write(unit.native.start, &number[..unit.native.len()]) };
                }
                continue;
            }
            // Waiting bytes are older than this segment, so they are dropped.
            while let Some((unit, _)) = self.waiting.range(part.bytes.clone()).next() {
                let unit = *unit;
                self.waiting.remove(&unit);
            }
            let mut done = 0;
            while done < bytes.len() {
                let (taken, at, packed) = self.decoded(part.bytes.start + done, &bytes[done..], &mut space);
                // SAFETY: all values of the segment have been validated, and the segment is a range of the
                // packed bytes.
                unsafe { self.data.write(at, packed) };
                done += taken;
            }
        }
    }

    /// Returns the bytes of a unit that have arrived, together with `bytes`.
    fn waiting_with(&self, unit: &Unit, part: &Stretch, bytes: &[u8]) -> Waiting {
        let start = unit.bytes.start;
        let mut waiting = self.waiting.get(&start).copied().unwrap_or_default();
        for (at, byte) in part.bytes.clone().zip(bytes) {
            waiting.bytes[at - start] = *byte;
            waiting.there |= 1 << (at - start);
        }
        waiting
    }

    /// Returns the decoded number, if all of its bytes have arrived.
    fn number(&self, waiting: &Waiting, unit: &Unit) -> Option<[u8; LARGEST_UNIT]> {
        let size = unit.bytes.len();
        let mut number = [0; LARGEST_UNIT];
        self.encoding.decode(unit.base, &waiting.bytes[..size], &mut number[..unit.native.len()]);
        (waiting.there.count_ones() as usize == size).then_some(number)
    }

    /// Decodes whole units, the first of which begins at `position`: all units if they are native, else at
    /// most a chunk of them, into `space`. Returns the number of bytes decoded, their position among the
    /// packed bytes of this machine, and the bytes in the representation of this machine.
    fn decoded<'b>(
        &self,
        position: usize,
        packed: &'b [u8],
        space: &'b mut Vec<u8>,
    ) -> (usize, usize, &'b [u8]) {
        if self.encoding.is_native() {
            return (packed.len(), position, packed);
        }
        let signature = self.data.as_data().signature();
        let end = self.floor(position + CHUNK).min(position + packed.len());
        let taken = &packed[..end - position];
        space.clear();
        if !self.encoding.resizes {
            space.extend_from_slice(taken);
            self.encoding.turn(signature, position, space);
            return (taken.len(), position, space);
        }
        let native = |byte| signature.unit_at(byte, true).native.start;
        let (start, end) = (native(position), native(end));
        space.resize(end - start, 0);
        self.encoding.decode_all(signature, start, taken, space);
        (taken.len(), start, space)
    }

    /// Returns the position of the next byte that `Write` takes.
    pub fn position(&self) -> usize {
        self.position
    }
}

impl Write for Unpacker<'_> {
    /// Unpacks as many bytes as there is room for, up to the last packed byte.
    fn write(&mut self, packed: &[u8]) -> io::Result<usize> {
        let size = packed.len().min(self.size() - self.position);
        self.unpack(self.position, &packed[..size])
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        self.position += size;
        Ok(size)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Unpacker<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = position_of(to, self.position, self.size())?;
        check_range(&(position..position), self.size()).map_err(invalid_input)?;
        self.position = position;
        Ok(position as u64)
    }
}
