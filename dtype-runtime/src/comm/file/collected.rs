//! Transfers of distributed arrays whose parts are many short runs of the file: each rank has one domain of
//! the file, which it alone reads or writes, in long pieces, and the ranks exchange the bytes (two-phase
//! access: del Rosario, Bordawekar and Choudhary; Thakur, Gropp and Lusk, "Data sieving and collective I/O in
//! ROMIO").
//!
//! A domain is transferred window by window. For each window, a rank tells the owner which rows of runs it
//! has there. Its packed bytes of one window are adjacent, since runs ascend: they are sent from where they
//! lie.

use std::{iter, ops::Range, os::raw::c_int};

use dtype_engine::Error as PackError;

use super::{
    handle::{Home, Seen},
    memory::{Packed, Room as Filled},
    rows::{PAGE, Row, Rows, Run},
};
use crate::{
    Error, Result,
    mpi::{Usable, called},
    pack::PackBuffer,
    transfer::{
        address::Address,
        agreement::{number, rank_in},
        request::{Outgoing, Request, Room},
        sendable::{Span, sealed::Write},
    },
};

/// The number of bytes of a window.
const WINDOW: u64 = 4 << 20;

/// The least number of bytes of a domain, so that few ranks transfer a small array.
const LEAST: u64 = 64 << 10;

/// The number of windows of which ranks tell the numbers of rows and bytes at a time.
const TOLD: u64 = 16;

/// The tags of rows and of bytes, behind the first tag of the file.
const ROWS: c_int = 0;
const BYTES: c_int = 1;

/// The domains of the ranks, and the windows of each.
struct Domains {
    start: u64,
    end: u64,
    /// The number of bytes of a domain.
    size: u64,
}

impl Domains {
    fn of(reach: Range<u64>, ranks: usize) -> Self {
        let Range { start, end } = reach;
        // A page belongs to one rank.
        let page = PAGE as u64;
        let start = start - start % page;
        let size = (end - start).div_ceil(ranks as u64).max(LEAST).next_multiple_of(page);
        Self { start, end, size }
    }

    fn rounds(&self) -> u64 {
        self.size.min(self.end - self.start).div_ceil(WINDOW)
    }

    /// Returns the first round, from one on, in which rows have bytes in a window.
    fn next_round(&self, rows: &Rows, from: u64) -> Option<u64> {
        let reach = rows.reach()?;
        let owner = |at: u64| (at - self.start) / self.size;
        let rounds = (owner(reach.start)..=owner(reach.end - 1)).filter_map(|rank| {
            let start = self.start + rank * self.size;
            let byte = rows.first_byte(start.saturating_add(from.saturating_mul(WINDOW)))?;
            (byte - start < self.size).then(|| (byte - start) / WINDOW)
        });
        rounds.min()
    }

    /// Returns the window of a rank in a round. It may be empty.
    fn window(&self, rank: usize, round: u64) -> Range<u64> {
        let start = self.start.saturating_add(self.size.saturating_mul(rank as u64));
        let end = start.saturating_add(self.size).min(self.end);
        let from = start.saturating_add(round * WINDOW).min(end);
        from..from.saturating_add(WINDOW).min(end)
    }
}

/// The numbers of rows and bytes that a rank has in a window of another one.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
struct Told {
    rows: u64,
    bytes: u64,
}

impl Told {
    /// Returns the number of bytes of memory that they take.
    fn memory(self) -> usize {
        (self.rows as usize).saturating_mul(Row::SIZE).saturating_add(self.bytes as usize)
    }
}

/// Checks that there is memory for the window of a round and for so many bytes of other ranks. A rank that
/// finds none within a round would leave the others waiting.
fn has_room(bytes: usize) -> Result {
    let bytes = bytes.saturating_add(2 * WINDOW as usize);
    let reserved = Vec::<u8>::new().try_reserve_exact(bytes);
    reserved.map_err(|_| PackError::Memory { bytes }.into())
}

/// A transfer of all ranks.
struct Collected<'f> {
    file: Seen<'f>,
    mpi: &'f Usable,
    rows: &'f Rows,
    domains: Domains,
    rank: usize,
    ranks: usize,
}

