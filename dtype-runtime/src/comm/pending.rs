//! Transfers under way.

use std::marker::PhantomData;

use crate::{
    FromMessage, Result,
    mpi::{Usable, ready},
    transfer::{
        address::Address,
        incoming::{Receiving, value_of},
        waiting::{Waiting, meanwhile, progress},
    },
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
    fn is_done(&mut self, mpi: &Usable) -> Result<bool>;

    /// Waits for the transfer.
    fn finish(self: Box<Self>, mpi: &Usable) -> Result<T>;
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
    pub fn is_done(&mut self) -> Result<bool> {
        let mpi = &ready()?;
        self.state.is_done(mpi)
    }

    /// Waits for the transfer, and returns what it brings (`MPI_Wait`).
    ///
    /// # Errors
    /// The errors of the call that started the transfer.
    pub fn finish(self) -> Result<T> {
        let mpi = &ready()?;
        self.state.finish(mpi)
    }
}

/// A value that is being received, whose size is not known. The function gets it, and the address of its
/// sender.
pub(super) struct AwaitedValue<T, F> {
    waiting: Waiting,
    then: F,
    value: PhantomData<T>,
}

impl<T: FromMessage, F> AwaitedValue<T, F> {
    pub(super) fn new<R>(mpi: &Usable, from: Address, then: F) -> Result<Self>
    where
        F: FnOnce(T, Address) -> R,
    {
        Ok(Self { waiting: Waiting::new(mpi, from, T::KEPT)?, then, value: PhantomData })
    }
}

impl<T: FromMessage, R, F: FnOnce(T, Address) -> R> State<R> for AwaitedValue<T, F> {
    fn is_done(&mut self, mpi: &Usable) -> Result<bool> {
        Ok(self.waiting.is_done(mpi))
    }

    fn finish(self: Box<Self>, mpi: &Usable) -> Result<R> {
        let (value, sender) = value_of(mpi, self.waiting.wait(mpi)?)?;
        Ok((self.then)(value, sender))
    }
}

/// A message that is being received into a place. The function gets the address of its sender.
pub(super) struct AwaitedPlace<'a, F>(pub Receiving<'a>, pub F);

impl<R, F: FnOnce(Address) -> R> State<R> for AwaitedPlace<'_, F> {
    fn is_done(&mut self, mpi: &Usable) -> Result<bool> {
        progress(mpi);
        Ok(self.0.advance(mpi))
    }

    fn finish(mut self: Box<Self>, mpi: &Usable) -> Result<R> {
        meanwhile(mpi, || Ok(self.0.advance(mpi)))?;
        Ok((self.1)(self.0.outcome()?))
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
