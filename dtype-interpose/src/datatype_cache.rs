//! The datatype cache. An entry is kept on its datatype as an attribute (MPI 4.1 section 7.7.4), since
//! handles are reused. Each thread also remembers the entries of some handles.

use std::{
    cell::Cell,
    os::raw::c_int,
    ptr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use dtype_mpi::{Attribute, Envelope, OnDatatype, number};

use crate::{
    call::{list, usable},
    doubts::DIFFERS,
    engine::Engine,
    first_use::{self, Message, State, Traffic},
    mode,
    native::{self, MPI_Datatype},
    policy::{LEAST, Policy},
    profile::{Phase, Profile, is_describing, timed},
};

/// A cache entry: what is known of a committed datatype that is not predefined.
pub(crate) struct CachedDatatype {
    /// The datatype's profile, with its engine as soon as a message is large enough. Duplicates share the
    /// profile. Unset until messages justify a plan, if another handle has the datatype's slot.
    counted: OnceLock<Arc<Profile>>,
    /// The messages before that.
    traffic: Traffic,
    /// The number of handles to the datatype that the library has returned beside the program's own.
    handed_out: AtomicUsize,
}

impl OnDatatype for CachedDatatype {
    fn of_duplicate(&self) -> Self {
        AGE.fetch_add(1, Ordering::Release);
        self.counted
            .get()
            .map_or_else(|| Self::unplanned(self.traffic.size()), |counted| Self::of(Arc::clone(counted)))
    }

    fn deleted(&self) {
        AGE.fetch_add(1, Ordering::Release);
    }
}

impl CachedDatatype {
    fn of(counted: Arc<Profile>) -> Self {
        let traffic = Traffic::new(counted.size);
        Self { counted: OnceLock::from(counted), traffic, handed_out: AtomicUsize::new(0) }
    }

    /// Creates the entry of an unplanned datatype with this packed size in bytes.
    fn unplanned(size: usize) -> Self {
        Self { counted: OnceLock::new(), traffic: Traffic::new(size), handed_out: AtomicUsize::new(0) }
    }

    /// Returns the datatype's profile.
    pub fn counted(&self) -> &Arc<Profile> {
        self.counted.get_or_init(|| Profile::new(self.traffic.size()))
    }

    /// Returns the packed size of `count` elements in bytes, or `None` if it exceeds an `int`. Such messages
    /// are forwarded unchanged.
    #[inline]
    pub fn bytes(&self, count: usize) -> Option<usize> {
        self.traffic.size().checked_mul(count).filter(|bytes| i32::try_from(*bytes).is_ok())
    }

    /// Returns `true` if a message of `count` elements may be worth packing.
    #[inline]
    pub fn takes(&self, count: usize) -> bool {
        self.bytes(count).is_some_and(|bytes| self.gate().takes(bytes))
    }

    /// Returns the policy for messages, as far as it is known.
    #[inline]
    fn gate(&self) -> Policy {
        self.gates().messages
    }

    /// Returns the policies, as far as they are known: before planning, all sizes from [`LEAST`] on.
    #[inline]
    fn gates(&self) -> Gates {
        match self.counted.get().and_then(|counted| counted.engine.get()) {
            Some(Ok(engine)) => Gates { messages: engine.gate(), packing: engine.packing() },
            Some(Err(_)) => Gates::NONE,
            None => Gates { messages: Policy::from(LEAST), packing: Policy::from(LEAST) },
        }
    }

    /// Returns the engine, if there is one, and plans the datatype first if necessary. `datatype` must be the
    /// handle of this entry.
    pub fn engine(&self, datatype: MPI_Datatype) -> Option<&Engine> {
        let counted = self.counted();
        let engine = counted.engine.get_or_init(|| {
            let (engine, took) = timed(|| Engine::of(datatype));
            counted.spent(Phase::Planning, took);
            if let (Err(DIFFERS), Some(verified)) =
                (engine.as_ref().map_err(String::as_str), counted.verified())
            {
                verified.is_forwarded(DIFFERS);
            }
            engine
        });
        decided(datatype, self.gates());
        engine.as_deref().ok()
    }
}

/// The attribute that keeps entries.
static ENTRIES: Attribute<CachedDatatype> = Attribute::new();

/// A number that rises when an entry is kept, copied or deleted. An entry that a thread remembers is valid
/// until the number rises.
static AGE: AtomicU64 = AtomicU64::new(1);

/// A handle that a thread has looked up, with the age at that time, and the entry or a null pointer.
#[derive(Clone, Copy)]
struct Seen {
    handle: usize,
    age: u64,
    known: *const CachedDatatype,
    /// The packed size of one element in bytes.
    size: usize,
    gates: Gates,
}

/// The policies of a datatype.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Gates {
    messages: Policy,
    /// The policy for `MPI_Pack` and `MPI_Unpack`.
    packing: Policy,
}

