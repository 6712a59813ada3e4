//! Receives that have been started, of messages whose size is not known.
//!
//! MPI has no such receive. So the receives of a thread wait in a list, in the order in which they were
//! started, and each call of this crate that waits for a message between two ranks looks for theirs
//! (`MPI_Improbe`). Collective calls do not: other ranks may make the blocking call of MPI, which a
//! nonblocking one does not match (MPI 4.1 section 6.12). A receive never takes a message that an earlier one
//! in the list could take: as in MPI, messages are received in the order of the receives (MPI 4.1 section
//! 3.5).

use std::{
    cell::{Cell, RefCell},
    rc::{Rc, Weak},
};

use super::{
    address::{Address, any_rank, any_tag},
    attach::Life,
    patience::Patience,
    receive::Found,
    request::Matched,
};
use crate::{Error, mpi::Usable};

thread_local! {
    /// The receives of this thread that have been started.
    static ALL: RefCell<Vec<Weak<Slot>>> = const { RefCell::new(Vec::new()) };
}

/// A receive that has been started.
struct Slot {
    from: Address,
    /// The life of the communicator: the program may forget the receive, and free the communicator.
    life: Life,
    /// The alignment of memory that can be kept.
    kept: usize,
    has_message: Cell<bool>,
    found: RefCell<Option<Result<Found, Error>>>,
}

/// A receive that has been started. Dropping it gives up the message.
pub(crate) struct Waiting(Rc<Slot>);

/// Returns `true` if no receive of this thread waits for a message.
#[inline]
pub(crate) fn is_nothing_awaited() -> bool {
    ALL.try_with(|all| all.borrow().is_empty()).unwrap_or(true)
}

/// Returns `true` if a receive that was started before could take the messages of an address.
pub(crate) fn is_awaited(from: Address) -> bool {
    ALL.with_borrow(|all| all.iter().filter_map(Weak::upgrade).any(|slot| slot.takes_before(from)))
}

/// Looks for the messages of all receives of this thread, and receives those that have arrived.
pub(crate) fn progress(mpi: &Usable) {
    let all: Vec<Rc<Slot>> = ALL.with_borrow_mut(|all| {
        all.retain(|slot| slot.upgrade().is_some_and(|slot| !slot.has_message.get()));
        all.iter().filter_map(Weak::upgrade).collect()
    });
    for i in 0..all.len() {
        settle(mpi, &all, i);
    }
}

/// Receives the message of receive `i`, if it has arrived.
fn settle(mpi: &Usable, all: &[Rc<Slot>], i: usize) {
    let slot = &all[i];
    if slot.has_message.get() {
        return;
    }
    // Held until the message has been received.
    let held = slot.life.hold();
    let found = match held.as_ref().ok_or(Error::Freed).and_then(|_| look_for(mpi, all, i)) {
        Ok(None) => return,
        Ok(Some(matched)) => Found::receive(mpi, matched, slot.kept, |_| None).map(Found::put_aside),
        Err(error) => Err(error),
    };
    slot.has_message.set(true);
    slot.found.replace(Some(found));
}

/// Looks for a message of receive `i` that no earlier receive takes.
fn look_for(mpi: &Usable, all: &[Rc<Slot>], i: usize) -> Result<Option<Matched>, Error> {
    let from = all[i].from;
    let earlier = |from: Address| all[..i].iter().position(|before| before.takes_before(from));
    if earlier(from).is_none() {
        return Matched::look_for(mpi, from);
    }
    loop {
        let Some((sender, _)) = from.probe(mpi)? else { return Ok(None) };
        let Some(before) = earlier(sender) else { return Matched::look_for(mpi, sender) };
        // The message has arrived since the earlier receive looked for it.
        settle(mpi, all, before);
        if !all[before].has_message.get() {
            return Ok(None);
        }
    }
}

impl Slot {
    /// Returns `true` if this receive, which was started before, could take the messages of an address.
    fn takes_before(&self, from: Address) -> bool {
        let meets = |own: i32, other: i32, any: i32| own == other || own == any || other == any;
        !self.has_message.get()
            && self.from.communicator == from.communicator
            && self.life.is_alive()
            && meets(self.from.rank, from.rank, any_rank())
            && meets(self.from.tag, from.tag, any_tag())
    }
}

impl Waiting {
    /// Starts a receive.
    pub fn new(mpi: &Usable, from: Address, kept: usize) -> Result<Self, Error> {
        let life = Life::of(mpi, from.communicator)?;
        let (has_message, found) = (Cell::new(false), RefCell::new(None));
        let slot = Rc::new(Slot { from, life, kept, has_message, found });
        ALL.with_borrow_mut(|all| all.push(Rc::downgrade(&slot)));
        Ok(Self(slot))
    }

    /// Returns `true` if the message has arrived.
    pub fn is_done(&self, mpi: &Usable) -> bool {
        if !self.0.has_message.get() {
            progress(mpi);
        }
        self.0.has_message.get()
    }

    /// Waits for the message, and returns it.
    pub fn wait(&self, mpi: &Usable) -> Result<Found, Error> {
        let mut patience = Patience::new();
        while !self.is_done(mpi) {
            patience.turn();
        }
        self.0.found.take().unwrap_or(Err(Error::NotStarted { what: "the receive" }))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let own = Rc::as_ptr(&self.0);
        let _ = ALL.try_with(|all| {
            if let Ok(mut all) = all.try_borrow_mut() {
                all.retain(|slot| slot.as_ptr() != own);
            }
        });
    }
}

/// Waits for a message that no started receive takes, and looks for those of started receives meanwhile.
pub(crate) fn matched_meanwhile(mpi: &Usable, from: Address) -> Result<Matched, Error> {
    if is_nothing_awaited() {
        return Matched::wait_for(mpi, from);
    }
    let mut patience = Patience::new();
    loop {
        if let Some(matched) = Matched::look_for(mpi, from)? {
            return Ok(matched);
        }
        progress(mpi);
        patience.turn();
    }
}

/// Waits until `is_done` returns `true`, and looks for the messages of started receives meanwhile.
pub(crate) fn meanwhile(mpi: &Usable, mut is_done: impl FnMut() -> Result<bool, Error>) -> Result<(), Error> {
    let mut patience = Patience::new();
    while !is_done()? {
        progress(mpi);
        patience.turn();
    }
    Ok(())
}
