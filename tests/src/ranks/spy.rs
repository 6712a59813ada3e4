//! The functions in C of `tests/c`, which stand between this program and the MPI library. They are in a
//! library that is preloaded, built for the MPI library that runs.
//!
//! # Safety
//! The types are those of the functions in C. Each sets or reads values of this process, whose scenarios with
//! these functions have one thread.

use std::{
    ffi::CString,
    mem,
    os::raw::{c_char, c_int, c_void},
};

use mpi::ffi::{self, MPI_Comm, MPI_Datatype, MPI_Op};

/// Returns the address of a function.
fn address(name: &str) -> *mut c_void {
    let terminated = CString::new(name).expect("a name");
    // SAFETY: the name ends in a zero byte.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, terminated.as_ptr()) };
    assert!(!address.is_null(), "{name}: tests/c is not preloaded, as `tests/ranks.rs` does");
    address
}

macro_rules! functions {
    ($($(#[doc = $doc:literal])* $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {$(
        $(#[doc = $doc])*
        ///
        /// # Safety
        /// Pointers lead to as much as the function writes.
        pub unsafe fn $name($($argument: $type),*) $(-> $result)? {
            type Function = unsafe extern "C" fn($($type),*) $(-> $result)?;
            // SAFETY: the function has this type, as `# Safety` of the file says.
            unsafe { mem::transmute::<*mut c_void, Function>(address(stringify!($name)))($($argument),*) }
        }
    )*};
}

functions! {
    /// Writes the i-th communicator that was made.
    c_made(i: c_int, made: *mut MPI_Comm);
    /// Makes each of the next `count` contiguous datatypes one element too short.
    c_make_mistakes(count: c_int);
    /// Shifts the memory of the next window by so many bytes.
    c_shift_window(bytes: c_int);
    /// Lets so many of the next immediate writes fail.
    c_fail_writes(count: c_int);
    /// Lets so many of the next lists of requests fail.
    c_fail_requests(count: c_int);
    /// Writes the calls, bytes and listed numbers since the last call of this function.
    c_counted(counted: *mut i64);
    /// Opens a session, and returns 0 if the library has none.
    c_open_session(all: *mut MPI_Comm) -> c_int;
    /// Closes the session.
    c_close_session(all: *mut MPI_Comm);
    /// Writes `MPI_MAXLOC`.
    c_maxloc(operation: *mut MPI_Op);
    /// Writes the predefined datatype of this name, or the null handle.
    c_named(name: *const c_char, datatype: *mut MPI_Datatype);
    /// Writes datatypes of Fortran numbers, and returns their number.
    c_f90(types: *mut MPI_Datatype) -> c_int;
    /// Writes pairs of a value and its index, and returns their number.
    c_value_index(types: *mut MPI_Datatype) -> c_int;
    /// Writes datatypes with large counts, and returns their number.
    c_large(types: *mut MPI_Datatype) -> c_int;
    /// Returns the size of a handle of the library in bytes, which rsmpi's may exceed.
    c_width() -> c_int;
}

/// Returns the datatypes that a function writes.
pub fn datatypes(function: unsafe fn(*mut MPI_Datatype) -> c_int) -> Vec<MPI_Datatype> {
    const MOST: usize = 64;
    // SAFETY: a constant of the library.
    let null = unsafe { ffi::RSMPI_DATATYPE_NULL };
    let mut types = vec![null; MOST];
    // SAFETY: the list has space for 64 datatypes, and each function writes fewer.
    let (count, width) = unsafe { (function(types.as_mut_ptr()), c_width()) };
    let (count, width) = (count as usize, width as usize);
    let first = types.as_ptr().cast::<u8>();
    (0..count)
        .map(|i| {
            let mut wide = null;
            // SAFETY: the function has written `count` handles of this size. A wider one has zeros in front,
            // as the null handle has.
            unsafe { first.add(i * width).copy_to((&raw mut wide).cast(), width) };
            wide
        })
        .collect()
}
