//! What can go wrong at run time.

use std::convert::Infallible;

use dtype_core::SelectionError;

/// Why a datatype could not be built, or bytes not be packed or unpacked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A buffer of packed bytes has the wrong length.
    #[error("{what} takes {expected} packed bytes, but the buffer has {found}")]
    Length {
        /// What is packed or unpacked.
        what: &'static str,
        /// Bytes needed.
        expected: usize,
        /// Bytes given.
        found: usize,
    },
    /// Packed bytes hold a pattern that is no value of its type. Nothing has been written.
    #[error(
        "at byte {offset} of the packed data is {found:#x}, and no `{what}` has that value; \
         the sender's layout differs or the data is damaged"
    )]
    InvalidValue {
        /// The type.
        what: &'static str,
        /// Which packed byte it begins at.
        offset: usize,
        /// Its bytes as a number, the first one lowest.
        found: u64,
    },
    /// A bound of a layout is not one of its array, or the array too large.
    #[error("{0}")]
    Selection(#[from] SelectionError),
    /// What a layout is taken of has another shape than the layout's array.
    #[error("the layout is a part of an array of {expected:?} elements, but the source has {found:?}")]
    Shape {
        /// The lengths of the dimensions of the layout's array.
        expected: Vec<usize>,
        /// Those of the source, or its length if it is a slice.
        found: Vec<usize>,
    },
    /// The bytes of a type map are fewer than it reaches.
    #[error("the type map reaches to byte {expected}, but the source has {found} bytes")]
    TooShort {
        /// Bytes needed.
        expected: usize,
        /// Bytes given.
        found: usize,
    },
    /// A ready-made layout cannot be had with these parameters.
    #[error("{shape}: {parameter} is {value}, but must be {requirement}")]
    Parameter {
        /// The layout: `Subarray`, `Darray`, `Halo` or `Tile`.
        shape: &'static str,
        /// The parameter, with its dimension.
        parameter: String,
        /// The value.
        value: i128,
        /// What it must be.
        requirement: String,
    },
    /// A layout that selects something twice cannot be received into.
    #[error(
        "the layout covers some bytes more than once, so what arrives there would depend on the order in which it is \
         written: it can be sent with `of`, but not received into"
    )]
    Overlap,
    /// MPI has not been initialized.
    #[error("MPI is not initialized: call `mpi::initialize()` before an MPI datatype is used")]
    NotInitialized,
    /// MPI has been finalized, and its datatypes with it.
    #[error("MPI is finalized: MPI datatypes cannot be used after the `Universe` is dropped")]
    Finalized,
    /// An argument does not fit the type that the MPI call has for it.
    #[error("{call}: {value} does not fit its argument `{argument}`; the limit is {limit}")]
    Argument {
        /// The MPI function.
        call: &'static str,
        /// The standard's name of the argument.
        argument: &'static str,
        /// The value.
        value: i128,
        /// The greatest value that fits.
        limit: i128,
    },
    /// An MPI call failed.
    #[error("{call} failed with error code {code}")]
    Mpi {
        /// The MPI function.
        call: &'static str,
        /// What it returned.
        code: i32,
    },
}

impl From<Infallible> for Error {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl Error {
    /// The same error in bytes that so many others precede.
    pub(crate) fn behind(self, bytes: usize) -> Self {
        match self {
            Self::InvalidValue { what, offset, found } => {
                Self::InvalidValue { what, offset: offset + bytes, found }
            }
            other => other,
        }
    }
}
