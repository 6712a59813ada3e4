//! Hostile peers: messages of wrong lengths, malformed segments, and announced bytes that do not come. Each
//! must cause an error and nothing else.

use std::{os::raw::c_int, ptr};

use dtype_mpi::Error as LibraryError;
use dtype_runtime::pack::Error as PackError;
use dtype_runtime::{
    Comm, Error, Peer, Wire, layout,
    pack::{DataMut, Plan},
};
use dtype_tests::{is_intel, is_library, is_long};
use mpi::{
    ffi::{self, MPI_Comm},
    raw::AsRaw,
    topology::SimpleCommunicator,
    traits::*,
};

use crate::spy;

/// Sends messages of any length to every kind of receiver.
pub fn lengths(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let mut lengths: Vec<usize> = (0..=200_000).step_by(if is_long() { 1 } else { 331 }).collect();
    for near in [8, 24, 64, 66, 128, 300, 4096, 16_384, 65_536, 131_072] {
        lengths.extend(near - 3..near + 4);
    }
    lengths.extend([1 << 20, (1 << 20) + 1, 9 << 20]);
    let bytes = vec![2u8; 10 << 20];
    for length in lengths {
        for kind in 0..KINDS + MAKING_KINDS {
            if world.rank() == 0 {
                if length % 2 == 0 {
                    world.peer(1).send(&bytes[..length]).unwrap();
                } else {
                    world.process_at_rank(1).send(&bytes[..length]);
                }
            } else {
                let from = world.peer(0);
                let right = match kind.checked_sub(KINDS) {
                    None => receive_as(from, kind, length),
                    Some(kind) => make_as(from, kind, length),
                };
                assert!(right, "{length} bytes into a receiver of kind {kind}");
            }
        }
    }
}

/// The number of kinds of receivers that take a message of exactly their size.
const KINDS: usize = 7;

/// Receives a message into a receiver of some kind. Returns `true` if the result is the right values or the
/// right error, and no other byte has changed.
fn receive_as(from: Peer<'_>, kind: usize, length: usize) -> bool {
    // The destination lies between bytes that must not change.
    let mut memory = [5u8; 600];
    let (before, rest) = memory.split_at_mut(200);
    let (into, after) = rest.split_at_mut(200);
    let mut flags = [true; 24];
    let (expected, result) = match kind {
        0 => (8, from.receive_into(&mut into[..8])),
        1 => (66, from.receive_into(&mut into[..66])),
        2 => (24, from.receive_into(&mut flags)),
        3 | 4 => {
            let expected = if kind == 3 { 8 } else { 128 };
            let mut receiving = from.start().receive_into(&mut into[..expected]).unwrap();
            while kind == 4 && !receiving.is_done().unwrap() {
                std::thread::yield_now();
            }
            (expected, receiving.finish())
        }
        5 => {
            let n = 10;
            let column = layout!(u8[n][n] => [.., 3]).unwrap();
            (10, from.receive_into(&mut column.of_mut(&mut into[..100]).unwrap()))
        }
        _ => {
            let every_other = layout!(u8[20] => [..;2]);
            let plan = Plan::new(every_other.tree()).unwrap();
            (10, from.receive_into(&mut DataMut::new(&plan, 1, into, 0).unwrap()))
        }
    };
    let has_come = into.contains(&2);
    let right = match result {
        Ok(()) => length == expected && kind != 2 && (has_come || length == 0),
        Err(Error::Pack(PackError::InvalidValue { .. })) => kind == 2 && length == 24 && !has_come,
        Err(Error::Fit { expected: own, found: Some(found), .. }) => {
            own == expected && found == length && length != expected && !has_come
        }
        Err(Error::Fit { expected: own, .. }) => own == expected && length > expected && !has_come,
        Err(_) => false,
    };
    right && flags == [true; 24] && before.iter().chain(after.iter()).all(|byte| *byte == 5)
}

/// The number of kinds of receivers that make a value of what arrives.
const MAKING_KINDS: usize = 6;

