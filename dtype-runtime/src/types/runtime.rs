//! Who has written an implementation.

/// The functions that expansions call in the implementations that they write.
///
/// An expansion reaches all of it by a path that its user may have chosen, `#[mpi(crate = "…")]`, to a module
/// that may have other functions of these names. Those of a type only we can write; and that it is this type
/// the compiler finds out, since the traits implemented have a constant of it.
#[derive(Clone, Copy, Debug)]
pub struct Runtime(());

impl Runtime {
    /// The only value.
    pub const OURS: Self = Self(());
}
