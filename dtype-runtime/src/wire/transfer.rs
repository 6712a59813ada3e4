//! Messages from rank to rank.
//!
//! A message is one MPI message, as long as it is sent whole. Packed ones of more than [`WHOLE`] bytes go in segments: each begins with
//! a [`Header`], all are [`SEGMENT`] bytes long but the last one, and while one travels the next one is packed and the one before it
//! unpacked. The receiver can tell: a first segment has just that length and begins with a mark, and no message of that length is
//! sent whole, unless somebody wants it [typed](Wire::Typed). What is received is received as `MPI_PACKED`, which matches whatever was
//! sent (MPI 4.1 section 5.2).

use std::{
    mem::MaybeUninit,
    os::raw::{c_int, c_void},
    ptr,
    sync::atomic::{AtomicU32, Ordering},
};

use ::mpi::{
    Count, Rank, Tag,
    ffi::{self, MPI_Comm, MPI_Datatype, MPI_Message, MPI_Request, MPI_Status},
    point_to_point::Status,
    raw::AsRaw,
};
use dtype_core::{BaseType, Bounds, TypeTree};

use super::{
    Wire,
    auto::Table,
    message::{
        Span,
        sealed::{Read, Write},
    },
    pool::Buffer,
};
use crate::{
    Error,
    cache::cached,
    layout::Entry,
    mpi::{LayoutDatatype, called, checked, packed_datatype, returning_errors},
};

/// Bytes of a segment, its header included: few enough for the second-level cache, many enough for one more message not to matter.
pub(super) const SEGMENT: usize = 128 << 10;

/// The most packed bytes that are sent whole: below, more messages cost more than what overlaps.
const WHOLE: usize = 512 << 10;

/// Whether so many packed bytes go in segments. Those that would be as long as a segment do, so that none is taken for one.
fn goes_in_segments(size: usize) -> bool {
    size > WHOLE || size == SEGMENT
}

/// Segments on their way at a time.
const AHEAD: usize = 4;

/// What a segment begins with: a mark, the bytes of the whole message, how many of them a segment has, which message of the sender it
/// is, and which segment of that.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Header {
    total: u64,
    payload: u32,
    message: u32,
    index: u64,
}

const HEADER: usize = 32;
const MARK: [u8; 8] = *b"\xD7ype\x01seg";

impl Header {
    fn write(self, segment: &mut [u8]) {
        let numbers = u64::from(self.payload) | u64::from(self.message) << 32;
        let parts = [MARK, self.total.to_ne_bytes(), numbers.to_ne_bytes(), self.index.to_ne_bytes()];
        segment[..HEADER].copy_from_slice(parts.as_flattened());
    }

    /// The header of a segment, if it is one.
    fn read(segment: &[u8]) -> Option<Self> {
        let (parts, _) = segment.get(..HEADER)?.as_chunks::<8>();
        let number = |i: usize| u64::from_ne_bytes(parts[i]);
        let (payload, message) = (number(2) as u32, (number(2) >> 32) as u32);
        (parts[0] == MARK).then(|| Self { total: number(1), payload, message, index: number(3) })
    }

    /// The header of the first segment of a message.
    fn of_first(segment: &[u8]) -> Option<Self> {
        if segment.len() != SEGMENT {
            return None;
        }
        let header = Self::read(segment)?;
        let first = header.index == 0 && usize::try_from(header.total).is_ok_and(goes_in_segments);
        (first && (1..=(SEGMENT - HEADER) as u32).contains(&header.payload)).then_some(header)
    }
}

/// The other side of a message.
#[derive(Clone, Copy)]
pub(super) struct Peer {
    pub communicator: MPI_Comm,
    pub rank: Rank,
    pub tag: Tag,
}

/// Bytes as MPI takes them: as `MPI_PACKED`, or, beyond its counts, as one of a datatype of as many bytes.
pub(super) struct Contiguous {
    count: Count,
    pub(super) datatype: MPI_Datatype,
    _large: Option<LayoutDatatype>,
}

impl Contiguous {
    #[inline]
    fn of(size: usize) -> Result<Self, Error> {
        match Count::try_from(size) {
            Ok(count) => Ok(Self { count, datatype: packed_datatype(), _large: None }),
            Err(_) => Self::one_of(size),
        }
    }

