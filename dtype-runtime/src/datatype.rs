//! The trait `MpiDatatype`, and its implementations for base types, arrays and tuples.

use std::{
    marker::PhantomData,
    num::{NonZero, Saturating, Wrapping},
};

use dtype_core::{BaseType, LinearCosts, NodeCosts, Optimality, Program, TypeTree, constant::RunBuffer};

use crate::{
    Error,
    expansion::Runtime,
    fields::{Description, Facts, Field, Fields, Visitor, fields, runs_of_bytes, runs_of_fields},
    lazy::{LayoutOrigin, LazyDatatype, of_type},
    pack::validate,
};

/// A type whose values MPI can carry: base types, arrays and tuples of such types, and structs and enums that derive it.
///
/// A deriving type also implements rsmpi's `Equivalence` (with the feature `mpi`), so that its values, slices
/// and `Vec`s are buffers of every rsmpi call. The datatype's extent is `size_of::<T>()`, always.
///
/// ```
/// use dtype_runtime::{LayoutOrigin, MpiDatatype};
///
/// #[derive(MpiDatatype)]
/// #[repr(C)]
/// struct Cell { value: f64, level: u8 }
///
/// assert_eq!(Cell::type_map(), "f64 @ 0, u8 @ 8");
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
/// Derive it. The hidden items must describe the type truthfully: `visit` names fields that lie within the type
/// and do not overlap, with their own types, the same as `FIELDS`; `lazy` is the same entry at each call,
/// made for this type.
#[diagnostic::on_unimplemented(
    message = "MPI cannot carry `{Self}`: it does not implement `MpiDatatype`",
    label = "not a type that MPI can carry",
    note = "numbers, `bool`, `char`, arrays and tuples of these, and structs and enums that derive `MpiDatatype` can; \
            if `{Self}` is a type of yours, put `#[derive(MpiDatatype)]` on its definition"
)]
pub unsafe trait MpiDatatype: Sized + 'static {
    /// Of the type `Runtime` here, so that who implements the trait cannot have called that of anybody else: see [`Runtime`].
    #[doc(hidden)]
    const RUNTIME: Runtime = Runtime::OURS;

    /// The fields that travel, if the type is a struct or tuple, and the runs of their types. In which order they travel, unless it is
    /// this one; whether the compiler has no say in where they lie; whether there are no other fields.
    #[doc(hidden)]
    const LIST: &'static [Field] = &[];
    #[doc(hidden)]
    const FIELD_RUNS: &'static [&'static RunBuffer] = &[];
    #[doc(hidden)]
    const ORDER: &'static [usize] = &[];
    #[doc(hidden)]
    const FIXED: bool = true;
    #[doc(hidden)]
    const COMPLETE: bool = true;
    #[doc(hidden)]
    const FIELDS: Fields =
        Fields { list: Self::LIST, order: Self::ORDER, fixed: Self::FIXED, complete: Self::COMPLETE };

    #[doc(hidden)]
    const DESCRIPTION: Description =
        if Self::BYTES { Description::Bytes(size_of::<Self>()) } else { Description::Fields(&Self::FIELDS) };

    #[doc(hidden)]
    const FACTS: Facts = Facts::of_fields::<Self>();

    #[doc(hidden)]
    const RUNS: RunBuffer =
        if Self::BYTES { runs_of_bytes::<Self>() } else { runs_of_fields(&Self::FIELDS, Self::FIELD_RUNS) };

    /// The type as a field of another one, at its start.
    #[doc(hidden)]
    const FIELD: Field = Field::of::<Self>();

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

    /// For a type that travels as a base type: whether these packed bytes are a value of it.
    #[doc(hidden)]
    fn is_valid(_packed: &[u8]) -> bool {
        true
    }

    #[doc(hidden)]
    #[inline(always)]
    fn visit_field(visitor: &mut impl Visitor, offset: usize) {
        visitor.field::<Self>(offset);
    }

    #[doc(hidden)]
    fn lazy() -> &'static LazyDatatype;

    /// The least-cost type tree of one value; displacements are bytes from its start.
    fn type_tree() -> &'static TypeTree {
        &Self::lazy().solution().tree
    }

    /// The type map of one value in short, the same runs as the fields: `f64 @ 0, u8 @ 8`.
    fn type_map() -> String {
        Self::lazy().type_map()
    }

    /// The cost of the type tree in the storage model.
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

    /// Checks that values are such as their type has: that every `bool` in them is 0 or 1, every `char` a character, no
    /// `NonZero` 0, and every enum one of its variants. [`unpack_into`](crate::unpack_into) and all of our receiving calls check this.
    /// rsmpi's own calls receive `bool` without, as they do in rsmpi, and types with `#[mpi(unsafe_equivalence)]`.
    ///
    /// # Errors
    /// [`Error::InvalidValue`], its offset that in the packed bytes of all values.
    fn validate_slice(values: &[Self]) -> Result<(), Error> {
        validate(values)
    }

    /// Values as an rsmpi `Buffer`, to be sent. Slices are buffers themselves, but for types with skipped fields.
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
    fn buffer(values: &[Self]) -> crate::Values<'_, Self> {
        crate::Values(values)
    }

    /// Values as an rsmpi `BufferMut`, to be received into, if the type is [`AnyPattern`](crate::AnyPattern). Skipped fields are left as
    /// they are.
    #[cfg(feature = "mpi")]
    fn buffer_mut(values: &mut [Self]) -> crate::ValuesMut<'_, Self> {
        crate::ValuesMut(values)
    }

    /// The committed MPI datatype: built at the first call in a process, the same handle at every later one, freed
    /// by `MPI_Finalize` (MPI 4.1 sections 5.1.9 and 11.2.4). Safe to call from several threads, if MPI was
    /// initialized for at least `MPI_THREAD_SERIALIZED` and no other thread is in an MPI call it excludes.
    ///
    /// # Errors
    /// Before `MPI_Init` and after `MPI_Finalize`, and where MPI refuses a call.
    #[cfg(feature = "mpi")]
    fn datatype() -> Result<mpi::datatype::DatatypeRef<'static>, Error> {
        Self::lazy().datatype()
    }
}

