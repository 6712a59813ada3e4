//! What is known of a datatype: kept on it as an attribute (MPI 4.1 section 7.7.4), since handles are used
//! again, and found by its handle.

use std::{
    cell::Cell,
    os::raw::{c_int, c_void},
    ptr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use mpi::ffi::{self, MPI_Datatype};

use crate::{
    call::list,
    engine::Engine,
    first_use::{self, Message, State},
    gate::{Gate, LEAST},
    handle::number,
    lock::lock,
    mode,
    usage::{Counted, Phase, is_counting, timed},
};

/// What is known of a committed datatype that is not predefined.
pub(crate) struct Known {
    /// How it is packed, found out at the first message that is large enough; and what was done with it.
    /// Duplicates share it.
    pub counted: Arc<Counted>,
    /// Handles to it that the library has given out beside the program's own.
    handed_out: AtomicUsize,
}

impl Known {
    /// As an attribute keeps it.
    fn kept(counted: Arc<Counted>) -> *mut Self {
        Box::into_raw(Box::new(Self { counted, handed_out: AtomicUsize::new(0) }))
    }

    /// Packed bytes of so many. What has more than an MPI count stays as it is.
    #[inline]
    pub fn bytes(&self, count: usize) -> Option<usize> {
        self.counted.size.checked_mul(count).filter(|bytes| i32::try_from(*bytes).is_ok())
    }

    /// Whether a message of so many may be worth packing.
    #[inline]
    pub fn takes(&self, count: usize) -> bool {
        self.bytes(count).is_some_and(|bytes| self.gate().takes(bytes))
    }

    /// Which messages may be worth packing, as far as this is known.
    #[inline]
    fn gate(&self) -> Gate {
        self.gates().messages
    }

    #[inline]
    fn gates(&self) -> Gates {
        match self.counted.engine.get() {
            Some(Ok(engine)) => Gates { messages: engine.gate(), packing: engine.packing() },
            Some(Err(_)) => Gates::NONE,
            None => Gates { messages: Gate::from(LEAST), packing: Gate::from(LEAST) },
        }
    }

    /// How it is packed, if some messages of it are. `datatype` is the one that this is known of.
    pub fn engine(&self, datatype: MPI_Datatype) -> Option<&Engine> {
        let engine = self.counted.engine.get_or_init(|| {
            let (engine, took) = timed(|| Engine::of(datatype));
            self.counted.spent(Phase::Planning, took);
            engine
        });
        decided(datatype, self.gates());
        engine.as_ref().ok()
    }
}

/// The key of the attribute, made when the first datatype is committed. It is not locked while MPI is asked
/// for a datatype, which may ask for the key.
static KEY: Mutex<Option<c_int>> = Mutex::new(None);

/// Rises with every datatype that is freed or committed: what threads remember of handles is as old as this.
static AGE: AtomicU64 = AtomicU64::new(1);

/// A handle that a thread has looked for, when, and what was found.
#[derive(Clone, Copy)]
struct Seen {
    handle: usize,
    age: u64,
    known: *const Known,
    /// Packed bytes of one.
    size: usize,
    gates: Gates,
}

/// The gates of a datatype.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Gates {
    messages: Gate,
    /// The gate of `MPI_Pack` and `MPI_Unpack`.
    packing: Gate,
}

impl Gates {
    const NONE: Self = Self { messages: Gate::NONE, packing: Gate::NONE };
}

const NOT_SEEN: Seen = Seen { handle: 0, age: 0, known: ptr::null(), size: 0, gates: Gates::NONE };

/// How many handles a thread remembers, each in a place of its own.
const REMEMBERED: usize = 32;

thread_local! {
    static SEEN: [Cell<Seen>; REMEMBERED] =
        const { [const { Cell::new(NOT_SEEN) }; REMEMBERED] };
}

/// Where a thread remembers a handle.
#[inline]
fn remembered<R>(handle: usize, look: impl FnOnce(&Cell<Seen>) -> R) -> Option<R> {
    // Pointers are multiples of 16 or more, integers have their numbers in the last bits.
    SEEN.try_with(|seen| look(&seen[(handle ^ handle >> 7) % REMEMBERED])).ok()
}

