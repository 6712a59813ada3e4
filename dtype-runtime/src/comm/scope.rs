//! Scopes: transfers that use memory of the program while it computes.

use std::{
    cell::RefCell,
    marker::PhantomData,
    mem::ManuallyDrop,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use super::{Comm, Handle, Message, Peer, Place};
use crate::{
    Error, Wire,
    mpi::{Usable, ready},
    transfer::{
        carried::Carried, incoming::Receiving, request::Request, unwinding::end_of_run, waiting::meanwhile,
    },
};

impl<C: Handle> Comm<C> {
    /// Runs a function in which transfers borrow memory of the program. When it ends, the call waits for all
    /// of them.
    ///
    /// A message is sent from where it is: long ones are under way while the program computes. The messages
    /// may be of any types.
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
    /// If the function returns an error, nothing more is received, but the call waits for what it has sent.
    /// If it panics within [`run`](super::run()), the job ends.
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
        let mut transfers = scope.transfers.take();
        let result = match result {
            Ok(result) => result,
            Err(panic) => {
                // Nobody waits for what would be received, and dropping the sends waits for them.
                transfers.retain(|transfer| matches!(transfer, Transfer::Send { .. }));
                end_of_run();
                drop(transfers);
                resume_unwind(panic)
            }
        };
        if result.is_err() {
            transfers.retain(|transfer| matches!(transfer, Transfer::Send { .. }));
        }
        let mut sent = Ok(());
        meanwhile(mpi, || {
            let mut are_done = true;
            for transfer in &mut transfers {
                match transfer.advance(mpi) {
                    Ok(is_done) => are_done &= is_done,
                    Err(error) => sent = sent.clone().and(Err(error)),
                }
            }
            Ok(are_done)
        })?;
        let value = result?;
        let mut first = sent;
        for transfer in transfers {
            if let Transfer::Receive(receiving) = transfer {
                first = first.and(receiving.outcome().map(drop));
            }
        }
        first.map(|()| value)
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
enum Transfer<'scope> {
    /// A request that sends a message. The message is dropped after it.
    Send {
        request: Request,
        _message: Carried<'scope>,
    },
    Receive(Receiving<'scope>),
}

impl Transfer<'_> {
    /// Makes progress without waiting. Returns `true` if the transfer is complete.
    fn advance(&mut self, mpi: &Usable) -> Result<bool, Error> {
        match self {
            Self::Send { request, .. } => request.is_sent(mpi, false),
            Self::Receive(receiving) => Ok(receiving.advance(mpi)),
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
        self.transfers.borrow_mut().push(Transfer::Send { request, _message: message });
        Ok(())
    }

    /// Starts to receive a message. The place is written when the scope ends.
    ///
    /// # Errors
    /// `Argument` if the rank or the tag is out of range; an error if an MPI call fails. The errors of
    /// [`Peer::receive_into`] are those of the scope.
    pub fn receive_into<M: Place + ?Sized>(&self, place: &'scope mut M) -> Result<(), Error> {
        let mpi = &ready()?;
        let from = self.peer.source(mpi)?;
        let receiving = Receiving::start(mpi, place.incoming(), self.peer.options.wire, from)?;
        self.transfers.borrow_mut().push(Transfer::Receive(receiving));
        Ok(())
    }
}

debug!([C] Scope<'_, '_, C>);
debug!([] ScopedPeer<'_>, |scoped| peer: scoped.peer);
