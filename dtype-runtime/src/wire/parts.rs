//! How the buffer of a collective call is divided among ranks: each part with a [seal](super::frame) behind
//! it.

use std::ops::Range;

use ::mpi::Count;

use super::{
    frame::{break_seal, fits, seal, seal_size, unseal},
    message::sealed::{Read, Write},
    pool::Buffer,
    request::Bytes,
    send::pack_with_room,
};
use crate::Error;

/// What the bytes of ranks are counted in, where the largest buffer of a call has `bytes`: one byte, as long
/// as an MPI count goes so far, and otherwise the power of two with which there are about 2^30 units. The
/// part of each rank begins with a unit of its own.
fn unit(bytes: u64) -> u64 {
    if bytes <= Count::MAX as u64 { 1 } else { (bytes >> 30).next_power_of_two() }
}

/// What a rank tells of its part before the call: how many packed bytes it has, and the number that it has
/// drawn for the seal.
pub(super) type Told = [u64; 2];

/// The packed bytes of all ranks together.
pub(super) fn total(told: &[Told]) -> u64 {
    told.iter().fold(0, |sum, [size, _]| sum.saturating_add(*size))
}

/// The bytes of a buffer for all ranks, seals included.
pub(super) fn with_seals(told: &[Told]) -> u64 {
    total(told).saturating_add((told.len() * seal_size()) as u64)
}

/// How many packed bytes each rank has of a buffer, and where they begin. No part is empty, as each has its
/// seal: some libraries take the address of an empty vector for `MPI_IN_PLACE`.
pub(super) struct Parts {
    sizes: Vec<usize>,
    /// The numbers of their seals.
    drawn: Vec<u64>,
    /// In units, as MPI takes them.
    pub counts: Vec<Count>,
    pub starts: Vec<Count>,
    /// Bytes.
    unit: usize,
}

impl Parts {
    /// The parts that the ranks have told of, where all of them know the bytes of the largest buffer.
    pub fn of(told: &[Told], largest: u64) -> Result<Self, Error> {
        Self::in_units(told, unit(largest))
    }

    fn in_units(told: &[Told], unit: u64) -> Result<Self, Error> {
        let (mut counts, mut starts, mut end) = (Vec::new(), Vec::new(), 0u64);
        for [size, _] in told {
            let count = size.saturating_add(seal_size() as u64).div_ceil(unit);
            starts.push(units(end)?);
            counts.push(units(count)?);
            end += count;
        }
        let sizes = told.iter().map(|[size, _]| bytes(*size)).collect::<Result<_, _>>()?;
        let drawn = told.iter().map(|[_, drawn]| *drawn).collect();
        // All that is worked out of these fits into a number then.
        end.checked_mul(unit).ok_or(TOO_MANY).and_then(bytes)?;
        Ok(Self { sizes, drawn, counts, starts, unit: bytes(unit)? })
    }

    /// A unit as MPI takes it.
    pub fn unit(&self) -> Result<Bytes, Error> {
        Bytes::one_of(self.unit)
    }

    /// Where the packed bytes of a rank are.
    fn range(&self, rank: usize) -> Range<usize> {
        let start = self.starts[rank] as usize * self.unit;
        start..start + self.sizes[rank]
    }

