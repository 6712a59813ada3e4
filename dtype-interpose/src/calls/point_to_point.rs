//! Messages between two ranks: blocking, nonblocking and persistent calls (MPI 4.1 chapter 3).

use std::os::raw::c_int;

use dtype_mpi::running;

use crate::{
    argument::Argument,
    call::Call,
    datatype_cache::is_forwarded,
    native::{MPI_Comm, MPI_Request, MPI_Status},
    requests::{Kind, Work, keep, persistent},
    staged::Staged,
};

/// Sends a message by a blocking call, in any send mode: standard, buffered, synchronous or ready.
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn send(
    call: &Call,
    sent: Argument,
    communicator: MPI_Comm,
    next: impl FnOnce(Argument) -> c_int,
) -> c_int {
    if is_forwarded(&sent) {
        return next(sent);
    }
    // SAFETY: promises 1 to 3 for the arguments.
    let (sent, _staged) = unsafe { Staged::sent(call, sent, communicator) };
    next(sent)
}

/// Starts to send a message. The packed buffer is kept until the request is complete.
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn send_later(
    call: &Call,
    sent: Argument,
    communicator: MPI_Comm,
    request: *mut MPI_Request,
    next: impl FnOnce(Argument) -> c_int,
) -> c_int {
    if is_forwarded(&sent) {
        return next(sent);
    }
    // SAFETY: promises 1 to 3 for the arguments.
    let (sent, staged) = unsafe { Staged::sent(call, sent, communicator) };
    let code = next(sent);
    // SAFETY: promise 2 for `request`, which the library has set if the call has succeeded.
    unsafe { keep(code, request, Kind::Once, Work::buffers(staged, None)) }
}

/// Initializes a persistent send. The message is packed at each start.
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn send_prepared(
    call: &Call,
    sent: Argument,
    communicator: MPI_Comm,
    request: *mut MPI_Request,
    next: impl FnOnce(Argument) -> c_int,
) -> c_int {
    // SAFETY: promises 1 and 2 for the arguments; the operation is persistent.
    let ((sent, staged), kind) = persistent(|| unsafe { Staged::sent(call, sent, communicator) });
    let code = next(sent);
    // SAFETY: promise 2 for `request`, which the library has set if the call has succeeded.
    unsafe { keep(code, request, kind, Work::buffers(staged, None)) }
}

/// Receives a message by a blocking call.
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn receive(
    call: &Call,
    received: Argument,
    status: *mut MPI_Status,
    next: impl FnOnce(Argument, *mut MPI_Status) -> c_int,
) -> c_int {
    if is_forwarded(&received) {
        return next(received, status);
    }
    // SAFETY: promises 1, 2 and 4 for the arguments. The packed buffer has room for all that the call may
    // receive.
    unsafe { receive_now(Staged::received(call, received, None), status, next) }
}

/// Makes a blocking call that receives into `buffer`, and unpacks the data.
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super). The buffer has room for all that the call may receive.
#[inline]
unsafe fn receive_now(
    (buffer, staged): (Argument, Option<Staged>),
    status: *mut MPI_Status,
    next: impl FnOnce(Argument, *mut MPI_Status) -> c_int,
) -> c_int {
    match staged {
        // SAFETY: promise 4 for the receive buffer; condition 2.
        Some(staged) => unsafe { staged.receive(status, |status| next(buffer, status)) },
        None => next(buffer, status),
    }
}

/// Starts to receive a message.
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn receive_later(
    call: &Call,
    received: Argument,
    request: *mut MPI_Request,
    next: impl FnOnce(Argument) -> c_int,
) -> c_int {
    if is_forwarded(&received) {
        return next(received);
    }
    // SAFETY: conditions 1 and 2, as of the caller.
    unsafe { receive_by(Kind::Once, Staged::received(call, received, None), request, next) }
}

/// Initializes a persistent receive.
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn receive_prepared(
    call: &Call,
    received: Argument,
    request: *mut MPI_Request,
    next: impl FnOnce(Argument) -> c_int,
) -> c_int {
    // SAFETY: promises 1 and 2 for the arguments.
    let (buffer, kind) = persistent(|| unsafe { Staged::received(call, received, None) });
    // SAFETY: conditions 1 and 2, as of the caller.
    unsafe { receive_by(kind, buffer, request, next) }
}

