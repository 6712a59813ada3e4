//! The first messages of a datatype, before it is planned.
//!
//! A plan takes a few times as long as reading the arguments that a datatype was made of, so a plan must not
//! cost more than it can gain. After `MPI_Type_commit`, messages are counted and forwarded unchanged, until
//! their bytes justify a plan of these arguments.
//!
//! A datatype that is made anew for each message never has enough bytes for a plan, but later datatypes have
//! the same arguments. From the second datatype with an equal envelope on, the arguments are therefore
//! compared with the arguments that were read before. To avoid reading arguments that change with each
//! datatype, every miss doubles the number of datatypes until the next comparison. A hit resets this number.

use std::{
    cell::Cell,
    hash::BuildHasher,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use dtype_mpi::{Contents, Envelope};
use foldhash::fast::FixedState;
use mpi::{datatype::DatatypeRef, raw::FromRaw};

use crate::{
    argument::Argument,
    call::usable,
    engine::Engine,
    lock::lock,
    mode,
    native::{self, MPI_Datatype},
    peers,
    policy::LEAST,
    profile::Profile,
};

/// The messages of a counted datatype.
pub(crate) struct Traffic {
    /// The packed size of one element in bytes, or 0 if it is no `int`.
    size: AtomicUsize,
    /// The packed bytes of all messages so far that have [`LEAST`] bytes or more. Some are missed if threads
    /// send at the same time.
    bytes: AtomicU64,
    /// The packed bytes of messages that justify reading the arguments, or a plan if the arguments have been
    /// read.
    worth: AtomicU64,
}

impl Traffic {
    /// Creates the record of a datatype with this packed size in bytes.
    pub const fn new(size: usize) -> Self {
        Self { size: AtomicUsize::new(size), bytes: AtomicU64::new(0), worth: AtomicU64::new(OF_SMALL) }
    }

    /// Returns the packed size of one element in bytes.
    pub fn size(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }

    /// Begins to count the messages of another datatype, which has this packed size in bytes.
    pub fn restart(&self, size: usize) {
        self.size.store(size, Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
        self.worth.store(OF_SMALL, Ordering::Release);
    }
}

/// The packed bytes that justify reading the arguments of a datatype that has few arguments, if its first
/// message has [`WORTH_LOOKING`] bytes or more.
const AT_LEAST: u64 = 16 << 10;
/// The packed bytes that justify reading the arguments of a datatype, if its first message has fewer than
/// [`WORTH_LOOKING`] bytes.
const OF_SMALL: u64 = 64 << 10;

/// The packed bytes that justify a plan of few arguments, which takes about 10 µs: for datatypes with
/// structs, and for others, which libraries copy faster.
const WORTH: [u64; 2] = [16 << 10, 128 << 10];

/// The additional packed bytes that justify reading or planning one more byte of a datatype's arguments.
const FOR_EACH: u64 = 12;

/// The least packed size in bytes of a first message for which equal arguments are searched for.
const WORTH_LOOKING: usize = 2 << 10;

/// The packed size in bytes from which MPICH 4 cannot receive `MPI_PACKED` into a struct.
const TOO_LARGE_PACKED: usize = 8 << 10;

thread_local! {
    /// `true` while this thread initializes a persistent operation.
    static IS_PREPARING: Cell<bool> = const { Cell::new(false) };
}

/// The number of threads that initialize a persistent operation.
static PREPARING: AtomicUsize = AtomicUsize::new(0);

/// Returns `true` if this thread initializes a persistent operation.
#[inline]
pub(crate) fn is_preparing() -> bool {
    PREPARING.load(Ordering::Relaxed) > 0 && IS_PREPARING.try_with(Cell::get).unwrap_or(false)
}

/// Runs the initialization of a persistent operation. Its datatypes are planned now, since its later starts
/// do not name them.
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

/// The state that follows for a counted datatype.
pub(crate) enum Next {
    /// It is predefined: programs may commit such datatypes, too.
    Predefined,
    /// It has the plan of this profile.
    Planned(Arc<Profile>),
}

/// Counts a message of a datatype with this traffic, and returns `true`. If the message may justify more than
/// that, returns `false` and does not count it: [`next_state`] decides.
#[inline]
pub(crate) fn stays_counted(traffic: &Traffic, message: &Argument) -> bool {
    let bytes = traffic.size().saturating_mul(message.elements().unwrap_or(0));
    if bytes < LEAST {
        return true;
    }
    let before = traffic.bytes.load(Ordering::Relaxed);
    let all = before.saturating_add(bytes as u64);
    let is_first = before == 0 && bytes >= WORTH_LOOKING;
    let is_due = all >= traffic.worth.load(Ordering::Relaxed);
    let is_special = message.is_collective || bytes >= TOO_LARGE_PACKED || is_preparing();
    if is_first || is_due || is_special || mode::plans_at_once() || !mode::is_on() {
        return false;
    }
    traffic.bytes.store(all, Ordering::Relaxed);
    true
}

/// Counts a message of a datatype with this traffic. If the messages justify the costs, plans the datatype,
/// or finds the plan of equal arguments. Returns `None` if messages are still counted.
///
/// # Safety
/// Promises 1 and 2 for the datatype.
pub(crate) unsafe fn next_state(traffic: &Traffic, message: &Argument) -> Option<Next> {
    if !mode::is_on() {
        return None;
    }
    let (datatype, size) = (message.datatype, traffic.size());
    let bytes = size.checked_mul(message.elements()?).filter(|bytes| *bytes >= LEAST)?;
    i32::try_from(bytes).ok()?;
    let before = traffic.bytes.load(Ordering::Relaxed);
    traffic.bytes.store(before + bytes as u64, Ordering::Relaxed);
    let is_first = before == 0 && bytes >= WORTH_LOOKING;
    // SAFETY: promises 1 and 2 for the datatype.
    let kind = if is_first { unsafe { Kind::of(datatype, size) } } else { None };
    if let Some(kind) = &kind {
        traffic.worth.store(AT_LEAST + FOR_EACH * kind.arguments(), Ordering::Relaxed);
    }
    let at_once = mode::plans_at_once() || is_preparing();
    let is_due = at_once || before > 0 && before + bytes as u64 >= traffic.worth.load(Ordering::Relaxed);
    // All ranks of a collective call use the datatype. A received message may come from a rank that has
    // planned it.
    let has_to_agree = message.is_collective || !message.is_read() && bytes >= TOO_LARGE_PACKED;
    let must_agree = has_to_agree && peers::are_all_here();
    let comes_again = kind.as_ref().is_some_and(Kind::comes_again);
    if !(is_due || must_agree || comes_again) {
        return None;
    }
    // SAFETY: promises 1 and 2 for the datatype.
    if unsafe { Envelope::of(&usable(), datatype.into()) }.map_or(0, |envelope| envelope.parts()) == 0 {
        return Some(Next::Predefined);
    }
    // SAFETY: promises 1 and 2 for the datatype.
    let contents = Contents::of(&unsafe { DatatypeRef::from_raw(datatype.into()) }).ok()?;
    let worth = WORTH[usize::from(!contents.is_mixed())] + FOR_EACH * contents.size() as u64;
    traffic.worth.store(worth, Ordering::Relaxed);
    let is_wanted = at_once || must_agree && contents.is_mixed();
    let is_due = is_wanted || is_due && before + bytes as u64 >= worth;
    let has_room = is_wanted || Engine::live() < MOST_PLANNED;
    match (find(&contents), comes_again) {
        (Found::Planned(counted), _) => {
            kind.inspect(Kind::was_found);
            Some(Next::Planned(counted))
        }
        (Found::Nothing, true) if !is_due && kind.is_some_and(|kind| kind.has_missed()) => {
            remember(contents, None);
            None
        }
        _ if !has_room => None,
        // Arguments that were read before are expected again, and so are the first new arguments of a kind.
        (Found::Seen | Found::Nothing, _) if comes_again || is_due => {
            // SAFETY: promises 1 and 2, as of the caller.
            Some(Next::Planned(unsafe { plan(contents, datatype) }))
        }
        (Found::Seen | Found::Nothing, _) => None,
    }
}

/// The number of live plans from which on messages are forwarded, unless ranks must agree or the user wants
/// all datatypes planned.
const MOST_PLANNED: usize = 1 << 13;

/// Plans a datatype, and remembers the plan by the datatype's arguments. The library is asked for the size:
/// if threads free and commit at the same time, the traffic may be that of another datatype.
///
/// # Safety
/// Promises 1 and 2 for the datatype.
unsafe fn plan(contents: Contents, datatype: MPI_Datatype) -> Arc<Profile> {
    // SAFETY: promises 1 and 2, as of the caller.
    let counted = Profile::new(unsafe { packed_size(datatype) });
    counted.plan(datatype);
    remember(contents, Some(&counted));
    counted
}

/// Returns the packed size of one element in bytes, or 0 if it is no `int`.
///
/// # Safety
/// Promises 1 and 2 for the datatype.
pub(crate) unsafe fn packed_size(datatype: MPI_Datatype) -> usize {
    let mut size = 0;
    // SAFETY: promises 1 and 2 for the datatype; there is room for a number.
    unsafe { native::MPI_Type_size(datatype, &raw mut size) };
    usize::try_from(size).unwrap_or(0)
}

/// The kinds of datatypes that had a message before. An item is the key of a kind, with two counts in its
/// last 24 bits. The first 21 of these count the datatypes of the kind after the first one. The last three
/// count the datatypes with new arguments since the last hit.
static RECENT: [AtomicU64; 256] = [const { AtomicU64::new(0) }; 256];

const COUNTS: u64 = (1 << 24) - 1;
const MISSES: u64 = 7;
const ONE: u64 = MISSES + 1;

/// The kind of a datatype: its envelope, and its packed size in bytes.
#[derive(Hash)]
struct Kind(Envelope, usize);

impl Kind {
    /// Asks the library for the envelope of a datatype of this size. Returns `None` if the call fails.
    ///
    /// # Safety
    /// Promises 1 and 2 for the datatype.
    unsafe fn of(datatype: MPI_Datatype, size: usize) -> Option<Self> {
        // SAFETY: promises 1 and 2 for the datatype.
        Some(Self(unsafe { Envelope::of(&usable(), datatype.into()) }.ok()?, size))
    }

    /// Returns the size in bytes of the arguments of the outermost constructor.
    fn arguments(&self) -> u64 {
        let numbers = self.0.numbers.map(|number| u64::try_from(number).unwrap_or(0));
        let [integers, addresses, counts, datatypes] = numbers;
        4 * integers + 8 * (addresses + counts + datatypes)
    }

    /// Returns the key of the kind, with zeros in the bits of the counts, and the kind's item in [`RECENT`].
    fn place(&self) -> (u64, &'static AtomicU64) {
        let key = FixedState::default().hash_one(self);
        (key & !COUNTS, &RECENT[key as usize % RECENT.len()])
    }

    /// Counts a datatype of this kind, and returns `true` if its arguments are to be compared.
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

    /// Counts a datatype with new arguments. Returns `true` if it was not the first since the last hit.
    fn has_missed(&self) -> bool {
        let (_, place) = self.place();
        let found = place.load(Ordering::Relaxed);
        let misses = found & MISSES;
        place.store(found & !MISSES | (misses + 1).min(MISSES), Ordering::Relaxed);
        misses > 0
    }

    /// Resets the count of datatypes with new arguments, after a hit: a datatype whose arguments are planned
    /// already. So the arguments of the next datatype are compared, too.
    fn was_found(&self) {
        self.place().1.fetch_and(!MISSES, Ordering::Relaxed);
    }
}

/// The arguments that were read, each with the profile that has their plan, or `None` if they are not
/// planned. The arguments that were used last come first.
static PLANS: Mutex<Vec<(Contents, Option<Arc<Profile>>)>> = Mutex::new(Vec::new());

/// The greatest number of items in [`PLANS`].
const MOST_PLANS: usize = 64;
/// The greatest size of all arguments in [`PLANS`] in bytes.
const MOST_BYTES: usize = 16 << 20;

/// The result of a search for arguments.
enum Found {
    Nothing,
    /// The arguments were read before, but not planned.
    Seen,
    Planned(Arc<Profile>),
}

/// Searches for arguments that were read before, and moves them to the front.
fn find(contents: &Contents) -> Found {
    let mut plans = lock(&PLANS);
    let Some(place) = plans.iter().position(|(of, _)| of == contents) else { return Found::Nothing };
    plans[..=place].rotate_right(1);
    plans[0].1.clone().map_or(Found::Seen, Found::Planned)
}

/// Remembers arguments, and their plan if there is one.
fn remember(contents: Contents, counted: Option<&Arc<Profile>>) {
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
    // Dropping plans frees datatypes, which calls MPI, so the lock is released before.
    drop(old);
}

/// Forgets all plans, before `MPI_Finalize`.
pub(crate) fn end() {
    let old = std::mem::take(&mut *lock(&PLANS));
    drop(old);
}
