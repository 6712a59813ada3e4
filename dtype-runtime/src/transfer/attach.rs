//! The state that is kept on a communicator of the program, as an attribute (MPI 4.1 section 7.7.2).
//!
//! [`attach`] puts two communicators of this crate there, which carry only the messages of `Wire::Segments`.
//! With `DTYPE_CHECK=1`, it adds a third one, for the descriptions of messages. The state also holds the
//! companion for the messages of halos.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    mem::{self, MaybeUninit},
    os::raw::{c_int, c_void},
    ptr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU32, Ordering},
    },
};

use ::mpi::ffi::{self, MPI_Comm};

use super::{
    agreement::reduce,
    descriptions::{self, Descriptions},
    frame::checks,
};
use crate::{
    Error,
    mpi::{SUCCESS, Usable, at_end, called, checked, constants, greatest_tag, no_copy, return_errors},
};

/// Creates the communicators for messages on [`Wire::Segments`](super::Wire::Segments) and, in the checked
/// mode, that of descriptions. All ranks must make this call; a second one does nothing.
///
/// # Errors
/// `Unsupported` on all ranks if `DTYPE_CHECK` is set on some ranks and not on others; an error if an MPI
/// call fails.
pub(crate) fn attach(mpi: &Usable, raw: MPI_Comm) -> Result<(), Error> {
    free_unused(mpi);
    if kept(mpi, raw)?.is_some_and(|kept| kept.contexts.is_some()) {
        return Ok(());
    }
    // Contexts that another thread has made before are dropped only here, since that needs the lock.
    let mut contexts = Some(Arc::new(Contexts::new(mpi, raw)?));
    let descriptions = if checks() { Some(Arc::new(Descriptions::new(same_ranks(mpi, raw)?))) } else { None };
    all().descriptions.extend(descriptions.clone());
    keep(mpi, raw, |kept| {
        mem::swap(&mut kept.contexts, &mut contexts);
        kept.descriptions = descriptions;
    })
}

/// Returns the companion of a communicator, and the first of `count` tags that no other call gets. All ranks
/// must call this collective function together. Only the first call on a communicator communicates, and one
/// that finds all tags taken: it makes another companion.
pub(crate) fn companion(
    mpi: &Usable,
    communicator: MPI_Comm,
    count: u32,
) -> Result<(Arc<Companion>, c_int), Error> {
    if let Some(known) = kept(mpi, communicator)?.and_then(|kept| kept.companion)
        && let Some(first) = known.tags(mpi, count)
    {
        return Ok((known, first));
    }
    let new = Arc::new(Companion::alone(mpi, communicator)?);
    // The companion before is dropped only here, since that needs the lock.
    let mut before = Some(Arc::clone(&new));
    keep(mpi, communicator, |kept| mem::swap(&mut kept.companion, &mut before))?;
    let first = new.tags(mpi, count).unwrap_or_default();
    Ok((new, first))
}

/// Frees the communicators that nothing needs any more. No lock is held during the collective calls. Other
/// threads may make them for other communicators, in another order on another rank.
fn free_unused(mpi: &Usable) {
    let unused = mem::take(&mut all().unused);
    for mut communicator in unused {
        // SAFETY: the communicator was created here and is freed once, while MPI is usable. MPI lets pending
        // communication complete.
        unsafe { mpi.MPI_Comm_free(&raw mut communicator) };
    }
}

/// The state that is kept on a communicator.
#[derive(Clone, Default)]
struct Kept {
    contexts: Option<Arc<Contexts>>,
    descriptions: Option<Arc<Descriptions>>,
    companion: Option<Arc<Companion>>,
    life: Option<Arc<()>>,
    /// `true` in the checked mode on a companion, whose messages are not compared.
    is_companion: bool,
}

/// The life of a communicator of the program, for what is prepared or started on it and may outlive it.
#[derive(Clone)]
pub(crate) struct Life(Weak<()>);

thread_local! {
    /// The last communicator that this thread asked about, and its life.
    static LAST_LIFE: RefCell<Option<(MPI_Comm, Life)>> = const { RefCell::new(None) };
}

impl Life {
    /// Returns the life of a communicator.
    pub fn of(mpi: &Usable, communicator: MPI_Comm) -> Result<Self, Error> {
        // A later communicator may have the same handle, but then this life has ended.
        let last = LAST_LIFE.with_borrow(|last| {
            last.clone().filter(|(known, life)| *known == communicator && life.is_alive())
        });
        if let Some((_, life)) = last {
            return Ok(life);
        }
        let mut life = Weak::new();
        keep(mpi, communicator, |kept| life = Arc::downgrade(kept.life.get_or_insert_default()))?;
        let life = Self(life);
        LAST_LIFE.set(Some((communicator, life.clone())));
        Ok(life)
    }

