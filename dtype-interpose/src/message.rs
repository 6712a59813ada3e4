//! The decision about a message: if it is packed, by which engine, and why not.

use std::sync::Arc;

use crate::{
    argument::{Argument, Transfer},
    call::Call,
    datatype_cache::{is_left_to_the_library, state_for},
    datatype_state::State,
    engine::Engine,
    first_use::is_preparing,
    mode,
    native::{self, MPI_Aint, MPI_Comm, MPI_Datatype},
    part::Part,
    policy::LEAST,
    profile::{Profile, Stays, is_counting, is_describing},
};

/// A message that may be packed: the arguments of a buffer whose datatype has a profile.
///
/// # Safety
/// The functions that create a message have these conditions: promises 1 and 2, and the datatype is not freed
/// during `'a`.
#[derive(Clone, Copy)]
pub(crate) struct Message<'a> {
    argument: Argument,
    state: State<'a>,
    profile: &'a Arc<Profile>,
    /// The number of elements, of the largest block if there are several.
    pub count: usize,
    /// The number of messages.
    blocks: usize,
    /// The number of elements in all messages.
    all: usize,
}

impl<'a> Message<'a> {
    /// Returns the message of a buffer, or `None` if it is not worth packing. Counts the message if a report
    /// is wanted.
    ///
    /// # Safety
    /// Conditions of [`Message`].
    #[inline(always)]
    pub unsafe fn new(argument: &Argument) -> Option<Self> {
        let messages = if argument.transfer == Transfer::Replace { 2 } else { 1 };
        let all = argument.elements()?.saturating_mul(messages);
        // SAFETY: promises 1 and 2 for the datatype, during `'a`.
        unsafe { Self::with_blocks(argument, messages, all) }
    }

    /// Like [`new`](Self::new), for the largest of `blocks` blocks, which have `all` elements together.
    ///
    /// # Safety
    /// Conditions of [`Message`].
    #[inline]
    pub unsafe fn with_blocks(argument: &Argument, blocks: usize, all: usize) -> Option<Self> {
        // SAFETY: promises 1 and 2 for the datatype, during `'a`.
        let message = unsafe { Self::counted(argument, blocks, all) }?;
        let bytes = message.profile.bytes(message.count);
        if bytes.is_some_and(|bytes| message.state.takes(bytes)) {
            return Some(message);
        }
        message.stays()
    }

    /// Like [`new`](Self::new), for a call that only packs or unpacks.
    ///
    /// # Safety
    /// Conditions of [`Message`].
    #[inline]
    pub unsafe fn for_packing(argument: &Argument) -> Option<Self> {
        let count = usize::try_from(argument.count).ok()?;
        if !is_counting() && is_left_to_the_library(argument.datatype, count) {
            return None;
        }
        // SAFETY: promises 1 and 2 for the datatype, during `'a`.
        unsafe { Self::of_any_size(argument) }
    }

    /// Like [`new`](Self::new), for calls with other policies than messages: any non-empty transfer.
    ///
    /// # Safety
    /// Conditions of [`Message`].
    #[inline]
    pub unsafe fn of_any_size(argument: &Argument) -> Option<Self> {
        // SAFETY: promises 1 and 2 for the datatype, during `'a`.
        unsafe { Self::counted(argument, 1, argument.elements()?) }
    }

    /// Returns a message of any size, and counts it if a report is wanted.
    ///
    /// # Safety
    /// Conditions of [`Message`].
    #[inline(always)]
    unsafe fn counted(argument: &Argument, blocks: usize, all: usize) -> Option<Self> {
        let count = argument.elements()?;
        // SAFETY: promises 1 and 2 for the datatype, during `'a`.
        let state = unsafe { state_for(argument) };
        let profile = state.profile()?;
        if is_counting() {
            profile.note(blocks, all);
        }
        Some(Self { argument: *argument, state, profile, count, blocks, all })
    }

