//! The types, constants and functions of MPI in the binary interface that this library is built for, since it
//! stands between programs and the MPI library. `mpi::ffi` has the types that all interfaces share: its
//! handles are as wide as the widest, and are converted where `dtype-mpi` and `dtype-runtime` take them.
//!
//! The build script passes the interface as `cfg(abi)`. Only the width of handles, the layout of statuses and
//! the Fortran bindings depend on it. Everything else is asked of the library that runs.
#![allow(non_camel_case_types, non_snake_case, reason = "the names of MPI are what readers know")]

use std::{
    ffi::CStr,
    os::raw::{c_int, c_void},
    process, ptr,
    sync::{
        OnceLock,
        atomic::{AtomicPtr, Ordering},
    },
};

use dtype_mpi::{Family, running};
use mpi::ffi;
pub(crate) use mpi::ffi::{MPI_Aint, MPI_Count};

use crate::say::say;

/// A handle as an integer.
#[cfg(abi = "mpich")]
type Word = u32;
/// A handle as an integer.
#[cfg(not(abi = "mpich"))]
type Word = usize;

macro_rules! handles {
    ($($name:ident)*) => {
        $(
            #[repr(transparent)]
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub(crate) struct $name(Word);

            impl From<ffi::$name> for $name {
                #[inline]
                fn from(shared: ffi::$name) -> Self {
                    Self(shared.0 as Word)
                }
            }

            impl From<$name> for ffi::$name {
                #[inline]
                fn from(native: $name) -> Self {
                    Self(native.0 as usize)
                }
            }
        )*
    };
}

handles! { MPI_Comm MPI_Datatype MPI_Group MPI_Info MPI_Message MPI_Request MPI_Win }

/// The outcome of a message. The fields without names of MPI belong to the library.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct MPI_Status {
    #[cfg(abi = "mpich")]
    count: [c_int; 2],
    pub MPI_SOURCE: c_int,
    pub MPI_TAG: c_int,
    pub MPI_ERROR: c_int,
    #[cfg(abi = "openmpi")]
    is_cancelled: c_int,
    #[cfg(abi = "openmpi")]
    bytes: usize,
    #[cfg(abi = "abi")]
    internal: [c_int; 5],
}

macro_rules! constants {
    ($($name:ident: $type:ty = $value:ident;)*) => {
        $(
            #[doc = concat!("Returns `", stringify!($name), "`.")]
            #[inline]
            pub(crate) fn $name() -> $type {
                // SAFETY: a constant of the library, which is known: the program is in a call of MPI.
                unsafe { ffi::$value }.into()
            }
        )*
    };
}

constants! {
    MPI_CART: c_int = RSMPI_CART;
    MPI_COMM_SELF: MPI_Comm = RSMPI_COMM_SELF;
    MPI_COMM_WORLD: MPI_Comm = RSMPI_COMM_WORLD;
    MPI_DATATYPE_NULL: MPI_Datatype = RSMPI_DATATYPE_NULL;
    MPI_DIST_GRAPH: c_int = RSMPI_DIST_GRAPH;
    MPI_GRAPH: c_int = RSMPI_GRAPH;
    MPI_GROUP_NULL: MPI_Group = RSMPI_GROUP_NULL;
    MPI_PROC_NULL: c_int = RSMPI_PROC_NULL;
    MPI_REQUEST_NULL: MPI_Request = RSMPI_REQUEST_NULL;
    MPI_UINT8_T: MPI_Datatype = RSMPI_UINT8_T;
    MPI_UNDEFINED: c_int = RSMPI_UNDEFINED;
}

/// Returns `MPI_STATUS_IGNORE`.
#[inline]
pub(crate) fn MPI_STATUS_IGNORE() -> *mut MPI_Status {
    // SAFETY: as above.
    unsafe { ffi::RSMPI_STATUS_IGNORE }.cast()
}

/// Returns `MPI_STATUSES_IGNORE`.
#[inline]
pub(crate) fn MPI_STATUSES_IGNORE() -> *mut MPI_Status {
    // SAFETY: as above.
    unsafe { ffi::RSMPI_STATUSES_IGNORE }.cast()
}

/// Returns `true` if a datatype that no intercepted call has committed may be one of a message: MPICH's
/// `mpi_f08` creates a datatype for each array section. The two highest bits of a handle mark predefined
/// ones.
#[inline]
pub(crate) fn may_be_a_section(datatype: MPI_Datatype) -> bool {
    const BUILTIN: usize = 1;
    cfg!(abi = "mpich") && (dtype_mpi::number(datatype) >> 30) & 3 != BUILTIN
}

