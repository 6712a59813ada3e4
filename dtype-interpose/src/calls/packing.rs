//! `MPI_Pack` and `MPI_Unpack` (MPI 4.1 section 5.2). A plan packs the same bytes as the library.

use std::os::raw::c_void;

use mpi::ffi::{MPI_Comm, MPI_Datatype};

use crate::{
    call::{Call, SUCCESS},
    staged::{Argument, Found, or_else_plain},
};

with_both_counts! { calls! {
    fn Pack(
        buffer: *const c_void,
        count: Count,
        datatype: MPI_Datatype,
        packed: *mut c_void,
        size: Count,
        position: *mut Count,
        communicator: MPI_Comm,
    ) |next| {
        // SAFETY: promises 1 and 2 for the arguments, promise 3 for `buffer`, promise 4 for the `size` bytes
        // of `packed`.
        unsafe {
            let named = Argument::read(buffer, count, datatype);
            match pack(&CALL, named, packed, size.into(), at(position)) {
                Some(end) => {
                    *position = end as Count;
                    SUCCESS
                }
                None => next(buffer, count, datatype, packed, size, position, communicator),
            }
        }
    }

    fn Unpack(
        packed: *const c_void,
        size: Count,
        position: *mut Count,
        buffer: *mut c_void,
        count: Count,
        datatype: MPI_Datatype,
        communicator: MPI_Comm,
    ) |next| {
        // SAFETY: promises 1 and 2 for the arguments, promise 3 for the `size` bytes of `packed`, promise 4
        // for `buffer`.
        unsafe {
            let named = Argument::written(buffer, count, datatype);
            match unpack(&CALL, named, packed, size.into(), at(position)) {
                Some(end) => {
                    *position = end as Count;
                    SUCCESS
                }
                None => next(packed, size, position, buffer, count, datatype, communicator),
            }
        }
    }
} }

/// Returns the position, or -1 if the pointer is null. The call is then forwarded, and the library reports
/// the error.
///
/// # Safety
/// Promise 2 for `position`, which may be null.
unsafe fn at<P: Copy + Into<i64>>(position: *const P) -> i64 {
    // SAFETY: promise 2, by the caller's condition; null is checked for.
    unsafe { position.as_ref() }.map_or(-1, |position| (*position).into())
}

/// Packs `named` at a position, if there is room. Returns the position after the packed bytes, or `None` if
/// the call is forwarded.
///
/// # Safety
/// Promises 1 and 2 for the datatype, promise 3 for the buffer, promise 4 for the `size` bytes of `packed`.
unsafe fn pack(call: &Call, named: Argument, packed: *mut c_void, size: i64, position: i64) -> Option<i64> {
    // SAFETY: promises 1 and 2 for the datatype.
    let candidate = unsafe { named.packing() }?;
    or_else_plain(|| {
        // SAFETY: promises 1 and 2 for the datatype, promise 3 for the buffer.
        let found @ Found { engine, count, .. } = unsafe { candidate.packing(call) }?;
        let (bytes, place) = room(engine.size().checked_mul(count)?, packed, size, position)?;
        // SAFETY: promise 3 for the buffer, promise 4 for the `size` bytes of `packed`. `room` has checked
        // that `bytes` bytes from `place` on are among them.
        unsafe {
            let target = std::slice::from_raw_parts_mut(packed.cast::<u8>().add(place), bytes);
            found.part(named.buffer.cast(), count).pack(target);
        }
        Some(position + bytes as i64)
    })
}

/// Unpacks `named` from a position on, if there are enough bytes. Returns the position after these, or `None`
/// if the call is forwarded.
///
/// # Safety
/// Promises 1 and 2 for the datatype, promise 3 for the `size` bytes of `packed`, promise 4 for the buffer.
unsafe fn unpack(
    call: &Call,
    named: Argument,
    packed: *const c_void,
    size: i64,
    position: i64,
) -> Option<i64> {
    // SAFETY: promises 1 and 2 for the datatype.
    let candidate = unsafe { named.packing() }?;
    or_else_plain(|| {
        // SAFETY: promises 1 and 2 for the datatype; the buffer is only written.
        let found @ Found { engine, count, .. } = unsafe { candidate.packing(call) }?;
        let (bytes, place) = room(engine.size().checked_mul(count)?, packed, size, position)?;
        // SAFETY: promise 3 for the `size` bytes of `packed`, promise 4 for the buffer. `room` has checked
        // that `bytes` bytes from `place` on are among the former.
        unsafe {
            let source = std::slice::from_raw_parts(packed.cast::<u8>().add(place), bytes);
            found.part(named.buffer.cast(), count).unpack(source);
        }
        Some(position + bytes as i64)
    })
}

/// Returns the number of packed bytes and their offset, if they fit into `size` bytes.
fn room(bytes: usize, packed: *const c_void, size: i64, position: i64) -> Option<(usize, usize)> {
    (!packed.is_null()).then_some(())?;
    let place = usize::try_from(position).ok()?;
    let size = usize::try_from(size).ok()?;
    (place.checked_add(bytes)? <= size).then_some((bytes, place))
}