impl<'f> Collected<'f> {
    /// Returns the transfer if all ranks are ready, or `None` if no rank has bytes. All ranks must make this
    /// call.
    fn new<T>(file: Seen<'f>, mpi: &'f Usable, rows: &'f Rows, own: Result<T>) -> Result<(Option<Self>, T)> {
        /// An offset behind all bytes.
        const BEHIND: u64 = i64::MAX as u64;
        let own = own.and_then(|own| {
            if file.file.home().is_broken.get() {
                return Err(file.file.refused("an exchange of its ranks has failed before: open it again"));
            }
            Ok(own)
        });
        let (start, end) = rows.reach().map_or((BEHIND, 0), |Range { start, end }| (start, end));
        let (own, [[start, _], [_, end]]) = file.file.agreed_on(mpi, own.map(|own| (own, [start, end])))?;
        if start >= end {
            return Ok((None, own));
        }
        let rank = rank_in(mpi, file.file.communicator())? as usize;
        let ranks = file.file.home().ranks;
        let domains = Domains::of(start..end, ranks);
        Ok((Some(Self { file, mpi, rows, domains, rank, ranks }), own))
    }

    fn peer(&self, rank: usize, tag: c_int) -> Address {
        let Home { companion, tag: first, .. } = self.file.file.home();
        Address { communicator: companion.communicator, rank: rank as c_int, tag: first + tag }
    }

    /// Returns the other ranks, beginning with the next one.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let (rank, ranks) = (self.rank, self.ranks);
        (1..ranks).map(move |distance| (rank + distance) % ranks)
    }

    /// Makes the rounds in which a rank has bytes, with the numbers that each rank tells of its rows in the
    /// window of this one. An error of the file does not end them, since other ranks wait for this one.
    fn each_round(&self, mut round: impl FnMut(&Self, u64, &[Told]) -> Result<Result>) -> Result {
        let rounds = self.domains.rounds();
        let (mut all, mut first) = (Ok(()), 0);
        let is_broken = |_: &Error| self.file.file.home().is_broken.set(true);
        loop {
            let own = self.domains.next_round(self.rows, first).unwrap_or(rounds);
            let ((), [[next, _], _]) = self.file.file.agreed_on(self.mpi, Ok(((), [own, 0])))?;
            if next >= rounds {
                return all;
            }
            first = rounds.min(next + TOLD);
            let width = (first - next) as usize;
            let told = self.tell(next..first).inspect_err(is_broken)?;
            let of_round = |at: usize| told.chunks_exact(width).map(move |rank| rank[at]);
            let most =
                (0..width).map(|at| of_round(at).map(Told::memory).fold(0, usize::saturating_add)).max();
            self.file.file.agreed(self.mpi, has_room(most.unwrap_or(0)))?;
            for at in 0..width {
                let of_round: Vec<_> = of_round(at).collect();
                all = all.and(round(self, next + at as u64, &of_round).inspect_err(is_broken)?);
            }
        }
    }

    /// Tells all ranks the numbers of rows and bytes that this one has in their windows of some rounds, and
    /// returns those that they tell (`MPI_Alltoall`).
    fn tell(&self, rounds: Range<u64>) -> Result<Vec<Told>> {
        let width = rounds.end - rounds.start;
        let own: Vec<Told> = (0..self.ranks)
            .flat_map(|rank| rounds.clone().map(move |round| (rank, round)))
            .map(|(rank, round)| {
                let mut rows = 0;
                let bytes = self.rows.each_within(&self.domains.window(rank, round), |_| rows += 1);
                Told { rows, bytes: bytes.len() as u64 }
            })
            .collect();
        let mut told = vec![Told::default(); own.len()];
        let (from, to) = (own.as_ptr().cast(), told.as_mut_ptr().cast());
        let (count, communicator) = (2 * width as c_int, self.file.file.communicator());
        called(self.mpi, "MPI_Alltoall", communicator, || {
            // SAFETY: both lists have as many numbers for each rank.
            unsafe { self.mpi.MPI_Alltoall(from, count, number(), to, count, number(), communicator) }
        })?;
        Ok(told)
    }

    /// Starts to send rows to the owner of a window.
    fn send_rows(&self, rows: &[Row], to: usize) -> Result<Request> {
        let size = rows.len() * Row::SIZE;
        let mut buffer = PackBuffer::with_room(size)?;
        for (into, row) in buffer.chunks_exact_mut(Row::SIZE).zip(rows) {
            into.copy_from_slice(&row.to_bytes());
        }
        Outgoing::of_buffer(buffer, size)?.start(self.mpi, self.peer(to, ROWS))
    }

    /// Starts to receive the rows of all other ranks that have some.
    fn receive_rows(&self, told: &[Told]) -> Result<Vec<(usize, Request)>> {
        let have_rows = self.others().filter(|rank| told[*rank].rows > 0);
        let receive = |rank: usize| {
            let size = (told[rank].rows as usize).saturating_mul(Row::SIZE);
            Ok((rank, self.receive(size, rank, ROWS)?))
        };
        have_rows.map(receive).collect()
    }

    fn receive(&self, size: usize, from: usize, tag: c_int) -> Result<Request> {
        Request::receive(self.mpi, Room::exactly(size)?, self.peer(from, tag))
    }

    /// Waits for rows, and checks that they are in the window and have as many bytes as was told.
    fn rows_of(&self, request: &mut Request, told: Told, window: &Range<u64>) -> Result<Vec<Row>> {
        self.wait(request)?;
        let (rows, _) = request.buffer().as_chunks::<{ Row::SIZE }>();
        let rows: Vec<_> = rows.iter().take(told.rows as usize).map(Row::from_bytes).collect();
        let size = |row: &Row| {
            let last = row.count.checked_sub(1)?.checked_mul(row.stride)?.checked_add(row.at)?;
            let is_within = row.at >= window.start && last.checked_add(row.length)? <= window.end;
            (is_within && row.stride >= row.length).then_some(row.count.checked_mul(row.length)?)
        };
        let bytes = rows.iter().try_fold(0u64, |bytes, row| bytes.checked_add(size(row)?));
        if bytes == Some(told.bytes) {
            Ok(rows)
        } else {
            Err(self.file.file.refused("another rank has other runs than it says"))
        }
    }

    fn wait(&self, request: &mut Request) -> Result {
        request.is_sent(self.mpi, true).map(drop)
    }
}