/// What is known of a datatype; nothing of one that is predefined, or was not committed.
///
/// # Safety
/// 1. MPI is usable. 2. For `'a` the datatype is not freed.
#[inline]
pub(crate) unsafe fn known<'a>(datatype: MPI_Datatype) -> Option<&'a Known> {
    let (handle, age) = (number(datatype), AGE.load(Ordering::Acquire));
    // What is no handle in Fortran is a null pointer in C.
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
        // SAFETY: 1 and 2, as the caller promises.
        let known = unsafe { look(datatype) };
        // SAFETY: by 2 it lives.
        let found = unsafe { known.as_ref() };
        let (size, gates) = found.map_or((0, Gates::NONE), |known| (known.counted.size, known.gates()));
        // SAFETY: 1 and 2. What is not predefined may be committed later.
        if found.is_some() || unsafe { dtype_interpose_parts(datatype) } == 0 {
            place.set(Seen { handle, age, known, size, gates });
        }
        known
    });
    // SAFETY: what an attribute has kept lives until the datatype is freed, by 2 not before `'a` ends. What a
    // thread remembers is as old as the last that was freed.
    found.and_then(|known| unsafe { known.as_ref() })
}

/// Whether a thread remembers that messages of a datatype stay as they are, so many or any number of them.
/// What is not significant in a call, and may be no handle at all, may be asked for.
#[inline]
pub(crate) fn stays(datatype: MPI_Datatype, count: Option<usize>) -> bool {
    seen(datatype).is_some_and(|seen| match count {
        Some(count) => !seen.gates.messages.takes(seen.size.saturating_mul(count)),
        None => seen.gates.messages == Gate::NONE,
    })
}

/// Returns `true` if a thread remembers that `MPI_Pack` and `MPI_Unpack` of so many stay with the library.
#[inline]
pub(crate) fn is_left_to_the_library(datatype: MPI_Datatype, count: usize) -> bool {
    seen(datatype).is_some_and(|seen| !seen.gates.packing.takes(seen.size.saturating_mul(count)))
}

/// Returns the entry of a datatype among those that this thread remembers.
#[inline]
fn seen(datatype: MPI_Datatype) -> Option<Seen> {
    let (handle, age) = (number(datatype), AGE.load(Ordering::Acquire));
    remembered(handle, Cell::get).filter(|seen| seen.handle == handle && seen.age == age)
}

/// Has a thread remember what of a datatype may be worth leaving to a plan.
fn decided(datatype: MPI_Datatype, gates: Gates) {
    let handle = number(datatype);
    remembered(handle, |place| {
        let seen = place.get();
        if seen.handle == handle {
            place.set(Seen { gates, ..seen });
        }
    });
}

/// Returns `true` if messages of a datatype may go packed, now or later.
///
/// # Safety
/// 1 and 2 of [`known`].
#[inline]
pub(crate) unsafe fn is_known(datatype: MPI_Datatype) -> bool {
    // SAFETY: 1 and 2.
    first_use::state(datatype) != State::Unknown || unsafe { known(datatype).is_some() }
}

/// Returns what is known of a datatype with this message, for which it may be planned.
///
/// # Safety
/// 1 and 2 of [`known`].
#[inline]
pub(crate) unsafe fn known_with<'a>(datatype: MPI_Datatype, message: Message) -> Option<&'a Known> {
    // SAFETY: 1 and 2.
    unsafe {
        match first_use::state(datatype) {
            State::Unplanned => first(datatype, message),
            State::Unknown | State::Known => known(datatype).or_else(|| hidden(datatype, message.count)),
        }
    }
}

/// # Safety
/// 1 and 2 of [`known`].
unsafe fn first<'a>(datatype: MPI_Datatype, message: Message) -> Option<&'a Known> {
    // SAFETY: 1 and 2.
    unsafe {
        let counted = first_use::planned(datatype, message)?;
        keep(datatype, counted);
        known(datatype)
    }
}

/// What becomes known of a datatype that no call has committed here, and of which so many are sent or
/// received: MPICH's `mpi_f08` makes one for each array section, for one message. It is taken apart where
/// that is little beside the message, and kept where the message goes packed: then the library has no use of
/// it.
///
/// # Safety
/// 1 and 2 of [`known`].
#[inline]
unsafe fn hidden<'a>(datatype: MPI_Datatype, count: usize) -> Option<&'a Known> {
    // SAFETY: 1 and 2.
    if is_predefined(datatype) { None } else { unsafe { look_behind(datatype, count) } }
}

