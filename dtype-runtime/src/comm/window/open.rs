//! Windows that are open: their memory, what all ranks agree on, and the end. No transfers.
//!
//! Windows whose epochs all ranks take part in have all targets locked from the beginning to the end, in
//! shared mode. An epoch begins and ends with messages of this crate, and with `MPI_Win_flush` (MPI
//! 4.1 section 12.5.4). Ranks must agree before an epoch that all are there. `MPI_Win_fence` before it
//! and after it would make them wait for each other a third time, and `MPI_Win_fence` of one rank ends
//! with `MPI_Win_free` of another one in some libraries.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    mem,
    os::raw::{c_int, c_void},
    ptr,
    sync::atomic::{AtomicU32, Ordering},
};

use ::mpi::{
    Rank,
    ffi::{self, MPI_Aint, MPI_Comm, MPI_Win},
};

use dtype_engine::Error as PackError;

use super::super::{Any, Comm, Handle};
use crate::{
    Error, MpiDatatype, Result,
    mpi::{SUCCESS, Usable, called, checked, constants, ready, true_code, without_communicator},
    transfer::{
        address::{Address, Channel},
        agreement::least_and_greatest,
        attach::Companion,
        members::{Members, intracommunicator},
        patience::Patience,
        persistent::Persistent,
    },
    types::{AnyPattern, layout_number},
};

/// The epochs of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Epochs in which the target takes part.
    Active,
    /// Epochs in which it does not.
    Passive,
}

/// Returns a rank as MPI has it. A greater one is no rank of any communicator.
pub(super) fn rank_of(rank: usize) -> Rank {
    Rank::try_from(rank).unwrap_or(Rank::MAX)
}

/// A window that is open.
pub(super) struct Open {
    /// MPI stays usable: the values lie in its memory, and other ranks may write there.
    pub mpi: Usable,
    window: MPI_Win,
    /// The messages of [`all_of`](Self::all_of), one round after the other.
    rounds: RefCell<Vec<Persistent>>,
    /// A communicator of this window alone: ranks that use another window meanwhile do not say that they use
    /// this one.
    pub companion: Companion,
    pub rank: Rank,
    kind: Kind,
    /// The number of elements of each rank.
    pub lengths: Vec<usize>,
    /// The bytes before the first element of each rank, in its memory of the window.
    pub starts: Vec<usize>,
    /// The values of the program.
    program: *mut u8,
    /// Their copies in the window, which others read and write; `None` before they are copied, and if there
    /// are no bytes.
    place: Option<*mut u8>,
    /// The number of their bytes.
    size: usize,
    /// `true` while all targets are locked for as long as the window.
    is_locked: bool,
    /// The targets of transfers that are not known to be complete.
    used: RefCell<BTreeSet<Rank>>,
    /// The tag of messages by which ranks meet: the number of agreements of all ranks so far, modulo 2. A
    /// rank that waits in an agreement declines nothing of ranks that are behind it already.
    pub meeting: Cell<c_int>,
}

/// The byte of a rank that does not take part, in the messages by which ranks meet for an epoch of some of
/// them.
pub(super) const ABSENT: u8 = 0;

/// The tag of messages by which ranks end an epoch of some of them.
pub(super) const ENDING: c_int = 2;

/// The tag of the first round of [`Open::all_of`].
const FIRST_ROUND: c_int = 3;

/// The byte of a rank that stays in the window, in an agreement of all ranks.
const STAYS: u8 = 1;

/// The byte of a rank that leaves the window.
const LEAVES: u8 = 2;

/// The memory of this rank in a window.
struct Memory {
    /// The place of the first element; `None` if there are no bytes.
    place: Option<*mut u8>,
    /// The bytes before it.
    start: usize,
    /// The number that lies there until the others have read it; 0 if there are no bytes.
    mark: u64,
}

