//! Messages that go packed: what the library is given instead of the program's buffer and datatype, and what
//! is done before and behind.

use std::{
    mem::MaybeUninit,
    os::raw::{c_int, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use dtype_runtime::pack::{Data, DataMut, PackBuffer, Plan};
use mpi::ffi::{self, MPI_Comm, MPI_Datatype, MPI_Status};

#[cfg(all(exchanges_later, not(open_mpi)))]
use crate::peers;
use crate::{
    call::{Call, SUCCESS},
    engine::Engine,
    first_use::Message,
    gap::{GAP, Whole},
    gate::LEAST,
    known::{Known, is_left_to_the_library, known_with},
    mode,
    usage::{Counted, Stays, is_counting},
};

/// What a program names in a call: a buffer, how many of a datatype, the datatype.
#[derive(Clone, Copy)]
pub(crate) struct Argument {
    pub buffer: *mut c_void,
    pub count: i64,
    pub datatype: MPI_Datatype,
    /// All of it is there, since the call reads it. Of what is received, only what comes has to be.
    pub is_read: bool,
    /// It is that of a collective call, of which all ranks do the same.
    pub is_collective: bool,
}

impl Argument {
    /// What a call reads.
    pub fn read(buffer: *const c_void, count: impl Into<i64>, datatype: MPI_Datatype) -> Self {
        Self { buffer: buffer.cast_mut(), count: count.into(), datatype, is_read: true, is_collective: false }
    }

    /// What a call writes.
    pub fn written(buffer: *mut c_void, count: impl Into<i64>, datatype: MPI_Datatype) -> Self {
        Self { buffer, count: count.into(), datatype, is_read: false, is_collective: false }
    }

    /// What is known of it, if it may be worth packing. It is counted, if that is wanted.
    ///
    /// # Safety
    /// 1. MPI is usable. 2. The datatype is not freed for `'a`.
    #[inline]
    pub unsafe fn candidate<'a>(&self) -> Option<Candidate<'a>> {
        // SAFETY: 1 and 2.
        unsafe { self.largest_of(1, usize::try_from(self.count).unwrap_or(0)) }
    }

    /// The same where this is the largest of so many blocks, with `all` datatypes together.
    ///
    /// # Safety
    /// 1 and 2 of [`candidate`](Self::candidate).
    #[inline]
    pub unsafe fn largest_of<'a>(&self, blocks: usize, all: usize) -> Option<Candidate<'a>> {
        // SAFETY: 1 and 2.
        let candidate = unsafe { self.counted(blocks, all) }?;
        if candidate.known.takes(candidate.count) {
            return Some(candidate);
        }
        candidate.stays()
    }

    /// Returns what is known of it, if the call only packs or unpacks and may be worth a plan.
    ///
    /// # Safety
    /// 1 and 2 of [`candidate`](Self::candidate).
    #[inline]
    pub unsafe fn packing<'a>(&self) -> Option<Candidate<'a>> {
        let count = usize::try_from(self.count).ok()?;
        if !is_counting() && is_left_to_the_library(self.datatype, count) {
            return None;
        }
        // SAFETY: 1 and 2.
        unsafe { self.no_message() }
    }

    /// The same of what is not a message, and has gates of its own: all that is not nothing.
    ///
    /// # Safety
    /// 1 and 2 of [`candidate`](Self::candidate).
    #[inline]
    pub unsafe fn no_message<'a>(&self) -> Option<Candidate<'a>> {
        // SAFETY: 1 and 2.
        unsafe { self.counted(1, usize::try_from(self.count).unwrap_or(0)) }
    }

    /// The message that it is, where it may be one of an unplanned datatype.
    fn message(&self, count: usize) -> Message {
        let is_collective = self.is_collective;
        Message { count, has_to_agree: is_collective || !self.is_read, is_collective }
    }

    /// # Safety
    /// 1 and 2 of [`candidate`](Self::candidate).
    #[inline(always)]
    unsafe fn counted<'a>(&self, blocks: usize, all: usize) -> Option<Candidate<'a>> {
        let count = usize::try_from(self.count).ok().filter(|count| *count > 0)?;
        // SAFETY: 1 and 2.
        let known = unsafe { known_with(self.datatype, self.message(count)) }?;
        if is_counting() {
            known.counted.note(blocks, all);
        }
        Some(Candidate { known, argument: *self, count, blocks, all })
    }
}

/// What a program names, of a datatype of which something is known.
#[derive(Clone, Copy)]
pub(crate) struct Candidate<'a> {
    known: &'a Known,
    argument: Argument,
    count: usize,
    /// The number of messages, and that of the datatype in all of them.
    blocks: usize,
    all: usize,
}

impl<'a> Candidate<'a> {
    /// Counts that it stays as it is by its layout or size, and returns `None`.
    #[inline]
    fn stays<R>(&self) -> Option<R> {
        if is_counting() {
            let why = match (self.known.bytes(self.count), self.known.counted.engine.get()) {
                (None, _) => Stays::Large,
                (Some(_), Some(Err(_))) => Stays::Layout,
                (Some(_), Some(Ok(engine))) if engine.reason().is_some() => Stays::Layout,
                (Some(bytes), Some(Ok(engine))) if !engine.gate().is_above(bytes) => Stays::Size,
                (Some(_), _) => Stays::Small,
            };
            self.stays_by(why);
        }
        None
    }

    fn stays_by(&self, why: Stays) {
        self.known.counted.note_stay(why, self.blocks);
    }

    /// How it is packed, if it should be.
    ///
    /// # Safety
    /// MPI is usable, and what is named is there.
    pub unsafe fn engine(&self, call: &Call) -> Option<Found<'a>> {
        // SAFETY: the caller's condition.
        unsafe { self.engine_at(call, 0) }
    }

    /// The same where the first one lies `place` datatypes behind where the buffer begins.
    ///
    /// # Safety
    /// As of [`engine`](Self::engine).
    pub unsafe fn engine_at(&self, call: &Call, place: isize) -> Option<Found<'a>> {
        let engine = self.known.engine(self.argument.datatype).filter(|_| self.known.takes(self.count));
        let Some(engine) = engine else { return self.stays() };
        // SAFETY: the caller's condition.
        unsafe { self.found(call, engine, place, engine.received(self.count).is_some()) }
    }

    /// The same in a call that only packs or unpacks.
    ///
    /// # Safety
    /// As of [`engine`](Self::engine).
    pub unsafe fn packing(&self, call: &Call) -> Option<Found<'a>> {
        let bytes = self.known.bytes(self.count).filter(|bytes| *bytes >= LEAST);
        let engine = bytes.and_then(|_| self.known.engine(self.argument.datatype));
        let Some(engine) = engine.filter(|engine| bytes.is_some_and(|bytes| engine.packing().takes(bytes)))
        else {
            return self.stays();
        };
        // SAFETY: the caller's condition.
        unsafe { self.found(call, engine, 0, true) }
    }

    /// The same of what is moved to or from a window, where it is so many of a datatype; with the datatype of
    /// the packed bytes of one. Where it is less there, it goes plain, and the rest of what is named here is
    /// not touched.
    ///
    /// # Safety
    /// As of [`engine`](Self::engine); that datatype is live.
    pub unsafe fn beside(
        &self,
        call: &Call,
        (count, there): (i64, MPI_Datatype),
    ) -> Option<(Found<'a>, MPI_Datatype)> {
        let Some(bytes) = self.known.bytes(self.count).filter(|bytes| *bytes >= LEAST) else {
            return self.stays();
        };
        let Some(engine) = self.known.engine(self.argument.datatype) else { return self.stays() };
        // SAFETY: the caller's condition.
        unsafe {
            let (size, is_contiguous) = looked_at(there);
            if size.checked_mul(count) != Some(bytes as i64) {
                self.stays_by(Stays::Target);
                return None;
            }
            let Some(packed) = engine.moved(bytes, is_contiguous) else {
                self.stays_by(Stays::Size);
                return None;
            };
            Some((self.found(call, engine, 0, true)?, packed))
        }
    }

    /// # Safety
    /// As of [`engine`](Self::engine).
    unsafe fn found(&self, call: &Call, engine: &'a Engine, place: isize, goes: bool) -> Option<Found<'a>> {
        let Self { known, argument: Argument { buffer, datatype, is_read, .. }, count, blocks, all } = *self;
        if !engine.may_lie_at(buffer) {
            self.stays_by(Stays::Address);
            return None;
        }
        if is_counting() {
            let origin = buffer.wrapping_byte_offset(place.checked_mul(engine.plan().extent())?);
            match (mode::is_on(), goes) {
                (false, true) => known.counted.note_packable(blocks, all),
                (false, false) => self.stays_by(Stays::Size),
                (true, _) if call.packs() => {}
                (true, _) if mode::packs(call.name()) => self.stays_by(Stays::Tool),
                (true, _) => self.stays_by(Stays::Denied),
            }
            if is_read {
                // SAFETY: the caller's condition.
                unsafe { known.counted.compare(engine, datatype, origin, count) };
            }
        }
        call.packs().then_some(Found { engine, count, blocks, counted: &known.counted })
    }
}