/// The cost model of all that is solved here; the macros use the same.
pub(crate) const COSTS: LinearCosts = NodeCosts::THESIS.linear();

/// Whether `T` is the Rust type of `base`: an expansion that read a name asks what the name means here.
pub const fn is_base<T: MpiDatatype>(base: BaseType) -> bool {
    matches!(T::FACTS.base, Some(found) if found as u8 == base as u8)
}

/// Types that travel as a base type: `{type}: {base}`, and a condition on the packed bytes where not all are values.
macro_rules! base_types {
    (any pattern) => { true };
    (any pattern $packed:ident) => { false };
    ($($type:ty: $base:ident $(if |$packed:ident| $valid:expr)?,)*) => {$(
        // SAFETY: the type is of the size of the base type, without padding.
        unsafe impl MpiDatatype for $type {
            const FACTS: Facts = Facts::of_base(BaseType::$base, base_types!(any pattern $($packed)?));
            const DESCRIPTION: Description = Description::Leaf(BaseType::$base);
            const RUNS: RunBuffer = RunBuffer::of_base(BaseType::$base);
            #[inline(always)]
            fn visit(visitor: &mut impl Visitor) {
                visitor.leaf::<Self>(BaseType::$base);
            }
            $(fn is_valid($packed: &[u8]) -> bool {
                $valid
            })?
            fn lazy() -> &'static LazyDatatype {
                static LAZY: LazyDatatype = LazyDatatype::new::<$type>(None);
                &LAZY
            }
        }
    )*};
}

base_types! {
    i8: I8, i16: I16, i32: I32, i64: I64, u8: U8, u16: U16, u32: U32, u64: U64, f32: F32, f64: F64,
    bool: Bool if |packed| matches!(packed, [0 | 1]),
    char: U32 if |packed| <[u8; 4]>::try_from(packed).is_ok_and(|bytes| {
        char::from_u32(u32::from_ne_bytes(bytes)).is_some()
    }),
    NonZero<i8>: I8 if |packed| not_zero(packed), NonZero<u8>: U8 if |packed| not_zero(packed),
    NonZero<i16>: I16 if |packed| not_zero(packed), NonZero<u16>: U16 if |packed| not_zero(packed),
    NonZero<i32>: I32 if |packed| not_zero(packed), NonZero<u32>: U32 if |packed| not_zero(packed),
    NonZero<i64>: I64 if |packed| not_zero(packed), NonZero<u64>: U64 if |packed| not_zero(packed),
}