impl Gates {
    const NONE: Self = Self { messages: Policy::NONE, packing: Policy::NONE };
}

const NOT_SEEN: Seen = Seen { handle: 0, age: 0, known: ptr::null(), size: 0, gates: Gates::NONE };

/// The number of handles that a thread remembers. A handle has a fixed index, which it may share with others.
const REMEMBERED: usize = 32;

thread_local! {
    static SEEN: [Cell<Seen>; REMEMBERED] =
        const { [const { Cell::new(NOT_SEEN) }; REMEMBERED] };
}

/// Calls `look` with the cell in which this thread remembers a handle.
#[inline]
fn remembered<R>(handle: usize, look: impl FnOnce(&Cell<Seen>) -> R) -> Option<R> {
    // Pointers are multiples of 16 or more; integer handles differ in their last bits.
    SEEN.try_with(|seen| look(&seen[(handle ^ handle >> 7) % REMEMBERED])).ok()
}

/// Returns the cache entry of a datatype, or `None` if the datatype is predefined, uncommitted or unplanned.
///
/// # Safety
/// Promises 1 and 2: the datatype is not freed during `'a`.
#[inline]
pub(crate) unsafe fn known<'a>(datatype: MPI_Datatype) -> Option<&'a CachedDatatype> {
    let (handle, age) = (number(datatype), AGE.load(Ordering::Acquire));
    // An invalid handle in Fortran is a null pointer in C.
    if handle == 0 {
        return None;
    }
    let found = remembered(handle, |place| {
        let seen = place.get();
        if seen.handle == handle && seen.age == age {
            return seen.known;
        }
        let state = first_use::state(datatype);
        if state == State::Unplanned {
            return ptr::null();
        }
        // SAFETY: promises 1 and 2 for the datatype.
        let known = unsafe { look(datatype) };
        // SAFETY: by promise 2 the datatype is live, and so is its entry.
        let found = unsafe { known.as_ref() };
        let (size, gates) = found.map_or((0, Gates::NONE), |known| (known.traffic.size(), known.gates()));
        // SAFETY: promises 1 and 2 for the datatype. A datatype without an entry is remembered only if it is
        // predefined, since others may be committed later.
        if found.is_some() || unsafe { parts(datatype) } == 0 {
            place.set(Seen { handle, age, known, size, gates });
        }
        known
    });
    // SAFETY: an entry that an attribute keeps lives until the datatype is freed, by promise 2 not before
    // `'a` ends. An entry that a thread remembers has the current age, so no entry was deleted since.
    found.and_then(|known| unsafe { known.as_ref() })
}

/// Returns `true` if this thread remembers that messages of a datatype are forwarded unchanged: messages of
/// `count` elements, or all messages if `count` is `None`. Accepts invalid handles: arguments may be
/// insignificant on this rank.
#[inline]
pub(crate) fn stays(datatype: MPI_Datatype, count: Option<usize>) -> bool {
    seen(datatype).is_some_and(|seen| match count {
        Some(count) => !seen.gates.messages.takes(seen.size.saturating_mul(count)),
        None => seen.gates.messages == Policy::NONE,
    })
}

/// Returns `true` if this thread remembers that `MPI_Pack` and `MPI_Unpack` of `count` elements are forwarded
/// unchanged.
#[inline]
pub(crate) fn is_left_to_the_library(datatype: MPI_Datatype, count: usize) -> bool {
    seen(datatype).is_some_and(|seen| !seen.gates.packing.takes(seen.size.saturating_mul(count)))
}

/// Returns what this thread remembers of a datatype.
#[inline]
fn seen(datatype: MPI_Datatype) -> Option<Seen> {
    let (handle, age) = (number(datatype), AGE.load(Ordering::Acquire));
    remembered(handle, Cell::get).filter(|seen| seen.handle == handle && seen.age == age)
}

/// Updates the policies that this thread remembers of a datatype.
fn decided(datatype: MPI_Datatype, gates: Gates) {
    let handle = number(datatype);
    remembered(handle, |place| {
        let seen = place.get();
        if seen.handle == handle {
            place.set(Seen { gates, ..seen });
        }
    });
}

/// Returns `true` if messages of a datatype may be packed, now or later.
///
/// # Safety
/// Promises 1 and 2 for the datatype.
#[inline]
pub(crate) unsafe fn is_known(datatype: MPI_Datatype) -> bool {
    // SAFETY: promises 1 and 2 for the datatype.
    first_use::state(datatype) != State::Unknown || unsafe { known(datatype).is_some() }
}