    /// One of a datatype of so many bytes.
    pub(super) fn one_of(size: usize) -> Result<Self, Error> {
        if size == 1 {
            return Ok(Self { count: 1, datatype: packed_datatype(), _large: None });
        }
        let tree = TypeTree::vector(size as u64, 1, TypeTree::Leaf(BaseType::Byte));
        let large = Entry::Shared(cached(tree, Some(Bounds::of_extent(size as i64)))).datatype()?;
        Ok(Self { count: 1, datatype: large.as_raw(), _large: Some(large) })
    }
}

/// A buffer, or an error that says how large it should have been.
pub(super) fn buffer(bytes: usize) -> Result<Buffer, Error> {
    Buffer::with_room(bytes).ok_or(Error::Memory { bytes })
}

/// A message packed into a buffer.
fn pack<M: Read + ?Sized>(message: &M) -> Result<Buffer, Error> {
    pack_with_room(message, message.packed_size())
}

/// A message packed into a buffer with room for so many bytes at least.
pub(super) fn pack_with_room<M: Read + ?Sized>(message: &M, room: usize) -> Result<Buffer, Error> {
    let mut packed = buffer(room.max(message.packed_size()))?;
    // SAFETY: there is room.
    unsafe { message.pack(packed.place()) };
    Ok(packed)
}

// ---- Sending ----

/// Sends a message.
pub(super) fn send<M: Read + ?Sized>(message: &M, wire: Wire, to: Peer) -> Result<(), Error> {
    match chosen(message, wire)? {
        Chosen::Span(Span { place, size }) => send_bytes(place, size, to),
        Chosen::Typed => {
            let typed = message.typed()?;
            let call = || unsafe {
                // SAFETY: the datatype describes what the message borrows.
                ffi::MPI_Send(typed.place, typed.count, typed.datatype(), to.rank, to.tag, to.communicator)
            };
            called("MPI_Send", call)
        }
        Chosen::Packed => {
            let size = message.packed_size();
            if goes_in_segments(size) {
                return Sending::new(message, Wire::Packed, to, false)?.advance(true).map(|_| ());
            }
            send_bytes(pack(message)?.place(), size, to)
        }
    }
}

/// How a message is sent.
pub(super) enum Chosen {
    Span(Span),
    Typed,
    Packed,
}

/// What a wire means for a message.
#[inline]
pub(super) fn chosen<M: Read + ?Sized>(message: &M, wire: Wire) -> Result<Chosen, Error> {
    let chosen = match wire {
        Wire::Packed => Chosen::Packed,
        // Whoever asks for this may have it received by a plain MPI call.
        Wire::Typed => return Ok(Chosen::Typed),
        Wire::Bytes => Chosen::Span(message.lies().span().ok_or(NOT_AS_IT_LIES)?),
        Wire::Auto => Table::current().choose(message),
    };
    let size = match chosen {
        Chosen::Span(span) => span.size,
        Chosen::Typed | Chosen::Packed => message.packed_size(),
    };
    // Sent whole it might be taken for a segment.
    Ok(if size == SEGMENT { Chosen::Packed } else { chosen })
}

const NOT_AS_IT_LIES: Error = Error::Wire {
    wire: "bytes",
    reason: "it does not lie in memory as it could travel: there are gaps between its parts, fields that are skipped, more padding \
             than data, or values such as `bool` beside padding, which have to be checked; send it packed",
};

#[inline]
fn send_bytes(place: *mut u8, size: usize, to: Peer) -> Result<(), Error> {
    let bytes = Contiguous::of(size)?;
    // SAFETY: so many bytes are there until the call returns.
    let call = || unsafe {
        ffi::MPI_Send(place.cast(), bytes.count, bytes.datatype, to.rank, to.tag, to.communicator)
    };
    called("MPI_Send", call)
}

/// One transfer that has been started: a request, and the buffer that it uses, unless that is borrowed.
pub(super) struct Slot {
    buffer: Option<Buffer>,
    request: MPI_Request,
    is_receive: bool,
}

impl Slot {
    fn new(buffer: Option<Buffer>) -> Self {
        // SAFETY: a constant of the library.
        Self { buffer, request: unsafe { ffi::RSMPI_REQUEST_NULL }, is_receive: false }
    }

    fn is_idle(&self) -> bool {
        // SAFETY: a constant of the library.
        self.request == unsafe { ffi::RSMPI_REQUEST_NULL }
    }

