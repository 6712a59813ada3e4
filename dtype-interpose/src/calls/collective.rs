//! Collective calls that move data, among all ranks or between neighbours in a topology: blocking,
//! nonblocking and persistent (MPI 4.1 chapter 6 and section 8.6).

use std::os::raw::{c_int, c_void};

use dtype_mpi::running;

use super::{
    collective_buffers::{CollectiveBuffers, Integer, Named},
    members::{Asked, BlockCounts, in_place},
};
use crate::{
    call::Call,
    native::{MPI_Comm, MPI_Datatype, MPI_Request},
    requests::{Kind, persistent},
};

/// The method of [`Asked`] that returns the blocks of a call.
type Blocks = unsafe fn(&Asked) -> BlockCounts;

/// The time when a call moves the data.
#[derive(Clone, Copy)]
pub(crate) enum When {
    /// Until it returns.
    Now,
    /// Until this request is complete.
    Later(*mut MPI_Request),
    /// After each start of this request.
    AtStart(*mut MPI_Request),
}

impl When {
    /// Returns `true` if such calls are forwarded unchanged: in some libraries, persistent collective calls
    /// cannot be started again.
    #[inline]
    fn is_left_alone(self) -> bool {
        matches!(self, Self::AtStart(_)) && !running().has_persistent_collectives
    }
}

/// Makes a call with a buffer that is sent and one that is received into.
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super). `blocks` returns the blocks of the call.
#[inline]
#[expect(clippy::too_many_arguments, reason = "as in the standard")]
pub(crate) unsafe fn two<S: Named, R: Named>(
    call: &Call,
    blocks: Blocks,
    send: (*const c_void, S),
    receive: (*mut c_void, R),
    root: c_int,
    communicator: MPI_Comm,
    when: When,
    next: impl FnOnce((*const c_void, S), (*mut c_void, R)) -> c_int,
) -> c_int {
    if when.is_left_alone() || send.1.stays() && receive.1.stays() {
        return next(send, receive);
    }
    let asked = Asked { communicator, root, from: send.0, to: receive.0 };
    // SAFETY: promises 1 to 4 for the arguments. A packed buffer has as many bytes as its blocks.
    unsafe {
        let stage = || CollectiveBuffers::of(call, blocks(&asked), send, receive, communicator);
        made(when, stage, |sides| next(sides.sent(), sides.received()))
    }
}

/// Makes a blocking allgather. A library that needs equal counts gets other ones unchanged: in packed buffers
/// it would write past the end.
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
#[inline]
pub(crate) unsafe fn allgather<C: Integer>(
    call: &Call,
    send: (*const c_void, (C, MPI_Datatype)),
    receive: (*mut c_void, (C, MPI_Datatype)),
    communicator: MPI_Comm,
    next: impl FnOnce((*const c_void, (C, MPI_Datatype)), (*mut c_void, (C, MPI_Datatype))) -> c_int,
) -> c_int {
    let count = |count: C| -> Option<i64> { count.try_into().ok() };
    let differ = || send.0 != in_place() && count(send.1.0) != count(receive.1.0);
    if running().confuses_counts && differ() {
        return next(send, receive);
    }
    // SAFETY: conditions 1 and 2, by the caller.
    unsafe { two(call, Asked::allgather, send, receive, 0, communicator, When::Now, next) }
}

/// Makes a broadcast, whose one buffer is sent on the root and received on all other ranks.
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
#[inline]
pub(crate) unsafe fn broadcast<A: Named>(
    call: &Call,
    buffer: (*mut c_void, A),
    root: c_int,
    communicator: MPI_Comm,
    when: When,
    next: impl FnOnce((*mut c_void, A)) -> c_int,
) -> c_int {
    if when.is_left_alone() || buffer.1.stays() {
        return next(buffer);
    }
    let asked = Asked { communicator, root, from: buffer.0, to: buffer.0 };
    // SAFETY: promises 1 to 4 for the arguments. The packed buffer has as many bytes as the message.
    unsafe {
        let stage = || CollectiveBuffers::of_one(call, asked.broadcast(), buffer, communicator);
        made(when, stage, |sides| next(sides.used()))
    }
}

/// Makes a call with the two sides that `stage` returns.
///
/// # Safety
/// Promises 1 to 4 for the arguments of the call. `next` makes it with the staged buffers, and returns the
/// library's code.
#[inline]
unsafe fn made<S: Named, R: Named>(
    when: When,
    stage: impl FnOnce() -> CollectiveBuffers<S, R>,
    next: impl FnOnce(&CollectiveBuffers<S, R>) -> c_int,
) -> c_int {
    let (sides, kind) = match when {
        When::AtStart(_) => persistent(stage),
        When::Now | When::Later(_) => {
            let mut sides = stage();
            // SAFETY: promise 3 for the send buffer, and promise 4 for the receive buffer.
            unsafe { sides.begin() };
            (sides, Kind::Once)
        }
    };
    let code = next(&sides);
    // SAFETY: promise 4 for the receive buffer, promise 2 for `request`; `code` is the result of the call.
    unsafe {
        match when {
            When::Now => sides.finish(code),
            When::Later(request) | When::AtStart(request) => sides.keep(code, request, kind),
        }
    }
}
