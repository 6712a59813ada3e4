//! MPI's part in a transfer: what it is handed, requests that have been started, messages that have been
//! found.

use std::{
    marker::PhantomData,
    mem::{self, MaybeUninit},
    os::raw::{c_int, c_void},
    sync::OnceLock,
    thread,
};

use ::mpi::{
    Count, Rank, Tag,
    ffi::{self, MPI_Comm, MPI_Datatype, MPI_Message, MPI_Request, MPI_Status},
    point_to_point::{Destination, Source},
    raw::AsRaw,
    topology::Communicator,
};
use dtype_core::{BaseType, Bounds, TypeTree};

use super::message::{Span, Typed};
use crate::{
    Error,
    layout::{LayoutDatatype, entry::Entry},
    mpi::{
        SUCCESS, called, checked, greatest_tag, packed_datatype, ready, ready_on, returning_errors,
        true_code, without_communicator, writes_too_much,
    },
    pack::PackBuffer,
    types::{cache::cached, entry::Wanted},
};

/// The other side of a message.
#[derive(Clone, Copy)]
pub(super) struct Peer {
    pub communicator: MPI_Comm,
    pub rank: Rank,
    pub tag: Tag,
}

impl Peer {
    /// Where a message goes.
    #[inline]
    pub fn destination<D: Destination + ?Sized>(to: &D, tag: Tag) -> Result<Self, Error> {
        Self::checked(to.as_communicator(), to.destination_rank(), tag)
    }

    /// Where a message comes from: any rank or tag may be meant.
    #[inline]
    pub fn source<S: Source + ?Sized>(from: &S, tag: Tag) -> Result<Self, Error> {
        let (communicator, rank) = (from.as_communicator(), from.source_rank());
        let known = Self::checked(
            communicator,
            if rank == any_rank() { 0 } else { rank },
            if tag == any_tag() { 0 } else { tag },
        )?;
        Ok(Self { rank, tag, ..known })
    }

    /// Libraries may be built without checks of their own.
    #[inline]
    fn checked<C: Communicator + ?Sized>(communicator: &C, rank: Rank, tag: Tag) -> Result<Self, Error> {
        let raw = ready_on(communicator)?;
        let (ranks, greatest) = (communicator.target_size(), greatest_tag(raw));
        if !(0..ranks).contains(&rank) && rank != no_rank() {
            return Err(Error::Rank { rank, ranks });
        }
        if !(0..=greatest).contains(&tag) {
            return Err(Error::Tag { tag, greatest });
        }
        Ok(Self { communicator: raw, rank, tag })
    }

    /// Whether there is nobody (`MPI_PROC_NULL`, MPI 4.1 section 3.10).
    #[inline]
    pub fn is_nobody(self) -> bool {
        self.rank == no_rank()
    }
}

/// `MPI_PROC_NULL`.
#[inline]
fn no_rank() -> Rank {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_PROC_NULL }
}

/// `MPI_ANY_SOURCE`.
#[inline]
pub(super) fn any_rank() -> Rank {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_ANY_SOURCE }
}

/// `MPI_ANY_TAG`.
#[inline]
pub(super) fn any_tag() -> Tag {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_ANY_TAG }
}

/// Bytes as MPI takes them: `count` of a datatype.
pub(super) struct Bytes {
    pub count: Count,
    pub datatype: MPI_Datatype,
    /// Keeps the datatype.
    _layout: Option<LayoutDatatype>,
}

impl Bytes {
    /// As `MPI_PACKED`, which matches whatever is sent or received (MPI 4.1 section 5.2); beyond its counts,
    /// as one of a datatype of that size.
    #[inline]
    pub fn of(size: usize) -> Result<Self, Error> {
        match Count::try_from(size) {
            Ok(count) => Ok(Self { count, datatype: packed_datatype(), _layout: None }),
            Err(_) => Self::one_of(size),
        }
    }

