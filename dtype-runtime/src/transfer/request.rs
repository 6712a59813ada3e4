//! The MPI calls of a transfer: their arguments, requests that have been started, and messages that have been
//! matched.

use std::{
    marker::PhantomData,
    mem::{self, MaybeUninit},
    os::raw::{c_int, c_void},
    process, ptr,
};

use ::mpi::{
    Count, Rank, Tag,
    ffi::{self, MPI_Comm, MPI_Datatype, MPI_Message, MPI_Request, MPI_Status},
    raw::AsRaw,
};
use dtype_core::{BaseType, TypeTree};

use super::{
    address::Address,
    bytes::Bytes,
    patience::Patience,
    sendable::{Span, Typed},
    unwinding::before_waiting,
};
use crate::{
    Error,
    layout::entry::Entry,
    mpi::{
        SUCCESS, Usable, called, checked, packed_datatype, ready, returning_errors, running, true_code,
        without_communicator,
    },
    pack::PackBuffer,
    types::{cache::cached, entry::Wanted},
};

impl Address {
    /// Returns the sender and the size in bytes of a message from this address that has arrived, or `None` if
    /// there is none (`MPI_Iprobe`).
    pub fn probe(self, mpi: &Usable) -> Result<Option<(Self, usize)>, Error> {
        let Self { communicator, rank, tag } = self;
        let (mut found, mut status) = (0, no_status());
        called(mpi, "MPI_Iprobe", communicator, || {
            // SAFETY: there is room for a flag and a status.
            unsafe { mpi.MPI_Iprobe(rank, tag, communicator, &raw mut found, &raw mut status) }
        })?;
        Ok((found != 0).then(|| (self.of_message(&status), size_of(mpi, &status))))
    }

    /// Receives a message from this address at `place`, and waits for it (`MPI_Recv`).
    ///
    /// # Safety
    /// 1. `count` elements of the datatype may be written at `place`.
    #[inline]
    pub unsafe fn receive_at(
        self,
        mpi: &Usable,
        place: *mut c_void,
        count: Count,
        datatype: MPI_Datatype,
    ) -> Outcome {
        let Self { communicator, rank, tag } = self;
        let mut status = no_status();
        let code = returning_errors(mpi, communicator, || {
            // SAFETY: 1; there is room for a status.
            true_code(unsafe {
                mpi.MPI_Recv(place, count, datatype, rank, tag, communicator, &raw mut status)
            })
        });
        if code == SUCCESS { Ok(status) } else { Err(code) }
    }

    /// Returns the sender of a message with this status, which was received from this address.
    pub fn of_message(self, status: &MPI_Status) -> Self {
        Self { rank: status.MPI_SOURCE, tag: status.MPI_TAG, ..self }
    }
}

/// A message to be sent, as arguments of an MPI call, with the buffer that holds it.
pub(crate) struct Outgoing {
    place: *const c_void,
    bytes: Bytes,
    buffer: Option<PackBuffer>,
}

impl Outgoing {
    /// Returns a message that lies in memory.
    ///
    /// # Safety
    /// 1. The memory stays valid for reads until the message has been sent.
    #[inline]
    pub unsafe fn of_span(Span { place, size }: Span) -> Result<Self, Error> {
        Ok(Self { place: place.cast(), bytes: Bytes::of(size)?, buffer: None })
    }

    /// Returns a message of a datatype.
    ///
    /// # Safety
    /// 1. The memory of the datatype stays valid for reads until the message has been sent.
    pub unsafe fn of_typed(Typed { place, count, datatype }: Typed) -> Self {
        let bytes = Bytes { count, datatype: datatype.as_raw(), owner: Some(datatype) };
        Self { place, bytes, buffer: None }
    }

    /// Returns a message of the first `size` bytes of a buffer.
    #[inline]
    pub fn of_buffer(buffer: PackBuffer, size: usize) -> Result<Self, Error> {
        let place = buffer[..size].as_ptr().cast();
        Ok(Self { place, bytes: Bytes::of(size)?, buffer: Some(buffer) })
    }

