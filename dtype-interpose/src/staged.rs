//! Staging: the packed buffer that the library gets in place of the program's buffer. Data is packed into it
//! before the call, or unpacked from it after the call.

use std::{
    mem::MaybeUninit,
    os::raw::{c_int, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use dtype_mpi::packed_datatype;
use dtype_runtime::pack::{Data, DataMut, PackBuffer, Plan};

use crate::{
    call::{Call, SUCCESS},
    datatype_cache::{is_left_to_the_library, state_for},
    datatype_state::State,
    engine::Engine,
    first_use::{Message, is_preparing},
    mode,
    native::{self, MPI_Aint, MPI_Comm, MPI_Datatype, MPI_Status},
    peers,
    policy::LEAST,
    profile::{Profile, Stays, is_counting, is_describing},
    truncation_guard::{GAP, Whole},
};

/// The arguments that describe a buffer in a call: its address, a count, and the datatype.
#[derive(Clone, Copy)]
pub(crate) struct Argument {
    pub buffer: *mut c_void,
    pub count: i64,
    pub datatype: MPI_Datatype,
    /// `true` for a send buffer, all of which exists. Of a receive buffer, only the bytes that arrive must
    /// exist.
    pub is_read: bool,
    /// `true` in a collective call, in which all ranks must decide alike.
    pub is_collective: bool,
}

impl Argument {
    /// Creates the arguments of a buffer that the call reads.
    pub fn read(buffer: *const c_void, count: impl Into<i64>, datatype: MPI_Datatype) -> Self {
        Self { is_read: true, ..Self::written(buffer.cast_mut(), count, datatype) }
    }

    /// Creates the arguments of a buffer that the call writes.
    pub fn written(buffer: *mut c_void, count: impl Into<i64>, datatype: MPI_Datatype) -> Self {
        Self { buffer, count: count.into(), datatype, is_read: false, is_collective: false }
    }

    /// Returns a candidate if the message may be worth packing. Counts the message if a report is wanted.
    ///
    /// # Safety
    /// Promises 1 and 2: the datatype is not freed during `'a`.
    #[inline]
    pub unsafe fn candidate<'a>(&self) -> Option<Candidate<'a>> {
        // SAFETY: promises 1 and 2 for the datatype, during `'a`.
        unsafe { self.largest_of(1, usize::try_from(self.count).unwrap_or(0)) }
    }

    /// Like [`candidate`](Self::candidate), for the largest of `blocks` blocks, which have `all` elements
    /// together.
    ///
    /// # Safety
    /// Promises 1 and 2, as for [`candidate`](Self::candidate).
    #[inline]
    pub unsafe fn largest_of<'a>(&self, blocks: usize, all: usize) -> Option<Candidate<'a>> {
        // SAFETY: promises 1 and 2 for the datatype, during `'a`.
        let candidate = unsafe { self.counted(blocks, all) }?;
        if candidate.is_admitted() {
            return Some(candidate);
        }
        candidate.stays()
    }

    /// Like [`candidate`](Self::candidate), for a call that only packs or unpacks.
    ///
    /// # Safety
    /// Promises 1 and 2, as for [`candidate`](Self::candidate).
    #[inline]
    pub unsafe fn packing<'a>(&self) -> Option<Candidate<'a>> {
        let count = usize::try_from(self.count).ok()?;
        if !is_counting() && is_left_to_the_library(self.datatype, count) {
            return None;
        }
        // SAFETY: promises 1 and 2 for the datatype, during `'a`.
        unsafe { self.no_message() }
    }

    /// Like [`candidate`](Self::candidate), for calls with other policies than messages: any non-empty
    /// transfer.
    ///
    /// # Safety
    /// Promises 1 and 2, as for [`candidate`](Self::candidate).
    #[inline]
    pub unsafe fn no_message<'a>(&self) -> Option<Candidate<'a>> {
        // SAFETY: promises 1 and 2 for the datatype, during `'a`.
        unsafe { self.counted(1, usize::try_from(self.count).unwrap_or(0)) }
    }

    /// Returns the description of a message of `count` elements, which may cause the datatype to be planned.
    fn message(&self, count: usize) -> Message {
        let is_collective = self.is_collective;
        Message { count, has_to_agree: is_collective || !self.is_read, is_collective }
    }

    /// Returns a candidate of any size, and counts its messages if a report is wanted.
    ///
    /// # Safety
    /// Promises 1 and 2, as for [`candidate`](Self::candidate).
    #[inline(always)]
    unsafe fn counted<'a>(&self, blocks: usize, all: usize) -> Option<Candidate<'a>> {
        let count = usize::try_from(self.count).ok().filter(|count| *count > 0)?;
        // SAFETY: promises 1 and 2 for the datatype, during `'a`.
        let state = unsafe { state_for(self.datatype, self.message(count)) };
        let profile = state.profile()?;
        if is_counting() {
            profile.note(blocks, all);
        }
        Some(Candidate { state, profile, argument: *self, count, blocks, all })
    }
}

/// The arguments of a buffer whose datatype has a profile.
#[derive(Clone, Copy)]
pub(crate) struct Candidate<'a> {
    state: State<'a>,
    profile: &'a Arc<Profile>,
    argument: Argument,
    count: usize,
    /// The number of messages.
    blocks: usize,
    /// The number of elements in all messages.
    all: usize,
}

impl<'a> Candidate<'a> {
    /// Returns `true` if the policy admits the size, as far as the policy is known.
    #[inline]
    fn is_admitted(&self) -> bool {
        self.profile.bytes(self.count).is_some_and(|bytes| self.state.policies().messages.takes(bytes))
    }

    /// Counts a call that is forwarded unchanged because of the layout or the size. Returns `None`.
    #[inline]
    fn stays<R>(&self) -> Option<R> {
        if is_counting() {
            let why = match (self.profile.bytes(self.count), self.profile.engine()) {
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

    /// Counts a call that is forwarded unchanged for the reason `why`.
    fn stays_by(&self, why: Stays) {
        self.profile.note_stay(why, self.blocks);
    }

    /// Returns the engine and the count, or `None` if the call is forwarded unchanged.
    ///
    /// # Safety
    /// Promises 1 and 2 for the datatype, and promise 3 for the buffer if the call reads it.
    pub unsafe fn engine(&self, call: &Call) -> Option<Found<'a>> {
        // SAFETY: promises 1 and 2 for the datatype, and promise 3 for a buffer that the call reads.
        unsafe { self.engine_at(call, 0) }
    }

    /// Like [`engine`](Self::engine), for a message whose first element lies `place` elements behind the
    /// start of the buffer.
    ///
    /// # Safety
    /// As for [`engine`](Self::engine), for the elements of the message.
    pub unsafe fn engine_at(&self, call: &Call, place: isize) -> Option<Found<'a>> {
        let engine = self.state.engine(self.argument.datatype);
        let admits =
            |engine: &&Engine| self.profile.bytes(self.count).is_some_and(|bytes| engine.gate().takes(bytes));
        let Some(engine) = engine.filter(admits) else { return self.stays() };
        // SAFETY: promises 1 and 2 for the datatype, and promise 3 for a buffer that the call reads.
        unsafe { self.found(call, engine, place, engine.received(self.count).is_some()) }
    }

    /// Like [`engine`](Self::engine), for a call that only packs or unpacks.
    ///
    /// # Safety
    /// As for [`engine`](Self::engine).
    pub unsafe fn packing(&self, call: &Call) -> Option<Found<'a>> {
        let bytes = self.profile.bytes(self.count).filter(|bytes| *bytes >= LEAST);
        let engine = bytes.and_then(|_| self.state.engine(self.argument.datatype));
        let Some(engine) = engine.filter(|engine| bytes.is_some_and(|bytes| engine.packing().takes(bytes)))
        else {
            return self.stays();
        };
        // SAFETY: promises 1 and 2 for the datatype, and promise 3 for a buffer that the call reads.
        unsafe { self.found(call, engine, 0, true) }
    }

    /// Like [`engine`](Self::engine), for a one-sided call with `count` elements of the datatype `there` in
    /// the window. Also returns the datatype of one packed element. If the target's size differs, the call is
    /// forwarded unchanged: a smaller target leaves the rest of this buffer untouched.
    ///
    /// # Safety
    /// As for [`engine`](Self::engine), and promise 2 for the datatype `there`.
    pub unsafe fn beside(
        &self,
        call: &Call,
        (count, there): (i64, MPI_Datatype),
    ) -> Option<(Found<'a>, MPI_Datatype)> {
        let Some(bytes) = self.profile.bytes(self.count).filter(|bytes| *bytes >= LEAST) else {
            return self.stays();
        };
        let Some(engine) = self.state.engine(self.argument.datatype) else { return self.stays() };
        // SAFETY: promises 1 and 2 for both datatypes, and promise 3 for a buffer that the call reads.
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

    /// Returns the engine and the count. Returns `None` if the buffer's address, the settings or another tool
    /// prevent packing, and counts the reason. `goes` is `true` if the policy admits the size.
    ///
    /// # Safety
    /// As for [`engine_at`](Self::engine_at).
    unsafe fn found(&self, call: &Call, engine: &'a Engine, place: isize, goes: bool) -> Option<Found<'a>> {
        let Self {
            profile, argument: Argument { buffer, datatype, is_read, .. }, count, blocks, all, ..
        } = *self;
        if !engine.may_lie_at(buffer) {
            self.stays_by(Stays::Address);
            return None;
        }
        if is_counting() {
            let origin = buffer.wrapping_byte_offset(place.checked_mul(engine.plan().extent())?);
            match (mode::is_on(), goes) {
                (false, true) => profile.note_packable(blocks, all),
                (false, false) => self.stays_by(Stays::Size),
                (true, _) if call.packs() => {}
                (true, _) if mode::packs(call.name()) => self.stays_by(Stays::Tool),
                (true, _) => self.stays_by(Stays::Denied),
            }
            // The data of a persistent operation need not exist before the operation is started.
            if is_read && !is_preparing() {
                // SAFETY: promises 1 and 2 for the datatype, and promise 3 for the elements from `origin` on,
                // as the call reads them.
                unsafe { profile.compare(engine, datatype, origin, count) };
            }
        }
        call.packs().then_some(Found { engine, count, blocks, counted: profile })
    }
}

/// Returns the packed size of a datatype in bytes, and `true` if consecutive elements form one block. The
/// null datatype has size −1.
///
/// # Safety
/// Promises 1 and 2 for the datatype.
unsafe fn looked_at(datatype: MPI_Datatype) -> (i64, bool) {
    if datatype == native::MPI_DATATYPE_NULL() {
        return (-1, false);
    }
    let (mut size, mut lower, mut extent, mut first, mut span) = (0, 0, 0, 0, 0);
    // SAFETY: promises 1 and 2 for the datatype; there is room for a number each.
    unsafe {
        native::MPI_Type_size(datatype, &raw mut size);
        native::MPI_Type_get_extent(datatype, &raw mut lower, &raw mut extent);
        native::MPI_Type_get_true_extent(datatype, &raw mut first, &raw mut span);
    }
    (size.into(), [extent, span] == [MPI_Aint::from(size); 2])
}

/// The engine for `count` elements of a datatype, and the profile that counts them.
#[derive(Clone, Copy)]
pub(crate) struct Found<'a> {
    pub engine: &'a Engine,
    pub count: usize,
    /// The number of messages.
    blocks: usize,
    counted: &'a Arc<Profile>,
}

impl Found<'_> {
    /// Returns the datatype of one packed element as it is sent on a communicator, or `None` if the message
    /// is forwarded unchanged.
    pub fn sent(&self, communicator: MPI_Comm) -> Option<MPI_Datatype> {
        let packed = self.engine.sent(self.count, communicator);
        if packed.is_none() {
            let why = if self.engine.sends(self.count) { Stays::Peers } else { Stays::Size };
            self.counted.note_stay(why, self.blocks);
        }
        packed
    }

    /// Returns the part of `count` elements whose first element has its displacement 0 at `origin`.
    pub fn part(&self, origin: *mut u8, count: usize) -> StagedPart {
        let counted = is_describing().then(|| Arc::clone(self.counted));
        // If a part has several blocks, all of them have the same length.
        let messages = (count / self.count).max(1);
        StagedPart { plan: self.engine.plan().clone(), origin, count, messages, counted }
    }
}

/// Runs code that panics only by a fault of this library. If it panics, returns `None`, and the call is
/// forwarded unchanged.
pub(crate) fn or_else_plain<R>(run: impl FnOnce() -> Option<R>) -> Option<R> {
    catch_unwind(AssertUnwindSafe(run)).ok().flatten()
}

/// A number of elements of a datatype in the program's memory.
pub(crate) struct StagedPart {
    plan: Plan,
    /// The address of displacement 0 of the first element.
    origin: *mut u8,
    count: usize,
    /// The number of messages in the part.
    messages: usize,
    /// The profile that counts the part, if a report is wanted or messages are verified.
    counted: Option<Arc<Profile>>,
}

impl StagedPart {
    /// Returns the packed size in bytes, or `None` if it overflows.
    fn bytes(&self) -> Option<usize> {
        self.plan.packed_size().checked_mul(self.count)
    }

    /// Packs the part into the front of `target`, and returns the rest of `target`.
    ///
    /// # Safety
    /// Promise 3 for the part.
    pub unsafe fn pack<'a>(&self, target: &'a mut [u8]) -> &'a mut [u8] {
        // SAFETY: promise 3 for the part.
        unsafe { self.pack_as(self.messages, target) }
    }

    /// Like [`pack`](Self::pack), for a number of messages in a report: 0 if the part is packed so that bytes
    /// which do not arrive stay as they were.
    ///
    /// # Safety
    /// Promise 3 for the part.
    unsafe fn pack_as<'a>(&self, messages: usize, target: &'a mut [u8]) -> &'a mut [u8] {
        // SAFETY: promise 3: every byte of the part is readable, initialized and not written; MPI, too, would
        // read all of them.
        let data = unsafe { Data::from_raw_parts(&self.plan, self.count, self.origin) };
        let (packed, rest) = target.split_at_mut(data.packed_size());
        let bytes = if messages > 0 { packed.len() } else { 0 };
        let all = self.timed(messages, bytes, || data.pack_into(packed));
        debug_assert!(all.is_ok(), "there is room for all bytes");
        if let Some(verified) = self.counted.as_ref().and_then(|counted| counted.verified()) {
            // SAFETY: promise 1, as in a call of the program; promise 3 for the part.
            unsafe { verified.packed(self.origin, self.count, packed) };
        }
        rest
    }

    /// Unpacks the part from the front of `bytes`, as far as they reach, and returns the rest of `bytes`.
    ///
    /// # Safety
    /// Promise 4 for the part: the program leaves it alone until it knows that the message is complete.
    pub unsafe fn unpack<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        // SAFETY: promise 4: every byte of the part is writable, and used by no one else. Any bytes may be
        // written, as MPI would write them, and the program knows which bytes are initialized.
        let mut data = unsafe { DataMut::from_raw_parts(&self.plan, self.count, self.origin) };
        let (packed, rest) = bytes.split_at(data.packed_size().min(bytes.len()));
        let all = self.timed(self.messages, packed.len(), || data.unpack_range(0, packed));
        debug_assert!(all.is_ok(), "no more than all of it");
        if let Some(verified) = self.counted.as_ref().and_then(|counted| counted.verified()) {
            // SAFETY: promise 1, as in a call of the program; promise 4 for the part.
            unsafe { verified.unpacked(&self.plan, packed, self.origin) };
        }
        rest
    }

    fn timed<R>(&self, messages: usize, bytes: usize, run: impl FnOnce() -> R) -> R {
        match &self.counted {
            Some(counted) => counted.timed(messages, bytes, run),
            None => run(),
        }
    }
}

