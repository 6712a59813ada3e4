//! What the macros' expansions call.

use std::{borrow::Cow, mem::MaybeUninit};

use dtype_core::{BaseType, OldType, Program, Step};

use crate::{
    MpiDatatype,
    fields::{self, Facts, Field, Visitor},
    layout::{Memory, Selection},
    lazy::{self, Expansion, LazyDatatype},
    pieces::{self, FixedPieces},
};

/// The functions that expansions call in the implementations that they write.
///
/// An expansion reaches all of it by a path that its user may have chosen, `#[mpi(crate = "…")]`, to a module that may have other
/// functions of these names. Those of a type only we can write; and that it is this type the compiler finds out, since the traits
/// implemented have a constant of it.
#[derive(Clone, Copy, Debug)]
pub struct Runtime(());

impl Runtime {
    /// The only value.
    pub const OURS: Self = Self(());

    /// See [`fields::in_memory`].
    pub const fn in_memory<const N: usize>(list: &[Field]) -> [usize; N] {
        fields::in_memory(list)
    }

    /// See [`fields::must_be_fixed`].
    pub const fn must_be_fixed<T: MpiDatatype>() {
        fields::must_be_fixed::<T>();
    }

    /// See [`Facts::of_enum`].
    pub const fn facts_of_enum<T: MpiDatatype, I: MpiDatatype>() -> Facts {
        Facts::of_enum::<T, I>()
    }

    /// See [`fields::visit_integer`].
    #[inline(always)]
    pub fn visit_integer<T: MpiDatatype, I: MpiDatatype>(visitor: &mut impl Visitor) {
        fields::visit_integer::<T, I>(visitor);
    }

    /// See [`fields::is_one_of`].
    pub fn is_one_of<I: MpiDatatype>(packed: &[u8], integers: &[I]) -> bool {
        fields::is_one_of(packed, integers)
    }

    /// See [`fields::lies_as`].
    pub const fn lies_as<T: MpiDatatype>(offsets: &[usize], size: usize) -> bool {
        fields::lies_as::<T>(offsets, size)
    }

    /// See [`is_base`](crate::datatype::is_base).
    pub const fn is_base<T: MpiDatatype>(base: BaseType) -> bool {
        crate::datatype::is_base::<T>(base)
    }

    /// See [`LazyDatatype::new`].
    pub const fn entry<T: MpiDatatype>(expansion: Option<Expansion>) -> LazyDatatype {
        LazyDatatype::new::<T>(expansion)
    }

    /// What the pieces of a layout of elements `T` are written down with.
    pub const fn fixed_pieces<T, const PIECES: usize, const D: usize>(
        lengths: [i128; D],
    ) -> FixedPieces<T, PIECES, D> {
        FixedPieces::new(lengths, size_of::<T>())
    }

    /// The same of a type map of so many bytes.
    pub const fn fixed_entries<const PIECES: usize>(bytes: usize) -> FixedPieces<Memory, PIECES, 0> {
        FixedPieces::new([], bytes)
    }

    /// See [`pieces::unwritten`].
    ///
    /// # Safety
    /// As there.
    pub const unsafe fn unwritten<T>(memory: &MaybeUninit<T>) -> &T {
        // SAFETY: as the caller promises.
        unsafe { pieces::unwritten(memory) }
    }

    /// Refuses what no path can lead through: MPI carries no unions, boxes or references.
    pub const fn is_carried<T: MpiDatatype>(_: *const T) {}

    /// See [`LazyDatatype::of_selection`].
    pub const fn entry_of_selection<S: Selection>(expansion: Option<Expansion>) -> LazyDatatype {
        LazyDatatype::of_selection::<S>(expansion)
    }

    /// See [`lazy::of_type`].
    pub fn of_type<T: MpiDatatype>() -> &'static LazyDatatype {
        lazy::of_type::<T>()
    }

    /// What a macro has worked out.
    pub const fn expansion(cost: u64, steps: &'static [Step], result: OldType) -> Expansion {
        Expansion { cost, program: Program { steps: Cow::Borrowed(steps), result } }
    }

    /// A base type as the datatype of a step.
    pub const fn base(base: BaseType) -> OldType {
        OldType::Base(base)
    }

    /// An earlier step as the datatype of a step.
    pub const fn step(index: usize) -> OldType {
        OldType::Step(index)
    }

    /// The numbers of a step.
    pub const fn list<T: Clone>(numbers: &'static [T]) -> Cow<'static, [T]> {
        Cow::Borrowed(numbers)
    }

    /// See [`equivalent_datatype`](crate::mpi::equivalent_datatype).
    #[cfg(feature = "mpi")]
    pub fn equivalent_datatype<T: MpiDatatype>() -> EquivalentDatatype {
        crate::mpi::equivalent_datatype::<T>()
    }

    /// Without the feature `mpi` there is none.
    #[cfg(not(feature = "mpi"))]
    pub fn equivalent_datatype<T: MpiDatatype>() -> EquivalentDatatype {}
}

#[cfg(feature = "mpi")]
mod equivalence {
    pub use ::mpi::datatype::Equivalence;

    /// What rsmpi takes for a datatype.
    pub type EquivalentDatatype = ::mpi::datatype::DatatypeRef<'static>;
}

#[cfg(not(feature = "mpi"))]
mod equivalence {
    /// In the place of rsmpi's, so that expansions are the same without it.
    ///
    /// # Safety
    /// None is needed.
    pub unsafe trait Equivalence {
        /// Nothing.
        type Out;

        /// Nothing.
        fn equivalent_datatype() -> Self::Out;
    }

    /// Nothing.
    pub type EquivalentDatatype = ();
}

pub use equivalence::{Equivalence, EquivalentDatatype};
