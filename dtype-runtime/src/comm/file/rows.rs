//! The runs of adjacent bytes that a rank has of a distributed array in a file, in rows of equally long ones.

use std::ops::Range;

use dtype_core::Blocks;
use dtype_engine::Error as PackError;

use crate::{Result, layout::distributed::IndexSet};

/// The largest number of bytes in one call: a library counts them by `int`.
pub(super) const MOST: usize = 1 << 30;

/// The number of bytes of a page of most systems. Two ranks that write to one page wait for each other.
pub(super) const PAGE: usize = 4 << 10;

/// Adjacent bytes of a file, and their packed bytes.
pub(super) struct Run {
    /// The offset of the first byte in the file.
    pub at: u64,
    /// The range of the packed bytes.
    pub bytes: Range<usize>,
}

impl Run {
    /// Divides a very long run into parts that fit an MPI call.
    pub fn parts(self) -> impl Iterator<Item = Self> {
        let Self { at, bytes } = self;
        (bytes.start..bytes.end).step_by(MOST).map(move |start| {
            let end = bytes.end.min(start + MOST);
            Self { at: at.saturating_add((start - bytes.start) as u64), bytes: start..end }
        })
    }
}

/// Equally long runs at equal distances.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// The offset of the first byte in the file.
    pub at: u64,
    /// The number of bytes of a run.
    pub length: u64,
    /// The distance from the beginning of a run to that of the next one, in bytes.
    pub stride: u64,
    /// The number of runs.
    pub count: u64,
}

impl Row {
    /// The number of bytes of a row in a message.
    pub const SIZE: usize = 32;

    /// Returns the offset behind the last run.
    pub fn end(&self) -> u64 {
        self.at + (self.count - 1) * self.stride + self.length
    }

    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        let numbers = [self.at, self.length, self.stride, self.count];
        for (into, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            into.copy_from_slice(&number.to_ne_bytes());
        }
        bytes
    }

    pub fn from_bytes(bytes: &[u8; Self::SIZE]) -> Self {
        let (numbers, _) = bytes.as_chunks();
        let number = |i: usize| u64::from_ne_bytes(numbers[i]);
        Self { at: number(0), length: number(1), stride: number(2), count: number(3) }
    }

    /// Returns the part of each run that lies in a window, as up to three rows, and the position of the first
    /// byte among all of the row.
    fn within(&self, window: &Range<u64>) -> ([Option<Self>; 3], u64) {
        let Self { at, length, stride, count } = *self;
        let first = window.start.saturating_sub(at + length - 1).div_ceil(stride).min(count);
        let behind = window.end.saturating_sub(at).div_ceil(stride).min(count);
        if first >= behind {
            return ([None; 3], 0);
        }
        let run = |i: u64| {
            let start = at + i * stride;
            let part = start.max(window.start)..(start + length).min(window.end);
            Self { at: part.start, length: part.end - part.start, stride: length, count: 1 }
        };
        // Only the first run and the last one may be cut.
        let cut = |i: u64| Some(run(i)).filter(|run| run.length < length);
        let head = cut(first);
        let start = first + u64::from(head.is_some());
        let tail = if start < behind { cut(behind - 1) } else { None };
        let whole = start..behind - u64::from(tail.is_some());
        let middle = Self { at: at + whole.start * stride, count: whole.end - whole.start, ..*self };
        let position = first * length + (run(first).at - (at + first * stride));
        ([head, Some(middle).filter(|middle| middle.count > 0), tail], position)
    }
}

/// The runs of a rank in the file, in ascending order.
#[derive(Default)]
pub(super) struct Rows {
    /// The rows, each with the position of its first packed byte.
    rows: Vec<(Row, usize)>,
    /// The number of packed bytes.
    size: usize,
}

impl Rows {
    /// The size in bytes from which a run is long: then a call for each run is faster than an exchange.
    const LONG: usize = PAGE;

    /// The number of runs that are few enough for a call each, however short they are.
    const FEW: usize = 8;

