//! Requests: waiting for them, asking for them, freeing them (MPI 4.1 section 3.7).

use std::{os::raw::c_int, slice};

use mpi::ffi::{self, MPI_Request, MPI_Status};

use crate::{
    call::{SUCCESS, list},
    requests::{self, End},
    staged::Status,
};

calls! { "";
    fn Wait(request: *mut MPI_Request, status: *mut MPI_Status) |next| {
        // SAFETY: the program's promise.
        unsafe { ask(1, request, status, |status| (next(request, status), Done::All)) }
    }

    fn Test(request: *mut MPI_Request, flag: *mut c_int, status: *mut MPI_Status) |next| {
        // SAFETY: the program's promise.
        unsafe { ask(1, request, status, |status| all_if(flag, next(request, flag, status))) }
    }

    fn Waitall(count: c_int, requests: *mut MPI_Request, statuses: *mut MPI_Status) |next| {
        // SAFETY: the program's promise.
        unsafe { ask(count, requests, statuses, |statuses| (next(count, requests, statuses), Done::All)) }
    }

    fn Testall(
        count: c_int,
        requests: *mut MPI_Request,
        flag: *mut c_int,
        statuses: *mut MPI_Status,
    ) |next| {
        // SAFETY: the program's promise.
        unsafe {
            ask(count, requests, statuses, |statuses| all_if(flag, next(count, requests, flag, statuses)))
        }
    }

    fn Waitany(
        count: c_int,
        requests: *mut MPI_Request,
        index: *mut c_int,
        status: *mut MPI_Status,
    ) |next| {
        // SAFETY: the program's promise.
        unsafe {
            ask(count, requests, status, |status| {
                (next(count, requests, index, status), Done::These(slice::from_ref(&*index)))
            })
        }
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
            ask(count, requests, status, |status| {
                let code = next(count, requests, index, flag, status);
                (code, Done::These(if *flag != 0 { slice::from_ref(&*index) } else { &[] }))
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

/// Defines the two calls that say of how many requests which are done.
macro_rules! of_some {
    ($($name:ident)*) => { calls! { ""; $(
        fn $name(
            count: c_int,
            requests: *mut MPI_Request,
            done: *mut c_int,
            indices: *mut c_int,
            statuses: *mut MPI_Status,
        ) |next| {
            // SAFETY: the program's promise; that nothing is under way is a negative number.
            unsafe {
                ask(count, requests, statuses, |statuses| {
                    let code = next(count, requests, done, indices, statuses);
                    (code, Done::These(list(indices, *done)))
                })
            }
        }
    )* } };
}

of_some! { Waitsome Testsome }

/// Which of some requests are done.
#[derive(Clone, Copy)]
enum Done<'a> {
    All,
    /// Those at these places, in the order of their statuses.
    These(&'a [c_int]),
}

/// All of them if the flag says so, or if some have failed, of which their statuses tell more.
///
/// # Safety
/// The flag is there.
unsafe fn all_if(flag: *const c_int, code: c_int) -> (c_int, Done<'static>) {
    // SAFETY: the caller's condition.
    let all = code != SUCCESS || unsafe { *flag } != 0;
    (code, if all { Done::All } else { Done::These(&[]) })
}

impl Done<'_> {
    /// The place of a request's status, if it is done.
    fn status_of(self, request: usize) -> Option<usize> {
        match self {
            Self::All => Some(request),
            Self::These(places) => {
                places.iter().position(|place| usize::try_from(*place).is_ok_and(|place| place == request))
            }
        }
    }
}

/// Asks for some requests, and does what is to be done with those of ours.
///
/// # Safety
/// The program's promise, to `next`, which gives the code and which are done; of these there are statuses.
unsafe fn ask<'a>(
    count: c_int,
    requests: *mut MPI_Request,
    statuses: *mut MPI_Status,
    next: impl FnOnce(*mut MPI_Status) -> (c_int, Done<'a>),
) -> c_int {
    // SAFETY: the program's promise.
    let taken = requests::take(unsafe { list(requests, count) });
    if taken.is_empty() {
        return next(statuses).0;
    }
    let mut own = Vec::new();
    let statuses = own_statuses(&mut own, count, statuses);
    let (code, done) = next(statuses);
    for (i, pending) in taken {
        // SAFETY: of what is done there is a status; and the program has left alone what it receives.
        unsafe {
            let (end, status) = match done.status_of(i).map(|place| statuses.add(place)) {
                Some(status) if code == SUCCESS => (End::Done, status),
                Some(status) => (end_by_status(code, status), status),
                None => (End::NotYet, statuses),
            };
            pending.settle(*requests.add(i), end, status);
        }
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
    // SAFETY: constants of the library.
    let ignored = unsafe { [ffi::RSMPI_STATUSES_IGNORE, ffi::RSMPI_STATUS_IGNORE] };
    if !ignored.contains(&of_program) {
        return of_program;
    }
    // SAFETY: a status is numbers.
    own.resize_with(usize::try_from(count).unwrap_or(0), || unsafe { std::mem::zeroed() });
    own.as_mut_ptr()
}