/// Whether a handle is, at a glance, that of a predefined datatype.
#[inline]
fn is_predefined(datatype: MPI_Datatype) -> bool {
    /// The first two bits of MPICH's handles.
    const BUILTIN: usize = 1;
    // In others all that programs send they have committed.
    cfg!(any(open_mpi, standard_abi)) || (number(datatype) >> 30) & 3 == BUILTIN
}

/// # Safety
/// 1 and 2 of [`known`].
#[cold]
unsafe fn look_behind<'a>(datatype: MPI_Datatype, count: usize) -> Option<&'a Known> {
    /// Packed bytes of a message that is worth it.
    const LEAST: usize = 16 << 10;
    // SAFETY: 1 and 2.
    unsafe {
        let bytes = size_of_derived(datatype)?.checked_mul(count).filter(|bytes| *bytes >= LEAST)?;
        let size = size_of_derived(datatype)?;
        let (engine, took) = timed(|| Engine::of(datatype));
        let engine = engine.ok().filter(|engine| mode::is_on() && engine.gate().takes(bytes))?;
        let counted = Counted::new(size);
        counted.spent(Phase::Planning, took);
        let _ = counted.engine.set(Ok(engine));
        if keep(datatype, Arc::clone(&counted)) {
            counted.describe(datatype);
        }
        known(datatype)
    }
}

/// What the attribute of a datatype has.
///
/// # Safety
/// 1 and 2 of [`known`].
#[cold]
unsafe fn look(datatype: MPI_Datatype) -> *const Known {
    let key = *lock(&KEY);
    // SAFETY: a constant of the library.
    let (Some(key), false) = (key, datatype == unsafe { ffi::RSMPI_DATATYPE_NULL }) else {
        return ptr::null();
    };
    let (mut value, mut found) = (ptr::null_mut::<c_void>(), 0);
    // SAFETY: 1 and 2; the key was made here; MPI stores a pointer where it is told to.
    unsafe { ffi::MPI_Type_get_attr(datatype, key, (&raw mut value).cast(), &raw mut found) };
    if found == 0 { ptr::null() } else { value.cast_const().cast() }
}

/// Looks after a datatype from now on. If things are counted, or another one has its slot, what is known of
/// it is kept on it at once.
///
/// # Safety
/// MPI is usable, and the datatype committed.
pub(crate) unsafe fn committed(datatype: MPI_Datatype) {
    if !is_counting() && first_use::committed(datatype) {
        return;
    }
    // SAFETY: the caller's condition.
    unsafe {
        let Some(size) = size_of_derived(datatype) else { return };
        let counted = Counted::new(size);
        let (is_new, took) = timed(|| keep(datatype, Arc::clone(&counted)));
        if is_new {
            counted.spent(Phase::Commit, took);
            counted.describe(datatype);
        }
    }
}

/// Keeps what is known of a datatype, and returns `true` if nothing was kept yet.
///
/// # Safety
/// MPI is usable, and the datatype live.
unsafe fn keep(datatype: MPI_Datatype, counted: Arc<Counted>) -> bool {
    /// Held while it is looked and kept: what another thread has kept must not be replaced, and so freed. No
    /// callback takes it.
    static KEEPING: Mutex<()> = Mutex::new(());
    let _keeping = lock(&KEEPING);
    // SAFETY: MPI is usable, and the datatype live.
    if unsafe { !look(datatype).is_null() } {
        first_use::is_known_now(datatype);
        return false;
    }
    let key = *lock(&KEY).get_or_insert_with(|| {
        let mut new = 0;
        // SAFETY: the callbacks have the types of MPI 4.1 section 7.7.4 and use no extra state.
        unsafe { ffi::MPI_Type_create_keyval(Some(copy), Some(delete), &raw mut new, ptr::null_mut()) };
        new
    });
    let value = Known::kept(counted);
    // SAFETY: the datatype is live, and the key was made here.
    let code = unsafe { ffi::MPI_Type_set_attr(datatype, key, value.cast()) };
    if code != ffi::MPI_SUCCESS as c_int {
        // SAFETY: MPI has not taken it.
        drop(unsafe { Box::from_raw(value) });
    }
    first_use::is_known_now(datatype);
    AGE.fetch_add(1, Ordering::Release);
    true
}