impl Open {
    /// Opens a window over copies of the values of each rank.
    pub fn new<C: Handle, T: MpiDatatype + AnyPattern>(
        communicator: &Comm<C>,
        values: &mut [T],
        kind: Kind,
    ) -> Result<(Self, *mut [T])> {
        let mpi = ready()?;
        let Members { communicator: raw, .. } = communicator.members(&mpi);
        intracommunicator(&mpi, raw)?;
        let companion = Companion::alone(&mpi, raw)?;
        let own = [values.len() as u64, layout_number::<T>(), kind as u64];
        let all = communicator.all_gather(&own)?;
        if all.iter().any(|[_, layout, kind]| [*layout, *kind] != own[1..]) {
            return Err(unusable(
                "all ranks must have values of the same type, and all call `window`, or all `passive_window`",
            ));
        }
        // A type for which the program vouches: parts of values may be mixed here.
        if !T::FACTS.any_pattern {
            return Err(PackError::Restricted.into());
        }
        let lengths = all.iter().map(|[length, ..]| *length as usize).collect();
        // SAFETY: a constant of the library.
        let window = unsafe { ffi::RSMPI_WIN_NULL };
        let (program, size) = (values.as_mut_ptr(), size_of_val(values));
        let rank = communicator.rank() as Rank;
        let mut open = Self {
            rounds: RefCell::new(match kind {
                Kind::Active => rounds(&mpi, companion.communicator, rank, all.len() as Rank)?,
                Kind::Passive => Vec::new(),
            }),
            mpi,
            window,
            companion,
            rank,
            kind,
            lengths,
            starts: Vec::new(),
            program: program.cast(),
            place: None,
            size,
            is_locked: false,
            used: RefCell::default(),
            meeting: Cell::new(0),
        };
        let memory = open.allocate(align_of::<T>());
        let told = memory.as_ref().map_or([1, 0, 0], |Memory { start, mark, .. }| [0, *start as u64, *mark]);
        // A rank with an error tells the others, so that all leave in the same way.
        let all = communicator.all_gather(&told)?;
        let Memory { place, .. } = memory?;
        if all.iter().any(|[has_failed, ..]| *has_failed > 0) {
            return Err(unusable("another rank cannot allocate its memory"));
        }
        open.starts = all.iter().map(|[_, start, _]| *start as usize).collect();
        let marks: Vec<u64> = all.iter().map(|[.., mark]| *mark).collect();
        let reached = open.reach(&marks);
        open.place = place;
        if let Some(place) = place {
            // SAFETY: MPI has allocated as many bytes there. The values are borrowed mutably, and not used
            // until they are copied back. The others have read nothing but the mark, and write nothing.
            unsafe { place.copy_from_nonoverlapping(open.program, open.size) };
        }
        let mut reached = reached.and_then(|found| open.sync().map(|()| found));
        if kind == Kind::Passive {
            reached = reached.and_then(|found| open.unlock_all().map(|()| found));
        }
        // No rank begins an epoch before all values are in their windows, and all marks read.
        let [[_, misses]] =
            least_and_greatest(&open.mpi, open.companion.communicator, [u64::from(reached != Ok(true))])?;
        reached?;
        if misses > 0 {
            return Err(unusable(
                "the MPI library reaches other bytes than those that it has allocated: use another version",
            ));
        }
        // Without bytes, MPI may allocate nothing.
        let place = place.map_or(program, <*mut u8>::cast);
        Ok((open, ptr::slice_from_raw_parts_mut(place, values.len())))
    }

