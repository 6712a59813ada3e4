//! The intercepted calls of MPI, by chapter. Each forwards its arguments to the next function of its name. If
//! packing is worth while, a packed buffer takes the place of the program's buffer.
//!
//! - `point_to_point`: messages; `completion`: requests;
//! - `packing`: `MPI_Pack` and `MPI_Unpack`;
//! - `collective`: collective calls; `members`: the ranks that take part, and their blocks;
//!   `collective_buffers`: the two buffers of a call;
//! - `one_sided`: windows of other ranks;
//! - `init_finalize`: initialization and finalization, and calls that create and free datatypes.

use std::os::raw::c_int;

use crate::requests;

/// Defines intercepted calls, which programs find before those of the MPI library. The exported name is
/// `MPI_`, the given name, and an ending (`_c` for large counts). In the body, `CALL` is the [`Call`], and
/// the identifier between bars is the next function.
macro_rules! calls {
    ($ending:literal; $(
        fn $name:ident($($argument:ident: $type:ty),* $(,)?) |$next:ident| $body:block
    )*) => {$(
        #[unsafe(export_name = concat!("MPI_", stringify!($name), $ending))]
        #[expect(non_snake_case, reason = "named as in the standard")]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> std::os::raw::c_int {
            unsafe extern "C" {
                #[link_name = concat!("PMPI_", stringify!($name), $ending)]
                fn own($(_: $type),*) -> std::os::raw::c_int;
            }
            type Function = unsafe extern "C" fn($($type),*) -> std::os::raw::c_int;
            static CALL: $crate::call::Call =
                $crate::call::Call::named(concat!("MPI_", stringify!($name), $ending, "\0"));
            #[linkme::distributed_slice($crate::mode::INTERCEPTED)]
            static NAME: &str = concat!("MPI_", stringify!($name), $ending);
            let own: Function = own;
            // SAFETY: all definitions of an MPI function have the type that the standard gives.
            let $next: Function = unsafe { std::mem::transmute(CALL.next(own as *mut std::os::raw::c_void)) };
            $crate::calls::ended(move || $body)
        }
    )*};
}

/// Passes calls to a macro twice: with integer counts, and with large counts if the library has them. The
/// calls name the types `Count` and, for displacements, `Place`. The macro receives the ending of their
/// names.
macro_rules! with_both_counts {
    ($macro:ident! { $($calls:tt)* }) => {
        pub(crate) mod integers {
            #[allow(clippy::wildcard_imports, unused_imports, reason = "what the calls need")]
            use super::*;
            #[allow(dead_code, reason = "not all calls have them")]
            type Count = std::os::raw::c_int;
            #[allow(dead_code, reason = "not all calls have them")]
            type Place = std::os::raw::c_int;
            $macro! { ""; $($calls)* }
        }
        #[cfg(large_counts)]
        pub(crate) mod large {
            #[allow(clippy::wildcard_imports, unused_imports, reason = "what the calls need")]
            use super::*;
            #[allow(dead_code, reason = "not all calls have them")]
            type Count = mpi::ffi::MPI_Count;
            #[allow(dead_code, reason = "not all calls have them")]
            type Place = mpi::ffi::MPI_Aint;
            $macro! { "_c"; $($calls)* }
        }
    };
}

/// Makes a call, and then tests the requests that the program has freed.
#[inline]
fn ended(call: impl FnOnce() -> c_int) -> c_int {
    let code = call();
    requests::tend();
    code
}

pub(crate) mod collective;
mod collective_buffers;
pub(crate) mod completion;
pub(crate) mod init_finalize;
pub(crate) mod members;
pub(crate) mod one_sided;
pub(crate) mod packing;
pub(crate) mod point_to_point;