/// Parts that lie anywhere in the program's memory, and are packed one after the other.
pub(crate) enum Parts {
    One(StagedPart),
    Many(Vec<StagedPart>),
}

impl Parts {
    fn list(&self) -> &[StagedPart] {
        match self {
            Self::One(part) => std::slice::from_ref(part),
            Self::Many(parts) => parts,
        }
    }
}

/// Parts of the program's memory, with their packed buffer.
pub(crate) struct Staged {
    parts: Parts,
    /// The packed size of all parts in bytes.
    bytes: usize,
    buffer: PackBuffer,
}

// SAFETY: promises 3 and 4: the program leaves its memory alone until the message is complete, whichever
// thread completes the message.
unsafe impl Send for Staged {}

impl Staged {
    /// Allocates the packed buffer, or returns `None` if there is not enough memory.
    pub fn of(parts: Parts) -> Option<Self> {
        let bytes = parts.list().iter().try_fold(0usize, |sum, part| sum.checked_add(part.bytes()?))?;
        let buffer = PackBuffer::with_room(bytes.checked_add(GAP)?).ok()?;
        Some(Self { parts, bytes, buffer })
    }

    /// Packs the current contents of the program's memory, to send them.
    ///
    /// # Safety
    /// Promise 3 for all parts.
    pub unsafe fn pack(&mut self) {
        let mut target = &mut self.buffer[..self.bytes];
        for part in self.parts.list() {
            // SAFETY: promise 3 for this part.
            target = unsafe { part.pack(target) };
        }
    }