    /// Returns a message that consists of several parts of memory, in their order.
    ///
    /// # Safety
    /// 1. As for `of_span`, for all parts.
    pub unsafe fn of_parts(parts: &[&[u8]]) -> Result<Self, Error> {
        let place = parts.first().map_or(ptr::null(), |first| first.as_ptr());
        let from_first = |part: &&[u8]| part.as_ptr().addr().wrapping_sub(place.addr()) as i64;
        let displacements: Vec<_> = parts.iter().map(from_first).collect();
        let sizes: Vec<_> = parts.iter().map(|part| part.len() as u64).collect();
        let tree = TypeTree::index_bucket(1, sizes, displacements, TypeTree::Leaf(BaseType::Byte));
        let entry = Entry::Shared(cached(Wanted::new(tree, None)));
        Ok(Self { place: place.cast(), bytes: Bytes::of_entry(entry)?, buffer: None })
    }

    /// Sends the message, and waits until it has been sent. Rank, tag, datatype and count are right, so the
    /// handler of the communicator stays: it gets no error but that of a process or a network that fails.
    #[inline]
    pub fn send(self, mpi: &Usable, Address { communicator, rank, tag }: Address) -> Result<(), Error> {
        let Bytes { count, datatype, .. } = self.bytes;
        // SAFETY: by the conditions of the constructors, the memory is valid for reads, and the datatype
        // describes it.
        match unsafe { mpi.MPI_Send(self.place, count, datatype, rank, tag, communicator) } {
            SUCCESS => Ok(()),
            code => Ok(checked(mpi, "MPI_Send", code)?),
        }
    }

    /// Starts to send the message.
    pub fn start(self, mpi: &Usable, to: Address) -> Result<Request, Error> {
        self.start_by(mpi, "MPI_Isend", ffi::MPI_Isend, to)
    }

    /// Starts to send the message in synchronous mode: it has been sent only when the receiver has begun to
    /// receive it.
    pub fn start_synchronous(self, mpi: &Usable, to: Address) -> Result<Request, Error> {
        self.start_by(mpi, "MPI_Issend", ffi::MPI_Issend, to)
    }

    fn start_by(
        self,
        mpi: &Usable,
        name: &'static str,
        call: StartSend,
        to: Address,
    ) -> Result<Request, Error> {
        let mut request = Request::new(false);
        let (raw, Bytes { count, datatype, .. }) = (&raw mut request.raw, self.bytes);
        called(mpi, name, to.communicator, || {
            // SAFETY: by the conditions of the constructors, the memory stays valid for reads until the
            // message has been sent. The request keeps the buffer, and dropping it completes the request. MPI
            // keeps a datatype that is in use.
            unsafe { call(self.place, count, datatype, to.rank, to.tag, to.communicator, raw) }
        })?;
        request.buffer = self.buffer;
        Ok(request)
    }
}

/// The signature of `MPI_Isend`, `MPI_Send_init` and their synchronous modes.
pub(super) type StartSend =
    unsafe extern "C" fn(*const c_void, Count, MPI_Datatype, Rank, Tag, MPI_Comm, *mut MPI_Request) -> c_int;

/// The result of a completed transfer: its status, or an error code.
pub(crate) type Outcome = Result<MPI_Status, c_int>;

/// A buffer into which MPI may receive a message of up to the requested size. MPI notices if the message is
/// longer, and writes nothing past the buffer.
pub(crate) struct Room {
    pub buffer: PackBuffer,
    pub bytes: Bytes,
}

impl Room {
    #[inline]
    pub fn of(size: usize) -> Result<Self, Error> {
        if running().writes_past_buffer {
            // Sizes are rounded up to powers of two, so that few datatypes are built. No memory has more than
            // 2⁶² bytes.
            let n = size.clamp(64, 1 << 62).next_power_of_two().ilog2();
            return Ok(Self { bytes: Bytes::with_gap(n)?, buffer: PackBuffer::with_room((1 << n) + 2)? });
        }
        let size = size.saturating_add(1);
        Ok(Self { bytes: Bytes::of(size)?, buffer: PackBuffer::with_room(size)? })
    }

    /// Returns room for a message of this crate, whose sender has told the size: there is no longer one.
    pub fn exactly(size: usize) -> Result<Self, Error> {
        Ok(Self { bytes: Bytes::of(size)?, buffer: PackBuffer::with_room(size)? })
    }

    /// Receives a message, and waits for it.
    #[inline]
    pub fn receive(&mut self, mpi: &Usable, from: Address) -> Outcome {
        let Bytes { count, datatype, .. } = self.bytes;
        // SAFETY: 1, since the datatype covers no more than the buffer.
        unsafe { from.receive_at(mpi, self.buffer.as_mut_ptr().cast(), count, datatype) }
    }
}