/// Makes a value of a message, of some kind. Returns `true` if the result is the right value or the right
/// error.
fn make_as(from: Peer<'_>, kind: usize, length: usize) -> bool {
    const EIGHT: u64 = u64::from_ne_bytes([2; 8]);
    let are_whole = |values: &[u64]| 8 * values.len() == length && values.iter().all(|value| *value == EIGHT);
    let is_torn = |error: &Error| {
        matches!(error, Error::Pack(PackError::Length { expected: 8, found, .. }) if *found == length)
            && length % 8 > 0
    };
    match kind {
        0 => match from.receive::<Vec<u64>>() {
            Ok(values) => are_whole(&values),
            Err(error) => is_torn(&error),
        },
        1 => match from.start().receive::<Vec<u64>>().unwrap().finish() {
            Ok(values) => are_whole(&values),
            Err(error) => is_torn(&error),
        },
        2 => {
            let mut values = vec![7u64; 100];
            match from.receive_into(&mut values) {
                Ok(()) => are_whole(&values),
                // A long vector may lend its memory.
                Err(error) => is_torn(&error) && values == [7; 100],
            }
        }
        3 => match from.receive::<u64>() {
            Ok(value) => length == 8 && value == EIGHT,
            Err(Error::Fit { expected: 8, found, .. }) => match found {
                Some(found) => found == length && length != 8,
                None => length > 8,
            },
            Err(_) => false,
        },
        4 => match from.receive::<Vec<bool>>() {
            Ok(flags) => length == 0 && flags.is_empty(),
            Err(error) => {
                matches!(error, Error::Pack(PackError::InvalidValue { offset: 0, found: 2, .. }))
                    && length > 0
            }
        },
        _ => matches!(from.receive::<Option<String>>(), Err(Error::Message { from: Some(0), .. })),
    }
}

/// The header of a first piece, as the hostile rank writes it.
struct Piece {
    mark: [u8; 8],
    total: u64,
    /// The number of packed bytes in each piece but the last.
    most: u64,
    number: u64,
}

impl Piece {
    fn bytes(&self, packed: &[u8]) -> Vec<u8> {
        let numbers = [self.total, self.most, self.number].map(u64::to_ne_bytes);
        [&self.mark[..], numbers.as_flattened(), packed].concat()
    }
}

/// Sends bytes to rank 1 in one of the contexts of segments.
fn throw(context: MPI_Comm, tag: c_int, bytes: &[u8]) {
    // SAFETY: the bytes are readable; the communicator is live.
    unsafe {
        ffi::MPI_Send(bytes.as_ptr().cast(), bytes.len() as c_int, ffi::RSMPI_UINT8_T, 1, tag, context);
    }
}

