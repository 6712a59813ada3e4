//! The functions that programs find before those of the MPI library. The build script writes them from
//! `calls.txt`; each calls its handler with its arguments and the next function.
//!
//! `SAFETY` of all these functions: each has the type that the standard gives it, and a test compares the
//! types with `mpi.h`. So the next function may be called with the same arguments. Condition 1 of the
//! handlers: the arguments are those of a call by the program. Condition 2: the closure makes the call with
//! the arguments that it gets.

use std::os::raw::c_int;

use crate::requests;

/// Makes a call, and then tests the requests that the program has freed.
#[inline]
pub(crate) fn ended(call: impl FnOnce() -> c_int) -> c_int {
    let code = call();
    requests::tend();
    code
}

pub(crate) use c::NEWER;

/// The C functions.
#[allow(clippy::all, clippy::pedantic, clippy::undocumented_unsafe_blocks, reason = "written by the build")]
#[allow(non_snake_case, unused_imports, dead_code, reason = "named as in the standard, by the build")]
pub(crate) mod c {
    use std::os::raw::{c_char, c_int, c_void};

    use crate::native::{
        MPI_Aint, MPI_Comm, MPI_Count, MPI_Datatype, MPI_Info, MPI_Message, MPI_Request, MPI_Status, MPI_Win,
    };

    use super::ended;
    use crate::{
        argument::Argument,
        call::Call,
        calls::{
            collective::{self, When},
            completion, init_finalize,
            members::Asked,
            one_sided, packing, point_to_point,
        },
        table::Role,
    };

    include!(concat!(env!("OUT_DIR"), "/c.rs"));
}
