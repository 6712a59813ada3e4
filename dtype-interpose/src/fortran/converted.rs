//! The Fortran bindings of Open MPI, which do not call the C functions. `mpif.h` and `mpi` call functions
//! such as `mpi_send_`. `mpi_f08` calls functions such as `ompi_send_f`, or `pmpi_test_` if an argument is a
//! logical.
//!
//! If a call is not to be packed, it is forwarded unchanged to the next Fortran function. Otherwise, its
//! arguments are passed to the C function. Handles, statuses and the constants that are addresses are
//! converted as Open MPI does it.

use std::{
    os::raw::{c_int, c_void},
    ptr,
    sync::OnceLock,
};

use super::{Integer, if_any};
use crate::{
    call::{SUCCESS, list},
    calls::{
        init_finalize,
        members::{Asked, BlockCounts, in_place},
    },
    datatype_cache::is_known,
    native::{self, MPI_Aint, MPI_Comm, MPI_Datatype, MPI_Message, MPI_Request, MPI_Status, MPI_Win},
};

/// An argument, converted from its form in Fortran to that in C.
trait FortranArgument {
    type Fortran: Copy;
    type C;

    /// Converts an argument from Fortran.
    ///
    /// # Safety
    /// Promises 1 and 2 for `fortran`, which is an argument of a call by the program.
    unsafe fn of(fortran: Self::Fortran) -> Self;

    /// Returns the argument as C expects it.
    fn give(&mut self) -> Self::C;

    /// Returns `true` if the argument is a datatype whose messages may be packed.
    fn is_ours(&self) -> bool {
        false
    }

    /// Converts the results of the call back to Fortran.
    ///
    /// # Safety
    /// The condition of [`of`](Self::of); the call has succeeded.
    unsafe fn finish(&mut self) {}
}

/// The addresses that stand for constants in Fortran.
struct Addresses {
    bottom: usize,
    in_place: usize,
    status_ignore: usize,
    statuses_ignore: usize,
}

impl Addresses {
    fn get() -> &'static Self {
        static ADDRESSES: OnceLock<Addresses> = OnceLock::new();
        ADDRESSES.get_or_init(|| {
            let of = |name| native::first(name) as usize;
            Self {
                bottom: of(c"mpi_fortran_bottom_"),
                in_place: of(c"mpi_fortran_in_place_"),
                status_ignore: of(c"mpi_fortran_status_ignore_"),
                statuses_ignore: of(c"mpi_fortran_statuses_ignore_"),
            }
        })
    }
}

/// A buffer, or a constant that stands for one.
struct Buffer(*mut c_void);

impl FortranArgument for Buffer {
    type Fortran = *mut c_void;
    type C = *mut c_void;

    unsafe fn of(fortran: *mut c_void) -> Self {
        let (place, constants) = (fortran as usize, Addresses::get());
        Self(match place {
            place if place == constants.bottom => ptr::null_mut(),
            place if place == constants.in_place => in_place().cast_mut(),
            _ => fortran,
        })
    }

    fn give(&mut self) -> *mut c_void {
        self.0
    }
}

/// An integer.
struct Number(c_int);

impl FortranArgument for Number {
    type Fortran = *const Integer;
    type C = c_int;

    unsafe fn of(fortran: *const Integer) -> Self {
        // SAFETY: promise 2: the pointer leads to an integer.
        Self(unsafe { *fortran })
    }

    fn give(&mut self) -> c_int {
        self.0
    }
}

/// A list of integers, or an integer that the call changes.
struct Numbers(*mut c_int);

impl FortranArgument for Numbers {
    type Fortran = *mut Integer;
    type C = *mut c_int;

    unsafe fn of(fortran: *mut Integer) -> Self {
        Self(fortran)
    }

    fn give(&mut self) -> *mut c_int {
        self.0
    }
}

/// A datatype.
struct Type(MPI_Datatype);

impl FortranArgument for Type {
    type Fortran = *const Integer;
    type C = MPI_Datatype;

    unsafe fn of(fortran: *const Integer) -> Self {
        // SAFETY: promises 1 and 2: the pointer leads to a handle. `MPI_Type_f2c` converts an invalid handle
        // to null.
        Self(unsafe { native::MPI_Type_f2c(*fortran) })
    }

    fn give(&mut self) -> MPI_Datatype {
        self.0
    }

    fn is_ours(&self) -> bool {
        // SAFETY: promises 1 and 2 for the datatype. An invalid handle has become null, which `is_known`
        // accepts.
        unsafe { is_known(self.0) }
    }
}

/// A communicator.
struct Communicator(MPI_Comm);

