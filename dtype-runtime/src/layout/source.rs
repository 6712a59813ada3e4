//! Sources: the arrays to which layouts apply, with the addresses and strides of their elements.

use std::convert::Infallible;

use dtype_core::ArrayOrder;
use dtype_engine::Error as PackError;

use super::{
    entry::{Entry, entry_of},
    region::{Region, Strides},
    shape::{Dimensions, Memory},
};
use crate::{Error, types::MpiDatatype};

/// A source: memory to which a layout of an array of elements `T` applies.
///
/// [`Layout::of`](crate::Layout::of) returns a view if the types guarantee the shape of the array. Otherwise
/// it checks the shape, and returns a `Result`:
///
/// | source, for an array of 3 rows of 5 numbers | layout known at compile time | other layouts |
/// |---|---|---|
/// | nested arrays: `[[f64; 5]; 3]` | a view | a `Result` |
/// | several of them: an array, a slice or a `Vec` of `[[f64; 5]; 3]` | a view of all | a `Result` |
/// | a slice or a `Vec` of rows: `[[f64; 5]]` | a `Result` | a `Result` |
/// | a slice or a `Vec` of elements: `[f64]` | a `Result` | a `Result` |
/// | arrays of `ndarray`, matrices of `nalgebra`, and their views | a `Result` | a `Result` |
/// | bytes, for a type map: `[u8]`, `Vec<u8>`, `[u8; N]` | | a `Result` |
/// | a reference or a `Box` to one of these | as of the source | a `Result` |
///
/// ```
/// use dtype_runtime::layout;
///
/// let column = layout!(f64[3][5] => [.., 1]);
/// let nested = [[1.0; 5]; 3];
/// assert_eq!(column.of(&nested).iter().sum::<f64>(), 3.0);
/// assert_eq!(column.of(&[nested, nested]).iter().count(), 6); // of two arrays
/// assert_eq!(column.of(&vec![2.0; 15])?.iter().sum::<f64>(), 6.0);
/// assert!(column.of(&vec![2.0; 14]).is_err());
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// `Shape` is the shape of the array as the compiler knows it: nested arrays of `()` for a layout that is
/// known at compile time, [`Dimensions`] for any other layout, [`Memory`] for a type map.
///
/// # Safety
/// `place` returns the place of arrays of the region's shape, with elements `T` at the strides of the place.
/// The elements are readable as long as the source is borrowed.
#[diagnostic::on_unimplemented(
    message = "the layout is not a part of a `{Self}`",
    label = "not the array that the layout is a part of",
    note = "the layout's array has the shape `{Shape}` and elements of type `{T}`: pass nested arrays of \
            exactly that shape, a slice or `Vec` of the same number of elements, or, with the feature \
            `ndarray` (0.17), `nalgebra` (0.35) or `nalgebra-0_34`, an array or matrix of that crate"
)]
pub unsafe trait ArrayLike<T, Shape: ?Sized> {
    /// The error of the shape check: an [`Error`], or `Infallible` if the types guarantee the shape.
    type Mismatch: Mismatch;

    /// Returns the place of the arrays.
    ///
    /// # Errors
    /// `Argument` if the source has another shape than the region, or too few bytes for a type map.
    #[doc(hidden)]
    fn place(&self, region: &Region<'_>) -> Result<Place, Self::Mismatch>;
}

/// A source that a program can receive into through a layout.
///
/// # Safety
/// The conditions of [`ArrayLike`] hold. The elements are also writable, and no two of them have a byte in
/// common.
#[diagnostic::on_unimplemented(
    message = "nothing can be received into a part of a `{Self}`",
    label = "not the array that the layout is a part of, or read-only",
    note = "the layout's array has the shape `{Shape}` and elements of type `{T}`: pass nested arrays of \
            exactly that shape, a slice or `Vec` of the same number of elements, or, with the feature \
            `ndarray` (0.17), `nalgebra` (0.35) or `nalgebra-0_34`, an array or matrix of that crate"
)]
pub unsafe trait ArrayLikeMut<T, Shape: ?Sized>: ArrayLike<T, Shape> {
    /// Returns the place of the arrays.
    ///
    /// # Errors
    /// The errors of [`ArrayLike::place`].
    #[doc(hidden)]
    fn place_mut(&mut self, region: &Region<'_>) -> Result<Place, Self::Mismatch>;
}

/// The error type of the shape check. It determines the return type of [`Layout::of`](crate::Layout::of).
#[doc(hidden)]
pub trait Mismatch: Sized {
    /// The return type: the view itself, or a `Result` of it.
    type Outcome<V>;

