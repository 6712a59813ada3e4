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
    // The datatype lives as long as the buffer's layout.
    let buffer = Rc::new(buffer);
    let also = Rc::clone(&buffer);
    let Way { pack, unpack } = of_datatype(memory.cast(), count, datatype, size);
    Way::new(
        move |packed| {
            let _ = &buffer;
            pack(packed);
        },
        move |packed| {
            let _ = &also;
            unpack(packed);
        },
    )
}

/// Blocks of so many numbers, which begin at these ones of the array.
pub fn of_lengths<'a>(memory: *mut f64, starts: &[i32], lengths: &[i32], size: usize) -> Way<'a> {
    let datatype = unsafe {
        let mut datatype = ffi::RSMPI_DATATYPE_NULL;
        let count = c_int::try_from(starts.len()).expect("few blocks");
        ffi::MPI_Type_indexed(count, lengths.as_ptr(), starts.as_ptr(), ffi::RSMPI_DOUBLE, &raw mut datatype);
        ffi::MPI_Type_commit(&raw mut datatype);
        datatype
    };
    of_datatype(memory.cast(), 1, datatype, size)
}

fn of_datatype<'a>(memory: *mut u8, count: c_int, datatype: MPI_Datatype, size: usize) -> Way<'a> {
    let size = c_int::try_from(size).expect("packed bytes that MPI can count");
    Way::new(
        move |packed| unsafe {
            let (memory, packed, mut position) = (memory.cast(), packed.as_mut_ptr().cast(), 0);
            ffi::MPI_Pack(memory, count, datatype, packed, size, &raw mut position, ffi::RSMPI_COMM_SELF);
        },
        move |packed| unsafe {
            let (memory, packed, mut position) = (memory.cast(), packed.as_ptr().cast(), 0);
            ffi::MPI_Unpack(packed, size, &raw mut position, memory, count, datatype, ffi::RSMPI_COMM_SELF);
        },
    )
}