/// A transfer that has been started, with the buffer that it uses, unless that is borrowed. Dropping the
/// request completes the transfer.
///
/// The program may free the communicator before the transfer is complete. MPI keeps what the transfer needs
/// of it (MPI 4.1 section 7.4.3), but its handle is no longer valid. Therefore no handle is kept here, and no
/// call is made that raises an error on the communicator, where errors may be fatal.
pub(crate) struct Request {
    raw: MPI_Request,
    is_receive: bool,
    /// `true` for a transfer between a file and the buffer.
    is_of_file: bool,
    /// The outcome, as soon as MPI has told it. MPI tells it once, but `is_done` and `wait` both need it.
    outcome: Option<Outcome>,
    buffer: Option<PackBuffer>,
    /// Makes the type neither `Send` nor `Sync`: if only one thread may call MPI, no other thread may
    /// complete the request.
    thread: PhantomData<*mut ()>,
}

impl Request {
    fn new(is_receive: bool) -> Self {
        let raw = no_request();
        Self { raw, is_receive, is_of_file: false, outcome: None, buffer: None, thread: PhantomData }
    }

    /// Starts to receive into a buffer.
    pub fn receive(mpi: &Usable, room: Room, from: Address) -> Result<Self, Error> {
        let (Room { mut buffer, bytes }, Address { communicator, rank, tag }) = (room, from);
        let mut request = Self::new(true);
        let (raw, place) = (&raw mut request.raw, buffer.as_mut_ptr().cast());
        called(mpi, "MPI_Irecv", communicator, || {
            // SAFETY: the datatype covers no more than the buffer. The buffer stays until the request is
            // completed; dropping the request completes it.
            unsafe { mpi.MPI_Irecv(place, bytes.count, bytes.datatype, rank, tag, communicator, raw) }
        })?;
        request.buffer = Some(buffer);
        Ok(request)
    }

    /// Starts to receive into the memory of a datatype.
    ///
    /// # Safety
    /// 1. The memory stays valid for writes until the request is dropped, and nobody else uses it.
    /// 2. MPI writes no more of a message into the datatype than fits.
    pub unsafe fn receive_typed(mpi: &Usable, typed: &Typed, from: Address) -> Result<Self, Error> {
        let (Typed { place, count, datatype }, Address { communicator, rank, tag }) = (typed, from);
        let mut request = Self::new(true);
        let (raw, datatype) = (&raw mut request.raw, datatype.as_raw());
        called(mpi, "MPI_Irecv", communicator, || {
            // SAFETY: 1 and 2. Dropping the request completes it. MPI keeps a datatype that is in use.
            unsafe { mpi.MPI_Irecv(*place, *count, datatype, rank, tag, communicator, raw) }
        })?;
        Ok(request)
    }

    /// Starts a transfer between a file and a buffer, which `call` gets.
    pub fn of_file(
        mut buffer: PackBuffer,
        call: impl FnOnce(*mut u8, *mut MPI_Request) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let mut request = Self::new(false);
        request.is_of_file = true;
        call(buffer.as_mut_ptr(), &raw mut request.raw)?;
        request.buffer = Some(buffer);
        Ok(request)
    }

    /// Enters a nonblocking barrier (`MPI_Ibarrier`).
    pub fn barrier(mpi: &Usable, communicator: MPI_Comm) -> Result<Self, Error> {
        let mut request = Self::new(false);
        let raw = &raw mut request.raw;
        called(mpi, "MPI_Ibarrier", communicator, || {
            // SAFETY: the communicator is live; there is room for a request.
            unsafe { mpi.MPI_Ibarrier(communicator, raw) }
        })?;
        Ok(request)
    }

    fn is_complete(&self) -> bool {
        self.raw == no_request()
    }

    /// Returns the outcome of the transfer if it is complete; if `wait` is set, waits until it is. Later
    /// calls return the same outcome.
    pub fn advance(&mut self, mpi: &Usable, wait: bool) -> Option<Outcome> {
        if self.outcome.is_none() && self.is_complete() {
            return Some(Ok(no_status()));
        }
        if self.outcome.is_none() {
            self.outcome = without_communicator(mpi, || self.complete(mpi, wait));
        }
        self.outcome
    }

    /// Returns `true` if the transfer is complete. MPI must be usable, but may be in `MPI_Finalize`.
    pub fn is_over(&mut self, mpi: &Usable) -> bool {
        self.advance(mpi, false).is_some()
    }