    /// The packed bytes of a rank and its seal.
    fn part<'a>(&self, all: &'a [u8], rank: usize) -> (&'a [u8], &'a [u8]) {
        let range = self.range(rank);
        (&all[range.clone()], &all[range.end..range.end + seal_size()])
    }

    /// Bytes of the buffer.
    fn room(&self) -> usize {
        let units = |numbers: &[Count]| numbers.last().map_or(0, |number| *number as usize);
        (units(&self.starts) + units(&self.counts)) * self.unit
    }

    /// The units of a part of `size` packed bytes, and the bytes of those.
    fn whole_units(&self, bytes: usize) -> Result<(Count, usize), Error> {
        let count = bytes.saturating_add(seal_size()).div_ceil(self.unit);
        Ok((units(count as u64)?, count.saturating_mul(self.unit)))
    }

    /// A message that is one part, sealed with a number, and how many units it has.
    pub fn pack_one<M: Read + ?Sized>(&self, message: &M, drawn: u64) -> Result<(Buffer, Count), Error> {
        let size = message.packed_size();
        let (count, room) = self.whole_units(size)?;
        let mut packed = pack_with_room(message, room)?;
        seal(message, 0..size, drawn, &mut packed[size..]);
        Ok((packed, count))
    }

    /// A buffer for one part of `size` packed bytes, with a broken seal of that number, and how many units
    /// it has.
    pub fn room_for(&self, bytes: usize, drawn: u64) -> Result<(Buffer, Count), Error> {
        let (count, room) = self.whole_units(bytes)?;
        let mut part = Buffer::with_room(room)?;
        break_seal(drawn, &mut part[bytes..]);
        Ok((part, count))
    }

    /// A buffer for the parts of all ranks, with broken seals.
    pub fn room_for_all(&self) -> Result<Buffer, Error> {
        let mut all = Buffer::with_room(self.room())?;
        for rank in 0..self.sizes.len() {
            break_seal(self.drawn[rank], &mut all[self.range(rank).end..]);
        }
        Ok(all)
    }

    /// A message whose packed bytes are the parts of all ranks, each sealed.
    pub fn pack<M: Read + ?Sized>(&self, message: &M) -> Result<Buffer, Error> {
        let (mut all, mut start) = (Buffer::with_room(self.room())?, 0);
        for rank in 0..self.sizes.len() {
            let (at, packed) = (self.range(rank), start..start + self.sizes[rank]);
            message.pack_range(packed.clone(), &mut all[at.clone()])?;
            start = packed.end;
            seal(message, packed, self.drawn[rank], &mut all[at.end..]);
        }
        Ok(all)
    }

    /// Messages that are the parts of the ranks, each sealed; if there are none, all parts are empty.
    pub fn pack_each<M: Read>(&self, messages: &[M]) -> Result<Buffer, Error> {
        let mut all = Buffer::with_room(self.room())?;
        for rank in 0..self.sizes.len() {
            let (at, drawn) = (self.range(rank), self.drawn[rank]);
            match messages.get(rank) {
                Some(message) => {
                    message.pack_range(0..at.len(), &mut all[at.clone()])?;
                    seal(message, 0..at.len(), drawn, &mut all[at.end..]);
                }
                None => seal::<[u8]>(&[], 0..0, drawn, &mut all[at.end..]),
            }
        }
        Ok(all)
    }

    /// Unpacks the parts of all ranks into one message, if all have come and fit.
    pub fn unpack<M: Write + ?Sized>(&self, all: &mut [u8], message: &mut M) -> Result<(), Error> {
        fits(message, self.sizes.iter().sum(), None)?;
        let mut start = 0;
        for (rank, size) in self.sizes.iter().enumerate() {
            unseal(message, start..start + size, self.drawn[rank], self.part(all, rank).1, rank as i32)?;
            start += size;
        }
        if message.any_pattern() {
            let mut start = 0;
            return (0..self.sizes.len()).try_for_each(|rank| {
                let packed = self.part(all, rank).0;
                start += packed.len();
                message.unpack_range(start - packed.len(), packed)
            });
        }
        message.unpack(self.close_up(all))
    }

    /// Unpacks the part of each rank into a message, if all have come and fit.
    pub fn unpack_each<M: Write>(&self, all: &[u8], messages: &mut [M]) -> Result<(), Error> {
        for (rank, message) in messages.iter().enumerate() {
            let (packed, seal) = self.part(all, rank);
            fits(message, packed.len(), None)?;
            unseal(message, 0..packed.len(), self.drawn[rank], seal, rank as i32)?;
        }
        messages.iter_mut().enumerate().try_for_each(|(rank, message)| message.unpack(self.part(all, rank).0))
    }

    /// The packed bytes of all ranks, one after the other.
    fn close_up<'a>(&self, all: &'a mut [u8]) -> &'a [u8] {
        let mut end = 0;
        for rank in 0..self.sizes.len() {
            let range = self.range(rank);
            all.copy_within(range.clone(), end);
            end += range.len();
        }
        &all[..end]
    }
}

