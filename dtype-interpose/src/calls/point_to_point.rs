//! Messages between two ranks: blocking, nonblocking and persistent calls (MPI 4.1 chapter 3).

use std::os::raw::{c_int, c_void};

use mpi::ffi::{MPI_Comm, MPI_Datatype, MPI_Message, MPI_Request, MPI_Status};

#[cfg(exchanges_later)]
use crate::call::Call;
#[cfg(all(exchanges_later, not(open_mpi)))]
use crate::staged::StagedBlock;
use crate::{
    call::list,
    requests::{self, Work, keep, once, persistent},
    staged::{Argument, Incoming, Outgoing},
};

/// Defines the sends of each mode: the blocking, the nonblocking and the persistent call.
macro_rules! sends {
    ($ending:literal; $($name:ident $begun:ident $prepared:ident;)*) => {$(
        send! { $ending; $name () once Outgoing::of, |_packed, _kind, code| code }
        send! { $ending; $begun (request: *mut MPI_Request) once Outgoing::of,
            |packed, kind, code| keep(code, request, kind, Work::message(packed, None)) }
        send! { $ending; $prepared (request: *mut MPI_Request) persistent Outgoing::unpacked,
            |packed, kind, code| keep(code, request, kind, Work::message(packed, None)) }
    )*};
}

/// Defines one send, by its further arguments, its kind, the function that stages the message, and an
/// expression that ends the call.
macro_rules! send {
    (
        $ending:literal; $name:ident ($($more:ident: $type:ty),*) $kind:ident $stage:path,
        |$packed:ident, $of_kind:ident, $code:ident| $end:expr
    ) => { calls! { $ending;
        fn $name(
            buffer: *const c_void,
            count: Count,
            datatype: MPI_Datatype,
            to: c_int,
            tag: c_int,
            communicator: MPI_Comm,
            $($more: $type,)*
        ) |next| {
            let named = Argument::read(buffer, count, datatype);
            // SAFETY: promises 1, 2 and 3 for the call's arguments. A packed buffer has as many bytes as the
            // message, and is kept until the operation is complete.
            unsafe {
                let ($packed, $of_kind) = $kind(|| $stage(&CALL, named, communicator));
                let Argument { buffer, datatype, .. } = $packed.as_ref().map_or(named, Outgoing::argument);
                let $code = next(buffer, count, datatype, to, tag, communicator, $($more),*);
                $end
            }
        }
    } };
}

pub(crate) mod sending {
    use super::*;
    with_both_counts! { sends! {
        Send Isend Send_init;
        Bsend Ibsend Bsend_init;
        Ssend Issend Ssend_init;
        Rsend Irsend Rsend_init;
    } }
}

/// Defines receives by their arguments after the buffer: the blocking call, and calls with a request.
macro_rules! receives {
    ($ending:literal; $($named:tt $name:ident $($kept:ident $kind:ident)*;)*) => {$(
        receive! { $ending; $named $name }
        $(kept_receive! { $ending; $named $kept $kind })*
    )*};
}

macro_rules! receive {
    ($ending:literal; ($($argument:ident: $type:ty),*) $name:ident) => { calls! { $ending;
        fn $name(
            buffer: *mut c_void,
            count: Count,
            datatype: MPI_Datatype,
            $($argument: $type,)*
            status: *mut MPI_Status,
        ) |next| {
            // SAFETY: promises 1, 2 and 4 for the call's arguments. The packed buffer has room for all that
            // the call may receive.
            unsafe {
                match Incoming::message(&CALL, Argument::written(buffer, count, datatype)) {
                    Some(packed) => packed.receive(status, |instead, status| {
                        next(instead.buffer, instead.count as Count, instead.datatype, $($argument,)* status)
                    }),
                    None => next(buffer, count, datatype, $($argument,)* status),
                }
            }
        }
    } };
}

macro_rules! kept_receive {
    ($ending:literal; ($($argument:ident: $type:ty),*) $name:ident $kind:ident) => { calls! { $ending;
        fn $name(
            buffer: *mut c_void,
            count: Count,
            datatype: MPI_Datatype,
            $($argument: $type,)*
            request: *mut MPI_Request,
        ) |next| {
            let named = Argument::written(buffer, count, datatype);
            // SAFETY: promises 1, 2 and 4 for the call's arguments. The packed buffer has room for all that
            // the call may receive, and is kept until the operation is complete.
            unsafe {
                let (mut packed, kind) = $kind(|| Incoming::message(&CALL, named));
                let instead = packed.as_mut().map_or(named, Incoming::argument);
                let (buffer, count) = (instead.buffer, instead.count as Count);
                let code = next(buffer, count, instead.datatype, $($argument,)* request);
                keep(code, request, kind, Work::message(None, packed))
            }
        }
    } };
}