    /// Sends so many of a datatype.
    ///
    /// # Safety
    /// They are there until the request has been completed, which dropping does.
    unsafe fn send(
        &mut self,
        place: *const c_void,
        count: Count,
        datatype: MPI_Datatype,
        to: Peer,
    ) -> Result<(), Error> {
        debug_assert!(self.is_idle());
        self.is_receive = false;
        let request = &raw mut self.request;
        // SAFETY: as the caller promises.
        let call =
            || unsafe { ffi::MPI_Isend(place, count, datatype, to.rank, to.tag, to.communicator, request) };
        called("MPI_Isend", call)
    }

    /// Sends the first bytes of the buffer, which have been packed.
    fn send_buffer(&mut self, bytes: usize, to: Peer) -> Result<(), Error> {
        let place = self.buffer.as_mut().map_or(ptr::null_mut(), Buffer::place);
        let bytes = Contiguous::of(bytes)?;
        // SAFETY: the buffer is this slot's.
        unsafe { self.send(place.cast(), bytes.count, bytes.datatype, to) }
    }

    /// Receives into a buffer with room for so many bytes.
    fn receive(&mut self, room: usize, from: Peer) -> Result<(), Error> {
        debug_assert!(self.is_idle());
        self.is_receive = true;
        let place = self.buffer.as_mut().map_or(ptr::null_mut(), Buffer::place);
        let (request, bytes) = (&raw mut self.request, Contiguous::of(room)?);
        let Peer { communicator, rank, tag } = from;
        // SAFETY: the buffer stays until the request has been completed, which dropping does.
        let call = || unsafe {
            ffi::MPI_Irecv(place.cast(), bytes.count, bytes.datatype, rank, tag, communicator, request)
        };
        called("MPI_Irecv", call)
    }

    /// Whether it is done, waiting for it if that is wanted; then what MPI says of it.
    fn is_done(&mut self, wait: bool) -> Result<Option<MPI_Status>, c_int> {
        let (mut status, mut done) = (MaybeUninit::<MPI_Status>::uninit(), 1);
        let request = &raw mut self.request;
        // SAFETY: the request is one of this slot, or null.
        let code = returning_errors(|| unsafe {
            if wait {
                ffi::MPI_Wait(request, status.as_mut_ptr())
            } else {
                ffi::MPI_Test(request, &raw mut done, status.as_mut_ptr())
            }
        });
        if code != ffi::MPI_SUCCESS as c_int {
            return Err(code);
        }
        // SAFETY: MPI has filled it in, if it is done.
        Ok((done != 0).then(|| unsafe { status.assume_init() }))
    }

    fn is_sent(&mut self, wait: bool) -> Result<bool, Error> {
        self.is_done(wait).map(|status| status.is_some()).or_else(|code| {
            checked("MPI_Wait", code)?;
            Ok(true)
        })
    }
}

impl Drop for Slot {
    /// MPI must be done with the buffer before it is used again.
    fn drop(&mut self) {
        if self.is_idle() {
            return;
        }
        returning_errors(|| {
            // SAFETY: the request is active. What is received may never have been sent.
            unsafe {
                if self.is_receive {
                    ffi::MPI_Cancel(&raw mut self.request);
                }
                ffi::MPI_Wait(&raw mut self.request, ffi::RSMPI_STATUS_IGNORE);
            }
        });
    }
}

/// A message that is being sent, segment by segment if it is long.
pub(super) struct Sending<'a, M: ?Sized> {
    message: &'a M,
    to: Peer,
    /// Packed bytes that are still to be sent in segments, from this one on.
    position: usize,
    header: Header,
    slots: Vec<Slot>,
}

