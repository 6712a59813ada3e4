//! The functions, types and constants of MPI for Rust. No MPI library is needed to build: one is chosen when
//! the program starts.
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]

use std::{
    mem,
    os::raw::{c_char, c_int, c_void},
};

use function::Function;
use library::{Library, Value};

mod callbacks;
#[cfg_attr(not(target_os = "linux"), path = "unsupported.rs")]
mod choice;
mod chosen;
mod convert;
mod fortran;
mod function;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod library;
mod lifecycle;
mod types;

pub use callbacks::*;
pub use fortran::*;
pub use lifecycle::*;
pub use types::*;

include!(concat!(env!("OUT_DIR"), "/constants.rs"));
include!(concat!(env!("OUT_DIR"), "/functions.rs"));

/// Returns `true` if there is an MPI library, and it has a function.
///
/// ```
/// println!("{}", mpi_sys::has("MPI_Session_init"));
/// ```
pub fn has(name: &str) -> bool {
    // Tools that are preloaded may have functions that the library lacks, but not under their second names.
    let name = format!("P{name}\0");
    chosen::chosen().as_ref().is_ok_and(|library| library.symbol(&name).is_some())
}

/// Returns a description of the MPI library: its version, its file, and why it was chosen.
///
/// A tool, which has functions of MPI for programs to call, must call this before anything else of this
/// crate.
///
/// # Errors
/// The reason why there is none.
pub fn chosen_library() -> Result<String, String> {
    chosen::chosen().as_ref().map(ToString::to_string).map_err(Clone::clone)
}
