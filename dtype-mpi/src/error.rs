//! The errors of this crate, without texts. `dtype_runtime::Error` has the same variants, with texts for
//! people.

/// An error of an MPI call, or of a call that MPI does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// MPI has not been initialized.
    NotInitialized,
    /// MPI has been finalized, or [`in_session`](crate::in_session) has returned.
    Finalized,
    /// MPI was initialized for calls from the main thread only, and another thread called it.
    Thread,
    /// A base type has no datatype in this library.
    Datatype {
        /// The name of the datatype.
        name: String,
        /// The reason.
        reason: &'static str,
    },
    /// A value does not fit the type of an argument of an MPI call.
    Argument {
        /// The MPI function.
        call: &'static str,
        /// The name of the argument in the MPI standard.
        argument: &'static str,
        /// The value.
        value: i128,
        /// The greatest value that fits.
        limit: i128,
    },
    /// The library has built another datatype than the requested one.
    Construction {
        /// The library's own name for itself.
        library: String,
        /// The size of the requested datatype: its bytes of data.
        asked_size: u64,
        /// The first byte of the requested datatype, and one past its last byte.
        asked_range: (i64, i64),
        /// The size of the built datatype.
        built_size: i64,
        /// The first byte of the built datatype, and one past its last byte.
        built_range: (i64, i64),
    },
    /// An MPI call failed.
    Mpi {
        /// The MPI function.
        call: &'static str,
        /// The error code.
        code: i32,
        /// The library's text for the error code.
        text: String,
    },
}