pub(crate) mod receiving {
    use super::*;
    with_both_counts! { receives! {
        (from: c_int, tag: c_int, communicator: MPI_Comm) Recv Irecv once Recv_init persistent;
        (message: *mut MPI_Message) Mrecv Imrecv once;
    } }
}

pub(crate) mod exchanging {
    use super::*;
    with_both_counts! { calls! {
        fn Sendrecv(
            send_buffer: *const c_void,
            send_count: Count,
            send_datatype: MPI_Datatype,
            to: c_int,
            send_tag: c_int,
            buffer: *mut c_void,
            count: Count,
            datatype: MPI_Datatype,
            from: c_int,
            tag: c_int,
            communicator: MPI_Comm,
            status: *mut MPI_Status,
        ) |next| {
            let named = Argument::read(send_buffer, send_count, send_datatype);
            // SAFETY: promises 1 to 4 for the call's arguments. The packed buffers have as many bytes as the
            // sent message, and room for all that the call may receive.
            unsafe {
                let sent = Outgoing::of(&CALL, named, communicator);
                let sending = sent.as_ref().map_or(named, Outgoing::argument);
                let exchange = |Argument { buffer, count, datatype, .. }, status| {
                    next(
                        sending.buffer,
                        send_count,
                        sending.datatype,
                        to,
                        send_tag,
                        buffer,
                        count as Count,
                        datatype,
                        from,
                        tag,
                        communicator,
                        status,
                    )
                };
                let named = Argument::written(buffer, count, datatype);
                match Incoming::message(&CALL, named) {
                    Some(packed) => packed.receive(status, exchange),
                    None => exchange(named, status),
                }
            }
        }

        fn Sendrecv_replace(
            buffer: *mut c_void,
            count: Count,
            datatype: MPI_Datatype,
            to: c_int,
            send_tag: c_int,
            from: c_int,
            tag: c_int,
            communicator: MPI_Comm,
            status: *mut MPI_Status,
        ) |next| {
            let named = Argument::read(buffer, count, datatype);
            // SAFETY: promises 1 to 4 for the call's arguments. The packed buffer has as many bytes as the
            // sent message, and room for the one that replaces it.
            unsafe {
                let exchange = |Argument { buffer, count, datatype, .. }, status| {
                    next(buffer, count as Count, datatype, to, send_tag, from, tag, communicator, status)
                };
                match Incoming::replaced(&CALL, named, communicator) {
                    Some(packed) => packed.receive(status, exchange),
                    None => exchange(named, status),
                }
            }
        }
    } }
}

/// A nonblocking exchange: the arguments to forward, and the buffers to keep until the request is complete.
#[cfg(exchanges_later)]
struct Exchange<const ARGUMENTS: usize> {
    arguments: [Argument; ARGUMENTS],
    work: Option<Work>,
}

#[cfg(all(exchanges_later, open_mpi))]
impl Exchange<2> {
    /// Packs the sent message, and reserves a packed buffer for the received one.
    ///
    /// # Safety
    /// Promises 1 and 2 for the arguments, and promise 3 for the first buffer.
    unsafe fn of(call: &Call, named: [Argument; 2], communicator: MPI_Comm) -> Self {
        // SAFETY: promises 1 and 2 for the arguments, and promise 3 for the sent message, by the caller's
        // condition.
        let (sent, mut received) =
            unsafe { (Outgoing::of(call, named[0], communicator), Incoming::message(call, named[1])) };
        let sending = sent.as_ref().map_or(named[0], Outgoing::argument);
        let receiving = received.as_mut().map_or(named[1], Incoming::argument);
        Self { arguments: [sending, receiving], work: Work::message(sent, received) }
    }
}

#[cfg(all(exchanges_later, open_mpi))]
impl Exchange<1> {
    /// Packs the message, into a buffer that also receives the message which replaces it.
    ///
    /// # Safety
    /// Promises 1 to 3 for the arguments.
    unsafe fn replaced(call: &Call, named: Argument, communicator: MPI_Comm) -> Self {
        // SAFETY: promises 1 to 3 for the arguments, by the caller's condition.
        let mut packed = unsafe { Incoming::replaced(call, named, communicator) };
        let argument = packed.as_mut().map_or(named, Incoming::argument);
        Self { arguments: [argument], work: Work::message(None, packed) }
    }
}

