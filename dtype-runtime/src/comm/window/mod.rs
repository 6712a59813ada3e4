//! Windows: memory of each rank that other ranks read and write (MPI 4.1 chapter 12).
//!
//! A window and its epochs are closures. So they end by themselves, in a panic too, and nobody can forget
//! them. While a window is open, its memory is borrowed, and the program reaches it only where MPI allows
//! that.
//!
//! Here are the windows and the calls that begin epochs. Calls within epochs are in `epoch.rs`, the memory
//! and the agreements of all ranks in `open.rs`, epochs of some ranks in `groups.rs`.

mod epoch;
mod groups;
mod open;

use std::marker::PhantomData;

pub use epoch::Epoch;
use groups::Partners;
use open::{Kind, Open, rank_of};

use super::{Comm, Handle};
use crate::{MpiDatatype, Result, mpi::constants, types::AnyPattern};

impl<C: Handle> Comm<C> {
    /// Opens a window over the values of each rank while `body` runs, with epochs in which all ranks take
    /// part (`MPI_Win_create`): [`fence`](Window::fence) and [`exchange`](Window::exchange). All ranks of the
    /// communicator must make this call, with values of one type; their numbers may differ.
    ///
    /// The values are copied into memory of MPI, and back when the window ends: open it once, around all
    /// epochs.
    ///
    /// ```no_run
    /// use dtype_runtime::{Result, layout, run};
    ///
    /// fn main() {
    ///     run(|world| -> Result {
    ///         let next = (world.rank() + 1) % world.size();
    ///         let own = [world.rank() as f64; 10];
    ///         let mut values = vec![0.0; 20];
    ///         world.window(&mut values, |window| {
    ///             // Ten values go to every second place of the next rank's window.
    ///             window.fence(|epoch| epoch.put(&own, next, &layout!(f64[20] => [..;2])))?;
    ///             println!("{}", window.values()[2]);
    ///             Ok(())
    ///         })
    ///     });
    /// }
    /// ```
    ///
    /// # Errors
    /// The error of the function. `Argument` if a rank has values of another type, or makes the other call;
    /// `Unsupported` on an intercommunicator, and for a type of which not every byte pattern is a valid
    /// value, such as `bool`; an error if an MPI call fails, and if there is no memory for the copies. The
    /// values may have been written then.
    pub fn window<T, R>(
        &self,
        values: &mut [T],
        body: impl FnOnce(&mut Window<'_, T>) -> Result<R>,
    ) -> Result<R>
    where
        T: MpiDatatype + AnyPattern,
    {
        let (open, values) = Open::new(self, values, Kind::Active)?;
        body(&mut Window { open, values, borrow: PhantomData })
    }

    /// Opens a window over the values of each rank while `body` runs, with epochs in which only one rank
    /// takes part: [`lock`](PassiveWindow::lock) and [`lock_all`](PassiveWindow::lock_all). A rank reaches
    /// its own values in the same way as those of others. All ranks of the communicator must make this call.
    ///
    /// ```no_run
    /// use dtype_runtime::{Result, layout, run};
    /// use mpi::collective::SystemOperation;
    ///
    /// fn main() {
    ///     run(|world| -> Result {
    ///         let mut counters = vec![0u64; 4];
    ///         world.passive_window(&mut counters, |window| {
    ///             let first = layout!(u64[4] => [0]);
    ///             window.lock_all(|epoch| epoch.accumulate(&1u64, SystemOperation::sum(), 0, &first))
    ///         })?;
    ///         assert!(world.rank() > 0 || counters[0] == world.size() as u64);
    ///         Ok(())
    ///     });
    /// }
    /// ```
    ///
    /// # Errors
    /// The errors of [`window`](Self::window).
    pub fn passive_window<T, R>(
        &self,
        values: &mut [T],
        body: impl FnOnce(&mut PassiveWindow<'_, T>) -> Result<R>,
    ) -> Result<R>
    where
        T: MpiDatatype + AnyPattern,
    {
        let (open, _) = Open::new(self, values, Kind::Passive)?;
        body(&mut PassiveWindow { open, borrow: PhantomData })
    }
}

/// A window that is open, with epochs in which all ranks, or groups of ranks, take part: see
/// [`Comm::window`].
pub struct Window<'w, T> {
    open: Open,
    /// The values. All access uses this one pointer, which MPI has, too.
    values: *mut [T],
    borrow: PhantomData<&'w mut [T]>,
}

/// A window that is open, with epochs in which only one rank takes part: see
/// [`Comm::passive_window`].
pub struct PassiveWindow<'w, T> {
    open: Open,
    borrow: PhantomData<&'w mut [T]>,
}

