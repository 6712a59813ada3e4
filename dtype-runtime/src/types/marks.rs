//! Marks: traits that the derive implements, and that rsmpi's `Equivalence` requires. They say what rsmpi may
//! do with values.
//!
//! The calls of this crate check the bytes that arrive before they become values. rsmpi's calls have MPI
//! write directly into the values.

use std::{
    marker::PhantomData,
    num::{Saturating, Wrapping},
};

use super::runtime::{Ours, Runtime};

/// Types that MPI itself may receive: every pattern of the transferred bytes is a valid value.
///
/// `char`, `NonZero` and enums do not implement the trait: a message of integers may hold numbers that are
/// not values of these types. `bool` implements the trait, although a receive of `bool` can match a send of
/// bytes: rsmpi itself accepts this, too. A type whose fields implement the trait derives it with
/// [`MpiDatatype`](crate::MpiDatatype).
///
/// ```
/// use dtype_runtime::{MpiDatatype, types::AnyPattern};
///
/// /// All ranks send one of these two values.
/// #[derive(MpiDatatype)]
/// #[mpi(unsafe_equivalence)]
/// #[repr(u8)]
/// enum Side { Left, Right }
///
/// fn may_be_received_by_mpi<T: AnyPattern>() {}
/// may_be_received_by_mpi::<Side>();
/// ```
///
/// # Safety
/// Every byte pattern that MPI receives with the datatype of the type is a valid value, or the user vouches
/// for the bytes that arrive.
#[diagnostic::on_unimplemented(
    message = "rsmpi's own calls cannot take `{Self}`: not every byte pattern is a valid value, or it lacks \
               `MpiDatatype`",
    label = "MPI does not check the bytes that it receives",
    note = "use the calls of `dtype_runtime::Comm`, such as `world.peer(1).receive_into(&mut x)`, which \
            check the bytes; to send with rsmpi's own calls, pass `T::buffer(&values)` of a type `T` that \
            derives `MpiDatatype`",
    note = "if you guarantee that all senders send valid values, put `#[mpi(unsafe_equivalence)]` on the \
            type that derives `MpiDatatype`"
)]
pub unsafe trait AnyPattern {
    /// See [`Ours`].
    #[doc(hidden)]
    type DtypeRuntime: Ours;
}

/// Types without skipped fields.
///
/// # Safety
/// All fields are sent.
#[diagnostic::on_unimplemented(
    message = "rsmpi's own calls cannot take values of `{Self}`: it has fields with `#[mpi(skip)]`, or it \
               lacks `MpiDatatype`",
    label = "rsmpi may build values from received bytes, in which these fields are not initialized",
    note = "pass `T::buffer(&values)` or `T::buffer_mut(&mut values)` instead of the values"
)]
#[doc(hidden)]
pub unsafe trait Complete {
    /// See [`Ours`].
    #[doc(hidden)]
    type DtypeRuntime: Ours;
}

/// A bound that no type satisfies. Its message explains why rsmpi cannot take an enum.
#[diagnostic::on_unimplemented(
    message = "rsmpi's own calls cannot take `{T}`: not every byte pattern is a valid value",
    label = "MPI does not check the bytes that it receives",
    note = "use the calls of `dtype_runtime::Comm`, such as `world.peer(1).receive_into(&mut x)`, which \
            check the bytes; to send with rsmpi's own calls, pass `{T}::buffer(&values)`",
    note = "if you guarantee that all senders send valid values, put `#[mpi(unsafe_equivalence)]` on `{T}`"
)]
pub trait ReceivedByMpi<T> {}

/// A bound that no type satisfies. Its message explains why rsmpi cannot take a struct with skipped fields.
#[diagnostic::on_unimplemented(
    message = "rsmpi's own calls cannot take values of `{T}`: it has fields with `#[mpi(skip)]`",
    label = "rsmpi may build values from received bytes, in which these fields are not initialized",
    note = "pass `{T}::buffer(&values)` or `{T}::buffer_mut(&mut values)` instead of the values"
)]
pub trait MadeByRsmpi<T> {}

/// Implements a mark for each `[generic parameters] type`.
macro_rules! marks {
    ($mark:ident: $([$($generics:tt)*] $type:ty;)*) => {$(
        // SAFETY: the type is a number of any bits, has no data, or holds only such types; for `bool`, see
        // the trait.
        unsafe impl<$($generics)*> $mark for $type {
            type DtypeRuntime = Runtime;
        }
    )*};
}

pub(super) use marks;

/// Implements marks for types that hold others.
macro_rules! holders {
    ($($mark:ident)*) => {$(
        marks! { $mark:
            [T: $mark + ?Sized] &T;
            [T: $mark, const N: usize] [T; N];
            [T: $mark] Wrapping<T>;
            [T: $mark] Saturating<T>;
            [T: ?Sized] PhantomData<T>;
        }
        #[cfg(feature = "nalgebra")]
        marks!($mark: [T: $mark, const R: usize, const C: usize] nalgebra::SMatrix<T, R, C>;);
        #[cfg(feature = "nalgebra-0_34")]
        marks!($mark: [T: $mark, const R: usize, const C: usize] nalgebra_0_34::SMatrix<T, R, C>;);
    )*};
}

macro_rules! tuples {
    ($($name:ident $index:tt)*) => {
        marks!(AnyPattern: [$($name: AnyPattern),*] ($($name,)*););
        marks!(Complete: [$($name: Complete),*] ($($name,)*););
    };
}

// The base types have their marks in `base.rs`. MPI may receive `bool`, too.
marks!(AnyPattern: [] bool;);
holders!(AnyPattern Complete);
for_each_tuple!(tuples);