/// Exchanges with MPICH. MPICH 4 and 5 leave the statuses of these calls unset, and MPICH 4.0 frees the
/// derived datatypes that it is given. So a message is packed only as `MPI_PACKED`, and only if all ranks of
/// the communicator are peers that do the same.
#[cfg(all(exchanges_later, not(open_mpi)))]
impl Exchange<2> {
    /// Packs both sides. The received side is packed, too, since no status tells how many bytes arrive: bytes
    /// that do not arrive are unpacked unchanged.
    ///
    /// # Safety
    /// Promises 1 and 2 for the arguments, promise 3 for the first buffer, promise 4 for the second.
    unsafe fn of(call: &Call, named: [Argument; 2], communicator: MPI_Comm) -> Self {
        // SAFETY: promises 1 to 4, by the caller's condition: 3 for the sent side, 4 for the received one.
        let packed = named.map(|named| unsafe { StagedBlock::of_peers(call, named, communicator) });
        let arguments = [0, 1].map(|i| packed[i].as_ref().map_or(named[i], |(_, argument)| *argument));
        let is_packed = packed.iter().any(Option::is_some);
        let sides = packed.map(|side| side.map(|(block, _)| block));
        let work = is_packed.then(|| Work::Collective { sides, _lists: Box::new(()) });
        Self { arguments, work }
    }
}

#[cfg(all(exchanges_later, not(open_mpi)))]
impl Exchange<1> {
    /// Packs the message, into a buffer that also receives the message which replaces it.
    ///
    /// # Safety
    /// Promises 1 to 3 for the arguments.
    unsafe fn replaced(call: &Call, named: Argument, communicator: MPI_Comm) -> Self {
        // SAFETY: promises 1 to 3 for the arguments, by the caller's condition.
        let packed = unsafe { StagedBlock::of_peers(call, named, communicator) };
        let Some((mut block, argument)) = packed else { return Self { arguments: [named], work: None } };
        block.is_received = true;
        let work = Work::Collective { sides: [None, Some(block)], _lists: Box::new(()) };
        Self { arguments: [argument], work: Some(work) }
    }
}

/// Nonblocking exchanges (MPI 4.1 section 3.9).
#[cfg(exchanges_later)]
pub(crate) mod exchanging_later {
    use super::*;
    with_both_counts! { calls! {
        fn Isendrecv(
            send_buffer: *const c_void,
            send_count: Count,
            send_datatype: MPI_Datatype,
            to: c_int,
            send_tag: c_int,
            buffer: *mut c_void,
            count: Count,
            datatype: MPI_Datatype,
            from: c_int,
            tag: c_int,
            communicator: MPI_Comm,
            request: *mut MPI_Request,
        ) |next| {
            let named = [Argument::read(send_buffer, send_count, send_datatype),
                Argument::written(buffer, count, datatype)];
            // SAFETY: promises 1 to 4 for the call's arguments. The packed buffers have as many bytes as the
            // sent message, and room for all that the call may receive. They are kept until the operation is
            // complete.
            unsafe {
                let Exchange { arguments: [sending, receiving], work } =
                    Exchange::of(&CALL, named, communicator);
                let code = next(
                    sending.buffer,
                    sending.count as Count,
                    sending.datatype,
                    to,
                    send_tag,
                    receiving.buffer,
                    receiving.count as Count,
                    receiving.datatype,
                    from,
                    tag,
                    communicator,
                    request,
                );
                keep(code, request, requests::Kind::Once, work)
            }
        }

        fn Isendrecv_replace(
            buffer: *mut c_void,
            count: Count,
            datatype: MPI_Datatype,
            to: c_int,
            send_tag: c_int,
            from: c_int,
            tag: c_int,
            communicator: MPI_Comm,
            request: *mut MPI_Request,
        ) |next| {
            let named = Argument::read(buffer, count, datatype);
            // SAFETY: promises 1 to 4 for the call's arguments. The packed buffer has as many bytes as the
            // sent message, and room for the one that replaces it. It is kept until the operation is
            // complete.
            unsafe {
                let Exchange { arguments: [Argument { buffer, count, datatype, .. }], work } =
                    Exchange::replaced(&CALL, named, communicator);
                let code =
                    next(buffer, count as Count, datatype, to, send_tag, from, tag, communicator, request);
                keep(code, request, requests::Kind::Once, work)
            }
        }
    } }
}

calls! { "";
    fn Start(request: *mut MPI_Request) |next| {
        // SAFETY: promises 1 and 2 for the request; from now on, promises 3 and 4 for its buffers.
        unsafe {
            requests::start(list(request, 1));
            next(request)
        }
    }

    fn Startall(count: c_int, requests: *mut MPI_Request) |next| {
        // SAFETY: promises 1 and 2 for the requests; from now on, promises 3 and 4 for their buffers.
        unsafe {
            requests::start(list(requests, count));
            next(count, requests)
        }
    }
}
