//! Transfers under way.

use crate::{
    FromMessage, Result, Wire,
    mpi::{Usable, ready},
    transfer::{
        address::Address,
        incoming::{Incoming, Receiving, value_of},
        waiting::{Waiting, meanwhile, progress},
    },
};

/// A transfer that has been started. [`finish`](Self::finish) waits for it, and returns what it brings.
///
/// A message to send is free as soon as the transfer has been started. A place to receive into is borrowed
/// until `finish`, and is written there. Dropping the transfer waits until its message has been sent, and
/// gives up a receive, which may have taken a message by then. Forgetting it is sound: a forgotten receive
/// takes a message that nobody gets.
#[must_use = "a transfer ends at `finish`: until then, nothing is received, and nothing may be sent"]
pub struct Pending<'a, T = ()> {
    state: Box<dyn State<T> + 'a>,
}

/// The state of a transfer.
trait State<T> {
    fn is_done(&mut self, mpi: &Usable) -> Result<bool>;
    fn finish(self: Box<Self>, mpi: &Usable) -> Result<T>;
}

/// A value, and the functions of [`Pending::new`].
struct Steps<V, F> {
    value: V,
    is_done: fn(&mut V, &Usable) -> Result<bool>,
    finish: F,
}

impl<T, V, F: FnOnce(V, &Usable) -> Result<T>> State<T> for Steps<V, F> {
    fn is_done(&mut self, mpi: &Usable) -> Result<bool> {
        (self.is_done)(&mut self.value, mpi)
    }

    fn finish(self: Box<Self>, mpi: &Usable) -> Result<T> {
        (self.finish)(self.value, mpi)
    }
}

impl<'a, T> Pending<'a, T> {
    /// Returns the transfer that a value stands for. `is_done` makes progress without waiting, and returns
    /// `true` if `finish` would not wait.
    pub(super) fn new<V: 'a>(
        value: V,
        is_done: fn(&mut V, &Usable) -> Result<bool>,
        finish: impl FnOnce(V, &Usable) -> Result<T> + 'a,
    ) -> Self {
        Self { state: Box::new(Steps { value, is_done, finish }) }
    }

    /// Starts to receive a value, whose size is not known. `then` gets it, and the address of its sender.
    pub(super) fn value<V: FromMessage + 'a>(
        mpi: &Usable,
        from: Address,
        then: impl FnOnce(V, Address) -> T + 'a,
    ) -> Result<Self> {
        let waiting = Waiting::new(mpi, from, V::KEPT)?;
        let is_done = |waiting: &mut Waiting, mpi: &Usable| Ok(waiting.is_done(mpi));
        Ok(Self::new(waiting, is_done, |waiting, mpi| {
            let (value, sender) = value_of(mpi, waiting.wait(mpi)?)?;
            Ok(then(value, sender))
        }))
    }

    /// Starts to receive a message into a place. `then` gets the address of its sender.
    pub(super) fn place(
        mpi: &Usable,
        place: Incoming<'a>,
        wire: Wire,
        from: Address,
        then: impl FnOnce(Address) -> T + 'a,
    ) -> Result<Self> {
        let receiving = Receiving::start(mpi, place, wire, from)?;
        let is_done = |receiving: &mut Receiving<'a>, mpi: &Usable| {
            progress(mpi);
            Ok(receiving.advance(mpi))
        };
        Ok(Self::new(receiving, is_done, |mut receiving, mpi| {
            meanwhile(mpi, || Ok(receiving.advance(mpi)))?;
            Ok(then(receiving.outcome()?))
        }))
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

/// The calls of a peer, a communicator, its neighbours or a file that only start: what `start()` returns.
/// Each gives a [`Pending`].
///
/// | of | calls |
/// |---|---|
/// | a peer | `send`, `receive`, `receive_into` |
/// | any rank | `receive`, `receive_into` |
/// | a communicator, neighbours | `all_to_all_into` |
/// | a file | `write_at`, `read_at` |
#[derive(Clone, Copy, Debug)]
pub struct Starting<P>(pub(super) P);

/// The calls of a peer, a communicator or its neighbours that are prepared: what `prepare()` returns.
/// Each gives something that is run many times, such as a [`PreparedSend`](crate::PreparedSend).
///
/// | of | calls |
/// |---|---|
/// | a peer | `send`, `receive_into` |
/// | a communicator | `all_to_all_into`, `redistribute` |
/// | neighbours | `all_to_all_into` |
///
/// An exchange with some ranks is prepared as a `send` and a `receive_into` of each.
#[derive(Clone, Copy, Debug)]
pub struct Preparing<P>(pub(super) P);

debug!([T] Pending<'_, T>);