/// Malformed messages in the contexts of segments are errors, and the next message arrives.
pub fn segments(world: &SimpleCommunicator) {
    const EXPECTED: usize = 900;
    let world = &Comm::from(world);
    world.attach().unwrap();
    // SAFETY: `attach` has just made these two communicators.
    let [first, rest] = unsafe {
        let mut made = [ffi::RSMPI_COMM_NULL; 2];
        (0..).zip(&mut made).for_each(|(i, made)| spy::c_made(i, made));
        made
    };
    let other = world.peer(1 - world.rank()).wire(Wire::Segments);
    let rounds = if is_long() { 100_000 } else { 20_000 };
    for round in 0..rounds as u64 {
        let number = round % 30_000;
        let random = |salt: u64| {
            let number = (round * 131 + salt).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            ((number ^ number >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 33) as usize
        };
        let packed: Vec<u8> = (0..5000).map(|i| (i as u64 * 7 + round) as u8).collect();
        let piece = 1 + random(1) % 400;
        let good = Piece { mark: *b"\xD7ype\x02seg", total: EXPECTED as u64, most: piece as u64, number };
        let end = piece.min(EXPECTED);
        let kind = round % 9;
        if world.rank() == 0 {
            let tag = random(2) as c_int % 100;
            match kind {
                // Bytes of any length.
                0 => throw(first, tag, &packed[..random(3) % 300]),
                // A header with an impossible number, or without our mark.
                1 => {
                    let bad = match random(4) % 5 {
                        0 => Piece { mark: [random(5) as u8; 8], ..good },
                        1 => Piece { most: 0, ..good },
                        2 => Piece { most: (128 << 10) + 1 + random(5) as u64, ..good },
                        3 => Piece { number: u64::MAX - random(5) as u64, ..good },
                        _ => Piece { most: u64::MAX, total: u64::MAX, ..good },
                    };
                    throw(first, tag, &bad.bytes(&packed[..end]));
                }
                // A first piece whose length differs from its header.
                2 => throw(first, tag, &good.bytes(&packed[..end + 1 + random(6) % 200])),
                3 => throw(first, tag, &good.bytes(&packed[..end - 1])),
                // A later piece that is too long, too short, or far too long.
                4 | 5 => {
                    let short = Piece { most: 100, ..good };
                    throw(first, tag, &short.bytes(&packed[..100]));
                    throw(rest, number as c_int, &packed[100..200]);
                    let wrong = [0, 99, 101, 4000][random(7) % 4];
                    if kind == 5 && wrong == 4000 {
                        throw(rest, number as c_int, &vec![9; 400_000]);
                    } else {
                        throw(rest, number as c_int, &packed[..wrong]);
                    }
                }
                // A well-formed message that is longer than the receiver expects.
                6 => {
                    let total = EXPECTED + 1 + random(8) % 2000;
                    throw_all(first, rest, &Piece { total: total as u64, ..good }, &packed[..total], tag);
                }
                // A well-formed message that fits: sent by hand, then by this library.
                7 => throw_all(first, rest, &good, &packed[..EXPECTED], tag),
                _ => other.tag(tag).send(&packed[..EXPECTED]).unwrap(),
            }
            continue;
        }
        let mut memory = [0u8; EXPECTED + 400];
        let result = if round % 2 == 0 {
            other.receive_into(&mut memory[200..200 + EXPECTED])
        } else {
            let part = layout!(u8[1300] => [200..1100]);
            other.receive_into(&mut part.of_mut(&mut memory))
        };
        let is_right = match kind {
            0..6 => matches!(result, Err(Error::Segment { rank: 0, .. })),
            6 => matches!(result, Err(Error::Fit { expected: EXPECTED, .. })),
            _ => result.is_ok() && memory[200..200 + EXPECTED] == packed[..EXPECTED],
        };
        assert!(is_right, "round {round}, kind {kind}: {result:?}");
        assert!(memory[..200].iter().chain(&memory[200 + EXPECTED..]).all(|byte| *byte == 0));
        assert!(matches!(kind, 4 | 5 | 7 | 8) || memory == [0; EXPECTED + 400], "round {round}, kind {kind}");
    }
}

fn throw_all(first: MPI_Comm, rest: MPI_Comm, header: &Piece, packed: &[u8], tag: c_int) {
    let mut pieces = packed.chunks(header.most as usize);
    throw(first, tag, &header.bytes(pieces.next().unwrap_or_default()));
    pieces.for_each(|piece| throw(rest, header.number as c_int, piece));
}

/// One rank announces bytes in a collective call and sends fewer. The other ranks get an error, and the next
/// call works.
pub fn liars(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let (rank, ranks) = (world.rank(), world.size());
    let mut all = vec![0u8; PART * ranks];
    for sent in [0, 1, 999, 1000, 1007] {
        for makes in [false, true] {
            // Bytes that an earlier call has left in a buffer must not appear as received values.
            world.all_gather_into(&vec![0xAAu8; PART], &mut all[..]).unwrap();
            world.broadcast_into(ranks - 1, &mut all[..PART]).unwrap();
            // If the liar sends nothing at all, Open MPI waits forever in most calls, as if the liar made no
            // call, and Intel MPI in this one, too.
            let liar = Liar { world, sent: sent.max(1), makes };
            let for_all = if is_intel() { sent.max(1) } else { sent };
            Liar { sent: for_all, ..liar }.gathers_for_all(&mut all);
            world.barrier();
            liar.gathers(&mut all);
            world.barrier();
            if makes {
                liar.scatters_each();
            } else {
                liar.scatters();
            }
            world.barrier();
            liar.exchanges(&mut all);
            world.barrier();
            // If a broadcast has far too few bytes, the ranks choose different algorithms and wait for each
            // other. In MPICH 5, a root that sends less than expected waits forever in its own call; a
            // program in C does so, too.
            if sent >= 999 && !is_library("MPICH", 5) {
                liar.broadcasts();
                world.barrier();
            }
            world.all_gather_into(&vec![rank as u8; PART], &mut all[..]).unwrap();
            assert!(all.chunks(PART).enumerate().all(|(i, part)| part.iter().all(|byte| *byte == i as u8)));
        }
    }
}

/// The number of bytes that each rank sends to each rank; `SEALED` includes the eight bytes of the seal.
const PART: usize = 1000;
const SEALED: c_int = 1008;

/// The number that the liar draws for its seals.
const DRAWN: u64 = 0;

fn maximum() -> ffi::MPI_Op {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_MAX }
}

