//! The first messages of a datatype, before it is planned.
//!
//! A plan takes a few times as long as reading the lists that a datatype was made of, so it must not cost
//! more than it can win. A commit only takes a slot here. Then messages go as they are, until as many bytes
//! have been sent or received as a plan of these lists is worth. What is built anew for each message never
//! comes so far, but it comes again: from its second commit on its arguments are compared with those that
//! were planned before. So that what changes with each commit is not read each time, every miss doubles the
//! commits until the next look, and a hit takes that back.

use std::{
    cell::Cell,
    hash::BuildHasher,
    os::raw::c_int,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use dtype_runtime::decode::Contents;
use foldhash::fast::FixedState;
use mpi::{
    datatype::DatatypeRef,
    ffi::{self, MPI_Datatype},
    raw::FromRaw,
};

use crate::{engine::Engine, gate::LEAST, handle::number, lock::lock, mode, peers, usage::Counted};

/// A handle that was committed here, of which nothing is kept. A slot has one handle.
struct Slot {
    /// The number of the handle, or 0.
    handle: AtomicUsize,
    /// Something is kept on the datatype as an attribute.
    is_known: AtomicBool,
    /// Packed bytes of one, or 0 before the first message.
    size: AtomicUsize,
    /// Packed bytes of all messages so far. Some are not counted where threads send at the same time.
    bytes: AtomicU64,
    /// Packed bytes of messages that are worth a plan.
    worth: AtomicU64,
}

const SLOTS: usize = 1 << 12;

static COMMITTED: [Slot; SLOTS] = [const {
    Slot {
        handle: AtomicUsize::new(0),
        is_known: AtomicBool::new(false),
        size: AtomicUsize::new(0),
        bytes: AtomicU64::new(0),
        worth: AtomicU64::new(0),
    }
}; SLOTS];

fn slot(handle: usize) -> &'static Slot {
    // Pointers are multiples of 16 or more, integers have their numbers in the last bits.
    &COMMITTED[(handle ^ handle >> 4 ^ handle >> 16) % SLOTS]
}

/// The state of a handle, as far as it is known without asking the library.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It has no slot: it is predefined, was not committed here, or another handle has its slot.
    Unknown,
    /// It was committed, and nothing is kept on it.
    Unplanned,
    /// Something is kept on it.
    Known,
}

/// Returns what is known of a handle.
#[inline]
pub(crate) fn state(datatype: MPI_Datatype) -> State {
    let handle = number(datatype);
    let slot = slot(handle);
    match slot.handle.load(Ordering::Acquire) {
        found if found != handle || handle == 0 => State::Unknown,
        _ if slot.is_known.load(Ordering::Relaxed) => State::Known,
        _ => State::Unplanned,
    }
}

/// Takes the slot of a datatype that is committed now, and returns `true` unless another handle has it.
#[inline]
pub(crate) fn committed(datatype: MPI_Datatype) -> bool {
    let handle = number(datatype);
    let slot = slot(handle);
    let taken = slot.handle.compare_exchange(0, handle, Ordering::AcqRel, Ordering::Acquire);
    if taken.is_err_and(|other| other != handle) {
        return false;
    }
    slot.is_known.store(false, Ordering::Relaxed);
    slot.size.store(0, Ordering::Relaxed);
    slot.bytes.store(0, Ordering::Relaxed);
    slot.worth.store(OF_SMALL, Ordering::Release);
    true
}

/// Gives the slot of a datatype back, which is freed now.
#[inline]
pub(crate) fn freed(datatype: MPI_Datatype) {
    let handle = number(datatype);
    // Threads may free a handle at the same time, as they get it from `MPI_Type_get_contents`: only one of
    // them gives the slot back, which another handle may take then.
    let _ = slot(handle).handle.compare_exchange(handle, 0, Ordering::AcqRel, Ordering::Relaxed);
}

/// Notes in the slot of a datatype that something is kept on it.
pub(crate) fn is_known_now(datatype: MPI_Datatype) {
    let handle = number(datatype);
    let slot = slot(handle);
    if slot.handle.load(Ordering::Acquire) == handle {
        slot.is_known.store(true, Ordering::Relaxed);
    }
}

/// Packed bytes that are worth looking at the arguments of a datatype that has few: of one with a large first
/// message, and of one with small messages.
const AT_LEAST: u64 = 16 << 10;
const OF_SMALL: u64 = 64 << 10;

/// Packed bytes that are worth a plan of few arguments, some 10 µs, of a datatype with structs; and of one
/// without, of which libraries make less.
const WORTH: [u64; 2] = [16 << 10, 128 << 10];

/// Packed bytes that are worth planning one more byte of a datatype's arguments.
const FOR_EACH: u64 = 12;

/// A first message of fewer packed bytes is not worth looking whether its datatype was there before.
const WORTH_LOOKING: usize = 2 << 10;

