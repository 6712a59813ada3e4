//! What MPI itself has to offer: `MPI_Pack` and `MPI_Unpack` with our least-cost datatypes, and the datatypes
//! that a user would write.

use std::{ffi::c_int, rc::Rc};

use dtype_runtime::dtype_core::{BaseType, Bounds, OldType, Program, Step, TypeTree};
use mpi::{
    ffi::{self, MPI_Aint, MPI_Datatype},
    raw::AsRaw,
    traits::Buffer,
};

use super::{Travel, Way, arrays::User};

/// The buffer of a view or of values, packed with as many bytes.
pub fn way<'a>(buffer: impl Buffer + 'a, size: usize) -> Way<'a> {
    let (memory, count, datatype) =
        (buffer.pointer().cast_mut(), buffer.count(), buffer.as_datatype().as_raw());
    of_raw(memory.cast(), count, datatype, size, buffer)
}

/// The datatype that a user would write, of numbers at a place.
pub fn of_datatype<'a>(memory: *mut u8, user: User, size: usize) -> Way<'a> {
    let (owned, count) = build(user);
    of_raw(memory, count, owned.0, size, owned)
}

/// The same as it travels.
pub fn typed<'a>(memory: *mut u8, user: User) -> Travel<'a> {
    let (owned, count) = build(user);
    Travel::of_raw(memory, count, owned.0, owned)
}

/// A datatype that is freed when it is no longer needed.
struct Owned(MPI_Datatype);

impl Drop for Owned {
    fn drop(&mut self) {
        if self.0 != unsafe { ffi::RSMPI_DOUBLE } {
            unsafe { ffi::MPI_Type_free(&raw mut self.0) };
        }
    }
}

/// The datatype, committed, and how many of it.
fn build(user: User) -> (Owned, c_int) {
    if let User::Contiguous(count) = user {
        return (Owned(unsafe { ffi::RSMPI_DOUBLE }), small(count));
    }
    let mut owned = Owned(make(user));
    unsafe { ffi::MPI_Type_commit(&raw mut owned.0) };
    (owned, 1)
}

fn small(number: usize) -> c_int {
    c_int::try_from(number).expect("a small number")
}

/// The calls that a user would write.
fn make(user: User) -> MPI_Datatype {
    let double = unsafe { ffi::RSMPI_DOUBLE };
    let mut new = unsafe { ffi::RSMPI_DATATYPE_NULL };
    let ints = |numbers: Vec<usize>| numbers.into_iter().map(small).collect::<Vec<_>>();
    unsafe {
        match user {
            User::Contiguous(count) => ffi::MPI_Type_contiguous(small(count), double, &raw mut new),
            User::Vector(count, length, stride) => {
                ffi::MPI_Type_vector(small(count), small(length), small(stride), double, &raw mut new)
            }
            User::Subarray(sizes, subsizes, starts) => {
                let (sizes, subsizes, starts) = (ints(sizes), ints(subsizes), ints(starts));
                let (order, dimensions) = (ffi::MPI_ORDER_C as c_int, small(sizes.len()));
                let (sizes, subsizes, starts) = (sizes.as_ptr(), subsizes.as_ptr(), starts.as_ptr());
                ffi::MPI_Type_create_subarray(
                    dimensions,
                    sizes,
                    subsizes,
                    starts,
                    order,
                    double,
                    &raw mut new,
                )
            }
            User::Several(parts) => {
                let parts: Vec<_> = parts.into_iter().map(|part| Owned(make(part))).collect();
                let datatypes: Vec<_> = parts.iter().map(|part| part.0).collect();
                let (lengths, places) = (vec![1; parts.len()], vec![0; parts.len()]);
                let (lengths, places) = (lengths.as_ptr(), places.as_ptr());
                ffi::MPI_Type_create_struct(
                    small(parts.len()),
                    lengths,
                    places,
                    datatypes.as_ptr(),
                    &raw mut new,
                )
            }
            User::Indexed(places) => {
                let (count, places) = (small(places.len()), places.as_ptr());
                ffi::MPI_Type_create_indexed_block(count, 1, places, double, &raw mut new)
            }
            User::Lengths(lengths, places) => {
                let (count, lengths, places) = (small(lengths.len()), lengths.as_ptr(), places.as_ptr());
                ffi::MPI_Type_indexed(count, lengths, places, double, &raw mut new)
            }
            User::Columns(n) => {
                let column = Owned(make(User::Vector(n, 1, n)));
                ffi::MPI_Type_create_hvector(small(n), 1, 8, column.0, &raw mut new)
            }
        }
    };
    new
}

