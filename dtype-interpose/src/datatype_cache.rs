//! The datatype cache: where the [`State`] of a datatype is kept.
//!
//! A counted datatype takes a slot in a table of handles, so `MPI_Type_commit` stays cheap. Every other
//! state is kept on the datatype as an attribute (MPI 4.1 section 7.7.4), since handles are reused. If
//! another handle has the slot, a counted datatype has an attribute, too. Each thread also remembers the
//! entries of some handles.

use std::{
    cell::Cell,
    os::raw::c_int,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use dtype_mpi::{Attribute, Envelope, number};

use crate::{
    argument::Argument,
    call::{list, usable},
    datatype_state::{AGE, CachedDatatype, Policies, State},
    engine::Engine,
    first_use::{self, Next, Traffic},
    mode,
    native::{self, MPI_Datatype},
    policy::{LEAST, Policy},
    profile::{Phase, Profile, is_counting, is_describing, timed},
};

/// The slot of a handle that an intercepted call has committed. Each slot belongs to one handle.
struct Slot {
    /// The number of the handle, or 0.
    handle: AtomicUsize,
    /// `true` if the datatype has an entry, as an attribute.
    has_entry: AtomicBool,
    /// The messages of the datatype until it has an entry.
    traffic: Traffic,
}

const SLOTS: usize = 1 << 12;

static COMMITTED: [Slot; SLOTS] = [const {
    Slot { handle: AtomicUsize::new(0), has_entry: AtomicBool::new(false), traffic: Traffic::new(0) }
}; SLOTS];

impl Slot {
    /// Returns the slot that a handle has or may take.
    #[inline]
    fn for_handle(handle: usize) -> &'static Self {
        // Pointers are multiples of 16 or more; integer handles differ in their last bits.
        &COMMITTED[(handle ^ handle >> 4 ^ handle >> 16) % SLOTS]
    }

    /// Returns the slot of a datatype, if it has one. Accepts invalid handles.
    #[inline]
    fn of(datatype: MPI_Datatype) -> Option<&'static Self> {
        let handle = number(datatype);
        let slot = Self::for_handle(handle);
        (slot.handle.load(Ordering::Acquire) == handle && handle != 0).then_some(slot)
    }

    /// Takes the slot of a datatype that has just been committed. Returns `false` if another handle has the
    /// slot.
    ///
    /// # Safety
    /// Promises 1 and 2 for the datatype.
    #[inline]
    unsafe fn take(datatype: MPI_Datatype) -> bool {
        let handle = number(datatype);
        let slot = Self::for_handle(handle);
        let taken = slot.handle.compare_exchange(0, handle, Ordering::AcqRel, Ordering::Acquire);
        if taken.is_err_and(|other| other != handle) {
            return false;
        }
        slot.has_entry.store(false, Ordering::Relaxed);
        // SAFETY: promises 1 and 2 for the datatype.
        slot.traffic.restart(unsafe { first_use::packed_size(datatype) });
        true
    }

    /// Releases the slot of a datatype, if it has one.
    #[inline]
    fn release(datatype: MPI_Datatype) {
        let handle = number(datatype);
        // Threads may free one handle at the same time, since `MPI_Type_get_contents` returns it to each.
        // Only one of them releases the slot, which another handle may then take.
        let slot = Self::for_handle(handle);
        let _ = slot.handle.compare_exchange(handle, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// Returns the traffic of a counted datatype that has a slot and no entry. Accepts invalid handles.
#[inline]
fn counted(datatype: MPI_Datatype) -> Option<&'static Traffic> {
    Slot::of(datatype).filter(|slot| !slot.has_entry.load(Ordering::Relaxed)).map(|slot| &slot.traffic)
}

/// The attribute that keeps entries.
static ENTRIES: Attribute<CachedDatatype> = Attribute::new();

/// A handle that a thread has looked up, with the age at that time, and the entry or a null pointer.
#[derive(Clone, Copy)]
struct Seen {
    handle: usize,
    age: u64,
    entry: *const CachedDatatype,
    /// The packed size of one element in bytes.
    size: usize,
    policies: Policies,
}

impl Seen {
    /// Returns `true` if messages of `count` elements are forwarded unchanged.
    #[inline]
    fn forwards(&self, count: usize) -> bool {
        !self.policies.messages.takes(self.size.saturating_mul(count))
    }
}

const NOT_SEEN: Seen = Seen { handle: 0, age: 0, entry: ptr::null(), size: 0, policies: Policies::NONE };

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

/// Returns the entry of a datatype, or `None` if the datatype is predefined, uncommitted or has only a slot.
///
/// # Safety
/// Promises 1 and 2: the datatype is not freed during `'a`.
#[inline]
unsafe fn entry<'a>(datatype: MPI_Datatype) -> Option<&'a CachedDatatype> {
    let (handle, age) = (number(datatype), AGE.load(Ordering::Acquire));
    // An invalid handle in Fortran is a null pointer in C.
    if handle == 0 {
        return None;
    }
    let found = remembered(handle, |place| {
        let seen = place.get();
        if seen.handle == handle && seen.age == age {
            return seen.entry;
        }
        // SAFETY: promises 1 and 2 for the datatype.
        let entry = unsafe { look(datatype) };
        // SAFETY: by promise 2 the datatype is live, and so is its entry.
        let found = unsafe { entry.as_ref() };
        let size = found.map_or(0, CachedDatatype::size);
        let policies = found.map_or(Policies::NONE, |found| found.state().policies());
        // SAFETY: promises 1 and 2 for the datatype. A datatype without an entry is remembered only if it is
        // predefined, since others may be committed later.
        if found.is_some() || unsafe { parts(datatype) } == 0 {
            place.set(Seen { handle, age, entry, size, policies });
        }
        entry
    });
    // SAFETY: an entry that an attribute keeps lives until the datatype is freed, by promise 2 not before
    // `'a` ends. An entry that a thread remembers has the current age, so no entry was deleted since.
    found.and_then(|entry| unsafe { entry.as_ref() })
}

/// Returns `true` if messages of a datatype are forwarded unchanged, as far as that is known without queries:
/// messages of `count` elements, or all messages if `count` is `None`. Accepts invalid handles: arguments may
/// be insignificant on this rank.
#[inline]
pub(crate) fn stays(datatype: MPI_Datatype, count: Option<usize>) -> bool {
    if !mode::is_on() {
        return true;
    }
    if let Some(seen) = seen(datatype) {
        return match count {
            Some(count) => seen.forwards(count),
            None => seen.policies.messages == Policy::NONE,
        };
    }
    // Messages that are too small are not counted.
    let size = counted(datatype).map(Traffic::size);
    size.zip(count).is_some_and(|(size, count)| size.checked_mul(count).is_some_and(|bytes| bytes < LEAST))
}

/// Returns `true` if a message is forwarded unchanged, as far as that is known without queries, and is not
/// counted for a report. Most messages of most programs go this way.
#[inline]
pub(crate) fn is_forwarded(message: &Argument) -> bool {
    let Some(count) = message.elements() else { return true };
    if is_counting() {
        return false;
    }
    if !mode::is_on() {
        return true;
    }
    if let Some(seen) = seen(message.datatype) {
        return seen.forwards(count);
    }
    counted(message.datatype).is_some_and(|traffic| first_use::stays_counted(traffic, message))
}

/// Returns `true` if `MPI_Pack` and `MPI_Unpack` of `count` elements are forwarded unchanged, as far as this
/// thread remembers.
#[inline]
pub(crate) fn is_left_to_the_library(datatype: MPI_Datatype, count: usize) -> bool {
    !mode::is_on()
        || seen(datatype).is_some_and(|seen| !seen.policies.packing.takes(seen.size.saturating_mul(count)))
}

/// Returns what this thread remembers of a datatype.
#[inline]
fn seen(datatype: MPI_Datatype) -> Option<Seen> {
    let (handle, age) = (number(datatype), AGE.load(Ordering::Acquire));
    remembered(handle, Cell::get).filter(|seen| seen.handle == handle && seen.age == age)
}

/// Returns `true` if messages of a datatype may be packed, now or later.
///
/// # Safety
/// Promises 1 and 2 for the datatype.
#[inline]
pub(crate) unsafe fn is_known(datatype: MPI_Datatype) -> bool {
    // SAFETY: promises 1 and 2 for the datatype.
    Slot::of(datatype).is_some() || unsafe { entry(datatype).is_some() }
}

/// Returns the state of the datatype of a message, and plans the datatype first if this message justifies it.
///
/// # Safety
/// Promises 1 and 2: the datatype is not freed during `'a`.
#[inline]
pub(crate) unsafe fn state_for<'a>(message: &Argument) -> State<'a> {
    let datatype = message.datatype;
    if !mode::is_on() && !is_counting() {
        return State::Unknown;
    }
    // SAFETY: promises 1 and 2, as of the caller.
    unsafe {
        let state = match counted(datatype) {
            Some(traffic) => State::Counted(traffic),
            None => entry(datatype).map_or(State::Unknown, CachedDatatype::state),
        };
        match state {
            State::Unknown => hidden(message),
            State::Counted(traffic) => count(traffic, message),
            State::Described(_) | State::Planned(..) | State::Refused(_) => state,
        }
    }
}

/// Counts a message of a datatype with this traffic, and plans the datatype if this message justifies it.
/// Returns the new state.
///
/// # Safety
/// Promises 1 and 2, as for [`state_for`].
unsafe fn count<'a>(traffic: &'a Traffic, message: &Argument) -> State<'a> {
    let datatype = message.datatype;
    // SAFETY: promises 1 and 2, as of the caller.
    unsafe {
        match first_use::next_state(traffic, message) {
            None => State::Counted(traffic),
            Some(Next::Predefined) => {
                Slot::release(datatype);
                State::Unknown
            }
            Some(Next::Planned(profile)) => {
                keep(datatype, CachedDatatype::of(Arc::clone(&profile)));
                // The datatype may have been committed before, when another handle had the slot.
                entry(datatype).map_or(State::Unknown, |entry| entry.decided(profile))
            }
        }
    }
}

