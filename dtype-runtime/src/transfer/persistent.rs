//! Persistent requests (MPI 4.1 section 3.9), with the buffers that they use.

use std::{marker::PhantomData, mem, os::raw::c_int};

use ::mpi::ffi::{self, MPI_Comm, MPI_Request, MPI_Status};

use super::{
    address::Address,
    attach::Life,
    bytes::Bytes,
    patience::Patience,
    request::{Room, StartSend, no_request, no_status, size_of},
    unwinding::before_waiting,
};
use crate::{
    Error,
    mpi::{
        SUCCESS, Usable, called, checked, class_of, constants, is_truncation, ready, returning_errors,
        true_code, without_communicator,
    },
    pack::PackBuffer,
};

/// Persistent requests on one communicator, which are started and completed together. Buffers belong to the
/// requests, so MPI never uses memory of the program. Dropping them waits for them.
pub(crate) struct Persistent {
    home: Home,
    requests: Vec<MPI_Request>,
    statuses: Vec<MPI_Status>,
    buffers: Vec<Buffer>,
    is_active: bool,
    /// The outcome of the requests that were started last, once they are complete. Each later question has
    /// the same answer.
    outcome: Result<(), Error>,
    /// Makes the type neither `Send` nor `Sync`: if only one thread may call MPI, no other thread may
    /// complete the requests.
    thread: PhantomData<*mut ()>,
}

/// The buffer of a request.
struct Buffer {
    memory: PackBuffer,
    /// The size of the message in bytes.
    size: usize,
}

impl Persistent {
    /// Returns no requests on a communicator of this crate, which must live as long as the requests.
    pub fn on(communicator: MPI_Comm) -> Self {
        Self::of(Home { communicator, life: None })
    }

    /// Returns no requests on a communicator of the program, which may be freed before them.
    pub fn on_live(mpi: &Usable, communicator: MPI_Comm) -> Result<Self, Error> {
        Ok(Self::of(Home { communicator, life: Some(Life::of(mpi, communicator)?) }))
    }

    fn of(home: Home) -> Self {
        Self {
            home,
            requests: Vec::new(),
            statuses: Vec::new(),
            buffers: Vec::new(),
            is_active: false,
            outcome: Ok(()),
            thread: PhantomData,
        }
    }

    /// Adds a request that receives a message of `size` bytes (`MPI_Recv_init`), and returns its number.
    pub fn add_receive(&mut self, mpi: &Usable, size: usize, from: Address) -> Result<usize, Error> {
        let Room { buffer: mut memory, bytes } = Room::of(size)?;
        let place = memory.as_mut_ptr().cast();
        self.add(mpi, Buffer { memory, size }, "MPI_Recv_init", |request| {
            let (Bytes { count, datatype, .. }, Address { communicator, rank, tag }) = (bytes, from);
            // SAFETY: the datatype covers no more than the buffer, which lives as long as the request. MPI
            // keeps a datatype that is in use.
            unsafe { mpi.MPI_Recv_init(place, count, datatype, rank, tag, communicator, request) }
        })
    }

    /// Adds a request that sends a message of `size` bytes (`MPI_Send_init`), and returns its number.
    pub fn add_send(&mut self, mpi: &Usable, size: usize, to: Address) -> Result<usize, Error> {
        self.add_send_by(mpi, "MPI_Send_init", ffi::MPI_Send_init, size, to)
    }

    /// Adds a request that sends a message of `size` bytes in synchronous mode (`MPI_Ssend_init`), and
    /// returns its number.
    pub fn add_synchronous_send(&mut self, mpi: &Usable, size: usize, to: Address) -> Result<usize, Error> {
        self.add_send_by(mpi, "MPI_Ssend_init", ffi::MPI_Ssend_init, size, to)
    }

    fn add_send_by(
        &mut self,
        mpi: &Usable,
        name: &'static str,
        call: StartSend,
        size: usize,
        to: Address,
    ) -> Result<usize, Error> {
        let (memory, bytes) = (PackBuffer::with_room(size)?, Bytes::of(size)?);
        let place = memory.as_ptr().cast();
        self.add(mpi, Buffer { memory, size }, name, |request| {
            let (Bytes { count, datatype, .. }, Address { communicator, rank, tag }) = (bytes, to);
            // SAFETY: as above; the message is the first `size` bytes of the buffer.
            unsafe { call(place, count, datatype, rank, tag, communicator, request) }
        })
    }

