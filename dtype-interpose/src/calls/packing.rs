//! `MPI_Pack` and `MPI_Unpack` (MPI 4.1 section 5.2). A plan packs the same bytes as the library.

use std::os::raw::{c_int, c_void};

use crate::{
    argument::Argument,
    call::{Call, SUCCESS, or_else_plain},
    message::Message,
};

/// Packs into a buffer of the program (`MPI_Pack`).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn pack<P: Copy + Into<i64> + TryFrom<i64>>(
    call: &Call,
    source: Argument,
    packed: *mut c_void,
    size: i64,
    position: *mut P,
    next: impl FnOnce(Argument) -> c_int,
) -> c_int {
    // SAFETY: promises 1 and 2 for the arguments, promise 3 for `source`, promise 4 for the `size` bytes of
    // `packed`.
    unsafe {
        match packed_by_plan(call, source, packed, size, at(position)) {
            Some(end) => moved_to(position, end),
            None => next(source),
        }
    }
}

/// Unpacks from a buffer of the program (`MPI_Unpack`).
///
/// # Safety
/// Conditions 1 and 2 of [`calls`](super).
pub(crate) unsafe fn unpack<P: Copy + Into<i64> + TryFrom<i64>>(
    call: &Call,
    target: Argument,
    packed: *const c_void,
    size: i64,
    position: *mut P,
    next: impl FnOnce(Argument) -> c_int,
) -> c_int {
    // SAFETY: promises 1 and 2 for the arguments, promise 3 for the `size` bytes of `packed`, promise 4 for
    // `target`.
    unsafe {
        match unpacked_by_plan(call, target, packed, size, at(position)) {
            Some(end) => moved_to(position, end),
            None => next(target),
        }
    }
}

/// Stores the new position. It fits into a `P`, since it is at most the size of the buffer, which is a `P`.
/// Returns `MPI_SUCCESS`.
///
/// # Safety
/// Promise 2 for `position`.
unsafe fn moved_to<P: TryFrom<i64>>(position: *mut P, end: i64) -> c_int {
    if let Ok(end) = P::try_from(end) {
        // SAFETY: promise 2, by the caller's condition.
        unsafe { *position = end };
    }
    SUCCESS
}

/// Returns the position, or -1 if the pointer is null. The call is then forwarded, and the library reports
/// the error.
///
/// # Safety
/// Promise 2 for `position`, which may be null.
unsafe fn at<P: Copy + Into<i64>>(position: *const P) -> i64 {
    // SAFETY: promise 2, by the caller's condition; null is checked for.
    unsafe { position.as_ref() }.map_or(-1, |position| (*position).into())
}

/// Packs the elements of `named` into `packed` at a position, if the packed bytes fit. Returns the position
/// after the packed bytes, or `None` if the call is forwarded.
///
/// # Safety
/// Promises 1 and 2 for the datatype, promise 3 for the buffer, promise 4 for the `size` bytes of `packed`.
unsafe fn packed_by_plan(
    call: &Call,
    named: Argument,
    packed: *mut c_void,
    size: i64,
    position: i64,
) -> Option<i64> {
    // SAFETY: promises 1 and 2 for the datatype.
    let message = unsafe { Message::for_packing(&named) }?;
    or_else_plain(|| {
        // SAFETY: promises 1 and 2 for the datatype, promise 3 for the buffer.
        let engine = unsafe { message.packing_engine(call) }?;
        let (bytes, place) = room(engine.size().checked_mul(message.count)?, packed, size, position)?;
        // SAFETY: promise 3 for the buffer, promise 4 for the `size` bytes of `packed`. `room` has checked
        // that `bytes` bytes from `place` on are among the `size` bytes.
        unsafe {
            let target = std::slice::from_raw_parts_mut(packed.cast::<u8>().add(place), bytes);
            message.part(engine).pack(1, target);
        }
        Some(position + bytes as i64)
    })
}

/// Unpacks the elements of `named` from `packed` at a position, if enough bytes follow. Returns the position
/// after the unpacked bytes, or `None` if the call is forwarded.
///
/// # Safety
/// Promises 1 and 2 for the datatype, promise 3 for the `size` bytes of `packed`, promise 4 for the buffer.
unsafe fn unpacked_by_plan(
    call: &Call,
    named: Argument,
    packed: *const c_void,
    size: i64,
    position: i64,
) -> Option<i64> {
    // SAFETY: promises 1 and 2 for the datatype.
    let message = unsafe { Message::for_packing(&named) }?;
    or_else_plain(|| {
        // SAFETY: promises 1 and 2 for the datatype; the buffer is only written.
        let engine = unsafe { message.packing_engine(call) }?;
        let (bytes, place) = room(engine.size().checked_mul(message.count)?, packed, size, position)?;
        // SAFETY: promise 3 for the `size` bytes of `packed`, promise 4 for the buffer. `room` has checked
        // that `bytes` bytes from `place` on are among the `size` bytes.
        unsafe {
            let source = std::slice::from_raw_parts(packed.cast::<u8>().add(place), bytes);
            message.part(engine).unpack(source);
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