/// Packed bytes that MPICH 4 cannot receive into a struct where they are sent as `MPI_PACKED`.
const TOO_LARGE_PACKED: usize = 8 << 10;

thread_local! {
    /// Set while a thread prepares a call that is started later.
    static IS_PREPARING: Cell<bool> = const { Cell::new(false) };
}

/// The number of threads that do so.
static PREPARING: AtomicUsize = AtomicUsize::new(0);

/// Returns `true` if this thread prepares a call that is started later.
#[inline]
fn is_preparing() -> bool {
    PREPARING.load(Ordering::Relaxed) > 0 && IS_PREPARING.try_with(Cell::get).unwrap_or(false)
}

/// Prepares a call that is started later, again and again: its datatypes are planned then or never.
pub(crate) fn preparing<R>(prepare: impl FnOnce() -> R) -> R {
    let set = |is_preparing| {
        let _ = IS_PREPARING.try_with(|place| place.set(is_preparing));
    };
    PREPARING.fetch_add(1, Ordering::Relaxed);
    set(true);
    let prepared = prepare();
    set(false);
    PREPARING.fetch_sub(1, Ordering::Relaxed);
    prepared
}

/// A message of an unplanned datatype.
#[derive(Clone, Copy)]
pub(crate) struct Message {
    pub count: usize,
    /// All ranks of the call do the same with it, or it may come from ranks that have planned it.
    pub has_to_agree: bool,
    pub is_collective: bool,
}

/// Plans an unplanned datatype, or finds the plan of one that was made alike, if it is time for that. Gives
/// what is to be kept on it.
///
/// # Safety
/// MPI is usable, and the datatype live.
pub(crate) unsafe fn planned(datatype: MPI_Datatype, message: Message) -> Option<Arc<Counted>> {
    if !mode::is_on() {
        return None;
    }
    let slot = slot(number(datatype));
    let size = match slot.size.load(Ordering::Relaxed) {
        0 => {
            let mut size: c_int = 0;
            // SAFETY: the caller's condition; there is room for a number.
            unsafe { ffi::MPI_Type_size(datatype, &raw mut size) };
            usize::try_from(size).ok().filter(|size| *size > 0)?
        }
        size => size,
    };
    slot.size.store(size, Ordering::Relaxed);
    let bytes = size.checked_mul(message.count).filter(|bytes| *bytes >= LEAST)?;
    i32::try_from(bytes).ok()?;
    let before = slot.bytes.load(Ordering::Relaxed);
    slot.bytes.store(before + bytes as u64, Ordering::Relaxed);
    let is_first = before == 0 && bytes >= WORTH_LOOKING;
    // SAFETY: the caller's condition.
    let kind = is_first.then(|| unsafe { Envelope::of(datatype, size) });
    if let Some(kind) = &kind {
        slot.worth.store(AT_LEAST + FOR_EACH * kind.arguments(), Ordering::Relaxed);
    }
    let at_once = mode::plans_at_once() || is_preparing();
    let is_due = at_once || before > 0 && before + bytes as u64 >= slot.worth.load(Ordering::Relaxed);
    let must_agree =
        message.has_to_agree && (message.is_collective || bytes >= TOO_LARGE_PACKED) && peers::are_all_here();
    let comes_again = kind.as_ref().is_some_and(Envelope::comes_again);
    if !(is_due || must_agree || comes_again) {
        return None;
    }
    // SAFETY: the caller's condition.
    if unsafe { Envelope::of(datatype, size) }.is_predefined() {
        // The program may commit those, too.
        freed(datatype);
        return None;
    }
    // SAFETY: the caller's condition.
    let contents = Contents::of(&unsafe { DatatypeRef::from_raw(datatype) }).ok()?;
    let worth = WORTH[usize::from(!contents.is_mixed())] + FOR_EACH * contents.size() as u64;
    slot.worth.store(worth, Ordering::Relaxed);
    let is_due = at_once || is_due && before + bytes as u64 >= worth || must_agree && contents.is_mixed();
    match (find(&contents), comes_again) {
        (Found::Planned(counted), _) => {
            kind.inspect(Envelope::was_found);
            Some(counted)
        }
        (Found::Nothing, true) if !is_due && kind.is_some_and(|kind| kind.has_missed()) => {
            remember(contents, None);
            None
        }
        // Arguments that were seen twice will come again.
        (Found::Seen | Found::Nothing, true) => Some(plan(contents, datatype, size)),
        (Found::Seen | Found::Nothing, false) if is_due => Some(plan(contents, datatype, size)),
        (Found::Seen | Found::Nothing, false) => None,
    }
}

