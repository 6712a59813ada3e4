//! Datatypes of the MPI library, made from descriptions.

// This file frees only handles that it made, and lists outlive the calls that read them.
#![allow(clippy::undocumented_unsafe_blocks)]

use std::{cell::RefCell, ffi::c_int};

use dtype_mpi::{Usable, make, predefined, ready};
use mpi::ffi::{self, MPI_Datatype};

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
    /// If MPI is not usable, if it refuses a call, or if the library lacks a base type.
    pub fn of(description: &Description) -> Self {
        let mpi = ready().unwrap_or_else(|error| panic!("{error}"));
        Self::made(&mpi, description)
    }

    fn made(mpi: &Usable, description: &Description) -> Self {
        let call = match description {
            Description::Base(base) => {
                let raw = predefined(*base).unwrap_or_else(|| panic!("this MPI library has no {base}"));
                return Self { raw, is_predefined: true };
            }
            Description::Call(call) => call,
        };
        // MPI allows freeing these datatypes once the new datatype is made.
        let olds = RefCell::new(Vec::new());
        let handle = |oldtype: &Description| {
            let old = Self::made(mpi, oldtype);
            let raw = old.raw;
            olds.borrow_mut().push(old);
            Ok(raw)
        };
        let raw = unsafe { make(mpi, call, handle) };
        Self { raw: raw.unwrap_or_else(|error| panic!("{description}: {error}")), is_predefined: false }
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
