//! Packed bytes as a stream: in parts of any size, in any order, with a checksum, in any byte order (what
//! Open MPI's convertor does).

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
    engine::{
        sides::CHUNK,
        signature::{Signature, Unit},
    },
};

/// Packs one part after the other, from any position on: a `Read` and `Seek`.
///
/// ```
/// use std::io::Read;
/// use dtype_runtime::pack::{Data, Representation};
///
/// let values = [(1u8, 2u32), (3, 4)];
/// let mut packer = Data::of(&values).packer().with_representation(Representation::BigEndian)?;
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

impl<'a> Packer<'a> {
    pub(super) fn new(data: Data<'a>) -> Self {
        Self { data, position: 0, encoding: Encoding::default(), checksum: None }
    }

    /// Packs in this representation, from the first byte on, and begins another checksum.
    ///
    /// # Errors
    /// [`Error::Representation`] for what was decoded from a datatype with a `long double`, which takes more
    /// than another order of bytes.
    pub fn with_representation(self, representation: Representation) -> Result<Self, Error> {
        let encoding = Encoding::new(representation, self.data.signature())?;
        Ok(Self { encoding, checksum: self.checksum.map(|_| 0), ..Self::new(self.data) })
    }

    /// Bytes of all of it.
    pub fn size(&self) -> usize {
        self.data.size_in(self.encoding.resizes)
    }

    /// Also computes the checksum of what is packed, while it is in the cache.
    #[must_use]
    pub fn with_checksum(self) -> Self {
        Self { checksum: Some(0), ..self }
    }

    /// The CRC-32C of all parts that have been packed since the last [`set_position`](Self::set_position), as
    /// one; `None` without [`with_checksum`](Self::with_checksum).
    pub fn checksum(&self) -> Option<u32> {
        self.checksum
    }

    /// The position of the next byte.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Moves to a position, and begins another checksum.
    ///
    /// # Errors
    /// [`Error::Range`] behind the last byte.
    pub fn set_position(&mut self, position: usize) -> Result<(), Error> {
        check_range(&(position..position), self.size())?;
        self.position = position;
        self.checksum = self.checksum.map(|_| 0);
        Ok(())
    }

    /// Packs as much as there is, and as there is room for, and returns how many bytes that were: 0 at the
    /// end.
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