/// Returns the cache entry of a datatype for a message, and plans the datatype first if this message
/// justifies it.
///
/// # Safety
/// Promises 1 and 2, as for [`known`].
#[inline]
pub(crate) unsafe fn known_with<'a>(datatype: MPI_Datatype, message: Message) -> Option<&'a CachedDatatype> {
    // SAFETY: promises 1 and 2, as for `known`.
    unsafe {
        match first_use::state(datatype) {
            State::Unplanned => first(datatype, message),
            State::Unknown | State::Known => match known(datatype) {
                Some(known) => planned(known, datatype, message),
                None => hidden(datatype, message.count),
            },
        }
    }
}

/// Plans an unplanned datatype if this message justifies it, and returns the entry.
///
/// # Safety
/// Promises 1 and 2, as for [`known`].
unsafe fn first<'a>(datatype: MPI_Datatype, message: Message) -> Option<&'a CachedDatatype> {
    // SAFETY: promises 1 and 2, as for `known`.
    unsafe {
        let counted = first_use::planned(datatype, message)?;
        keep(datatype, Arc::clone(&counted));
        let entry = known(datatype)?;
        // The datatype may have been committed before, when another handle had the slot.
        entry.counted.get_or_init(|| counted);
        Some(entry)
    }
}

/// Returns the entry of a datatype whose slot another handle has, and plans the datatype first if this
/// message justifies it.
///
/// # Safety
/// Promises 1 and 2, as for [`known`].
#[inline]
unsafe fn planned(
    entry: &CachedDatatype,
    datatype: MPI_Datatype,
    message: Message,
) -> Option<&CachedDatatype> {
    if entry.counted.get().is_none() {
        // SAFETY: promises 1 and 2, as for `known`.
        let counted = unsafe { first_use::planned_by(&entry.traffic, datatype, message) }?;
        entry.counted.get_or_init(|| counted);
        decided(datatype, entry.gates());
    }
    Some(entry)
}

/// Returns the entry of a datatype that no intercepted call has committed, for a message of `count` elements.
/// MPICH's `mpi_f08` creates such a datatype for each array section, for one message. The datatype is decoded
/// if that costs little beside the message. The entry is kept only if the message is packed: the MPI library
/// then does not use the datatype.
///
/// # Safety
/// Promises 1 and 2, as for [`known`].
#[inline]
unsafe fn hidden<'a>(datatype: MPI_Datatype, count: usize) -> Option<&'a CachedDatatype> {
    // SAFETY: promises 1 and 2, as for `known`.
    if native::may_be_a_section(datatype) { unsafe { look_behind(datatype, count) } } else { None }
}

/// Decodes a datatype that no intercepted call has committed, and returns its entry if the message is packed.
///
/// # Safety
/// Promises 1 and 2, as for [`known`].
#[cold]
unsafe fn look_behind<'a>(datatype: MPI_Datatype, count: usize) -> Option<&'a CachedDatatype> {
    /// The least packed size in bytes of a message for which decoding pays.
    const LEAST: usize = 16 << 10;
    // SAFETY: promises 1 and 2, as for `known`.
    unsafe {
        let bytes = size_of_derived(datatype)?.checked_mul(count).filter(|bytes| *bytes >= LEAST)?;
        let size = size_of_derived(datatype)?;
        let (engine, took) = timed(|| Engine::of(datatype));
        let engine = engine.ok().filter(|engine| mode::is_on() && engine.gate().takes(bytes))?;
        let counted = Profile::new(size);
        counted.spent(Phase::Planning, took);
        let _ = counted.engine.set(Ok(engine));
        if keep(datatype, Arc::clone(&counted)) {
            counted.describe(datatype);
        }
        known(datatype)
    }
}

/// Returns the entry that the datatype's attribute holds, or a null pointer.
///
/// # Safety
/// Promises 1 and 2 for the datatype.
#[cold]
unsafe fn look(datatype: MPI_Datatype) -> *const CachedDatatype {
    if datatype == native::MPI_DATATYPE_NULL() {
        return ptr::null();
    }
    // SAFETY: promises 1 and 2 for the datatype.
    unsafe { ENTRIES.get(&usable(), datatype.into()) }.ok().flatten().map_or(ptr::null(), ptr::from_ref)
}

/// Prepares a datatype that has just been committed. If it is described, or another handle has the slot,
/// an entry is kept at once; in the latter case, a short one.
///
/// # Safety
/// Promises 1 and 2: the datatype is live and committed.
pub(crate) unsafe fn committed(datatype: MPI_Datatype) {
    // SAFETY: promises 1 and 2 for the datatype.
    if !is_describing() && unsafe { first_use::committed(datatype) } {
        return;
    }
    // SAFETY: promises 1 and 2 for the datatype.
    unsafe {
        let Some(size) = size_of_derived(datatype) else { return };
        if !is_describing() {
            keep_entry(datatype, CachedDatatype::unplanned(size));
            return;
        }
        let counted = Profile::new(size);
        let (is_new, took) = timed(|| keep(datatype, Arc::clone(&counted)));
        if is_new {
            counted.spent(Phase::Commit, took);
            counted.describe(datatype);
        }
    }
}