impl<'a, M: Read + ?Sized> Sending<'a, M> {
    /// Begins. With `all`, everything is on its way afterwards.
    pub fn new(message: &'a M, wire: Wire, to: Peer, all: bool) -> Result<Self, Error> {
        let header = Header { total: 0, payload: 0, message: 0, index: 0 };
        let mut sending = Self { message, to, position: 0, header, slots: Vec::new() };
        match chosen(message, wire)? {
            Chosen::Span(Span { place, size }) => {
                let (mut slot, bytes) = (Slot::new(None), Contiguous::of(size)?);
                // SAFETY: the message is borrowed.
                unsafe { slot.send(place.cast(), bytes.count, bytes.datatype, to) }?;
                sending.slots.push(slot);
            }
            Chosen::Typed => {
                let (mut slot, typed) = (Slot::new(None), message.typed()?);
                // SAFETY: the datatype describes what the message borrows. MPI keeps a datatype that is in use.
                unsafe { slot.send(typed.place, typed.count, typed.datatype(), to) }?;
                sending.slots.push(slot);
            }
            Chosen::Packed => {
                let size = message.packed_size();
                if goes_in_segments(size) {
                    sending.begin_segments(size, all)?;
                } else {
                    let mut slot = Slot::new(Some(pack(message)?));
                    slot.send_buffer(size, to)?;
                    sending.slots.push(slot);
                }
            }
        }
        Ok(sending)
    }

    fn begin_segments(&mut self, total: usize, all: bool) -> Result<(), Error> {
        static MESSAGES: AtomicU32 = AtomicU32::new(0);
        const MOST: usize = SEGMENT - HEADER;
        let step = self.message.step();
        let payload = if step < MOST { MOST - MOST % step } else { MOST };
        let message = MESSAGES.fetch_add(1, Ordering::Relaxed);
        self.header = Header { total: total as u64, payload: payload as u32, message, index: 0 };
        let slots = if all { total.div_ceil(payload) } else { AHEAD };
        self.slots =
            (0..slots).map(|_| Ok(Slot::new(Some(buffer(SEGMENT)?)))).collect::<Result<_, Error>>()?;
        if all { self.advance(false).map(|_| ()) } else { Ok(()) }
    }

