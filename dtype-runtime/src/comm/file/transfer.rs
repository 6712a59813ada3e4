//! Reading and writing of bytes: runs of one rank, and calls of all ranks in a view. No call here knows what
//! the bytes are; all need a file whose view was checked.

use std::{ops::Range, os::raw::c_int};

use ::mpi::ffi::{MPI_File, MPI_Offset, MPI_Status};

use super::{
    errors::{byte, of_file, quietly},
    handle::{File, Seen},
    memory::{Packed, Room},
    rows::{MOST, Run},
};
use crate::{
    Result,
    mpi::{Usable, running, without_communicator},
    transfer::{
        incoming::Exact,
        request::{no_status, size_of},
        sendable::sealed::{Read, Write},
    },
};

impl File {
    /// Checks that all bytes were transferred.
    pub(super) fn complete(&self, expected: usize, found: usize) -> Result {
        if found == expected {
            return Ok(());
        }
        Err(self.refused(format!(
            "{found} of {expected} bytes were transferred: a file that is read ends before, or the storage \
             of one that is written is full"
        )))
    }
}

/// Transfers of one rank.
impl Seen<'_> {
    /// Returns the packed bytes of a message to write.
    pub fn outgoing<M: Read + ?Sized>(self, message: &M) -> Result<Packed<'_>> {
        self.writes()?;
        Packed::of(message)
    }

    /// Writes bytes from an offset on.
    pub fn write(self, mpi: &Usable, offset: u64, own: &Packed<'_>) -> Result {
        self.file.place(offset, own.size)?;
        self.write_runs(mpi, [Run { at: offset, bytes: 0..own.size }], own)
    }

    pub fn write_runs(self, mpi: &Usable, runs: impl IntoIterator<Item = Run>, own: &Packed<'_>) -> Result {
        self.transfer(mpi, "MPI_File_write_at", runs, |file, at, bytes, status| {
            let (place, count) = own.part(bytes);
            // SAFETY: the bytes are those of the message, which is borrowed, or of a buffer.
            unsafe { mpi.MPI_File_write_at(file, at, place.cast(), count, byte(), status) }
        })
    }

    /// Reads values from an offset on.
    pub fn read(self, mpi: &Usable, offset: u64, into: &mut Exact<'_>) -> Result {
        self.file.place(offset, into.packed_size())?;
        self.read_runs(mpi, [Run { at: offset, bytes: 0..into.packed_size() }], into)
    }

    pub fn read_runs<M: Write + ?Sized>(
        self,
        mpi: &Usable,
        runs: impl IntoIterator<Item = Run>,
        into: &mut M,
    ) -> Result {
        self.reads()?;
        let mut room = Room::of(into)?;
        self.fill(mpi, runs, &mut room)?;
        room.unpack(into)
    }

    /// Reads runs into a room for them.
    pub(super) fn fill(self, mpi: &Usable, runs: impl IntoIterator<Item = Run>, room: &mut Room) -> Result {
        self.transfer(mpi, "MPI_File_read_at", runs, |file, at, bytes, status| {
            let (place, count) = room.part(bytes);
            // SAFETY: the room has the bytes.
            unsafe { mpi.MPI_File_read_at(file, at, place.cast(), count, byte(), status) }
        })
    }

    /// Makes a call for each run, or several for a very long one, and checks that all bytes were transferred.
    fn transfer(
        self,
        mpi: &Usable,
        name: &'static str,
        runs: impl IntoIterator<Item = Run>,
        mut call: impl FnMut(MPI_File, MPI_Offset, Range<usize>, *mut MPI_Status) -> c_int,
    ) -> Result {
        let (file, handle) = (self.file, self.handle());
        without_communicator(mpi, || {
            runs.into_iter().flat_map(Run::parts).try_for_each(|Run { at, bytes }| {
                let (size, mut status) = (bytes.len(), no_status());
                let at = file.place(at, size)?;
                of_file(mpi, &file.path, name, call(handle, at, bytes, &raw mut status))?;
                file.complete(size, size_of(mpi, &status))
            })
        })
    }
}