    /// Allocates memory for the values (`MPI_Win_allocate`), and writes a mark there. A window over memory of
    /// the program (`MPI_Win_create`) would be up to a hundred times slower, and Open MPI 4.1 creates none
    /// for a single rank.
    fn allocate(&mut self, alignment: usize) -> Result<Memory> {
        /// MPICH 4.0.2 rounds the size of each rank to multiples of 16 bytes where it allocates, and adds up
        /// the sizes as they are where it addresses the memory.
        const UNIT: usize = 64;
        static WINDOWS: AtomicU32 = AtomicU32::new(1);
        let (communicator, mut base) = (self.companion.communicator, ptr::null_mut::<u8>());
        // Open MPI aligns to 16 bytes or less: there is room to align the values within the memory.
        let room = if self.size > 0 { self.size.saturating_add(alignment) } else { 0 };
        let room = room.checked_next_multiple_of(UNIT).and_then(|room| MPI_Aint::try_from(room).ok());
        // Without this rank, the others would wait: it takes part without memory.
        let asked = room.unwrap_or(0);
        let (mpi, window) = (&self.mpi, &raw mut self.window);
        called(mpi, "MPI_Win_allocate", communicator, || {
            let base = (&raw mut base).cast::<c_void>();
            // SAFETY: there is room for a pointer and a handle.
            unsafe { mpi.MPI_Win_allocate(asked, 1, ffi::RSMPI_INFO_NULL, communicator, base, window) }
        })?;
        // SAFETY: the window was just allocated.
        let code = unsafe { mpi.MPI_Win_set_errhandler(self.window, ffi::RSMPI_ERRORS_RETURN) };
        checked(mpi, "MPI_Win_set_errhandler", code)?;
        // No rank takes an exclusive lock before all have given these back.
        self.lock_all()?;
        if room.is_none() {
            return Err(PackError::Memory { bytes: self.size }.into());
        }
        if self.size == 0 {
            return Ok(Memory { place: None, start: 0, mark: 0 });
        }
        let start = base.align_offset(alignment);
        let mark =
            u64::from(WINDOWS.fetch_add(1, Ordering::Relaxed)) << 32 | u64::from(self.rank.unsigned_abs());
        // SAFETY: MPI has allocated `size + alignment` bytes and at least `UNIT`; `start` is less than the
        // alignment.
        let place = unsafe { base.add(start) };
        // SAFETY: as above. There are 8 bytes: a start that is not 0 means an alignment of more than 8 bytes,
        // and the size is a multiple of the alignment.
        unsafe { place.cast::<u64>().write_unaligned(mark) };
        self.sync()?;
        Ok(Memory { place: Some(place), start, mark })
    }

    /// Reads the marks of all ranks (`MPI_Get`), and returns `true` if they are those that were told. So each
    /// rank knows that it reaches the memory that MPI has allocated. All ranks have read all marks then.
    fn reach(&self, marks: &[u64]) -> Result<bool> {
        let mut found = vec![0u64; marks.len()];
        let mut all = Ok(());
        for (rank, into) in found.iter_mut().enumerate().filter(|(rank, _)| marks[*rank] != 0) {
            let (into, size) = (ptr::from_mut(into).cast(), size_of::<u64>() as c_int);
            let start = self.starts[rank] as MPI_Aint;
            all = all.and(self.call("MPI_Get", |mpi, window| {
                // SAFETY: the destination has as many bytes, and lives until the transfers are complete. The
                // target has memory for its mark.
                unsafe {
                    let byte = ffi::RSMPI_UINT8_T;
                    mpi.MPI_Get(into, size, byte, rank as Rank, start, size, byte, window)
                }
            }));
        }
        // SAFETY: the window is live, and all targets are locked.
        let flush = |mpi: &Usable, window| unsafe { mpi.MPI_Win_flush_all(window) };
        all.and(self.call("MPI_Win_flush_all", flush)).and(self.barrier())?;
        Ok(found == marks)
    }

    /// Returns the displacement in the memory of a rank of so many bytes behind its first element.
    pub fn displacement(&self, rank: Rank, bytes: usize) -> MPI_Aint {
        (self.starts[rank as usize] + bytes) as MPI_Aint
    }