    fn add(
        &mut self,
        mpi: &Usable,
        buffer: Buffer,
        name: &'static str,
        call: impl FnOnce(*mut MPI_Request) -> c_int,
    ) -> Result<usize, Error> {
        let mut request = no_request();
        called(mpi, name, self.home.communicator, || call(&raw mut request))?;
        self.requests.push(request);
        self.statuses.push(no_status());
        self.buffers.push(buffer);
        Ok(self.requests.len() - 1)
    }

    /// Returns `true` if all requests can be started again. Open MPI frees a request whose message was too
    /// long.
    pub fn is_whole(&self) -> bool {
        !self.requests.contains(&no_request())
    }

    /// Returns the message that a request sends, to be written. The requests must not be active.
    pub fn outgoing(&mut self, number: usize) -> &mut [u8] {
        let Buffer { memory, size, .. } = &mut self.buffers[number];
        if self.is_active { &mut [] } else { &mut memory[..*size] }
    }

    /// Returns the message that a request has received, and its status. The requests must not be active.
    ///
    /// # Errors
    /// `Size` if the message has another size; `value` is the size of one value in bytes.
    pub fn incoming(&self, mpi: &Usable, number: usize, value: usize) -> Result<&[u8], Error> {
        let (Buffer { memory, size: expected, .. }, status) = (&self.buffers[number], &self.statuses[number]);
        let (found, code) = (size_of(mpi, status), status.MPI_ERROR);
        let from = Some((status.MPI_SOURCE, status.MPI_TAG));
        let fits = found == *expected && !self.is_active && !is_truncation(mpi, code);
        let found = (!is_truncation(mpi, code)).then_some(found);
        fits.then(|| &memory[..*expected]).ok_or(Error::Fit { value, expected: *expected, found, from })
    }

    /// Returns the sender of the message of a request that is complete.
    pub fn sender(&self, number: usize) -> Address {
        let MPI_Status { MPI_SOURCE: rank, MPI_TAG: tag, .. } = self.statuses[number];
        Address { communicator: self.home.communicator, rank, tag }
    }

    /// Cancels the requests that are active, which are receives (`MPI_Cancel`), and completes them.
    pub fn cancel(&mut self) {
        if !self.is_active {
            return;
        }
        let Ok(mpi) = &ready() else { return };
        for request in &mut self.requests {
            // SAFETY: the request is active. A receive that has matched a message completes with it.
            self.home.quietly(mpi, || unsafe { mpi.MPI_Cancel(request) });
        }
        let _ = self.wait(mpi);
    }

    /// Checks that the communicator lives.
    ///
    /// # Errors
    /// `State`.
    pub fn check_life(&self) -> Result<(), Error> {
        self.home.check()
    }

    /// Completes requests that are still active, because their user has forgotten them.
    pub fn settle(&mut self, mpi: &Usable) -> Result<(), Error> {
        if self.is_active { self.wait(mpi) } else { Ok(()) }
    }

    /// Starts all requests (`MPI_Startall`). Requests that are still active are first completed.
    pub fn start(&mut self, mpi: &Usable) -> Result<(), Error> {
        self.home.check()?;
        self.settle(mpi)?;
        self.outcome = Ok(());
        if self.requests.is_empty() {
            return Ok(());
        }
        // MPI writes the error of a status only if there is one.
        self.statuses.fill_with(no_status);
        self.is_active = true;
        let (count, requests) = (self.requests.len() as c_int, self.requests.as_mut_ptr());
        let code = self.home.quietly(mpi, || {
            // SAFETY: the requests are persistent and inactive, and their buffers live as long as they do.
            unsafe { mpi.MPI_Startall(count, requests) }
        });
        Ok(checked(mpi, "MPI_Startall", code)?)
    }

    /// Returns `true` if all requests are complete.
    pub fn is_done(&mut self, mpi: &Usable) -> Result<bool, Error> {
        self.advance(mpi, false)?;
        Ok(!self.is_active)
    }

    /// Waits until all requests are complete.
    pub fn wait(&mut self, mpi: &Usable) -> Result<(), Error> {
        self.advance(mpi, true)
    }

