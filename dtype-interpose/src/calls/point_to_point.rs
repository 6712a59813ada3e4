//! Messages between two ranks (MPI 4.1 chapter 3).

use std::os::raw::{c_int, c_void};

use mpi::ffi::{MPI_Comm, MPI_Datatype, MPI_Message, MPI_Request, MPI_Status};

use crate::{
    requests::{self, Work},
    staged::{Argument, Incoming, Outgoing, SUCCESS},
};

/// Defines sends that are over when they return.
macro_rules! sends {
    ($($name:ident)*) => { calls_of_both_counts! {$(
        fn $name(
            buffer: *const c_void,
            count: Count,
            datatype: MPI_Datatype,
            to: c_int,
            tag: c_int,
            communicator: MPI_Comm,
        ) |next| {
            let named = Argument::new(buffer, count, datatype);
            // SAFETY: the program's promise; packed bytes are as many as the datatype has.
            unsafe {
                let packed = Outgoing::of(&CALL, named, communicator);
                let Argument { buffer, datatype, .. } = packed.as_ref().map_or(named, Outgoing::argument);
                next(buffer, count, datatype, to, tag, communicator)
            }
        }
    )*} };
}

/// Defines sends that are begun.
macro_rules! immediate_sends {
    ($($name:ident)*) => { calls_of_both_counts! {$(
        fn $name(
            buffer: *const c_void,
            count: Count,
            datatype: MPI_Datatype,
            to: c_int,
            tag: c_int,
            communicator: MPI_Comm,
            request: *mut MPI_Request,
        ) |next| {
            let named = Argument::new(buffer, count, datatype);
            // SAFETY: the program's promise; packed bytes are as many as the datatype has, and are kept.
            unsafe {
                let packed = Outgoing::of(&CALL, named, communicator);
                let Argument { buffer, datatype, .. } = packed.as_ref().map_or(named, Outgoing::argument);
                let code = next(buffer, count, datatype, to, tag, communicator, request);
                begun(code, request, packed.map(Work::Send))
            }
        }
    )*} };
}

pub(crate) mod sending {
    use super::*;
    sends! { Send Bsend Ssend Rsend }
}

pub(crate) mod beginning {
    use super::*;
    immediate_sends! { Isend Ibsend Issend Irsend }
}

calls_of_both_counts! {
    fn Recv(
        buffer: *mut c_void,
        count: Count,
        datatype: MPI_Datatype,
        from: c_int,
        tag: c_int,
        communicator: MPI_Comm,
        status: *mut MPI_Status,
    ) |next| {
        // SAFETY: the program's promise; there is room for the packed bytes.
        unsafe {
            match Incoming::message(&CALL, Argument::new(buffer, count, datatype)) {
                Some(packed) => packed.receive(status, |Argument { buffer, count, datatype }, status| {
                    next(buffer, count as Count, datatype, from, tag, communicator, status)
                }),
                None => next(buffer, count, datatype, from, tag, communicator, status),
            }
        }
    }

    fn Irecv(
        buffer: *mut c_void,
        count: Count,
        datatype: MPI_Datatype,
        from: c_int,
        tag: c_int,
        communicator: MPI_Comm,
        request: *mut MPI_Request,
    ) |next| {
        let named = Argument::new(buffer, count, datatype);
        // SAFETY: the program's promise; there is room for the packed bytes, which is kept.
        unsafe {
            let mut packed = Incoming::message(&CALL, named);
            let Argument { buffer, count, datatype } = packed.as_mut().map_or(named, Incoming::argument);
            let code = next(buffer, count as Count, datatype, from, tag, communicator, request);
            begun(code, request, packed.map(Work::Receive))
        }
    }

    fn Mrecv(
        buffer: *mut c_void,
        count: Count,
        datatype: MPI_Datatype,
        message: *mut MPI_Message,
        status: *mut MPI_Status,
    ) |next| {
        // SAFETY: the program's promise; there is room for the packed bytes.
        unsafe {
            match Incoming::message(&CALL, Argument::new(buffer, count, datatype)) {
                Some(packed) => packed.receive(status, |Argument { buffer, count, datatype }, status| {
                    next(buffer, count as Count, datatype, message, status)
                }),
                None => next(buffer, count, datatype, message, status),
            }
        }
    }

    fn Imrecv(
        buffer: *mut c_void,
        count: Count,
        datatype: MPI_Datatype,
        message: *mut MPI_Message,
        request: *mut MPI_Request,
    ) |next| {
        let named = Argument::new(buffer, count, datatype);
        // SAFETY: the program's promise; there is room for the packed bytes, which is kept.
        unsafe {
            let mut packed = Incoming::message(&CALL, named);
            let Argument { buffer, count, datatype } = packed.as_mut().map_or(named, Incoming::argument);
            let code = next(buffer, count as Count, datatype, message, request);
            begun(code, request, packed.map(Work::Receive))
        }
    }

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
        let named = Argument::new(send_buffer, send_count, send_datatype);
        // SAFETY: the program's promise; packed bytes are as many as the datatypes have, or there is room for
        // them.
        unsafe {
            let sent = Outgoing::of(&CALL, named, communicator);
            let sending = sent.as_ref().map_or(named, Outgoing::argument);
            let exchange = |Argument { buffer, count, datatype }, status| {
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
            let named = Argument::new(buffer, count, datatype);
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
        let named = Argument::new(buffer, count, datatype);
        // SAFETY: the program's promise; packed bytes are replaced by as many.
        unsafe {
            let exchange = |Argument { buffer, count, datatype }, status| {
                next(buffer, count as Count, datatype, to, send_tag, from, tag, communicator, status)
            };
            match Incoming::replaced(&CALL, named, communicator) {
                Some(packed) => packed.receive(status, exchange),
                None => exchange(named, status),
            }
        }
    }
}

/// Keeps what a request uses that has been begun.
///
/// # Safety
/// Where the code is that of success, the library has set the request.
unsafe fn begun(code: c_int, request: *const MPI_Request, work: Option<Work>) -> c_int {
    if let Some(work) = work.filter(|_| code == SUCCESS) {
        // SAFETY: the caller's condition.
        requests::keep(unsafe { *request }, work);
    }
    code
}