/// Packed bytes of a datatype, and whether many of it are one block.
///
/// # Safety
/// It is live.
unsafe fn looked_at(datatype: MPI_Datatype) -> (i64, bool) {
    let (mut size, mut lower, mut extent, mut first, mut span) = (0, 0, 0, 0, 0);
    // SAFETY: the caller's condition; there is room for a number each.
    unsafe {
        ffi::MPI_Type_size(datatype, &raw mut size);
        ffi::MPI_Type_get_extent(datatype, &raw mut lower, &raw mut extent);
        ffi::MPI_Type_get_true_extent(datatype, &raw mut first, &raw mut span);
    }
    (size.into(), [extent, span] == [size as ffi::MPI_Aint; 2])
}

/// How so many of a datatype are packed, and where that is counted.
#[derive(Clone, Copy)]
pub(crate) struct Found<'a> {
    pub engine: &'a Engine,
    pub count: usize,
    /// The number of messages.
    blocks: usize,
    counted: &'a Arc<Counted>,
}

impl Found<'_> {
    /// Returns the datatype of the packed bytes of one as it is sent on a communicator, if it goes packed.
    pub fn sent(&self, communicator: MPI_Comm) -> Option<MPI_Datatype> {
        let packed = self.engine.sent(self.count, communicator);
        if packed.is_none() {
            let why = if self.engine.sends(self.count) { Stays::Peers } else { Stays::Size };
            self.counted.note_stay(why, self.blocks);
        }
        packed
    }

    /// So many of it, with displacement 0 of the first at this place.
    pub fn part(&self, origin: *mut u8, count: usize) -> Part {
        let counted = is_counting().then(|| Arc::clone(self.counted));
        // A part of several blocks has all of one length.
        let messages = (count / self.count).max(1);
        Part { plan: self.engine.plan().clone(), origin, count, messages, counted }
    }
}

