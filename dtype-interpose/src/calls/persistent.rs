//! Messages that are prepared and sent or received again and again (MPI 4.1 section 3.9).

use std::{
    os::raw::{c_int, c_void},
    slice,
};

use mpi::ffi::{MPI_Comm, MPI_Datatype, MPI_Request};

use crate::{
    requests::{self, Work},
    staged::{Argument, Incoming, Outgoing, SUCCESS},
};

/// Defines sends that are prepared.
macro_rules! sends {
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
            // SAFETY: the program's promise; there is room for the packed bytes, which is kept.
            unsafe {
                let packed = Outgoing::unpacked(&CALL, named, communicator);
                let Argument { buffer, datatype, .. } = packed.as_ref().map_or(named, Outgoing::argument);
                let code = next(buffer, count, datatype, to, tag, communicator, request);
                prepared(code, request, packed.map(Work::Send))
            }
        }
    )*} };
}

pub(crate) mod sending {
    use super::*;
    sends! { Send_init Bsend_init Ssend_init Rsend_init }
}

calls_of_both_counts! {
    fn Recv_init(
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
            prepared(code, request, packed.map(Work::Receive))
        }
    }
}

calls! { "";
    fn Start(request: *mut MPI_Request) |next| {
        // SAFETY: the program's promise: what is sent is there from now on.
        unsafe {
            requests::start(slice::from_ref(&*request));
            next(request)
        }
    }

    fn Startall(count: c_int, requests: *mut MPI_Request) |next| {
        // SAFETY: the program's promise: what is sent is there from now on.
        unsafe {
            requests::start(requests::list(requests, count));
            next(count, requests)
        }
    }
}

/// Keeps what a request uses that has been prepared.
///
/// # Safety
/// Where the code is that of success, the library has set the request.
unsafe fn prepared(code: c_int, request: *const MPI_Request, work: Option<Work>) -> c_int {
    if let Some(work) = work.filter(|_| code == SUCCESS) {
        // SAFETY: the caller's condition.
        requests::keep_persistent(unsafe { *request }, work);
    }
    code
}