    /// Packs the current contents of a receive buffer, so that bytes which do not arrive stay as they were.
    ///
    /// # Safety
    /// Every byte of all parts is readable and initialized, as in promise 3.
    pub unsafe fn pack_kept(&mut self) {
        let mut target = &mut self.buffer[..self.bytes];
        for part in self.parts.list() {
            // SAFETY: the caller's condition for this part.
            target = unsafe { part.pack_as(0, target) };
        }
    }

    /// Returns the packed size of all parts in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the address of the packed buffer.
    pub fn place(&mut self) -> *mut c_void {
        self.buffer.as_mut_ptr().cast()
    }

    /// Unpacks the whole packed buffer.
    ///
    /// # Safety
    /// Promise 4 for all parts, as for [`StagedPart::unpack`].
    pub unsafe fn unpack(&mut self) {
        // SAFETY: promise 4 for all parts.
        unsafe { self.unpack_front(self.bytes) };
    }

    /// Unpacks the first `arrived` bytes of the packed buffer.
    ///
    /// # Safety
    /// Promise 4, as for [`unpack`](Self::unpack).
    unsafe fn unpack_front(&mut self, arrived: usize) {
        let mut bytes = &self.buffer[..arrived];
        for part in self.parts.list() {
            // SAFETY: promise 4 for this part.
            bytes = unsafe { part.unpack(bytes) };
        }
    }
}