    pub fn check(&self, rank: Rank) -> Result {
        let ranks = self.lengths.len() as Rank;
        if (0..ranks).contains(&rank) { Ok(()) } else { Err(Error::Rank { rank, ranks }) }
    }

    /// Makes a call on the window, whose handler returns errors.
    #[inline]
    pub fn call(&self, name: &'static str, call: impl FnOnce(&Usable, MPI_Win) -> c_int) -> Result {
        quiet(&self.mpi, name, || call(&self.mpi, self.window))
    }

    /// Says that this epoch has transfers to a target. Epochs with a lock end with it, and need no flush.
    pub fn uses(&self, target: Rank) {
        if self.kind == Kind::Active {
            self.used.borrow_mut().insert(target);
        }
    }

    /// Begins an epoch of all ranks, unless a rank leaves. All of them have written their own values before.
    pub fn begin(&self) -> Result {
        let synced = self.sync();
        if !self.agree(false)? {
            return Err(unusable("another rank has left it"));
        }
        synced
    }

    /// Ends an epoch of all ranks: the transfers of all of them are complete then.
    pub fn end(&self) -> Result {
        self.flush().and(self.barrier()).and(self.sync())
    }

    /// Waits until all ranks have made this call.
    fn barrier(&self) -> Result {
        // SAFETY: the communicator lives as long as the window, and returns errors.
        quiet(&self.mpi, "MPI_Barrier", || unsafe { self.mpi.MPI_Barrier(self.companion.communicator) })
    }

    /// Waits until all transfers of this rank in the epoch are complete at their targets. Ranks that are no
    /// targets need not answer.
    pub fn flush(&self) -> Result {
        let used = mem::take(&mut *self.used.borrow_mut());
        if used.len() == self.lengths.len() {
            // SAFETY: the window is live, and all targets are locked.
            return self.call("MPI_Win_flush_all", |mpi, window| unsafe { mpi.MPI_Win_flush_all(window) });
        }
        used.into_iter().map(|target| self.flush_at(target)).fold(Ok(()), Result::and)
    }

    /// Waits until all transfers of this rank to a target are complete there.
    pub fn flush_at(&self, target: Rank) -> Result {
        // SAFETY: the window is live, and the target one of its ranks, which this rank has locked.
        self.call("MPI_Win_flush", |mpi, window| unsafe { mpi.MPI_Win_flush(target, window) })
    }

    /// Makes what this rank has written to its own values visible to others, and what others have written
    /// visible here.
    pub fn sync(&self) -> Result {
        // SAFETY: the window is live.
        self.call("MPI_Win_sync", |mpi, window| unsafe { mpi.MPI_Win_sync(window) })
    }

    /// Locks all targets, while no rank takes an exclusive lock.
    fn lock_all(&mut self) -> Result {
        // SAFETY: the window is live.
        let lock =
            |mpi: &Usable, window| unsafe { mpi.MPI_Win_lock_all(constants::MPI_MODE_NOCHECK(), window) };
        self.call("MPI_Win_lock_all", lock)?;
        self.is_locked = true;
        Ok(())
    }

    /// Gives the locks of [`lock_all`](Self::lock_all) back.
    fn unlock_all(&mut self) -> Result {
        if !mem::take(&mut self.is_locked) {
            return Ok(());
        }
        // SAFETY: the window is live, and all targets are locked.
        self.call("MPI_Win_unlock_all", |mpi, window| unsafe { mpi.MPI_Win_unlock_all(window) })
    }

    /// Waits until all ranks leave the window.
    fn leave(&self) -> Result {
        if self.kind == Kind::Passive {
            return self.barrier();
        }
        while !self.agree(true)? {}
        Ok(())
    }

    /// Asks all ranks whether they leave, and returns `true` if all answer like this one. While this rank
    /// waits, it tells ranks that want to meet it that it does not take part: it may have left, and they
    /// would wait for ever.
    fn agree(&self, leaves: bool) -> Result<bool> {
        let own = if leaves { LEAVES } else { STAYS };
        let all = without_communicator(&self.mpi, || {
            // A rank that cannot be told has an error of its own.
            self.all_of(own, || drop(self.decline()))
        })?;
        self.meeting.set(1 - self.meeting.get());
        Ok(all == own)
    }

