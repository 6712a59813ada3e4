//! The trait `MpiDatatype`: how a type tells what it is made of, once to a visitor, at run time, and once in
//! constants.
//!
//! `visit` is a straight list of fields. Each use of it is a visitor: packing, unpacking and checking are the
//! same walk with another visitor, inlined into straight-line code. Constants hold what is asked while the
//! compiler runs, and what describes the layout when the program does. The derive writes both; `fields!` in
//! `base.rs` does it for the types here.

use dtype_core::{
    BaseType, Bounds, LinearCosts, Optimality, Program, Runs, TypeTree,
    constant::{RunBuffer, Solved},
};

use super::{
    check::validate,
    entry::{COSTS, Description, Expansion, LayoutOrigin, LazyDatatype, unsolved},
    facts::Facts,
    fields::{Field, Fields},
    runtime::Ours,
};
#[cfg(feature = "mpi")]
use super::{
    marks::AnyPattern,
    values::{Values, ValuesMut},
};
use crate::Error;

/// A type whose values MPI can carry: base types, arrays and tuples of such types, and structs and enums that
/// derive it.
///
/// A deriving type also implements rsmpi's `Equivalence` (with the feature `mpi`), so that its values, slices
/// and `Vec`s are buffers of every rsmpi call. The datatype's extent is `size_of::<T>()`, always.
///
/// ```
/// use dtype_runtime::{MpiDatatype, layout::LayoutOrigin};
///
/// #[derive(MpiDatatype)]
/// #[repr(C)]
/// struct Cell { value: f64, level: u8 }
///
/// assert_eq!(Cell::type_map().unwrap().to_string(), "f64 @ 0, u8 @ 8");
/// assert_eq!(Cell::cost(), 15);
/// assert_eq!(Cell::layout_origin(), LayoutOrigin::Expansion);
/// assert_eq!(
///     Cell::constructor_calls().to_string(),
///     "t0 = MPI_Type_create_struct(2, [1, 1], [0, 8], [MPI_DOUBLE, MPI_UINT8_T])\n\
///      t1 = MPI_Type_create_resized(t0, 0, 16)\n\
///      MPI_Type_commit(t1)\n"
/// );
/// ```
///
/// # Safety
/// Derive it. The hidden items must describe the type truthfully: `visit` names fields that lie within the
/// type and do not overlap, with their own types, the same as `FIELDS`; `lazy` is the same entry at each
/// call, made for this type.
#[diagnostic::on_unimplemented(
    message = "MPI cannot carry `{Self}`: it does not implement `MpiDatatype`",
    label = "not a type that MPI can carry",
    note = "numbers, `bool`, `char`, arrays and tuples of these, and structs and enums that derive \
            `MpiDatatype` can; if `{Self}` is a type of yours, put `#[derive(MpiDatatype)]` on its \
            definition"
)]
pub unsafe trait MpiDatatype: Sized + 'static {
    /// The type `Runtime` here, so that who implements the trait cannot have called that of anybody else:
    /// see [`Runtime`](super::runtime::Runtime).
    #[doc(hidden)]
    type DtypeRuntime: Ours;

    /// The fields that travel, if the type is a struct or tuple. In which order they travel, unless it is
    /// this one; whether the compiler has no say in where they lie; whether there are no other fields.
    #[doc(hidden)]
    const LIST: &'static [Field] = &[];
    #[doc(hidden)]
    const ORDER: &'static [usize] = &[];
    #[doc(hidden)]
    const FIXED: bool = true;
    #[doc(hidden)]
    const COMPLETE: bool = true;
    #[doc(hidden)]
    const FIELDS: Fields = fields::<Self>();

    #[doc(hidden)]
    const DESCRIPTION: Description =
        if Self::BYTES { Description::Bytes(size_of::<Self>()) } else { Description::Fields(&Self::FIELDS) };

    #[doc(hidden)]
    const FACTS: Facts = facts_of_fields::<Self>();

    #[doc(hidden)]
    const RUNS: RunBuffer = if Self::BYTES { runs_of_bytes::<Self>() } else { fields::<Self>().runs() };

    /// The type as a field of another one, at its start.
    #[doc(hidden)]
    const FIELD: Field = Field::new(&Self::FACTS, &Self::RUNS, Self::lazy);

    /// What the layout is solved for.
    #[doc(hidden)]
    const COSTS: LinearCosts = COSTS;

    /// Whether MPI carries the type as the bytes it takes in memory.
    #[doc(hidden)]
    const BYTES: bool = false;

    /// Whether somebody vouches for what MPI itself receives.
    #[doc(hidden)]
    const VOUCHED: bool = false;

    #[doc(hidden)]
    fn visit(visitor: &mut impl Visitor);

    /// Visits one field, where `ORDER` says in which order they travel.
    #[doc(hidden)]
    fn visit_nth(_visitor: &mut impl Visitor, _field: usize) {}

    /// For a type that travels as a base type: whether these packed bytes are a value of it.
    #[doc(hidden)]
    fn is_valid(_packed: &[u8]) -> bool {
        true
    }

    /// Visits the type as field `i` of another one.
    #[doc(hidden)]
    #[inline(always)]
    fn visit_in<T: MpiDatatype>(visitor: &mut impl Visitor, i: usize) {
        visitor.field::<Self>(T::LIST[i].offset());
    }

    #[doc(hidden)]
    fn lazy() -> &'static LazyDatatype;

    /// The least-cost type tree of one value; displacements are bytes from its start.
    fn tree() -> &'static TypeTree {
        &Self::lazy().solution().tree
    }

    /// The type map of one value, in runs of equal base types at equal distances: `f64 @ 0, u8 @ 8`.
    /// Displacements are bytes from its start.
    ///
    /// # Errors
    /// [`Error::Tree`] where the runs are too many to be listed.
    fn type_map() -> Result<Runs, Error> {
        Self::lazy().type_map()
    }

    /// The cost of the type tree in the model it was solved for: by default, how many words describe it.
    fn cost() -> u64 {
        Self::lazy().cost()
    }

    /// Whether that cost is known to be the least.
    fn optimality() -> Optimality {
        Self::lazy().solution().optimality
    }

    /// The calls that build the MPI datatype.
    fn constructor_calls() -> &'static Program {
        Self::lazy().program()
    }

    /// Where the layout was solved.
    fn layout_origin() -> LayoutOrigin {
        Self::lazy().origin()
    }

    /// A picture of a value: each field in its colour, padding hatched, and the least-cost tree. It becomes
    /// an SVG file ([`Picture::svg`](dtype_core::picture::Picture::svg)) or text for the terminal
    /// ([`Picture::text`](dtype_core::picture::Picture::text)).
    ///
    /// ```
    /// use dtype_runtime::MpiDatatype;
    ///
    /// #[derive(MpiDatatype)]
    /// #[repr(C)]
    /// struct Cell { level: u8, value: f64 }
    /// assert!(Cell::draw()?.text(false).contains("A░░░░░░░Bbbbbbbb"));
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Tree`] where displacements leave what can be counted.
    #[cfg(feature = "picture")]
    fn draw() -> Result<dtype_core::picture::Picture, Error> {
        let name = std::any::type_name::<Self>();
        super::draw::draw(name, size_of::<Self>(), Self::LIST, Self::lazy(), &Self::COSTS)
    }

    /// Checks that values are valid: that every `bool` in them is 0 or 1, every `char` a
    /// character, no `NonZero` 0, and every enum one of its variants. [`unpack_into`](crate::unpack_into) and
    /// all of our receiving calls check this. rsmpi's own calls receive `bool` without, as they do in rsmpi,
    /// and types with `#[mpi(unsafe_equivalence)]`.
    ///
    /// # Errors
    /// [`Error::InvalidValue`], its offset that in the packed bytes of all values.
    fn validate_slice(values: &[Self]) -> Result<(), Error> {
        validate(values)
    }

    /// Values as an rsmpi `Buffer`, to be sent. Slices are buffers themselves, but for types with skipped
    /// fields.
    ///
    /// ```no_run
    /// use dtype_runtime::MpiDatatype;
    /// use mpi::traits::*;
    ///
    /// #[derive(MpiDatatype, Clone, Default)]
    /// struct Node {
    ///     value: f64,
    ///     #[mpi(skip)]
    ///     neighbours: Vec<usize>,
    /// }
    ///
    /// let universe = mpi::initialize().unwrap();
    /// let world = universe.world();
    /// let mut nodes = vec![Node::default(); 100];
    /// match world.rank() {
    ///     0 => world.process_at_rank(1).send(&Node::buffer(&nodes)),
    ///     _ => {
    ///         world.process_at_rank(0).receive_into(&mut Node::buffer_mut(&mut nodes));
    ///     }
    /// }
    /// ```
    #[cfg(feature = "mpi")]
    fn buffer(values: &[Self]) -> Values<'_, Self> {
        Values(values)
    }

    /// Values as an rsmpi `BufferMut`, to be received into. Skipped fields are left as they are.
    #[cfg(feature = "mpi")]
    fn buffer_mut(values: &mut [Self]) -> ValuesMut<'_, Self>
    where
        Self: AnyPattern,
    {
        ValuesMut(values)
    }

    /// The committed MPI datatype: built at the first call in a process, the same handle at every later one,
    /// freed by `MPI_Finalize` (MPI 4.1 sections 5.1.9 and 11.2.4). Below `MPI_THREAD_SERIALIZED` only the
    /// main thread may call it; with it, no other thread may be in an MPI call at the same time.
    ///
    /// # Errors
    /// [`Error::NotInitialized`] and [`Error::Finalized`]; [`Error::Thread`] on a thread that may not call
    /// MPI; [`Error::Mpi`] where MPI refuses a call.
    #[cfg(feature = "mpi")]
    fn datatype() -> Result<mpi::datatype::DatatypeRef<'static>, Error> {
        Self::lazy().datatype()
    }
}