/// Runs what may panic only by a fault of ours; then a message goes as it would without us.
pub(crate) fn or_else_plain<R>(run: impl FnOnce() -> Option<R>) -> Option<R> {
    catch_unwind(AssertUnwindSafe(run)).ok().flatten()
}

/// Some of a datatype in memory of the program.
pub(crate) struct Part {
    plan: Plan,
    /// Where displacement 0 of the first one is.
    origin: *mut u8,
    count: usize,
    /// The number of messages that it is.
    messages: usize,
    /// Where it is counted, if that is wanted.
    counted: Option<Arc<Counted>>,
}

impl Part {
    /// Packed bytes; nothing where that is no number.
    fn bytes(&self) -> Option<usize> {
        self.plan.packed_size().checked_mul(self.count)
    }

    /// Packs all of it, and gives the bytes behind.
    ///
    /// # Safety
    /// It is readable, as MPI asks for.
    pub unsafe fn pack<'a>(&self, target: &'a mut [u8]) -> &'a mut [u8] {
        // SAFETY: the caller's condition; the program does not write what it sends, and MPI too would read
        // all of it.
        let data = unsafe { Data::from_raw_parts(&self.plan, self.count, self.origin) };
        let (packed, rest) = target.split_at_mut(data.packed_size());
        let bytes = packed.len();
        let all = self.timed(bytes, || data.pack_into(packed));
        debug_assert!(all.is_ok(), "there is room for all bytes");
        rest
    }

    /// Unpacks as many bytes of it as there are, and gives those behind.
    ///
    /// # Safety
    /// It is writable, and left alone until the program knows that it has come.
    pub unsafe fn unpack<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        // SAFETY: the caller's condition; any bytes may be written, as MPI would, and the program knows what
        // is initialized.
        let mut data = unsafe { DataMut::from_raw_parts(&self.plan, self.count, self.origin) };
        let (packed, rest) = bytes.split_at(data.packed_size().min(bytes.len()));
        let all = self.timed(packed.len(), || data.unpack_range(0, packed));
        debug_assert!(all.is_ok(), "no more than all of it");
        rest
    }

    fn timed<R>(&self, bytes: usize, run: impl FnOnce() -> R) -> R {
        match &self.counted {
            Some(counted) => counted.timed(self.messages, bytes, run),
            None => run(),
        }
    }
}

