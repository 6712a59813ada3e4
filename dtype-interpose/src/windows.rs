//! One-sided operations under way with packed buffers (MPI 4.1 chapter 12).
//!
//! A packed buffer lives until a call of the program completes the operation on this rank. This call unpacks
//! the data of an `MPI_Get`. An operation with a request is completed by the first call for its request or
//! for its window.

use std::{
    os::raw::c_int,
    ptr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use dtype_mpi::number;
use foldhash::HashMap;

use crate::{
    argument::{Argument, Transfer},
    call::{Call, SUCCESS},
    lock::lock,
    message::Message,
    native::{self, MPI_Datatype, MPI_Win},
    staged::{Staged, forwarded},
};

/// An `MPI_Put` or `MPI_Get`, with its window and its target rank.
#[derive(Clone, Copy)]
pub(crate) struct Move {
    pub window: MPI_Win,
    pub rank: c_int,
    /// The count and the datatype at the target.
    pub there: (i64, MPI_Datatype),
}

/// The packed buffer of an operation, which its window and its request share. The first of the two that
/// completes takes it.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<Option<Staged>>>);

impl Shared {
    fn of(staged: Staged) -> Self {
        BYTES.fetch_add(staged.bytes(), Ordering::Release);
        Self(Arc::new(Mutex::new(Some(staged))))
    }

    fn is_finished(&self) -> bool {
        lock(&self.0).is_none()
    }

    /// Unpacks the data of a get, unless this has been done. The lock is held meanwhile: if another thread
    /// has taken the buffer, it has also unpacked it when this function returns.
    ///
    /// # Safety
    /// Promise 4 for the buffer of a get.
    pub unsafe fn finish(&self) {
        let mut place = lock(&self.0);
        if let Some(mut staged) = place.take() {
            // SAFETY: 1 by the caller's condition; 2, as promise 1 holds, and no status counts the bytes.
            unsafe { staged.finish(ptr::null()) };
            BYTES.fetch_sub(staged.bytes(), Ordering::Release);
        }
    }
}

/// The packed buffers of the operations under way, by window and rank, each with its sequence number.
type UnderWay = HashMap<(usize, c_int), Vec<(u64, Shared)>>;

static UNDER_WAY: Mutex<Option<UnderWay>> = Mutex::new(None);
/// The sequence number of the next operation.
static NUMBER: AtomicU64 = AtomicU64::new(0);
/// The number of packed bytes under way.
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// The most packed bytes that may be under way at the same time. Programs may complete operations long after
/// the library has transferred the data, and the packed buffers live until then.
const MOST: usize = 64 << 20;

/// Returns `true` if operations with packed buffers are under way.
#[inline]
pub(crate) fn any() -> bool {
    BYTES.load(Ordering::Acquire) > 0
}

impl Move {
    /// Stages the operation: packs the data of a put, or reserves a packed buffer for a get. Returns the
    /// argument to forward, and the packed buffer if there is one.
    ///
    /// # Safety
    /// 1. Promises 1 and 2 for both datatypes. 2. Promise 3 for the buffer of a put.
    pub unsafe fn packed(&self, call: &Call, argument: Argument) -> (Argument, Option<Staged>) {
        let transfer = if argument.is_read() { Transfer::Send } else { Transfer::Fill };
        // SAFETY: promises 1 and 2, by condition 1.
        forwarded(argument, unsafe { Message::of_any_size(&argument) }, |message| {
            (self.rank != native::MPI_PROC_NULL()).then_some(())?;
            // SAFETY: conditions 1 and 2.
            let (engine, datatype) = unsafe { message.moving_engine(call, self.there) }?;
            let mut staged = Staged::of(Vec::new(), message.part(engine), transfer)?;
            (BYTES.load(Ordering::Relaxed) + staged.bytes() <= MOST).then_some(())?;
            // SAFETY: condition 2 for a put; the buffer of a get is not packed.
            unsafe { staged.begin() };
            Some((Argument { buffer: staged.address(), datatype, ..argument }, staged))
        })
    }

    /// Keeps the buffer of an operation if its call has succeeded, and returns it for the request.
    pub fn keep(&self, code: c_int, staged: Option<Staged>) -> Option<Shared> {
        let shared = Shared::of(staged.filter(|_| code == SUCCESS)?);
        let mut under_way = lock(&UNDER_WAY);
        let buffers = under_way.get_or_insert_default().entry((number(self.window), self.rank)).or_default();
        if buffers.len() == buffers.capacity() {
            // Requests have completed some operations. Their buffers are removed again when the list is
            // twice as long.
            buffers.retain(|(_, shared)| !shared.is_finished());
            buffers.reserve(buffers.len() + 1);
        }
        buffers.push((NUMBER.fetch_add(1, Ordering::AcqRel), shared.clone()));
        Some(shared)
    }
}

/// Makes a call that completes the operations on a window, with one rank or with all (`None`), and unpacks
/// the data of gets.
///
/// # Safety
/// Promise 4 for the buffers of all gets under way on the window, until this function returns.
pub(crate) unsafe fn complete(window: MPI_Win, rank: Option<c_int>, call: impl FnOnce() -> c_int) -> c_int {
    if !any() {
        return call();
    }
    // Operations that other threads start from here on are not complete when `call` returns.
    let (window, next) = (number(window), NUMBER.load(Ordering::Acquire));
    let code = call();
    if code != SUCCESS {
        return code;
    }
    // If another thread has removed a buffer, it has also unpacked it: the lock is held for both steps.
    let mut under_way = lock(&UNDER_WAY);
    let map = under_way.get_or_insert_default();
    for ((of, to), buffers) in map.iter_mut() {
        if *of == window && rank.is_none_or(|rank| rank == *to) {
            for (_, shared) in buffers.extract_if(.., |(number, _)| *number < next) {
                // SAFETY: the caller's condition.
                unsafe { shared.finish() };
            }
        }
    }
    map.retain(|_, buffers| !buffers.is_empty());
    code
}

/// Leaks the buffers still under way, after `MPI_Finalize`: the library may use them until the
/// process ends.
pub(crate) fn end() {
    lock(&UNDER_WAY).take().into_iter().flatten().for_each(std::mem::forget);
    BYTES.store(0, Ordering::Release);
}