/// A function of MPI, which is looked up at its first call.
pub(crate) struct Function {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
    /// Returns the address of the function with this name, or null.
    look: fn(&CStr) -> *mut c_void,
}

impl Function {
    /// Returns the first function of this name in the program's search order.
    const fn first(name: &'static CStr) -> Self {
        Self { name, address: AtomicPtr::new(ptr::null_mut()), look: first }
    }

    /// Returns the function of this name behind this library: that of another tool, or of the MPI library. If
    /// there is none, as in a statically linked program, it is that of the MPI library by its second name,
    /// `PMPI_…` (MPI 4.1 section 15.2).
    pub const fn next(name: &'static CStr) -> Self {
        Self { name, address: AtomicPtr::new(ptr::null_mut()), look: next }
    }

    /// Returns the name.
    pub fn name(&self) -> &'static CStr {
        self.name
    }

    /// Returns the address. Ends the program if the MPI library lacks the function, or is not the one that
    /// this library is built for.
    #[inline]
    pub fn address(&self) -> *mut c_void {
        let address = self.address.load(Ordering::Acquire);
        if address.is_null() { self.find() } else { address }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        let name = self.name.to_string_lossy();
        let library = library().as_ref().unwrap_or_else(|why| {
            say(format_args!("the program calls {name}, which libdtype_mpi.so intercepts, but {why}."));
            process::exit(1);
        });
        let address = (self.look)(self.name);
        if address.is_null() {
            say(format_args!("the program calls {name}, which {library} lacks."));
            process::exit(1);
        }
        self.address.store(address, Ordering::Release);
        address
    }
}

/// Returns the description of the MPI library, or the reason why there is none. Ends the program at the first
/// call of MPI if this library was built for another binary interface: handles differ in size or meaning, so
/// calls cannot even be forwarded.
fn library() -> &'static Result<String, String> {
    static LIBRARY: OnceLock<Result<String, String>> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let library = ffi::chosen_library()?;
        let names = |family| match family {
            Family::Abi => ["the ABI of MPI 5", "abi"],
            Family::Mpich => ["MPICH and libraries with its ABI", "mpich"],
            Family::OpenMpi => ["Open MPI", "openmpi"],
        };
        let ([own, name], [_, other]) = (names(OWN), names(Family::running()));
        if name != other {
            say(format_args!(
                "this libdtype_mpi-{name}.so is for {own}, but the program runs with {} ({library}). Preload \
                 libdtype_mpi-{other}.so, as `dtype run` does.",
                running().title
            ));
            process::exit(1);
        }
        Ok(library)
    })
}

/// The binary interface that this library is built for.
const OWN: Family = if cfg!(abi = "abi") {
    Family::Abi
} else if cfg!(abi = "mpich") {
    Family::Mpich
} else {
    Family::OpenMpi
};

/// Returns the address of the first definition of a name in the program's search order, or null.
pub(crate) fn first(name: &CStr) -> *mut c_void {
    // SAFETY: the name ends in a zero byte.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// Returns the address of the definition behind this library, or null.
pub(crate) fn behind(name: &CStr) -> *mut c_void {
    // SAFETY: the name ends in a zero byte.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
}

/// Returns the address of the definition behind this library, or that of the second name, or null.
fn next(name: &CStr) -> *mut c_void {
    let next = behind(name);
    if !next.is_null() {
        return next;
    }
    let second = [b"P", name.to_bytes_with_nul()].concat();
    CStr::from_bytes_with_nul(&second).map_or(ptr::null_mut(), first)
}

macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(
            #[doc = concat!("Calls `", stringify!($name), "`.")]
            ///
            /// # Safety
            /// Promises 1 and 2 for the arguments, which are as the standard says.
            #[allow(clippy::too_many_arguments, reason = "MPI's functions have them")]
            #[allow(dead_code, reason = "the Fortran bindings of each library need others")]
            #[inline]
            pub(crate) unsafe fn $name($($argument: $type),*) -> functions!(@ $($result)?) {
                type Native = unsafe extern "C" fn($($type),*) -> functions!(@ $($result)?);
                const NAME: &CStr =
                    match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!("a name has no zero byte"),
                    };
                static FUNCTION: Function = Function::first(NAME);
                // SAFETY: the function of this name has this type; the caller's conditions.
                unsafe { std::mem::transmute::<*mut c_void, Native>(FUNCTION.address())($($argument),*) }
            }
        )*
    };
    (@) => { c_int };
    (@ $result:ty) => { $result };
}

