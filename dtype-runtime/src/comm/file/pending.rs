//! Immediate transfers at offsets of the file. The file keeps their requests, because MPI uses their buffers
//! even if the program forgets the guards.

use std::{mem, os::raw::c_int};

use super::{
    super::{Message, Pending, Place, Starting, pending::State},
    errors::{byte, of_file, quietly},
    handle::File,
};
use crate::{
    Error,
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
    fn few(&self, name: &str, size: usize) -> Result<usize, Error> {
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
    pub fn write_at<M: Message + ?Sized>(self, offset: u64, message: &M) -> Result<Pending<'f>, Error> {
        const CALL: &str = "MPI_File_iwrite_at";
        let mpi = &ready()?;
        let file = self.0.bytes()?;
        file.writes()?;
        let message = &message.carried(false)?;
        let size = self.0.few(CALL, message.packed_size())?;
        let (at, handle) = (self.0.place(offset, size)?, file.handle());
        let request = Request::of_file(pack_with_room(message, size)?, |place, request| {
            let (place, count) = (place.cast_const().cast(), size as c_int);
            // SAFETY: the bytes are in a buffer that the request keeps.
            let code =
                quietly(mpi, || unsafe { mpi.MPI_File_iwrite_at(handle, at, place, count, byte(), request) });
            of_file(mpi, &self.0.path, CALL, code)
        })?;
        Ok(Pending::new(Writing(Transfer::new(self.0, CALL, request, size))))
    }

    /// Starts to read values at an offset, and returns without waiting (`MPI_File_iread_at`). The destination
    /// is borrowed until [`finish`](Pending::finish), and has less than 2 GiB.
    ///
    /// # Errors
    /// The errors of [`File::read_at`].
    pub fn read_at<'a, M: Place + ?Sized>(self, offset: u64, into: &'a mut M) -> Result<Pending<'a>, Error>
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
        let (at, handle) = (self.0.place(offset, size)?, file.handle());
        let request = Request::of_file(PackBuffer::with_room(size)?, |place, request| {
            let (place, count) = (place.cast(), size as c_int);
            // SAFETY: the buffer has room for the bytes, and the request keeps it.
            let code =
                quietly(mpi, || unsafe { mpi.MPI_File_iread_at(handle, at, place, count, byte(), request) });
            of_file(mpi, &self.0.path, CALL, code)
        })?;
        Ok(Pending::new(Reading { transfer: Transfer::new(self.0, CALL, request, size), into }))
    }
}

/// An immediate transfer of a file, which keeps the request. Dropping it waits.
struct Transfer<'f> {
    file: &'f File,
    /// The name of the call that has started it.
    call: &'static str,
    /// The number of the request.
    number: usize,
    size: usize,
}

impl<'f> Transfer<'f> {
    fn new(file: &'f File, call: &'static str, request: Request, size: usize) -> Self {
        let mut pending = file.pending.borrow_mut();
        let number = pending.iter().position(Option::is_none).unwrap_or(pending.len());
        if number == pending.len() {
            pending.push(None);
        }
        pending[number] = Some(request);
        Self { file, call, number, size }
    }

    /// Returns `true` if all bytes have been transferred; if `wait` is set, waits for them.
    fn advance(&mut self, mpi: &Usable, wait: bool) -> Result<bool, Error> {
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

    /// Waits for the transfer, and returns the request with its buffer.
    fn finish(mut self, mpi: &Usable) -> Result<Option<Request>, Error> {
        self.advance(mpi, true)?;
        let request = self.take();
        mem::forget(self);
        Ok(request)
    }

    fn take(&self) -> Option<Request> {
        self.file.pending.borrow_mut()[self.number].take()
    }
}

impl Drop for Transfer<'_> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

/// A write under way.
struct Writing<'f>(Transfer<'f>);

impl State<()> for Writing<'_> {
    fn is_done(&mut self, mpi: &Usable) -> Result<bool, Error> {
        self.0.advance(mpi, false)
    }

    fn finish(self: Box<Self>, mpi: &Usable) -> Result<(), Error> {
        self.0.finish(mpi).map(|_| ())
    }
}

/// A read under way.
struct Reading<'a> {
    transfer: Transfer<'a>,
    into: Exact<'a>,
}

impl State<()> for Reading<'_> {
    fn is_done(&mut self, mpi: &Usable) -> Result<bool, Error> {
        self.transfer.advance(mpi, false)
    }

    fn finish(self: Box<Self>, mpi: &Usable) -> Result<(), Error> {
        let Self { transfer, mut into } = *self;
        let size = transfer.size;
        match transfer.finish(mpi)? {
            Some(request) => into.unpack(&request.buffer()[..size]),
            None => Ok(()),
        }
    }
}