    /// Makes progress (`MPI_Testall`); if `wait` is set, until all requests are complete. Then the core
    /// is soon left to other processes. `MPI_Waitall` of MPICH would keep it, and a neighbour that has no
    /// core of its own would wait for it.
    fn advance(&mut self, mpi: &Usable, wait: bool) -> Result<(), Error> {
        if !self.is_active {
            return self.outcome.clone();
        }
        let (mut done, mut patience) = (0, Patience::new());
        let (count, requests) = (self.requests.len() as c_int, self.requests.as_mut_ptr());
        let statuses = self.statuses.as_mut_ptr();
        let code = self.home.quietly(mpi, || {
            loop {
                // SAFETY: there is a status for each request, and room for a flag.
                let code = true_code(unsafe { mpi.MPI_Testall(count, requests, &raw mut done, statuses) });
                if code != SUCCESS || done != 0 || !wait {
                    return code;
                }
                patience.turn();
            }
        });
        self.is_active = code == SUCCESS && done == 0;
        if code != SUCCESS {
            self.outcome = self.wait_each(mpi, code);
        }
        self.outcome.clone()
    }

    /// Completes the requests one by one, after a call for all of them has failed with `code`. A message that
    /// is too long is no error here, but is remembered in the status.
    fn wait_each(&mut self, mpi: &Usable, code: c_int) -> Result<(), Error> {
        let is_told = class_of(mpi, code) == constants::MPI_ERR_IN_STATUS() || is_truncation(mpi, code);
        let mut failed =
            if is_told { Ok(()) } else { checked(mpi, "MPI_Testall", code).map_err(Error::from) };
        for (request, known) in self.requests.iter_mut().zip(&mut self.statuses) {
            let mut status = no_status();
            let code = self.home.quietly(mpi, || {
                // SAFETY: an inactive request is complete, and has an empty status.
                unsafe { mpi.MPI_Wait(request, &raw mut status) }
            });
            // A request that the first call has completed has its status.
            let was_pending = class_of(mpi, known.MPI_ERROR) == constants::MPI_ERR_PENDING();
            if code != SUCCESS || status.MPI_SOURCE >= 0 || was_pending {
                *known = status;
                known.MPI_ERROR = code;
            }
            let code = known.MPI_ERROR;
            if code != SUCCESS && !is_truncation(mpi, code) {
                failed = failed.and(checked(mpi, "MPI_Wait", code).map_err(Error::from));
            }
        }
        failed
    }
}

impl Drop for Persistent {
    fn drop(&mut self) {
        let Ok(mpi) = &ready() else {
            // MPI has ended, or is called by another thread, but may still write into the buffers.
            if self.is_active {
                mem::take(&mut self.buffers).into_iter().for_each(mem::forget);
            }
            return;
        };
        // Receives are not cancelled: the neighbours wait until their messages are received.
        if matches!(self.is_done(mpi), Ok(false)) {
            before_waiting();
            let _ = self.wait(mpi);
        }
        for request in self.requests.iter_mut().filter(|request| **request != no_request()) {
            // SAFETY: the request is inactive, and is freed once.
            self.home.quietly(mpi, || unsafe { mpi.MPI_Request_free(request) });
        }
    }
}

/// The communicator of requests.
struct Home {
    communicator: MPI_Comm,
    /// The life of the communicator, if the program may free it.
    life: Option<Life>,
}

impl Home {
    /// Checks that the communicator lives.
    fn check(&self) -> Result<(), Error> {
        let is_freed = self.life.as_ref().is_some_and(|life| life.hold().is_none());
        if is_freed { Err(Error::Freed) } else { Ok(()) }
    }

    /// Makes a call on requests, and returns its error. Libraries pass it to the handler of the communicator,
    /// or of `MPI_COMM_WORLD`.
    fn quietly(&self, mpi: &Usable, call: impl FnOnce() -> c_int) -> c_int {
        let call = || without_communicator(mpi, || true_code(call()));
        let held = self.life.as_ref().map(Life::hold);
        match held {
            // The communicator is one of this crate, which returns errors, or its handle is no longer valid.
            None | Some(None) => call(),
            // The communicator is not freed meanwhile.
            Some(Some(_)) => returning_errors(mpi, self.communicator, call),
        }
    }
}
