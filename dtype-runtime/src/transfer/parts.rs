//! The division of a collective call's buffer among ranks. A [seal](super::frame) follows each part.

use std::{ops::Range, os::raw::c_int};

use ::mpi::{Count, ffi::MPI_Comm};

use dtype_engine::Error as PackError;

use super::{
    bytes::{Bytes, count_of},
    carried::failed,
    frame::{are_plain, break_seal, fits, seal, seal_size, unseal},
    incoming::Incoming,
    sendable::{
        pack_with_room,
        sealed::{Read, Write},
    },
};
use crate::{
    Error,
    message::PlainValues,
    mpi::{Usable, called},
    pack::PackBuffer,
    types::ValueType,
};

/// The unit in which the parts of a call are counted, in bytes. It is one byte, if the bytes of the largest
/// buffer fit an MPI count. Otherwise it is a power of two, so that there are about 2^30 units. Each part
/// begins at a multiple of the unit.
#[derive(Clone, Copy)]
pub(crate) struct Unit(u64);

impl Unit {
    pub const BYTE: Self = Self(1);

    /// Returns the unit of a call whose largest buffer has at most `most` bytes, on all ranks.
    pub fn for_buffer(most: u64) -> Self {
        Self(if most <= Count::MAX as u64 { 1 } else { (most >> 30).next_power_of_two() })
    }

    /// Returns one unit as arguments of an MPI call.
    pub fn datatype(self) -> Result<Bytes, Error> {
        Bytes::one_of(bytes(self.0)?)
    }

    /// Returns the number of units of a part with `size` packed bytes and its seal.
    fn count(self, size: u64) -> u64 {
        size.saturating_add(seal_size() as u64).div_ceil(self.0)
    }

    /// Returns the number of units of a part, and the number of bytes of these units.
    fn whole(self, size: usize) -> Result<(Count, usize), Error> {
        let count = self.count(size as u64);
        Ok((units(count)?, bytes(count.saturating_mul(self.0))?))
    }

    /// Packs a message as one part, sealed with `drawn`, the random number of the call. Returns the part and
    /// its number of units.
    pub fn pack_one<M: Read + ?Sized>(self, message: &M, drawn: u64) -> Result<(PackBuffer, Count), Error> {
        let size = message.packed_size();
        let (count, room) = self.whole(size)?;
        let mut packed = pack_with_room(message, room)?;
        seal(message, 0..size, drawn, &mut packed[size..]);
        Ok((packed, count))
    }

    /// Returns a buffer for one part of `size` packed bytes, with a broken seal of `drawn`, and its number of
    /// units.
    pub fn room_for(self, size: usize, drawn: u64) -> Result<(PackBuffer, Count), Error> {
        let (count, room) = self.whole(size)?;
        let mut part = PackBuffer::with_room(room)?;
        break_seal(drawn, &mut part[size..]);
        Ok((part, count))
    }
}

/// Checks the seal of packed bytes in a range of a message of `size` bytes.
pub(crate) fn unseal_as<'d>(
    described: impl Into<Described<'d>>,
    size: usize,
    (range, packed): (Range<usize>, &[u8]),
    drawn: u64,
    behind: &[u8],
    rank: c_int,
) -> Result<(), Error> {
    match described.into() {
        Described::Bytes => unseal(packed, 0..packed.len(), drawn, behind, rank),
        // In the checked mode, the message of a rank with an error has another description.
        _ if range == (0..size) && failed(packed).is_some() => Ok(()),
        Described::Values(of) => unseal(&PlainValues::described(of, size), range, drawn, behind, rank),
        // A message of another size is an error, which the caller finds.
        Described::As(place) if place.packed_size() != size => Ok(()),
        Described::As(place) => unseal(place, range, drawn, behind, rank),
    }
}