/// Parts that lie in the program's memory each by itself, and packed one behind the other.
pub(crate) enum Parts {
    One(Part),
    Many(Vec<Part>),
}

impl Parts {
    fn list(&self) -> &[Part] {
        match self {
            Self::One(part) => std::slice::from_ref(part),
            Self::Many(parts) => parts,
        }
    }
}

/// Memory of the program, as datatypes name it, with room for its packed bytes.
pub(crate) struct Staged {
    parts: Parts,
    /// Packed bytes of all parts.
    bytes: usize,
    buffer: PackBuffer,
}

// SAFETY: addresses of the program's, which it leaves alone until the message is complete, on whatever thread
// that is found out.
unsafe impl Send for Staged {}

impl Staged {
    /// Room for the packed bytes; nothing where there is no such memory.
    pub fn of(parts: Parts) -> Option<Self> {
        let bytes = parts.list().iter().try_fold(0usize, |sum, part| sum.checked_add(part.bytes()?))?;
        let buffer = PackBuffer::with_room(bytes.checked_add(GAP)?).ok()?;
        Some(Self { parts, bytes, buffer })
    }

    /// Packs what is in the program's memory now.
    ///
    /// # Safety
    /// It is readable, as MPI asks for.
    pub unsafe fn pack(&mut self) {
        let mut target = &mut self.buffer[..self.bytes];
        for part in self.parts.list() {
            // SAFETY: the caller's condition.
            target = unsafe { part.pack(target) };
        }
    }

    /// Packed bytes of all of it.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where the packed bytes are.
    pub fn place(&mut self) -> *mut c_void {
        self.buffer.as_mut_ptr().cast()
    }

    /// Unpacks all that has come.
    ///
    /// # Safety
    /// The program's memory is writable, and left alone until the program knows that it has come.
    pub unsafe fn unpack(&mut self) {
        // SAFETY: the caller's condition.
        unsafe { self.unpack_front(self.bytes) };
    }

    /// The same of the first bytes.
    ///
    /// # Safety
    /// As of [`unpack`](Self::unpack).
    unsafe fn unpack_front(&mut self, arrived: usize) {
        let mut bytes = &self.buffer[..arrived];
        for part in self.parts.list() {
            // SAFETY: the caller's condition.
            bytes = unsafe { part.unpack(bytes) };
        }
    }
}

/// One side of a collective call, which may be made again and again.
pub(crate) struct Block {
    pub staged: Staged,
    /// It is packed before: what is sent, and what is received where a block of it is there already.
    pub is_packed: bool,
    /// It is unpacked behind.
    pub is_received: bool,
}

impl Block {
    /// Packs what a program sends or receives, to travel as so many of `MPI_PACKED` between ranks that all do
    /// so; with what the library is given instead. What is received is packed too, since nobody says how much
    /// of it has come.
    ///
    /// # Safety
    /// 1. MPI is usable, and the datatype live. 2. What is named is readable, as MPI asks for.
    #[cfg(all(exchanges_later, not(open_mpi)))]
    pub unsafe fn of_peers(
        call: &Call,
        argument: Argument,
        communicator: MPI_Comm,
    ) -> Option<(Self, Argument)> {
        // SAFETY: 1.
        let candidate = unsafe { argument.candidate() }?;
        or_else_plain(|| {
            // SAFETY: 1.
            let found = unsafe { candidate.engine(call) }?;
            let (is_sent, count) = (argument.is_read, found.count);
            let goes = found.engine.received(count).is_some() && peers::all(communicator);
            (goes && found.engine.is_for_peers()).then_some(())?;
            (!is_sent || found.engine.sent(count, communicator).is_some()).then_some(())?;
            let staged = Staged::of(Parts::One(found.part(argument.buffer.cast(), count)))?;
            let mut block = Self { staged, is_packed: true, is_received: !is_sent };
            // SAFETY: 2.
            unsafe { block.begin() };
            let (place, bytes) = (block.staged.place(), block.staged.bytes() as i64);
            // SAFETY: a constant of the library.
            let packed = unsafe { dtype_interpose_packed() };
            Some((block, Argument { buffer: place, count: bytes, datatype: packed, ..argument }))
        })
    }