/// More bytes than there can be.
const TOO_MANY: Error = Error::Memory { bytes: usize::MAX };

fn units(number: u64) -> Result<Count, Error> {
    Count::try_from(number).map_err(|_| Error::Argument {
        call: "a collective call between groups",
        argument: "the bytes of all ranks",
        value: number.into(),
        limit: Count::MAX.into(),
    })
}

fn bytes(number: u64) -> Result<usize, Error> {
    usize::try_from(number).map_err(|_| TOO_MANY)
}

#[cfg(test)]
mod tests {
    use super::{Count, Error, Parts, total, unit};

    #[test]
    fn units_are_as_small_as_counts_allow() {
        let most = Count::MAX as u64;
        assert_eq!((unit(0), unit(most), unit(most + 1), unit(3 << 30)), (1, 1, 2, 4));
        for bytes in [most + 1, 3 << 30, (4 << 30) - 1, 5 << 40, u64::MAX] {
            // There is room for the last units of 2^29 ranks.
            assert!(bytes / unit(bytes) + (1 << 29) <= most, "{bytes}");
        }
        assert_eq!((total(&[[1, 9], [2, 9]]), total(&[[u64::MAX, 0], [2, 0]])), (3, u64::MAX));
    }

    #[test]
    fn parts_begin_with_units_of_their_own_and_are_put_together_again() {
        let values: Vec<u8> = (1..=11).collect();
        for (unit, room, second) in [(1, 11 + 4 * 8, 19..24), (4, 12 + 8 + 16 + 12, 20..25)] {
            let parts = Parts::in_units(&[[3, 1], [0, 2], [5, 3], [3, 4]], unit).unwrap();
            let mut packed = parts.pack(&values[..]).unwrap();
            assert_eq!((parts.room(), parts.range(2)), (room, second));
            let mut again = vec![0u8; 11];
            parts.unpack(&mut packed, &mut again).unwrap();
            assert_eq!(again, values);
            assert_eq!(parts.close_up(&mut packed), values);
            let mut short = vec![0u8; 10];
            assert_eq!(
                parts.unpack(&mut packed, &mut short),
                Err(Error::Fit { expected: 10, found: Some(11), from: None })
            );
        }
        assert_eq!(Parts::of(&[], 0).unwrap().room(), 0);
        let too_many: [&[_]; 2] = [&[[1 << 40, 0]], &[[u64::MAX, 0]; 2]];
        for (told, unit) in too_many.into_iter().zip([1, 1 << 34]) {
            assert!(Parts::in_units(told, unit).is_err());
        }
    }

    #[test]
    fn a_part_that_has_not_come_or_not_to_its_end_is_an_error() {
        // Also where the number makes the seal all zeros or ones, or where another call has left its own.
        for drawn in [0, 1, 1 << 63, u64::MAX] {
            let parts = Parts::in_units(&[[3, drawn], [5, drawn]], 1).unwrap();
            let packed = parts.pack(&[7u8; 8]).unwrap();
            let other = drawn ^ 0x0101_0101_0101_0101;
            let earlier = Parts::in_units(&[[3, other], [5, other]], 1).unwrap().pack(&[6u8; 8]).unwrap();
            for (come, rank) in [(0, 0), (3, 0), (10, 0), (11, 1), (23, 1)] {
                for before in [&parts.room_for_all().unwrap(), &earlier] {
                    let mut all = before.to_vec();
                    all[..come].copy_from_slice(&packed[..come]);
                    let mut into = [1u8; 8];
                    let bytes = parts.sizes[rank as usize];
                    assert_eq!(
                        parts.unpack(&mut all, &mut into),
                        Err(Error::Announced { rank, bytes }),
                        "{come}"
                    );
                    assert_eq!(into, [1; 8]);
                }
            }
        }
    }
}