    /// Frees an active request if its transfer is complete, and returns the outcome; if `wait` is set, waits
    /// until it is.
    ///
    /// In Open MPI, `MPI_Wait` and `MPI_Test` would call the error handler of the request's communicator.
    /// `MPI_Request_get_status` does not: the error is in the status, or returned. A request whose transfer
    /// is complete may then be freed (MPI 4.1 section 3.7.6).
    fn complete(&mut self, mpi: &Usable, wait: bool) -> Option<Outcome> {
        if self.is_of_file {
            return self.complete_of_file(mpi, wait);
        }
        let mut patience = Patience::new();
        let outcome = loop {
            let (mut done, mut status) = (0, no_status());
            // SAFETY: the request is active; there is room for a flag and a status.
            let code =
                true_code(unsafe { mpi.MPI_Request_get_status(self.raw, &raw mut done, &raw mut status) });
            match if code == SUCCESS { status.MPI_ERROR } else { code } {
                code if code != SUCCESS && done == 0 => return Some(Err(code)),
                SUCCESS if done == 0 && !wait => return None,
                SUCCESS if done == 0 => {
                    patience.turn();
                }
                SUCCESS => break Ok(status),
                code => break Err(code),
            }
        };
        // SAFETY: the request is active, and its transfer is complete.
        unsafe { mpi.MPI_Request_free(&raw mut self.raw) };
        Some(outcome)
    }

    /// Like [`complete`](Self::complete), for a request of a file. Its errors go to no communicator of the
    /// program. MPICH makes no progress on it in `MPI_Request_get_status`.
    fn complete_of_file(&mut self, mpi: &Usable, wait: bool) -> Option<Outcome> {
        let (mut done, mut status) = (0, no_status());
        // SAFETY: the request is active; there is room for a flag and a status.
        let code = true_code(unsafe {
            if wait {
                done = 1;
                mpi.MPI_Wait(&raw mut self.raw, &raw mut status)
            } else {
                mpi.MPI_Test(&raw mut self.raw, &raw mut done, &raw mut status)
            }
        });
        match code {
            SUCCESS if done == 0 => None,
            SUCCESS => Some(Ok(status)),
            code => Some(Err(code)),
        }
    }

    /// Returns `true` if the message has been sent; if `wait` is set, waits until it has been.
    pub fn is_sent(&mut self, mpi: &Usable, wait: bool) -> Result<bool, Error> {
        match self.advance(mpi, wait) {
            None => Ok(false),
            Some(Ok(_)) => Ok(true),
            Some(Err(code)) => Ok(checked(mpi, "MPI_Wait", code).map(|()| true)?),
        }
    }

    /// Returns the buffer of a receive.
    pub fn buffer(&self) -> &[u8] {
        self.buffer.as_deref().unwrap_or_default()
    }

    /// Completes the transfer, because MPI must be done with the memory before it is used again. Returns
    /// `false` if that is not possible, and MPI may still use the memory.
    pub fn end(&mut self) -> bool {
        if self.is_complete() {
            return true;
        }
        // If MPI has ended, it may still write into the buffer.
        let Ok(mpi) = &ready() else { return false };
        without_communicator(mpi, || {
            if self.is_receive {
                // SAFETY: the request is active. It is cancelled, because its message may never have been
                // sent.
                unsafe { mpi.MPI_Cancel(&raw mut self.raw) };
            } else if self.complete(mpi, false).is_some() {
                return;
            } else if !self.is_of_file {
                before_waiting();
            }
            self.complete(mpi, true);
        });
        self.is_complete()
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if self.end() {
            return;
        }
        match self.buffer.take() {
            Some(buffer) => mem::forget(buffer),
            // MPI may still write into memory that the program is about to use again.
            None if self.is_receive => process::abort(),
            None => {}
        }
    }
}

/// Returns `MPI_REQUEST_NULL`.
pub(super) fn no_request() -> MPI_Request {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_REQUEST_NULL }
}

