//! Messages between two ranks: blocking, nonblocking and persistent calls (MPI 4.1 chapter 3).

use std::os::raw::c_int;

use dtype_mpi::running;

use crate::{
    call::Call,
    native::{MPI_Comm, MPI_Request, MPI_Status},
    requests::{Kind, Work, keep, persistent},
    staged::{Argument, Incoming, Outgoing, StagedBlock},
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
    // SAFETY: promises 1 to 3 for the arguments.
    let packed = unsafe { Outgoing::of(call, sent, communicator) };
    next(packed.as_ref().map_or(sent, Outgoing::argument))
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
    // SAFETY: promises 1 to 3 for the arguments.
    let packed = unsafe { Outgoing::of(call, sent, communicator) };
    let code = next(packed.as_ref().map_or(sent, Outgoing::argument));
    // SAFETY: promise 2 for `request`, which the library has set if the call has succeeded.
    unsafe { keep(code, request, Kind::Once, Work::message(packed, None)) }
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
    let (packed, kind) = persistent(|| unsafe { Outgoing::unpacked(call, sent, communicator) });
    let code = next(packed.as_ref().map_or(sent, Outgoing::argument));
    // SAFETY: promise 2 for `request`, which the library has set if the call has succeeded.
    unsafe { keep(code, request, kind, Work::message(packed, None)) }
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
    // SAFETY: promises 1, 2 and 4 for the arguments. The packed buffer has room for all that the call may
    // receive.
    unsafe {
        match Incoming::message(call, received) {
            Some(packed) => packed.receive(status, next),
            None => next(received, status),
        }
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
    // SAFETY: conditions 1 and 2, as of the caller.
    unsafe { receive_of(Kind::Once, Incoming::message(call, received), received, request, next) }
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
    let (packed, kind) = persistent(|| unsafe { Incoming::message(call, received) });
    // SAFETY: conditions 1 and 2, as of the caller.
    unsafe { receive_of(kind, packed, received, request, next) }
}

/// Makes a call that receives by a request. The packed buffer is kept until the request is complete.
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super). `packed` has room for all that the call may receive.
unsafe fn receive_of(
    kind: Kind,
    mut packed: Option<Incoming>,
    received: Argument,
    request: *mut MPI_Request,
    next: impl FnOnce(Argument) -> c_int,
) -> c_int {
    let code = next(packed.as_mut().map_or(received, Incoming::argument));
    // SAFETY: promise 2 for `request`, which the library has set if the call has succeeded.
    unsafe { keep(code, request, kind, Work::message(None, packed)) }
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
    // SAFETY: promises 1 to 3 for the arguments.
    let packed = unsafe { Outgoing::of(call, sent, communicator) };
    let sent = packed.as_ref().map_or(sent, Outgoing::argument);
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
    let replaced = Argument { is_read: true, ..replaced };
    // SAFETY: promises 1 to 4 for the arguments. The packed buffer has as many bytes as the sent message, and
    // room for the one that replaces it.
    unsafe {
        match Incoming::replaced(call, replaced, communicator) {
            Some(packed) => packed.receive(status, next),
            None => next(replaced, status),
        }
    }
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
    if running().reports_exchanges {
        // SAFETY: promises 1 to 3 for the arguments.
        let (outgoing, mut incoming) =
            unsafe { (Outgoing::of(call, sent, communicator), Incoming::message(call, received)) };
        let sending = outgoing.as_ref().map_or(sent, Outgoing::argument);
        let code = next(sending, incoming.as_mut().map_or(received, Incoming::argument));
        // SAFETY: promise 2 for `request`, which the library has set if the call has succeeded.
        return unsafe { keep(code, request, Kind::Once, Work::message(outgoing, incoming)) };
    }
    // SAFETY: promises 1 to 4 for the arguments: 3 for the sent side, 4 for the received one.
    let packed = [sent, received].map(|side| unsafe { StagedBlock::of_peers(call, side, 1, communicator) });
    let [sending, receiving] = [(&packed[0], sent), (&packed[1], received)]
        .map(|(packed, side)| packed.as_ref().map_or(side, |(_, argument)| *argument));
    let code = next(sending, receiving);
    let sides = packed.map(|side| side.map(|(block, _)| block));
    // SAFETY: promise 2 for `request`, which the library has set if the call has succeeded.
    unsafe { keep(code, request, Kind::Once, Work::sides(sides, Box::new(()))) }
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
    let replaced = Argument { is_read: true, ..replaced };
    if running().reports_exchanges {
        // SAFETY: promises 1 to 3 for the arguments.
        let packed = unsafe { Incoming::replaced(call, replaced, communicator) };
        // SAFETY: conditions 1 and 2, as of the caller. The buffer has room for the message that replaces the
        // sent one.
        return unsafe { receive_of(Kind::Once, packed, replaced, request, next) };
    }
    // SAFETY: promises 1 to 3 for the arguments.
    let packed = unsafe { StagedBlock::of_peers(call, replaced, 2, communicator) };
    let code = next(packed.as_ref().map_or(replaced, |(_, argument)| *argument));
    let block = packed.map(|(block, _)| StagedBlock { is_received: true, ..block });
    // SAFETY: promise 2 for `request`, which the library has set if the call has succeeded.
    unsafe { keep(code, request, Kind::Once, Work::sides([None, block], Box::new(()))) }
}