/// Makes a call that receives by a request. The packed buffer is kept until the request is complete.
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super). The buffer has room for all that the call may receive.
#[inline]
unsafe fn receive_by(
    kind: Kind,
    (buffer, staged): (Argument, Option<Staged>),
    request: *mut MPI_Request,
    next: impl FnOnce(Argument) -> c_int,
) -> c_int {
    let code = next(buffer);
    // SAFETY: promise 2 for `request`, which the library has set if the call has succeeded.
    unsafe { keep(code, request, kind, Work::buffers(None, staged)) }
}

/// Sends a message and receives another one (`MPI_Sendrecv`).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn exchange(
    call: &Call,
    sent: Argument,
    received: Argument,
    communicator: MPI_Comm,
    status: *mut MPI_Status,
    next: impl FnOnce(Argument, Argument, *mut MPI_Status) -> c_int,
) -> c_int {
    if is_forwarded(&sent) {
        // SAFETY: promises 1, 2 and 4 for the arguments; condition 2.
        return unsafe { receive(call, received, status, |received, status| next(sent, received, status)) };
    }
    // SAFETY: promises 1 to 3 for the arguments.
    let (sent, _staged) = unsafe { Staged::sent(call, sent, communicator) };
    // SAFETY: promises 1, 2 and 4 for the arguments; condition 2.
    unsafe { receive(call, received, status, |received, status| next(sent, received, status)) }
}

/// Sends a message, and receives another one into the same buffer (`MPI_Sendrecv_replace`).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn replace(
    call: &Call,
    replaced: Argument,
    communicator: MPI_Comm,
    status: *mut MPI_Status,
    next: impl FnOnce(Argument, *mut MPI_Status) -> c_int,
) -> c_int {
    // SAFETY: promises 1 to 4 for the arguments. The packed buffer has as many bytes as the sent message, and
    // room for the one that replaces it.
    unsafe { receive_now(Staged::received(call, replaced, Some(communicator)), status, next) }
}

/// Starts to send a message and to receive another one (`MPI_Isendrecv`, MPI 4.1 section 3.10).
///
/// If the library's statuses do not tell how many bytes have arrived, messages are packed only as
/// `MPI_PACKED`, and only if all ranks of the communicator are peers. (MPICH 4.0 frees the derived datatypes
/// that it gets in this call, but `MPI_PACKED` is predefined.) The receive buffer is then packed, too, before
/// the call: bytes that do not arrive are unpacked unchanged.
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn exchange_later(
    call: &Call,
    sent: Argument,
    received: Argument,
    communicator: MPI_Comm,
    request: *mut MPI_Request,
    next: impl FnOnce(Argument, Argument) -> c_int,
) -> c_int {
    // SAFETY: promises 1 to 4 for the arguments: 3 for the sent side, 4 for the received one.
    let [(sent, sending), (received, receiving)] = unsafe {
        if running().reports_exchanges {
            [Staged::sent(call, sent, communicator), Staged::received(call, received, None)]
        } else {
            [sent, received].map(|side| Staged::between_peers(call, side, communicator))
        }
    };
    let code = next(sent, received);
    // SAFETY: promise 2 for `request`, which the library has set if the call has succeeded.
    unsafe { keep(code, request, Kind::Once, Work::buffers(sending, receiving)) }
}

/// Starts to send a message and to receive another one into the same buffer (`MPI_Isendrecv_replace`), as in
/// [`exchange_later`].
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn replace_later(
    call: &Call,
    replaced: Argument,
    communicator: MPI_Comm,
    request: *mut MPI_Request,
    next: impl FnOnce(Argument) -> c_int,
) -> c_int {
    // SAFETY: conditions 1 and 2, as of the caller. The buffer has room for the message that replaces the
    // sent one.
    unsafe {
        let buffer = if running().reports_exchanges {
            Staged::received(call, replaced, Some(communicator))
        } else {
            Staged::between_peers(call, replaced, communicator)
        };
        receive_by(Kind::Once, buffer, request, next)
    }
}
