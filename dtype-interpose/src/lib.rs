//! The pack engine under the MPI calls of programs as they are, in C, C++, Fortran and Python: a library that
//! is preloaded, `LD_PRELOAD=libdtype_mpi.so mpiexec …`, or linked before the MPI library.
//!
//! It has the calls that move data under their own names, so that programs find them here first (MPI 4.1
//! section 15.2). A message of a datatype with short blocks is packed by a plan, and goes to the library
//! behind as the same base types without gaps, which match whatever the datatype does; or it is received so,
//! and unpacked. Everything else is handed on as it is: DESIGN.md, "Under other people's programs".
//!
//! - `call`: what is known of a call, and the one behind; `mode`: what the user has asked for; `table`: all
//!   functions of MPI by their roles; `tools`: who else calls them, by what is imported (`imports`);
//! - `handle`: handles as numbers; `first_use`: when a datatype is planned, `known`: what is then known of
//!   it; `engine`: how its messages are packed, and `gate` which; `peers`, `gap`: where libraries need more
//!   than that;
//! - `staged`: memory of the program's with its packed bytes; `requests`: that of calls under way, `windows`:
//!   and of what is under way to and from windows;
//! - `calls`: the calls of each chapter; `fortran`: those that Fortran makes otherwise;
//! - `usage`: the report, and `place`: where a program has made a call.

mod call;
mod calls;
mod engine;
mod first_use;
#[cfg(not(standard_abi))]
mod fortran;
mod gap;
mod gate;
mod handle;
mod imports;
mod known;
mod lock;
mod mode;
mod peers;
mod place;
mod requests;
mod staged;
mod table;
mod tools;
mod usage;
mod windows;
