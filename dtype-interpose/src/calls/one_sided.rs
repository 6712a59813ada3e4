//! Moving data to and from windows of other ranks, and the calls by which that is complete (MPI 4.1 sections
//! 12.3 and 12.5). Those with requests stay as they are: they too are complete by both.

use std::os::raw::{c_int, c_void};

use mpi::ffi::{MPI_Aint, MPI_Datatype, MPI_Win};

use crate::{
    staged::Argument,
    windows::{Move, complete},
};

/// Defines what is put or got.
macro_rules! moves {
    ($ending:literal; $($name:ident $buffer:ty, $access:ident, $is_got:literal;)*) => { calls! { $ending; $(
        fn $name(
            buffer: $buffer,
            count: Count,
            datatype: MPI_Datatype,
            rank: c_int,
            place: MPI_Aint,
            there_count: Count,
            there: MPI_Datatype,
            window: MPI_Win,
        ) |next| {
            let named = Argument::$access(buffer, count, datatype);
            let moved = Move { window, rank, there: (there_count.into(), there), is_got: $is_got };
            // SAFETY: the program's promise; packed bytes are as many as the datatype has, and are kept.
            unsafe {
                let (Argument { buffer, datatype, .. }, block) = match moved.packed(&CALL, named) {
                    Some((packed, block)) => (packed, Some(block)),
                    None => (named, None),
                };
                let code = next(buffer, count, datatype, rank, place, there_count, there, window);
                moved.keep(code, block)
            }
        }
    )* } };
}

with_both_counts! { moves! {
    Put *const c_void, read, false;
    Get *mut c_void, written, true;
} }

/// Defines calls behind which everything is complete, with all ranks or with one, by what they are given
/// before the window.
macro_rules! completions {
    ($($name:ident ($($rank:ident)?) $(with $given:ident)?;)*) => { calls! { ""; $(
        fn $name($($rank: c_int,)? $($given: c_int,)? window: MPI_Win) |next| {
            let rank: Option<c_int> = [$($rank)?].first().copied();
            // SAFETY: the program's promise.
            unsafe { complete(window, rank, || next($($rank,)? $($given,)? window)) }
        }
    )* } };
}

completions! {
    Win_fence () with assertion;
    Win_complete ();
    Win_unlock (rank);
    Win_unlock_all ();
    Win_flush (rank);
    Win_flush_all ();
    Win_flush_local (rank);
    Win_flush_local_all ();
}

calls! { "";
    fn Win_free(window: *mut MPI_Win) |next| {
        // SAFETY: the program's promise.
        unsafe { complete(*window, None, || next(window)) }
    }
}
