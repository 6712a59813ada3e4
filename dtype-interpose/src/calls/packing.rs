//! Packing into the program's own buffers (MPI 4.1 section 5.2). The bytes are those of the library.

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
        // SAFETY: the program's promise.
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
        // SAFETY: the program's promise.
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

/// The position, or one that is wrong where there is none: what is wrong the library says.
///
/// # Safety
/// The program's promise.
unsafe fn at<P: Copy + Into<i64>>(position: *const P) -> i64 {
    // SAFETY: the program's promise.
    unsafe { position.as_ref() }.map_or(-1, |position| (*position).into())
}

/// Packs what is named behind a position, if there is room for it, and gives the position behind.
///
/// # Safety
/// The program's promise.
unsafe fn pack(call: &Call, named: Argument, packed: *mut c_void, size: i64, position: i64) -> Option<i64> {
    // SAFETY: the program's promise.
    let candidate = unsafe { named.packing() }?;
    or_else_plain(|| {
        // SAFETY: the program's promise.
        let found @ Found { engine, count, .. } = unsafe { candidate.packing(call) }?;
        let (bytes, place) = room(engine.size().checked_mul(count)?, packed, size, position)?;
        // SAFETY: the program's promise: what is named is there, and `size` bytes for what is packed.
        unsafe {
            let target = std::slice::from_raw_parts_mut(packed.cast::<u8>().add(place), bytes);
            found.part(named.buffer.cast(), count).pack(target);
        }
        Some(position + bytes as i64)
    })
}

/// Unpacks what is named from a position on, if all of it is there, and gives the position behind.
///
/// # Safety
/// The program's promise.
unsafe fn unpack(
    call: &Call,
    named: Argument,
    packed: *const c_void,
    size: i64,
    position: i64,
) -> Option<i64> {
    // SAFETY: the program's promise.
    let candidate = unsafe { named.packing() }?;
    or_else_plain(|| {
        // SAFETY: the program's promise.
        let found @ Found { engine, count, .. } = unsafe { candidate.packing(call) }?;
        let (bytes, place) = room(engine.size().checked_mul(count)?, packed, size, position)?;
        // SAFETY: the program's promise: what is named is there, and `size` packed bytes.
        unsafe {
            let source = std::slice::from_raw_parts(packed.cast::<u8>().add(place), bytes);
            found.part(named.buffer.cast(), count).unpack(source);
        }
        Some(position + bytes as i64)
    })
}

/// The bytes, and where they begin, if they fit.
fn room(bytes: usize, packed: *const c_void, size: i64, position: i64) -> Option<(usize, usize)> {
    (!packed.is_null()).then_some(())?;
    let place = usize::try_from(position).ok()?;
    let size = usize::try_from(size).ok()?;
    (place.checked_add(bytes)? <= size).then_some((bytes, place))
}
