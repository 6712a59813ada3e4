//! Open MPI, whose Fortran bindings do not call the C functions. `mpif.h` and `mpi` call functions such as
//! `mpi_send_`. `mpi_f08` calls functions such as `ompi_send_f`, or `pmpi_test_` if an argument is a logical.
//!
//! If a call is not to be packed, it is forwarded unchanged to the next Fortran function. Otherwise, its
//! arguments are passed to the C function. Handles, statuses and the constants that are addresses are
//! converted as Open MPI does it.

use std::{
    ffi::CStr,
    os::raw::{c_int, c_void},
    ptr,
    sync::OnceLock,
};

use mpi::ffi::{self, MPI_Aint, MPI_Comm, MPI_Datatype, MPI_Message, MPI_Request, MPI_Status, MPI_Win};

use super::{Integer, if_any};
use crate::{
    call::{SUCCESS, list},
    calls::{
        collective, completion, init_finalize,
        members::{Asked, in_place},
        one_sided, packing, point_to_point,
    },
    datatype_cache::{self, is_known},
    mode::{self, Mode},
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
            // SAFETY: the names end in a zero.
            let of = |name: &CStr| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) as usize };
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
        Self(unsafe { ffi::MPI_Type_f2c(*fortran) })
    }

    fn give(&mut self) -> MPI_Datatype {
        self.0
    }

    fn is_ours(&self) -> bool {
        // SAFETY: promises 1 and 2 for the datatype. An invalid handle has become null, of which nothing is
        // known.
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
        Self(unsafe { ffi::MPI_Comm_f2c(*fortran) })
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
    unsafe { ffi::MPI_Win_f2c(fortran) }
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
        // SAFETY: a constant of the library.
        Self(fortran, unsafe { ffi::RSMPI_REQUEST_NULL })
    }

    fn give(&mut self) -> *mut MPI_Request {
        &raw mut self.1
    }

    unsafe fn finish(&mut self) {
        // SAFETY: promises 1 and 2: the pointer has room for a handle. The call has set the request.
        unsafe { *self.0 = ffi::MPI_Request_c2f(self.1) };
    }
}

/// A message that a matched probe has found.
struct Message(*mut Integer, MPI_Message);

impl FortranArgument for Message {
    type Fortran = *mut Integer;
    type C = *mut MPI_Message;

    unsafe fn of(fortran: *mut Integer) -> Self {
        // SAFETY: promises 1 and 2: the pointer leads to the handle of a message.
        Self(fortran, unsafe { ffi::MPI_Message_f2c(*fortran) })
    }

    fn give(&mut self) -> *mut MPI_Message {
        &raw mut self.1
    }

    unsafe fn finish(&mut self) {
        // SAFETY: promises 1 and 2: the pointer has room for a handle. The call has set the message.
        unsafe { *self.0 = ffi::MPI_Message_c2f(self.1) };
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
        // SAFETY: a constant of the library.
        if is_ignored(self.0) { unsafe { ffi::RSMPI_STATUS_IGNORE } } else { &raw mut self.1 }
    }

    unsafe fn finish(&mut self) {
        if !is_ignored(self.0) {
            // SAFETY: promises 1 and 2: the pointer has room for a status. The call has set the status.
            unsafe { ffi::MPI_Status_c2f(&raw const self.1, self.0) };
        }
    }
}

/// Defines functions whose C function has the same arguments, datatypes among them.
macro_rules! with_datatypes {
    ($($name:ident $mpi:literal $ompi:literal => $call:path: $($argument:ident $kind:ty),*;)*) => {
        functions! {$(
            fn $name [$mpi mpi, $ompi ompi] ($($argument: <$kind as FortranArgument>::Fortran),*) |_next| {
                // SAFETY: promises 1 to 4 for the call's arguments, which are converted for the C function.
                unsafe {
                    $(let mut $argument = <$kind as FortranArgument>::of($argument);)*
                    if $($argument.is_ours())||* {
                        let code = $call($($argument.give()),*);
                        if code == SUCCESS {
                            $($argument.finish();)*
                        }
                        Some(code)
                    } else {
                        None
                    }
                }
            }
        )*}
    };
}