/// Transfers of all ranks. Each rank returns its own error: the caller lets all ranks agree.
impl Seen<'_> {
    /// Writes bytes from an offset in bytes of the view on. All ranks must make this call.
    pub fn write_all(self, mpi: &Usable, own: Result<(u64, Packed<'_>)>) -> Result {
        if running().hides_file_errors {
            let (offset, own) = own?;
            return self.write(mpi, offset, &own);
        }
        let own = own.and_then(|own| self.file.place(own.0, own.1.size).map(|_| own));
        let ((at, own), rounds) = self.rounds(mpi, own.map(|own| (own.1.size, own)))?;
        let run = Run { at, bytes: 0..own.size };
        self.transfer_all(mpi, "MPI_File_write_at_all", run, rounds, |file, at, bytes, status| {
            let (place, count) = own.part(bytes);
            // SAFETY: the bytes are those of the message, which is borrowed, or of a buffer.
            unsafe { mpi.MPI_File_write_at_all(file, at, place.cast(), count, byte(), status) }
        })
    }

    /// Reads values from an offset in bytes of the view on. All ranks must make this call.
    pub fn read_all<M: Write>(self, mpi: &Usable, own: Result<(u64, M)>) -> Result {
        let own = own.and_then(|(offset, mut into)| {
            self.reads()?;
            self.holds(mpi, offset, into.packed_size())?;
            Ok((offset, Room::of(&mut into)?, into))
        });
        if running().hides_file_errors {
            let (offset, mut room, mut into) = own?;
            self.fill(mpi, [Run { at: offset, bytes: 0..room.size }], &mut room)?;
            return room.unpack(&mut into);
        }
        let ((at, mut room, mut into), rounds) = self.rounds(mpi, own.map(|own| (own.1.size, own)))?;
        let run = Run { at, bytes: 0..room.size };
        self.transfer_all(mpi, "MPI_File_read_at_all", run, rounds, |file, at, bytes, status| {
            let (place, count) = room.part(bytes);
            // SAFETY: the room has the bytes.
            unsafe { mpi.MPI_File_read_at_all(file, at, place.cast(), count, byte(), status) }
        })?;
        room.unpack(&mut into)
    }

    /// Returns what this rank has prepared for so many bytes, and the number of calls for the bytes of the
    /// rank with the most.
    fn rounds<T>(self, mpi: &Usable, own: Result<(usize, T)>) -> Result<(T, u64)> {
        let own = own.map(|(size, own)| (own, [size.div_ceil(MOST) as u64, 0]));
        self.file.agreed_on(mpi, own).map(|(own, [[_, rounds], _])| (own, rounds))
    }

    /// Makes so many calls of all ranks for a run, and checks that all bytes were transferred.
    fn transfer_all(
        self,
        mpi: &Usable,
        name: &'static str,
        Run { at: offset, bytes: Range { end: size, .. } }: Run,
        rounds: u64,
        mut call: impl FnMut(MPI_File, MPI_Offset, Range<usize>, *mut MPI_Status) -> c_int,
    ) -> Result {
        let (file, handle) = (self.file, self.handle());
        let (mut done, mut failed) = (0, Ok(()));
        for round in 0..rounds {
            let start = size.min(usize::try_from(round).unwrap_or(usize::MAX).saturating_mul(MOST));
            let bytes = start..size.min(start.saturating_add(MOST));
            let (at, mut status) = (offset.saturating_add(start as u64) as MPI_Offset, no_status());
            let code = quietly(mpi, || call(handle, at, bytes, &raw mut status));
            // All ranks make all calls.
            match of_file(mpi, &file.path, name, code) {
                Ok(()) => done += size_of(mpi, &status),
                Err(error) => failed = failed.and(Err(error)),
            }
        }
        failed?;
        file.complete(size, done)
    }
}
