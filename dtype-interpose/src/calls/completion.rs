//! Requests: waiting for them, asking for them, freeing them (MPI 4.1 section 3.7).

use std::{os::raw::c_int, slice};

use mpi::ffi::{self, MPI_Request, MPI_Status};

use crate::{
    requests::{self, End},
    staged::{SUCCESS, Status},
};

calls! { "";
    fn Wait(request: *mut MPI_Request, status: *mut MPI_Status) |next| {
        // SAFETY: the program's promise.
        unsafe { one(request, status, |status| (next(request, status), true)) }
    }

    fn Test(request: *mut MPI_Request, flag: *mut c_int, status: *mut MPI_Status) |next| {
        // SAFETY: the program's promise.
        unsafe { one(request, status, |status| (next(request, flag, status), *flag != 0)) }
    }

    fn Waitall(count: c_int, requests: *mut MPI_Request, statuses: *mut MPI_Status) |next| {
        // SAFETY: the program's promise.
        unsafe { all(count, requests, statuses, |statuses| (next(count, requests, statuses), true)) }
    }

    fn Testall(
        count: c_int,
        requests: *mut MPI_Request,
        flag: *mut c_int,
        statuses: *mut MPI_Status,
    ) |next| {
        // SAFETY: the program's promise.
        unsafe {
            all(count, requests, statuses, |statuses| {
                (next(count, requests, flag, statuses), *flag != 0)
            })
        }
    }

    fn Waitany(
        count: c_int,
        requests: *mut MPI_Request,
        index: *mut c_int,
        status: *mut MPI_Status,
    ) |next| {
        // SAFETY: the program's promise.
        unsafe { any(count, requests, status, |status| (next(count, requests, index, status), *index)) }
    }

    fn Testany(
        count: c_int,
        requests: *mut MPI_Request,
        index: *mut c_int,
        flag: *mut c_int,
        status: *mut MPI_Status,
    ) |next| {
        // SAFETY: the program's promise.
        unsafe {
            any(count, requests, status, |status| {
                let code = next(count, requests, index, flag, status);
                (code, if *flag != 0 { *index } else { ffi::RSMPI_UNDEFINED })
            })
        }
    }

    fn Waitsome(
        count: c_int,
        requests: *mut MPI_Request,
        done: *mut c_int,
        indices: *mut c_int,
        statuses: *mut MPI_Status,
    ) |next| {
        // SAFETY: the program's promise.
        unsafe {
            some(count, requests, (done, indices), statuses, |statuses| {
                next(count, requests, done, indices, statuses)
            })
        }
    }

    fn Testsome(
        count: c_int,
        requests: *mut MPI_Request,
        done: *mut c_int,
        indices: *mut c_int,
        statuses: *mut MPI_Status,
    ) |next| {
        // SAFETY: the program's promise.
        unsafe {
            some(count, requests, (done, indices), statuses, |statuses| {
                next(count, requests, done, indices, statuses)
            })
        }
    }

    fn Request_get_status(request: MPI_Request, flag: *mut c_int, status: *mut MPI_Status) |next| {
        let Some((_, pending)) = requests::take(slice::from_ref(&request)).pop() else {
            // SAFETY: the program's promise.
            return unsafe { next(request, flag, status) };
        };
        let mut own = Status::new();
        let status = own.place(status);
        // SAFETY: the program's promise: with the flag, the request is complete, and this its status.
        unsafe {
            let code = next(request, flag, status);
            if code == SUCCESS && *flag != 0 {
                pending.look(status);
            } else {
                pending.settle(request, End::NotYet, status);
            }
            code
        }
    }

    fn Request_free(request: *mut MPI_Request) |next| {
        // SAFETY: the program's promise.
        unsafe {
            match requests::take(slice::from_ref(&*request)).pop() {
                Some((_, pending)) if pending.is_active() => {
                    pending.leave();
                    *request = ffi::RSMPI_REQUEST_NULL;
                    SUCCESS
                }
                _ => next(request),
            }
        }
    }
}

/// How a request ended of which the library says this, without a status for each.
fn end_of(code: c_int, done: bool) -> End {
    match code {
        SUCCESS if !done => End::NotYet,
        SUCCESS => End::Done,
        _ => End::Failed,
    }
}

/// Asks for one request.
///
/// # Safety
/// The program's promise, to `ask`, which gives the code and whether it is done.
unsafe fn one(
    request: *mut MPI_Request,
    status: *mut MPI_Status,
    ask: impl FnOnce(*mut MPI_Status) -> (c_int, bool),
) -> c_int {
    // SAFETY: the program's promise.
    let Some((_, pending)) = requests::take(unsafe { requests::list(request, 1) }).pop() else {
        return ask(status).0;
    };
    let mut own = Status::new();
    let status = own.place(status);
    let (code, done) = ask(status);
    // SAFETY: if it is done, this is its status, and the program has left what it receives alone.
    unsafe { pending.settle(*request, end_of(code, done), status) };
    code
}