/// The sent or the received side of a collective, one-sided or exchange call. A persistent call uses its
/// sides at each start.
pub(crate) struct StagedBlock {
    pub staged: Staged,
    /// `true` if the buffer is packed before the call: a send buffer, or a receive buffer with a block that
    /// the call leaves unchanged.
    pub is_packed: bool,
    /// `true` if the buffer is unpacked after the call.
    pub is_received: bool,
}

impl StagedBlock {
    /// Packs a buffer, to send or receive it as `MPI_PACKED` between peers. Also returns the arguments for
    /// the library. A receive buffer is packed, too, since no status says how many bytes have arrived. The
    /// buffer has `messages` messages: two if a message replaces the sent one. Returns `None` if the call is
    /// forwarded unchanged.
    ///
    /// # Safety
    /// 1. Promises 1 and 2 for the communicator and the datatype.
    /// 2. Every byte of the buffer is readable and initialized, as in promise 3, even if the call writes the
    ///    buffer.
    pub unsafe fn of_peers(
        call: &Call,
        argument: Argument,
        messages: usize,
        communicator: MPI_Comm,
    ) -> Option<(Self, Argument)> {
        let all = usize::try_from(argument.count).unwrap_or(0).saturating_mul(messages);
        // SAFETY: promises 1 and 2, by condition 1.
        let candidate = unsafe { argument.largest_of(messages, all) }?;
        or_else_plain(|| {
            // SAFETY: promises 1 and 2, by condition 1; promise 3 for a buffer that the call reads, by
            // condition 2.
            let found = unsafe { candidate.engine(call) }?;
            let (is_sent, count) = (argument.is_read, found.count);
            let goes = found.engine.received(count).is_some() && peers::all(communicator);
            (goes && found.engine.is_for_peers()).then_some(())?;
            (!is_sent || found.engine.sent(count, communicator).is_some()).then_some(())?;
            let staged = Staged::of(Parts::One(found.part(argument.buffer.cast(), count)))?;
            let mut block = Self { staged, is_packed: true, is_received: !is_sent };
            // SAFETY: promise 3 for a send buffer, and the same for a receive buffer, by condition 2.
            unsafe { block.begin() };
            let (place, bytes) = (block.staged.place(), block.staged.bytes() as i64);
            Some((
                block,
                Argument { buffer: place, count: bytes, datatype: packed_datatype().into(), ..argument },
            ))
        })
    }

