//! Requests of calls under way with packed buffers. The buffers of a request live until it is complete. The
//! call that finds it complete unpacks the received data.
//!
//! A request is removed from the registry before the library is asked about it, and put back if it is not
//! complete. So the library may reuse the handle at once, on any thread.

use std::{
    os::raw::c_int,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use dtype_mpi::number;
use foldhash::HashMap;

use crate::{
    call::SUCCESS,
    first_use,
    lock::lock,
    native::{self, MPI_Request, MPI_Status},
    profile::{self, Prepared},
    staged::Staged,
    windows::Shared,
};

/// The packed buffers that a request uses. They are boxed, since requests move in and out of the registry.
pub(crate) struct Work {
    /// The packed send buffer and the packed receive buffer of a call.
    buffers: [Option<Staged>; 2],
    /// The buffer of a one-sided operation, which calls for its window may complete, too.
    moved: Option<Shared>,
}

impl Work {
    /// Returns the work of a call with a send buffer and a receive buffer, or `None` if neither is packed.
    #[inline]
    pub fn buffers(sent: Option<Staged>, received: Option<Staged>) -> Option<Box<Self>> {
        if sent.is_none() && received.is_none() {
            return None;
        }
        Some(Box::new(Self { buffers: [sent, received], moved: None }))
    }

    /// Returns the work of a one-sided operation.
    pub fn moved(shared: Shared) -> Box<Self> {
        Box::new(Self { buffers: [None, None], moved: Some(shared) })
    }
}

/// The kind of a request: for one operation, or persistent.
pub(crate) enum Kind {
    /// A request whose operation is under way when the library returns it.
    Once,
    /// A persistent request. Each start counts the messages of its call for the report.
    Persistent(Prepared),
}

/// Runs `stage` for a call that creates a persistent request. Returns its result, and the request's kind.
pub(crate) fn persistent<R>(stage: impl FnOnce() -> R) -> (R, Kind) {
    let (staged, named) = profile::prepared(|| first_use::preparing(stage));
    (staged, Kind::Persistent(named))
}

impl Kind {
    pub fn is_persistent(&self) -> bool {
        matches!(self, Self::Persistent(_))
    }

    /// Returns `true` if each start counts messages for the report.
    fn counts(&self) -> bool {
        matches!(self, Self::Persistent(named) if !named.is_empty())
    }
}

/// A registered request: one with packed buffers, or one whose starts are counted.
pub(crate) struct Pending {
    handle: MPI_Request,
    /// The packed buffers, or `None` if the call was forwarded unchanged and its starts are only counted.
    work: Option<Box<Work>>,
    kind: Kind,
    /// `true` if the operation has been started, and the program does not know yet that it is complete.
    is_active: bool,
    /// `true` if the received data has been unpacked already.
    is_unpacked: bool,
}

// SAFETY: an MPI handle names an object of the process, not of a thread (MPI 4.1 section 2.5.1).
unsafe impl Send for Pending {}

static PENDING: Mutex<Option<HashMap<usize, Pending>>> = Mutex::new(None);
/// The number of registered requests.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Requests that the program has freed while they were under way.
static FREED: Mutex<Vec<Pending>> = Mutex::new(Vec::new());
static FREED_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Returns `true` if any request is registered.
#[inline]
pub(crate) fn any() -> bool {
    COUNT.load(Ordering::Acquire) > 0
}

/// Registers a request. If another one with its handle is registered, this one is finished instead: libraries
/// return one handle for all requests that are complete when they are made.
///
/// # Safety
/// Promise 1, and promise 4 for the receive buffers. The program has not completed the request.
unsafe fn put(pending: Pending) {
    let Some(mut other) = insert(pending, false) else { return };
    // SAFETY: `MPI_Status` consists of integers, for which zeros are valid.
    let mut status: MPI_Status = unsafe { std::mem::zeroed() };
    let mut done: c_int = 0;
    // SAFETY: the caller's conditions.
    unsafe {
        let code = native::PMPI_Request_get_status(other.handle, &raw mut done, &raw mut status);
        if code == SUCCESS && done != 0 {
            return other.unpack(&raw const status);
        }
    }
    // The registered one was completed by a call that this library does not see.
    insert(other, true);
}

/// Inserts a request into the registry. Returns it instead if another active one has its handle, unless that
/// one `is_stale`.
fn insert(pending: Pending, is_stale: bool) -> Option<Pending> {
    let mut registry = lock(&PENDING);
    let map = registry.get_or_insert_default();
    let key = number(pending.handle);
    if pending.is_active && !is_stale && map.contains_key(&key) {
        return Some(pending);
    }
    map.insert(key, pending);
    COUNT.store(map.len(), Ordering::Release);
    None
}

/// Registers a request that the library has created, if it has packed buffers or its starts are counted.
/// Returns `code`.
///
/// # Safety
/// If `code` is `MPI_SUCCESS`, the library has set `request`.
pub(crate) unsafe fn keep(
    code: c_int,
    request: *const MPI_Request,
    kind: Kind,
    work: Option<Box<Work>>,
) -> c_int {
    if code == SUCCESS && (work.is_some() || kind.counts()) {
        // SAFETY: the caller's condition.
        let handle = unsafe { *request };
        // SAFETY: promises 1 and 4 of the call that has made the request.
        unsafe { put(Pending { handle, work, is_active: !kind.is_persistent(), kind, is_unpacked: false }) };
    }
    code
}

/// Packs the send buffers of persistent requests that are about to be started, and counts the starts.
///
/// # Safety
/// Promise 3 for buffers that are sent, and promise 4 for buffers that are received into. These are packed,
/// too, if the call may leave some of their bytes as they are.
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
        // One-sided operations are not persistent.
        for staged in pending.work.iter_mut().flat_map(|work| &mut work.buffers).flatten() {
            // SAFETY: the caller's condition.
            unsafe { staged.begin() };
        }
    }
}