    /// Waits until all ranks have made this call, and returns the bits of all of them. `meanwhile` runs again
    /// and again.
    ///
    /// In round `k`, each rank tells the one `2^k` ranks ahead what it knows (Hensgen, Finkel and Manber,
    /// "Two algorithms for barrier synchronization"). `MPI_Iallreduce` of Open MPI takes three times as long.
    fn all_of(&self, own: u8, mut meanwhile: impl FnMut()) -> Result<u8> {
        let mpi = &self.mpi;
        let mut known = own;
        let mut patience = Patience::new();
        for requests in self.rounds.borrow_mut().iter_mut() {
            requests.outgoing(SEND).fill(known);
            requests.start(mpi)?;
            while !requests.is_done(mpi)? {
                if patience.turn() {
                    meanwhile();
                }
            }
            known |= requests.incoming(mpi, RECEIVE, 1)?[0];
        }
        Ok(known)
    }

    /// Tells a rank that wants to meet this one, if there is one, that it does not take part.
    fn decline(&self) -> Result {
        let (communicator, ranks, tag) =
            (self.companion.communicator, self.lengths.len(), self.meeting.get());
        match Any::new(Channel { communicator, ranks }).tag(tag).try_receive::<u8>()? {
            Some((_, rank)) => rank.tag(tag).send(&ABSENT),
            None => Ok(()),
        }
    }
}

/// The numbers of the requests of a round.
const RECEIVE: usize = 0;
const SEND: usize = 1;

/// Prepares the messages of [`Open::all_of`].
fn rounds(mpi: &Usable, communicator: MPI_Comm, rank: Rank, ranks: Rank) -> Result<Vec<Persistent>> {
    let distances = (0..).map(|round| (round, 1 << round)).take_while(|(_, distance)| *distance < ranks);
    let round = |(round, distance): (c_int, Rank)| {
        let peer =
            |rank: Rank| Address { communicator, rank: rank.rem_euclid(ranks), tag: FIRST_ROUND + round };
        let mut requests = Persistent::on(communicator);
        requests.add_receive(mpi, 1, peer(rank - distance))?;
        requests.add_send(mpi, 1, peer(rank.saturating_add(distance)))?;
        Ok(requests)
    };
    distances.map(round).collect()
}

impl Drop for Open {
    fn drop(&mut self) {
        // Other ranks may still be in an epoch, or begin one.
        let _ = self.leave();
        if self.kind == Kind::Passive && self.place.is_some() {
            // Values that others have written become visible here.
            let _ = self.lock_all().and_then(|()| self.sync());
        }
        let _ = self.unlock_all();
        if let Some(place) = self.place {
            // SAFETY: the values are still borrowed mutably, and no epoch is open.
            unsafe { self.program.copy_from_nonoverlapping(place, self.size) };
        }
        // SAFETY: a constant of the library.
        if self.window != unsafe { ffi::RSMPI_WIN_NULL } {
            // SAFETY: no epoch is open, and the window is freed once, by all ranks.
            without_communicator(&self.mpi, || unsafe { self.mpi.MPI_Win_free(&raw mut self.window) });
        }
    }
}

/// Makes a call whose errors are returned, as no handler is called.
#[inline]
fn quiet(mpi: &Usable, name: &'static str, call: impl FnOnce() -> c_int) -> Result {
    // An error of an earlier call is none of this one.
    true_code(SUCCESS);
    Ok(checked(mpi, name, call())?)
}

/// The error of a window that cannot be used.
#[cold]
pub(super) fn unusable(reason: impl Into<String>) -> Error {
    Error::Window { reason: reason.into() }
}