fn sum() -> ffi::MPI_Op {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_SUM }
}

fn byte() -> ffi::MPI_Datatype {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_UINT8_T }
}

/// The last rank, which sends `sent` bytes instead of `SEALED`.
#[derive(Clone, Copy)]
struct Liar<'a> {
    world: &'a Comm<&'a SimpleCommunicator>,
    sent: c_int,
    /// `true` if the other ranks make values of what arrives, and do not receive it into memory that is
    /// there.
    makes: bool,
}

/// Checks that the result is an error for announced bytes that did not come, and that nothing was written.
fn announced(result: &Result<(), Error>, into: &[u8]) {
    // If the library forwards parts between ranks, the missing bytes may be those of another rank.
    let is_known = matches!(
        result,
        Err(Error::Announced { bytes: PART, .. } | Error::Library(LibraryError::Mpi { .. }))
    );
    assert!(is_known, "{result:?}");
    assert!(into.iter().all(|byte| *byte == 1));
}

impl Liar<'_> {
    fn lies(&self) -> bool {
        self.world.rank() == self.world.size() - 1
    }

    /// Returns the number of bytes that this rank sends to each rank: `SEALED` to itself, and `sent` to
    /// others.
    fn fewer(&self) -> Vec<c_int> {
        let mut counts = vec![self.sent; self.world.size()];
        counts[self.world.rank()] = SEALED;
        counts
    }

    fn counts(&self) -> (Vec<c_int>, Vec<c_int>, Vec<u8>) {
        let ranks = self.world.size();
        let starts = (0..ranks as c_int).map(|i| i * SEALED).collect();
        (vec![SEALED; ranks], starts, vec![3; SEALED as usize * ranks])
    }

    /// Takes part in the agreement on whether all ranks have the same number of bytes, and denies that they
    /// have. Then the ranks exchange their sizes, and no library has to guess how many bytes travel. Returns
    /// the number that the seals carry.
    fn agrees(&self, found: u64) -> u64 {
        let (own, mut all) = ([PART as u64, !(PART as u64 - 1), DRAWN, found], [0u64; 4]);
        self.reduces(&own, &mut all, maximum());
        all[2]
    }

    fn reduces(&self, own: &[u64], all: &mut [u64], operation: ffi::MPI_Op) {
        let from = own.as_ptr().cast();
        let to = all.as_mut_ptr().cast();
        let count = own.len() as c_int;
        // SAFETY: both sides have `count` numbers.
        unsafe {
            ffi::MPI_Allreduce(from, to, count, ffi::RSMPI_UINT64_T, operation, self.world.as_raw());
        }
    }

    /// Sends the size of this rank's part to a root.
    fn tells(&self, root: c_int, drawn: u64) {
        let (own, mut all) = ([PART as u64, drawn], vec![0u64; 2 * self.world.size()]);
        let (from, to) = (own.as_ptr().cast(), all.as_mut_ptr().cast());
        // SAFETY: `all` holds two numbers of each rank.
        unsafe {
            let number = ffi::RSMPI_UINT64_T;
            ffi::MPI_Gather(from, 2, number, to, 2, number, root, self.world.as_raw());
        }
    }

    /// Gathers on all ranks, with the lie in the last rank's part.
    fn gathers_for_all(&self, all: &mut [u8]) {
        all.fill(1);
        if !self.lies() {
            let own = vec![2u8; PART];
            let result = if self.makes {
                self.world.all_gather(&own).map(drop)
            } else {
                self.world.all_gather_into(&own, all)
            };
            return announced(&result, all);
        }
        let drawn = self.agrees(0);
        let (mut counts, starts, mut into) = self.counts();
        counts[self.world.rank()] = self.sent;
        let own = vec![2u8; SEALED as usize];
        let (told, mut others) = ([PART as u64, drawn], vec![0u64; 2 * self.world.size()]);
        // SAFETY: `others` and `into` have space for the numbers and parts of all ranks.
        unsafe {
            let (from, to) = (told.as_ptr().cast(), others.as_mut_ptr().cast());
            let number = ffi::RSMPI_UINT64_T;
            ffi::MPI_Allgather(from, 2, number, to, 2, number, self.world.as_raw());
            let (from, to) = (own.as_ptr().cast(), into.as_mut_ptr().cast());
            let (byte, world) = (ffi::RSMPI_UINT8_T, self.world.as_raw());
            ffi::MPI_Allgatherv(from, self.sent, byte, to, counts.as_ptr(), starts.as_ptr(), byte, world);
        }
    }

    /// Gathers on the first rank, with the lie in the last rank's part.
    fn gathers(&self, all: &mut [u8]) {
        all.fill(1);
        let own = vec![2u8; SEALED as usize];
        if self.lies() {
            let drawn = self.agrees(0);
            self.tells(0, drawn);
            let (from, none) = (own.as_ptr().cast(), ptr::null_mut());
            // SAFETY: the bytes to send are readable; this rank receives nothing.
            unsafe {
                let (byte, world) = (ffi::RSMPI_UINT8_T, self.world.as_raw());
                ffi::MPI_Gatherv(from, self.sent, byte, none, ptr::null(), ptr::null(), byte, 0, world);
            }
            return;
        }
        let is_root = self.world.rank() == 0;
        let result = if self.makes {
            self.world.gather(0, &own[..PART].to_vec()).map(drop)
        } else {
            self.world.gather_into(0, &own[..PART], is_root.then_some(&mut *all))
        };
        if is_root {
            announced(&result, all);
        } else {
            result.unwrap();
        }
    }

    /// Scatters from the last rank, which lies to all others.
    fn scatters(&self) {
        let root = self.world.size() - 1;
        if !self.lies() {
            let mut part = [1u8; PART];
            let result = self.world.scatter_into::<[u8], _>(root, None, &mut part);
            return announced(&result, &part);
        }
        let root = root as c_int;
        let total = (PART * self.world.size()) as u64;
        let drawn = self.agrees(total);
        self.reduces(&[PART as u64], &mut [0], sum());
        self.tells(root, drawn);
        let (_, starts, from) = self.counts();
        let (fewer, mut own) = (self.fewer(), [0u8; SEALED as usize]);
        let (from, to) = (from.as_ptr().cast(), own.as_mut_ptr().cast());
        // SAFETY: `from` has `SEALED` bytes for each rank, and `own` has space for this rank's part.
        unsafe {
            let (byte, world) = (ffi::RSMPI_UINT8_T, self.world.as_raw());
            ffi::MPI_Scatterv(from, fewer.as_ptr(), starts.as_ptr(), byte, to, SEALED, byte, root, world);
        }
    }

    /// Scatters values from the last rank, which lies to all others. The ranks do not know the sizes.
    fn scatters_each(&self) {
        let root = self.world.size() - 1;
        if !self.lies() {
            return announced(&self.world.scatter::<Vec<u8>>(root, None).map(drop), &[]);
        }
        let root = root as c_int;
        let ranks = self.world.size();
        let bytes = SEALED as u64 * self.world.size() as u64;
        let (told, mut own) = ([PART as u64, DRAWN, bytes].repeat(ranks), [0u64; 3]);
        let (_, starts, from) = self.counts();
        let (fewer, mut part) = (self.fewer(), [0u8; SEALED as usize]);
        // SAFETY: `told` has three numbers for each rank, and `from` has `SEALED` bytes. `own` and `part`
        // have space for the numbers and the part of this rank.
        unsafe {
            let byte = ffi::RSMPI_UINT8_T;
            let number = ffi::RSMPI_UINT64_T;
            let world = self.world.as_raw();
            let (told, own) = (told.as_ptr().cast(), own.as_mut_ptr().cast());
            ffi::MPI_Scatter(told, 3, number, own, 3, number, root, world);
            let (from, to) = (from.as_ptr().cast(), part.as_mut_ptr().cast());
            ffi::MPI_Scatterv(from, fewer.as_ptr(), starts.as_ptr(), byte, to, SEALED, byte, root, world);
        }
    }

    /// Broadcasts from the last rank, which lies to all others.
    fn broadcasts(&self) {
        let root = self.world.size() - 1;
        let mut values = vec![1u8; PART];
        if !self.lies() {
            let result = if self.makes {
                self.world.broadcast::<Vec<u8>>(root, None).map(drop)
            } else {
                self.world.broadcast_into(root, &mut values[..])
            };
            return announced(&result, &values);
        }
        let root = root as c_int;
        // The first message has no values, only the header and the seal.
        let mut first = [0u8; 1024];
        first[..40].copy_from_slice(
            [PART as u64, 0, PART as u64, DRAWN, DRAWN | 1].map(u64::to_ne_bytes).as_flattened(),
        );
        // SAFETY: the buffers have at least the bytes that are passed; the handlers are constants of the
        // library. The handler returns because MPICH reports the lie as an error on this rank, too.
        unsafe {
            ffi::MPI_Comm_set_errhandler(self.world.as_raw(), ffi::RSMPI_ERRORS_RETURN);
            let (byte, world) = (ffi::RSMPI_UINT8_T, self.world.as_raw());
            ffi::MPI_Bcast(first.as_mut_ptr().cast(), first.len() as c_int, byte, root, world);
            ffi::MPI_Bcast([3u8; SEALED as usize].as_mut_ptr().cast(), self.sent, byte, root, world);
            ffi::MPI_Comm_set_errhandler(world, ffi::RSMPI_ERRORS_ARE_FATAL);
        }
    }

    /// Exchanges parts between all ranks, with the lie in the last rank's parts: first in short parts, which
    /// travel with the announcements, and then in parts of which this rank says that they are long.
    fn exchanges(&self, all: &mut [u8]) {
        for largest in [PART as u64, u64::MAX] {
            all.fill(1);
            if !self.lies() {
                let own = vec![vec![2u8; PART]; self.world.size()];
                let result = if self.makes {
                    self.world.all_to_all(&own).map(drop)
                } else {
                    let mut places: Vec<_> = all.chunks_mut(PART).collect();
                    self.world.all_to_all_into(&own, &mut places)
                };
                announced(&result, all);
                continue;
            }
            let bytes = SEALED as u64 * self.world.size() as u64;
            // With up to 32 ranks, 2 KiB for each.
            let mut slot = [0u8; 2048];
            slot[..32]
                .copy_from_slice([PART as u64, DRAWN, bytes, largest].map(u64::to_ne_bytes).as_flattened());
            slot[32..32 + PART].fill(3);
            slot[32 + PART..32 + SEALED as usize].copy_from_slice(&(DRAWN | 1).to_ne_bytes());
            // Every byte that has not come differs from the announced one.
            slot[32 + self.sent as usize..32 + SEALED as usize].iter_mut().for_each(|byte| *byte = !*byte);
            let (told, mut others) = (slot.repeat(self.world.size()), slot.repeat(self.world.size()));
            let (byte, world) = (byte(), self.world.as_raw());
            // SAFETY: both buffers have 2 KiB for each rank.
            unsafe {
                let from = told.as_ptr().cast();
                let to = others.as_mut_ptr().cast();
                let count = slot.len() as c_int;
                ffi::MPI_Alltoall(from, count, byte, to, count, byte, world);
            }
            if largest == PART as u64 {
                continue;
            }
            let (counts, starts, mut into) = self.counts();
            let (fewer, own) = (self.fewer(), into.clone());
            // SAFETY: the buffers have space for the parts of all ranks.
            unsafe {
                let (from, to) = (own.as_ptr().cast(), into.as_mut_ptr().cast());
                let (counts, starts) = (counts.as_ptr(), starts.as_ptr());
                ffi::MPI_Alltoallv(from, fewer.as_ptr(), starts, byte, to, counts, starts, byte, world);
            }
        }
    }
}
