//! Panics within `run`.
//!
//! A transfer waits when it is dropped, because MPI uses its memory, and other ranks wait for it. After a
//! panic that wait may have no end: the other ranks may wait for this one.

use std::{cell::Cell, thread};

use ::mpi::topology::{Communicator, SimpleCommunicator};

thread_local! {
    /// `true` within `run`.
    static RUNS: Cell<bool> = const { Cell::new(false) };
}

/// Says that this thread is within `run`.
pub(crate) fn begin_run() {
    RUNS.set(true);
}

/// Ends the job within `run`, because this rank has panicked: messages under way need not end
/// before.
pub(crate) fn end_of_run() {
    if RUNS.get() {
        SimpleCommunicator::world().abort(101);
    }
}

/// Ends the job if a panic of this thread within `run` drops a transfer that is under way.
pub(crate) fn before_waiting() {
    if thread::panicking() {
        end_of_run();
    }
}