/// Writes the runs of all ranks. All ranks must make this call; each returns its own error, or one if another
/// rank was not ready.
pub(super) fn write(file: Seen<'_>, mpi: &Usable, rows: &Rows, own: Result<Packed<'_>>) -> Result {
    let (Some(collected), own) = Collected::new(file, mpi, rows, own)? else { return Ok(()) };
    collected.each_round(|all, round, told| all.write_round(round, told, &own))
}

/// Reads the runs of all ranks into values. All ranks must make this call. After an error, some values may
/// have been written, unless invalid values are possible: these are checked before any is written.
pub(super) fn read<M: Write>(file: Seen<'_>, mpi: &Usable, rows: &Rows, mut into: Option<&mut M>) -> Result {
    let room = file.reads().and_then(|()| into.as_deref_mut().map(Filled::of).transpose());
    let (collected, mut room) = Collected::new(file, mpi, rows, room)?;
    let read = collected.map_or(Ok(()), |collected| {
        collected.each_round(|all, round, told| all.read_round(round, told, room.as_mut()))
    });
    file.file.agreed(mpi, read)?;
    match (room, into) {
        (Some(room), Some(into)) => room.unpack(into),
        _ => Ok(()),
    }
}

impl Collected<'_> {
    /// Sends bytes to the owners of windows, and writes the window of this rank.
    fn write_round(&self, round: u64, told: &[Told], own: &Packed<'_>) -> Result<Result> {
        let window = self.domains.window(self.rank, round);
        let mut rows_of_others = self.receive_rows(told)?;
        let mut bytes_of_others = Vec::new();
        for (rank, _) in &rows_of_others {
            bytes_of_others.push(self.receive(told[*rank].bytes as usize, *rank, BYTES)?);
        }
        let mut under_way = Vec::new();
        for to in self.others() {
            let (rows, bytes) = self.rows.within(&self.domains.window(to, round));
            if rows.is_empty() {
                continue;
            }
            under_way.push(self.send_rows(&rows, to)?);
            let (place, size) = own.part(bytes);
            let span = Span { place: place.cast_mut(), size: size as usize };
            // SAFETY: 1, since the bytes are those of the message, which is borrowed, or of a buffer; the
            // request is complete when this function returns.
            let outgoing = unsafe { Outgoing::of_span(span) }?;
            under_way.push(outgoing.start(self.mpi, self.peer(to, BYTES))?);
        }
        let (rows, bytes) = self.rows.within(&window);
        let is_idle = rows.is_empty() && rows_of_others.is_empty();
        let mut filled = Window::new(if is_idle { &(0..0) } else { &window })?;
        filled.put(&rows, own.bytes(bytes));
        for ((rank, rows), bytes) in rows_of_others.iter_mut().zip(&mut bytes_of_others) {
            let rows = self.rows_of(rows, told[*rank], &window)?;
            self.wait(bytes)?;
            filled.put(&rows, bytes.buffer());
        }
        let written = filled.write(self.file, self.mpi);
        under_way.iter_mut().try_for_each(|request| self.wait(request))?;
        Ok(written)
    }

    /// Reads the window of this rank, and sends to the others what they need of it.
    fn read_round(&self, round: u64, told: &[Told], mut room: Option<&mut Filled>) -> Result<Result> {
        let window = self.domains.window(self.rank, round);
        let mut rows_of_others = self.receive_rows(told)?;
        let (mut under_way, mut awaited) = (Vec::new(), Vec::new());
        for of in self.others() {
            let (rows, bytes) = self.rows.within(&self.domains.window(of, round));
            if !rows.is_empty() {
                under_way.push(self.send_rows(&rows, of)?);
                awaited.push((self.receive(bytes.len(), of, BYTES)?, bytes));
            }
        }
        let (own, own_bytes) = self.rows.within(&window);
        let mut all = Vec::new();
        for (rank, rows) in &mut rows_of_others {
            all.push((*rank, self.rows_of(rows, told[*rank], &window)?));
        }
        let wanted = all.iter().flat_map(|(_, rows)| rows).chain(&own);
        let (mut filled, read) = self.read_wanted(&window, wanted)?;
        let filled = filled.bytes_mut(0..filled.size);
        for (rank, rows) in &all {
            let size = told[*rank].bytes as usize;
            let mut bytes = PackBuffer::with_room(size)?;
            take(rows, window.start, filled, &mut bytes[..size]);
            under_way.push(Outgoing::of_buffer(bytes, size)?.start(self.mpi, self.peer(*rank, BYTES))?);
        }
        if let Some(room) = &mut room {
            take(&own, window.start, filled, room.bytes_mut(own_bytes));
            for (request, bytes) in &mut awaited {
                self.wait(request)?;
                let size = bytes.len();
                room.bytes_mut(bytes.clone()).copy_from_slice(&request.buffer()[..size]);
            }
        }
        under_way.iter_mut().try_for_each(|request| self.wait(request))?;
        Ok(read)
    }

    /// Reads the bytes of rows within a window, and returns them with the outcome: in one piece from the
    /// first to the last, or piece by piece if they are few.
    fn read_wanted<'r>(
        &self,
        window: &Range<u64>,
        rows: impl Iterator<Item = &'r Row> + Clone,
    ) -> Result<(Filled, Result)> {
        /// The least share of the bytes that are read in one piece.
        const DENSE: u64 = 8;
        let start = rows.clone().map(|row| row.at).min().unwrap_or(window.start);
        let end = rows.clone().map(Row::end).max().unwrap_or(start);
        let wanted = rows.clone().map(|row| row.length * row.count).fold(0, u64::saturating_add);
        let size = if start < end { size_of(window) } else { 0 };
        let mut filled = Filled::of_buffer(PackBuffer::with_room(size)?, size);
        let place = |at: u64| (at - window.start) as usize;
        let read = if start == end {
            Ok(())
        } else if wanted >= (end - start) / DENSE {
            self.file.fill(self.mpi, [Run { at: start, bytes: place(start)..place(end) }], &mut filled)
        } else {
            let mut bits = bits_for(size);
            for row in rows {
                (0..row.count)
                    .for_each(|i| mark(&mut bits, place(row.at + i * row.stride), row.length as usize));
            }
            let run = |bytes: Range<usize>| Run { at: window.start + bytes.start as u64, bytes };
            self.file.fill(self.mpi, marked(&bits).map(run), &mut filled)
        };
        Ok((filled, read))
    }
}