    /// Returns the runs of a part of a global array, which begins at an offset of the file. Elements have
    /// `size` bytes there. The array ends below 2⁶³.
    ///
    /// # Errors
    /// `Memory` if there is not enough memory for the rows.
    pub fn of<const D: usize>(part: &IndexSet<D>, size: usize, offset: u64) -> Result<Self> {
        let (mut rows, mut pushed) = (Self::default(), Ok(()));
        if size == 0 {
            return Ok(rows);
        }
        let bytes = |elements: usize| (elements * size) as u64;
        part.for_each_row(|share| {
            for Blocks { position, count, length } in share.blocks().into_iter().filter(|all| all.count > 0) {
                let at = offset + bytes(share.at(position));
                let stride = if count > 1 { bytes(share.step) } else { bytes(length) };
                if pushed.is_ok() {
                    pushed = rows.push(Row { at, length: bytes(length), stride, count: count as u64 });
                }
            }
        });
        pushed.map(|()| rows)
    }

    /// Adds a row behind the others. If it continues the last one, both become one row.
    fn push(&mut self, row: Row) -> Result {
        let position = self.size;
        self.size += (row.length * row.count) as usize;
        if let Some((last, _)) = self.rows.last_mut() {
            let distance = row.at - (last.at + (last.count - 1) * last.stride);
            let continues = |other: &Row| other.count == 1 || other.stride == distance;
            if last.length == row.length && continues(last) && continues(&row) {
                last.stride = distance;
                last.count += row.count;
                return Ok(());
            }
        }
        let bytes = self.rows.len() * Row::SIZE;
        self.rows.try_reserve(1).map_err(|_| PackError::Memory { bytes })?;
        self.rows.push((row, position));
        Ok(())
    }

    /// Returns `true` if the runs are many and short.
    pub fn are_short(&self) -> bool {
        let count: usize = self.rows.iter().map(|(row, _)| row.count as usize).sum();
        count > Self::FEW && self.size / count < Self::LONG
    }