with_datatypes! {
    send "mpi_send_" "ompi_send_f" => point_to_point::sending::integers::Send:
        a Buffer, b Number, c Type, d Number, e Number, f Communicator;
    bsend "mpi_bsend_" "ompi_bsend_f" => point_to_point::sending::integers::Bsend:
        a Buffer, b Number, c Type, d Number, e Number, f Communicator;
    ssend "mpi_ssend_" "ompi_ssend_f" => point_to_point::sending::integers::Ssend:
        a Buffer, b Number, c Type, d Number, e Number, f Communicator;
    rsend "mpi_rsend_" "ompi_rsend_f" => point_to_point::sending::integers::Rsend:
        a Buffer, b Number, c Type, d Number, e Number, f Communicator;
    isend "mpi_isend_" "ompi_isend_f" => point_to_point::sending::integers::Isend:
        a Buffer, b Number, c Type, d Number, e Number, f Communicator, g NewRequest;
    ibsend "mpi_ibsend_" "ompi_ibsend_f" => point_to_point::sending::integers::Ibsend:
        a Buffer, b Number, c Type, d Number, e Number, f Communicator, g NewRequest;
    issend "mpi_issend_" "ompi_issend_f" => point_to_point::sending::integers::Issend:
        a Buffer, b Number, c Type, d Number, e Number, f Communicator, g NewRequest;
    irsend "mpi_irsend_" "ompi_irsend_f" => point_to_point::sending::integers::Irsend:
        a Buffer, b Number, c Type, d Number, e Number, f Communicator, g NewRequest;
    recv "mpi_recv_" "ompi_recv_f" => point_to_point::receiving::integers::Recv:
        a Buffer, b Number, c Type, d Number, e Number, f Communicator, g Status;
    irecv "mpi_irecv_" "ompi_irecv_f" => point_to_point::receiving::integers::Irecv:
        a Buffer, b Number, c Type, d Number, e Number, f Communicator, g NewRequest;
    mrecv "mpi_mrecv_" "ompi_mrecv_f" => point_to_point::receiving::integers::Mrecv:
        a Buffer, b Number, c Type, d Message, e Status;
    imrecv "mpi_imrecv_" "ompi_imrecv_f" => point_to_point::receiving::integers::Imrecv:
        a Buffer, b Number, c Type, d Message, e NewRequest;
    sendrecv "mpi_sendrecv_" "ompi_sendrecv_f" => point_to_point::exchanging::integers::Sendrecv:
        a Buffer, b Number, c Type, d Number, e Number, f Buffer, g Number, h Type, i Number, j Number,
        k Communicator, l Status;
    sendrecv_replace "mpi_sendrecv_replace_" "ompi_sendrecv_replace_f" =>
        point_to_point::exchanging::integers::Sendrecv_replace:
        a Buffer, b Number, c Type, d Number, e Number, f Number, g Number, h Communicator, i Status;
    send_init "mpi_send_init_" "ompi_send_init_f" => point_to_point::sending::integers::Send_init:
        a Buffer, b Number, c Type, d Number, e Number, f Communicator, g NewRequest;
    bsend_init "mpi_bsend_init_" "ompi_bsend_init_f" => point_to_point::sending::integers::Bsend_init:
        a Buffer, b Number, c Type, d Number, e Number, f Communicator, g NewRequest;
    ssend_init "mpi_ssend_init_" "ompi_ssend_init_f" => point_to_point::sending::integers::Ssend_init:
        a Buffer, b Number, c Type, d Number, e Number, f Communicator, g NewRequest;
    rsend_init "mpi_rsend_init_" "ompi_rsend_init_f" => point_to_point::sending::integers::Rsend_init:
        a Buffer, b Number, c Type, d Number, e Number, f Communicator, g NewRequest;
    recv_init "mpi_recv_init_" "ompi_recv_init_f" => point_to_point::receiving::integers::Recv_init:
        a Buffer, b Number, c Type, d Number, e Number, f Communicator, g NewRequest;
    put "mpi_put_" "ompi_put_f" => one_sided::integers::Put:
        a Buffer, b Number, c Type, d Number, e Place, f Number, g Type, h Window;
    get "mpi_get_" "ompi_get_f" => one_sided::integers::Get:
        a Buffer, b Number, c Type, d Number, e Place, f Number, g Type, h Window;
    pack "mpi_pack_" "ompi_pack_f" => packing::integers::Pack:
        a Buffer, b Number, c Type, d Buffer, e Number, f Numbers, g Communicator;
    unpack "mpi_unpack_" "ompi_unpack_f" => packing::integers::Unpack:
        a Buffer, b Number, c Numbers, d Buffer, e Number, f Type, g Communicator;
    bcast "mpi_bcast_" "ompi_bcast_f" => collective::broadcasting::integers::Bcast:
        a Buffer, b Number, c Type, d Number, e Communicator;
    ibcast "mpi_ibcast_" "ompi_ibcast_f" => collective::broadcasting::integers::Ibcast:
        a Buffer, b Number, c Type, d Number, e Communicator, f NewRequest;
    gather "mpi_gather_" "ompi_gather_f" => collective::integers::Gather:
        a Buffer, b Number, c Type, d Buffer, e Number, f Type, g Number, h Communicator;
    igather "mpi_igather_" "ompi_igather_f" => collective::integers::Igather:
        a Buffer, b Number, c Type, d Buffer, e Number, f Type, g Number, h Communicator, i NewRequest;
    scatter "mpi_scatter_" "ompi_scatter_f" => collective::integers::Scatter:
        a Buffer, b Number, c Type, d Buffer, e Number, f Type, g Number, h Communicator;
    iscatter "mpi_iscatter_" "ompi_iscatter_f" => collective::integers::Iscatter:
        a Buffer, b Number, c Type, d Buffer, e Number, f Type, g Number, h Communicator, i NewRequest;
    allgather "mpi_allgather_" "ompi_allgather_f" => collective::integers::Allgather:
        a Buffer, b Number, c Type, d Buffer, e Number, f Type, g Communicator;
    iallgather "mpi_iallgather_" "ompi_iallgather_f" => collective::integers::Iallgather:
        a Buffer, b Number, c Type, d Buffer, e Number, f Type, g Communicator, h NewRequest;
    alltoall "mpi_alltoall_" "ompi_alltoall_f" => collective::integers::Alltoall:
        a Buffer, b Number, c Type, d Buffer, e Number, f Type, g Communicator;
    ialltoall "mpi_ialltoall_" "ompi_ialltoall_f" => collective::integers::Ialltoall:
        a Buffer, b Number, c Type, d Buffer, e Number, f Type, g Communicator, h NewRequest;
    gatherv "mpi_gatherv_" "ompi_gatherv_f" => collective::integers::Gatherv:
        a Buffer, b Number, c Type, d Buffer, e Numbers, f Numbers, g Type, h Number, i Communicator;
    igatherv "mpi_igatherv_" "ompi_igatherv_f" => collective::integers::Igatherv:
        a Buffer, b Number, c Type, d Buffer, e Numbers, f Numbers, g Type, h Number, i Communicator,
        j NewRequest;
    scatterv "mpi_scatterv_" "ompi_scatterv_f" => collective::integers::Scatterv:
        a Buffer, b Numbers, c Numbers, d Type, e Buffer, f Number, g Type, h Number, i Communicator;
    iscatterv "mpi_iscatterv_" "ompi_iscatterv_f" => collective::integers::Iscatterv:
        a Buffer, b Numbers, c Numbers, d Type, e Buffer, f Number, g Type, h Number, i Communicator,
        j NewRequest;
    allgatherv "mpi_allgatherv_" "ompi_allgatherv_f" => collective::integers::Allgatherv:
        a Buffer, b Number, c Type, d Buffer, e Numbers, f Numbers, g Type, h Communicator;
    iallgatherv "mpi_iallgatherv_" "ompi_iallgatherv_f" => collective::integers::Iallgatherv:
        a Buffer, b Number, c Type, d Buffer, e Numbers, f Numbers, g Type, h Communicator, i NewRequest;
    alltoallv "mpi_alltoallv_" "ompi_alltoallv_f" => collective::integers::Alltoallv:
        a Buffer, b Numbers, c Numbers, d Type, e Buffer, f Numbers, g Numbers, h Type, i Communicator;
    ialltoallv "mpi_ialltoallv_" "ompi_ialltoallv_f" => collective::integers::Ialltoallv:
        a Buffer, b Numbers, c Numbers, d Type, e Buffer, f Numbers, g Numbers, h Type, i Communicator,
        j NewRequest;
    neighbor_allgather "mpi_neighbor_allgather_" "ompi_neighbor_allgather_f" =>
        collective::integers::Neighbor_allgather:
        a Buffer, b Number, c Type, d Buffer, e Number, f Type, g Communicator;
    ineighbor_allgather "mpi_ineighbor_allgather_" "ompi_ineighbor_allgather_f" =>
        collective::integers::Ineighbor_allgather:
        a Buffer, b Number, c Type, d Buffer, e Number, f Type, g Communicator, h NewRequest;
    neighbor_alltoall "mpi_neighbor_alltoall_" "ompi_neighbor_alltoall_f" =>
        collective::integers::Neighbor_alltoall:
        a Buffer, b Number, c Type, d Buffer, e Number, f Type, g Communicator;
    ineighbor_alltoall "mpi_ineighbor_alltoall_" "ompi_ineighbor_alltoall_f" =>
        collective::integers::Ineighbor_alltoall:
        a Buffer, b Number, c Type, d Buffer, e Number, f Type, g Communicator, h NewRequest;
    neighbor_allgatherv "mpi_neighbor_allgatherv_" "ompi_neighbor_allgatherv_f" =>
        collective::integers::Neighbor_allgatherv:
        a Buffer, b Number, c Type, d Buffer, e Numbers, f Numbers, g Type, h Communicator;
    ineighbor_allgatherv "mpi_ineighbor_allgatherv_" "ompi_ineighbor_allgatherv_f" =>
        collective::integers::Ineighbor_allgatherv:
        a Buffer, b Number, c Type, d Buffer, e Numbers, f Numbers, g Type, h Communicator, i NewRequest;
    neighbor_alltoallv "mpi_neighbor_alltoallv_" "ompi_neighbor_alltoallv_f" =>
        collective::integers::Neighbor_alltoallv:
        a Buffer, b Numbers, c Numbers, d Type, e Buffer, f Numbers, g Numbers, h Type, i Communicator;
    ineighbor_alltoallv "mpi_ineighbor_alltoallv_" "ompi_ineighbor_alltoallv_f" =>
        collective::integers::Ineighbor_alltoallv:
        a Buffer, b Numbers, c Numbers, d Type, e Buffer, f Numbers, g Numbers, h Type, i Communicator,
        j NewRequest;
}

