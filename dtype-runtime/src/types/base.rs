//! Implementations of `MpiDatatype` for base types, arrays and tuples, and for types of other crates.

use std::{
    marker::PhantomData,
    num::{NonZero, Saturating, Wrapping},
};

use dtype_core::{BaseType, TypeTree, constant::RunBuffer};

use super::{
    datatype::{MpiDatatype, Visitor},
    entry::LazyDatatype,
    facts::Facts,
    fields::{self, Field},
    marks::{AnyPattern, Complete, marks},
    runtime::Runtime,
};

/// Expands to the members of `MpiDatatype` that list the fields of a type in this file. `LIST` and `visit`
/// list the same fields.
macro_rules! fields {
    ($offset_of:ident, [$($field:tt: $type:ty),*]) => {
        type DtypeRuntime = Runtime;

        const LIST: &'static [Field] =
            &[$(<$type>::FIELD.at(memoffset::$offset_of!(Self, $field), stringify!($field))),*];

        #[inline(always)]
        fn visit(_visitor: &mut impl Visitor) {
            $(_visitor.field::<$type>(memoffset::$offset_of!(Self, $field));)*
        }
    };
}

/// Implements `MpiDatatype` and the marks for types that are transferred as a base type: `{type}: {base}`. A
/// restricted type adds a condition that is `true` if the packed bytes are a valid value.
macro_rules! base_types {
    (any pattern) => { true };
    (any pattern $packed:ident) => { false };
    (mark $type:ty) => {
        marks!(AnyPattern: [] $type;);
        marks!(Complete: [] $type;);
    };
    (mark $type:ty, $packed:ident) => { marks!(Complete: [] $type;); };
    ($($type:ty: $base:ident $(if |$packed:ident| $valid:expr)?,)*) => {$(
        base_types!(mark $type $(, $packed)?);

        // SAFETY: the type has the size of the base type, and no padding.
        unsafe impl MpiDatatype for $type {
            type DtypeRuntime = Runtime;

            const FACTS: Facts = Facts::of_base(BaseType::$base, base_types!(any pattern $($packed)?));
            const RUNS: RunBuffer = RunBuffer::of_base(BaseType::$base);
            #[inline(always)]
            fn visit(visitor: &mut impl Visitor) {
                visitor.leaf::<Self>(BaseType::$base);
            }
            $(fn is_valid($packed: &[u8]) -> bool {
                $valid
            })?
            fn lazy() -> &'static LazyDatatype {
                static LAZY: LazyDatatype = LazyDatatype::of_type::<$type>();
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

// MPI has no predefined datatype for either type, so their bits are transferred as integers. MPI cannot sum
// them in a reduction.
#[cfg(feature = "half")]
base_types! { half::f16: U16, half::bf16: U16, }

fn not_zero(packed: &[u8]) -> bool {
    packed.iter().any(|byte| *byte != 0)
}

/// Implements `MpiDatatype` for wrappers of another type: `{generics} {type} = {field}: {inner type}`.
macro_rules! transparent {
    ($([$($generics:tt)*] $type:ty = $field:tt: $inner:ty;)*) => {$(
        // SAFETY: the listed field is the only one with data.
        unsafe impl<$($generics)*> MpiDatatype for $type {
            fields!(offset_of, [$field: $inner]);
        }
    )*};
}

transparent! {
    [T: MpiDatatype] Wrapping<T> = 0: T;
    [T: MpiDatatype] Saturating<T> = 0: T;
}

// SAFETY: the type has no data.
unsafe impl<T: ?Sized + 'static> MpiDatatype for PhantomData<T> {
    fields!(offset_of, []);
}

/// Implements the trait for matrices of fixed size, of one version of nalgebra.
#[cfg(any(feature = "nalgebra", feature = "nalgebra-0_34"))]
macro_rules! matrices {
    ($nalgebra:ident) => {
        // SAFETY: nalgebra's fixed-size matrices are arrays of columns, as documented for `ArrayStorage`. The
        // constant `FACTS` compares the sizes.
        unsafe impl<T: MpiDatatype + $nalgebra::Scalar, const R: usize, const C: usize> MpiDatatype
            for $nalgebra::SMatrix<T, R, C>
        {
            type DtypeRuntime = Runtime;

            const FACTS: Facts = {
                assert!(size_of::<Self>() == size_of::<[[T; R]; C]>());
                <[[T; R]; C]>::FACTS
            };
            const RUNS: RunBuffer = <[[T; R]; C]>::RUNS;

            fn unsolved_tree() -> TypeTree {
                <[[T; R]; C]>::unsolved_tree()
            }

            #[inline(always)]
            fn visit(visitor: &mut impl Visitor) {
                visitor.elements::<[T; R]>(C);
            }
        }
    };
}

#[cfg(feature = "nalgebra")]
matrices!(nalgebra);
#[cfg(feature = "nalgebra-0_34")]
matrices!(nalgebra_0_34);

// SAFETY: the elements of an array lie one after another, `size_of::<T>()` apart.
unsafe impl<T: MpiDatatype, const N: usize> MpiDatatype for [T; N] {
    type DtypeRuntime = Runtime;

    const FACTS: Facts = T::FACTS.elements(N);
    // A struct is solved as a whole, so an array in it need not be solved by itself.
    const FIELD: Field = Field::new(&Self::FACTS, &Self::RUNS, Self::unsolved_tree);
    const RUNS: RunBuffer = T::RUNS.repeated(N as u64, size_of::<T>() as i64);

    fn unsolved_tree() -> TypeTree {
        fields::elements(T::FIELD.tree(), N, size_of::<T>())
    }

    #[inline(always)]
    fn visit(visitor: &mut impl Visitor) {
        visitor.elements::<T>(N);
    }
}

macro_rules! tuples {
    (fixed) => { true };
    (fixed $($name:ident)+) => { false };
    ($($name:ident $index:tt)*) => {
        // SAFETY: all fields are listed, in order, at the offsets that the compiler chose.
        unsafe impl<$($name: MpiDatatype),*> MpiDatatype for ($($name,)*) {
            fields!(offset_of_tuple, [$($index: $name),*]);
            const FIXED: bool = tuples!(fixed $($name)*);
        }
    };
}

for_each_tuple!(tuples);