    /// One of a datatype of `bytes` bytes.
    pub fn one_of(size: usize) -> Result<Self, Error> {
        if size == 1 {
            return Ok(Self { count: 1, datatype: packed_datatype(), _layout: None });
        }
        Self::of_entry(entry(bytes_in_a_row(size), size as i64))
    }

    /// 2ⁿ bytes, and one more after a gap of one byte: Open MPI writes no more of a message into such a
    /// datatype than fits.
    fn with_gap(n: u32) -> Result<Self, Error> {
        static ENTRIES: [OnceLock<Entry>; isize::BITS as usize] = [const { OnceLock::new() }; _];
        let entry = ENTRIES[n as usize].get_or_init(|| {
            let (size, byte) = (1i64 << n, TypeTree::Leaf(BaseType::Byte));
            entry(TypeTree::structure([0, size + 1], [bytes_in_a_row(1 << n), byte]), size + 2)
        });
        Self::of_entry(entry.clone())
    }

    fn of_entry(entry: Entry) -> Result<Self, Error> {
        let layout = entry.datatype()?;
        Ok(Self { count: 1, datatype: layout.as_raw(), _layout: Some(layout) })
    }
}

fn entry(tree: TypeTree, extent: i64) -> Entry {
    Entry::Shared(cached(Wanted::new(tree, Some(Bounds::of_extent(extent)))))
}

fn bytes_in_a_row(size: usize) -> TypeTree {
    TypeTree::vector(size as u64, 1, TypeTree::Leaf(BaseType::Byte))
}

/// What MPI is handed to be sent, and what keeps it alive.
pub(super) struct Outgoing {
    place: *const c_void,
    bytes: Bytes,
    buffer: Option<PackBuffer>,
}

impl Outgoing {
    /// What lies in memory.
    ///
    /// # Safety
    /// 1. It stays there, to be read, until the message has been sent.
    #[inline]
    pub unsafe fn of_span(Span { place, size }: Span) -> Result<Self, Error> {
        Ok(Self { place: place.cast(), bytes: Bytes::of(size)?, buffer: None })
    }

    /// A message of a datatype.
    ///
    /// # Safety
    /// 1. As of `of_span`.
    pub unsafe fn of_typed(Typed { place, count, datatype }: Typed) -> Self {
        let bytes = Bytes { count, datatype: datatype.as_raw(), _layout: Some(datatype) };
        Self { place, bytes, buffer: None }
    }

    /// The first bytes of a buffer.
    #[inline]
    pub fn of_buffer(buffer: PackBuffer, size: usize) -> Result<Self, Error> {
        let place = buffer[..size].as_ptr().cast();
        Ok(Self { place, bytes: Bytes::of(size)?, buffer: Some(buffer) })
    }

    /// Sends it, and waits until that is done.
    #[inline]
    pub fn send(self, Peer { communicator, rank, tag }: Peer) -> Result<(), Error> {
        let Bytes { count, datatype, .. } = self.bytes;
        called("MPI_Send", communicator, || {
            // SAFETY: the memory is there by the conditions of the constructors, and the datatype describes
            // it.
            unsafe { ffi::MPI_Send(self.place, count, datatype, rank, tag, communicator) }
        })
    }

    /// Begins to send it.
    pub fn start(self, to: Peer) -> Result<Request, Error> {
        self.start_by("MPI_Isend", ffi::MPI_Isend, to)
    }

    /// Begins to send it in synchronous mode: it has been sent when the receiver has it.
    pub fn start_synchronous(self, to: Peer) -> Result<Request, Error> {
        self.start_by("MPI_Issend", ffi::MPI_Issend, to)
    }

    fn start_by(self, name: &'static str, call: ImmediateSend, to: Peer) -> Result<Request, Error> {
        let mut request = Request::new(false);
        let (raw, Bytes { count, datatype, .. }) = (&raw mut request.raw, self.bytes);
        called(name, to.communicator, || {
            // SAFETY: as for `send`; the request keeps the buffer, and is completed when it is dropped. MPI
            // keeps a datatype in use.
            unsafe { call(self.place, count, datatype, to.rank, to.tag, to.communicator, raw) }
        })?;
        request.buffer = self.buffer;
        Ok(request)
    }
}

