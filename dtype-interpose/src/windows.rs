//! What is under way to and from windows of other ranks with packed bytes (MPI 4.1 chapter 12): it lives
//! until the program has said that it is complete here, and what is got is unpacked then.

use std::{
    os::raw::c_int,
    sync::{
        Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use foldhash::HashMap;
use mpi::ffi::{self, MPI_Datatype, MPI_Win};

use crate::{
    call::{Call, SUCCESS},
    handle::number,
    lock::lock,
    staged::{Argument, Block, Parts, Staged, or_else_plain},
};

/// Put or got, with the window and the other rank.
#[derive(Clone, Copy)]
pub(crate) struct Move {
    pub window: MPI_Win,
    pub rank: c_int,
    /// How many of which datatype there.
    pub there: (i64, MPI_Datatype),
    pub is_got: bool,
}

/// What is under way, by window and rank, each with its number.
type UnderWay = HashMap<(usize, c_int), Vec<(u64, Block)>>;

static UNDER_WAY: Mutex<Option<UnderWay>> = Mutex::new(None);
/// The number of the next.
static NUMBER: AtomicU64 = AtomicU64::new(0);
/// How many bytes are under way.
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// As many bytes are under way at the same time: programs may say late that anything is complete, and then
/// libraries have long written most of it.
const MOST: usize = 64 << 20;

/// Whether anything is under way.
#[inline]
pub(crate) fn any() -> bool {
    BYTES.load(Ordering::Acquire) > 0
}

impl Move {
    /// What the library is given instead of what is named, with the packed bytes, if they should be.
    ///
    /// # Safety
    /// 1. MPI is usable, and the datatypes live. 2. What is put is readable, as MPI asks for.
    pub unsafe fn packed(&self, call: &Call, named: Argument) -> Option<(Argument, Block)> {
        // SAFETY: 1.
        let candidate = unsafe { named.no_message() }?;
        or_else_plain(|| {
            // SAFETY: a constant of the library.
            (self.rank != unsafe { ffi::RSMPI_PROC_NULL }).then_some(())?;
            // SAFETY: 1.
            let (found, datatype) = unsafe { candidate.beside(call, self.there) }?;
            let staged = Staged::of(Parts::One(found.part(named.buffer.cast(), found.count)))?;
            (BYTES.load(Ordering::Relaxed) + staged.bytes() <= MOST).then_some(())?;
            let mut block = Block { staged, is_packed: !self.is_got, is_received: self.is_got };
            // SAFETY: 2.
            unsafe { block.begin() };
            Some((Argument { buffer: block.staged.place(), datatype, ..named }, block))
        })
    }

    /// Keeps what is under way now, if the call has succeeded.
    pub fn keep(&self, code: c_int, block: Option<Block>) -> c_int {
        if let Some(block) = block.filter(|_| code == SUCCESS) {
            BYTES.fetch_add(block.staged.bytes(), Ordering::Release);
            let mut under_way = lock(&UNDER_WAY);
            let blocks = under_way.get_or_insert_default().entry((number(self.window), self.rank));
            blocks.or_default().push((NUMBER.fetch_add(1, Ordering::AcqRel), block));
        }
        code
    }
}

/// Makes a call after which what was under way on a window is complete here: with one rank, or with all.
///
/// # Safety
/// What is got is writable, and left alone until that call.
pub(crate) unsafe fn complete(window: MPI_Win, rank: Option<c_int>, call: impl FnOnce() -> c_int) -> c_int {
    if !any() {
        return call();
    }
    // What other threads begin from now on is not complete.
    let (window, next) = (number(window), NUMBER.load(Ordering::Acquire));
    let code = call();
    if code != SUCCESS {
        return code;
    }
    // What is not there any more another thread has unpacked: all is done in one lock.
    let mut under_way = lock(&UNDER_WAY);
    let map = under_way.get_or_insert_default();
    for ((of, to), blocks) in map.iter_mut() {
        if *of == window && rank.is_none_or(|rank| rank == *to) {
            for (_, mut block) in blocks.extract_if(.., |(number, _)| *number < next) {
                // SAFETY: the caller's condition.
                unsafe { block.finish() };
                BYTES.fetch_sub(block.staged.bytes(), Ordering::Release);
            }
        }
    }
    map.retain(|_, blocks| !blocks.is_empty());
    code
}

/// Behind `MPI_Finalize`: what is under way still then is the library's to the end of the process.
pub(crate) fn end() {
    lock(&UNDER_WAY).take().into_iter().flatten().for_each(std::mem::forget);
    BYTES.store(0, Ordering::Release);
}
