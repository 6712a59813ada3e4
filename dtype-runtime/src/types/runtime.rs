//! Who has written an implementation.

/// The functions that expansions call in the implementations that they write.
///
/// An expansion reaches all of it by a path that its user may have chosen, `#[mpi(crate = "…")]`, to a module
/// that may have other functions of these names. Those of a type only we can write; and that it is this type
/// the compiler finds out, since the traits implemented name it, as their type `DtypeRuntime`, which is
/// `Ours`. No other trait has a type of that name, so that an implementation is of none but these.
#[derive(Clone, Copy, Debug)]
pub struct Runtime(());

impl Runtime {
    /// The only value.
    pub const OURS: Self = Self(());
}

/// [`Runtime`], and nothing else.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not of the crate `dtype-runtime`",
    label = "expansions call what is in this crate, and trust it",
    note = "name it, or a crate that has all of it, with `#[mpi(crate = \"…\")]`"
)]
pub trait Ours {}

impl Ours for Runtime {}
