//! The errors of this crate.

/// An error of an MPI call, or of a call that MPI does not allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// MPI has not been initialized.
    #[error(
        "MPI is not initialized: call `mpi::initialize()` before using MPI datatypes, or `in_session` in a \
         program with MPI sessions"
    )]
    NotInitialized,
    /// MPI has been finalized, so its datatypes are gone; or `in_session` has returned.
    #[error(
        "MPI datatypes cannot be used after MPI is finalized: the `Universe` was dropped, or `in_session`, \
         which a program can call only once, has returned"
    )]
    Finalized,
    /// MPI was initialized for calls from the main thread only, and another thread called it.
    #[error(
        "MPI was initialized for calls from one thread, but another thread made this call: call from the \
         thread that initialized MPI, or use `mpi::initialize_with_threading(mpi::Threading::Multiple)`"
    )]
    Thread,
    /// A datatype has no type tree, or a base type has no datatype in this library.
    #[error("the datatype {name} cannot be used: {reason}")]
    Datatype {
        /// The name of the datatype or base type.
        name: String,
        /// The reason why the datatype cannot be used.
        reason: &'static str,
    },
    /// A value does not fit the type of an argument of an MPI call.
    #[error("{call}: {value} does not fit its argument `{argument}`; the limit is {limit}")]
    Argument {
        /// The name of the MPI function.
        call: &'static str,
        /// The name of the argument in the MPI standard.
        argument: &'static str,
        /// The value that does not fit.
        value: i128,
        /// The greatest value that fits.
        limit: i128,
    },
    /// The MPI library has built another datatype than the requested one, as Open MPI does if counts
    /// overflow. The datatype is not used.
    #[error(
        "the requested datatype has {asked_size} bytes of data in bytes {} to {} of memory, but {library} \
         built one with {built_size} bytes of data in bytes {} to {}: divide the message, or use another MPI \
         library",
        asked_range.0, asked_range.1, built_range.0, built_range.1
    )]
    Construction {
        /// The name and version that the library gives itself.
        library: String,
        /// The size of the requested datatype: its bytes of data.
        asked_size: u64,
        /// The first byte of the requested datatype, and one past its last byte.
        asked_range: (i64, i64),
        /// The size of the built datatype, from `MPI_Type_size_x`.
        built_size: i64,
        /// The first byte of the built datatype, and one past its last byte, from
        /// `MPI_Type_get_true_extent_x`.
        built_range: (i64, i64),
    },
    /// An MPI call failed.
    #[error("{call} failed: {text} (error code {code})")]
    Mpi {
        /// The name of the MPI function that failed.
        call: &'static str,
        /// The error code of the call.
        code: i32,
        /// The library's text for the error code.
        text: String,
    },
    /// A type tree is invalid.
    #[error(transparent)]
    Tree(#[from] dtype_core::Error),
}
