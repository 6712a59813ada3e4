//! Immediate transfers at offsets of the file. The file keeps their requests, because MPI uses their buffers
//! even if the program forgets the guards.

use std::os::raw::{c_int, c_void};

use ::mpi::ffi::{MPI_File, MPI_Request};

use super::{
    super::{Message, Pending, Place, Starting},
    errors::{byte, of_file, quietly},
    handle::{File, Seen},
};
use crate::{
    Result,
    mpi::{Usable, ready},
    pack::PackBuffer,
    transfer::{
        incoming::Exact,
        request::{Request, size_of},
        sendable::{
            pack_with_room,
            sealed::{Read, Write},
        },
    },
};

impl File {
    /// Returns the calls that only start: `file.start().write_at(offset, &x)?`.
    pub fn start(&self) -> Starting<&Self> {
        Starting(self)
    }

    /// Returns a number of bytes that fits a single call.
    fn few(&self, name: &str, size: usize) -> Result<usize> {
        if c_int::try_from(size).is_ok() {
            return Ok(size);
        }
        Err(self.refused(format!("{name} transfers less than 2 GiB, but the values have {size} bytes")))
    }
}

impl<'f> Starting<&'f File> {
    /// Starts to write packed values at an offset, and returns without waiting (`MPI_File_iwrite_at`). The
    /// values are free again at once. They have less than 2 GiB.
    ///
    /// If the storage is full, MPI libraries crash here, or wait for ever; [`File::write_at`]
    /// returns an error.
    ///
    /// # Errors
    /// The errors of [`File::write_at`].
    pub fn write_at<M: Message + ?Sized>(self, offset: u64, message: &M) -> Result<Pending<'f>> {
        const CALL: &str = "MPI_File_iwrite_at";
        let mpi = &ready()?;
        let file = self.0.bytes()?;
        file.writes()?;
        let message = &message.carried(false)?;
        let size = self.0.few(CALL, message.packed_size())?;
        let at = self.0.place(offset, size)?;
        let packed = pack_with_room(message, size)?;
        let transfer = Transfer::start(mpi, file, CALL, packed, size, |file, place, count, request| {
            // SAFETY: the bytes are in a buffer that the request keeps.
            unsafe { mpi.MPI_File_iwrite_at(file, at, place, count, byte(), request) }
        })?;
        Ok(Pending::new(transfer, |transfer, mpi| transfer.advance(mpi, false), Transfer::finish))
    }

    /// Starts to read values at an offset, and returns without waiting (`MPI_File_iread_at`). The destination
    /// is borrowed until [`finish`](Pending::finish), and has less than 2 GiB.
    ///
    /// # Errors
    /// The errors of [`File::read_at`].
    pub fn read_at<'a, M: Place + ?Sized>(self, offset: u64, into: &'a mut M) -> Result<Pending<'a>>
    where
        'f: 'a,
    {
        const CALL: &str = "MPI_File_iread_at";
        let mpi = &ready()?;
        let file = self.0.bytes()?;
        file.reads()?;
        let into = into.incoming().sized()?;
        let size = self.0.few(CALL, into.packed_size())?;
        // Open MPI waits for ever for what is behind the end.
        file.holds(mpi, offset, size)?;
        let at = self.0.place(offset, size)?;
        let room = PackBuffer::with_room(size)?;
        let mut transfer = Transfer::start(mpi, file, CALL, room, size, |file, place, count, request| {
            // SAFETY: the buffer has room for the bytes, and the request keeps it.
            unsafe { mpi.MPI_File_iread_at(file, at, place, count, byte(), request) }
        })?;
        transfer.into = Some(into);
        Ok(Pending::new(transfer, |transfer, mpi| transfer.advance(mpi, false), Transfer::finish))
    }
}

/// An immediate transfer of a file, which keeps the request. Dropping it waits.
struct Transfer<'f> {
    file: &'f File,
    /// The name of the call that has started it.
    call: &'static str,
    /// The number of the request.
    number: usize,
    /// The number of bytes.
    size: usize,
    /// The values that are read.
    into: Option<Exact<'f>>,
}

impl<'f> Transfer<'f> {
    /// Starts a transfer of so many bytes from a buffer or into it.
    fn start(
        mpi: &Usable,
        file: Seen<'f>,
        name: &'static str,
        buffer: PackBuffer,
        size: usize,
        call: impl FnOnce(MPI_File, *mut c_void, c_int, *mut MPI_Request) -> c_int,
    ) -> Result<Self> {
        let (handle, file) = (file.handle(), file.file);
        let request = Request::of_file(buffer, |place, request| {
            let code = quietly(mpi, || call(handle, place.cast(), size as c_int, request));
            of_file(mpi, &file.path, name, code)
        })?;
        let mut pending = file.pending.borrow_mut();
        let number = pending.iter().position(Option::is_none).unwrap_or(pending.len());
        if number == pending.len() {
            pending.push(None);
        }
        pending[number] = Some(request);
        Ok(Self { file, call: name, number, size, into: None })
    }

    /// Returns `true` if all bytes have been transferred; if `wait` is set, waits for them.
    fn advance(&mut self, mpi: &Usable, wait: bool) -> Result<bool> {
        let outcome = match &mut self.file.pending.borrow_mut()[self.number] {
            Some(request) => request.advance(mpi, wait),
            None => return Ok(true),
        };
        match outcome {
            None => Ok(false),
            Some(Ok(status)) => self.file.complete(self.size, size_of(mpi, &status)).map(|()| true),
            Some(Err(code)) => of_file(mpi, &self.file.path, self.call, code).map(|()| true),
        }
    }

    /// Waits for the transfer, and writes the values that are read.
    fn finish(mut self, mpi: &Usable) -> Result {
        self.advance(mpi, true)?;
        let Self { file, number, size, into, .. } = &mut self;
        match (into, &file.pending.borrow()[*number]) {
            (Some(into), Some(request)) => into.unpack(&request.buffer()[..*size]),
            _ => Ok(()),
        }
    }
}

impl Drop for Transfer<'_> {
    fn drop(&mut self) {
        let request = self.file.pending.borrow_mut()[self.number].take();
        drop(request);
    }
}
