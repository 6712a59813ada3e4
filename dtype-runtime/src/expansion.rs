//! The functions and traits that expansions of the macros use.

use std::{mem::MaybeUninit, slice::from_ref};

use crate::{
    Error, MpiDatatype,
    layout::{
        Memory, Selection,
        fixed::entry_of_selection,
        pieces::{self, FixedPieces},
    },
    message::{Fingerprint, Plain, Reader, Writer, malformed},
    pack::{message, pack_into},
    types::{
        Facts, Field, Visitor, datatype,
        entry::{Expansion, LazyDatatype},
        fields,
        runtime::Runtime,
    },
};

impl Runtime {
    /// See [`message::plain`].
    pub const fn value_type<T: MpiDatatype>() -> Option<Plain<T>> {
        Some(message::plain::<T>())
    }

    /// Returns the number of bytes of a value in a message.
    pub const fn least<T: MpiDatatype>() -> usize {
        T::FACTS.packed_size
    }

    /// See [`message::describe`].
    pub fn describe<T: MpiDatatype>(of: &mut Fingerprint) {
        message::describe::<T>(of);
    }

    /// See [`message::write`].
    #[inline]
    pub fn write<'a, T: MpiDatatype>(value: &'a T, to: &mut Writer<'a>) {
        message::write(value, to);
    }

    /// See [`message::read`].
    ///
    /// # Errors
    /// The errors of [`FromMessage::read`](crate::FromMessage::read).
    #[inline]
    pub fn read<T: MpiDatatype>(
        from: &mut Reader<'_>,
        by_field: impl FnOnce(&mut Reader<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        message::read(from, by_field)
    }

    /// See [`message::read_into`].
    ///
    /// # Errors
    /// The errors of [`FromMessage::read`](crate::FromMessage::read).
    pub fn read_into<T: MpiDatatype>(
        value: &mut T,
        from: &mut Reader<'_>,
        by_field: impl FnOnce(&mut T, &mut Reader<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        message::read_into(value, from, by_field)
    }

    /// See [`message::incomplete`].
    ///
    /// # Errors
    /// In every call.
    pub fn incomplete<T>(from: &mut Reader<'_>) -> Result<T, Error> {
        message::incomplete(from)
    }

    /// Returns the error of a field that the packing order does not name. There is none.
    #[cold]
    pub fn missing() -> Error {
        malformed("a field is missing")
    }

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

    /// See [`pieces::unwritten`].
    ///
    /// # Safety
    /// Nothing is read through the reference.
    pub const unsafe fn unwritten<T>(memory: &MaybeUninit<T>) -> &T {
        // SAFETY: the caller reads nothing through the reference.
        unsafe { pieces::unwritten(memory) }
    }

    /// Checks that a path leads through a type that MPI can carry: with a union, a box or a reference, the
    /// call does not compile.
    pub const fn is_carried<T: MpiDatatype>(_: *const T) {}

    /// See [`entry_of_selection`].
    pub const fn entry_of_selection<S: Selection>(expansion: Option<Expansion>) -> LazyDatatype {
        entry_of_selection::<S>(expansion)
    }

    /// See [`datatype::of_type`].
    pub fn of_type<T: MpiDatatype>() -> &'static LazyDatatype {
        datatype::of_type::<T>()
    }

    /// Returns the results of a macro, or `None` if an assumption of the macro does not hold.
    pub const fn expansion(cost: u64, calls: &'static str, is_so: bool) -> Option<Expansion> {
        if is_so { Some(Expansion { cost, calls }) } else { None }
    }

    /// See [`equivalent_datatype`](crate::types::rsmpi::equivalent_datatype).
    #[cfg(feature = "mpi")]
    pub fn equivalent_datatype<T: MpiDatatype>() -> EquivalentDatatype {
        crate::types::rsmpi::equivalent_datatype::<T>()
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