#[cfg(target_pointer_width = "64")]
base_types! {
    usize: U64, isize: I64,
    NonZero<usize>: U64 if |packed| not_zero(packed), NonZero<isize>: I64 if |packed| not_zero(packed),
}

#[cfg(target_pointer_width = "32")]
base_types! {
    usize: U32, isize: I32,
    NonZero<usize>: U32 if |packed| not_zero(packed), NonZero<isize>: I32 if |packed| not_zero(packed),
}

#[cfg(feature = "num-complex")]
base_types! { num_complex::Complex<f32>: C32, num_complex::Complex<f64>: C64, }

// MPI has no predefined datatype for either, so their bits travel; they cannot be summed on the way.
#[cfg(feature = "half")]
base_types! { half::f16: U16, half::bf16: U16, }

fn not_zero(packed: &[u8]) -> bool {
    packed.iter().any(|byte| *byte != 0)
}

/// Types that are another one with a name: `{generics} {type} = {field}: {inner type}`.
macro_rules! transparent {
    ($([$($generics:tt)*] $type:ty = $field:tt: $inner:ty;)*) => {$(
        // SAFETY: the only field with data.
        unsafe impl<$($generics)*> MpiDatatype for $type {
            fields!(offset_of, [$field: $inner]);

            fn lazy() -> &'static LazyDatatype {
                of_type::<Self>()
            }
        }
    )*};
}

transparent! {
    [T: MpiDatatype] Wrapping<T> = 0: T;
    [T: MpiDatatype] Saturating<T> = 0: T;
}

// SAFETY: no data at all.
unsafe impl<T: ?Sized + 'static> MpiDatatype for PhantomData<T> {
    fields!(offset_of, []);

    fn lazy() -> &'static LazyDatatype {
        of_type::<Self>()
    }
}

// SAFETY: nalgebra's fixed-size matrices are arrays of columns: `ArrayStorage` is documented so, and the size is compared.
#[cfg(feature = "nalgebra")]
unsafe impl<T: MpiDatatype + nalgebra::Scalar, const R: usize, const C: usize> MpiDatatype
    for nalgebra::SMatrix<T, R, C>
{
    const DESCRIPTION: Description = <[[T; R]; C]>::DESCRIPTION;
    const FACTS: Facts = {
        assert!(size_of::<Self>() == size_of::<[[T; R]; C]>());
        <[[T; R]; C]>::FACTS
    };
    const RUNS: RunBuffer = <[[T; R]; C]>::RUNS;

    #[inline(always)]
    fn visit(visitor: &mut impl Visitor) {
        visitor.elements::<[T; R]>(C);
    }

    fn lazy() -> &'static LazyDatatype {
        of_type::<Self>()
    }
}

// SAFETY: an array is its elements one after the other, `size_of::<T>()` apart.
unsafe impl<T: MpiDatatype, const N: usize> MpiDatatype for [T; N] {
    const DESCRIPTION: Description = Description::Elements(T::lazy, N, size_of::<T>());
    const FACTS: Facts = Facts::elements::<T>(N);
    const RUNS: RunBuffer = T::RUNS.repeated(N as u64, size_of::<T>() as i64);

    #[inline(always)]
    fn visit(visitor: &mut impl Visitor) {
        visitor.elements::<T>(N);
    }

    fn lazy() -> &'static LazyDatatype {
        of_type::<Self>()
    }
}

macro_rules! tuples {
    (fixed) => { true };
    (fixed $($name:ident)+) => { false };
    ($($name:ident $index:tt)*) => {
        // SAFETY: the fields, in order, where the compiler put them.
        unsafe impl<$($name: MpiDatatype),*> MpiDatatype for ($($name,)*) {
            fields!(offset_of_tuple, [$($index: $name),*]);
            const FIXED: bool = tuples!(fixed $($name)*);

            fn lazy() -> &'static LazyDatatype {
                of_type::<Self>()
            }
        }
    };
}

tuples! {}
tuples! { A 0 }
tuples! { A 0 B 1 }
tuples! { A 0 B 1 C 2 }
tuples! { A 0 B 1 C 2 D 3 }
tuples! { A 0 B 1 C 2 D 3 E 4 }
tuples! { A 0 B 1 C 2 D 3 E 4 F 5 }
tuples! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 }
tuples! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 }
tuples! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 }
tuples! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 }
tuples! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 }
tuples! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11 }