#[cfg(exchanges_later)]
with_datatypes! {
    isendrecv "mpi_isendrecv_" "ompi_isendrecv_f" => point_to_point::exchanging_later::integers::Isendrecv:
        a Buffer, b Number, c Type, d Number, e Number, f Buffer, g Number, h Type, i Number, j Number,
        k Communicator, l NewRequest;
    isendrecv_replace "mpi_isendrecv_replace_" "ompi_isendrecv_replace_f" =>
        point_to_point::exchanging_later::integers::Isendrecv_replace:
        a Buffer, b Number, c Type, d Number, e Number, f Number, g Number, h Communicator, i NewRequest;
}

/// Converts a list of datatypes to C handles.
///
/// # Safety
/// Promises 1 and 2 for `count` datatypes.
unsafe fn types(types: *const Integer, count: usize) -> Vec<MPI_Datatype> {
    // SAFETY: promise 2: the list has `count` items.
    let types = unsafe { list(types, c_int::try_from(count).unwrap_or(0)) };
    // SAFETY: promise 1. `MPI_Type_f2c` converts an invalid handle to null.
    types.iter().map(|datatype| unsafe { ffi::MPI_Type_f2c(*datatype) }).collect()
}

/// Defines calls with a datatype for each rank. Nonblocking ones are not intercepted: the converted lists
/// would have to live until completion.
macro_rules! with_lists_of_datatypes {
    ($($name:ident $mpi:literal $ompi:literal $call:path, $blocks:ident, $place:ty;)*) => { functions! {$(
        fn $name [$mpi mpi, $ompi ompi] (
            from: *mut c_void,
            from_counts: *const Integer,
            from_places: *const $place,
            from_types: *const Integer,
            to: *mut c_void,
            to_counts: *const Integer,
            to_places: *const $place,
            to_types: *const Integer,
            communicator: *const Integer,
        ) |_next| {
            // SAFETY: promises 1 to 4 for the call's arguments. The lists have an item for each block.
            unsafe {
                let [from, to] = [from, to].map(|buffer| Buffer::of(buffer).give());
                let communicator = Communicator::of(communicator).give();
                let blocks = Asked { communicator, root: 0, from, to }.$blocks();
                let (sent, received) = (types(from_types, blocks.sent), types(to_types, blocks.received));
                let is_ours = sent.iter().chain(&received).any(|datatype| is_known(*datatype));
                is_ours.then(|| {
                    $call(
                        from,
                        from_counts,
                        from_places,
                        sent.as_ptr(),
                        to,
                        to_counts,
                        to_places,
                        received.as_ptr(),
                        communicator,
                    )
                })
            }
        }
    )*} };
}