/// Returns the number of bytes of a window.
fn size_of(window: &Range<u64>) -> usize {
    (window.end - window.start) as usize
}

/// A window that is written.
struct Window {
    /// The offset of the first byte in the file.
    start: u64,
    size: usize,
    bytes: PackBuffer,
    /// A bit for each byte that a rank has written.
    written: Vec<u64>,
}

impl Window {
    fn new(window: &Range<u64>) -> Result<Self> {
        let size = size_of(window);
        Ok(Self { start: window.start, size, bytes: PackBuffer::with_room(size)?, written: bits_for(size) })
    }

    /// Writes packed bytes to the runs of rows, which are within the window.
    fn put(&mut self, rows: &[Row], mut packed: &[u8]) {
        for row in rows {
            let (length, stride) = (row.length as usize, row.stride as usize);
            let (own, rest) = packed.split_at(length * row.count as usize);
            packed = rest;
            let first = (row.at - self.start) as usize;
            copy_each(&mut self.bytes[first..], stride, own, length, length, row.count as usize);
            (0..row.count as usize).for_each(|i| mark(&mut self.written, first + i * stride, length));
        }
    }

    /// Writes the bytes that ranks have, and no others.
    fn write(self, file: Seen<'_>, mpi: &Usable) -> Result {
        let Self { start, size, bytes, written } = self;
        let packed = Packed::of_buffer(bytes, size);
        let run = |bytes: Range<usize>| Run { at: start + bytes.start as u64, bytes };
        file.write_runs(mpi, marked(&written).map(run), &packed)
    }
}

