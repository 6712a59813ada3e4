//! Transfers under way.

use crate::{
    Error,
    mpi::{Usable, ready},
};

/// A transfer that has been started. [`finish`](Self::finish) waits for it, and returns what it brings.
///
/// A message to send is free as soon as the transfer has been started. A place to receive into is borrowed
/// until `finish`, and is written there. Dropping the transfer waits until its message has been sent, and
/// gives up a receive. Forgetting it is sound: a forgotten receive takes a message that nobody gets.
#[must_use = "nothing is received before `finish`"]
pub struct Pending<'a, T = ()> {
    state: Box<dyn State<T> + 'a>,
}

/// The state of a transfer.
pub(super) trait State<T> {
    /// Makes progress without waiting. Returns `true` if `finish` would not wait.
    fn is_done(&mut self, mpi: &Usable) -> Result<bool, Error>;

    /// Waits for the transfer.
    fn finish(self: Box<Self>, mpi: &Usable) -> Result<T, Error>;
}

impl<'a, T> Pending<'a, T> {
    pub(super) fn new(state: impl State<T> + 'a) -> Self {
        Self { state: Box::new(state) }
    }

    /// Returns `true` if the transfer is complete, so that [`finish`](Self::finish) does not wait
    /// (`MPI_Test`). Most libraries make progress only during calls, so a long computation should call this
    /// now and then.
    ///
    /// # Errors
    /// If an MPI call fails, and after `MPI_Finalize`.
    pub fn is_done(&mut self) -> Result<bool, Error> {
        let mpi = &ready()?;
        self.state.is_done(mpi)
    }

    /// Waits for the transfer, and returns what it brings (`MPI_Wait`).
    ///
    /// # Errors
    /// The errors of the call that started the transfer.
    pub fn finish(self) -> Result<T, Error> {
        let mpi = &ready()?;
        self.state.finish(mpi)
    }
}

/// The calls of a peer, a communicator, its neighbours or a file that only start: what `start()` returns.
/// Each gives a [`Pending`].
#[derive(Clone, Copy, Debug)]
pub struct Starting<P>(pub(super) P);

/// The calls of a peer, a communicator or its neighbours that are prepared: what `prepare()` returns.
/// Each gives something that is run many times, such as a [`PreparedSend`](crate::PreparedSend).
#[derive(Clone, Copy, Debug)]
pub struct Preparing<P>(pub(super) P);

debug!([T] Pending<'_, T>);