with_lists_of_datatypes! {
    alltoallw "mpi_alltoallw_" "ompi_alltoallw_f" collective::integers::Alltoallw, alltoall, Integer;
    neighbor_alltoallw "mpi_neighbor_alltoallw_" "ompi_neighbor_alltoallw_f"
        collective::integers::Neighbor_alltoallw, neighbor_alltoall, MPI_Aint;
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
            given.iter().map(|request| unsafe { ffi::MPI_Request_f2c(*request) }).collect();
        // SAFETY: `MPI_Status` consists of integers, for which zeros are valid.
        let mut set: Vec<MPI_Status> = vec![unsafe { std::mem::zeroed() }; ours.len()];
        let is_ignored = set.is_empty() || is_ignored(statuses);
        // SAFETY: a constant of the library.
        let none = unsafe { ffi::RSMPI_STATUSES_IGNORE };
        let (code, done) = call(ours.as_mut_ptr(), if is_ignored { none } else { set.as_mut_ptr() });
        for (i, request) in ours.into_iter().enumerate() {
            // SAFETY: promises 1 and 2: the list has `count` requests, and `i` is less.
            unsafe { *requests.add(i) = ffi::MPI_Request_c2f(request) };
        }
        let done = if is_ignored { 0 } else { usize::try_from(done).unwrap_or(0) };
        let integers = size_of::<MPI_Status>() / size_of::<Integer>();
        for (i, status) in set.iter().enumerate().take(done) {
            // SAFETY: promises 1 and 2: there is room for `done` statuses, and `i` is less. A status has as
            // many integers in Fortran as in C.
            unsafe { ffi::MPI_Status_c2f(status, statuses.add(i * integers)) };
        }
        code
    })
}