impl FortranArgument for Communicator {
    type Fortran = *const Integer;
    type C = MPI_Comm;

    unsafe fn of(fortran: *const Integer) -> Self {
        // SAFETY: promises 1 and 2: the pointer leads to the handle of a communicator.
        Self(unsafe { native::MPI_Comm_f2c(*fortran) })
    }

    fn give(&mut self) -> MPI_Comm {
        self.0
    }
}

/// A window.
struct Window(MPI_Win);

impl FortranArgument for Window {
    type Fortran = *const Integer;
    type C = MPI_Win;

    unsafe fn of(fortran: *const Integer) -> Self {
        // SAFETY: promise 2: the pointer leads to a handle.
        Self(window_of(unsafe { *fortran }))
    }

    fn give(&mut self) -> MPI_Win {
        self.0
    }
}

type FortranWindow = Integer;

/// Converts a window to a C handle.
fn window_of(fortran: FortranWindow) -> MPI_Win {
    // SAFETY: promise 1. `MPI_Win_f2c` converts an invalid handle to null.
    unsafe { native::MPI_Win_f2c(fortran) }
}

/// A displacement in a window.
struct Place(MPI_Aint);

impl FortranArgument for Place {
    type Fortran = *const MPI_Aint;
    type C = MPI_Aint;

    unsafe fn of(fortran: *const MPI_Aint) -> Self {
        // SAFETY: promise 2: the pointer leads to a displacement.
        Self(unsafe { *fortran })
    }

    fn give(&mut self) -> MPI_Aint {
        self.0
    }
}

/// A request that the call creates.
struct NewRequest(*mut Integer, MPI_Request);

impl FortranArgument for NewRequest {
    type Fortran = *mut Integer;
    type C = *mut MPI_Request;

    unsafe fn of(fortran: *mut Integer) -> Self {
        Self(fortran, native::MPI_REQUEST_NULL())
    }

    fn give(&mut self) -> *mut MPI_Request {
        &raw mut self.1
    }

    unsafe fn finish(&mut self) {
        // SAFETY: promises 1 and 2: the pointer has room for a handle. The call has set the request.
        unsafe { *self.0 = native::MPI_Request_c2f(self.1) };
    }
}

/// A message that a matched probe has found.
struct Message(*mut Integer, MPI_Message);

impl FortranArgument for Message {
    type Fortran = *mut Integer;
    type C = *mut MPI_Message;

    unsafe fn of(fortran: *mut Integer) -> Self {
        // SAFETY: promises 1 and 2: the pointer leads to the handle of a message.
        Self(fortran, unsafe { native::MPI_Message_f2c(*fortran) })
    }

    fn give(&mut self) -> *mut MPI_Message {
        &raw mut self.1
    }

    unsafe fn finish(&mut self) {
        // SAFETY: promises 1 and 2: the pointer has room for a handle. The call has set the message.
        unsafe { *self.0 = native::MPI_Message_c2f(self.1) };
    }
}

/// A status that the call sets.
struct Status(*mut Integer, MPI_Status);

/// Returns `true` if the program ignores a status, or several of them.
fn is_ignored(statuses: *const Integer) -> bool {
    let constants = Addresses::get();
    [constants.status_ignore, constants.statuses_ignore].contains(&(statuses as usize))
}

impl FortranArgument for Status {
    type Fortran = *mut Integer;
    type C = *mut MPI_Status;

    unsafe fn of(fortran: *mut Integer) -> Self {
        // SAFETY: `MPI_Status` consists of integers, for which zeros are valid.
        Self(fortran, unsafe { std::mem::zeroed() })
    }

    fn give(&mut self) -> *mut MPI_Status {
        if is_ignored(self.0) { native::MPI_STATUS_IGNORE() } else { &raw mut self.1 }
    }

    unsafe fn finish(&mut self) {
        if !is_ignored(self.0) {
            // SAFETY: promises 1 and 2: the pointer has room for a status. The call has set the status.
            unsafe { native::MPI_Status_c2f(&raw const self.1, self.0) };
        }
    }
}

/// Converts a list of datatypes to C handles.
///
/// # Safety
/// Promises 1 and 2 for `count` datatypes.
unsafe fn types(types: *const Integer, count: usize) -> Vec<MPI_Datatype> {
    // SAFETY: promise 2: the list has `count` items.
    let types = unsafe { list(types, c_int::try_from(count).unwrap_or(0)) };
    // SAFETY: promise 1. `MPI_Type_f2c` converts an invalid handle to null.
    types.iter().map(|datatype| unsafe { native::MPI_Type_f2c(*datatype) }).collect()
}

