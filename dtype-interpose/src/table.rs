//! The functions of MPI by their roles in the life of a message, as `calls.txt` lists them.
//!
//! A message that is sent packed must be received, completed and unpacked by intercepted calls. The code asks
//! this table for the functions of a role, and keeps no other lists of names.

/// The role of a function in the life of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// Functions that send a message.
    Sends,
    /// Functions that receive a message, whichever function has sent it.
    Receives,
    /// Functions that move data between calls of the same name on several ranks.
    Collective,
    /// Functions that move data to or from a window.
    Moves,
    /// Functions that start, complete or free a request.
    CompletesRequests,
    /// Functions that complete operations on a window.
    CompletesMoves,
    /// Functions that pack into a buffer of the program, or unpack from it.
    Packs,
    /// Functions that begin or end MPI, a datatype or a communicator.
    Lifetime,
    /// Functions that take no part in a message that may be packed.
    Other,
}

/// A function of MPI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function {
    /// The name. The function with large counts, which has the suffix `_c`, shares the row of the function
    /// without the suffix, unless its other arguments differ.
    pub name: &'static str,
    pub role: Role,
    /// The roles of the functions that complete what this function begins: those of any role may.
    pub completed_by: &'static [Role],
    /// `true` if this library intercepts the function.
    pub is_intercepted: bool,
}

include!(concat!(env!("OUT_DIR"), "/functions.rs"));

/// Returns the functions of a role.
pub(crate) fn functions(role: Role) -> impl Iterator<Item = &'static Function> {
    FUNCTIONS.iter().filter(move |function| function.role == role)
}