    /// Converts the result of the shape check to the return type.
    #[doc(hidden)]
    fn outcome<V>(view: Result<V, Self>) -> Self::Outcome<V>;
}

/// The return type of [`Layout::of`](crate::Layout::of): a view, or a `Result` of one.
pub type Outcome<M, V> = <M as Mismatch>::Outcome<V>;

impl Mismatch for Infallible {
    type Outcome<V> = V;

    fn outcome<V>(view: Result<V, Self>) -> V {
        let Ok(view) = view;
        view
    }
}

impl Mismatch for Error {
    type Outcome<V> = Result<V, Self>;

    fn outcome<V>(view: Result<V, Self>) -> Result<V, Self> {
        view
    }
}

/// The place of arrays in memory: their address, number and strides.
#[derive(Clone, Copy)]
pub struct Place {
    /// The address of the first element of the first array.
    pub(crate) first: *mut u8,
    /// The number of arrays, one after another.
    pub(crate) copies: usize,
    /// The bytes from one element to the next along each dimension; `None` for an array without gaps.
    pub(crate) strides: Option<Strides>,
}

impl Place {
    /// Returns the place of arrays without gaps, in the order of the region.
    fn without_gaps(first: *const u8, copies: usize) -> Self {
        Self { first: first.cast_mut(), copies, strides: None }
    }

    /// Returns `true` for a single array without gaps.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.copies == 1 && self.strides.is_none()
    }

    /// Returns the strides along the dimensions of the region's array, in bytes.
    #[inline]
    pub(super) fn strides(&self, region: &Region<'_>) -> Strides {
        self.strides.unwrap_or_else(|| region.contiguous())
    }

    /// Returns the entry of the region of these arrays.
    pub(super) fn entry(&self, region: &Region<'_>) -> Entry {
        entry_of(region, &self.strides(region), self.copies)
    }

    /// Returns the address of the first value that the region selects.
    #[cfg(feature = "mpi")]
    #[inline]
    pub(super) fn first_value(&self, region: &Region<'_>) -> *mut u8 {
        self.first.wrapping_offset(region.first(&self.strides(region)))
    }

    /// Returns the place of a slice of elements. For a region without dimensions, each element is an array;
    /// otherwise the slice is one array, and must have as many elements as the region's array.
    fn of_slice(first: *const u8, length: usize, region: &Region<'_>) -> Result<Self, Error> {
        match region.shape {
            [] => Ok(Self::without_gaps(first, length)),
            _ if length == region.array_elements() => Ok(Self::without_gaps(first, 1)),
            shape => Err(Error::Shape { expected: shape.to_vec(), found: vec![length] }),
        }
    }

    /// Returns the place of the bytes of a type map, of which there must be at least `expected`.
    fn of_bytes(first: *const u8, length: usize, expected: usize) -> Result<Self, Error> {
        if length < expected {
            return Err(PackError::Reach { first: 0, end: expected as i128, found: length }.into());
        }
        Ok(Self::without_gaps(first, 1))
    }

    /// Returns the place of copies of nested arrays with these lengths, the outermost first.
    fn of_nested(
        first: *const u8,
        copies: usize,
        lengths: &[usize],
        region: &Region<'_>,
    ) -> Result<Self, Error> {
        let mut found = lengths.to_vec();
        if region.order == ArrayOrder::ColumnMajor {
            found.reverse();
        }
        if found != region.shape {
            return Err(Error::Shape { expected: region.shape.to_vec(), found });
        }
        Ok(Self::without_gaps(first, copies))
    }

