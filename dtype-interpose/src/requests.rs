//! Requests of calls that are under way with packed bytes: what they use lives until they are complete, and
//! what they receive is unpacked by whoever finds out that they are.
//!
//! A request is taken from here before the library is asked for it, and put back if it goes on: so its handle
//! may be used again at once, by any thread.

use std::{
    any::Any,
    os::raw::c_int,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use foldhash::HashMap;
use mpi::ffi::{self, MPI_Request, MPI_Status};

use crate::{
    call::SUCCESS,
    first_use,
    handle::number,
    lock::lock,
    staged::{Block, Incoming, Outgoing},
    usage::{self, Prepared},
};

/// What a request uses.
pub(crate) enum Work {
    /// What is sent, and what is received, whose status says how much of it has come.
    Message { sent: Option<Outgoing>, received: Option<Incoming> },
    /// A collective call: what it sends and receives, and what else has to live.
    Collective { sides: [Option<Block>; 2], _lists: Box<dyn Any> },
}

impl Work {
    /// That of a message, if anything of it goes packed.
    pub fn message(sent: Option<Outgoing>, received: Option<Incoming>) -> Option<Self> {
        (sent.is_some() || received.is_some()).then_some(Self::Message { sent, received })
    }
}

/// Whether a request can be started again and again.
pub(crate) enum Kind {
    /// It is under way when the library gives it.
    Once,
    /// Each start counts what it names.
    Persistent(Prepared),
}

/// Stages a call that is under way when it returns.
pub(crate) fn once<R>(stage: impl FnOnce() -> R) -> (R, Kind) {
    (stage(), Kind::Once)
}

/// Stages a call that is started later, again and again.
pub(crate) fn persistent<R>(stage: impl FnOnce() -> R) -> (R, Kind) {
    let (staged, named) = usage::prepared(|| first_use::preparing(stage));
    (staged, Kind::Persistent(named))
}

impl Kind {
    pub fn is_persistent(&self) -> bool {
        matches!(self, Self::Persistent(_))
    }

    /// Whether there is anything to count.
    fn counts(&self) -> bool {
        matches!(self, Self::Persistent(named) if !named.is_empty())
    }
}

/// A request of ours.
pub(crate) struct Pending {
    handle: MPI_Request,
    /// Nothing where it goes plain, and is only counted.
    work: Option<Work>,
    kind: Kind,
    /// It has been started, and its end not been told to the program.
    is_active: bool,
    /// What it receives has been unpacked already.
    is_unpacked: bool,
}

// SAFETY: an MPI handle names an object of the process, not of a thread (MPI 4.1 section 2.5.1); lists are
// memory of ours.
unsafe impl Send for Pending {}

static PENDING: Mutex<Option<HashMap<usize, Pending>>> = Mutex::new(None);
/// How many there are.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Requests that the program has freed while they were under way.
static FREED: Mutex<Vec<Pending>> = Mutex::new(Vec::new());
static FREED_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Whether there are requests of ours.
#[inline]
pub(crate) fn any() -> bool {
    COUNT.load(Ordering::Acquire) > 0
}

fn put(pending: Pending) {
    let mut registry = lock(&PENDING);
    let map = registry.get_or_insert_default();
    map.insert(number(pending.handle), pending);
    COUNT.store(map.len(), Ordering::Release);
}

/// Keeps what a request uses, if the library has given one.
///
/// # Safety
/// Where the code is that of success, the library has set the request.
pub(crate) unsafe fn keep(code: c_int, request: *const MPI_Request, kind: Kind, work: Option<Work>) -> c_int {
    if code == SUCCESS && (work.is_some() || kind.counts()) {
        // SAFETY: the caller's condition.
        let handle = unsafe { *request };
        put(Pending { handle, work, is_active: !kind.is_persistent(), kind, is_unpacked: false });
    }
    code
}

/// Packs what requests send that are about to be started.
///
/// # Safety
/// What they send is readable.
pub(crate) unsafe fn start(handles: &[MPI_Request]) {
    if !any() {
        return;
    }
    let mut registry = lock(&PENDING);
    let Some(map) = registry.as_mut() else { return };
    for handle in handles {
        let Some(pending) = map.get_mut(&number(*handle)) else { continue };
        (pending.is_active, pending.is_unpacked) = (true, false);
        if let Kind::Persistent(named) = &pending.kind {
            named.count();
        }
        // SAFETY: the caller's condition.
        unsafe {
            match &mut pending.work {
                Some(Work::Message { sent: Some(sent), .. }) => sent.pack(),
                Some(Work::Collective { sides, .. }) => {
                    sides.iter_mut().flatten().for_each(|side| side.begin());
                }
                Some(Work::Message { sent: None, .. }) | None => {}
            }
        }
    }
}

/// Takes requests of ours out, each with its place among the handles.
pub(crate) fn take(handles: &[MPI_Request]) -> Vec<(usize, Pending)> {
    if !any() {
        return Vec::new();
    }
    let mut registry = lock(&PENDING);
    let Some(map) = registry.as_mut() else { return Vec::new() };
    let taken = handles.iter().enumerate();
    let taken = taken.filter_map(|(i, handle)| Some((i, map.remove(&number(*handle))?))).collect();
    COUNT.store(map.len(), Ordering::Release);
    taken
}

/// What the library says of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It goes on.
    NotYet,
    Done,
    /// It is over, without its data.
    Failed,
}