/// Copies the bytes of rows from a window, of which the first byte has the offset `start`.
fn take(rows: &[Row], start: u64, window: &[u8], mut packed: &mut [u8]) {
    for row in rows {
        let (length, count) = (row.length as usize, row.count as usize);
        let (own, rest) = packed.split_at_mut(length * count);
        packed = rest;
        let first = (row.at - start) as usize;
        copy_each(own, length, &window[first..], row.stride as usize, length, count);
    }
}

/// Copies `count` blocks of `length` bytes, which lie at distances in both.
fn copy_each(to: &mut [u8], to_stride: usize, from: &[u8], from_stride: usize, length: usize, count: usize) {
    macro_rules! of_sizes {
        ($($size:literal)*) => {
            match length {
                $($size => for i in 0..count {
                    let (into, out_of) = (i * to_stride, i * from_stride);
                    to[into..into + $size].copy_from_slice(&from[out_of..out_of + $size]);
                },)*
                _ => for i in 0..count {
                    let (into, out_of) = (i * to_stride, i * from_stride);
                    to[into..into + length].copy_from_slice(&from[out_of..out_of + length]);
                },
            }
        };
    }
    of_sizes!(1 2 4 8 16 24 32 64);
}

/// Returns so many bits, of which none is set.
fn bits_for(count: usize) -> Vec<u64> {
    vec![0; count.div_ceil(u64::BITS as usize)]
}

/// Sets some adjacent bits.
fn mark(bits: &mut [u64], start: usize, length: usize) {
    const WIDTH: usize = u64::BITS as usize;
    let (mut at, end) = (start, start + length);
    while at < end {
        let (word, low) = (at / WIDTH, at % WIDTH);
        let count = (end - at).min(WIDTH - low);
        bits[word] |= (u64::MAX >> (WIDTH - count)) << low;
        at += count;
    }
}

/// Returns the ranges of adjacent bits that are set.
fn marked(bits: &[u64]) -> impl Iterator<Item = Range<usize>> + '_ {
    const WIDTH: usize = u64::BITS as usize;
    // Returns the first bit from `at` on that is set, or not set; the number of bits if there is none.
    let next = move |at: usize, is_set: bool| {
        let flip = if is_set { 0 } else { u64::MAX };
        let (first, low) = (at / WIDTH, at % WIDTH);
        let mut words = bits.iter().enumerate().skip(first);
        words
            .find_map(|(i, word)| {
                let rest = (word ^ flip) & if i == first { u64::MAX << low } else { u64::MAX };
                (rest != 0).then(|| i * WIDTH + rest.trailing_zeros() as usize)
            })
            .unwrap_or(bits.len() * WIDTH)
    };
    let mut at = 0;
    iter::from_fn(move || {
        let start = next(at, true);
        at = next(start, false);
        (start < at).then_some(start..at)
    })
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::{mark, marked};

    #[test]
    fn marked_ranges_are_those_that_were_marked() {
        for length in 1..=130usize {
            for start in 0..=(260 - length) {
                let mut bits = [0; 5];
                mark(&mut bits, start, length);
                assert!(marked(&bits).eq(iter::once(start..start + length)));
                let behind = start + length + 1;
                mark(&mut bits, behind, 3);
                mark(&mut bits, behind + 3, 2);
                let both = [start..start + length, behind..behind + 5];
                assert_eq!(marked(&bits).collect::<Vec<_>>(), both);
            }
        }
        assert_eq!(marked(&[0, 0]).count(), 0);
        assert!(marked(&[u64::MAX; 2]).eq(iter::once(0..128)));
    }
}
