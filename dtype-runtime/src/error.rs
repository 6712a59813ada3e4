//! What can go wrong at run time.

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