    /// Returns the place of an array with strides of its own, which are given in elements.
    #[cfg(any(feature = "ndarray", feature = "nalgebra", feature = "nalgebra-0_34"))]
    pub(crate) fn with_strides<T>(
        first: *const T,
        shape: &[usize],
        steps: &[isize],
        region: &Region<'_>,
    ) -> Result<Self, Error> {
        if shape != region.shape {
            return Err(Error::Shape { expected: region.shape.to_vec(), found: shape.to_vec() });
        }
        let mut strides = region.contiguous();
        let mut has_gaps = false;
        // The stride of a dimension without a second element has no meaning, and can be any number.
        for (k, step) in steps.iter().enumerate().filter(|(k, _)| shape[*k] > 1) {
            let stride = step.wrapping_mul(size_of::<T>() as isize);
            has_gaps |= stride != strides[k];
            strides[k] = stride;
        }
        Ok(Self { first: first.cast_mut().cast(), copies: 1, strides: has_gaps.then_some(strides) })
    }
}

/// Implements both traits: `[generics] one|all source type, element, shape, mismatch, |first, length, region|
/// place`. The source is a single value (`one`) or like a slice (`all`), and the place is computed from its
/// pointer and length. The compiler need not recommend these implementations: the messages of the traits list
/// the possible sources.
macro_rules! source {
    (@slice one $value:ident $from:ident) => { std::slice::$from($value) };
    (@slice all $value:ident $from:ident) => { $value };
    ([$($generics:tt)*] $what:ident $type:ty, $element:ty, $shape:ty, $mismatch:ty,
     |$first:ident, $length:ident, $region:ident| $place:expr) => {
        #[diagnostic::do_not_recommend]
        // SAFETY: the elements are those of the slice or array, or of the arrays in it; the types guarantee
        // equal shapes, or `Place` compares the shapes.
        unsafe impl<$($generics)*> ArrayLike<$element, $shape> for $type {
            type Mismatch = $mismatch;

            #[inline]
            fn place(&self, $region: &Region<'_>) -> Result<Place, $mismatch> {
                let elements: &[_] = source!(@slice $what self from_ref);
                let ($first, $length) = (elements.as_ptr().cast(), elements.len());
                let _ = ($length, $region);
                $place
            }
        }

        #[diagnostic::do_not_recommend]
        // SAFETY: as for `ArrayLike`; the elements are borrowed mutably, and are distinct.
        unsafe impl<$($generics)*> ArrayLikeMut<$element, $shape> for $type {
            #[inline]
            fn place_mut(&mut self, $region: &Region<'_>) -> Result<Place, $mismatch> {
                let elements: &mut [_] = source!(@slice $what self from_mut);
                let ($first, $length) = (elements.as_mut_ptr().cast_const().cast(), elements.len());
                let _ = ($length, $region);
                $place
            }
        }
    };
}

// Single values, and arrays of them.
source!([T: MpiDatatype] one T, T, (), Infallible, |first, length, region| Ok(Place::without_gaps(first, 1)));
source!([T: MpiDatatype] one T, T, Dimensions<0>, Error, |first, length, region| {
    Ok(Place::without_gaps(first, 1))
});
source!([T: MpiDatatype, const K: usize] all [T; K], T, (), Infallible, |first, length, region| {
    Ok(Place::without_gaps(first, K))
});
source!([T: MpiDatatype, const K: usize] all [T; K], T, Dimensions<0>, Error, |first, length, region| {
    Ok(Place::without_gaps(first, K))
});

// Slices of elements.
source!([T: MpiDatatype, Shape: ?Sized] all [T], T, Shape, Error, |first, length, region| {
    Place::of_slice(first, length, region)
});
source!([T: MpiDatatype, Shape: ?Sized] all Vec<T>, T, Shape, Error, |first, length, region| {
    Place::of_slice(first, length, region)
});

// Sources of bytes for a type map of `N` bytes. They may be longer.
source!([const N: usize] all [u8], [u8; N], Memory, Error, |first, length, region| {
    Place::of_bytes(first, length, N)
});
source!([const N: usize] all Vec<u8>, [u8; N], Memory, Error, |first, length, region| {
    Place::of_bytes(first, length, N)
});
source!([const N: usize, const M: usize] all [u8; M], [u8; N], Memory, Error, |first, length, region| {
    Place::of_bytes(first, length, N)
});