/// `MPI_Isend` and its kin.
type ImmediateSend =
    unsafe extern "C" fn(*const c_void, Count, MPI_Datatype, Rank, Tag, MPI_Comm, *mut MPI_Request) -> c_int;

/// What MPI says of a transfer that is over: its status, or an error code.
pub(super) type Outcome = Result<MPI_Status, c_int>;

/// A buffer into which MPI may receive a message of up to `room` bytes; it notices if there are more, and
/// writes nothing behind it.
pub(super) struct Room {
    buffer: PackBuffer,
    bytes: Bytes,
}

impl Room {
    #[inline]
    pub fn of(size: usize) -> Result<Self, Error> {
        if writes_too_much() {
            // Few sizes, so that few datatypes are made. No memory has more than 2⁶² bytes.
            let n = size.clamp(64, 1 << 62).next_power_of_two().ilog2();
            return Ok(Self { bytes: Bytes::with_gap(n)?, buffer: PackBuffer::with_room((1 << n) + 2)? });
        }
        let size = size.saturating_add(1);
        Ok(Self { bytes: Bytes::of(size)?, buffer: PackBuffer::with_room(size)? })
    }

    /// Receives a message, waiting for it.
    #[inline]
    pub fn receive(&mut self, from: Peer) -> Outcome {
        let Peer { communicator, rank, tag } = from;
        let (mut status, place) = (no_status(), self.buffer.as_mut_ptr().cast());
        let Bytes { count, datatype, .. } = self.bytes;
        let code = returning_errors(communicator, || {
            // SAFETY: the datatype covers no more than the buffer; there is room for a status.
            true_code(unsafe {
                ffi::MPI_Recv(place, count, datatype, rank, tag, communicator, &raw mut status)
            })
        });
        if code == SUCCESS { Ok(status) } else { Err(code) }
    }

    pub fn buffer(&self) -> &[u8] {
        &self.buffer
    }
}

/// A transfer that has been started, with the buffer that it uses, unless that is borrowed. Dropping it
/// completes it.
///
/// The program may free the communicator before that: MPI keeps what the transfer needs of it (MPI 4.1
/// section 7.4.3), but its handle is no longer valid. Hence no handle is kept here, and no call is made that
/// raises an error on the communicator, where errors may be fatal.
pub(super) struct Request {
    raw: MPI_Request,
    is_receive: bool,
    buffer: Option<PackBuffer>,
    /// In no library may another thread complete it, if MPI may be called from one only.
    thread: PhantomData<*mut ()>,
}

impl Request {
    fn new(is_receive: bool) -> Self {
        // SAFETY: a constant of the library.
        let raw = unsafe { ffi::RSMPI_REQUEST_NULL };
        Self { raw, is_receive, buffer: None, thread: PhantomData }
    }

    /// Begins to receive into a buffer.
    pub fn receive(room: Room, from: Peer) -> Result<Self, Error> {
        let (Room { mut buffer, bytes }, Peer { communicator, rank, tag }) = (room, from);
        let mut request = Self::new(true);
        let (raw, place) = (&raw mut request.raw, buffer.as_mut_ptr().cast());
        called("MPI_Irecv", communicator, || {
            // SAFETY: the datatype covers no more than the buffer, which stays until the request is
            // completed, as dropping does.
            unsafe { ffi::MPI_Irecv(place, bytes.count, bytes.datatype, rank, tag, communicator, raw) }
        })?;
        request.buffer = Some(buffer);
        Ok(request)
    }

