//! The trait `MpiDatatype`: a type describes its parts to a visitor at run time, and in constants.
//!
//! `visit` is a flat list of fields. Packing, unpacking and checking are different visitors of the same list,
//! each inlined into straight-line code. Constants hold the facts that the compiler needs, and the
//! description of the layout for run time. The derive writes `visit` and the constants; `fields!` in
//! `base.rs` does so for the types of this crate.

#[cfg(feature = "mpi")]
use std::hash::{DefaultHasher, Hash, Hasher};
use std::{any::TypeId, marker::PhantomData};

use dtype_core::{
    BaseType, Bounds, LinearCosts, Optimality, Program, Runs, TypeTree,
    constant::{RunBuffer, Solved},
};
use dtype_engine::written;

use super::{
    entry::{COSTS, Description, EntriesOfTypes, Expansion, LayoutOrigin, LazyDatatype, unsolved},
    facts::Facts,
    fields::{self, Field},
    runtime::{Ours, Runtime},
    value_type::ValueType,
};
#[cfg(feature = "mpi")]
use super::{
    marks::AnyPattern,
    values::{Values, ValuesMut},
};
use crate::{Error, MpiMessage};

/// A type whose values MPI can carry: base types, arrays and tuples of such types, and structs and enums that
/// derive it.
///
/// A deriving type also implements rsmpi's `Equivalence` (with the feature `mpi`), so that its values, slices
/// and `Vec`s are buffers of every rsmpi call. Restricted types and types with skipped fields are exceptions:
/// `buffer` returns a buffer of their values. The extent of the datatype is always `size_of::<T>()`.
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
/// Use the derive. The hidden items must describe the type truthfully. `visit` names fields that lie within
/// the type and do not overlap, with their own types, and the same fields as `LIST`. `lazy` returns the
/// same entry at each call, made for this type.
#[diagnostic::on_unimplemented(
    message = "MPI cannot carry `{Self}`: it does not implement `MpiDatatype`",
    label = "not a type that MPI can carry",
    note = "MPI can carry numbers, `bool`, `char`, arrays and tuples of these, and structs and enums that \
            derive `MpiDatatype`; if `{Self}` is your own type, put `#[derive(MpiDatatype)]` on its \
            definition",
    note = "a type of any shape is sent and received with `#[derive(MpiMessage)]`"
)]
pub unsafe trait MpiDatatype: MpiMessage + Sized + 'static {
    /// The type `Runtime` of this crate. An implementation that names it cannot have called functions of
    /// another crate: see [`Runtime`](super::runtime::Runtime).
    #[doc(hidden)]
    type DtypeRuntime: Ours;

    /// The fields that are sent, in declared order, if the type is a struct or tuple.
    #[doc(hidden)]
    const LIST: &'static [Field] = &[];
    /// The packing order, as indices into `LIST`; empty for the declared order.
    #[doc(hidden)]
    const ORDER: &'static [usize] = &[];
    /// `true` if the compiler does not choose the offsets of the fields.
    #[doc(hidden)]
    const FIXED: bool = true;
    /// `true` if all fields of the type are in `LIST`.
    #[doc(hidden)]
    const COMPLETE: bool = true;
    #[doc(hidden)]
    const FACTS: Facts = facts_of_fields::<Self>();

    #[doc(hidden)]
    const RUNS: RunBuffer =
        if Self::BYTES { runs_of_bytes::<Self>() } else { fields::runs(Self::LIST, Self::ORDER) };

    /// The type as a field at offset 0 of another type.
    #[doc(hidden)]
    const FIELD: Field = Field::new(&Self::FACTS, &Self::RUNS, solved_tree::<Self>);

    /// The cost model that the layout is solved for.
    #[doc(hidden)]
    const COSTS: LinearCosts = COSTS;

    /// `true` if MPI transfers the type as its bytes in memory, including padding.
    #[doc(hidden)]
    const BYTES: bool = false;

    /// `true` if the user vouches for the bytes that MPI itself receives.
    #[doc(hidden)]
    const VOUCHED: bool = false;

    #[doc(hidden)]
    fn visit(visitor: &mut impl Visitor);

    /// Visits one field of `LIST`. Used if `ORDER` gives the packing order.
    #[doc(hidden)]
    fn visit_nth(_visitor: &mut impl Visitor, _field: usize) {}

    /// Returns `true` if the packed bytes are a valid value. Used for types that are transferred as a base
    /// type.
    #[doc(hidden)]
    fn is_valid(_packed: &[u8]) -> bool {
        true
    }

    /// Visits the type as field `i` of the type `T`.
    #[doc(hidden)]
    #[inline(always)]
    fn visit_in<T: MpiDatatype>(visitor: &mut impl Visitor, i: usize) {
        visitor.field::<Self>(T::LIST[i].offset());
    }

    #[doc(hidden)]
    fn lazy() -> &'static LazyDatatype {
        Runtime::of_type::<Self>()
    }

    /// Returns the type tree before it is solved: for a struct, a strc of the solved trees of the fields.
    #[doc(hidden)]
    fn unsolved_tree() -> TypeTree {
        match Self::FACTS.base {
            Some(base) => TypeTree::Leaf(base),
            None if Self::BYTES => fields::elements(TypeTree::Leaf(BaseType::Byte), size_of::<Self>(), 1),
            None => fields::tree(Self::LIST, Self::ORDER),
        }
    }

    /// Returns the least-cost type tree of one value. Displacements are in bytes from the start of the value.
    fn tree() -> &'static TypeTree {
        &Self::lazy().solution().tree
    }

    /// Returns the type map of one value, in runs of equal base types at equal distances: `f64 @ 0, u8 @ 8`.
    /// Displacements are in bytes from the start of the value.
    ///
    /// # Errors
    /// `Argument` if there are too many runs to be listed.
    fn type_map() -> Result<Runs, Error> {
        Self::lazy().type_map()
    }

    /// Returns the cost of the type tree in its cost model. The default model counts the words that describe
    /// the tree.
    fn cost() -> u64 {
        Self::lazy().cost()
    }

    /// Returns the status of the cost: proven to be the least, or an upper bound.
    fn optimality() -> Optimality {
        Self::lazy().solution().optimality
    }

    /// Returns the calls that build the MPI datatype.
    fn constructor_calls() -> &'static Program {
        Self::lazy().program()
    }

    /// Returns the stage in which the layout was solved.
    fn layout_origin() -> LayoutOrigin {
        Self::lazy().origin()
    }

    /// Returns a picture of a value: each field in its colour, padding hatched, and the least-cost tree. The
    /// picture can be written as an SVG file ([`Picture::svg`](dtype_core::picture::Picture::svg)) or as text
    /// for the terminal ([`Picture::text`](dtype_core::picture::Picture::text)).
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
    /// `Argument` if displacements are too large to be counted.
    #[cfg(feature = "picture")]
    fn draw() -> Result<dtype_core::picture::Picture, Error> {
        let name = std::any::type_name::<Self>();
        super::draw::draw(name, size_of::<Self>(), Self::LIST, Self::lazy(), &Self::COSTS)
    }

    /// Checks that values are valid: every `bool` is 0 or 1, every `char` is a character, no `NonZero` is 0,
    /// and every enum is one of its variants. [`unpack_into`](crate::unpack_into) and all receiving calls of
    /// this crate check this. rsmpi's own calls do not: a received `bool`, or a value of a type with
    /// `#[mpi(unsafe_equivalence)]`, may be invalid.
    ///
    /// # Errors
    /// `Value`. Its offset counts the packed bytes of all values.
    fn validate_slice(values: &[Self]) -> Result<(), Error> {
        validate(values)
    }

    /// Returns values as an rsmpi `Buffer` for sending. Slices are buffers themselves, except those of
    /// restricted types and of types with skipped fields.
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

    /// Returns values as an rsmpi `BufferMut` for receiving. Skipped fields keep their values.
    #[cfg(feature = "mpi")]
    fn buffer_mut(values: &mut [Self]) -> ValuesMut<'_, Self>
    where
        Self: AnyPattern,
    {
        ValuesMut(values)
    }

    /// Returns the committed MPI datatype. The first call in a process builds it, and later calls return the
    /// same handle. `MPI_Finalize` frees it (MPI 4.1 sections 5.1.9 and 11.2.4). Below
    /// `MPI_THREAD_SERIALIZED`, only the main thread may call this function. At `MPI_THREAD_SERIALIZED`
    /// itself, no other thread may be in an MPI call at the same time.
    ///
    /// # Errors
    /// `State` before `MPI_Init`, after `MPI_Finalize`, and on a thread that may not call MPI; `Unsupported`
    /// if the library has no datatype for a base type, or takes no numbers that large; `Mpi` if an MPI call
    /// fails, or makes another datatype.
    #[cfg(feature = "mpi")]
    fn datatype() -> Result<mpi::datatype::DatatypeRef<'static>, Error> {
        Self::lazy().datatype()
    }
}