/// Implements both traits for nested arrays of every depth, up to the number of names in the last list.
macro_rules! nested {
    ($row:ty, $unit:ty, [$($inner:ident)*], []) => {};
    ($row:ty, $unit:ty, [$($inner:ident)*], [$outer:ident $depth:literal $($more:tt)*]) => {
        nested!(array [$row; $outer], [$unit; $outer], $depth, [$outer $($inner)*]);
        nested!(rows $row, [$unit; $outer], $depth, $outer, [$($inner)*]);
        nested!(behind [$unit; $outer], [const $outer: usize, $(const $inner: usize),*]);
        nested!(behind Dimensions<$depth>, []);
        nested!([$row; $outer], [$unit; $outer], [$outer $($inner)*], [$($more)*]);
    };
    // One array, an array of arrays, and slices of arrays.
    (array $array:ty, $unit:ty, $depth:literal, [$($n:ident)*]) => {
        source!([T: MpiDatatype, $(const $n: usize),*]
            all $array, T, $unit, Infallible, |first, length, region| Ok(Place::without_gaps(first, 1)));
        source!([T: MpiDatatype, $(const $n: usize),*]
            all $array, T, Dimensions<$depth>, Error, |first, length, region| {
                Place::of_nested(first, 1, &[$($n),*], region)
            });
        nested!(copies [T: MpiDatatype, const K: usize, $(const $n: usize),*]
            [$array; K], $unit, $depth, [$($n)*]);
        nested!(copies [T: MpiDatatype, $(const $n: usize),*] [$array], $unit, $depth, [$($n)*]);
        nested!(copies [T: MpiDatatype, $(const $n: usize),*] Vec<$array>, $unit, $depth, [$($n)*]);
    };
    (copies [$($generics:tt)*] $type:ty, $unit:ty, $depth:literal, [$($n:ident)*]) => {
        source!([$($generics)*] all $type, T, $unit, Infallible, |first, length, region| {
            Ok(Place::without_gaps(first, length))
        });
        source!([$($generics)*] all $type, T, Dimensions<$depth>, Error, |first, length, region| {
            Place::of_nested(first, length, &[$($n),*], region)
        });
    };
    // One array as a slice of rows; rows of single elements are the slices above.
    (rows $row:ty, $unit:ty, $depth:literal, $outer:ident, []) => {};
    (rows $row:ty, $unit:ty, $depth:literal, $outer:ident, [$($n:ident)+]) => {
        source!([T: MpiDatatype, const $outer: usize, $(const $n: usize),+] all [$row], T, $unit, Error,
            |first, length, region| Place::of_nested(first, 1, &[length, $($n),+], region));
        source!([T: MpiDatatype, const $outer: usize, $(const $n: usize),+] all Vec<$row>, T, $unit, Error,
            |first, length, region| Place::of_nested(first, 1, &[length, $($n),+], region));
        source!([T: MpiDatatype, $(const $n: usize),+] all [$row], T, Dimensions<$depth>, Error,
            |first, length, region| Place::of_nested(first, 1, &[length, $($n),+], region));
        source!([T: MpiDatatype, $(const $n: usize),+] all Vec<$row>, T, Dimensions<$depth>, Error,
            |first, length, region| Place::of_nested(first, 1, &[length, $($n),+], region));
    };
    // A reference or a box to a source.
    (behind $shape:ty, [$($lengths:tt)*]) => {
        nested!(read behind &S, $shape, [$($lengths)*]);
        nested!(read behind &mut S, $shape, [$($lengths)*]);
        nested!(read behind Box<S>, $shape, [$($lengths)*]);
        nested!(write behind &mut S, $shape, [$($lengths)*]);
        nested!(write behind Box<S>, $shape, [$($lengths)*]);
    };
    (read behind $type:ty, $shape:ty, [$($lengths:tt)*]) => {
        #[diagnostic::do_not_recommend]
        // SAFETY: the place is that of the source that the pointer leads to.
        unsafe impl<T, S: ArrayLike<T, $shape> + ?Sized, $($lengths)*> ArrayLike<T, $shape> for $type {
            type Mismatch = S::Mismatch;

            fn place(&self, region: &Region<'_>) -> Result<Place, S::Mismatch> {
                (**self).place(region)
            }
        }
    };
    (write behind $type:ty, $shape:ty, [$($lengths:tt)*]) => {
        #[diagnostic::do_not_recommend]
        // SAFETY: the place is that of the source that the pointer leads to.
        unsafe impl<T, S: ArrayLikeMut<T, $shape> + ?Sized, $($lengths)*> ArrayLikeMut<T, $shape> for $type {
            fn place_mut(&mut self, region: &Region<'_>) -> Result<Place, S::Mismatch> {
                (**self).place_mut(region)
            }
        }
    };
}