    /// Enters a barrier that does not wait (`MPI_Ibarrier`).
    pub fn barrier(communicator: MPI_Comm) -> Result<Self, Error> {
        let mut request = Self::new(false);
        let raw = &raw mut request.raw;
        called("MPI_Ibarrier", communicator, || {
            // SAFETY: the communicator is live; there is room for a request.
            unsafe { ffi::MPI_Ibarrier(communicator, raw) }
        })?;
        Ok(request)
    }

    fn is_complete(&self) -> bool {
        // SAFETY: a constant of the library.
        self.raw == unsafe { ffi::RSMPI_REQUEST_NULL }
    }

    /// Returns what MPI says of the transfer if it is over; if `wait` is set, after it is.
    pub fn advance(&mut self, wait: bool) -> Result<Option<Outcome>, Error> {
        ready()?;
        if self.is_complete() {
            return Ok(Some(Ok(no_status())));
        }
        Ok(without_communicator(|| self.complete(wait)))
    }

    /// Returns `true` if the transfer is over, in `MPI_Finalize` as well; MPI must be usable.
    pub fn is_over(&mut self) -> bool {
        self.is_complete() || without_communicator(|| self.complete(false)).is_some()
    }

    /// Completes an active request if its transfer is over; if `wait` is set, after it is.
    ///
    /// `MPI_Wait` and `MPI_Test` would call the error handler of the request's communicator in Open MPI.
    /// `MPI_Request_get_status` does not: the error is in the status, or returned. A request that is over may
    /// be freed then (MPI 4.1 section 3.7.6).
    fn complete(&mut self, wait: bool) -> Option<Outcome> {
        let outcome = loop {
            let (mut done, mut status) = (0, no_status());
            // SAFETY: the request is active; there is room for a flag and a status.
            let code =
                true_code(unsafe { ffi::MPI_Request_get_status(self.raw, &raw mut done, &raw mut status) });
            match if code == SUCCESS { status.MPI_ERROR } else { code } {
                code if code != SUCCESS && done == 0 => return Some(Err(code)),
                SUCCESS if done == 0 && !wait => return None,
                SUCCESS if done == 0 => thread::yield_now(),
                SUCCESS => break Ok(status),
                code => break Err(code),
            }
        };
        // SAFETY: the request is active, and its transfer over.
        unsafe { ffi::MPI_Request_free(&raw mut self.raw) };
        Some(outcome)
    }

    /// The same for a message that is sent.
    pub fn is_sent(&mut self, wait: bool) -> Result<bool, Error> {
        match self.advance(wait)? {
            None => Ok(false),
            Some(Ok(_)) => Ok(true),
            Some(Err(code)) => checked("MPI_Wait", code).map(|()| true),
        }
    }

    /// What has been received into.
    pub fn buffer(&self) -> &[u8] {
        self.buffer.as_deref().unwrap_or_default()
    }
}

impl Drop for Request {
    /// MPI must be done with the memory before it is used again.
    fn drop(&mut self) {
        if self.is_complete() {
            return;
        }
        if ready().is_err() {
            // MPI has ended, and nobody can say whether it still writes: the buffer is given up.
            mem::forget(self.buffer.take());
            return;
        }
        without_communicator(|| {
            if self.is_receive {
                // SAFETY: the request is active. What is received may never have been sent.
                unsafe { ffi::MPI_Cancel(&raw mut self.raw) };
            }
            self.complete(true);
        });
        if !self.is_complete() {
            // Nobody can say whether MPI still writes.
            mem::forget(self.buffer.take());
        }
    }
}

