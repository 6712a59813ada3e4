//! Requests: waiting for them, asking for them, freeing them (MPI 4.1 section 3.7).

use std::{os::raw::c_int, slice};

use mpi::ffi::{self, MPI_Request, MPI_Status};

use crate::{
    call::{SUCCESS, list},
    requests::{self, End, Pending},
};

calls! { "";
    fn Wait(request: *mut MPI_Request, status: *mut MPI_Status) |next| {
        // SAFETY: the program's promise.
        unsafe { ask(1, request, status, |status| next(request, status), |_| Done::All) }
    }

    fn Test(request: *mut MPI_Request, flag: *mut c_int, status: *mut MPI_Status) |next| {
        // SAFETY: the program's promise.
        unsafe { ask(1, request, status, |status| next(request, flag, status), |code| all_if(flag, code)) }
    }

    fn Waitall(count: c_int, requests: *mut MPI_Request, statuses: *mut MPI_Status) |next| {
        // SAFETY: the program's promise.
        unsafe { ask(count, requests, statuses, |statuses| next(count, requests, statuses), |_| Done::All) }
    }

    fn Testall(
        count: c_int,
        requests: *mut MPI_Request,
        flag: *mut c_int,
        statuses: *mut MPI_Status,
    ) |next| {
        // SAFETY: the program's promise.
        unsafe {
            let test = |statuses| next(count, requests, flag, statuses);
            ask(count, requests, statuses, test, |code| all_if(flag, code))
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
            let wait = |status| next(count, requests, index, status);
            ask(count, requests, status, wait, |_| Done::These(slice::from_ref(&*index)))
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
            let test = |status| next(count, requests, index, flag, status);
            ask(count, requests, status, test, |_| one_if(flag, index))
        }
    }

    fn Request_get_status(request: MPI_Request, flag: *mut c_int, status: *mut MPI_Status) |next| {
        // SAFETY: the program's promise.
        unsafe {
            let test = |status| next(request, flag, status);
            look(1, &raw const request, status, test, |code| all_if(flag, code))
        }
    }

    fn Request_free(request: *mut MPI_Request) |next| {
        // SAFETY: the program's promise.
        unsafe {
            match requests::take(list(request, 1)).pop() {
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
                let ask_some = |statuses| next(count, requests, done, indices, statuses);
                ask(count, requests, statuses, ask_some, |_| Done::These(list(indices, *done)))
            }
        }
    )* } };
}

of_some! { Waitsome Testsome }

/// Of many requests at once (MPI 4.1 section 3.7.6).
#[cfg(statuses_of_many)]
pub(crate) mod looking {
    use super::*;
    calls! { "";
        fn Request_get_status_all(
            count: c_int,
            requests: *const MPI_Request,
            flag: *mut c_int,
            statuses: *mut MPI_Status,
        ) |next| {
            // SAFETY: the program's promise.
            unsafe {
                let test = |statuses| next(count, requests, flag, statuses);
                look(count, requests, statuses, test, |code| all_if(flag, code))
            }
        }

        fn Request_get_status_any(
            count: c_int,
            requests: *const MPI_Request,
            index: *mut c_int,
            flag: *mut c_int,
            status: *mut MPI_Status,
        ) |next| {
            // SAFETY: the program's promise.
            unsafe {
                let test = |status| next(count, requests, index, flag, status);
                look(count, requests, status, test, |_| one_if(flag, index))
            }
        }

        fn Request_get_status_some(
            count: c_int,
            requests: *const MPI_Request,
            done: *mut c_int,
            indices: *mut c_int,
            statuses: *mut MPI_Status,
        ) |next| {
            // SAFETY: the program's promise; that nothing is under way is a negative number.
            unsafe {
                let look_for_some = |statuses| next(count, requests, done, indices, statuses);
                look(count, requests, statuses, look_for_some, |_| Done::These(list(indices, *done)))
            }
        }
    }
}

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
unsafe fn all_if(flag: *const c_int, code: c_int) -> Done<'static> {
    // SAFETY: the caller's condition.
    if code != SUCCESS || unsafe { *flag } != 0 { Done::All } else { Done::These(&[]) }
}

/// The one at this place if the flag says so.
///
/// # Safety
/// Both are there for `'a`.
unsafe fn one_if<'a>(flag: *const c_int, index: *const c_int) -> Done<'a> {
    // SAFETY: the caller's condition.
    unsafe { Done::These(if *flag != 0 { slice::from_ref(&*index) } else { &[] }) }
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
/// As of [`asked`].
unsafe fn ask<'a>(
    count: c_int,
    requests: *mut MPI_Request,
    statuses: *mut MPI_Status,
    next: impl FnOnce(*mut MPI_Status) -> c_int,
    done: impl FnOnce(c_int) -> Done<'a>,
) -> c_int {
    // SAFETY: the caller's condition; the program has left alone what it receives.
    unsafe {
        asked(count, requests, statuses, next, done, |i, pending, end, status| {
            pending.settle(*requests.add(i), end, status);
        })
    }
}

/// The same where they stay.
///
/// # Safety
/// As of [`asked`].
unsafe fn look<'a>(
    count: c_int,
    requests: *const MPI_Request,
    statuses: *mut MPI_Status,
    next: impl FnOnce(*mut MPI_Status) -> c_int,
    done: impl FnOnce(c_int) -> Done<'a>,
) -> c_int {
    // SAFETY: the caller's condition; the program has left alone what it receives.
    unsafe {
        asked(count, requests, statuses, next, done, |_, pending, end, status| pending.look(end, status))
    }
}

/// Asks for some requests, and hands those of ours on, with their places, what the library says, and their
/// statuses.
///
/// # Safety
/// The program's promise, to `next`. Which are `done` is asked for where the library has said so; of these
/// there are statuses.
unsafe fn asked<'a>(
    count: c_int,
    requests: *const MPI_Request,
    statuses: *mut MPI_Status,
    next: impl FnOnce(*mut MPI_Status) -> c_int,
    done: impl FnOnce(c_int) -> Done<'a>,
    mut each: impl FnMut(usize, Pending, End, *const MPI_Status),
) -> c_int {
    // SAFETY: the program's promise.
    let taken = requests::take(unsafe { list(requests, count) });
    if taken.is_empty() {
        return next(statuses);
    }
    let mut own = Vec::new();
    let statuses = own_statuses(&mut own, count, statuses);
    let code = next(statuses);
    // Of an error in what is asked nothing more is known than what the program's handles are.
    let done = if code == SUCCESS || is_in_status(code) { done(code) } else { Done::These(&[]) };
    for (i, pending) in taken {
        // SAFETY: of what is done there is a status.
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

/// Whether a code says that statuses have errors.
fn is_in_status(code: c_int) -> bool {
    let mut class = SUCCESS;
    // SAFETY: the code is one that MPI has returned.
    unsafe { ffi::MPI_Error_class(code, &raw mut class) };
    class == ffi::MPI_ERR_IN_STATUS as c_int
}

/// How a request ended where some have not done so well.
///
/// # Safety
/// The status is that of the request, and has an error.
unsafe fn end_by_status(status: *const MPI_Status) -> End {
    // SAFETY: the caller's condition.
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