    /// Returns `false` if the communicator has been freed.
    pub fn is_alive(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// Returns `None` if the communicator has been freed. Otherwise it is not freed before the result is
    /// dropped: a thread that frees it meanwhile gets an error of MPI.
    pub fn hold(&self) -> Option<Arc<()>> {
        self.0.upgrade()
    }
}

/// A communicator of this crate with the ranks of one of the program's. It returns errors, and lives as long
/// as anything uses it, even if the program frees its own communicator.
pub(crate) struct Companion {
    pub communicator: MPI_Comm,
    /// The number of tags that have been taken.
    taken: AtomicU32,
}

// SAFETY: MPI handles name objects of the process, not of a thread (MPI 4.1 section 2.5.1).
unsafe impl Send for Companion {}
// SAFETY: as above.
unsafe impl Sync for Companion {}

impl Companion {
    /// Creates a companion that no other call gets. All ranks must call this collective function together.
    pub fn alone(mpi: &Usable, communicator: MPI_Comm) -> Result<Self, Error> {
        free_unused(mpi);
        let new = Self::new(mpi, communicator)?;
        if checks() {
            keep(mpi, new.communicator, |kept| kept.is_companion = true)?;
        }
        Ok(new)
    }

    fn new(mpi: &Usable, communicator: MPI_Comm) -> Result<Self, Error> {
        Ok(Self { communicator: same_ranks(mpi, communicator)?, taken: AtomicU32::new(0) })
    }

    /// Takes `count` tags, and returns the first one; `None` if there are not so many left. All ranks must
    /// call this in the same order.
    fn tags(&self, mpi: &Usable, count: u32) -> Option<c_int> {
        let all = greatest_tag(mpi, self.communicator) as u32;
        let end = |first: u32| first.checked_add(count).filter(|end| *end <= all);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, end).ok().map(|first| first as c_int)
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        all().unused.push(self.communicator);
    }
}

/// The communicators of segments.
pub(crate) struct Contexts {
    /// The communicator of the first piece of each message, which has the message's tag. Receives match
    /// messages on this communicator.
    pub first: Companion,
    /// The communicator of the other pieces, which have the message's number as tag.
    pub rest: Companion,
}

/// The state of all communicators of this process.
struct All {
    /// The key of the attribute, created at first use.
    key: Option<c_int>,
    /// The state of each communicator, by number. The number is the value of the attribute.
    kept: BTreeMap<usize, Kept>,
    next: usize,
    /// Communicators of this crate that nothing uses. They are freed later, because MPI may hold locks in the
    /// delete callback.
    unused: Vec<MPI_Comm>,
    /// The descriptions created so far. Some may hold messages until MPI ends.
    descriptions: Vec<Arc<Descriptions>>,
}

// SAFETY: MPI handles name objects of the process, not of a thread (MPI 4.1 section 2.5.1).
unsafe impl Send for All {}

static ALL: Mutex<All> = Mutex::new(All {
    key: None,
    kept: BTreeMap::new(),
    next: 1,
    unused: Vec::new(),
    descriptions: Vec::new(),
});

fn all() -> MutexGuard<'static, All> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Changes the state that is kept on a communicator.
fn keep(mpi: &Usable, communicator: MPI_Comm, change: impl FnOnce(&mut Kept)) -> Result<(), Error> {
    /// The lock that is held from the lookup until a number is kept: one thread must not replace the number
    /// of another. No callback takes it.
    static KEEPING: Mutex<()> = Mutex::new(());
    let _keeping = KEEPING.lock().unwrap_or_else(PoisonError::into_inner);
    let key = key(mpi, communicator)?;
    let known = find(mpi, communicator, key)?;
    let number = known.unwrap_or_else(|| {
        let mut all = all();
        all.next += 1;
        all.next
    });
    if known.is_none() {
        called(mpi, "MPI_Comm_set_attr", communicator, || {
            // SAFETY: MPI is usable, the communicator live, and the key made here; the value is a number.
            unsafe { mpi.MPI_Comm_set_attr(communicator, key, ptr::without_provenance_mut(number)) }
        })?;
    }
    change(all().kept.entry(number).or_default());
    Ok(())
}

impl Contexts {
    /// Returns the contexts of a communicator, or an error if the communicator is not attached.
    pub fn on(mpi: &Usable, communicator: MPI_Comm) -> Result<Arc<Self>, Error> {
        kept(mpi, communicator)?.and_then(|kept| kept.contexts).ok_or(Error::Wire {
            wire: "segments",
            reason: "its communicator is not attached: all of its ranks must first call \
                     `attach` on it",
        })
    }

    /// Creates the contexts of a communicator. All ranks must make this call: it checks that either all of
    /// them or none describe their messages.
    fn new(mpi: &Usable, communicator: MPI_Comm) -> Result<Self, Error> {
        let new =
            Self { first: Companion::new(mpi, communicator)?, rest: Companion::new(mpi, communicator)? };
        let own = [checks(), !checks()].map(u64::from);
        // SAFETY: a constant of the library.
        let any = reduce(mpi, new.first.communicator, own, unsafe { ffi::RSMPI_MAX })?;
        if any == [1, 1] {
            return Err(Error::Wire {
                wire: "segments",
                reason: "`DTYPE_CHECK` is set on some ranks and not on others: set it on all of them or on \
                         none",
            });
        }
        Ok(new)
    }
}