/// Makes a blocking call with a datatype for each rank, if messages of one of the datatypes may be packed.
/// `call` gets each buffer with its converted datatypes, and the communicator. Nonblocking calls are not
/// intercepted: the converted lists would have to live until completion.
///
/// # Safety
/// Promises 1 to 4 for the arguments. `blocks` returns the blocks of the call; each list has an item for each
/// block of its buffer.
unsafe fn with_lists(
    blocks: unsafe fn(&Asked) -> BlockCounts,
    from: (*mut c_void, *const Integer),
    to: (*mut c_void, *const Integer),
    communicator: *const Integer,
    call: impl FnOnce(*mut c_void, *const MPI_Datatype, *mut c_void, *const MPI_Datatype, MPI_Comm) -> c_int,
) -> Option<c_int> {
    // SAFETY: promises 1 and 2 for the arguments. The lists have an item for each block.
    unsafe {
        let [sending, receiving] = [from.0, to.0].map(|buffer| Buffer::of(buffer).give());
        let communicator = Communicator::of(communicator).give();
        let blocks = blocks(&Asked { communicator, root: 0, from: sending, to: receiving });
        let (sent, received) = (types(from.1, blocks.sent), types(to.1, blocks.received));
        let is_ours = sent.iter().chain(&received).any(|datatype| is_known(*datatype));
        is_ours.then(|| call(sending, sent.as_ptr(), receiving, received.as_ptr(), communicator))
    }
}

/// Makes a call with converted requests and statuses, if any request is registered. `call` returns its code
/// and the number of statuses that it has set, from the first on. These statuses and all requests are
/// converted back.
///
/// # Safety
/// Promises 1 and 2 for `count` requests, and for as many statuses as `call` sets.
unsafe fn asked(
    (requests, count): (*mut Integer, c_int),
    statuses: *mut Integer,
    call: impl FnOnce(*mut MPI_Request, *mut MPI_Status) -> (c_int, c_int),
) -> Option<c_int> {
    if_any(|| {
        // SAFETY: promise 2: the list has `count` requests.
        let given = unsafe { list(requests.cast_const(), count) };
        // SAFETY: promises 1 and 2 for the requests.
        let mut ours: Vec<_> =
            given.iter().map(|request| unsafe { native::MPI_Request_f2c(*request) }).collect();
        // SAFETY: `MPI_Status` consists of integers, for which zeros are valid.
        let mut set: Vec<MPI_Status> = vec![unsafe { std::mem::zeroed() }; ours.len()];
        let is_ignored = set.is_empty() || is_ignored(statuses);
        let none = native::MPI_STATUSES_IGNORE();
        let (code, done) = call(ours.as_mut_ptr(), if is_ignored { none } else { set.as_mut_ptr() });
        for (i, request) in ours.into_iter().enumerate() {
            // SAFETY: promises 1 and 2: the list has `count` requests, and `i` is less.
            unsafe { *requests.add(i) = native::MPI_Request_c2f(request) };
        }
        let done = if is_ignored { 0 } else { usize::try_from(done).unwrap_or(0) };
        let integers = size_of::<MPI_Status>() / size_of::<Integer>();
        for (i, status) in set.iter().enumerate().take(done) {
            // SAFETY: promises 1 and 2: there is room for `done` statuses, and `i` is less. A status has as
            // many integers in Fortran as in C.
            unsafe { native::MPI_Status_c2f(status, statuses.add(i * integers)) };
        }
        code
    })
}

/// Converts an index from C to Fortran, which counts from 1.
///
/// # Safety
/// Promise 2 for `index`.
unsafe fn index_in_fortran(index: *mut Integer) {
    // SAFETY: promise 2 for `index`, by the caller's condition.
    unsafe {
        if *index >= 0 {
            *index += 1;
        }
    }
}

/// Commits a datatype (`MPI_Type_commit`).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](crate::calls).
unsafe fn type_commit(datatype: *const Integer, next: impl FnOnce() -> c_int) -> c_int {
    let code = next();
    // SAFETY: promises 1 and 2 for the datatype, which is committed if the call has succeeded.
    unsafe {
        let converted = native::MPI_Type_f2c(*datatype);
        init_finalize::type_commit(&raw const converted, || code)
    }
}

/// The exported functions. `SAFETY` as in [`exports`](crate::exports).
#[allow(clippy::all, clippy::pedantic, clippy::undocumented_unsafe_blocks, reason = "written by the build")]
#[allow(unused_variables, unused_mut, unused_imports, reason = "written by the build")]
mod functions {
    use super::{super::exported::*, *};
    use crate::fortran::converted;

    include!(concat!(env!("OUT_DIR"), "/fortran.rs"));
}
