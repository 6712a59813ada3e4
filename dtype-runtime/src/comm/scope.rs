//! Scopes: transfers that use memory of the program while it computes.

use std::{
    cell::RefCell,
    fmt,
    marker::PhantomData,
    mem::ManuallyDrop,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use super::{Comm, Handle, Message, Peer, Place};
use crate::{
    Error, Wire,
    mpi::{Usable, ready},
    wire::{
        carried::{Carried, Incoming, arrive_into},
        receive::Posted,
        request::{Address, Matched, Request},
    },
};

impl<C: Handle> Comm<C> {
    /// Runs a function in which transfers borrow memory of the program. When it ends, the call waits for all
    /// of them.
    ///
    /// What is sent is not copied: long messages are under way while the program computes. The messages may
    /// be of any types.
    ///
    /// ```no_run
    /// use dtype_runtime::{Result, run};
    ///
    /// fn main() {
    ///     run(|world| -> Result {
    ///         let next = (world.rank() + 1) % world.size();
    ///         let previous = (world.rank() + world.size() - 1) % world.size();
    ///         let long = vec![world.rank() as f64; 1_000_000];
    ///         let mut others = vec![0.0; 1_000_000];
    ///         let sum: f64 = world.scope(|scope| {
    ///             scope.peer(next).send(&long)?;
    ///             scope.peer(previous).receive_into(&mut others[..])?;
    ///             Ok(long.iter().sum()) // meanwhile
    ///         })?;
    ///         println!("{sum} {}", others[0]);
    ///         Ok(())
    ///     });
    /// }
    /// ```
    ///
    /// # Errors
    /// The error of the function; otherwise the first error of a transfer: those of
    /// [`Peer::send`] and [`Peer::receive_into`].
    pub fn scope<'env, T, F>(&'env self, function: F) -> Result<T, Error>
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, C>) -> Result<T, Error>,
    {
        let mpi = &ready()?;
        let transfers = ManuallyDrop::new(RefCell::default());
        let scope = Scope { communicator: self, transfers, lifetime: PhantomData };
        let result = catch_unwind(AssertUnwindSafe(|| function(&scope)));
        let transfers = scope.transfers.take();
        // If the function has panicked, dropping the transfers completes them.
        let result = result.unwrap_or_else(|panic| resume_unwind(panic));
        let mut first = Ok(());
        for transfer in transfers {
            first = first.and(transfer.finish(mpi));
        }
        result.and_then(|value| first.map(|()| value))
    }
}

/// A scope, in which transfers borrow memory of the program: see [`Comm::scope`].
pub struct Scope<'scope, 'env, C> {
    communicator: &'env Comm<C>,
    /// The transfers, which [`Comm::scope`] takes. They borrow for `'scope`, longer than the scope itself, so
    /// they cannot be dropped with it.
    transfers: ManuallyDrop<RefCell<Vec<Transfer<'scope>>>>,
    /// Makes the lifetime invariant, as that of `std::thread::Scope`.
    lifetime: PhantomData<&'scope mut &'scope ()>,
}

/// A transfer of a scope.
struct Transfer<'scope> {
    // Dropped first, which completes it.
    request: Option<Request>,
    /// The message that is sent.
    _message: Option<Carried<'scope>>,
    received: Option<Received<'scope>>,
}

/// A receive of a scope.
struct Received<'scope> {
    place: Incoming<'scope>,
    posted: Option<Posted>,
    from: Address,
}

impl Transfer<'_> {
    fn finish(mut self, mpi: &Usable) -> Result<(), Error> {
        if let Some(request) = &mut self.request {
            request.is_sent(mpi, true)?;
        }
        let Some(Received { place, posted, from }) = &mut self.received else { return Ok(()) };
        match (place.split(), posted) {
            (Ok(exact), Some(posted)) => {
                while posted.advance(mpi, exact, true)?.is_none() {}
                Ok(())
            }
            (Ok(_), None) => Ok(()),
            (Err(_), _) if from.is_nobody() => Ok(()),
            (Err(value), _) => arrive_into(mpi, Matched::wait_for(mpi, *from)?, value),
        }
    }
}

impl<'scope, C: Handle> Scope<'scope, '_, C> {
    /// Returns a rank with which transfers are started: see [`Comm::peer`].
    pub fn peer(&'scope self, rank: usize) -> ScopedPeer<'scope> {
        ScopedPeer { peer: self.communicator.peer(rank), transfers: &self.transfers }
    }
}

/// A rank with which transfers are started in a scope.
#[derive(Clone, Copy)]
pub struct ScopedPeer<'scope> {
    peer: Peer<'scope>,
    transfers: &'scope RefCell<Vec<Transfer<'scope>>>,
}

impl<'scope> ScopedPeer<'scope> {
    /// Sends, or receives, with this tag.
    #[must_use]
    pub fn tag(self, tag: i32) -> Self {
        Self { peer: self.peer.tag(tag), ..self }
    }

    /// Sends on this wire: see [`Peer::wire`].
    #[must_use]
    pub fn wire(self, wire: Wire) -> Self {
        Self { peer: self.peer.wire(wire), ..self }
    }

    /// Starts to send a message, from where it is (`MPI_Isend`).
    ///
    /// # Errors
    /// The errors of [`Peer::send`].
    pub fn send<M: Message + ?Sized>(&self, message: &'scope M) -> Result<(), Error> {
        let mpi = &ready()?;
        let message = message.carried(false)?;
        let to = self.peer.destination(mpi)?;
        // SAFETY: the scope keeps the message until the request is complete or dropped, and it ends before
        // what the message borrows.
        let request = unsafe { message.start_unborrowed(mpi, self.peer.options.wire, to) }?;
        let transfer = Transfer { request: Some(request), _message: Some(message), received: None };
        self.transfers.borrow_mut().push(transfer);
        Ok(())
    }

    /// Starts to receive a message. The place is written when the scope ends.
    ///
    /// # Errors
    /// [`Error::Rank`] and [`Error::Tag`]; an error if an MPI call fails. The errors of
    /// [`Peer::receive_into`] are those of the scope.
    pub fn receive_into<M: Place + ?Sized>(&self, place: &'scope mut M) -> Result<(), Error> {
        let mpi = &ready()?;
        let from = self.peer.source(mpi)?;
        let mut place = place.incoming();
        let posted = match place.split() {
            Ok(exact) => Some(Posted::new(mpi, exact, from)?),
            Err(_) => None,
        };
        let received = Some(Received { place, posted, from });
        self.transfers.borrow_mut().push(Transfer { request: None, _message: None, received });
        Ok(())
    }
}

impl<C> fmt::Debug for Scope<'_, '_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

impl fmt::Debug for ScopedPeer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedPeer").field("peer", &self.peer).finish_non_exhaustive()
    }
}