    /// Packs a part that is there.
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
                // All of the number has to be there to be encoded.
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

/// A stretch of a range of packed bytes: whole units, or some bytes of a single one.
struct Stretch {
    /// In the representation, and among the packed bytes of this machine.
    bytes: Range<usize>,
    native: Range<usize>,
    unit: Option<Unit>,
}

impl Stretch {
    /// A range as the end of a unit, whole units, and the beginning of one.
    fn of(signature: &Signature, bytes: Range<usize>, external: bool) -> impl Iterator<Item = Self> {
        let (mut start, end) = (bytes.start, bytes.end);
        std::iter::from_fn(move || {
            if start == end {
                return None;
            }
            let first = signature.unit_at(start, external);
            // Where the range ends with the packed bytes it ends with a unit, too: others seem to follow.
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

/// Unpacks segments of the packed bytes in any order. They may be lost and sent again, come twice, and end
/// within a value.
///
/// Values are written whole: of one that is there in part, the bytes wait for the rest. As a `Write` and
/// `Seek` it takes what comes next.
///
/// ```
/// use dtype_runtime::pack::DataMut;
///
/// let mut values = [(0u8, 'a'); 2];
/// let mut unpacker = DataMut::of(&mut values).unpacker();
/// unpacker.unpack(3, &[0, 0, 2, b'c', 0, 0, 0])?;
/// assert_eq!(unpacker.missing().collect::<Vec<_>>(), [0..3]);
/// unpacker.unpack(0, &[1, b'b', 0, 0])?; // byte 3 comes twice
/// assert!(unpacker.is_complete());
/// assert_eq!(values, [(1, 'b'), (2, 'c')]);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
#[derive(Debug)]
pub struct Unpacker<'a> {
    data: DataMut<'a>,
    encoding: Encoding,
    /// Where the next bytes go that are written as a stream.
    position: usize,
    /// What has arrived: beginnings and ends of ranges that do not touch.
    arrived: BTreeMap<usize, usize>,
    /// Units of which a part has arrived, by their first byte.
    waiting: BTreeMap<usize, Waiting>,
    checksum: Option<u32>,
}

/// A number that is there in part.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    bytes: [u8; LARGEST_UNIT],
    /// A bit for each byte that is there.
    there: u16,
}

impl<'a> Unpacker<'a> {
    pub(super) fn new(data: DataMut<'a>) -> Self {
        let (arrived, waiting) = (BTreeMap::new(), BTreeMap::new());
        Self { data, encoding: Encoding::default(), position: 0, arrived, waiting, checksum: None }
    }

    /// Takes the bytes to be in this representation. Of what has arrived before nothing is kept in mind, also
    /// not in the checksum.
    ///
    /// # Errors
    /// As [`Packer::with_representation`].
    pub fn with_representation(self, representation: Representation) -> Result<Self, Error> {
        let encoding = Encoding::new(representation, self.data.as_data().signature())?;
        Ok(Self { encoding, checksum: self.checksum.map(|_| 0), ..Self::new(self.data) })
    }

    /// Bytes of all of it.
    pub fn size(&self) -> usize {
        self.data.as_data().size_in(self.encoding.resizes)
    }

    /// Also computes the checksum of what is unpacked, while it is in the cache.
    #[must_use]
    pub fn with_checksum(self) -> Self {
        Self { checksum: Some(0), ..self }
    }

    /// The CRC-32C of all segments that have been unpacked, in the order in which they came, as one; `None`
    /// without [`with_checksum`](Self::with_checksum). Where each has its own,
    /// [`unpack_checked`](Self::unpack_checked) looks at it before anything is written.
    pub fn checksum(&self) -> Option<u32> {
        self.checksum
    }

    /// Unpacks a segment whose first byte is at this position.
    ///
    /// # Errors
    /// [`Error::Range`], and [`Error::InvalidValue`] where a value would become one that its type does not
    /// have; nothing of the segment is taken then.
    pub fn unpack(&mut self, position: usize, segment: &[u8]) -> Result<(), Error> {
        let end = position.saturating_add(segment.len());
        check_range(&(position..end), self.size())?;
        self.check(position, segment)?;
        let mut at = position;
        while at < end {
            // No chunk ends within a unit but the last: what has been checked whole is written whole.
            let next = self.checksum.map_or(end, |_| self.floor(at + CHUNK).min(end));
            let chunk = &segment[at - position..next - position];
            self.write_checked(at, chunk);
            self.checksum = self.checksum.map(|checksum| crc32c::crc32c_append(checksum, chunk));
            at = next;
        }
        self.note(position, end);
        Ok(())
    }

    /// Unpacks a segment, if its CRC-32C is the one that the sender has computed: a damaged one leaves the
    /// destination as it is, and can be asked for again.
    ///
    /// # Errors
    /// As [`unpack`](Self::unpack); [`Error::Checksum`].
    pub fn unpack_checked(&mut self, position: usize, segment: &[u8], checksum: u32) -> Result<(), Error> {
        let found = crc32c::crc32c(segment);
        if found != checksum {
            return Err(Error::Checksum { expected: checksum, found });
        }
        self.unpack(position, segment)
    }

    /// The ranges of packed bytes that have not arrived, in order.
    pub fn missing(&self) -> impl Iterator<Item = Range<usize>> + use<'_> {
        let starts = self.arrived.keys().copied().chain([self.size()]);
        let ends = [0].into_iter().chain(self.arrived.values().copied());
        ends.zip(starts).filter(|(end, start)| end < start).map(|(end, start)| end..start)
    }

    /// Whether all of it has arrived, and so been written.
    pub fn is_complete(&self) -> bool {
        self.missing().next().is_none()
    }

    /// Notes that a range has arrived.
    fn note(&mut self, mut start: usize, mut end: usize) {
        if start == end {
            return;
        }
        // Those that it touches become one with it.
        while let Some((before, until)) = self.arrived.range(..=end).next_back().map(|(a, b)| (*a, *b))
            && until >= start
        {
            self.arrived.remove(&before);
            (start, end) = (start.min(before), end.max(until));
        }
        self.arrived.insert(start, end);
    }

    /// The parts of a segment.
    fn parts(&self, position: usize, segment: &[u8]) -> Vec<Stretch> {
        Stretch::of(
            self.data.as_data().signature(),
            position..position + segment.len(),
            self.encoding.resizes,
        )
        .collect()
    }

    /// The last place up to this byte, or the end, where no number is torn.
    fn floor(&self, byte: usize) -> usize {
        let last = || self.data.as_data().signature().unit_at(byte, self.encoding.resizes).bytes.start;
        if byte < self.size() { last() } else { self.size() }
    }

    /// Checks all values that a segment makes whole.
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

    /// Writes what is whole of a segment that has been checked, and keeps the rest.
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
            // What waits is older than what is there now.
            while let Some((unit, _)) = self.waiting.range(part.bytes.clone()).next() {
                let unit = *unit;
                self.waiting.remove(&unit);
            }
            let mut done = 0;
            while done < bytes.len() {
                let (taken, at, packed) = self.decoded(part.bytes.start + done, &bytes[done..], &mut space);
                // SAFETY: all values of the segment have been validated, and it is one of the packed bytes.
                unsafe { self.data.write(at, packed) };
                done += taken;
            }
        }
    }

    /// What there is of a unit, with some more of its bytes.
    fn waiting_with(&self, unit: &Unit, part: &Stretch, bytes: &[u8]) -> Waiting {
        let start = unit.bytes.start;
        let mut waiting = self.waiting.get(&start).copied().unwrap_or_default();
        for (at, byte) in part.bytes.clone().zip(bytes) {
            waiting.bytes[at - start] = *byte;
            waiting.there |= 1 << (at - start);
        }
        waiting
    }

    /// The number of this machine, if all of its bytes are there.
    fn number(&self, waiting: &Waiting, unit: &Unit) -> Option<[u8; LARGEST_UNIT]> {
        let size = unit.bytes.len();
        let mut number = [0; LARGEST_UNIT];
        self.encoding.decode(unit.base, &waiting.bytes[..size], &mut number[..unit.native.len()]);
        (waiting.there.count_ones() as usize == size).then_some(number)
    }

    /// The first of whole units that begin at a position, as this machine has them: all of them, or a chunk
    /// that is decoded in the space given. How many bytes those were, where they begin among the packed ones
    /// of this machine, and the bytes.
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

    /// The position of the next byte that is written as a stream.
    pub fn position(&self) -> usize {
        self.position
    }
}

impl Write for Unpacker<'_> {
    /// Unpacks as much as there is room for: nothing behind the last byte.
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