/// Copies of a tree as the datatype that its own constructor calls make.
pub fn of_tree<'a>(memory: *mut u8, tree: &TypeTree, extent: i64, count: usize, size: usize) -> Way<'a> {
    let program = Program::lower(tree, Some(Bounds::of_extent(extent))).expect("a small tree");
    let mut built: Vec<Owned> = Vec::new();
    for step in &program.steps {
        let new = call(step, &built);
        built.push(Owned(new));
    }
    if let Some(last) = built.last_mut() {
        unsafe { ffi::MPI_Type_commit(&raw mut last.0) };
    }
    let datatype = handle(program.result, &built);
    of_raw(memory, small(count), datatype, size, built)
}

/// What a call builds on.
fn handle(oldtype: OldType, built: &[Owned]) -> MPI_Datatype {
    unsafe {
        match oldtype {
            OldType::Step(step) => built[step].0,
            OldType::Base(BaseType::U8) => ffi::RSMPI_UINT8_T,
            OldType::Base(BaseType::I16) => ffi::RSMPI_INT16_T,
            OldType::Base(BaseType::I32) => ffi::RSMPI_INT32_T,
            OldType::Base(BaseType::F32) => ffi::RSMPI_FLOAT,
            OldType::Base(BaseType::F64) => ffi::RSMPI_DOUBLE,
            OldType::Base(BaseType::C32) => ffi::RSMPI_FLOAT_COMPLEX,
            OldType::Base(BaseType::C64) => ffi::RSMPI_DOUBLE_COMPLEX,
            OldType::Base(base) => unimplemented!("no layout has {base}"),
        }
    }
}

/// A constructor call.
fn call(step: &Step, built: &[Owned]) -> MPI_Datatype {
    let mut new = unsafe { ffi::RSMPI_DATATYPE_NULL };
    let int = |number: &u64| small(*number as usize);
    let ints = |numbers: &[u64]| numbers.iter().map(int).collect::<Vec<_>>();
    let places = |numbers: &[i64]| numbers.iter().map(|number| *number as MPI_Aint).collect::<Vec<_>>();
    let of = |oldtype: &OldType| handle(*oldtype, built);
    unsafe {
        match step {
            Step::Contiguous { count, oldtype } => {
                ffi::MPI_Type_contiguous(int(count), of(oldtype), &raw mut new)
            }
            Step::Hvector { count, blocklength, stride, oldtype } => {
                let (count, blocklength, stride) = (int(count), int(blocklength), *stride as MPI_Aint);
                ffi::MPI_Type_create_hvector(count, blocklength, stride, of(oldtype), &raw mut new)
            }
            Step::HindexedBlock { blocklength, displacements, oldtype } => {
                let (count, places) = (small(displacements.len()), places(displacements));
                let (length, places) = (int(blocklength), places.as_ptr());
                ffi::MPI_Type_create_hindexed_block(count, length, places, of(oldtype), &raw mut new)
            }
            Step::Hindexed { blocklengths, displacements, oldtype } => {
                let (lengths, places) = (ints(blocklengths), places(displacements));
                let count = small(lengths.len());
                let (lengths, places) = (lengths.as_ptr(), places.as_ptr());
                ffi::MPI_Type_create_hindexed(count, lengths, places, of(oldtype), &raw mut new)
            }
            Step::Struct { blocklengths, displacements, oldtypes } => {
                let (lengths, places) = (ints(blocklengths), places(displacements));
                let old: Vec<_> = oldtypes.iter().map(of).collect();
                let count = small(lengths.len());
                let (lengths, places) = (lengths.as_ptr(), places.as_ptr());
                ffi::MPI_Type_create_struct(count, lengths, places, old.as_ptr(), &raw mut new)
            }
            Step::Resized { lower_bound, extent, oldtype } => {
                let (lower_bound, extent) = (*lower_bound as MPI_Aint, *extent as MPI_Aint);
                ffi::MPI_Type_create_resized(of(oldtype), lower_bound, extent, &raw mut new)
            }
        }
    };
    new
}

/// A datatype, which lives as long as its owner.
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
