//! Handles as integers of Fortran. The handles of MPICH are such integers, but for those of files.

use std::{mem, os::raw::c_int};

use crate::{chosen::family, function::Function, library::Family, *};

macro_rules! handles {
    ($(
        $to:ident, $from:ident: $handle:ident, $is_pointer:literal,
        $c2f:expr, $f2c:expr, $toint:expr, $fromint:expr;
    )*) => {$(
        /// Returns the integer of Fortran for a handle.
        ///
        /// # Safety
        /// See the MPI standard.
        pub unsafe fn $to(handle: $handle) -> RSMPI_Fint {
            static OF_FORTRAN: Function = Function::new($c2f);
            static OF_ABI: Function = Function::new($toint);
            let function = match family() {
                Family::Mpich if !$is_pointer => return handle.0 as RSMPI_Fint,
                Family::Abi => &OF_ABI,
                _ => &OF_FORTRAN,
            };
            let call: unsafe extern "C" fn($handle) -> c_int = mem::transmute(function.address());
            call(handle)
        }

        /// Returns the handle for an integer of Fortran.
        ///
        /// # Safety
        /// See the MPI standard.
        pub unsafe fn $from(number: RSMPI_Fint) -> $handle {
            static OF_FORTRAN: Function = Function::new($f2c);
            static OF_ABI: Function = Function::new($fromint);
            let function = match family() {
                Family::Mpich if !$is_pointer => return $handle(number as u32 as usize),
                Family::Abi => &OF_ABI,
                _ => &OF_FORTRAN,
            };
            let call: unsafe extern "C" fn(c_int) -> $handle = mem::transmute(function.address());
            call(number)
        }
    )*};
}

macro_rules! named {
    ($($name:ident: $handle:ident, $is_pointer:literal, $to:ident, $from:ident;)*) => {
        handles! {$(
            $to, $from: $handle, $is_pointer,
                concat!("MPI_", stringify!($name), "_c2f\0"), concat!("MPI_", stringify!($name), "_f2c\0"),
                concat!("MPI_", stringify!($name), "_toint\0"),
                concat!("MPI_", stringify!($name), "_fromint\0");
        )*}
    };
}
named! {
    Comm: MPI_Comm, false, RSMPI_Comm_c2f, RSMPI_Comm_f2c;
    Errhandler: MPI_Errhandler, false, RSMPI_Errhandler_c2f, RSMPI_Errhandler_f2c;
    File: MPI_File, true, RSMPI_File_c2f, RSMPI_File_f2c;
    Group: MPI_Group, false, RSMPI_Group_c2f, RSMPI_Group_f2c;
    Info: MPI_Info, false, RSMPI_Info_c2f, RSMPI_Info_f2c;
    Message: MPI_Message, false, RSMPI_Message_c2f, RSMPI_Message_f2c;
    Op: MPI_Op, false, RSMPI_Op_c2f, RSMPI_Op_f2c;
    Request: MPI_Request, false, RSMPI_Request_c2f, RSMPI_Request_f2c;
    Type: MPI_Datatype, false, RSMPI_Type_c2f, RSMPI_Type_f2c;
    Win: MPI_Win, false, RSMPI_Win_c2f, RSMPI_Win_f2c;
}