/// Asks for all of some requests.
///
/// # Safety
/// As of [`one`].
unsafe fn all(
    count: c_int,
    requests: *mut MPI_Request,
    statuses: *mut MPI_Status,
    ask: impl FnOnce(*mut MPI_Status) -> (c_int, bool),
) -> c_int {
    // SAFETY: the program's promise.
    let taken = requests::take(unsafe { requests::list(requests, count) });
    if taken.is_empty() {
        return ask(statuses).0;
    }
    let mut own = Vec::new();
    let statuses = own_statuses(&mut own, count, statuses);
    let (code, done) = ask(statuses);
    for (i, pending) in taken {
        // SAFETY: there are as many statuses as requests; if one is done, this is its status, and the program
        // has left what it receives alone.
        unsafe {
            let status = statuses.add(i);
            let end = if code == SUCCESS { end_of(code, done) } else { end_by_status(code, status) };
            pending.settle(*requests.add(i), end, status);
        }
    }
    code
}

/// Asks for any of some requests; `ask` gives the code and the place of the one that is done.
///
/// # Safety
/// As of [`one`].
unsafe fn any(
    count: c_int,
    requests: *mut MPI_Request,
    status: *mut MPI_Status,
    ask: impl FnOnce(*mut MPI_Status) -> (c_int, c_int),
) -> c_int {
    // SAFETY: the program's promise.
    let taken = requests::take(unsafe { requests::list(requests, count) });
    if taken.is_empty() {
        return ask(status).0;
    }
    let mut own = Status::new();
    let status = own.place(status);
    let (code, index) = ask(status);
    for (i, pending) in taken {
        let is_it = usize::try_from(index).is_ok_and(|index| index == i);
        // SAFETY: if it is done, this is its status, and the program has left what it receives alone.
        unsafe {
            let end = if is_it { end_of(code, true) } else { End::NotYet };
            pending.settle(*requests.add(i), end, status);
        }
    }
    code
}

/// Asks for those of some requests that are done: how many, and their places.
///
/// # Safety
/// As of [`one`].
unsafe fn some(
    count: c_int,
    requests: *mut MPI_Request,
    (done, indices): (*mut c_int, *mut c_int),
    statuses: *mut MPI_Status,
    ask: impl FnOnce(*mut MPI_Status) -> c_int,
) -> c_int {
    // SAFETY: the program's promise.
    let taken = requests::take(unsafe { requests::list(requests, count) });
    if taken.is_empty() {
        return ask(statuses);
    }
    let mut own = Vec::new();
    let statuses = own_statuses(&mut own, count, statuses);
    let code = ask(statuses);
    // SAFETY: the library has set both, unless it says that nothing is under way, which is a negative number.
    let done = unsafe { requests::list(indices, *done) };
    for (i, pending) in taken {
        let place = done.iter().position(|index| usize::try_from(*index).is_ok_and(|index| index == i));
        let (end, status) = match place {
            // SAFETY: there are as many statuses as requests, and more than are done.
            Some(place) => unsafe {
                let status = statuses.add(place);
                (if code == SUCCESS { End::Done } else { end_by_status(code, status) }, status)
            },
            None => (End::NotYet, statuses),
        };
        // SAFETY: if it is done, this is its status, and the program has left what it receives alone.
        unsafe { pending.settle(*requests.add(i), end, status) };
    }
    code
}

/// How a request ended where some have not done so well.
///
/// # Safety
/// The status is that of the request.
unsafe fn end_by_status(code: c_int, status: *const MPI_Status) -> End {
    let mut class = SUCCESS;
    // SAFETY: the code is one that MPI has returned.
    unsafe { ffi::MPI_Error_class(code, &raw mut class) };
    if class != ffi::MPI_ERR_IN_STATUS as c_int {
        return End::Failed;
    }
    // SAFETY: the caller's condition; with this code, statuses have errors.
    match unsafe { (*status).MPI_ERROR } {
        SUCCESS => End::Done,
        code if code == ffi::MPI_ERR_PENDING as c_int => End::NotYet,
        _ => End::Failed,
    }
}

/// The program's statuses, or as many of ours where it ignores them.
fn own_statuses(own: &mut Vec<MPI_Status>, count: c_int, of_program: *mut MPI_Status) -> *mut MPI_Status {
    // SAFETY: a constant of the library.
    if of_program != unsafe { ffi::RSMPI_STATUSES_IGNORE } {
        return of_program;
    }
    // SAFETY: a status is numbers.
    own.resize_with(usize::try_from(count).unwrap_or(0), || unsafe { std::mem::zeroed() });
    own.as_mut_ptr()
}
