//! The calls of MPI that go through here, by chapter: each hands its arguments on to the one behind, with
//! packed bytes in their place where that is worth while.
//!
//! - `point_to_point`: messages; `completion`: requests;
//! - `packing`: `MPI_Pack` and its like;
//! - `collective`: those of all ranks; `members`: who takes part in them, `sides`: what goes packed;
//! - `one_sided`: windows of other ranks;
//! - `life`: the beginning and the end, and datatypes that are committed.
//!
//! Programs promise what the standard asks of them: MPI is initialized, handles are live, buffers are there.
//! "The program's promise" in a proof means that.

use std::os::raw::c_int;

use crate::requests;

/// Defines calls that programs find before those of the MPI library: `MPI_`, the name, and an ending (`_c`
/// for those with large counts). Within the body `CALL` is the [`Call`], and what is named between bars the
/// function that stands behind.
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
            // SAFETY: MPI's functions of one name have one type.
            let $next: Function = unsafe { std::mem::transmute(CALL.next(own as *mut std::os::raw::c_void)) };
            $crate::calls::ended(move || $body)
        }
    )*};
}

/// Has a macro define its calls with `Count`, and `Place` for displacements, as integers; and, where the
/// library has them, as large ones. It is told the ending of their names.
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

/// Makes a call, and looks after requests that the program has freed.
#[inline]
fn ended(call: impl FnOnce() -> c_int) -> c_int {
    let code = call();
    requests::tend();
    code
}

pub(crate) mod collective;
pub(crate) mod completion;
pub(crate) mod life;
pub(crate) mod members;
pub(crate) mod one_sided;
pub(crate) mod packing;
pub(crate) mod point_to_point;
mod sides;