/// Returns a status of zeros. A status is read even if the library has not written it.
pub(crate) fn no_status() -> MPI_Status {
    // SAFETY: a status is a C struct of integers, for which zeros are valid.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Returns the size of a message in bytes.
pub(crate) fn size_of(mpi: &Usable, status: &MPI_Status) -> usize {
    let mut count = 0;
    // SAFETY: the status is that of a message. The bytes of a large message are counted by another call.
    unsafe {
        mpi.MPI_Get_count(status, packed_datatype(), &raw mut count);
        if let Ok(count) = usize::try_from(count) {
            return count;
        }
        let mut large = 0;
        mpi.MPI_Get_elements_x(status, packed_datatype(), &raw mut large);
        usize::try_from(large).unwrap_or(usize::MAX)
    }
}

/// A message that has been matched but not received (MPI 4.1 section 3.8.2). It must be received.
#[must_use]
pub(crate) struct Matched {
    message: MPI_Message,
    sender: Address,
    /// The size in bytes.
    pub size: usize,
}

impl Matched {
    /// Waits for a message (`MPI_Mprobe`).
    #[inline]
    pub fn wait_for(mpi: &Usable, from: Address) -> Result<Self, Error> {
        let Address { communicator, rank, tag } = from;
        let (mut message, mut status) = (no_message(), no_status());
        called(mpi, "MPI_Mprobe", communicator, || {
            // SAFETY: there is room for both results.
            unsafe { mpi.MPI_Mprobe(rank, tag, communicator, &raw mut message, &raw mut status) }
        })?;
        Self::new(mpi, message, &status, from)
    }

    /// Looks for a message without waiting (`MPI_Improbe`).
    pub fn look_for(mpi: &Usable, from: Address) -> Result<Option<Self>, Error> {
        let Address { communicator, rank, tag } = from;
        let mut message = no_message();
        let mut status = no_status();
        let mut found = 0;
        called(mpi, "MPI_Improbe", communicator, || {
            let (message, status) = (&raw mut message, &raw mut status);
            // SAFETY: there is room for all results.
            unsafe { mpi.MPI_Improbe(rank, tag, communicator, &raw mut found, message, status) }
        })?;
        if found == 0 { Ok(None) } else { Self::new(mpi, message, &status, from).map(Some) }
    }

    fn new(mpi: &Usable, message: MPI_Message, status: &MPI_Status, from: Address) -> Result<Self, Error> {
        if message == no_message() {
            // In MPICH 5, the call succeeds if an error handler of the program has returned.
            return Err(hidden());
        }
        Ok(Self { message, sender: from.of_message(status), size: size_of(mpi, status) })
    }

    /// Returns the sender of the message.
    pub fn sender(&self) -> Address {
        self.sender
    }

    /// Receives the message at `place`.
    ///
    /// # Safety
    /// 1. `count` elements of the datatype may be written at `place`.
    /// 2. They have at least as many bytes as the message.
    pub unsafe fn receive_at(
        mut self,
        mpi: &Usable,
        place: *mut c_void,
        count: Count,
        datatype: MPI_Datatype,
    ) -> Result<(), Error> {
        let mut status = no_status();
        called(mpi, "MPI_Mrecv", self.sender.communicator, || {
            // SAFETY: by 1 and 2, MPI writes only where it may; there is room for a status.
            unsafe { mpi.MPI_Mrecv(place, count, datatype, &raw mut self.message, &raw mut status) }
        })?;
        if size_of(mpi, &status) == self.size { Ok(()) } else { Err(hidden()) }
    }

    /// Receives the message into memory of at least as many bytes.
    pub fn receive_into(self, mpi: &Usable, memory: &mut [u8]) -> Result<(), Error> {
        let bytes = Bytes::of(self.size)?;
        let place = memory[..self.size].as_mut_ptr().cast();
        // SAFETY: 1 and 2, by the slice, which has as many bytes as the message.
        unsafe { self.receive_at(mpi, place, bytes.count, bytes.datatype) }
    }

    /// Receives the message into the first bytes of a new buffer.
    pub fn receive(self, mpi: &Usable) -> Result<PackBuffer, Error> {
        let mut buffer = PackBuffer::with_room(self.size)?;
        self.receive_into(mpi, &mut buffer)?;
        Ok(buffer)
    }
}

/// Returns `MPI_MESSAGE_NULL`.
fn no_message() -> MPI_Message {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_MESSAGE_NULL }
}

/// Returns the error of a receive that MPI reported only to the program's own error handler.
#[cold]
fn hidden() -> Error {
    let text = "the communicator's own error handler received the reason".to_owned();
    dtype_mpi::Error::Mpi { call: "receiving a message", code: SUCCESS, text }.into()
}
