//! Calls that start, complete, test and free requests (MPI 4.1 sections 3.7 and 3.9).

use std::{os::raw::c_int, slice};

use dtype_mpi::constants::{MPI_ERR_IN_STATUS, MPI_ERR_PENDING};

use crate::{
    call::{SUCCESS, list},
    native::{self, MPI_Request, MPI_Status},
    requests::{self, End, Pending},
};

/// Starts persistent requests (`MPI_Start`, `MPI_Startall`).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn start(
    requests: *const MPI_Request,
    count: c_int,
    next: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: promises 1 and 2 for the requests; from now on, promises 3 and 4 for their buffers.
    unsafe { requests::start(list(requests, count)) };
    next()
}

/// Waits for a request (`MPI_Wait`).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn wait(
    request: *mut MPI_Request,
    status: *mut MPI_Status,
    next: impl FnOnce(*mut MPI_Status) -> c_int,
) -> c_int {
    // SAFETY: promises 1 and 2 for the arguments, 4 for the receive buffer. A wait that succeeds sets the
    // status.
    unsafe { ask(1, request, status, next, |_| Done::All) }
}

/// Waits for all requests (`MPI_Waitall`).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn wait_all(
    count: c_int,
    requests: *mut MPI_Request,
    statuses: *mut MPI_Status,
    next: impl FnOnce(*mut MPI_Status) -> c_int,
) -> c_int {
    // SAFETY: promises 1 and 2 for the arguments, 4 for the receive buffers. A wait sets all statuses if it
    // succeeds, or if its code says that they hold errors.
    unsafe { ask(count, requests, statuses, next, |_| Done::All) }
}

/// Waits for one of the requests (`MPI_Waitany`).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn wait_any(
    count: c_int,
    requests: *mut MPI_Request,
    index: *mut c_int,
    status: *mut MPI_Status,
    next: impl FnOnce(*mut MPI_Status) -> c_int,
) -> c_int {
    // SAFETY: promises 1 and 2 for the arguments, 4 for the receive buffers. A wait that succeeds sets the
    // status of the request at `index`.
    unsafe { ask(count, requests, status, next, |_| Done::These(slice::from_ref(&*index))) }
}

/// Waits for some of the requests, or tests which are complete (`MPI_Waitsome`, `MPI_Testsome`).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn some(
    count: c_int,
    requests: *mut MPI_Request,
    done: *mut c_int,
    indices: *mut c_int,
    statuses: *mut MPI_Status,
    next: impl FnOnce(*mut MPI_Status) -> c_int,
) -> c_int {
    // SAFETY: promises 1 and 2 for the arguments, 4 for the receive buffers. There are `*done` indices and
    // statuses; a negative number says that no request is active.
    unsafe { ask(count, requests, statuses, next, |_| Done::These(list(indices, *done))) }
}

/// Tests whether all requests are complete (`MPI_Test`, `MPI_Testall`).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn test_all(
    count: c_int,
    requests: *mut MPI_Request,
    flag: *mut c_int,
    statuses: *mut MPI_Status,
    next: impl FnOnce(*mut MPI_Status) -> c_int,
) -> c_int {
    // SAFETY: promises 1 and 2 for the arguments, 4 for the receive buffers. The statuses are set if the flag
    // is, or if the code says that they hold errors.
    unsafe { ask(count, requests, statuses, next, |code| all_if(flag, code)) }
}

/// Tests whether one of the requests is complete (`MPI_Testany`).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn test_any(
    count: c_int,
    requests: *mut MPI_Request,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut MPI_Status,
    next: impl FnOnce(*mut MPI_Status) -> c_int,
) -> c_int {
    // SAFETY: promises 1 and 2 for the arguments, 4 for the receive buffers. The flag says if the status of
    // the request at `index` is set.
    unsafe { ask(count, requests, status, next, |_| one_if(flag, index)) }
}