/// Creates a communicator with the ranks of another one. Attributes and hints are not copied, because they
/// are for the program's messages.
fn same_ranks(mpi: &Usable, communicator: MPI_Comm) -> Result<MPI_Comm, Error> {
    let (mut group, mut new) = (MaybeUninit::uninit(), communicator);
    called(mpi, "MPI_Comm_group", communicator, || {
        // SAFETY: MPI is usable and the communicator live; there is room for the group.
        unsafe { mpi.MPI_Comm_group(communicator, group.as_mut_ptr()) }
    })?;
    called(mpi, "MPI_Comm_create", communicator, || {
        // SAFETY: all ranks of the communicator make this call. MPI has created the group, which is freed
        // once.
        unsafe {
            let code = mpi.MPI_Comm_create(communicator, group.assume_init(), &raw mut new);
            mpi.MPI_Group_free(group.as_mut_ptr());
            code
        }
    })?;
    checked(mpi, "MPI_Comm_set_errhandler", return_errors(mpi, new))?;
    Ok(new)
}

/// Returns the descriptions of messages on a communicator, if it is attached and the checked mode is on.
#[inline]
pub(crate) fn descriptions_on(
    mpi: &Usable,
    communicator: MPI_Comm,
) -> Result<Option<Arc<Descriptions>>, Error> {
    if !checks() {
        return Ok(None);
    }
    Ok(kept(mpi, communicator)?.and_then(|kept| kept.descriptions))
}

/// Returns `true`, in the checked mode, on a companion.
pub(crate) fn is_companion(mpi: &Usable, communicator: MPI_Comm) -> Result<bool, Error> {
    Ok(kept(mpi, communicator)?.is_some_and(|kept| kept.is_companion))
}

/// Returns a number for a message of this process: the tag by which its pieces are matched.
pub(crate) fn next_number(mpi: &Usable, communicator: MPI_Comm) -> c_int {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    (u64::from(NEXT.fetch_add(1, Ordering::Relaxed)) % (greatest_tag(mpi, communicator) as u64 + 1)) as c_int
}

/// Returns the state that is kept on a communicator.
fn kept(mpi: &Usable, communicator: MPI_Comm) -> Result<Option<Kept>, Error> {
    let key = all().key;
    let number = key.map_or(Ok(None), |key| find(mpi, communicator, key))?;
    Ok(number.and_then(|number| all().kept.get(&number).cloned()))
}

/// Returns the number of the state that is kept on a communicator.
fn find(mpi: &Usable, communicator: MPI_Comm, key: c_int) -> Result<Option<usize>, Error> {
    let (mut number, mut found) = (ptr::null_mut::<c_void>(), 0);
    called(mpi, "MPI_Comm_get_attr", communicator, || {
        // SAFETY: MPI is usable, the communicator live, and the key made here. MPI stores the value in a
        // local variable.
        unsafe { mpi.MPI_Comm_get_attr(communicator, key, (&raw mut number).cast(), &raw mut found) }
    })?;
    Ok((found != 0).then_some(number.addr()))
}

/// Returns the key of the attribute, which the first call creates.
fn key(mpi: &Usable, communicator: MPI_Comm) -> Result<c_int, Error> {
    let mut all = all();
    if let Some(key) = all.key {
        return Ok(key);
    }
    let mut key = 0;
    called(mpi, "MPI_Comm_create_keyval", communicator, || {
        // SAFETY: MPI is usable; the callbacks have the types of MPI 4.1 section 7.7.2 and use no extra
        // state.
        unsafe { mpi.MPI_Comm_create_keyval(Some(no_copy), Some(delete), &raw mut key, ptr::null_mut()) }
    })?;
    at_end(free_all);
    Ok(*all.key.insert(key))
}

/// Frees everything when MPI ends.
fn free_all(mpi: &Usable) {
    let (kept, descriptions, key) = {
        let All { kept, descriptions, key, .. } = &mut *all();
        (mem::take(kept), mem::take(descriptions), key.take())
    };
    descriptions::end(mpi, &descriptions);
    // The communicators go to the unused ones.
    drop(kept);
    free_unused(mpi);
    if let Some(mut key) = key {
        // SAFETY: MPI is usable; the key was made here.
        unsafe { mpi.MPI_Comm_free_keyval(&raw mut key) };
    }
}

/// The delete callback of the attribute. The communicators of this crate go to the unused ones.
unsafe extern "C" fn delete(_: MPI_Comm, _: c_int, number: *mut c_void, _: *mut c_void) -> c_int {
    let kept = all().kept.remove(&number.addr()).unwrap_or_default();
    let is_in_use = kept.life.is_some_and(|life| Arc::try_unwrap(life).is_err());
    if is_in_use { constants::MPI_ERR_PENDING() } else { SUCCESS }
}