/// The description that a received message must have in the checked mode.
#[derive(Clone, Copy)]
pub(crate) enum Described<'d> {
    /// Bytes: the message is owned.
    Bytes,
    /// Values of a type.
    Values(&'static ValueType),
    /// The values of the place that the message is received into.
    As(&'d dyn Read),
}

impl From<Option<&'static ValueType>> for Described<'_> {
    fn from(values: Option<&'static ValueType>) -> Self {
        values.map_or(Self::Bytes, Self::Values)
    }
}

/// The announcement of a rank before the call: its number of packed bytes, and the random number of its seal.
pub(crate) type Told = [u64; 2];

/// Returns the number of packed bytes of all ranks together.
fn total(told: &[Told]) -> u64 {
    told.iter().fold(0, |sum, [size, _]| sum.saturating_add(*size))
}

/// Returns the number of bytes of a buffer for all ranks, including seals.
pub(crate) fn with_seals(told: &[Told]) -> u64 {
    total(told).saturating_add((told.len() * seal_size()) as u64)
}

/// The parts of a buffer: the number of packed bytes of each rank, and where they begin. A part with its seal
/// is never empty: some libraries take the address of an empty vector for `MPI_IN_PLACE`.
pub(crate) struct Parts {
    ranks: usize,
    pub sizes: Sizes,
    unit: Unit,
}

/// The sizes of the parts.
pub(crate) enum Sizes {
    /// Equal parts: each has this number of packed bytes, this seal, and this number of units.
    Even { size: usize, drawn: u64, count: Count },
    /// Parts that each have a size and a seal of their own.
    Each {
        sizes: Vec<usize>,
        drawn: Vec<u64>,
        /// The number of units of each part, an argument of the MPI call.
        counts: Vec<Count>,
        /// The first unit of each part, an argument of the MPI call.
        starts: Vec<Count>,
    },
}

impl Parts {
    /// Returns `ranks` parts of the same size, all with the same seal.
    pub fn even(ranks: usize, [size, drawn]: Told, unit: Unit) -> Result<Self, Error> {
        let count = unit.count(size);
        // After this check, no arithmetic on these fields overflows.
        let room = count.checked_mul(ranks as u64).and_then(|units| units.checked_mul(unit.0));
        room.ok_or(TOO_MANY).and_then(bytes)?;
        let sizes = Sizes::Even { size: bytes(size)?, drawn, count: units(count)? };
        Ok(Self { ranks, sizes, unit })
    }

    /// Returns the parts that the ranks have announced.
    pub fn each(told: &[Told], unit: Unit) -> Result<Self, Error> {
        let mut counts = Vec::new();
        let mut starts = Vec::new();
        let mut end = 0u64;
        for [size, _] in told {
            let count = unit.count(*size);
            starts.push(units(end)?);
            counts.push(units(count)?);
            end += count;
        }
        end.checked_mul(unit.0).ok_or(TOO_MANY).and_then(bytes)?;
        Self::at(told, counts, starts, unit)
    }

    /// Returns the parts that the ranks have announced, in a buffer that has `before` bytes before each part,
    /// and `room` bytes for each part and its seal.
    ///
    /// # Errors
    /// `Size` if a part has more.
    pub fn within(told: &[Told], before: usize, room: usize) -> Result<Self, Error> {
        let mut starts = Vec::with_capacity(told.len());
        for (rank, [size, _]) in told.iter().enumerate() {
            let size = bytes(*size)?;
            if size > room.saturating_sub(seal_size()) {
                return Err(Error::Announced { rank: rank as c_int, bytes: size });
            }
            starts.push(units((rank * (before + room) + before) as u64)?);
        }
        Self::at(told, vec![units(room as u64)?; told.len()], starts, Unit::BYTE)
    }

    fn at(told: &[Told], counts: Vec<Count>, starts: Vec<Count>, unit: Unit) -> Result<Self, Error> {
        let sizes = told.iter().map(|[size, _]| bytes(*size)).collect::<Result<_, _>>()?;
        let drawn = told.iter().map(|[_, drawn]| *drawn).collect();
        Ok(Self { ranks: told.len(), sizes: Sizes::Each { sizes, drawn, counts, starts }, unit })
    }

    /// Makes the MPI call for equal parts, which gets their number of units, or the one for other parts,
    /// which gets the lists of their numbers of units and of their first units.
    pub fn call(
        &self,
        mpi: &Usable,
        communicator: MPI_Comm,
        [even_name, each_name]: [&'static str; 2],
        even: impl FnOnce(Count) -> c_int,
        each: impl FnOnce(*const Count, *const Count) -> c_int,
    ) -> Result<(), Error> {
        match &self.sizes {
            Sizes::Even { count, .. } => called(mpi, even_name, communicator, || even(*count)),
            Sizes::Each { counts, starts, .. } => {
                called(mpi, each_name, communicator, || each(counts.as_ptr(), starts.as_ptr()))
            }
        }
    }

    /// Returns the range of a rank's packed bytes in the buffer, and the number of its seal.
    fn part(&self, rank: usize) -> (Range<usize>, u64) {
        let (start, size, drawn) = match &self.sizes {
            Sizes::Even { size, drawn, count } => (rank * *count as usize, *size, *drawn),
            Sizes::Each { sizes, drawn, starts, .. } => (starts[rank] as usize, sizes[rank], drawn[rank]),
        };
        let start = start * self.unit.0 as usize;
        (start..start + size, drawn)
    }

    /// Returns the [part](Self::part) of each rank, in order.
    fn parts(&self) -> impl Iterator<Item = (Range<usize>, u64)> {
        (0..self.ranks).map(|rank| self.part(rank))
    }

    /// Returns the size of the buffer in bytes.
    fn room(&self) -> usize {
        let units = match &self.sizes {
            Sizes::Even { count, .. } => self.ranks * *count as usize,
            Sizes::Each { counts, starts, .. } => {
                let last = |numbers: &[Count]| numbers.last().map_or(0, |number| *number as usize);
                last(starts) + last(counts)
            }
        };
        units * self.unit.0 as usize
    }

    /// Returns a buffer for the parts of all ranks, with broken seals.
    pub fn room_for_all(&self) -> Result<PackBuffer, Error> {
        let mut all = PackBuffer::with_room(self.room())?;
        for (range, drawn) in self.parts() {
            break_seal(drawn, &mut all[range.end..]);
        }
        Ok(all)
    }

    /// Packs a message whose packed bytes are the parts of all ranks, and seals each part.
    pub fn pack<M: Read + ?Sized>(&self, message: &M) -> Result<PackBuffer, Error> {
        let (mut all, mut start) = (PackBuffer::with_room(self.room())?, 0);
        for (range, drawn) in self.parts() {
            let packed = start..start + range.len();
            message.pack_range(packed.clone(), &mut all[range.clone()])?;
            start = packed.end;
            seal(message, packed, drawn, &mut all[range.end..]);
        }
        Ok(all)
    }

    /// Packs one message for the part of each rank, and seals it. If there are no messages, all parts are
    /// empty.
    pub fn pack_each<M: Read>(&self, messages: &[M]) -> Result<PackBuffer, Error> {
        let mut all = PackBuffer::with_room(self.room())?;
        for (rank, (range, drawn)) in self.parts().enumerate() {
            let message = messages.get(rank).map_or(&[0u8; 0] as &dyn Read, |message| message);
            message.pack_range(0..range.len(), &mut all[range.clone()])?;
            seal(message, 0..range.len(), drawn, &mut all[range.end..]);
        }
        Ok(all)
    }

    /// Unpacks the parts of all ranks into one message, if all parts have arrived and fit.
    pub fn unpack<M: Write + ?Sized>(&self, all: &mut [u8], message: &mut M) -> Result<(), Error> {
        fits(message, self.parts().map(|(range, _)| range.len()).sum(), None)?;
        let mut start = 0;
        for (rank, (range, drawn)) in (0..).zip(self.parts()) {
            let packed = start..start + range.len();
            start = packed.end;
            unseal(message, packed, drawn, &all[range.end..], rank)?;
            let part = &all[range];
            are_plain(message, part, part.len()).map_err(|error| error.sent_by(rank))?;
        }
        if !message.any_pattern() {
            return message.unpack(self.close_up(all));
        }
        let mut start = 0;
        self.parts().try_for_each(|(range, _)| {
            start += range.len();
            message.unpack_range(start - range.len(), &all[range])
        })
    }

    /// Calls `make` with the bytes of each rank, if all of them have arrived, and returns its results.
    /// `values` is the type of the values, if they are plain.
    pub fn make_each<R>(
        &self,
        all: &[u8],
        values: Option<&'static ValueType>,
        make: impl Fn(&[u8]) -> Result<R, Error>,
    ) -> Result<Vec<R>, Error> {
        self.unseal_each(all, values)?;
        let made = |(rank, (range, _))| make(&all[range]).map_err(|error| error.sent_by(rank));
        (0..).zip(self.parts()).map(made).collect()
    }

    /// Returns the bytes of all ranks one after another, if all of them have arrived.
    pub fn joined<'a>(
        &self,
        all: &'a mut [u8],
        values: Option<&'static ValueType>,
    ) -> Result<&'a [u8], Error> {
        self.unseal_each(all, values)?;
        Ok(self.close_up(all))
    }

    /// Checks that the bytes of all ranks have arrived.
    fn unseal_each(&self, all: &[u8], values: Option<&'static ValueType>) -> Result<(), Error> {
        (0..).zip(self.parts()).try_for_each(|(rank, (range, drawn))| {
            let whole = (0..range.len(), &all[range.clone()]);
            unseal_as(values, range.len(), whole, drawn, &all[range.end..], rank)
        })
    }

    /// Unpacks the part of each rank into a place of its own, if all parts have arrived and fit.
    pub fn unpack_into_each(&self, all: &[u8], places: &mut [Incoming<'_>]) -> Result<(), Error> {
        for (rank, (place, (range, drawn))) in (0..).zip(places.iter_mut().zip(self.parts())) {
            let (packed, behind) = (&all[range.clone()], &all[range.end..]);
            let whole = 0..packed.len();
            match place.split() {
                Ok(exact) => {
                    let fits = fits(exact, packed.len(), None);
                    fits.map_err(|error| failed(packed).map_or(error, |error| error.sent_by(rank)))?;
                    unseal(exact, whole, drawn, behind, rank)?;
                    are_plain(exact, packed, packed.len()).map_err(|error| error.sent_by(rank))?;
                }
                Err(value) => {
                    unseal_as(value.values(), whole.end, (whole, packed), drawn, behind, rank)?;
                }
            }
        }
        (0..).zip(places.iter_mut().zip(self.parts())).try_for_each(|(rank, (place, (range, _)))| {
            place.unpack(&all[range]).map_err(|error| error.sent_by(rank))
        })
    }

    /// Closes the gaps between the parts, and returns the packed bytes of all ranks.
    fn close_up<'a>(&self, all: &'a mut [u8]) -> &'a [u8] {
        let mut end = 0;
        for (range, _) in self.parts() {
            all.copy_within(range.clone(), end);
            end += range.len();
        }
        &all[..end]
    }
}

