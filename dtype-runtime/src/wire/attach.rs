//! The contexts in which segments travel: two communicators of our own for one of the program's, kept on it
//! as an attribute (MPI 4.1 section 7.7.2). No message of anybody else's can be met there.

use std::{
    collections::BTreeMap,
    mem::MaybeUninit,
    os::raw::{c_int, c_void},
    ptr,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use ::mpi::{
    ffi::{self, MPI_Comm},
    topology::Communicator,
};

use super::frame::checks;
use crate::{
    Error,
    mpi::{SUCCESS, at_end, called, checked, greatest_tag, no_copy, ready_on, return_errors},
};

/// Lets messages travel on [`Wire::Segments`](super::Wire::Segments) between the ranks of a communicator. All
/// of them call this, once, before the first such message; it is a collective call, and another one does
/// nothing.
///
/// It makes two communicators with the same ranks, which live as long as this one, or until `MPI_Finalize`.
///
/// ```no_run
/// use dtype_runtime::{Wire, traits::*, wire};
/// use mpi::traits::*;
///
/// let universe = mpi::initialize().unwrap();
/// let world = universe.world();
/// let mut cells = vec![(0u8, 0.5f64); 1_000_000];
/// wire::attach(&world)?;
/// match world.rank() {
///     0 => world.process_at_rank(1).send_over(Wire::Segments, &cells)?,
///     _ => drop(world.process_at_rank(0).receive_over(Wire::Segments, &mut cells)?),
/// }
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # Errors
/// [`Error::Wire`] on all ranks where `DTYPE_CHECK` is set on some and not on others. Before `MPI_Init` and
/// after `MPI_Finalize`; where MPI refuses a call.
pub fn attach<C: Communicator + ?Sized>(communicator: &C) -> Result<(), Error> {
    let raw = ready_on(communicator)?;
    // No lock is held in the collective calls: other threads may be in them with another communicator, on
    // other ranks in another order.
    let unused = std::mem::take(&mut all().unused);
    unused.into_iter().for_each(Contexts::free);
    let key = key(raw)?;
    if find(raw, key)?.is_some() {
        return Ok(());
    }
    let contexts = Contexts::of(raw)?;
    contexts.agree().inspect_err(|_| contexts.free())?;
    let number = all().keep(contexts);
    called("MPI_Comm_set_attr", raw, || {
        // SAFETY: MPI is usable, the communicator live, and the key made here; the value is a number.
        unsafe { ffi::MPI_Comm_set_attr(raw, key, ptr::without_provenance_mut(number)) }
    })
}

/// The communicators of segments, with the ranks of the program's.
#[derive(Clone, Copy)]
pub(super) struct Contexts {
    /// For the first piece of each message, with the message's tag: here it is matched.
    pub first: MPI_Comm,
    /// For the others, with the message's number as tag.
    pub rest: MPI_Comm,
}

// SAFETY: MPI handles name objects of the process, not of a thread (MPI 4.1 section 2.5.1).
unsafe impl Send for Contexts {}

/// All contexts of this process.
struct All {
    /// The key of the attribute, made at the first use.
    key: Option<c_int>,
    /// Those of a communicator, by number: the attribute is the number.
    kept: BTreeMap<usize, Contexts>,
    next: usize,
    /// Those whose communicator is gone: freed later, since that was told under locks of MPI's own.
    unused: Vec<Contexts>,
}

static ALL: Mutex<All> = Mutex::new(All { key: None, kept: BTreeMap::new(), next: 1, unused: Vec::new() });

fn all() -> MutexGuard<'static, All> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl All {
    fn keep(&mut self, contexts: Contexts) -> usize {
        self.next += 1;
        self.kept.insert(self.next, contexts);
        self.next
    }
}

impl Contexts {
    /// Those of a communicator.
    pub fn on(communicator: MPI_Comm) -> Result<Self, Error> {
        let key = all().key;
        key.map_or(Ok(None), |key| find(communicator, key))?.ok_or(Error::Wire {
            wire: "segments",
            reason: "its communicator is not attached to segments: all of its ranks must call \
                     `wire::attach(&communicator)` first",
        })
    }

