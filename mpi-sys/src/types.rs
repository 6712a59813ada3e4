//! The types of MPI, as all libraries have them here.

use std::os::raw::{c_int, c_long, c_void};

/// An integer that holds any address (MPI 5.0 section 2.5.6), in bytes.
pub type MPI_Aint = c_long;
/// A number of elements or bytes (MPI 5.0 section 2.5.8).
pub type MPI_Count = c_long;
/// An offset in a file (MPI 5.0 section 2.5.7).
pub type MPI_Offset = c_long;
/// An integer of Fortran.
pub type MPI_Fint = c_int;
/// An integer of Fortran.
pub type RSMPI_Fint = MPI_Fint;

macro_rules! handles {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        $($(#[doc = $doc])*
        /// The value is that of the MPI library: a pointer, or an integer whose upper bits are 0.
        #[repr(transparent)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name(pub usize);)*
    };
}

handles! {
    /// A communicator.
    MPI_Comm,
    /// A datatype.
    MPI_Datatype,
    /// A handler of errors.
    MPI_Errhandler,
    /// A file.
    MPI_File,
    /// A group of ranks.
    MPI_Group,
    /// Hints.
    MPI_Info,
    /// A message that a probe has matched.
    MPI_Message,
    /// An operation of a reduction.
    MPI_Op,
    /// A request.
    MPI_Request,
    /// A session.
    MPI_Session,
    /// A window.
    MPI_Win,
}

/// The outcome of a message or a transfer (MPI 5.0 section 20.2).
#[repr(C, align(8))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MPI_Status {
    pub MPI_SOURCE: c_int,
    pub MPI_TAG: c_int,
    pub MPI_ERROR: c_int,
    /// For the MPI library.
    pub MPI_internal: [c_int; 5],
}

macro_rules! functions {
    ($($name:ident($($type:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        $(#[doc = concat!("A function of the program: `", stringify!($name), "`.")]
        pub type $name = Option<unsafe extern "C" fn($($type),*) $(-> $result)?>;)*
    };
}

functions! {
    MPI_User_function(*mut c_void, *mut c_void, *mut c_int, *mut MPI_Datatype);
    MPI_User_function_c(*mut c_void, *mut c_void, *mut MPI_Count, *mut MPI_Datatype);
    MPI_Copy_function(MPI_Comm, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
    MPI_Delete_function(MPI_Comm, c_int, *mut c_void, *mut c_void) -> c_int;
    MPI_Comm_copy_attr_function(MPI_Comm, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
    MPI_Comm_delete_attr_function(MPI_Comm, c_int, *mut c_void, *mut c_void) -> c_int;
    MPI_Type_copy_attr_function(
        MPI_Datatype, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int
    ) -> c_int;
    MPI_Type_delete_attr_function(MPI_Datatype, c_int, *mut c_void, *mut c_void) -> c_int;
    MPI_Win_copy_attr_function(MPI_Win, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
    MPI_Win_delete_attr_function(MPI_Win, c_int, *mut c_void, *mut c_void) -> c_int;
    MPI_Grequest_query_function(*mut c_void, *mut MPI_Status) -> c_int;
    MPI_Grequest_free_function(*mut c_void) -> c_int;
    MPI_Grequest_cancel_function(*mut c_void, c_int) -> c_int;
    MPI_Datarep_extent_function(MPI_Datatype, *mut MPI_Aint, *mut c_void) -> c_int;
    MPI_Datarep_conversion_function(
        *mut c_void, MPI_Datatype, c_int, *mut c_void, MPI_Offset, *mut c_void
    ) -> c_int;
    MPI_Datarep_conversion_function_c(
        *mut c_void, MPI_Datatype, MPI_Count, *mut c_void, MPI_Offset, *mut c_void
    ) -> c_int;
}

macro_rules! handlers {
    ($($name:ident, $short:ident: $handle:ty;)*) => {
        $(#[doc = concat!("A function of the program for errors: `", stringify!($name), "`.")]
        pub type $name = Option<unsafe extern "C" fn(*mut $handle, *mut c_int, ...)>;
        #[doc = concat!("See [`", stringify!($name), "`].")]
        pub type $short = $name;)*
    };
}

handlers! {
    MPI_Comm_errhandler_function, MPI_Comm_errhandler_fn: MPI_Comm;
    MPI_File_errhandler_function, MPI_File_errhandler_fn: MPI_File;
    MPI_Session_errhandler_function, MPI_Session_errhandler_fn: MPI_Session;
    MPI_Win_errhandler_function, MPI_Win_errhandler_fn: MPI_Win;
}
