//! Scopes: transfers that use memory of the program while it computes.

use std::{
    cell::RefCell,
    marker::PhantomData,
    mem::{self, ManuallyDrop},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use super::{Comm, Handle, Message, Peer, Place};
use crate::{
    Result, Wire,
    mpi::ready,
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
    pub fn scope<'env, T, F>(&'env self, function: F) -> Result<T>
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env, C>) -> Result<T>,
    {
        let mpi = &ready()?;
        let transfers = ManuallyDrop::new(RefCell::default());
        let scope = Scope { communicator: self, transfers, lifetime: PhantomData };
        let result = catch_unwind(AssertUnwindSafe(|| function(&scope)));
        let mut transfers = scope.transfers.take();
        if !matches!(result, Ok(Ok(_))) {
            // Nobody waits for what would be received.
            transfers.receives.clear();
        }
        let result = result.unwrap_or_else(|panic| {
            end_of_run();
            // Dropping the sends waits for them.
            drop(mem::take(&mut transfers));
            resume_unwind(panic)
        });
        let Transfers { sends, receives } = &mut transfers;
        let mut first = Ok(());
        meanwhile(mpi, || {
            let mut are_done = true;
            for (request, _) in &mut *sends {
                match request.is_sent(mpi, false) {
                    Ok(is_done) => are_done &= is_done,
                    Err(error) => first = first.clone().and(Err(error)),
                }
            }
            for receiving in &mut *receives {
                are_done &= receiving.advance(mpi);
            }
            Ok(are_done)
        })?;
        let value = result?;
        for receiving in transfers.receives {
            first = first.and(receiving.outcome().map(drop));
        }
        first.map(|()| value)
    }
}

/// A scope, in which transfers borrow memory of the program: see [`Comm::scope`].
pub struct Scope<'scope, 'env, C> {
    communicator: &'env Comm<C>,
    /// The transfers, which [`Comm::scope`] takes. They borrow for `'scope`, longer than the scope itself, so
    /// they cannot be dropped with it.
    transfers: ManuallyDrop<RefCell<Transfers<'scope>>>,
    /// Makes the lifetime invariant, as that of `std::thread::Scope`.
    lifetime: PhantomData<&'scope mut &'scope ()>,
}

/// The transfers of a scope.
#[derive(Default)]
struct Transfers<'scope> {
    /// The requests that send messages. Each message is dropped after its request.
    sends: Vec<(Request, Carried<'scope>)>,
    receives: Vec<Receiving<'scope>>,
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
    transfers: &'scope RefCell<Transfers<'scope>>,
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
    pub fn send<M: Message + ?Sized>(&self, message: &'scope M) -> Result {
        let mpi = &ready()?;
        let message = message.carried(false)?;
        let to = self.peer.destination(mpi)?;
        // SAFETY: the scope keeps the message until the request is complete or dropped, and it ends before
        // what the message borrows.
        let request = unsafe { message.start_unborrowed(mpi, self.peer.options.wire, to) }?;
        self.transfers.borrow_mut().sends.push((request, message));
        Ok(())
    }

    /// Starts to receive a message. The place is written when the scope ends.
    ///
    /// # Errors
    /// `Argument` if the rank or the tag is out of range; an error if an MPI call fails. The errors of
    /// [`Peer::receive_into`] are those of the scope.
    pub fn receive_into<M: Place + ?Sized>(&self, place: &'scope mut M) -> Result {
        let mpi = &ready()?;
        let from = self.peer.source(mpi)?;
        let receiving = Receiving::start(mpi, place.incoming(), self.peer.options.wire, from)?;
        self.transfers.borrow_mut().receives.push(receiving);
        Ok(())
    }
}

debug!([C] Scope<'_, '_, C>);
debug!([] ScopedPeer<'_>, |scoped| peer: scoped.peer);