impl<T: MpiDatatype + AnyPattern> Window<'_, T> {
    /// Returns the values of this rank, between epochs.
    pub fn values(&self) -> &[T] {
        // SAFETY: the values are borrowed mutably as long as the window. No epoch is open, so no rank has
        // access.
        unsafe { &*self.values }
    }

    /// Returns the values of this rank for writing, between epochs.
    pub fn values_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `values`.
        unsafe { &mut *self.values }
    }

    /// Runs an epoch of all ranks, as between two calls of `MPI_Win_fence`. All ranks must make this call.
    /// Values that are sent or received in the epoch are borrowed until its end.
    ///
    /// # Errors
    /// `Argument` if another rank has left the window; an error if an MPI call fails. The body has not
    /// run then. An error of a transfer, which the body returns, is one of this rank alone.
    pub fn fence<'e, R>(&'e mut self, body: impl FnOnce(&Epoch<'e, T>) -> Result<R>) -> Result<R> {
        self.open.begin()?;
        Epoch::run(&self.open, None, body, Open::end)
    }

    /// Runs an epoch of some ranks: this rank writes to and reads from `targets`, and `origins` do so here,
    /// as with `MPI_Win_post`, `MPI_Win_start`, `MPI_Win_complete` and `MPI_Win_wait`. Each of these ranks
    /// must make the call with this rank on the other side. The groups may change each time. Until then, this
    /// rank waits: three ranks that wait for one another in a circle wait for ever, as in MPI.
    ///
    /// # Errors
    /// `Argument` if a rank is none of the communicator, or if one of these ranks has left the window, has
    /// this rank on another side, or has an error. The body has not run then. An error if an MPI call fails.
    pub fn exchange<'e, R>(
        &'e mut self,
        targets: &[usize],
        origins: &[usize],
        body: impl FnOnce(&Epoch<'e, T>) -> Result<R>,
    ) -> Result<R> {
        let (partners, met) = Partners::meet(&self.open, targets, origins);
        // Ranks whose parts fit are in the epoch already. After an error it ends without transfers of this
        // rank.
        let body = |epoch: &Epoch<'e, T>| met.clone().and_then(|()| body(epoch));
        let targets = Some(partners.targets.clone());
        let result = Epoch::run(&self.open, targets, body, |open| partners.end(open));
        met.and(result)
    }
}

/// The kind of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lock {
    /// Other ranks may lock the window of the target at a time.
    Shared,
    /// No other rank locks the window of the target at a time.
    Exclusive,
}

impl<T: MpiDatatype + AnyPattern> PassiveWindow<'_, T> {
    /// Runs an epoch with one target (`MPI_Win_lock` and `MPI_Win_unlock`). Values that are sent or received
    /// in the epoch are borrowed until its end.
    ///
    /// # Errors
    /// `Argument` if the target is no rank of the communicator; an error if an MPI call fails.
    pub fn lock<'e, R>(
        &'e mut self,
        lock: Lock,
        target: usize,
        body: impl FnOnce(&Epoch<'e, T>) -> Result<R>,
    ) -> Result<R> {
        let target = rank_of(target);
        self.open.check(target)?;
        let kind = match lock {
            Lock::Shared => constants::MPI_LOCK_SHARED(),
            Lock::Exclusive => constants::MPI_LOCK_EXCLUSIVE(),
        };
        self.open.call("MPI_Win_lock", |mpi, window| {
            // SAFETY: the window is live, and the target one of its ranks.
            unsafe { mpi.MPI_Win_lock(kind, target, 0, window) }
        })?;
        Epoch::run(&self.open, Some(vec![target]), body, |open| {
            // SAFETY: the target is locked.
            open.call("MPI_Win_unlock", |mpi, window| unsafe { mpi.MPI_Win_unlock(target, window) })
        })
    }

    /// Runs an epoch with all ranks as targets, which other ranks share (`MPI_Win_lock_all` and
    /// `MPI_Win_unlock_all`).
    ///
    /// # Errors
    /// An error if an MPI call fails.
    pub fn lock_all<'e, R>(&'e mut self, body: impl FnOnce(&Epoch<'e, T>) -> Result<R>) -> Result<R> {
        // SAFETY: the window is live.
        self.open.call("MPI_Win_lock_all", |mpi, window| unsafe { mpi.MPI_Win_lock_all(0, window) })?;
        Epoch::run(&self.open, None, body, |open| {
            // SAFETY: all targets are locked.
            open.call("MPI_Win_unlock_all", |mpi, window| unsafe { mpi.MPI_Win_unlock_all(window) })
        })
    }
}