    /// Counts a call that is forwarded unchanged because of the layout or the size. Returns `None`.
    #[inline]
    fn stays<R>(&self) -> Option<R> {
        if is_counting() {
            let why = match (self.profile.bytes(self.count), self.profile.engine()) {
                (None, _) => Stays::Large,
                (Some(_), Some(Err(_))) => Stays::Layout,
                (Some(_), Some(Ok(engine))) if engine.reason().is_some() => Stays::Layout,
                (Some(bytes), Some(Ok(engine))) if !engine.policy().is_above(bytes) => Stays::Size,
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

    /// Returns the engine, or `None` if the call is forwarded unchanged.
    ///
    /// # Safety
    /// Promises 1 and 2 for the datatype, and promise 3 for the buffer if the call reads it.
    pub unsafe fn engine(&self, call: &Call) -> Option<&'a Engine> {
        // SAFETY: promises 1 and 2 for the datatype, and promise 3 for a buffer that the call reads.
        unsafe { self.engine_at(call, 0) }
    }

    /// Like [`engine`](Self::engine), for a message whose first element lies `place` elements behind the
    /// start of the buffer.
    ///
    /// # Safety
    /// As for [`engine`](Self::engine), for the elements of the message.
    pub unsafe fn engine_at(&self, call: &Call, place: isize) -> Option<&'a Engine> {
        let engine = self.state.engine(self.argument.datatype);
        let bytes = self.profile.bytes(self.count);
        let is_collective = self.argument.is_collective;
        let admits = |engine: &&Engine| bytes.is_some_and(|bytes| engine.admits(bytes, is_collective));
        let Some(engine) = engine.filter(admits) else {
            return self.stays();
        };
        // SAFETY: promises 1 and 2 for the datatype, and promise 3 for a buffer that the call reads.
        unsafe { self.admitted(call, engine, place, engine.received(self.count).is_some()) }
    }

    /// Like [`engine`](Self::engine), for a call that only packs or unpacks.
    ///
    /// # Safety
    /// As for [`engine`](Self::engine).
    pub unsafe fn packing_engine(&self, call: &Call) -> Option<&'a Engine> {
        let bytes = self.profile.bytes(self.count).filter(|bytes| *bytes >= LEAST);
        let engine = bytes.and_then(|_| self.state.engine(self.argument.datatype));
        let Some(engine) = engine.filter(|engine| bytes.is_some_and(|bytes| engine.packing().takes(bytes)))
        else {
            return self.stays();
        };
        // SAFETY: promises 1 and 2 for the datatype, and promise 3 for a buffer that the call reads.
        unsafe { self.admitted(call, engine, 0, true) }
    }

    /// Like [`engine`](Self::engine), for a one-sided call with `count` elements of the datatype `there` in
    /// the window. Also returns the datatype of one packed element. If the target's size differs, the call is
    /// forwarded unchanged: a smaller target leaves the rest of this buffer untouched.
    ///
    /// # Safety
    /// As for [`engine`](Self::engine), and promise 2 for the datatype `there`.
    pub unsafe fn moving_engine(
        &self,
        call: &Call,
        (count, there): (i64, MPI_Datatype),
    ) -> Option<(&'a Engine, MPI_Datatype)> {
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
            Some((self.admitted(call, engine, 0, true)?, packed))
        }
    }

    /// Returns the engine. Returns `None` if the buffer's address, the settings or another tool prevent
    /// packing, and counts the reason. `goes` is `true` if the policy admits the size.
    ///
    /// # Safety
    /// As for [`engine_at`](Self::engine_at).
    unsafe fn admitted(
        &self,
        call: &Call,
        engine: &'a Engine,
        place: isize,
        goes: bool,
    ) -> Option<&'a Engine> {
        let Self { argument: Argument { buffer, datatype, .. }, profile, count, blocks, all, .. } = *self;
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
            if self.argument.is_read() && !is_preparing() {
                // SAFETY: promises 1 and 2 for the datatype, and promise 3 for the elements from `origin` on,
                // as the call reads them.
                unsafe { profile.compare(engine, datatype, origin, count) };
            }
        }
        call.packs().then_some(engine)
    }

    /// Returns the datatype of one packed element as it is sent on a communicator, or `None` if the message
    /// is forwarded unchanged.
    pub fn sent(&self, engine: &Engine, communicator: MPI_Comm) -> Option<MPI_Datatype> {
        let packed = engine.sent(self.count, communicator);
        if packed.is_none() {
            self.stays_by(if engine.sends(self.count) { Stays::Peers } else { Stays::Size });
        }
        packed
    }

    /// Returns the datatype of one packed element as it is received, or `None` if the message is forwarded
    /// unchanged.
    pub fn received(&self, engine: &Engine) -> Option<MPI_Datatype> {
        let packed = engine.received(self.count);
        if packed.is_none() {
            self.stays_by(Stays::Size);
        }
        packed
    }

    /// Returns the whole message as a part of the program's memory.
    pub fn part(&self, engine: &Engine) -> Part {
        self.part_at(engine, self.argument.buffer.cast(), self.count)
    }

    /// Returns the part of `count` elements whose first element has its displacement 0 at `origin`.
    pub fn part_at(&self, engine: &Engine, origin: *mut u8, count: usize) -> Part {
        let profile = is_describing().then(|| Arc::clone(self.profile));
        // If a part has several blocks, all of them have the same length.
        let messages = (count / self.count).max(1);
        Part { plan: engine.plan().clone(), origin, count, messages, profile }
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
    let mut size = 0;
    let (mut lower, mut extent) = (0, 0);
    let (mut first, mut span) = (0, 0);
    // SAFETY: promises 1 and 2 for the datatype; there is room for a number each.
    unsafe {
        native::MPI_Type_size(datatype, &raw mut size);
        native::MPI_Type_get_extent(datatype, &raw mut lower, &raw mut extent);
        native::MPI_Type_get_true_extent(datatype, &raw mut first, &raw mut span);
    }
    (size.into(), [extent, span] == [MPI_Aint::from(size); 2])
}