    /// Packs the buffer before the call, if `is_packed` is set.
    ///
    /// # Safety
    /// Every byte of a buffer that is packed is readable and initialized, as in promise 3.
    pub unsafe fn begin(&mut self) {
        match (self.is_packed, self.is_received) {
            // SAFETY: the caller's condition, as the buffer is packed.
            (true, false) => unsafe { self.staged.pack() },
            // SAFETY: the caller's condition, as the buffer is packed.
            (true, true) => unsafe { self.staged.pack_kept() },
            (false, _) => {}
        }
    }

    /// Unpacks the buffer when the call is complete, if `is_received` is set.
    ///
    /// # Safety
    /// Promise 4, as for [`Staged::unpack`].
    pub unsafe fn finish(&mut self) {
        if self.is_received {
            // SAFETY: promise 4 for a buffer that is received.
            unsafe { self.staged.unpack() };
        }
    }
}

/// A status that is used if the program ignores statuses.
pub(crate) struct Status(MaybeUninit<MPI_Status>);

impl Status {
    pub fn new() -> Self {
        Self(MaybeUninit::zeroed())
    }

    /// Returns the program's status, or this one if the program ignores it.
    pub fn place(&mut self, of_program: *mut MPI_Status) -> *mut MPI_Status {
        if of_program == native::MPI_STATUS_IGNORE() { self.0.as_mut_ptr() } else { of_program }
    }
}

