//! The ways of MPI itself: `MPI_Pack` and `MPI_Unpack` with our least-cost datatypes, and with the datatypes
//! that a user would write.

use std::{ffi::c_int, rc::Rc};

use dtype_core::{Bounds, Program, TypeTree};
use dtype_guidelines::{
    datatype::{Owned, int},
    description::Description,
    way::Way,
};
use mpi::{
    ffi::{self, MPI_Datatype},
    raw::AsRaw,
    traits::Buffer,
};

use super::{Travel, user::User};

/// Returns `MPI_Pack` and `MPI_Unpack` of the buffer of a view or of values, with `size` packed bytes.
pub fn way<'a>(buffer: impl Buffer + 'a, size: usize) -> Way<'a> {
    let (memory, count, datatype) =
        (buffer.pointer().cast_mut(), buffer.count(), buffer.as_datatype().as_raw());
    of_raw(memory.cast(), count, datatype, size, buffer)
}

/// Returns `MPI_Pack` and `MPI_Unpack` with the datatype that a user would write.
pub fn of_datatype<'a>(memory: *mut u8, user: &User, size: usize) -> Way<'a> {
    let owned = Owned::of(&user.datatype).commit();
    of_raw(memory, int(user.count), owned.raw(), size, owned)
}

/// Returns messages with the datatype that a user would write.
pub fn typed<'a>(memory: *mut u8, user: &User) -> Travel<'a> {
    let owned = Owned::of(&user.datatype).commit();
    Travel::of_raw(memory, int(user.count), owned.raw(), owned)
}

/// Returns `MPI_Pack` and `MPI_Unpack` of copies of a tree, with the datatype of its constructor program.
pub fn of_tree<'a>(memory: *mut u8, tree: &TypeTree, extent: i64, count: usize, size: usize) -> Way<'a> {
    let program = Program::lower(tree, Some(Bounds::of_extent(extent))).expect("a small tree");
    let owned = Owned::of(&Description::of_program(&program)).commit();
    of_raw(memory, int(count), owned.raw(), size, owned)
}

/// Returns `MPI_Pack` and `MPI_Unpack` with a datatype, which `owner` keeps alive.
fn of_raw<'a>(
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