    /// Returns the runs.
    pub fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        self.rows.iter().flat_map(|(row, start)| {
            (0..row.count).map(move |i| {
                let position = start + (i * row.length) as usize;
                Run { at: row.at + i * row.stride, bytes: position..position + row.length as usize }
            })
        })
    }

    /// Returns the offsets of the first byte and behind the last one; `None` if there are no bytes.
    pub fn reach(&self) -> Option<Range<u64>> {
        let ([(first, _), ..], [.., (last, _)]) = (&self.rows[..], &self.rows[..]) else { return None };
        Some(first.at..last.end())
    }

    /// Returns the offset of the first byte from one on.
    pub fn first_byte(&self, from: u64) -> Option<u64> {
        let behind = self.rows.partition_point(|(row, _)| row.end() <= from);
        let (row, _) = self.rows.get(behind)?;
        let run = from.saturating_sub(row.at + row.length - 1).div_ceil(row.stride);
        Some(from.max(row.at + run * row.stride))
    }

    /// Returns the rows of a window, and the range of their packed bytes.
    pub fn within(&self, window: &Range<u64>) -> (Vec<Row>, Range<usize>) {
        let mut rows = Vec::new();
        let bytes = self.each_within(window, |row| rows.push(row));
        (rows, bytes)
    }

    /// Calls `visit` with each row of a window, and returns the range of their packed bytes.
    pub fn each_within(&self, window: &Range<u64>, mut visit: impl FnMut(Row)) -> Range<usize> {
        let first = self.rows.partition_point(|(row, _)| row.end() <= window.start);
        let mut bytes = 0..0;
        for (row, start) in self.rows[first..].iter().take_while(|(row, _)| row.at < window.end) {
            let (parts, position) = row.within(window);
            for part in parts.into_iter().flatten() {
                if bytes.is_empty() {
                    bytes = start + position as usize..start + position as usize;
                }
                bytes.end += (part.length * part.count) as usize;
                visit(part);
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use dtype_core::{ArrayOrder, Distribution};

    use super::{Row, Rows};
    use crate::layout::{Darray, Distributed};

    /// Returns the offsets of the bytes of runs.
    fn bytes(runs: impl Iterator<Item = (u64, u64)>) -> Vec<u64> {
        runs.flat_map(|(at, length)| at..at + length).collect()
    }

    fn of_row(row: &Row) -> impl Iterator<Item = (u64, u64)> + '_ {
        (0..row.count).map(|i| (row.at + i * row.stride, row.length))
    }

    /// Compares the rows of a part with its elements, as a whole and window by window.
    fn check(darray: Darray<3>, size: usize, offset: u64) {
        let parts = darray.parts().expect("a part");
        let rows = Rows::of(&parts[0].part, size, offset).expect("memory");
        let shares = [0, 1, 2].map(|k| {
            let of = darray.distributions[k];
            let coordinate = [darray.rank / 4, darray.rank / 2 % 2, darray.rank % 2][k];
            let share = of.share(k, coordinate, darray.psizes[k], darray.gsizes[k]).expect("a share");
            (0..share.count).map(|i| share.at(i)).collect::<Vec<_>>()
        });
        let [_, n, m] = darray.gsizes;
        let mut expected = Vec::new();
        for i in &shares[0] {
            for j in &shares[1] {
                for k in &shares[2] {
                    let at = offset + (((i * n + j) * m + k) * size) as u64;
                    expected.extend(at..at + size as u64);
                }
            }
        }
        let runs = rows.runs().map(|run| (run.at, run.bytes.len() as u64));
        assert_eq!(bytes(runs), expected, "{darray:?}");
        let packed: Vec<_> = rows.runs().flat_map(|run| run.bytes).collect();
        assert_eq!(packed, (0..expected.len()).collect::<Vec<_>>(), "{darray:?}");
        let end = expected.last().map_or(offset, |last| last + 1) + 3;
        for width in [1, 3, 8, 64] {
            let (mut found, mut position) = (Vec::new(), 0);
            for start in (0..end).step_by(width) {
                let window = start..start + width as u64;
                let next = expected.iter().find(|at| **at >= start).copied();
                assert_eq!(rows.first_byte(start), next, "{darray:?} from {start}");
                let (rows, packed) = rows.within(&window);
                let here = bytes(rows.iter().flat_map(of_row));
                assert!(here.iter().all(|at| window.contains(at)), "{darray:?} {window:?}");
                assert_eq!(packed.len(), here.len());
                assert!(here.is_empty() || packed.start == position);
                position += here.len();
                found.extend(here);
            }
            assert_eq!(found, expected, "{darray:?} in windows of {width} bytes");
        }
    }

    #[test]
    fn rows_are_those_of_the_elements_in_each_window() {
        let distributions = [
            Distribution::Block(None),
            Distribution::Cyclic(None),
            Distribution::Cyclic(Some(2)),
            Distribution::Cyclic(Some(3)),
        ];
        for lengths in [[1, 1, 1], [2, 3, 4], [3, 1, 7], [2, 2, 9], [4, 5, 6], [1, 8, 8]] {
            for rank in 0..8 {
                for all in 0..64 {
                    let of = |k: usize| distributions[all / [1, 4, 16][k] % 4];
                    let darray = Darray {
                        rank,
                        gsizes: lengths,
                        distributions: [of(0), of(1), of(2)],
                        psizes: [2; 3],
                        order: ArrayOrder::RowMajor,
                    };
                    check(darray, 1 + all % 3, rank as u64 * 5);
                }
            }
        }
        for gsizes in [[3, 4, 5], [1, 1, 9], [2, 0, 2]] {
            let whole = Darray {
                rank: 0,
                gsizes,
                distributions: [Distribution::None; 3],
                psizes: [1; 3],
                order: ArrayOrder::RowMajor,
            };
            check(whole, 8, 4);
            let rows = Rows::of(&whole.parts().expect("a part")[0].part, 8, 4).expect("memory");
            assert!(rows.runs().count() <= 1, "a whole array is one run");
        }
    }
}
