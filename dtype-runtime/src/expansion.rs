//! What the macros' expansions call.

use std::{mem::MaybeUninit, slice::from_ref};

use crate::{
    MpiDatatype,
    layout::{
        Memory, Selection,
        fixed::entry_of_selection,
        pieces::{self, FixedPieces},
    },
    pack::pack_into,
    types::{
        Facts, Field, Visitor,
        cache::of_type,
        datatype,
        entry::{Expansion, LazyDatatype},
        fields,
        runtime::Runtime,
    },
};

impl Runtime {
    /// See [`fields::in_memory`].
    pub const fn in_memory<const N: usize>(list: &[Field]) -> [usize; N] {
        fields::in_memory(list)
    }

    /// Visits the fields in the order that [`MpiDatatype::ORDER`] says.
    #[inline(always)]
    pub fn visit_in_order<T: MpiDatatype>(visitor: &mut impl Visitor) {
        const fn nth<T: MpiDatatype>(place: usize) -> usize {
            if place < T::ORDER.len() { T::ORDER[place] } else { usize::MAX }
        }
        // The optimizer finds out which field each turn of a loop visits only if there is no loop.
        macro_rules! one_by_one {
            ($($place:literal)*) => { $(T::visit_nth(visitor, const { nth::<T>($place) });)* };
        }
        if cfg!(debug_assertions) || const { T::ORDER.len() > 16 } {
            for field in T::ORDER {
                T::visit_nth(visitor, *field);
            }
        } else {
            one_by_one!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        }
    }

    /// See [`datatype::must_be_fixed`].
    pub const fn must_be_fixed<T: MpiDatatype>() {
        datatype::must_be_fixed::<T>();
    }

    /// The facts of an enum that travels as an integer.
    ///
    /// # Panics
    /// Where constants are evaluated, if it is larger: the derive refuses what would make it so.
    pub const fn facts_of_enum<T: MpiDatatype, I: MpiDatatype>() -> Facts {
        assert!(size_of::<T>() == size_of::<I>(), "an enum is as large as its integer");
        Facts { any_pattern: false, receivable: T::VOUCHED, ..I::FACTS }
    }

    /// Visits a type that is an integer with fewer values.
    #[inline(always)]
    pub fn visit_integer<T: MpiDatatype, I: MpiDatatype>(visitor: &mut impl Visitor) {
        if let Some(base) = I::FACTS.base {
            visitor.leaf::<T>(base);
        }
    }

    /// Whether packed bytes are those of one of these integers.
    pub fn is_one_of<I: MpiDatatype>(packed: &[u8], integers: &[I]) -> bool {
        let mut bytes = [0; 8];
        integers.iter().any(|integer| {
            pack_into(from_ref(integer), &mut bytes).is_ok_and(|length| bytes[..length] == *packed)
        })
    }

    /// Whether a type is laid out as a macro took it to be: the offsets of its travelling fields, in declared
    /// order, and its size.
    pub const fn lies_as<T: MpiDatatype>(offsets: &[usize], size: usize) -> bool {
        size_of::<T>() == size && T::FIELDS.lie_at(offsets)
    }

    /// See [`datatype::is_base`].
    pub const fn is_base<T: MpiDatatype>(base: &str) -> bool {
        datatype::is_base::<T>(base)
    }

    /// See [`LazyDatatype::new`].
    pub const fn entry<T: MpiDatatype>(expansion: Option<Expansion>) -> LazyDatatype {
        LazyDatatype::new::<T>(expansion)
    }

    /// Counts a turn of a loop: see [`pieces::turn`].
    pub const fn turn(turns: usize) -> usize {
        pieces::turn(turns)
    }

    /// What the pieces of a layout of elements `T` are written down with.
    pub const fn fixed_pieces<T, const PIECES: usize, const D: usize>(
        lengths: [i128; D],
    ) -> FixedPieces<T, PIECES, D> {
        FixedPieces::new(lengths, size_of::<T>())
    }

    /// The same of a type map, in an array of bytes.
    pub const fn fixed_entries<const PIECES: usize>(bytes: usize) -> FixedPieces<Memory, PIECES, 0> {
        FixedPieces::new([], bytes)
    }

    /// See [`pieces::unwritten`].
    ///
    /// # Safety
    /// Nothing is read through the reference.
    pub const unsafe fn unwritten<T>(memory: &MaybeUninit<T>) -> &T {
        // SAFETY: the caller reads nothing through it.
        unsafe { pieces::unwritten(memory) }
    }

    /// Refuses what no path can lead through: MPI carries no unions, boxes or references.
    pub const fn is_carried<T: MpiDatatype>(_: *const T) {}

    /// See [`entry_of_selection`].
    pub const fn entry_of_selection<S: Selection>(expansion: Option<Expansion>) -> LazyDatatype {
        entry_of_selection::<S>(expansion)
    }

    /// See [`of_type`].
    pub fn of_type<T: MpiDatatype>() -> &'static LazyDatatype {
        of_type::<T>()
    }

    /// What a macro has worked out, if what it took for granted is so.
    pub const fn expansion(cost: u64, calls: &'static str, is_so: bool) -> Option<Expansion> {
        if is_so { Some(Expansion { cost, calls }) } else { None }
    }

    /// See [`equivalent_datatype`](crate::types::rsmpi::equivalent_datatype).
    #[cfg(feature = "mpi")]
    pub fn equivalent_datatype<T: MpiDatatype>() -> EquivalentDatatype {
        crate::types::rsmpi::equivalent_datatype::<T>()
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