    /// Makes those of a communicator. Its attributes and hints are not copied: those are for the program's
    /// messages.
    fn of(communicator: MPI_Comm) -> Result<Self, Error> {
        let same_ranks = || {
            let (mut group, mut new) = (MaybeUninit::uninit(), communicator);
            called("MPI_Comm_group", communicator, || {
                // SAFETY: MPI is usable and the communicator live; there is room for the group.
                unsafe { ffi::MPI_Comm_group(communicator, group.as_mut_ptr()) }
            })?;
            called("MPI_Comm_create", communicator, || {
                // SAFETY: all ranks of the communicator are here; MPI has made the group, which is freed
                // once.
                unsafe {
                    let code = ffi::MPI_Comm_create(communicator, group.assume_init(), &raw mut new);
                    ffi::MPI_Group_free(group.as_mut_ptr());
                    code
                }
            })?;
            checked("MPI_Comm_set_errhandler", return_errors(new))?;
            Ok::<_, Error>(new)
        };
        Ok(Self { first: same_ranks()?, rest: same_ranks()? })
    }

    /// All ranks find out whether all of them, or none, describe their messages.
    fn agree(self) -> Result<(), Error> {
        let own = [u8::from(checks()), u8::from(!checks())];
        let mut any = [0u8; 2];
        called("MPI_Allreduce", self.first, || {
            let (from, to) = (own.as_ptr().cast(), any.as_mut_ptr().cast());
            // SAFETY: two numbers on every rank.
            unsafe { ffi::MPI_Allreduce(from, to, 2, ffi::RSMPI_UINT8_T, ffi::RSMPI_MAX, self.first) }
        })?;
        if any == [1, 1] {
            return Err(Error::Wire {
                wire: "segments",
                reason: "`DTYPE_CHECK` is set on some ranks and not on others: set it on all of them or on \
                         none",
            });
        }
        Ok(())
    }

    fn free(self) {
        for mut communicator in [self.first, self.rest] {
            // SAFETY: they were made here and are freed once, while MPI is usable. MPI lets what is under way
            // end.
            unsafe { ffi::MPI_Comm_free(&raw mut communicator) };
        }
    }
}

/// The number of a message of this process, by which its pieces are known: a tag.
pub(super) fn next_number(communicator: MPI_Comm) -> c_int {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    (u64::from(NEXT.fetch_add(1, Ordering::Relaxed)) % (greatest_tag(communicator) as u64 + 1)) as c_int
}

/// What is kept on a communicator.
fn find(communicator: MPI_Comm, key: c_int) -> Result<Option<Contexts>, Error> {
    let (mut number, mut found) = (ptr::null_mut::<c_void>(), 0);
    called("MPI_Comm_get_attr", communicator, || {
        // SAFETY: MPI is usable, the communicator live, the key made here; MPI stores the value where it is
        // told to.
        unsafe { ffi::MPI_Comm_get_attr(communicator, key, (&raw mut number).cast(), &raw mut found) }
    })?;
    Ok(if found == 0 { None } else { all().kept.get(&number.addr()).copied() })
}

/// The key, made at the first use.
fn key(communicator: MPI_Comm) -> Result<c_int, Error> {
    let mut all = all();
    if let Some(key) = all.key {
        return Ok(key);
    }
    let mut key = 0;
    called("MPI_Comm_create_keyval", communicator, || {
        // SAFETY: MPI is usable; the callbacks have the types of MPI 4.1 section 7.7.2 and use no extra
        // state.
        unsafe { ffi::MPI_Comm_create_keyval(Some(no_copy), Some(delete), &raw mut key, ptr::null_mut()) }
    })?;
    at_end(free_all);
    Ok(*all.key.insert(key))
}

/// Frees everything, when MPI ends.
fn free_all() {
    let (kept, unused, key) = {
        let mut all = all();
        (std::mem::take(&mut all.kept), std::mem::take(&mut all.unused), all.key.take())
    };
    kept.into_values().chain(unused).for_each(Contexts::free);
    if let Some(mut key) = key {
        // SAFETY: MPI is usable; the key was made here.
        unsafe { ffi::MPI_Comm_free_keyval(&raw mut key) };
    }
}

/// The communicator of the attribute is freed. Where MPI has ended, so have its contexts.
unsafe extern "C" fn delete(_: MPI_Comm, _: c_int, number: *mut c_void, _: *mut c_void) -> c_int {
    let mut all = all();
    let contexts = all.kept.remove(&number.addr());
    all.unused.extend(contexts);
    SUCCESS
}
