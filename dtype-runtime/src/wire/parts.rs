//! How the buffer of a collective call is divided among ranks.

use std::{ops::Range, ptr};

use ::mpi::Count;

use super::{
    message::sealed::Read,
    pool::Buffer,
    transfer::{Contiguous, buffer, pack_with_room},
};
use crate::Error;

/// What the bytes of ranks are counted in, if the largest buffer of a call has so many: one byte, as long as an MPI count goes so far, and
/// otherwise the power of two with which there are about 2^30 units. The part of each rank begins with a unit of its own.
fn unit(bytes: u64) -> u64 {
    if bytes <= Count::MAX as u64 { 1 } else { (bytes >> 30).next_power_of_two() }
}

/// The bytes of all ranks together.
pub(super) fn total(sizes: &[u64]) -> u64 {
    sizes.iter().fold(0, |sum, size| sum.saturating_add(*size))
}

/// How many bytes each rank has of a buffer, and where they begin.
pub(super) struct Parts {
    sizes: Vec<usize>,
    /// In units, as MPI takes them.
    pub counts: Vec<Count>,
    pub starts: Vec<Count>,
    /// Bytes.
    unit: usize,
}

impl Parts {
    /// The parts of these sizes, where all ranks know the bytes of the largest buffer.
    pub fn of(sizes: &[u64], largest: u64) -> Result<Self, Error> {
        Self::in_units(sizes, unit(largest))
    }

    fn in_units(sizes: &[u64], unit: u64) -> Result<Self, Error> {
        let (mut counts, mut starts, mut end) = (Vec::new(), Vec::new(), 0u64);
        for size in sizes {
            let count = size.div_ceil(unit);
            starts.push(units(end)?);
            counts.push(units(count)?);
            end += count;
        }
        let sizes = sizes.iter().map(|size| bytes(*size)).collect::<Result<_, _>>()?;
        // All that is worked out of these fits into a number then.
        end.checked_mul(unit).ok_or(TOO_MANY).and_then(bytes)?;
        Ok(Self { sizes, counts, starts, unit: bytes(unit)? })
    }

    /// A unit as MPI takes it.
    pub fn unit(&self) -> Result<Contiguous, Error> {
        Contiguous::one_of(self.unit)
    }

    /// Where the bytes of a rank are.
    pub fn range(&self, rank: usize) -> Range<usize> {
        let start = self.starts[rank] as usize * self.unit;
        start..start + self.sizes[rank]
    }

    /// Bytes of the buffer.
    pub fn room(&self) -> usize {
        let units = |numbers: &[Count]| numbers.last().map_or(0, |number| *number as usize);
        (units(&self.starts) + units(&self.counts)) * self.unit
    }

    /// The units of a part of so many bytes, and the bytes of those.
    fn whole_units(&self, bytes: usize) -> Result<(Count, usize), Error> {
        let count = bytes.div_ceil(self.unit);
        Ok((units(count as u64)?, count.saturating_mul(self.unit)))
    }

    /// A message that is one part, and how many units it has.
    pub fn pack_one<M: Read + ?Sized>(&self, message: &M) -> Result<(Buffer, Count), Error> {
        let (count, room) = self.whole_units(message.packed_size())?;
        Ok((pack_with_room(message, room)?, count))
    }

    /// An empty buffer for one part of so many bytes, and how many units it has.
    pub fn room_for(&self, bytes: usize) -> Result<(Buffer, Count), Error> {
        let (count, room) = self.whole_units(bytes)?;
        Ok((buffer(room)?, count))
    }

    /// A message whose bytes are the parts of all ranks.
    pub fn pack<M: Read + ?Sized>(&self, message: &M) -> Result<Buffer, Error> {
        if self.unit == 1 {
            return pack_with_room(message, self.room());
        }
        let (mut packed, mut start) = (buffer(self.room())?, 0);
        let all = packed.first_mut(self.room());
        for (rank, size) in self.sizes.iter().enumerate() {
            message.pack_range(start..start + size, &mut all[self.range(rank)])?;
            start += size;
        }
        Ok(packed)
    }

    /// The bytes of all ranks, one after the other.
    ///
    /// # Safety
    /// All units have been received into the buffer.
    pub unsafe fn close_up<'a>(&self, all: &'a mut Buffer) -> &'a [u8] {
        let (place, mut end) = (all.place(), 0);
        for (rank, size) in self.sizes.iter().enumerate() {
            let start = self.range(rank).start;
            if start != end {
                // SAFETY: both lie in the buffer, no part further ahead than where it came from.
                unsafe { ptr::copy(place.add(start), place.add(end), *size) };
            }
            end += size;
        }
        // SAFETY: as the caller promises.
        unsafe { all.first(end) }
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
    use super::{Count, Parts, total, unit};

    #[test]
    fn units_are_as_small_as_counts_allow() {
        let most = Count::MAX as u64;
        assert_eq!((unit(0), unit(most), unit(most + 1), unit(3 << 30)), (1, 1, 2, 4));
        for bytes in [most + 1, 3 << 30, (4 << 30) - 1, 5 << 40, u64::MAX] {
            // There is room for the last units of 2^29 ranks.
            assert!(bytes / unit(bytes) + (1 << 29) <= most, "{bytes}");
        }
        assert_eq!((total(&[1, 2]), total(&[u64::MAX, 2])), (3, u64::MAX));
    }

    #[test]
    fn parts_begin_with_units_of_their_own_and_are_put_together_again() {
        let values: Vec<u8> = (1..=11).collect();
        for unit in [1, 4] {
            let parts = Parts::in_units(&[3, 0, 5, 3], unit).unwrap();
            let mut packed = parts.pack(&values[..]).unwrap();
            assert_eq!((parts.room(), parts.range(2)), if unit == 1 { (11, 3..8) } else { (16, 4..9) });
            // SAFETY: all of it has been packed.
            assert_eq!(unsafe { parts.close_up(&mut packed) }, values);
        }
        assert_eq!(Parts::of(&[], 0).unwrap().room(), 0);
        let too_many: [&[u64]; 2] = [&[1 << 40], &[u64::MAX; 2]];
        for (sizes, unit) in too_many.into_iter().zip([1, 1 << 34]) {
            assert!(Parts::in_units(sizes, unit).is_err());
        }
    }
}