    /// Before the call.
    ///
    /// # Safety
    /// What is packed is readable, as MPI asks for.
    pub unsafe fn begin(&mut self) {
        if self.is_packed {
            // SAFETY: the caller's condition.
            unsafe { self.staged.pack() };
        }
    }

    /// When the call is complete.
    ///
    /// # Safety
    /// As of [`Staged::unpack`].
    pub unsafe fn finish(&mut self) {
        if self.is_received {
            // SAFETY: the caller's condition.
            unsafe { self.staged.unpack() };
        }
    }
}

/// A status of which something has to be known: the program's, or one of ours where it ignores it.
pub(crate) struct Status(MaybeUninit<MPI_Status>);

impl Status {
    pub fn new() -> Self {
        Self(MaybeUninit::zeroed())
    }

    pub fn place(&mut self, of_program: *mut MPI_Status) -> *mut MPI_Status {
        // SAFETY: a constant of the library.
        if of_program == unsafe { ffi::RSMPI_STATUS_IGNORE } { self.0.as_mut_ptr() } else { of_program }
    }
}

/// What a program sends.
pub(crate) struct Outgoing {
    staged: Staged,
    datatype: MPI_Datatype,
    count: i64,
}

// SAFETY: a handle names an object of the process, not of a thread (MPI 4.1 section 2.5.1).
unsafe impl Send for Outgoing {}

impl Outgoing {
    /// Packs what is named, if it should be.
    ///
    /// # Safety
    /// 1. MPI is usable, and the datatype live. 2. What is named is readable, as MPI asks for.
    #[inline]
    pub unsafe fn of(call: &Call, argument: Argument, communicator: MPI_Comm) -> Option<Self> {
        // SAFETY: 1.
        let candidate = unsafe { argument.candidate() }?;
        or_else_plain(|| {
            // SAFETY: 1.
            let mut outgoing = unsafe { Self::room(call, candidate, communicator) }?;
            // SAFETY: 2.
            unsafe { outgoing.pack() };
            Some(outgoing)
        })
    }

    /// Room for what is packed later.
    ///
    /// # Safety
    /// 1. MPI is usable, and the datatype live.
    #[inline]
    pub unsafe fn unpacked(call: &Call, argument: Argument, communicator: MPI_Comm) -> Option<Self> {
        // SAFETY: 1.
        let candidate = unsafe { argument.candidate() }?;
        // SAFETY: 1.
        or_else_plain(|| unsafe { Self::room(call, candidate, communicator) })
    }

    /// # Safety
    /// 1. MPI is usable, and the datatype live.
    unsafe fn room(call: &Call, candidate: Candidate<'_>, communicator: MPI_Comm) -> Option<Self> {
        // SAFETY: 1.
        let found = unsafe { candidate.engine(call) }?;
        let argument = candidate.argument;
        let datatype = found.sent(communicator)?;
        let staged = Staged::of(Parts::One(found.part(argument.buffer.cast(), found.count)))?;
        Some(Self { staged, datatype, count: argument.count })
    }

    /// Packs what is in the program's buffer now.
    ///
    /// # Safety
    /// 2 of [`of`](Self::of).
    pub unsafe fn pack(&mut self) {
        // SAFETY: 2.
        unsafe { self.staged.pack() };
    }

    /// What the library is to send: the packed bytes, and as many of their datatype as of the program's.
    pub fn argument(&self) -> Argument {
        let Self { staged, datatype, count } = self;
        Argument::read(staged.buffer.as_ptr().cast(), *count, *datatype)
    }
}

/// What a program receives.
pub(crate) struct Incoming {
    staged: Staged,
    /// The datatype of the packed bytes, and how many of it.
    datatype: MPI_Datatype,
    count: i64,
    /// Where the datatype has a gap: how many bytes are behind it.
    behind: usize,
    /// Keeps that datatype.
    _whole: Option<Arc<Whole>>,
}

// SAFETY: a handle names an object of the process, not of a thread (MPI 4.1 section 2.5.1).
unsafe impl Send for Incoming {}