/// A visitor of the parts of a type, in packing order. Offsets are in bytes from the start of the value.
pub trait Visitor {
    /// Visits a type that is transferred as the base type `base`.
    fn leaf<T: MpiDatatype>(&mut self, base: BaseType);
    /// Visits a field of type `F`, by default like an array of one value.
    #[inline(always)]
    fn field<F: MpiDatatype>(&mut self, _offset: usize) {
        self.elements::<F>(1);
    }
    /// Visits an array: `count` values, one after another from the start of the visited type.
    fn elements<F: MpiDatatype>(&mut self, count: usize);
}

/// Returns a number below 2⁶³ that differs for types with different layouts in memory. It is the same on all
/// ranks that run the same program.
#[cfg(feature = "mpi")]
pub(crate) fn layout_number<T: MpiDatatype>() -> u64 {
    let mut hasher = DefaultHasher::new();
    (T::tree(), size_of::<T>(), align_of::<T>()).hash(&mut hasher);
    hasher.finish() >> 1
}

/// Returns the facts of a struct or tuple.
const fn facts_of_fields<T: MpiDatatype>() -> Facts {
    let none = Facts { fixed: T::FIXED, complete: T::COMPLETE, ..Facts::EMPTY };
    let facts = fields::facts(T::LIST, T::ORDER, none);
    Facts {
        dense: facts.dense && facts.packed_size == size_of::<T>(),
        wire_size: if T::BYTES { size_of::<T>() } else { facts.wire_size },
        receivable: facts.receivable || T::VOUCHED,
        ..facts
    }
}

