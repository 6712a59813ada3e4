//! `MPI_Pack` and `MPI_Unpack`, with our least-cost datatypes.

use std::{ffi::c_int, rc::Rc};

use mpi::{
    ffi::{self, MPI_Datatype},
    raw::AsRaw,
    traits::Buffer,
};

use crate::Way;

/// The buffer of a view or of values, packed with as many bytes.
pub fn way<'a>(buffer: impl Buffer + 'a, size: usize) -> Way<'a> {
    let (memory, count, datatype) =
        (buffer.pointer().cast_mut(), buffer.count(), buffer.as_datatype().as_raw());
    of_datatype(memory.cast(), count, datatype, size, buffer)
}

/// Blocks of so many numbers, which begin at these ones of the array.
pub fn of_lengths<'a>(memory: *mut f64, starts: &[i32], lengths: &[i32], size: usize) -> Way<'a> {
    let count = c_int::try_from(starts.len()).expect("few blocks");
    let mut owned = Owned(unsafe { ffi::RSMPI_DATATYPE_NULL });
    unsafe {
        let (lengths, starts) = (lengths.as_ptr(), starts.as_ptr());
        ffi::MPI_Type_indexed(count, lengths, starts, ffi::RSMPI_DOUBLE, &raw mut owned.0);
        ffi::MPI_Type_commit(&raw mut owned.0);
    }
    of_datatype(memory.cast(), 1, owned.0, size, owned)
}

/// A datatype that is freed when it is no longer needed.
struct Owned(MPI_Datatype);

impl Drop for Owned {
    fn drop(&mut self) {
        unsafe { ffi::MPI_Type_free(&raw mut self.0) };
    }
}

/// A datatype, which lives as long as its owner.
fn of_datatype<'a>(
    memory: *mut u8,
    count: c_int,
    datatype: MPI_Datatype,
    size: usize,
    owner: impl Sized + 'a,
) -> Way<'a> {
    let size = c_int::try_from(size).expect("packed bytes that MPI can count");
    let (owner, memory) = (Rc::new(owner), memory.cast());
    let also = Rc::clone(&owner);
    Way::new(
        move |packed| unsafe {
            let (_owner, packed, mut position) = (&owner, packed.as_mut_ptr().cast(), 0);
            ffi::MPI_Pack(memory, count, datatype, packed, size, &raw mut position, ffi::RSMPI_COMM_SELF);
        },
        move |packed| unsafe {
            let (_owner, packed, mut position) = (&also, packed.as_ptr().cast(), 0);
            ffi::MPI_Unpack(packed, size, &raw mut position, memory, count, datatype, ffi::RSMPI_COMM_SELF);
        },
    )
}
