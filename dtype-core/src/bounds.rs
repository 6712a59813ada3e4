//! The bounds of a datatype.

/// The lower bound and the extent of a datatype, in bytes (MPI 4.1 section 5.1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bounds {
    /// The lower bound, relative to displacement 0.
    pub lower_bound: i64,
    /// The extent: the bytes from one copy to the next.
    pub extent: i64,
}

impl Bounds {
    /// Returns the bounds of a datatype that begins at displacement 0.
    pub const fn of_extent(extent: i64) -> Self {
        Self { lower_bound: 0, extent }
    }
}
