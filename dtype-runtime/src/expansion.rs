//! The functions and traits that expansions of the macros use. Other functions of [`Runtime`] are where the
//! rest of their subject is.

use std::{mem::MaybeUninit, slice::from_ref};

use crate::{
    Error, MpiDatatype,
    layout::{
        Memory,
        pieces::{self, FixedPieces},
    },
    message::{Plain, malformed},
    pack::{message, pack_into},
    types::{
        Facts, Field, Visitor, datatype,
        entry::{Expansion, LazyDatatype},
        runtime::Runtime,
    },
};

impl Runtime {
    /// See [`message::plain`].
    pub const fn value_type<T: MpiDatatype>() -> Option<Plain<T>> {
        Some(message::plain::<T>())
    }

    /// Returns the error of a field that the packing order does not name. There is none.
    #[cold]
    pub fn missing() -> Error {
        malformed("a field is missing")
    }

    /// Returns the indices of the fields in memory order. Fields of size 0 at the same offset stay in
    /// declared order.
    pub const fn in_memory<const N: usize>(list: &[Field]) -> [usize; N] {
        let (mut order, mut i) = ([0; N], 0);
        while i < N {
            let mut place = i;
            while place > 0 && list[order[place - 1]].offset() > list[i].offset() {
                order[place] = order[place - 1];
                place -= 1;
            }
            order[place] = i;
            i += 1;
        }
        order
    }

    /// Visits the fields in the order that [`MpiDatatype::ORDER`] says.
    #[inline(always)]
    pub fn visit_in_order<T: MpiDatatype>(visitor: &mut impl Visitor) {
        const fn nth<T: MpiDatatype>(place: usize) -> usize {
            if place < T::ORDER.len() { T::ORDER[place] } else { usize::MAX }
        }
        // Unrolled: in a loop, the optimizer does not find out which field an iteration visits.
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

    /// Returns the facts of an enum that is transferred as the integer `I`.
    ///
    /// # Panics
    /// In constant evaluation, if the sizes of the enum and the integer differ. The derive refuses such
    /// enums.
    pub const fn facts_of_enum<T: MpiDatatype, I: MpiDatatype>() -> Facts {
        assert!(size_of::<T>() == size_of::<I>(), "an enum must have the size of its integer");
        Facts { any_pattern: false, receivable: T::VOUCHED, ..I::FACTS }
    }

    /// Visits a type that is transferred as the integer `I` and has fewer valid values than `I`.
    #[inline(always)]
    pub fn visit_integer<T: MpiDatatype, I: MpiDatatype>(visitor: &mut impl Visitor) {
        if let Some(base) = I::FACTS.base {
            visitor.leaf::<T>(base);
        }
    }

    /// Returns `true` if the packed bytes are those of one of these integers.
    pub fn is_one_of<I: MpiDatatype>(packed: &[u8], integers: &[I]) -> bool {
        let mut bytes = [0; 8];
        integers.iter().any(|integer| {
            pack_into(from_ref(integer), &mut bytes).is_ok_and(|length| bytes[..length] == *packed)
        })
    }

    /// Returns `true` if a type has the layout that a macro assumed: the offsets of the fields that are sent,
    /// in declared order, and the size of the type.
    pub const fn lies_as<T: MpiDatatype>(offsets: &[usize], size: usize) -> bool {
        let (mut lie, mut i) = (size_of::<T>() == size && T::LIST.len() == offsets.len(), 0);
        while lie && i < offsets.len() {
            lie = T::LIST[i].offset() == offsets[i];
            i += 1;
        }
        lie
    }

    /// Returns `true` if `T` is the Rust type of the base type with this name. A macro sees only the name of
    /// a type. With this function, its expansion checks that the name stands for the base type.
    pub const fn is_base<T: MpiDatatype>(base: &str) -> bool {
        let Some(found) = T::FACTS.base else { return false };
        let (found, base) = (found.name().as_bytes(), base.as_bytes());
        let (mut is_it, mut i) = (found.len() == base.len(), 0);
        while is_it && i < base.len() {
            is_it = found[i] == base[i];
            i += 1;
        }
        is_it
    }

    /// See [`LazyDatatype::of_expansion`].
    pub const fn entry<T: MpiDatatype>(expansion: Option<Expansion>) -> LazyDatatype {
        LazyDatatype::of_expansion::<T>(expansion)
    }

    /// Counts an iteration of a loop: see [`pieces::turn`].
    pub const fn turn(turns: usize) -> usize {
        pieces::turn(turns)
    }

    /// Returns a builder of pieces for a layout of elements `T`.
    pub const fn fixed_pieces<T, const PIECES: usize, const D: usize>(
        lengths: [i128; D],
    ) -> FixedPieces<T, PIECES, D> {
        FixedPieces::new(lengths, size_of::<T>())
    }

    /// Returns a builder of pieces for a type map of this number of bytes.
    pub const fn fixed_entries<const PIECES: usize>(bytes: usize) -> FixedPieces<Memory, PIECES, 0> {
        FixedPieces::new([], bytes)
    }

    /// Returns a reference to uninitialized memory as if it held an element, so that expansions can take the
    /// addresses of fields. For constant evaluation only.
    ///
    /// # Safety
    /// Nothing is read through the reference.
    pub const unsafe fn unwritten<T>(memory: &MaybeUninit<T>) -> &T {
        // SAFETY: the caller reads nothing through the reference, and only takes addresses.
        unsafe { &*memory.as_ptr() }
    }

    /// Checks that a path leads through a type that MPI can carry: with a union, a box or a reference, the
    /// call does not compile.
    pub const fn is_carried<T: MpiDatatype>(_: *const T) {}

    /// Returns the results of a macro, or `None` if an assumption of the macro does not hold.
    pub const fn expansion(cost: u64, calls: &'static str, is_so: bool) -> Option<Expansion> {
        if is_so { Some(Expansion { cost, calls }) } else { None }
    }

    /// Returns nothing: without the feature `mpi` there are no datatypes.
    #[cfg(not(feature = "mpi"))]
    pub fn equivalent_datatype<T: MpiDatatype>() -> EquivalentDatatype {}
}

#[cfg(feature = "mpi")]
mod equivalence {
    pub use ::mpi::datatype::Equivalence;

    /// The type of datatypes in implementations of rsmpi's `Equivalence`.
    pub type EquivalentDatatype = ::mpi::datatype::DatatypeRef<'static>;
}

#[cfg(not(feature = "mpi"))]
mod equivalence {
    /// A stand-in for rsmpi's trait, so that expansions are the same without rsmpi.
    ///
    /// # Safety
    /// There are no conditions.
    pub unsafe trait Equivalence {
        /// The stand-in for the type of a datatype.
        type Out;

        /// Returns the stand-in for a datatype.
        fn equivalent_datatype() -> Self::Out;
    }

    /// The stand-in for a datatype.
    pub type EquivalentDatatype = ();
}

pub use equivalence::{Equivalence, EquivalentDatatype};
