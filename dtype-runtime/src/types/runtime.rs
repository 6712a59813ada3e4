//! The type that ties expansions to this crate.

/// The functions that expansions call in the implementations that they write.
///
/// An expansion reaches this crate by a path that its user may choose with `#[mpi(crate = "…")]`. The path
/// may lead to a module that has other functions of the same names. Therefore the functions belong to this
/// type: only this crate can write functions of it. The compiler checks that the path leads to this type. The
/// implemented traits have an associated type `DtypeRuntime`, which must be `Ours`, and the expansion sets it
/// to `Runtime`. No other trait has an associated type of that name, so an expansion implements only these
/// traits.
#[derive(Clone, Copy, Debug)]
pub struct Runtime(());

impl Runtime {
    /// The only value.
    pub const OURS: Self = Self(());
}

/// A trait that only [`Runtime`] implements.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not come from the crate `dtype-runtime`",
    label = "the macro's expansion calls functions of this crate and relies on them",
    note = "name `dtype-runtime`, or a crate that re-exports all of it, with `#[mpi(crate = \"…\")]`"
)]
pub trait Ours {}

impl Ours for Runtime {}