    /// Goes on as far as that is possible, or to the end if it may wait. Says whether it is at the end.
    pub fn advance(&mut self, wait: bool) -> Result<bool, Error> {
        let (total, payload) = (self.header.total as usize, self.header.payload as usize);
        while self.position < total {
            let count = self.slots.len();
            let slot = &mut self.slots[self.header.index as usize % count];
            if !slot.is_sent(wait)? {
                return Ok(false);
            }
            let end = total.min(self.position + payload);
            // Every segment but the last is as long as all: that is how the first one is known.
            let size = if end < total { SEGMENT } else { HEADER + end - self.position };
            if let Some(buffer) = &mut slot.buffer {
                let segment = buffer.first_mut(size);
                self.header.write(segment);
                let packed = &mut segment[HEADER..HEADER + end - self.position];
                self.message.pack_range(self.position..end, packed)?;
            }
            slot.send_buffer(size, self.to)?;
            self.position = end;
            self.header.index += 1;
        }
        for slot in &mut self.slots {
            if !slot.is_sent(wait)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

// ---- Receiving ----

/// The bytes of a message.
fn size_of(status: &MPI_Status) -> usize {
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

/// Receives a message: whatever wire has brought it, if it is one of as many values.
pub(super) fn receive<M: Write + ?Sized>(message: &mut M, from: Peer) -> Result<Status, Error> {
    let table = Table::current();
    let straight = || message.any_pattern() && table.goes_straight(message);
    if table.probes() || message.most_bytes() >= SEGMENT || straight() {
        return Matched::wait_for(from)?.receive(message);
    }
    let mut packed = buffer(SEGMENT)?;
    let mut status = MaybeUninit::<MPI_Status>::uninit();
    let (place, count, datatype) = (packed.place(), SEGMENT as Count, packed_datatype());
    // SAFETY: there is room for so many bytes, and for the status.
    let call = || unsafe {
        let Peer { communicator, rank, tag } = from;
        ffi::MPI_Recv(place.cast(), count, datatype, rank, tag, communicator, status.as_mut_ptr())
    };
    received(message, returning_errors(call))?;
    // SAFETY: MPI has filled it in.
    let status = unsafe { status.assume_init() };
    let size = size_of(&status);
    // SAFETY: so many bytes have been received.
    let packed = unsafe { packed.first(size) };
    arrived(message, packed, &status, from)
}

/// The error of a receiving call with room for a segment.
fn received<M: Read + ?Sized>(message: &M, code: c_int) -> Result<(), Error> {
    received_into(message, code, SEGMENT)
}

/// The error of a receiving call. A message that is too long for the room does not fit; of its size more is not known.
fn received_into<M: Read + ?Sized>(message: &M, code: c_int, room: usize) -> Result<(), Error> {
    checked("MPI_Recv", code).map_err(|error| {
        let mut class = 0;
        // SAFETY: the code is one that MPI has returned.
        unsafe { ffi::MPI_Error_class(code, &raw mut class) };
        if class == ffi::MPI_ERR_TRUNCATE as c_int {
            Error::TooLong { expected: message.packed_size(), room }
        } else {
            error
        }
    })
}

/// Takes a message that lies in a buffer, or its first segment.
fn arrived<M: Write + ?Sized>(
    message: &mut M,
    packed: &[u8],
    status: &MPI_Status,
    from: Peer,
) -> Result<Status, Error> {
    match Header::of_first(packed) {
        Some(first) => {
            Segments::new(message, first, packed, status, from)?.advance(message, true)?;
        }
        None => take(message, packed)?,
    }
    Ok(Status::from_raw(*status))
}

/// Takes a message that was sent whole: packed, or as it lies in memory.
fn take<M: Write + ?Sized>(message: &mut M, packed: &[u8]) -> Result<(), Error> {
    let expected = message.packed_size();
    if packed.len() == expected {
        return message.unpack(packed);
    }
    match message.lies().span().filter(|span| span.size == packed.len()) {
        Some(Span { size, .. }) if message.any_pattern() => {
            // SAFETY: the memory of the message, which is borrowed mutably, and of which any pattern may be.
            unsafe { message.place().copy_from_nonoverlapping(packed.as_ptr(), size) };
            Ok(())
        }
        _ => Err(Error::Fit { expected, found: packed.len() }),
    }
}

/// A message that has been found and not been received yet (MPI 4.1 section 3.8.2).
pub(super) struct Matched {
    message: MPI_Message,
    status: MPI_Status,
    size: usize,
    from: Peer,
}

impl Matched {
    /// Waits for one.
    pub fn wait_for(from: Peer) -> Result<Self, Error> {
        let (mut message, mut status) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        let Peer { communicator, rank, tag } = from;
        // SAFETY: there is room for both results.
        let call =
            || unsafe { ffi::MPI_Mprobe(rank, tag, communicator, message.as_mut_ptr(), status.as_mut_ptr()) };
        called("MPI_Mprobe", call)?;
        // SAFETY: MPI has filled both in.
        let (message, status) = unsafe { (message.assume_init(), status.assume_init()) };
        Ok(Self { message, status, size: size_of(&status), from })
    }

    /// Looks for one.
    pub fn look_for(from: Peer) -> Result<Option<Self>, Error> {
        let (mut message, mut status, mut found) = (MaybeUninit::uninit(), MaybeUninit::uninit(), 0);
        let Peer { communicator, rank, tag } = from;
        // SAFETY: there is room for all results.
        let call = || unsafe {
            let (message, status) = (message.as_mut_ptr(), status.as_mut_ptr());
            ffi::MPI_Improbe(rank, tag, communicator, &raw mut found, message, status)
        };
        called("MPI_Improbe", call)?;
        if found == 0 {
            return Ok(None);
        }
        // SAFETY: MPI has filled both in.
        let (message, status) = unsafe { (message.assume_init(), status.assume_init()) };
        Ok(Some(Self { message, status, size: size_of(&status), from }))
    }

    /// Receives it into memory for all of it.
    ///
    /// # Safety
    /// So many of the datatype may be written there, and it has as many bytes as the message.
    unsafe fn receive_at(
        &mut self,
        place: *mut c_void,
        count: Count,
        datatype: MPI_Datatype,
    ) -> Result<(), Error> {
        let (message, status) = (&raw mut self.message, &raw mut self.status);
        // SAFETY: as the caller promises.
        let call = || unsafe { ffi::MPI_Mrecv(place, count, datatype, message, status) };
        called("MPI_Mrecv", call)
    }

    /// Receives it into a message: straight into its memory where that is possible.
    pub fn receive<M: Write + ?Sized>(self, message: &mut M) -> Result<Status, Error> {
        let status = Status::from_raw(self.status);
        if let Some(mut segments) = self.start(message)? {
            segments.advance(message, true)?;
        }
        Ok(status)
    }

    /// Receives it: all of it, unless it is a first segment, which others follow.
    fn start<M: Write + ?Sized>(mut self, message: &mut M) -> Result<Option<Segments>, Error> {
        let size = self.size;
        if message.any_pattern() && size != SEGMENT {
            let lies = message.lies();
            if lies.span().is_some_and(|span| span.size == size) {
                let (place, bytes) = (message.place(), Contiguous::of(size)?);
                // SAFETY: the memory of the message, of which any pattern may be, and which is borrowed mutably.
                unsafe { self.receive_at(place.cast(), bytes.count, bytes.datatype) }?;
                return Ok(None);
            }
            if size == message.packed_size() && Table::current().is_typed(message, size) {
                let (typed, place) = (message.typed()?, message.place());
                // SAFETY: as above; the datatype covers no byte twice, since the message may be received into.
                unsafe { self.receive_at(place.cast(), typed.count, typed.datatype()) }?;
                return Ok(None);
            }
        }
        let (mut packed, bytes) = (buffer(size)?, Contiguous::of(size)?);
        // SAFETY: there is room for so many bytes.
        unsafe { self.receive_at(packed.place().cast(), bytes.count, bytes.datatype) }?;
        // SAFETY: so many bytes have been received.
        let bytes = unsafe { packed.first(size) };
        match Header::of_first(bytes) {
            Some(first) => Segments::new(message, first, bytes, &self.status, self.from).map(Some),
            None => take(message, bytes).map(|()| None),
        }
    }
}

/// A message that comes in segments.
struct Assembly {
    /// That of the next segment.
    header: Header,
    total: usize,
    /// Packed bytes that have arrived.
    position: usize,
    /// All packed bytes, where they have to be looked at before any of them is written.
    whole: Option<Buffer>,
    /// Whether the message is thrown away, since it does not fit: it has to be received all the same.
    does_not_fit: bool,
}

impl Assembly {
    fn new<M: Write + ?Sized>(message: &M, first: Header) -> Result<Self, Error> {
        let total = usize::try_from(first.total).unwrap_or(usize::MAX);
        let does_not_fit = total != message.packed_size();
        let looks_first = !does_not_fit && !message.any_pattern();
        let whole = if looks_first { Some(buffer(total)?) } else { None };
        Ok(Self { header: first, total, position: 0, whole, does_not_fit })
    }

    /// How many segments are still to come.
    fn missing(&self) -> usize {
        (self.total - self.position).div_ceil(self.header.payload as usize)
    }

    /// Takes the next segment.
    fn take<M: Write + ?Sized>(&mut self, message: &mut M, segment: &[u8]) -> Result<(), Error> {
        let end = self.total.min(self.position.saturating_add(self.header.payload as usize));
        let size = if end < self.total { SEGMENT } else { HEADER + end - self.position };
        if Header::read(segment) != Some(self.header) || segment.len() != size {
            return Err(Error::Interleaved);
        }
        let packed = &segment[HEADER..HEADER + end - self.position];
        if let Some(whole) = &mut self.whole {
            whole.first_mut(self.total)[self.position..end].copy_from_slice(packed);
        } else if !self.does_not_fit {
            message.unpack_range(self.position, packed)?;
        }
        self.position = end;
        self.header.index += 1;
        Ok(())
    }

    /// After the last segment.
    fn finish<M: Write + ?Sized>(&mut self, message: &mut M) -> Result<(), Error> {
        if self.does_not_fit {
            return Err(Error::Fit { expected: message.packed_size(), found: self.total });
        }
        self.whole.take().map_or(Ok(()), |mut whole| message.unpack(whole.first_mut(self.total)))
    }
}

/// Segments that are being received, of which the first has arrived.
pub(super) struct Segments {
    from: Peer,
    slots: Vec<Slot>,
    assembly: Assembly,
}

impl Segments {
    fn new<M: Write + ?Sized>(
        message: &mut M,
        first: Header,
        segment: &[u8],
        status: &MPI_Status,
        from: Peer,
    ) -> Result<Self, Error> {
        // The others come from the same rank with the same tag; `from` may be anybody, with any tag.
        let from = Peer { rank: status.MPI_SOURCE, tag: status.MPI_TAG, ..from };
        let mut assembly = Assembly::new(message, first)?;
        assembly.take(message, segment)?;
        let slots = (0..AHEAD.min(assembly.missing())).map(|_| {
            let mut slot = Slot::new(Some(buffer(SEGMENT)?));
            slot.receive(SEGMENT, from)?;
            Ok(slot)
        });
        let slots = slots.collect::<Result<_, Error>>()?;
        Ok(Self { from, slots, assembly })
    }

    /// Goes on as far as that is possible, or to the end if it may wait. Says whether it is at the end.
    pub fn advance<M: Write + ?Sized>(&mut self, message: &mut M, wait: bool) -> Result<bool, Error> {
        while self.assembly.missing() > 0 {
            let count = self.slots.len();
            // The second segment is in the first slot.
            let slot = &mut self.slots[(self.assembly.header.index as usize - 1) % count];
            let done = slot.is_done(wait).or_else(|code| received(message, code).map(|()| None))?;
            let Some(status) = done else { return Ok(false) };
            if let Some(buffer) = &slot.buffer {
                // SAFETY: so many bytes have been received.
                self.assembly.take(message, unsafe { buffer.first(size_of(&status)) })?;
            }
            if self.assembly.missing() >= count {
                slot.receive(SEGMENT, self.from)?;
            }
        }
        self.assembly.finish(message).map(|()| true)
    }
}

/// A message that is being received without waiting for it.
pub(super) enum Incoming {
    /// One that has not been found yet.
    Awaited(Peer),
    /// One for which a buffer of so many bytes waits.
    Posted(Slot, usize, Peer),
    /// One that comes in segments.
    Segments(Segments, Status),
}

impl Incoming {
    /// A buffer waits for a message, so that the sender need not wait for the next [`advance`](Self::advance).
    pub fn posted<M: Read + ?Sized>(message: &M, from: Peer) -> Result<Self, Error> {
        let room = message.most_bytes().max(SEGMENT);
        let mut slot = Slot::new(Some(buffer(room)?));
        slot.receive(room, from)?;
        Ok(Self::Posted(slot, room, from))
    }

    /// Goes on as far as that is possible, or to the end if it may wait: then there is a status.
    pub fn advance<M: Write + ?Sized>(
        &mut self,
        message: &mut M,
        wait: bool,
    ) -> Result<Option<Status>, Error> {
        let (segments, status) = match self {
            Self::Awaited(from) => {
                let matched = if wait { Some(Matched::wait_for(*from)?) } else { Matched::look_for(*from)? };
                let Some(matched) = matched else { return Ok(None) };
                let status = matched.status;
                match matched.start(message)? {
                    None => return Ok(Some(Status::from_raw(status))),
                    Some(segments) => (segments, status),
                }
            }
            Self::Posted(slot, room, from) => {
                let done =
                    slot.is_done(wait).or_else(|code| received_into(message, code, *room).map(|()| None))?;
                let (Some(status), Some(buffer)) = (done, &slot.buffer) else { return Ok(None) };
                // SAFETY: so many bytes have been received.
                let packed = unsafe { buffer.first(size_of(&status)) };
                let Some(first) = Header::of_first(packed) else {
                    take(message, packed)?;
                    return Ok(Some(Status::from_raw(status)));
                };
                (Segments::new(message, first, packed, &status, *from)?, status)
            }
            Self::Segments(segments, status) => {
                return Ok(segments.advance(message, wait)?.then_some(*status));
            }
        };
        *self = Self::Segments(segments, Status::from_raw(status));
        self.advance(message, wait)
    }
}

/// Sends one message while another one is received: neither waits for the other.
pub(super) fn send_receive<M: Read + ?Sized, N: Write + ?Sized>(
    message: &M,
    wire: Wire,
    to: Peer,
    into: &mut N,
    from: Peer,
) -> Result<Status, Error> {
    let mut sending = Sending::new(message, wire, to, false)?;
    if sending.header.total == 0 {
        // It is all on its way, and MPI sees to it while this rank waits.
        let received = receive(into, from);
        sending.advance(true)?;
        return received;
    }
    let mut incoming = Incoming::Awaited(from);
    let (mut is_sent, mut received) = (false, None);
    while received.is_none() {
        is_sent = is_sent || sending.advance(false)?;
        received = incoming.advance(into, is_sent).transpose();
        std::thread::yield_now();
    }
    // Also where there was an error: the other side waits for one's own message.
    sending.advance(true)?;
    received.unwrap_or(Err(Error::Interleaved))
}
