//! The kinds of errors.

/// The kind of an [`Error`](crate::Error): what a program can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument of the call is wrong: a rank, a tag, a part of an array, a number of messages. The program
    /// has a mistake.
    Argument,
    /// A message, or packed bytes, have another size than their place: [`sizes`](crate::Error::sizes) has
    /// both.
    Size,
    /// The bytes are of other types than their place, or no message of this type.
    Type,
    /// Packed bytes hold an invalid value, such as a `bool` of 2, or are damaged.
    Value,
    /// Another rank has an error, so this one has no result. The error of that rank says why.
    Elsewhere,
    /// MPI, its library, or the wire that was named cannot do this.
    Unsupported,
    /// MPI is not initialized, has been finalized, or may not be called by this thread; or a communicator has
    /// been freed.
    State,
    /// There is not enough memory.
    Memory,
    /// A file cannot be opened, read or written.
    File,
    /// A call of MPI has failed, with the error of the library.
    Mpi,
}