/// Queries whether all requests are complete, without freeing or deactivating them (`MPI_Request_get_status`,
/// `MPI_Request_get_status_all`).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn look_at_all(
    count: c_int,
    requests: *const MPI_Request,
    flag: *mut c_int,
    statuses: *mut MPI_Status,
    next: impl FnOnce(*mut MPI_Status) -> c_int,
) -> c_int {
    // SAFETY: promises 1 and 2 for the arguments, 4 for the receive buffers. The statuses are set if the flag
    // is, or if the code says that they hold errors.
    unsafe { look(count, requests, statuses, next, |code| all_if(flag, code)) }
}

/// Queries whether one of the requests is complete, without freeing or deactivating it
/// (`MPI_Request_get_status_any`).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn look_at_any(
    count: c_int,
    requests: *const MPI_Request,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut MPI_Status,
    next: impl FnOnce(*mut MPI_Status) -> c_int,
) -> c_int {
    // SAFETY: promises 1 and 2 for the arguments, 4 for the receive buffers. The flag says if the status of
    // the request at `index` is set.
    unsafe { look(count, requests, status, next, |_| one_if(flag, index)) }
}

/// Queries which requests are complete, without freeing or deactivating them (`MPI_Request_get_status_some`).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn look_at_some(
    count: c_int,
    requests: *const MPI_Request,
    done: *mut c_int,
    indices: *mut c_int,
    statuses: *mut MPI_Status,
    next: impl FnOnce(*mut MPI_Status) -> c_int,
) -> c_int {
    // SAFETY: promises 1 and 2 for the arguments, 4 for the receive buffers. There are `*done` indices and
    // statuses; a negative number says that no request is active.
    unsafe { look(count, requests, statuses, next, |_| Done::These(list(indices, *done))) }
}

/// Frees a request (`MPI_Request_free`). A request whose operation is under way is kept until the operation
/// is complete.
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn free(request: *mut MPI_Request, next: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: promises 1 and 2 for the request; a constant of the library.
    unsafe {
        match requests::take(list(request, 1)).pop() {
            Some((_, pending)) if pending.is_active() => {
                pending.leave();
                *request = native::MPI_REQUEST_NULL();
                SUCCESS
            }
            _ => next(),
        }
    }
}

/// The requests of a call that are complete.
#[derive(Clone, Copy)]
enum Done<'a> {
    All,
    /// The requests at these indices, in the order of their statuses.
    These(&'a [c_int]),
}

/// Returns all requests if the flag is set, or if `code` says that some have failed; their statuses tell
/// which. Otherwise returns none.
///
/// # Safety
/// `flag` points to an integer.
unsafe fn all_if(flag: *const c_int, code: c_int) -> Done<'static> {
    // SAFETY: the caller's condition.
    if code != SUCCESS || unsafe { *flag } != 0 { Done::All } else { Done::These(&[]) }
}

/// Returns the request at `index` if the flag is set.
///
/// # Safety
/// Both pointers lead to integers that live for `'a`.
unsafe fn one_if<'a>(flag: *const c_int, index: *const c_int) -> Done<'a> {
    // SAFETY: the caller's condition.
    unsafe { Done::These(if *flag != 0 { slice::from_ref(&*index) } else { &[] }) }
}

impl Done<'_> {
    /// Returns the index of a request's status, if the request is complete.
    fn status_of(self, request: usize) -> Option<usize> {
        match self {
            Self::All => Some(request),
            Self::These(places) => {
                places.iter().position(|place| usize::try_from(*place).is_ok_and(|place| place == request))
            }
        }
    }
}

/// Makes a call that completes or tests requests, and settles the registered ones.
///
/// # Safety
/// Conditions 1 and 2 of [`asked`].
unsafe fn ask<'a>(
    count: c_int,
    requests: *mut MPI_Request,
    statuses: *mut MPI_Status,
    next: impl FnOnce(*mut MPI_Status) -> c_int,
    done: impl FnOnce(c_int) -> Done<'a>,
) -> c_int {
    // SAFETY: conditions 1 and 2. Promise 4 for the receive buffers: the program does not know yet that a
    // request is complete. `i` is less than `count`.
    unsafe {
        asked(count, requests, statuses, next, done, |i, pending, end, status| {
            pending.settle(*requests.add(i), end, status);
        })
    }
}

