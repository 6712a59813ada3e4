//! The constructor arguments of datatypes, for comparison.

use std::os::raw::c_int;

/// The constructor arguments of a datatype and of all datatypes within it. If two datatypes of one process
/// have equal contents, they have the same type map and bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Contents {
    /// The constructor of each datatype and the lengths of its lists; for a predefined datatype, its base
    /// type or its tree as text.
    pub(super) nodes: Vec<i64>,
    /// The integer arguments of all datatypes, one list after another.
    pub(super) integers: Vec<c_int>,
    pub(super) addresses: Vec<i64>,
    pub(super) is_mixed: bool,
    pub(super) has_darrays: bool,
}

impl Contents {
    /// Returns the size of the arguments in bytes. A C `int` takes 4 bytes, any other number 8.
    pub fn size(&self) -> usize {
        size_of_val(&*self.nodes) + size_of_val(&*self.integers) + size_of_val(&*self.addresses)
    }

    /// Returns `true` if the datatype may have values of several base types: it contains a struct or a pair.
    pub fn is_mixed(&self) -> bool {
        self.is_mixed
    }

    /// Returns `true` if the datatype is or contains a datatype of `MPI_Type_create_darray`.
    pub fn has_darrays(&self) -> bool {
        self.has_darrays
    }
}