impl Pending {
    pub fn is_active(&self) -> bool {
        self.is_active
    }

    /// Unpacks what has been received, if this has not been done.
    ///
    /// # Safety
    /// 1. The request is complete, and this its status. 2. What it receives is still there.
    unsafe fn unpack(&mut self, status: *const MPI_Status) {
        if std::mem::replace(&mut self.is_unpacked, true) {
            return;
        }
        // SAFETY: 1 and 2.
        unsafe {
            match &mut self.work {
                Some(Work::Message { received: Some(received), .. }) => received.arrived(status),
                Some(Work::Collective { sides, .. }) => {
                    sides.iter_mut().flatten().for_each(|side| side.finish());
                }
                Some(Work::Message { received: None, .. }) | None => {}
            }
        }
    }

    /// Does what is to be done when the library has been asked: puts it back, or unpacks what it has
    /// received. `now` is the program's handle after that: of what is over, and cannot be started again,
    /// there is none any more, whatever else the library says.
    ///
    /// # Safety
    /// 1 and 2 of [`unpack`](Self::unpack), where it is done.
    pub unsafe fn settle(mut self, now: MPI_Request, end: End, status: *const MPI_Status) {
        let is_gone = now != self.handle;
        if !is_gone && (end == End::NotYet || !self.is_active || !self.kind.is_persistent()) {
            return put(self);
        }
        if end == End::Done {
            // SAFETY: 1 and 2.
            unsafe { self.unpack(status) };
        }
        self.is_active = false;
        if !is_gone {
            put(self);
        }
    }

    /// Does what is to be done when the library has only been asked whether it is done: the request stays,
    /// and what it has received is unpacked.
    ///
    /// # Safety
    /// 1 and 2 of [`unpack`](Self::unpack), where it is done.
    pub unsafe fn look(mut self, end: End, status: *const MPI_Status) {
        if end == End::Done && self.is_active {
            // SAFETY: 1 and 2.
            unsafe { self.unpack(status) };
        }
        put(self);
    }

    /// Goes on with a request that the program frees while it is under way.
    pub fn leave(self) {
        let mut freed = lock(&FREED);
        freed.push(self);
        FREED_COUNT.store(freed.len(), Ordering::Release);
    }
}

/// Looks after requests that the program has freed.
#[inline]
pub(crate) fn tend() {
    if FREED_COUNT.load(Ordering::Acquire) > 0 {
        tend_all();
    }
}

#[cold]
fn tend_all() {
    // It is not locked while MPI is asked, which may call functions of the program.
    let under_way = std::mem::take(&mut *lock(&FREED));
    let mut rest = Vec::new();
    for mut pending in under_way {
        // SAFETY: a status is numbers.
        let mut status: MPI_Status = unsafe { std::mem::zeroed() };
        let mut done: c_int = 0;
        // SAFETY: the request has not been freed, and nobody else has it any more; what it receives is there
        // until the program knows that it has come.
        unsafe {
            let code = ffi::PMPI_Test(&raw mut pending.handle, &raw mut done, &raw mut status);
            if done == 0 {
                rest.push(pending);
                continue;
            }
            if code == SUCCESS {
                pending.unpack(&raw const status);
            }
            if pending.kind.is_persistent() {
                ffi::PMPI_Request_free(&raw mut pending.handle);
            }
        }
    }
    let mut freed = lock(&FREED);
    freed.append(&mut rest);
    FREED_COUNT.store(freed.len(), Ordering::Release);
}

/// Behind `MPI_Finalize`: what is under way still then is the library's to the end of the process.
pub(crate) fn end() {
    std::mem::take(&mut *lock(&FREED)).into_iter().for_each(std::mem::forget);
    lock(&PENDING).take().into_iter().flatten().for_each(std::mem::forget);
    FREED_COUNT.store(0, Ordering::Release);
    COUNT.store(0, Ordering::Release);
}