/// Returns the state of a datatype that no intercepted call has committed, for a message. MPICH's `mpi_f08`
/// creates such a datatype for each array section, for one message. The datatype is decoded if that costs
/// little beside the message. The entry is kept only if the message is packed: the MPI library then does not
/// use the datatype.
///
/// # Safety
/// Promises 1 and 2, as for [`state_for`].
#[inline]
unsafe fn hidden<'a>(message: &Argument) -> State<'a> {
    if !native::may_be_a_section(message.datatype) {
        return State::Unknown;
    }
    // SAFETY: promises 1 and 2, as of the caller.
    unsafe { look_behind(message) }.map_or(State::Unknown, CachedDatatype::state)
}

/// Decodes a datatype that no intercepted call has committed, and returns its entry if the message is packed.
///
/// # Safety
/// Promises 1 and 2, as for [`state_for`].
#[cold]
unsafe fn look_behind<'a>(message: &Argument) -> Option<&'a CachedDatatype> {
    /// The least packed size in bytes of a message for which decoding pays.
    const LEAST: usize = 16 << 10;
    // SAFETY: promises 1 and 2, as of the caller.
    unsafe {
        let datatype = message.datatype;
        let bytes =
            size_of_derived(datatype)?.checked_mul(message.elements()?).filter(|bytes| *bytes >= LEAST)?;
        mode::is_on().then_some(())?;
        let (engine, took) = timed(|| Engine::of(datatype));
        let engine = engine.ok().filter(|engine| engine.policy().takes(bytes))?;
        let profile = Profile::of(engine, took);
        if keep(datatype, CachedDatatype::of(Arc::clone(&profile))) {
            profile.describe(datatype);
        }
        entry(datatype)
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
    if !is_describing() && unsafe { Slot::take(datatype) } {
        return;
    }
    // SAFETY: promises 1 and 2 for the datatype.
    unsafe {
        let Some(size) = size_of_derived(datatype) else { return };
        if !is_describing() {
            keep(datatype, CachedDatatype::counted(size));
            return;
        }
        let profile = Profile::new(size);
        let (is_new, took) = timed(|| keep(datatype, CachedDatatype::of(Arc::clone(&profile))));
        if is_new {
            profile.spent(Phase::Commit, took);
            profile.describe(datatype);
        }
    }
}

/// Keeps an entry on a datatype, and returns `true` if it had none.
///
/// # Safety
/// Promises 1 and 2 for the datatype.
unsafe fn keep(datatype: MPI_Datatype, entry: CachedDatatype) -> bool {
    // SAFETY: promises 1 and 2 for the datatype.
    let is_new = unsafe { ENTRIES.keep(&usable(), datatype.into(), entry) }.unwrap_or(true);
    if let Some(slot) = Slot::of(datatype) {
        slot.has_entry.store(true, Ordering::Relaxed);
    }
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
    // SAFETY: as above.
    let size = unsafe { first_use::packed_size(datatype) };
    (size > 0).then_some(size)
}

/// Returns the entry of a datatype that may be counted in a slot.
///
/// # Safety
/// Promises 1 and 2, as for [`entry`].
unsafe fn kept<'a>(datatype: MPI_Datatype) -> Option<&'a CachedDatatype> {
    // SAFETY: promises 1 and 2, as of the caller.
    if counted(datatype).is_some() { None } else { unsafe { entry(datatype) } }
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
    for entry in all.iter().filter_map(|part| unsafe { kept(*part) }) {
        entry.handed_out.fetch_add(1, Ordering::Relaxed);
    }
}

/// Deletes the entry of a datatype before its handle is freed, if this is the program's last handle. MPICH
/// itself would delete the entry only when the last message is complete, by a callback within its progress
/// engine. During the callback, other threads may enter MPICH.
///
/// # Safety
/// Promises 1 and 2 for the datatype.
pub(crate) unsafe fn freed(datatype: MPI_Datatype) {
    // SAFETY: promises 1 and 2 for the datatype.
    let kept = unsafe { kept(datatype) };
    Slot::release(datatype);
    let Some(entry) = kept else { return };
    let others =
        entry.handed_out.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |others| others.checked_sub(1));
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
    if counted(original).is_some() {
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