/// Keeps an entry with a profile on a datatype, and returns `true` if it had none.
///
/// # Safety
/// Promises 1 and 2 for the datatype.
unsafe fn keep(datatype: MPI_Datatype, counted: Arc<Profile>) -> bool {
    // SAFETY: promises 1 and 2 for the datatype.
    unsafe { keep_entry(datatype, CachedDatatype::of(counted)) }
}

/// Keeps an entry on a datatype, and returns `true` if it had none.
///
/// # Safety
/// Promises 1 and 2 for the datatype.
unsafe fn keep_entry(datatype: MPI_Datatype, entry: CachedDatatype) -> bool {
    // SAFETY: promises 1 and 2 for the datatype.
    let is_new = unsafe { ENTRIES.keep(&usable(), datatype.into(), entry) }.unwrap_or(true);
    first_use::is_known_now(datatype);
    if is_new {
        AGE.fetch_add(1, Ordering::Release);
    }
    is_new
}

/// Returns the packed size of one element in bytes. Returns `None` if the datatype is predefined, has no
/// data, or has a size that is no `int`: its messages are forwarded unchanged.
///
/// # Safety
/// Promises 1 and 2 for the datatype.
unsafe fn size_of_derived(datatype: MPI_Datatype) -> Option<usize> {
    // The null datatype, too, has no parts. MPI would end the program if it were asked for its size.
    // SAFETY: promises 1 and 2 for the datatype.
    if unsafe { parts(datatype) } == 0 {
        return None;
    }
    let mut size = 0;
    // SAFETY: as above; there is room for a number.
    unsafe { native::MPI_Type_size(datatype, &raw mut size) };
    usize::try_from(size).ok().filter(|size| *size > 0)
}

/// Counts the handles that `MPI_Type_get_contents` has returned: one to each datatype that `datatype` was
/// made of.
///
/// # Safety
/// Promises 1 and 2 for the datatype and for the list of these handles.
pub(crate) unsafe fn handed_out(datatype: MPI_Datatype, first: *const MPI_Datatype) {
    // SAFETY: promises 1 and 2 for the datatype; the list has as many handles as the datatype was made of.
    let all = unsafe { list(first, parts(datatype)) };
    // SAFETY: promises 1 and 2 for the handles in the list.
    for known in all.iter().filter_map(|part| unsafe { known(*part) }) {
        known.handed_out.fetch_add(1, Ordering::Relaxed);
    }
}

/// Deletes the entry of a datatype before its handle is freed, if this is the program's last handle. MPICH
/// itself would delete the entry only when the last message is complete, by a callback within its progress
/// engine. During the callback, other threads may enter MPICH.
///
/// # Safety
/// Promises 1 and 2 for the datatype.
pub(crate) unsafe fn freed(datatype: MPI_Datatype) {
    let state = first_use::state(datatype);
    first_use::freed(datatype);
    if state == State::Unplanned {
        return;
    }
    // SAFETY: promises 1 and 2 for the datatype.
    let Some(known) = (unsafe { known(datatype) }) else { return };
    let others =
        known.handed_out.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |others| others.checked_sub(1));
    if others.is_err() {
        // SAFETY: promises 1 and 2 for the datatype, whose entry is used no more.
        unsafe { ENTRIES.delete(&usable(), datatype.into()) };
    }
}

/// Prepares a duplicate, which is committed if the original is (MPI 4.1 section 5.1.10). An entry of the
/// original has already been copied, with its attribute.
///
/// # Safety
/// Promises 1 and 2 for both datatypes.
pub(crate) unsafe fn duplicated(original: MPI_Datatype, new: MPI_Datatype) {
    if first_use::state(original) == State::Unplanned {
        // SAFETY: promises 1 and 2 for the duplicate, which is committed, since the original has a slot.
        unsafe { committed(new) };
    }
}

/// Frees the key of the attribute, before `MPI_Finalize`. Entries that are still kept are deleted with their
/// datatypes.
pub(crate) fn end() {
    first_use::end();
    // SAFETY: promise 1.
    ENTRIES.end(&unsafe { usable() });
    AGE.fetch_add(1, Ordering::Release);
}

/// Returns the number of datatypes that a datatype was made of: 0 for a predefined one.
///
/// # Safety
/// Promises 1 and 2 for the datatype.
unsafe fn parts(datatype: MPI_Datatype) -> c_int {
    // SAFETY: promises 1 and 2 for the datatype.
    let envelope = unsafe { Envelope::of(&usable(), datatype.into()) };
    envelope.map_or(0, |envelope| c_int::try_from(envelope.parts()).unwrap_or(c_int::MAX))
}