/// The error for more bytes than memory can hold.
const TOO_MANY: PackError = PackError::Memory { bytes: usize::MAX };

fn units(number: u64) -> Result<Count, Error> {
    count_of("a collective call between groups", "the bytes of all ranks", number)
}

fn bytes(number: u64) -> Result<usize, PackError> {
    usize::try_from(number).map_err(|_| TOO_MANY)
}

#[cfg(test)]
mod tests {
    use super::{Count, Error, Parts, Sizes, Told, Unit, total};

    #[test]
    fn units_are_as_small_as_counts_allow() {
        let most = Count::MAX as u64;
        let unit = |bytes| Unit::for_buffer(bytes).0;
        assert_eq!((unit(0), unit(most), unit(most + 1), unit(3 << 30)), (1, 1, 2, 4));
        for bytes in [most + 1, 3 << 30, (4 << 30) - 1, 5 << 40, u64::MAX] {
            // There is room for the last units of 2^29 ranks.
            assert!(bytes / unit(bytes) + (1 << 29) <= most, "{bytes}");
        }
        assert_eq!((total(&[[1, 9], [2, 9]]), total(&[[u64::MAX, 0], [2, 0]])), (3, u64::MAX));
    }

    #[test]
    fn parts_begin_with_units_of_their_own_and_are_put_together_again() {
        let values: Vec<u8> = (1..=12).collect();
        let unequal: &[Told] = &[[3, 1], [0, 2], [5, 3], [4, 4]];
        let each = |unit| Parts::each(unequal, Unit(unit));
        let even = |unit| Parts::even(4, [3, 1], Unit(unit));
        for (parts, room, third) in [
            (each(1), 12 + 4 * 8, 19..24),
            (each(4), 12 + 8 + 16 + 12, 20..25),
            (even(1), 12 + 4 * 8, 22..25),
            (even(4), 4 * 12, 24..27),
        ] {
            let parts = parts.unwrap();
            let mut packed = parts.pack(&values[..]).unwrap();
            assert_eq!((parts.room(), parts.part(2).0), (room, third));
            let mut again = vec![0u8; 12];
            parts.unpack(&mut packed, &mut again).unwrap();
            assert_eq!(again, values);
            assert_eq!(parts.close_up(&mut packed), values);
            let mut short = vec![0u8; 11];
            assert_eq!(
                parts.unpack(&mut packed, &mut short),
                Err(Error::Fit { value: 1, expected: 11, found: Some(12), from: None })
            );
        }
        assert_eq!(Parts::each(&[], Unit::for_buffer(0)).unwrap().room(), 0);
        let too_many: [&[_]; 2] = [&[[1 << 40, 0]], &[[u64::MAX, 0]; 2]];
        for (told, unit) in too_many.into_iter().zip([1, 1 << 34]) {
            let unit = Unit(unit);
            assert!(Parts::each(told, unit).is_err() && Parts::even(told.len(), told[0], unit).is_err());
        }
    }

    #[test]
    fn a_part_that_has_not_come_or_not_to_its_end_is_an_error() {
        // The seal may be all zeros or ones, or another call may have left its own.
        for drawn in [0, 1, 1 << 63, u64::MAX] {
            let of = |drawn| Parts::each(&[[3, drawn], [5, drawn]], Unit::BYTE).unwrap();
            let parts = of(drawn);
            let packed = parts.pack(&[7u8; 8]).unwrap();
            let other = drawn ^ 0x0101_0101_0101_0101;
            let earlier = of(other).pack(&[6u8; 8]).unwrap();
            for (come, rank) in [(0, 0), (3, 0), (10, 0), (11, 1), (23, 1)] {
                for before in [&parts.room_for_all().unwrap(), &earlier] {
                    let mut all = before.to_vec();
                    all[..come].copy_from_slice(&packed[..come]);
                    let mut into = [1u8; 8];
                    let bytes = parts.part(rank as usize).0.len();
                    assert_eq!(
                        parts.unpack(&mut all, &mut into),
                        Err(Error::Announced { rank, bytes }),
                        "{come}"
                    );
                    assert_eq!(into, [1; 8]);
                }
            }
            assert!(matches!(parts.sizes, Sizes::Each { .. }));
        }
    }
}
