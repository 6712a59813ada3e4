//! The pack engine under the MPI calls of existing programs in C, C++, Fortran and Python: a library that is
//! preloaded (`LD_PRELOAD=libdtype_mpi.so mpiexec …`), or linked before the MPI library.
//!
//! The library defines functions with the names of the calls that move data, so that a program finds these
//! functions first. They reach the functions of MPI through the profiling interface (MPI 4.1 section 15.2).
//! If a datatype has short blocks, an intercepted call packs the message by a plan and sends the same base
//! types without gaps. These base types match any receive with the same type signature. Receives are unpacked
//! in the same way. All other calls are forwarded unchanged. docs/preload.md gives the reasons.
//!
//! - `native`: the types and functions of MPI as programs pass them; `call`: an intercepted call, and the
//!   function that it is forwarded to; `absent`: the functions that the MPI library lacks; `mode`: the
//!   environment variables; `table`: all functions of MPI by their roles; `tools` and `imports`: other tools
//!   and the program's own imports;
//! - `datatype_state`: the states of a datatype; `datatype_cache`: where its state is kept; `first_use`:
//!   when it is planned; `engine`: how its messages are packed; `doubts`: datatypes that the MPI library
//!   may pack otherwise; `policy`: which messages are packed; `peers` and `truncation_guard`: the search
//!   for peers and the gap in packed buffers, for the libraries that need them;
//! - `argument`, `message`, `part` and `staged`: a message on its way, as below; `requests`: the packed
//!   buffers of nonblocking and persistent calls; `windows`: those of one-sided calls;
//! - `calls`: a handler for each kind of call, by chapter of the standard; `exports`: the exported functions,
//!   which the build script writes from `calls.txt`; `fortran`: the exported functions of the Fortran
//!   bindings;
//! - `profile`: the report; `call_site`: the call site in the program; `python`: the line of Python that
//!   runs; `verify`: the comparison of packed bytes with those of the MPI library.
//!
//! # A message on its way
//! 1. An `Argument` is a buffer as a call names it: address, count and datatype. The program passes one, and
//!    this library forwards another if the message is packed.
//! 2. A `Message` is made of an argument whose datatype is planned. It decides if it is packed.
//! 3. A `Part` is a number of elements in the program's memory, with the plan that copies them. Calls with a
//!    list of blocks have many.
//! 4. `Staged` is the packed buffer of some parts, until the call is complete.
//!
//! # Promises of the program
//! A program that calls MPI keeps to the standard. `SAFETY` comments of this crate rely on the four promises
//! below, and cite them by number:
//! 1. *Initialized.* MPI is initialized and not finalized, and the thread may call it (section 11.6).
//! 2. *Live handles.* Significant handles (communicators, datatypes, requests, windows) are valid until the
//!    call returns, or until the operation that it starts is complete. Significant pointers to handles,
//!    counts, statuses and flags lead to as many of them as the standard says. In Fortran, all pointers do:
//!    arguments are passed by reference, insignificant ones, too.
//! 3. *Readable.* Every byte that the count and the datatype of a send buffer name, or its size in bytes, is
//!    readable and initialized, and is not written until the operation is complete.
//! 4. *Writable.* Every byte of a receive buffer that the operation writes is writable, and no one else reads
//!    or writes it until the operation is complete. If a message fills the buffer, these are all bytes that
//!    the count and the datatype name, or the size in bytes. All bytes are readable, too, for `MPI_IN_PLACE`,
//!    for a buffer that is sent and replaced, and for a collective call whose blocks are packed. These bytes
//!    may be uninitialized: this library copies them, and does not interpret them.

mod absent;
mod argument;
mod call;
mod call_site;
mod calls;
mod datatype_cache;
mod datatype_state;
mod doubts;
mod engine;
mod exports;
mod first_use;
#[cfg(not(fortran = "none"))]
mod fortran;
mod imports;
mod lock;
mod message;
mod mode;
mod native;
mod part;
mod peers;
mod policy;
mod profile;
mod python;
mod recorded;
mod requests;
mod say;
mod staged;
mod table;
mod tools;
mod truncation_guard;
mod verify;
mod windows;