/// Returns the number of statuses that a test has set: `count` if the flag is set, otherwise 0.
///
/// # Safety
/// `flag` points to an integer.
unsafe fn if_set(flag: *const c_int, count: c_int) -> c_int {
    // SAFETY: the caller's condition.
    if unsafe { *flag } != 0 { count } else { 0 }
}

/// Converts an index from C to Fortran, which counts from 1.
///
/// # Safety
/// Promise 2 for `index`.
unsafe fn from_one(index: *mut Integer) {
    // SAFETY: promise 2 for `index`, by the caller's condition.
    unsafe {
        if *index >= 0 {
            *index += 1;
        }
    }
}

functions! {
    fn type_commit ["mpi_type_commit_" mpi, "ompi_type_commit_f" ompi] (datatype: *mut Integer) |next| {
        // SAFETY: promises 1 and 2 for the datatype, which is committed if the call has succeeded.
        unsafe {
            let mut code = SUCCESS;
            next(datatype, &raw mut code);
            if code == SUCCESS && mode::mode() != Mode::Off {
                datatype_cache::committed(ffi::MPI_Type_f2c(*datatype));
            }
            Some(code)
        }
    }

    fn finalize ["mpi_finalize_" mpi, "ompi_finalize_f" ompi] () |next| {
        let mut code = SUCCESS;
        // SAFETY: promise 1; the only argument is the error code, a local variable.
        Some(init_finalize::end(|| unsafe {
            next(&raw mut code);
            code
        }))
    }

    fn start ["mpi_start_" mpi, "ompi_start_f" ompi] (request: *mut Integer) |_next| {
        // SAFETY: promises 1 and 2 for the request, promises 3 and 4 for its buffers.
        unsafe { asked((request, 1), ptr::null_mut(), |request, _| (point_to_point::Start(request), 0)) }
    }

    fn startall ["mpi_startall_" mpi, "ompi_startall_f" ompi] (
        count: *const Integer,
        requests: *mut Integer,
    ) |_next| {
        // SAFETY: promises 1 and 2 for the requests, promises 3 and 4 for their buffers.
        unsafe {
            asked((requests, *count), ptr::null_mut(), |requests, _| {
                (point_to_point::Startall(*count, requests), 0)
            })
        }
    }

    fn wait ["mpi_wait_" mpi, "ompi_wait_f" ompi] (request: *mut Integer, status: *mut Integer) |_next| {
        // SAFETY: promises 1 and 2 for the arguments, promise 4 for the requests' receive buffers.
        unsafe { asked((request, 1), status, |request, status| (completion::Wait(request, status), 1)) }
    }

    fn test ["mpi_test_" mpi, "pmpi_test_" pmpi, "ompi_test_f" ompi] (
        request: *mut Integer,
        flag: *mut Integer,
        status: *mut Integer,
    ) |_next| {
        // SAFETY: promises 1 and 2 for the arguments, promise 4 for the requests' receive buffers.
        unsafe {
            asked((request, 1), status, |request, status| {
                (completion::Test(request, flag, status), if_set(flag, 1))
            })
        }
    }

    fn waitall ["mpi_waitall_" mpi, "ompi_waitall_f" ompi] (
        count: *const Integer,
        requests: *mut Integer,
        statuses: *mut Integer,
    ) |_next| {
        // SAFETY: promises 1 and 2 for the arguments, promise 4 for the requests' receive buffers.
        unsafe {
            asked((requests, *count), statuses, |requests, statuses| {
                (completion::Waitall(*count, requests, statuses), *count)
            })
        }
    }

    fn testall ["mpi_testall_" mpi, "pmpi_testall_" pmpi, "ompi_testall_f" ompi] (
        count: *const Integer,
        requests: *mut Integer,
        flag: *mut Integer,
        statuses: *mut Integer,
    ) |_next| {
        // SAFETY: promises 1 and 2 for the arguments, promise 4 for the requests' receive buffers.
        unsafe {
            asked((requests, *count), statuses, |requests, statuses| {
                (completion::Testall(*count, requests, flag, statuses), if_set(flag, *count))
            })
        }
    }

    fn waitany ["mpi_waitany_" mpi, "ompi_waitany_f" ompi] (
        count: *const Integer,
        requests: *mut Integer,
        index: *mut Integer,
        status: *mut Integer,
    ) |_next| {
        // SAFETY: promises 1 and 2 for the arguments, promise 4 for the requests' receive buffers.
        unsafe {
            asked((requests, *count), status, |requests, status| {
                let code = completion::Waitany(*count, requests, index, status);
                from_one(index);
                (code, 1)
            })
        }
    }

    fn testany ["mpi_testany_" mpi, "pmpi_testany_" pmpi, "ompi_testany_f" ompi] (
        count: *const Integer,
        requests: *mut Integer,
        index: *mut Integer,
        flag: *mut Integer,
        status: *mut Integer,
    ) |_next| {
        // SAFETY: promises 1 and 2 for the arguments, promise 4 for the requests' receive buffers.
        unsafe {
            asked((requests, *count), status, |requests, status| {
                let code = completion::Testany(*count, requests, index, flag, status);
                from_one(index);
                (code, if_set(flag, 1))
            })
        }
    }

    fn request_get_status [
        "mpi_request_get_status_" mpi,
        "pmpi_request_get_status_" pmpi,
        "ompi_request_get_status_f" ompi
    ] (request: *const Integer, flag: *mut Integer, status: *mut Integer) |_next| {
        // SAFETY: promises 1 and 2 for the arguments, promise 4 for the request's receive buffers. The
        // request is copied, since it may be a constant.
        unsafe {
            let mut request = *request;
            asked((&raw mut request, 1), status, |request, status| {
                (completion::Request_get_status(*request, flag, status), if_set(flag, 1))
            })
        }
    }

    fn request_free ["mpi_request_free_" mpi, "ompi_request_free_f" ompi] (request: *mut Integer) |_next| {
        // SAFETY: promises 1 and 2 for the request.
        unsafe { asked((request, 1), ptr::null_mut(), |request, _| (completion::Request_free(request), 0)) }
    }
}