/// Plans a datatype, and remembers that.
fn plan(contents: Contents, datatype: MPI_Datatype, size: usize) -> Arc<Counted> {
    let counted = Counted::new(size);
    let _ = counted.engine.get_or_init(|| Engine::of(datatype));
    remember(contents, Some(&counted));
    counted
}

/// Envelopes that were committed before: a key, in the last bits the commits, and in the last three how often
/// the arguments were new.
static RECENT: [AtomicU64; 256] = [const { AtomicU64::new(0) }; 256];

const COUNTS: u64 = (1 << 24) - 1;
const MISSES: u64 = 7;
const ONE: u64 = MISSES + 1;

/// The outermost constructor of a datatype, the numbers of its integers, addresses and datatypes, and its
/// size.
#[derive(Hash)]
struct Envelope([c_int; 4], usize);

impl Envelope {
    /// Asks for that of a datatype.
    ///
    /// # Safety
    /// MPI is usable, and the datatype live.
    unsafe fn of(datatype: MPI_Datatype, size: usize) -> Self {
        let mut numbers = [0; 4];
        // SAFETY: the caller's condition; there is room for four numbers.
        unsafe { dtype_interpose_envelope(datatype, numbers.as_mut_ptr()) };
        Self(numbers, size)
    }

    /// Returns `true` if the datatype was made of no other.
    fn is_predefined(&self) -> bool {
        self.0[3] == 0
    }

    /// Bytes of the arguments.
    fn arguments(&self) -> u64 {
        let [_, integers, addresses, datatypes] = self.0.map(|number| u64::try_from(number).unwrap_or(0));
        4 * integers + 8 * (addresses + datatypes)
    }

    /// A key for it, with bits for counts that are 0, and the place where it is counted.
    fn place(&self) -> (u64, &'static AtomicU64) {
        let key = FixedState::default().hash_one(self);
        (key & !COUNTS, &RECENT[key as usize % RECENT.len()])
    }

    /// Counts a commit, and returns `true` if it is time to look whether the arguments were there before.
    fn comes_again(&self) -> bool {
        let (key, place) = self.place();
        let found = place.load(Ordering::Relaxed);
        if found & !COUNTS != key {
            place.store(key, Ordering::Relaxed);
            return false;
        }
        let (commits, misses) = (found & COUNTS & !MISSES, found & MISSES);
        place.store(key | (commits + ONE) & COUNTS | misses, Ordering::Relaxed);
        commits / ONE % (1 << misses) == 0
    }

    /// Counts that it came with new arguments, and returns `true` if it did before.
    fn has_missed(&self) -> bool {
        let (_, place) = self.place();
        let found = place.load(Ordering::Relaxed);
        let misses = found & MISSES;
        place.store(found & !MISSES | (misses + 1).min(MISSES), Ordering::Relaxed);
        misses > 0
    }

    /// Counts that it came with arguments that were planned: it is looked at each time again.
    fn was_found(&self) {
        self.place().1.fetch_and(!MISSES, Ordering::Relaxed);
    }
}

/// Arguments that were looked at, with what was planned of them; the last that was asked for comes first.
static PLANS: Mutex<Vec<(Contents, Option<Arc<Counted>>)>> = Mutex::new(Vec::new());

/// The most of them, and their most bytes.
const MOST_PLANS: usize = 64;
const MOST_BYTES: usize = 16 << 20;

enum Found {
    Nothing,
    /// The arguments, without a plan.
    Seen,
    Planned(Arc<Counted>),
}

/// Looks whether arguments were there before.
fn find(contents: &Contents) -> Found {
    let mut plans = lock(&PLANS);
    let Some(place) = plans.iter().position(|(of, _)| of == contents) else { return Found::Nothing };
    plans[..=place].rotate_right(1);
    plans[0].1.clone().map_or(Found::Seen, Found::Planned)
}

/// Keeps arguments, and what was planned of them.
fn remember(contents: Contents, counted: Option<&Arc<Counted>>) {
    if contents.size() > MOST_BYTES {
        return;
    }
    let mut plans = lock(&PLANS);
    plans.retain(|(of, _)| *of != contents);
    plans.insert(0, (contents, counted.cloned()));
    let mut bytes = 0;
    let fits = plans.iter().take(MOST_PLANS).take_while(|(of, _)| {
        bytes += of.size();
        bytes <= MOST_BYTES
    });
    let fit = fits.count();
    let old = plans.split_off(fit);
    drop(plans);
    // Datatypes of theirs are freed, which asks MPI.
    drop(old);
}

/// Forgets all plans, before `MPI_Finalize`.
pub(crate) fn end() {
    let old = std::mem::take(&mut *lock(&PLANS));
    drop(old);
}

unsafe extern "C" {
    /// Stores how a live datatype was made, and of how many integers, addresses and datatypes.
    fn dtype_interpose_envelope(datatype: MPI_Datatype, numbers: *mut c_int);
}
