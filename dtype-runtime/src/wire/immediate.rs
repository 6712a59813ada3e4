//! Nonblocking messages (MPI 4.1 section 3.7), within rsmpi's scopes.

use std::{fmt, marker::PhantomData};

use ::mpi::{point_to_point::Status, request::Scope};

use super::{Receivable, Sendable, Wire, receive::Posted, request::Address, send::Sending};
use crate::{
    Error,
    mpi::{Usable, ready},
};

/// A registration with a scope, which ends when the registration is dropped.
pub(super) struct Registered<'a, Sc: Scope<'a>> {
    scope: Sc,
    lifetime: PhantomData<&'a ()>,
}

impl<'a, Sc: Scope<'a>> Registered<'a, Sc> {
    pub fn with(scope: Sc) -> Self {
        scope.register();
        Self { scope, lifetime: PhantomData }
    }
}

impl<'a, Sc: Scope<'a>> Drop for Registered<'a, Sc> {
    fn drop(&mut self) {
        // SAFETY: the scope has been registered. The transfer has been completed, since the registration is
        // dropped after it.
        unsafe { self.scope.unregister() };
    }
}

/// A message that is being sent. Dropping it waits until the message has been sent.
#[must_use = "dropping it waits for the message to be sent"]
pub struct PendingSend<'a, M: Sendable + ?Sized, Sc: Scope<'a>> {
    sending: Sending<'a, M>,
    // Dropped after `sending`: the scope may end only when the message has been sent.
    _registered: Registered<'a, Sc>,
}

impl<'a, M: Sendable + ?Sized, Sc: Scope<'a>> PendingSend<'a, M, Sc> {
    pub(super) fn new(
        mpi: &Usable,
        scope: Sc,
        message: &'a M,
        wire: Wire,
        to: Address,
    ) -> Result<Self, Error> {
        let registered = Registered::with(scope);
        Ok(Self { sending: Sending::new(mpi, message, wire, to, true)?, _registered: registered })
    }

    /// Returns `true` if the message has been sent (MPI 4.1 section 3.7.3, `MPI_Test`).
    ///
    /// # Errors
    /// If MPI reports an error, and after `MPI_Finalize`.
    pub fn is_done(&mut self) -> Result<bool, Error> {
        let mpi = &ready()?;
        self.sending.advance(mpi, false)
    }

    /// Waits until the message has been sent.
    ///
    /// # Errors
    /// If MPI reports an error, and after `MPI_Finalize`.
    pub fn wait(mut self) -> Result<(), Error> {
        let mpi = &ready()?;
        self.sending.advance(mpi, true).map(|_| ())
    }
}

/// A message that is being received. Dropping it cancels the receive, and leaves the destination unchanged.
/// If the message has already arrived, it is lost.
#[must_use = "the message has not been received before `wait`"]
pub struct PendingReceive<'a, M: Receivable + ?Sized, Sc: Scope<'a>> {
    posted: Posted,
    message: &'a mut M,
    done: Option<Result<Status, Error>>,
    _registered: Registered<'a, Sc>,
}

impl<'a, M: Receivable + ?Sized, Sc: Scope<'a>> PendingReceive<'a, M, Sc> {
    pub(super) fn new(mpi: &Usable, scope: Sc, message: &'a mut M, from: Address) -> Result<Self, Error> {
        let registered = Registered::with(scope);
        let posted = Posted::new(mpi, message, from)?;
        Ok(Self { posted, message, done: None, _registered: registered })
    }

    /// Returns `true` if the message has arrived (MPI 4.1 section 3.7.3, `MPI_Test`). It has then been
    /// unpacked.
    ///
    /// # Errors
    /// The errors of [`receive_values_into`](super::ReceiveOver::receive_values_into). Later calls return the
    /// same error.
    pub fn is_done(&mut self) -> Result<bool, Error> {
        let mpi = &ready()?;
        self.advance(mpi, false).map(|done| done.is_some())
    }

    /// Waits until the message has arrived and been unpacked.
    ///
    /// # Errors
    /// The errors of [`receive_values_into`](super::ReceiveOver::receive_values_into).
    pub fn wait(mut self) -> Result<Status, Error> {
        let mpi = &ready()?;
        loop {
            if let Some(status) = self.advance(mpi, true)? {
                return Ok(status);
            }
        }
    }

    fn advance(&mut self, mpi: &Usable, wait: bool) -> Result<Option<Status>, Error> {
        if self.done.is_none() {
            self.done = self.posted.advance(mpi, self.message, wait).transpose();
        }
        self.done.clone().transpose()
    }
}

impl<'a, M: Sendable + ?Sized, Sc: Scope<'a>> fmt::Debug for PendingSend<'a, M, Sc> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingSend").finish_non_exhaustive()
    }
}

impl<'a, M: Receivable + ?Sized, Sc: Scope<'a>> fmt::Debug for PendingReceive<'a, M, Sc> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingReceive").field("done", &self.done.is_some()).finish_non_exhaustive()
    }
}