/// Packed bytes of one. One that is too large for a number, and one without data, stay as they are; so do
/// predefined ones.
///
/// # Safety
/// MPI is usable, and the datatype live.
unsafe fn size_of_derived(datatype: MPI_Datatype) -> Option<usize> {
    let mut size = 0;
    // SAFETY: the caller's condition; there is room for a number.
    let is_derived = unsafe {
        ffi::MPI_Type_size(datatype, &raw mut size);
        dtype_interpose_parts(datatype) > 0
    };
    usize::try_from(size).ok().filter(|size| *size > 0 && is_derived)
}

/// The library has given out other handles to what a datatype was made of, in `MPI_Type_get_contents`.
///
/// # Safety
/// 1 and 2 of [`known`], of the datatype and of those that are listed.
pub(crate) unsafe fn handed_out(datatype: MPI_Datatype, parts: *const MPI_Datatype) {
    // SAFETY: the caller's condition.
    let parts = unsafe { list(parts, dtype_interpose_parts(datatype)) };
    // SAFETY: the caller's condition.
    for known in parts.iter().filter_map(|part| unsafe { known(*part) }) {
        known.handed_out.fetch_add(1, Ordering::Relaxed);
    }
}

/// Before a handle is freed: with the program's last one nothing is known of it any more. MPICH would say so
/// when its last message is complete, by a callback in the midst of that, where it lets other threads in.
///
/// # Safety
/// 1 and 2 of [`known`].
pub(crate) unsafe fn freed(datatype: MPI_Datatype) {
    let state = first_use::state(datatype);
    first_use::freed(datatype);
    if state == State::Unplanned {
        return;
    }
    // SAFETY: 1 and 2.
    let Some(known) = (unsafe { known(datatype) }) else { return };
    let others =
        known.handed_out.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |others| others.checked_sub(1));
    let key = *lock(&KEY);
    if let (Err(_), Some(key)) = (others, key) {
        // SAFETY: the datatype is live, and the key was made here.
        unsafe { ffi::MPI_Type_delete_attr(datatype, key) };
    }
}

/// Looks after a duplicate, which is committed if the original is (MPI 4.1 section 5.1.10). What is kept on
/// the original is kept on it already.
///
/// # Safety
/// MPI is usable, and both live.
pub(crate) unsafe fn duplicated(original: MPI_Datatype, new: MPI_Datatype) {
    if first_use::state(original) == State::Unplanned {
        // SAFETY: the caller's condition.
        unsafe { committed(new) };
    }
}

/// Gives the key back, before `MPI_Finalize`. What is still kept on datatypes goes when they do.
pub(crate) fn end() {
    first_use::end();
    let key = lock(&KEY).take();
    if let Some(mut key) = key {
        // SAFETY: MPI is usable; the key was made here.
        unsafe { ffi::MPI_Type_free_keyval(&raw mut key) };
    }
    AGE.fetch_add(1, Ordering::Release);
}

/// A duplicate has the same layout.
unsafe extern "C" fn copy(
    _: MPI_Datatype,
    _: c_int,
    _: *mut c_void,
    value: *mut c_void,
    copy: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the value is what was kept, and MPI passes places for a pointer and a flag.
    unsafe {
        let counted = Arc::clone(&(*value.cast::<Known>()).counted);
        *copy.cast::<*mut c_void>() = Known::kept(counted).cast();
        *flag = 1;
    }
    AGE.fetch_add(1, Ordering::Release);
    ffi::MPI_SUCCESS as c_int
}

unsafe extern "C" fn delete(_: MPI_Datatype, _: c_int, value: *mut c_void, _: *mut c_void) -> c_int {
    AGE.fetch_add(1, Ordering::Release);
    // SAFETY: the value is what was kept, and is not any more.
    drop(unsafe { Box::from_raw(value.cast::<Known>()) });
    ffi::MPI_SUCCESS as c_int
}

unsafe extern "C" {
    /// Of how many others a live datatype was made.
    fn dtype_interpose_parts(datatype: MPI_Datatype) -> c_int;
}
