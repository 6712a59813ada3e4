//! Datatypes of the MPI library, made from descriptions.

// This file frees only handles that it made, and lists outlive the calls that read them.
#![allow(clippy::undocumented_unsafe_blocks)]

use std::ffi::c_int;

use dtype_core::BaseType;
use mpi::ffi::{self, MPI_Aint, MPI_Datatype};

use crate::description::Description;

/// A datatype of the MPI library, which is freed on drop.
pub struct Owned {
    raw: MPI_Datatype,
    is_predefined: bool,
}

impl Drop for Owned {
    fn drop(&mut self) {
        if !self.is_predefined {
            unsafe { ffi::MPI_Type_free(&raw mut self.raw) };
        }
    }
}

impl Owned {
    /// Makes the constructor calls of a description. The datatype is not committed.
    ///
    /// # Panics
    /// If a number does not fit a C `int`, if no layout here has the base type, or if MPI refuses the call.
    pub fn of(description: &Description) -> Self {
        let mut new = unsafe { ffi::RSMPI_DATATYPE_NULL };
        let to = &raw mut new;
        let places = |numbers: &[i64]| numbers.iter().map(|at| *at as MPI_Aint).collect::<Vec<_>>();
        // MPI allows freeing these datatypes once the new datatype is made.
        let (old, olds): (Option<Self>, Vec<Self>) = match description {
            Description::Base(base) => return Self { raw: predefined(*base), is_predefined: true },
            Description::Struct { oldtypes, .. } => (None, oldtypes.iter().map(Self::of).collect()),
            Description::Contiguous { oldtype, .. }
            | Description::Vector { oldtype, .. }
            | Description::Hvector { oldtype, .. }
            | Description::IndexedBlock { oldtype, .. }
            | Description::HindexedBlock { oldtype, .. }
            | Description::Indexed { oldtype, .. }
            | Description::Hindexed { oldtype, .. }
            | Description::Subarray { oldtype, .. }
            | Description::Resized { oldtype, .. } => (Some(Self::of(oldtype)), Vec::new()),
        };
        let old = old.as_ref().map_or(new, Self::raw);
        let code = unsafe {
            match description {
                Description::Base(_) => unreachable!("it has returned"),
                Description::Contiguous { count, .. } => ffi::MPI_Type_contiguous(int(*count), old, to),
                Description::Vector { count, blocklength, stride, .. } => {
                    ffi::MPI_Type_vector(int(*count), int(*blocklength), int(*stride), old, to)
                }
                Description::Hvector { count, blocklength, stride, .. } => {
                    let stride = *stride as MPI_Aint;
                    ffi::MPI_Type_create_hvector(int(*count), int(*blocklength), stride, old, to)
                }
                Description::IndexedBlock { blocklength, displacements, .. } => {
                    let (count, places) = (int(displacements.len()), ints(displacements));
                    let length = int(*blocklength);
                    ffi::MPI_Type_create_indexed_block(count, length, places.as_ptr(), old, to)
                }
                Description::HindexedBlock { blocklength, displacements, .. } => {
                    let (count, places) = (int(displacements.len()), places(displacements));
                    let length = int(*blocklength);
                    ffi::MPI_Type_create_hindexed_block(count, length, places.as_ptr(), old, to)
                }
                Description::Indexed { blocklengths, displacements, .. } => {
                    let (lengths, places) = (ints(blocklengths), ints(displacements));
                    ffi::MPI_Type_indexed(int(lengths.len()), lengths.as_ptr(), places.as_ptr(), old, to)
                }
                Description::Hindexed { blocklengths, displacements, .. } => {
                    let (lengths, places) = (ints(blocklengths), places(displacements));
                    let count = int(lengths.len());
                    ffi::MPI_Type_create_hindexed(count, lengths.as_ptr(), places.as_ptr(), old, to)
                }
                Description::Struct { blocklengths, displacements, .. } => {
                    let (lengths, places) = (ints(blocklengths), places(displacements));
                    let raw: Vec<_> = olds.iter().map(Self::raw).collect();
                    let (count, places) = (int(lengths.len()), places.as_ptr());
                    ffi::MPI_Type_create_struct(count, lengths.as_ptr(), places, raw.as_ptr(), to)
                }
                Description::Subarray { sizes, subsizes, starts, .. } => {
                    let (sizes, subsizes, starts) = (ints(sizes), ints(subsizes), ints(starts));
                    let (order, dimensions) = (ffi::MPI_ORDER_C as c_int, int(sizes.len()));
                    let (sizes, subsizes, starts) = (sizes.as_ptr(), subsizes.as_ptr(), starts.as_ptr());
                    ffi::MPI_Type_create_subarray(dimensions, sizes, subsizes, starts, order, old, to)
                }
                Description::Resized { lower_bound, extent, .. } => {
                    ffi::MPI_Type_create_resized(old, *lower_bound as MPI_Aint, *extent as MPI_Aint, to)
                }
            }
        };
        assert_eq!(code, ffi::MPI_SUCCESS as c_int, "MPI refuses {description}");
        Self { raw: new, is_predefined: false }
    }

    /// Commits the datatype.
    #[must_use]
    pub fn commit(mut self) -> Self {
        if !self.is_predefined {
            unsafe { ffi::MPI_Type_commit(&raw mut self.raw) };
        }
        self
    }

    /// Returns the handle, which is valid as long as `self`.
    pub fn raw(&self) -> MPI_Datatype {
        self.raw
    }
}

/// Converts a number into a C `int`, as MPI takes it.
///
/// # Panics
/// If the number is too large.
pub fn int<N: TryInto<c_int, Error: std::fmt::Debug>>(number: N) -> c_int {
    number.try_into().expect("a number that MPI can count")
}

fn ints<N: Copy + TryInto<c_int, Error: std::fmt::Debug>>(numbers: &[N]) -> Vec<c_int> {
    numbers.iter().map(|number| int(*number)).collect()
}

fn predefined(base: BaseType) -> MPI_Datatype {
    unsafe {
        match base {
            BaseType::U8 => ffi::RSMPI_UINT8_T,
            BaseType::I16 => ffi::RSMPI_INT16_T,
            BaseType::I32 => ffi::RSMPI_INT32_T,
            BaseType::I64 => ffi::RSMPI_INT64_T,
            BaseType::F32 => ffi::RSMPI_FLOAT,
            BaseType::F64 => ffi::RSMPI_DOUBLE,
            BaseType::C32 => ffi::RSMPI_FLOAT_COMPLEX,
            BaseType::C64 => ffi::RSMPI_DOUBLE_COMPLEX,
            base => unimplemented!("no layout has {base}"),
        }
    }
}