/// Like [`ask`], for calls that do not free or deactivate the requests.
///
/// # Safety
/// Conditions 1 and 2 of [`asked`].
unsafe fn look<'a>(
    count: c_int,
    requests: *const MPI_Request,
    statuses: *mut MPI_Status,
    next: impl FnOnce(*mut MPI_Status) -> c_int,
    done: impl FnOnce(c_int) -> Done<'a>,
) -> c_int {
    // SAFETY: conditions 1 and 2. Promise 4 for the receive buffers: the program does not know yet that a
    // request is complete.
    unsafe {
        asked(count, requests, statuses, next, done, |_, pending, end, status| pending.look(end, status))
    }
}

/// Makes a call for some requests. Then calls `each` with every registered one: its index, the request, its
/// state, and its status.
///
/// # Safety
/// 1. Promises 1 and 2 for the arguments of `next`, and promise 4 for the receive buffers.
/// 2. After success, or errors in statuses, the library has set a status for each request that `done`
///    returns.
unsafe fn asked<'a>(
    count: c_int,
    requests: *const MPI_Request,
    statuses: *mut MPI_Status,
    next: impl FnOnce(*mut MPI_Status) -> c_int,
    done: impl FnOnce(c_int) -> Done<'a>,
    mut each: impl FnMut(usize, Pending, End, *const MPI_Status),
) -> c_int {
    // SAFETY: promise 2, by condition 1: the list has `count` requests.
    let taken = requests::take(unsafe { list(requests, count) });
    if taken.is_empty() {
        return next(statuses);
    }
    let mut own = OwnStatuses::default();
    let statuses = own.in_place_of(statuses, count);
    let code = next(statuses);
    // After any other error, only the program's handles tell which requests are complete.
    let done = if code == SUCCESS || is_in_status(code) { done(code) } else { Done::These(&[]) };
    for (i, pending) in taken {
        // SAFETY: by condition 2, a request that `done` returns has a status, and after errors in statuses
        // also its error.
        let (end, status) = unsafe {
            match done.status_of(i).map(|place| statuses.add(place)) {
                Some(status) if code == SUCCESS => (End::Done, status),
                Some(status) => (end_by_status(status), status),
                None => (End::NotYet, statuses),
            }
        };
        each(i, pending, end, status);
    }
    code
}

/// Returns `true` if a code says that the statuses hold the errors (`MPI_ERR_IN_STATUS`).
fn is_in_status(code: c_int) -> bool {
    let mut class = SUCCESS;
    // SAFETY: promise 1. The library has returned the code, and there is room for its class.
    unsafe { native::MPI_Error_class(code, &raw mut class) };
    class == MPI_ERR_IN_STATUS()
}

/// Returns the state of a request after a call with errors in statuses.
///
/// # Safety
/// The status is that of the request, and its error is set.
unsafe fn end_by_status(status: *const MPI_Status) -> End {
    // SAFETY: the caller's condition.
    match unsafe { (*status).MPI_ERROR } {
        SUCCESS => End::Done,
        code if code == MPI_ERR_PENDING() => End::NotYet,
        _ => End::Failed,
    }
}

/// Statuses for a call whose program ignores them. Most calls complete few requests.
#[derive(Default)]
struct OwnStatuses {
    few: Option<[MPI_Status; 16]>,
    many: Vec<MPI_Status>,
}

impl OwnStatuses {
    /// Returns the program's statuses. If the program ignores them, returns `count` statuses of its own.
    #[inline]
    fn in_place_of(&mut self, of_program: *mut MPI_Status, count: c_int) -> *mut MPI_Status {
        let ignored = [native::MPI_STATUSES_IGNORE(), native::MPI_STATUS_IGNORE()];
        if !ignored.contains(&of_program) {
            return of_program;
        }
        let count = usize::try_from(count).unwrap_or(0);
        // SAFETY: `MPI_Status` consists of integers, for which zeros are valid.
        let zeros = || unsafe { std::mem::zeroed() };
        let few = self.few.insert(std::array::from_fn(|_| zeros()));
        if count <= few.len() {
            return few.as_mut_ptr();
        }
        self.many.resize_with(count, zeros);
        self.many.as_mut_ptr()
    }
}