/// A message that is sent from a packed buffer.
pub(crate) struct Outgoing {
    staged: Staged,
    datatype: MPI_Datatype,
    count: i64,
}

// SAFETY: a handle names an object of the process, not of a thread (MPI 4.1 section 2.5.1).
unsafe impl Send for Outgoing {}

impl Outgoing {
    /// Packs a send buffer, or returns `None` if the call is forwarded unchanged.
    ///
    /// # Safety
    /// 1. Promises 1 and 2 for the communicator and the datatype.
    /// 2. Promise 3 for the buffer.
    #[inline]
    pub unsafe fn of(call: &Call, argument: Argument, communicator: MPI_Comm) -> Option<Self> {
        // SAFETY: promises 1 and 2, by condition 1.
        let candidate = unsafe { argument.candidate() }?;
        or_else_plain(|| {
            // SAFETY: conditions 1 and 2, as of the caller.
            let mut outgoing = unsafe { Self::room(call, candidate, communicator) }?;
            // SAFETY: promise 3, by condition 2.
            unsafe { outgoing.pack() };
            Some(outgoing)
        })
    }

    /// Allocates the packed buffer of a message of a persistent operation, which is packed at each start.
    ///
    /// # Safety
    /// Promises 1 and 2 for the communicator and the datatype. The call is in
    /// [`first_use::preparing`](crate::first_use::preparing).
    #[inline]
    pub unsafe fn unpacked(call: &Call, argument: Argument, communicator: MPI_Comm) -> Option<Self> {
        // SAFETY: promises 1 and 2, as of the caller.
        let candidate = unsafe { argument.candidate() }?;
        // SAFETY: promises 1 and 2, as of the caller; the operation is persistent.
        or_else_plain(|| unsafe { Self::room(call, candidate, communicator) })
    }