/// Removes the requests in `handles` that are registered. Returns each with its index in `handles`.
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

/// The state of a request, as the library reports it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The operation is under way.
    NotYet,
    Done,
    /// The operation has ended with an error, without its data.
    Failed,
}

impl Pending {
    pub fn is_active(&self) -> bool {
        self.is_active
    }

    /// Unpacks the received data, if this has not been done.
    ///
    /// # Safety
    /// 1. The request is complete without an error, and `status` is its status.
    /// 2. Promise 4 for the receive buffers.
    unsafe fn unpack(&mut self, status: *const MPI_Status) {
        if std::mem::replace(&mut self.is_unpacked, true) {
            return;
        }
        let Some(Work { buffers, moved }) = self.work.as_deref_mut() else { return };
        for staged in buffers.iter_mut().flatten() {
            // SAFETY: 1 is condition 2; 2 is condition 1 and promise 1.
            unsafe { staged.finish(status) };
        }
        if let Some(shared) = moved {
            // SAFETY: promise 4 for the buffer of a get, by condition 2.
            unsafe { shared.finish() };
        }
    }

    /// Updates the request after a call that may have completed it. Unpacks the received data if the
    /// operation is complete, and puts the request back into the registry if the request still exists. `now`
    /// is the program's handle after the call. If the handle has changed, the request was complete and no
    /// longer exists, whatever else the library reports.
    ///
    /// # Safety
    /// Conditions 1 and 2 of [`unpack`](Self::unpack), if `end` is `Done`.
    pub unsafe fn settle(mut self, now: MPI_Request, end: End, status: *const MPI_Status) {
        let is_gone = now != self.handle;
        if !is_gone && (end == End::NotYet || !self.is_active || !self.kind.is_persistent()) {
            // SAFETY: promise 1; the request still exists. Condition 2.
            return unsafe { put(self) };
        }
        if end == End::Done {
            // SAFETY: conditions 1 and 2.
            unsafe { self.unpack(status) };
        }
        self.is_active = false;
        if !is_gone {
            // SAFETY: as above.
            unsafe { put(self) };
        }
    }

    /// Updates the request after a call that has only queried its status. Unpacks the received data if the
    /// operation is complete, and puts the request back into the registry.
    ///
    /// # Safety
    /// Conditions 1 and 2 of [`unpack`](Self::unpack), if `end` is `Done`.
    pub unsafe fn look(mut self, end: End, status: *const MPI_Status) {
        if end == End::Done && self.is_active {
            // SAFETY: conditions 1 and 2.
            unsafe { self.unpack(status) };
        }
        // SAFETY: promise 1; the request still exists. Condition 2.
        unsafe { put(self) };
    }

    /// Keeps a request that the program frees while it is under way, until it is complete.
    pub fn leave(self) {
        let mut freed = lock(&FREED);
        freed.push(self);
        FREED_COUNT.store(freed.len(), Ordering::Release);
    }
}

/// Tests the requests that the program has freed, and finishes the complete ones.
#[inline]
pub(crate) fn tend() {
    if FREED_COUNT.load(Ordering::Acquire) > 0 {
        tend_all();
    }
}

#[cold]
fn tend_all() {
    // The lock is not held during MPI calls, which may call functions of the program.
    let under_way = std::mem::take(&mut *lock(&FREED));
    let mut rest = Vec::new();
    for mut pending in under_way {
        // SAFETY: `MPI_Status` consists of integers, for which zeros are valid.
        let mut status: MPI_Status = unsafe { std::mem::zeroed() };
        let mut done: c_int = 0;
        // SAFETY: promise 1. The library has not freed the request, and no other code has its handle any
        // more. Promise 4 for the receive buffers: the program does not know yet that the operation is
        // complete.
        unsafe {
            let code = native::PMPI_Test(&raw mut pending.handle, &raw mut done, &raw mut status);
            if done == 0 {
                rest.push(pending);
                continue;
            }
            if code == SUCCESS {
                pending.unpack(&raw const status);
            }
            if pending.kind.is_persistent() {
                native::PMPI_Request_free(&raw mut pending.handle);
            }
        }
    }
    let mut freed = lock(&FREED);
    freed.append(&mut rest);
    FREED_COUNT.store(freed.len(), Ordering::Release);
}

/// Leaks the requests still under way, after `MPI_Finalize`: the library may use their buffers until the
/// process ends.
pub(crate) fn end() {
    std::mem::take(&mut *lock(&FREED)).into_iter().for_each(std::mem::forget);
    lock(&PENDING).take().into_iter().flatten().for_each(std::mem::forget);
    FREED_COUNT.store(0, Ordering::Release);
    COUNT.store(0, Ordering::Release);
}