nested!(T, (), [], [A 1 B 2 C 3 D 4 E 5 F 6 G 7 H 8]);

#[cfg(feature = "ndarray")]
mod of_ndarray {
    use ndarray::{ArrayBase, Data, DataMut, Dimension};

    use super::{ArrayLike, ArrayLikeMut, Error, Place, Region};

    // SAFETY: an array of ndarray has its elements at its own strides from its pointer, and the shapes are
    // compared.
    unsafe impl<T, Shape: ?Sized, S: Data<Elem = T>, D: Dimension> ArrayLike<T, Shape> for ArrayBase<S, D> {
        type Mismatch = Error;

        fn place(&self, region: &Region<'_>) -> Result<Place, Error> {
            Place::with_strides(self.as_ptr(), self.shape(), self.strides(), region)
        }
    }

    // SAFETY: as for `ArrayLike`; an array of ndarray that is borrowed mutably has each element once.
    unsafe impl<T, Shape: ?Sized, S, D: Dimension> ArrayLikeMut<T, Shape> for ArrayBase<S, D>
    where
        S: DataMut<Elem = T>,
    {
        fn place_mut(&mut self, region: &Region<'_>) -> Result<Place, Error> {
            // The pointer comes first: `as_mut_ptr` copies shared data, which may change the strides.
            let first = self.as_mut_ptr();
            Place::with_strides(first, self.shape(), self.strides(), region)
        }
    }
}

#[cfg(any(feature = "nalgebra", feature = "nalgebra-0_34"))]
mod of_nalgebra {
    use super::{ArrayLike, ArrayLikeMut, Error, Place, Region};

    /// Returns the place of a matrix. For a layout of one dimension, the matrix is a single row or column.
    fn place<T>(
        first: *const T,
        (rows, columns): (usize, usize),
        (row, column): (usize, usize),
        region: &Region<'_>,
    ) -> Result<Place, Error> {
        let (row, column) = (row as isize, column as isize);
        match region.shape {
            [_] if columns == 1 => Place::with_strides(first, &[rows], &[row], region),
            [_] if rows == 1 => Place::with_strides(first, &[columns], &[column], region),
            _ => Place::with_strides(first, &[rows, columns], &[row, column], region),
        }
    }

    /// Implements the traits for the matrices of one version of nalgebra.
    macro_rules! matrices {
        ($module:ident, $nalgebra:ident) => {
            mod $module {
                use $nalgebra::{Dim, Matrix, RawStorage, RawStorageMut};

                use super::{ArrayLike, ArrayLikeMut, Error, Place, Region, place};

                // SAFETY: a matrix of nalgebra has its elements at its own strides from its pointer, and the
                // shapes are compared.
                unsafe impl<T, Shape: ?Sized, R: Dim, C: Dim, S: RawStorage<T, R, C>> ArrayLike<T, Shape>
                    for Matrix<T, R, C, S>
                {
                    type Mismatch = Error;

                    fn place(&self, region: &Region<'_>) -> Result<Place, Error> {
                        place(self.data.ptr(), self.shape(), self.strides(), region)
                    }
                }

                // SAFETY: as for `ArrayLike`; a mutable storage has each element once.
                unsafe impl<T, Shape: ?Sized, R: Dim, C: Dim, S: RawStorageMut<T, R, C>>
                    ArrayLikeMut<T, Shape> for Matrix<T, R, C, S>
                {
                    fn place_mut(&mut self, region: &Region<'_>) -> Result<Place, Error> {
                        place(self.data.ptr_mut(), self.shape(), self.strides(), region)
                    }
                }
            }
        };
    }

    #[cfg(feature = "nalgebra")]
    matrices!(newest, nalgebra);
    #[cfg(feature = "nalgebra-0_34")]
    matrices!(before, nalgebra_0_34);
}