    /// Allocates the packed buffer of a candidate. Reads the program's buffer if a report is wanted, and the
    /// operation is not persistent.
    ///
    /// # Safety
    /// Promises 1 and 2 for the communicator and the datatype; unless the operation is persistent, promise 3
    /// for the buffer.
    unsafe fn room(call: &Call, candidate: Candidate<'_>, communicator: MPI_Comm) -> Option<Self> {
        // SAFETY: promises 1 to 3, as of the caller.
        let found = unsafe { candidate.engine(call) }?;
        let argument = candidate.argument;
        let datatype = found.sent(communicator)?;
        let staged = Staged::of(Parts::One(found.part(argument.buffer.cast(), found.count)))?;
        Some(Self { staged, datatype, count: argument.count })
    }

    /// Packs the current contents of the program's buffer.
    ///
    /// # Safety
    /// Promise 3 for the buffer: condition 2 of [`of`](Self::of).
    pub unsafe fn pack(&mut self) {
        // SAFETY: promise 3 for the buffer.
        unsafe { self.staged.pack() };
    }

    /// Returns the arguments for the library: the packed buffer, and the same count of its datatype.
    pub fn argument(&self) -> Argument {
        let Self { staged, datatype, count } = self;
        Argument::read(staged.buffer.as_ptr().cast(), *count, *datatype)
    }
}

/// A message that is received into a packed buffer.
pub(crate) struct Incoming {
    staged: Staged,
    /// The datatype of the packed buffer.
    datatype: MPI_Datatype,
    /// The number of elements of that datatype.
    count: i64,
    /// The number of bytes behind the gap: 0 without a truncation guard.
    behind: usize,
    /// The datatype with the gap, which is kept live.
    _whole: Option<Arc<Whole>>,
}

// SAFETY: a handle names an object of the process, not of a thread (MPI 4.1 section 2.5.1).
unsafe impl Send for Incoming {}

impl Incoming {
    /// Allocates the packed buffer for a message, which may be shorter than the buffer; a longer one is an
    /// error. The sender need not be a peer.
    ///
    /// # Safety
    /// Promises 1 and 2 for the datatype.
    #[inline]
    pub unsafe fn message(call: &Call, argument: Argument) -> Option<Self> {
        // SAFETY: promises 1 and 2 for the datatype.
        let candidate = unsafe { argument.candidate() }?;
        or_else_plain(|| {
            // SAFETY: promises 1 and 2 for the datatype; the call does not read the buffer, so promise 3 is
            // not needed.
            let found = unsafe { candidate.engine(call) }?;
            Self::with_gap(found, argument)
        })
    }