/// Defines the calls that return the number and the indices of the completed requests.
macro_rules! of_some {
    ($($name:ident [$($names:tt)*] $call:path;)*) => { functions! {$(
        fn $name [$($names)*] (
            count: *const Integer,
            requests: *mut Integer,
            done: *mut Integer,
            indices: *mut Integer,
            statuses: *mut Integer,
        ) |_next| {
            // SAFETY: promises 1 and 2 for the arguments, promise 4 for the requests' receive buffers.
            unsafe {
                asked((requests, *count), statuses, |requests, statuses| {
                    let code = $call(*count, requests, done, indices, statuses);
                    (0..usize::try_from(*done).unwrap_or(0)).for_each(|i| from_one(indices.add(i)));
                    (code, *done)
                })
            }
        }
    )*} };
}

of_some! {
    waitsome ["mpi_waitsome_" mpi, "ompi_waitsome_f" ompi] completion::Waitsome;
    testsome ["mpi_testsome_" mpi, "pmpi_testsome_" pmpi, "ompi_testsome_f" ompi] completion::Testsome;
}

completions! {
    win_fence () with assertion ["mpi_win_fence_" mpi, "ompi_win_fence_f" ompi];
    win_complete () ["mpi_win_complete_" mpi, "ompi_win_complete_f" ompi];
    win_unlock (rank) ["mpi_win_unlock_" mpi, "ompi_win_unlock_f" ompi];
    win_unlock_all () ["mpi_win_unlock_all_" mpi, "ompi_win_unlock_all_f" ompi];
    win_flush (rank) ["mpi_win_flush_" mpi, "ompi_win_flush_f" ompi];
    win_flush_all () ["mpi_win_flush_all_" mpi, "ompi_win_flush_all_f" ompi];
    win_flush_local (rank) ["mpi_win_flush_local_" mpi, "ompi_win_flush_local_f" ompi];
    win_flush_local_all () ["mpi_win_flush_local_all_" mpi, "ompi_win_flush_local_all_f" ompi];
    win_free () ["mpi_win_free_" mpi, "ompi_win_free_f" ompi];
}