/// Returns the runs of a type that is transferred as its bytes in memory.
///
/// # Panics
/// During constant evaluation, if the type cannot be transferred as bytes: see [`must_be_fixed`]. The
/// compiler then refuses the type.
pub const fn runs_of_bytes<T: MpiDatatype>() -> RunBuffer {
    must_be_fixed::<T>();
    RunBuffer::of_base(BaseType::Byte).repeated(size_of::<T>() as u64, 1)
}

/// Asserts that a type may be part of a type that is transferred as bytes.
///
/// # Panics
/// During constant evaluation, for any other type. The compiler then refuses the type.
pub const fn must_be_fixed<T: MpiDatatype>() {
    assert!(
        T::FACTS.complete && T::FACTS.fixed,
        "a field of a type with `#[mpi(wire = \"bytes\")]` must have the same layout in every program, and \
         no skipped fields: put `#[repr(C)]` on the type of this field and on the structs in it, and replace \
         tuples by such structs"
    );
}

impl Runtime {
    /// Returns the entry of a type that cannot have a `static` of its own: an array, a tuple or a generic
    /// struct.
    pub fn of_type<T: MpiDatatype>() -> &'static LazyDatatype {
        static ENTRIES: EntriesOfTypes = EntriesOfTypes::new();
        ENTRIES.get_or_make(TypeId::of::<T>(), &LazyDatatype::of_type::<T>)
    }
}

impl LazyDatatype {
    /// Creates the entry of a type that no macro has solved.
    pub const fn of_type<T: MpiDatatype>() -> Self {
        let description = Description::Listed(tree_unless_solved::<T>);
        Self::of(description, T::COSTS, Some(Bounds::of_extent(size_of::<T>() as i64)), None, solved::<T>)
    }

    /// Creates the entry of a type that a macro has solved, unless the macro has assumed something wrong.
    pub const fn of_expansion<T: MpiDatatype>(expansion: Option<Expansion>) -> Self {
        if expansion.is_none() {
            return Self::of_type::<T>();
        }
        let description = Description::Listed(T::unsolved_tree);
        Self::of(description, T::COSTS, Some(Bounds::of_extent(size_of::<T>() as i64)), expansion, unsolved)
    }
}

/// Returns a copy of the solved tree of a type.
fn solved_tree<T: MpiDatatype>() -> TypeTree {
    T::tree().clone()
}

/// A type whose layout constant evaluation solves.
struct SolvedType<T>(PhantomData<T>);

impl<T: MpiDatatype> SolvedType<T> {
    const SOLVED: Option<Solved> = Solved::of(&T::RUNS, &T::COSTS);
}

/// Returns the layout of a type, solved by constant evaluation when the compiler generates code for this
/// function.
fn solved<T: MpiDatatype>() -> Option<&'static Solved> {
    const { &SolvedType::<T>::SOLVED }.as_ref()
}

/// Returns the tree of a type that constant evaluation does not solve. For other types nothing asks for it,
/// and the compiler generates no code for the trees of their fields.
fn tree_unless_solved<T: MpiDatatype>() -> TypeTree {
    if const { SolvedType::<T>::SOLVED.is_some() } { TypeTree::structure([], []) } else { T::unsolved_tree() }
}

/// Checks that values are valid, whatever bytes they hold. It checks their packed bytes, because an invalid
/// value must not be read as its type.
fn validate<T: MpiDatatype>(values: &[T]) -> Result<(), Error> {
    /// The number of bytes to check at a time.
    const SOME: usize = 4096;
    let ValueType { facts, copying, .. } = ValueType::of::<T>();
    let size = facts.packed_size;
    // There may be any number of values without data.
    if facts.any_pattern || size == 0 {
        return Ok(());
    }
    let most = (SOME / size).max(1);
    for (i, some) in values.chunks(most).enumerate() {
        let pack = |packed: *mut u8| {
            // SAFETY: 1, since the values are borrowed; 2 and 3, since `packed` is room of their packed size.
            unsafe { (copying.pack)(some.as_ptr().cast_mut().cast(), some.len(), packed) };
        };
        // SAFETY: 1, since packing writes exactly the packed size.
        let packed = unsafe { written(size * some.len(), pack) };
        (copying.check)(&packed, i * most * size)?;
    }
    Ok(())
}