    /// Packs a sent message into a packed buffer that also receives the message which replaces it. Returns
    /// `None` if the call is forwarded unchanged.
    ///
    /// # Safety
    /// 1. Promises 1 and 2 for the communicator and the datatype.
    /// 2. Promise 3 for the buffer, before the call.
    pub unsafe fn replaced(call: &Call, argument: Argument, communicator: MPI_Comm) -> Option<Self> {
        // The call counts as two messages: one that is sent, and one that is received.
        let both = usize::try_from(argument.count).unwrap_or(0).saturating_mul(2);
        // SAFETY: promises 1 and 2, by condition 1.
        let candidate = unsafe { argument.largest_of(2, both) }?;
        or_else_plain(|| {
            // SAFETY: promises 1 to 3, by conditions 1 and 2.
            let found = unsafe { candidate.engine(call) }?;
            found.sent(communicator)?;
            let mut packed = Self::with_gap(found, argument)?;
            // SAFETY: promise 3, by condition 2.
            unsafe { packed.staged.pack() };
            let before = packed.staged.bytes - packed.behind;
            packed.staged.buffer.copy_within(before..before + packed.behind, before + GAP);
            Some(packed)
        })
    }

    /// Allocates the packed buffer for a received message, with the truncation guard if there is one.
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

    /// Returns the arguments for the library to receive into.
    pub fn argument(&mut self) -> Argument {
        Argument::written(self.staged.place(), self.count, self.datatype)
    }

    /// Receives a message by `receive`, and unpacks it. `receive` gets the program's status, or a status of
    /// this library if the program ignores statuses.
    ///
    /// # Safety
    /// 1. Condition 1 of [`arrived`](Self::arrived).
    /// 2. `receive` forwards the call with the arguments that it gets, and returns the library's code.
    pub unsafe fn receive(
        mut self,
        status: *mut MPI_Status,
        receive: impl FnOnce(Argument, *mut MPI_Status) -> c_int,
    ) -> c_int {
        let mut own = Status::new();
        let status = own.place(status);
        let code = receive(self.argument(), status);
        if code == SUCCESS {
            // SAFETY: condition 1 is that of the caller; by condition 2 the status is that of a message
            // without an error.
            unsafe { self.arrived(status) };
        }
        code
    }

    /// Unpacks the bytes of a message that have arrived, as its status says, unless the message was
    /// cancelled.
    ///
    /// # Safety
    /// 1. Promise 4 for the buffer: the program leaves it alone until it knows that the message is complete.
    /// 2. Promise 1; the status is that of the message, which was received without an error.
    pub unsafe fn arrived(&mut self, status: *const MPI_Status) {
        let (mut bytes, mut cancelled) = (0, 0);
        // SAFETY: promise 1 and the status, by condition 2; there is room for a flag and for a number.
        unsafe {
            native::MPI_Test_cancelled(status, &raw mut cancelled);
            native::MPI_Get_count(status, native::MPI_UINT8_T(), &raw mut bytes);
        }
        if cancelled == 0 {
            let bytes = usize::try_from(bytes).unwrap_or(0).min(self.staged.bytes);
            // SAFETY: promise 4 for the buffer, by condition 1.
            unsafe { self.unpack_front(bytes) };
        }
    }

    /// Closes the gap, and unpacks the first `arrived` bytes of the message.
    ///
    /// # Safety
    /// Promise 4 for the buffer, as in condition 1 of [`arrived`](Self::arrived).
    unsafe fn unpack_front(&mut self, arrived: usize) {
        let before = self.staged.bytes - self.behind;
        if arrived > before && self.behind > 0 {
            let behind = before + GAP..arrived + GAP;
            self.staged.buffer.copy_within(behind, before);
        }
        // SAFETY: promise 4 for the buffer.
        unsafe { self.staged.unpack_front(arrived) };
    }
}