/// Receives the parts of a type, in the order in which they travel. Offsets are in bytes from the value's
/// start.
pub trait Visitor {
    /// The type travels as this base type.
    fn leaf<T: MpiDatatype>(&mut self, base: BaseType);
    /// The type has a field.
    fn field<F: MpiDatatype>(&mut self, offset: usize);
    /// The type is an array: `count` values, one after the other from its start.
    fn elements<F: MpiDatatype>(&mut self, count: usize);
}

/// The fields of a struct or tuple. The constants of nested types refer to each other through this, not
/// through `FIELDS`: the compiler stops where 128 of them do.
const fn fields<T: MpiDatatype>() -> Fields {
    Fields { list: T::LIST, order: T::ORDER, fixed: T::FIXED, complete: T::COMPLETE }
}

/// The facts of a struct or tuple.
const fn facts_of_fields<T: MpiDatatype>() -> Facts {
    let facts = fields::<T>().facts();
    Facts {
        dense: facts.dense && facts.packed_size == size_of::<T>(),
        wire_size: if T::BYTES { size_of::<T>() } else { facts.wire_size },
        receivable: facts.receivable || T::VOUCHED,
        ..facts
    }
}

/// The runs of a type that travels as the bytes it takes in memory.
///
/// # Panics
/// Where constants are evaluated: the compiler refuses a type of which this cannot be said.
pub const fn runs_of_bytes<T: MpiDatatype>() -> RunBuffer {
    must_be_fixed::<T>();
    RunBuffer::of_base(BaseType::Byte).repeated(size_of::<T>() as u64, 1)
}

/// Asserts that a type may be part of one that travels as bytes.
///
/// # Panics
/// Where constants are evaluated: the compiler refuses any other type.
pub const fn must_be_fixed<T: MpiDatatype>() {
    assert!(
        T::FACTS.complete && T::FACTS.fixed,
        "what travels with `#[mpi(wire = \"bytes\")]` must have a layout that is the same in every program, \
         and no skipped fields: put `#[repr(C)]` on the type of this field and on the structs in it, and \
         replace tuples by such structs"
    );
}

impl LazyDatatype {
    /// The entry of a type.
    pub const fn new<T: MpiDatatype>(expansion: Option<Expansion>) -> Self {
        let solved = if expansion.is_some() { unsolved } else { solved::<T> };
        let bounds = Bounds::of_extent(size_of::<T>() as i64);
        Self::of(T::DESCRIPTION, T::COSTS, Some(bounds), expansion, solved)
    }
}

/// The layout of a type as constant evaluation solves it: done once, when code for this function is made.
fn solved<T: MpiDatatype>() -> Option<&'static Solved> {
    const { &Solved::of(&T::RUNS, &T::COSTS) }.as_ref()
}

/// Whether `T` is the Rust type of the base type of this name: an expansion that read a name asks what the
/// name means here.
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
