//! One-sided operations, and the calls that complete them (MPI 4.1 sections 12.3 and 12.5). Operations with
//! requests are not intercepted: calls for requests complete them as well as calls for windows.

use std::os::raw::{c_int, c_void};

use mpi::ffi::{MPI_Aint, MPI_Datatype, MPI_Win};

use crate::{
    staged::Argument,
    windows::{Move, complete},
};

/// Defines calls that put or get data.
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
            // SAFETY: promises 1 and 2 for the call's arguments; promise 3 for the buffer of a put, promise 4
            // for that of a get. A packed buffer has as many bytes as the message, and is kept until the
            // operation is complete.
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

/// Defines calls that complete operations, with all ranks or with one, by their arguments before the window.
macro_rules! completions {
    ($($name:ident ($($rank:ident)?) $(with $given:ident)?;)*) => { calls! { ""; $(
        fn $name($($rank: c_int,)? $($given: c_int,)? window: MPI_Win) |next| {
            let rank: Option<c_int> = [$($rank)?].first().copied();
            // SAFETY: promises 1 and 2 for the call's arguments; promise 4 for the buffers of gets under way.
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
        // SAFETY: promises 1 and 2 for the window; promise 4 for the buffers of gets under way.
        unsafe { complete(*window, None, || next(window)) }
    }
}