impl Incoming {
    /// Room for a message, which may be shorter, or be longer and an error. All ranks may receive so.
    ///
    /// # Safety
    /// 1. MPI is usable, and the datatype live.
    #[inline]
    pub unsafe fn message(call: &Call, argument: Argument) -> Option<Self> {
        // SAFETY: 1.
        let candidate = unsafe { argument.candidate() }?;
        or_else_plain(|| {
            // SAFETY: 1.
            let found = unsafe { candidate.engine(call) }?;
            Self::with_gap(found, argument)
        })
    }

    /// A message that is sent, and replaced by one that is received.
    ///
    /// # Safety
    /// 1. MPI is usable, and the datatype live. 2. What is named is readable, as MPI asks for.
    pub unsafe fn replaced(call: &Call, argument: Argument, communicator: MPI_Comm) -> Option<Self> {
        // It counts as two: what is sent, and what is received.
        let both = usize::try_from(argument.count).unwrap_or(0).saturating_mul(2);
        // SAFETY: 1.
        let candidate = unsafe { argument.largest_of(2, both) }?;
        or_else_plain(|| {
            // SAFETY: 1.
            let found = unsafe { candidate.engine(call) }?;
            found.sent(communicator)?;
            let mut packed = Self::with_gap(found, argument)?;
            // SAFETY: 2.
            unsafe { packed.staged.pack() };
            let before = packed.staged.bytes - packed.behind;
            packed.staged.buffer.copy_within(before..before + packed.behind, before + GAP);
            Some(packed)
        })
    }

    fn with_gap(found: Found<'_>, argument: Argument) -> Option<Self> {
        let Found { engine, count, .. } = found;
        let Some(datatype) = engine.received(count) else {
            found.counted.note_stay(Stays::Size, found.blocks);
            return None;
        };
        let staged = Staged::of(Parts::One(found.part(argument.buffer.cast(), count)))?;
        let Some(gap) = engine.gap() else {
            return Some(Self { staged, datatype, count: argument.count, behind: 0, _whole: None });
        };
        let whole = gap.datatype(count)?;
        Some(Self { staged, datatype: whole.raw(), count: 1, behind: gap.last(), _whole: Some(whole) })
    }

    /// What the library is to receive into.
    pub fn argument(&mut self) -> Argument {
        Argument::written(self.staged.place(), self.count, self.datatype)
    }

    /// Has the library receive a message, with a status of which something is known behind.
    ///
    /// # Safety
    /// 1 of [`arrived`](Self::arrived). 2. `receive` hands on what it is given, and gives what the library
    /// says.
    pub unsafe fn receive(
        mut self,
        status: *mut MPI_Status,
        receive: impl FnOnce(Argument, *mut MPI_Status) -> c_int,
    ) -> c_int {
        let mut own = Status::new();
        let status = own.place(status);
        let code = receive(self.argument(), status);
        if code == SUCCESS {
            // SAFETY: 1 and 2.
            unsafe { self.arrived(status) };
        }
        code
    }

    /// Unpacks what has arrived of a message with this status.
    ///
    /// # Safety
    /// 1. What was named is writable, and the program leaves it alone until it knows that the message is
    ///    there.
    /// 2. The status is that of the message, which was received without an error.
    pub unsafe fn arrived(&mut self, status: *const MPI_Status) {
        let (mut bytes, mut cancelled) = (0, 0);
        // SAFETY: 2; there is room for a flag and for a number.
        unsafe {
            ffi::MPI_Test_cancelled(status, &raw mut cancelled);
            ffi::MPI_Get_count(status, ffi::RSMPI_UINT8_T, &raw mut bytes);
        }
        if cancelled == 0 {
            let bytes = usize::try_from(bytes).unwrap_or(0).min(self.staged.bytes);
            // SAFETY: 1.
            unsafe { self.unpack_front(bytes) };
        }
    }

    /// # Safety
    /// 1 of [`arrived`](Self::arrived).
    unsafe fn unpack_front(&mut self, arrived: usize) {
        let before = self.staged.bytes - self.behind;
        if arrived > before && self.behind > 0 {
            let behind = before + GAP..arrived + GAP;
            self.staged.buffer.copy_within(behind, before);
        }
        // SAFETY: 1.
        unsafe { self.staged.unpack_front(arrived) };
    }
}

#[cfg(all(exchanges_later, not(open_mpi)))]
unsafe extern "C" {
    /// `MPI_PACKED`.
    fn dtype_interpose_packed() -> MPI_Datatype;
}