/// A status that says nothing: it is looked at also where a library has not written it.
pub(super) fn no_status() -> MPI_Status {
    // SAFETY: a C struct of integers, all zeros.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// The bytes of a message.
pub(super) fn size_of(status: &MPI_Status) -> usize {
    let mut count = 0;
    // SAFETY: the status is of a message; in a large one bytes are counted otherwise.
    unsafe {
        ffi::MPI_Get_count(status, packed_datatype(), &raw mut count);
        if let Ok(count) = usize::try_from(count) {
            return count;
        }
        let mut large = 0;
        ffi::MPI_Get_elements_x(status, packed_datatype(), &raw mut large);
        usize::try_from(large).unwrap_or(usize::MAX)
    }
}

/// A message that has been found and not been received yet (MPI 4.1 section 3.8.2). It must be received.
#[must_use]
pub(super) struct Matched {
    message: MPI_Message,
    communicator: MPI_Comm,
    pub status: MPI_Status,
    /// Bytes.
    pub size: usize,
}

impl Matched {
    /// Waits for one.
    #[inline]
    pub fn wait_for(from: Peer) -> Result<Self, Error> {
        let Peer { communicator, rank, tag } = from;
        let (mut message, mut status) = (no_message(), no_status());
        called("MPI_Mprobe", communicator, || {
            // SAFETY: there is room for both results.
            unsafe { ffi::MPI_Mprobe(rank, tag, communicator, &raw mut message, &raw mut status) }
        })?;
        Self::new(message, status, communicator)
    }

    /// Looks for one.
    pub fn look_for(from: Peer) -> Result<Option<Self>, Error> {
        let Peer { communicator, rank, tag } = from;
        let (mut message, mut status, mut found) = (no_message(), no_status(), 0);
        called("MPI_Improbe", communicator, || {
            let (message, status) = (&raw mut message, &raw mut status);
            // SAFETY: there is room for all results.
            unsafe { ffi::MPI_Improbe(rank, tag, communicator, &raw mut found, message, status) }
        })?;
        if found == 0 { Ok(None) } else { Self::new(message, status, communicator).map(Some) }
    }

    fn new(message: MPI_Message, status: MPI_Status, communicator: MPI_Comm) -> Result<Self, Error> {
        if message == no_message() {
            // A handler of the program's that returns hides errors in MPICH 5.
            return Err(hidden());
        }
        Ok(Self { message, communicator, status, size: size_of(&status) })
    }

    /// Who has sent it.
    pub fn sender(&self) -> Peer {
        let MPI_Status { MPI_SOURCE: rank, MPI_TAG: tag, .. } = self.status;
        Peer { communicator: self.communicator, rank, tag }
    }

    /// Receives it.
    ///
    /// # Safety
    /// 1. `count` of the datatype may be written there. 2. They have at least as many bytes as the message.
    pub unsafe fn receive_at(
        mut self,
        place: *mut c_void,
        count: Count,
        datatype: MPI_Datatype,
    ) -> Result<(), Error> {
        let mut status = no_status();
        called("MPI_Mrecv", self.communicator, || {
            // SAFETY: 1 and 2, so MPI writes within what may be written; there is room for a status.
            unsafe { ffi::MPI_Mrecv(place, count, datatype, &raw mut self.message, &raw mut status) }
        })?;
        if size_of(&status) == self.size { Ok(()) } else { Err(hidden()) }
    }

    /// Receives it into memory of at least as many bytes.
    pub fn receive_into(self, memory: &mut [u8]) -> Result<(), Error> {
        let bytes = Bytes::of(self.size)?;
        let place = memory[..self.size].as_mut_ptr().cast();
        // SAFETY: 1 and 2 by the slice, which has as many bytes as the message.
        unsafe { self.receive_at(place, bytes.count, bytes.datatype) }
    }

    /// Receives it into a buffer, of which the first bytes are then the message's.
    pub fn receive(self) -> Result<PackBuffer, Error> {
        let mut buffer = PackBuffer::with_room(self.size)?;
        self.receive_into(&mut buffer)?;
        Ok(buffer)
    }
}

/// `MPI_MESSAGE_NULL`.
fn no_message() -> MPI_Message {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_MESSAGE_NULL }
}

/// An error that MPI has told a handler of the program's, which has told nobody.
#[cold]
fn hidden() -> Error {
    let text = "the communicator's own error handler was told why".to_owned();
    Error::Mpi { call: "receiving a message", code: SUCCESS, text }
}
