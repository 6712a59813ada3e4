//! Existing datatypes as type trees, whether built by C code, by rsmpi's constructors or elsewhere (MPI 4.1
//! section 5.1.13).

use dtype_core::{Bounds, TypeTree};
use mpi::{datatype::UncommittedDatatype, ffi::MPI_Datatype};

use crate::{Error, Usable, errors::without_communicator, init_finalize::ready};

mod contents;
mod tree;

pub use contents::Contents;

/// An existing datatype: its type map as a tree, node for node as the datatype was constructed, its lower
/// bound and its extent.
#[derive(Debug)]
pub struct Decoded {
    /// The tree. Displacements are bytes from the start of a buffer. The leaves are the predefined datatypes
    /// within the datatype, under their own names.
    pub tree: TypeTree,
    /// The lower bound and the extent.
    pub bounds: Bounds,
    /// `true` if the datatype is predefined.
    pub is_predefined: bool,
}

impl Decoded {
    /// Decodes a datatype, committed or not.
    ///
    /// # Errors
    /// [`Error::Datatype`] if no tree can describe the datatype: it has an unknown constructor, contains a
    /// predefined datatype that is not in the MPI standard, or is nested 256 deep. The errors of [`ready`],
    /// and an error if an MPI call fails.
    pub fn of<D: UncommittedDatatype + ?Sized>(datatype: &D) -> Result<Self, Error> {
        within(datatype, |mpi, raw| {
            let (tree, is_predefined) = tree::tree_of(mpi, raw, 0)?;
            tree.measure()?;
            Ok(Self { tree, bounds: tree::bounds(mpi, raw)?, is_predefined })
        })
    }
}

impl Contents {
    /// Reads the constructor arguments of a datatype in one pass, without building a tree.
    ///
    /// # Errors
    /// The errors of [`Decoded::of`].
    pub fn of<D: UncommittedDatatype + ?Sized>(datatype: &D) -> Result<Self, Error> {
        let mut contents = Self::default();
        within(datatype, |mpi, raw| tree::add_contents(mpi, &mut contents, raw, 0))?;
        Ok(contents)
    }
}

/// Returns the constructors of a datatype as text, the outermost first, with the base types in them:
/// `contiguous(vector(i32))`. The text has the parts of the outer five levels, and the first six parts of a
/// struct. It helps people to find the code that built the datatype; [`Decoded`] is the meaning.
///
/// # Errors
/// The errors of [`Decoded::of`].
pub fn constructors<D: UncommittedDatatype + ?Sized>(datatype: &D) -> Result<String, Error> {
    within(datatype, |mpi, raw| tree::constructors_of(mpi, raw, 0))
}

/// Reads a datatype with calls that belong to no communicator.
fn within<D: UncommittedDatatype + ?Sized, R>(
    datatype: &D,
    read: impl FnOnce(&Usable, MPI_Datatype) -> Result<R, Error>,
) -> Result<R, Error> {
    let mpi = &ready()?;
    without_communicator(mpi, || read(mpi, datatype.as_raw()))
}