functions! {
    MPI_Cart_get(
        comm: MPI_Comm, maxdims: c_int, dims: *mut c_int, periods: *mut c_int, coords: *mut c_int
    );
    MPI_Cartdim_get(comm: MPI_Comm, ndims: *mut c_int);
    MPI_Comm_f2c(comm: c_int) -> MPI_Comm;
    MPI_Comm_group(comm: MPI_Comm, group: *mut MPI_Group);
    MPI_Comm_rank(comm: MPI_Comm, rank: *mut c_int);
    MPI_Comm_remote_size(comm: MPI_Comm, size: *mut c_int);
    MPI_Comm_size(comm: MPI_Comm, size: *mut c_int);
    MPI_Comm_test_inter(comm: MPI_Comm, flag: *mut c_int);
    MPI_Dist_graph_neighbors_count(
        comm: MPI_Comm, indegree: *mut c_int, outdegree: *mut c_int, weighted: *mut c_int
    );
    MPI_Error_class(errorcode: c_int, errorclass: *mut c_int);
    MPI_Get_count(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut c_int);
    MPI_Graph_neighbors_count(comm: MPI_Comm, rank: c_int, nneighbors: *mut c_int);
    MPI_Group_free(group: *mut MPI_Group);
    MPI_Group_size(group: MPI_Group, size: *mut c_int);
    MPI_Group_translate_ranks(
        group1: MPI_Group, n: c_int, ranks1: *const c_int, group2: MPI_Group, ranks2: *mut c_int
    );
    MPI_Message_c2f(message: MPI_Message) -> c_int;
    MPI_Message_f2c(message: c_int) -> MPI_Message;
    MPI_Request_c2f(request: MPI_Request) -> c_int;
    MPI_Request_f2c(request: c_int) -> MPI_Request;
    MPI_Status_c2f(c_status: *const MPI_Status, f_status: *mut c_int);
    MPI_Test_cancelled(status: *const MPI_Status, flag: *mut c_int);
    MPI_Topo_test(comm: MPI_Comm, status: *mut c_int);
    MPI_Type_commit(datatype: *mut MPI_Datatype);
    MPI_Type_create_struct(
        count: c_int, blocklengths: *const c_int, displacements: *const MPI_Aint,
        types: *const MPI_Datatype, newtype: *mut MPI_Datatype
    );
    MPI_Type_f2c(datatype: c_int) -> MPI_Datatype;
    MPI_Type_free(datatype: *mut MPI_Datatype);
    MPI_Type_get_extent(datatype: MPI_Datatype, lb: *mut MPI_Aint, extent: *mut MPI_Aint);
    MPI_Type_get_true_extent(datatype: MPI_Datatype, lb: *mut MPI_Aint, extent: *mut MPI_Aint);
    MPI_Type_size(datatype: MPI_Datatype, size: *mut c_int);
    MPI_Win_f2c(win: c_int) -> MPI_Win;
    PMPI_Abort(comm: MPI_Comm, errorcode: c_int);
    PMPI_Comm_size(comm: MPI_Comm, size: *mut c_int);
    PMPI_Isend(
        buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request
    );
    PMPI_Pack(
        inbuf: *const c_void, incount: c_int, datatype: MPI_Datatype, outbuf: *mut c_void, outsize: c_int,
        position: *mut c_int, comm: MPI_Comm
    );
    PMPI_Request_free(request: *mut MPI_Request);
    PMPI_Request_get_status(request: MPI_Request, flag: *mut c_int, status: *mut MPI_Status);
    PMPI_Test(request: *mut MPI_Request, flag: *mut c_int, status: *mut MPI_Status);
    PMPI_Type_commit(datatype: *mut MPI_Datatype);
    PMPI_Type_create_hindexed(
        count: c_int, blocklengths: *const c_int, displacements: *const MPI_Aint, oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype
    );
    PMPI_Type_free(datatype: *mut MPI_Datatype);
    PMPI_Type_get_extent(datatype: MPI_Datatype, lb: *mut MPI_Aint, extent: *mut MPI_Aint);
    PMPI_Type_get_true_extent(datatype: MPI_Datatype, lb: *mut MPI_Aint, extent: *mut MPI_Aint);
    PMPI_Unpack(
        inbuf: *const c_void, insize: c_int, position: *mut c_int, outbuf: *mut c_void, outcount: c_int,
        datatype: MPI_Datatype, comm: MPI_Comm
    );
}
