//! The trait [`Layout`], and the types of its views.

use std::{convert::Infallible, marker::PhantomData, ptr};

#[cfg(feature = "mpi")]
use dtype_core::{Bounds, Purpose};
use dtype_core::{Optimality, Program, Runs, TypeTree};
use dtype_engine::{Error as PackError, Plan, Valid};

#[cfg(feature = "mpi")]
use super::datatype::LayoutDatatype;
#[cfg(feature = "picture")]
use super::draw;
use super::{
    entry::Entry,
    explain::explain,
    nest::Nest,
    region::{FEW_NESTS, Region, Totals},
    source::{ArrayLike, ArrayLikeMut, Mismatch, Outcome, Place},
};
#[cfg(feature = "mpi")]
use crate::types::{cache::cached, entry::Wanted};
use crate::{
    Error,
    types::{MpiDatatype, entry::LayoutOrigin},
};

/// A read-only view of a part of a source: an rsmpi `Buffer`.
#[derive(Clone, Copy)]
pub struct View<'a, L: Layout> {
    pub(crate) place: Place,
    pub(super) layout: L,
    borrow: PhantomData<&'a [L::Element]>,
}

/// A mutable view of a part of a source: an rsmpi `BufferMut`.
pub struct ViewMut<'a, L: Layout> {
    pub(super) view: View<'a, L>,
    borrow: PhantomData<&'a mut [L::Element]>,
}

// SAFETY: a view is like a shared slice of elements without some of them.
unsafe impl<L: Layout<Element: Sync> + Send> Send for View<'_, L> {}
// SAFETY: a view is like a shared slice of elements without some of them.
unsafe impl<L: Layout<Element: Sync> + Sync> Sync for View<'_, L> {}
// SAFETY: a mutable view is like a mutable slice of elements without some of them.
unsafe impl<L: Layout<Element: Send> + Send> Send for ViewMut<'_, L> {}
// SAFETY: a mutable view is like a mutable slice of elements without some of them.
unsafe impl<L: Layout<Element: Sync> + Sync> Sync for ViewMut<'_, L> {}

impl<L: Layout> View<'_, L> {
    pub(crate) fn new(place: Place, layout: L) -> Self {
        Self { place, layout, borrow: PhantomData }
    }
}

impl<L: Layout> ViewMut<'_, L> {
    pub(crate) fn new(place: Place, layout: L) -> Self {
        Self { view: View::new(place, layout), borrow: PhantomData }
    }
}

/// A part of an array, as [`layout!`](crate::layout!) and the ready-made shapes create it.
///
/// There are two kinds. A [`StaticLayout`](super::StaticLayout) is known at compile time and takes no space;
/// a [`DynamicLayout`](super::DynamicLayout) is computed at run time. A reference to a layout is a layout,
/// too. Both kinds have these methods as inherent methods, so only generic code needs the trait:
///
/// ```
/// use dtype_runtime::{Layout, layout};
///
/// fn bytes(layout: &impl Layout) -> usize {
///     layout.packed_size()
/// }
/// let n = 5;
/// assert_eq!(bytes(&layout!(f64[5][5] => [.., 3])), 40);
/// assert_eq!(bytes(&layout!(f64[n][n] => [.., 3])?), 40);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # Safety
/// - `region` always returns the same region. It selects within an array of its shape, and only values of
///   `Element`.
/// - `NESTS`, if there are any, are the loop nests of the region; `plan` and `totals` are those of the
///   region.
/// - `Shape` is the shape of the region: nested arrays as in memory, the outermost first; or
///   [`Dimensions`](super::Dimensions) with the region's number of dimensions; or [`Memory`](super::Memory)
///   for a type map.
/// - `entry` describes the region in an array without gaps.
/// - `Coverage` implements [`Disjoint`] only if the region selects no byte twice, or if `check` tests that.
/// - `Selects` is [`Elements`](super::Elements) only if the region selects whole elements.
pub unsafe trait Layout: Clone + Sync {
    /// The element type of the array.
    type Element: MpiDatatype;
    /// The shape of the array, as far as the compiler knows it: nested arrays of `()`,
    /// [`Dimensions`](super::Dimensions), or [`Memory`](super::Memory) for a type map.
    type Shape: ?Sized;
    /// A type that tells whether bytes are selected twice. If it implements [`Disjoint`], the layout can be
    /// written to.
    type Coverage;
    /// The kind of the layout: [`Elements`](super::Elements) if it selects whole elements, otherwise
    /// [`Fields`](super::Fields).
    type Selects;

    #[doc(hidden)]
    fn region(&self) -> Region<'_>;

    /// The loop nests of the region in an array without gaps, if the compiler knows them and they are few.
    #[doc(hidden)]
    const NESTS: Option<[Option<Nest<'static>>; FEW_NESTS]> = None;

    /// Returns the region compiled for packing, in an array without gaps.
    #[doc(hidden)]
    fn plan(&self) -> &Plan;

    /// Returns the entry of the region in an array without gaps.
    #[doc(hidden)]
    fn entry(&self) -> &Entry;

    /// Returns a read-only view of the part of `source`: an rsmpi `Buffer`.
    ///
    /// A source has elements of the right type in the right shape. Sources are nested arrays; slices and
    /// `Vec`s of the same number of elements; with features, `ndarray`'s arrays and views and `nalgebra`'s
    /// matrices, with strides of their own. If the types guarantee the shape, the method returns the view,
    /// otherwise a `Result` of it:
    ///
    /// ```
    /// use dtype_runtime::layout;
    ///
    /// let column = layout!(u8[2][3] => [.., 1]);
    /// assert_eq!(column.of(&[[1, 2, 3], [4, 5, 6]]).pack(), [2, 5]);
    /// assert_eq!(column.of(&vec![1, 2, 3, 4, 5, 6])?.pack(), [2, 5]);
    /// assert!(column.of(&[1, 2, 3][..]).is_err());
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// An array or slice of sources is a source, too. The count of its buffer is the number of sources.
    ///
    /// # Errors
    /// `Argument` if the source has another shape, or too few bytes for a type map.
    fn of<'a, S>(&self, source: &'a S) -> Outcome<S::Mismatch, View<'a, Self>>
    where
        S: ArrayLike<Self::Element, Self::Shape> + ?Sized,
    {
        S::Mismatch::outcome(source.place(&self.region()).map(|place| View::new(place, self.clone())))
    }

    /// Returns a mutable view of the part of `source`: an rsmpi `BufferMut`. The rest of the source is not
    /// touched.
    ///
    /// A layout that selects a byte twice has no mutable view. The compiler rejects the call; for a dynamic
    /// layout, the call returns an error.
    ///
    /// # Errors
    /// The errors of [`of`](Self::of); `Argument` if a dynamic layout selects a byte twice.
    fn of_mut<'a, S>(&self, source: &'a mut S) -> Outcome<S::Mismatch, ViewMut<'a, Self>>
    where
        S: ArrayLikeMut<Self::Element, Self::Shape> + ?Sized,
        Self::Coverage: Disjoint<S::Mismatch, Self>,
    {
        // The source is checked first: the check for overlap takes memory in proportion to the array, and a
        // valid source proves that memory can hold the array.
        let place = source.place_mut(&self.region());
        let place = place.and_then(|place| Self::Coverage::check(self).map(|()| place));
        S::Mismatch::outcome(place.map(|place| ViewMut::new(place, self.clone())))
    }

    /// Returns the number of selected values: elements, or values within elements.
    fn count(&self) -> usize {
        self.totals().count
    }

    /// Returns the packed size of the selection in bytes.
    fn packed_size(&self) -> usize {
        self.totals().packed_size
    }

    /// Returns the facts about all selected values together.
    #[doc(hidden)]
    fn totals(&self) -> Totals;

    /// Returns `true` if values of restricted types are selected.
    #[doc(hidden)]
    fn is_restricted(&self) -> bool {
        self.totals().is_restricted
    }

    /// Returns `true` if MPI transfers padding within the selected values.
    #[doc(hidden)]
    fn has_blocks(&self) -> bool {
        self.totals().has_blocks
    }

    /// `Some(true)` if MPI itself may write the selected values, without a check; `None` if the compiler does
    /// not know.
    #[doc(hidden)]
    const RECEIVABLE: Option<bool> = None;

    /// Returns the number of bytes from the first element of an array without gaps to the first selected
    /// value; 0 if no value is selected.
    ///
    /// ```
    /// use dtype_runtime::layout;
    ///
    /// let column = layout!(f64[10][10] => [2.., 3]);
    /// assert_eq!(column.offset(), (2 * 10 + 3) * size_of::<f64>());
    /// ```
    fn offset(&self) -> usize {
        let region = self.region();
        region.first(&region.contiguous()) as usize
    }

    /// Returns the least-cost type tree, relative to the first selected value, in an array without gaps.
    fn tree(&self) -> &TypeTree {
        &self.entry().solution().tree
    }

    /// Returns the type map, in runs of equal base types at equal distances. Displacements are bytes from the
    /// first selected value.
    ///
    /// # Errors
    /// `Argument` if there are too many runs to list.
    fn type_map(&self) -> Result<Runs, Error> {
        self.entry().type_map()
    }

    /// Returns the cost of the tree: the number of words that describe it
    /// ([`NodeCosts`](crate::tree::NodeCosts)).
    fn cost(&self) -> u64 {
        self.entry().cost()
    }

    /// Returns the status of the cost: proven to be the least, or an upper bound.
    fn optimality(&self) -> Optimality {
        self.entry().solution().optimality
    }

    /// Returns the constructor calls that build the MPI datatype.
    fn constructor_calls(&self) -> &Program {
        self.entry().program()
    }

    /// Returns the stage at which the layout was solved: macro, constant evaluation or run time.
    fn layout_origin(&self) -> LayoutOrigin {
        self.entry().origin()
    }

    /// Returns a description of the layout: its cost, its tree, the calls that build it, and how long it
    /// takes as a message in the MPI libraries that were measured. The selection is drawn beside the tree,
    /// as cells, if the array has one or two dimensions.
    ///
    /// ```
    /// use dtype_runtime::layout;
    ///
    /// let triangle = layout!(f64[4][4] => [i, i..] for i in 0..4);
    /// println!("{}", triangle.explain());
    /// # assert!(triangle.explain().contains("· · ■ ■"), "{}", triangle.explain());
    /// ```
    fn explain(&self) -> String {
        explain(&self.region(), self.entry(), self.plan(), 1)
    }

    /// Returns a picture of the layout in an array without gaps: as a grid in up to three dimensions, byte by
    /// byte, and as the least-cost tree. See [`MpiDatatype::draw`].
    ///
    /// ```
    /// use dtype_runtime::layout;
    ///
    /// let column = layout!(u8[3][4] => [.., 1]);
    /// assert!(column.draw()?.text(false).contains("· ■ · ·"));
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Argument` if a displacement overflows.
    #[cfg(feature = "picture")]
    fn draw(&self) -> Result<dtype_core::picture::Picture, Error> {
        draw::draw(&self.region(), self.offset(), self.entry())
    }

    /// Returns the committed MPI datatype, relative to the first selected value, in an array without gaps;
    /// see [`MpiDatatype::datatype`].
    ///
    /// # Errors
    /// An error before `MPI_Init` and after `MPI_Finalize`, and if an MPI call fails.
    #[cfg(feature = "mpi")]
    fn datatype(&self) -> Result<LayoutDatatype, Error> {
        self.entry().clone().datatype()
    }

    /// Returns the committed MPI datatype of the part within its array, without gaps. Displacement 0 is the
    /// first element, and the extent is that of the array, as with `MPI_Type_create_subarray` (MPI 4.1
    /// section 5.1.3). Programs divide files and windows with such datatypes.
    ///
    /// # Errors
    /// The errors of [`datatype`](Self::datatype).
    #[cfg(feature = "mpi")]
    fn array_datatype(&self) -> Result<LayoutDatatype, Error> {
        let region = self.region();
        let extent = region.array_size() as i64;
        let tree = TypeTree::structure([self.offset() as i64], [region.tree(&region.contiguous())]);
        let wanted = Wanted::new(tree, Some(Bounds::of_extent(extent)));
        Entry::Shared(cached(Wanted { purpose: Purpose::Any, ..wanted })).datatype()
    }
}

// SAFETY: every item is that of the layout behind the reference.
unsafe impl<L: Layout> Layout for &L {
    type Element = L::Element;
    type Shape = L::Shape;
    type Coverage = L::Coverage;
    type Selects = L::Selects;

    const NESTS: Option<[Option<Nest<'static>>; FEW_NESTS]> = L::NESTS;
    const RECEIVABLE: Option<bool> = L::RECEIVABLE;

    fn region(&self) -> Region<'_> {
        L::region(self)
    }

    fn totals(&self) -> Totals {
        L::totals(self)
    }

    fn plan(&self) -> &Plan {
        L::plan(self)
    }

    fn entry(&self) -> &Entry {
        L::entry(self)
    }
}

/// The check of the values that a layout selects.
#[repr(transparent)]
pub(super) struct ValuesOf<L>(L);

impl<L: Layout> ValuesOf<L> {
    /// Returns the check of a layout.
    pub fn layout(layout: &L) -> &Self {
        // SAFETY: the type has the representation of the layout.
        unsafe { &*ptr::from_ref(layout).cast::<Self>() }
    }
}

impl<L: Layout> Valid for ValuesOf<L> {
    fn check(&self, packed: &[u8], start: usize) -> Result<(), PackError> {
        self.0.region().check(packed, start)
    }
}

/// The coverage of a layout that is known at compile time. If `DISJOINT` is `true`, the layout selects no
/// byte twice.
#[derive(Debug)]
pub struct Coverage<const DISJOINT: bool>(Infallible);

/// The coverage of a layout that is known only at run time: `of_mut` checks for overlap.
#[derive(Debug)]
pub struct UnknownCoverage(Infallible);

/// A [coverage](Layout::Coverage) that permits writing: the compiler knows that the layout `L` selects no
/// byte twice, or `check` tests that.
///
/// Generic code that receives through a layout needs this bound:
///
/// ```
/// use std::convert::Infallible;
/// use dtype_runtime::{Layout, layout, layout::{ArrayLikeMut, Disjoint}};
///
/// fn clear<L, A>(layout: &L, array: &mut A)
/// where
///     L: Layout<Coverage: Disjoint<Infallible, L>>,
///     A: ArrayLikeMut<L::Element, L::Shape, Mismatch = Infallible>,
/// {
///     let zeros = vec![0; layout.packed_size()];
///     layout.of_mut(array).unpack(&zeros).expect("zeros are numbers");
/// }
/// let mut matrix = [[1u8, 2, 3], [4, 5, 6]];
/// clear(&layout!(u8[2][3] => [.., 1]), &mut matrix);
/// assert_eq!(matrix, [[1, 0, 3], [4, 0, 6]]);
/// ```
#[diagnostic::on_unimplemented(
    message = "this layout covers some bytes more than once, so nothing can be received into it",
    label = "covers some bytes twice",
    note = "the contents of these bytes would depend on the order of writing; such a layout can only be \
            sent, with `of`"
)]
pub trait Disjoint<M, L> {
    /// Checks that the layout covers no byte twice, unless the compiler knows that.
    ///
    /// # Errors
    /// An error if the layout covers a byte twice.
    fn check(layout: &L) -> Result<(), M>;
}

impl<M, L> Disjoint<M, L> for Coverage<true> {
    fn check(_: &L) -> Result<(), M> {
        Ok(())
    }
}

impl<M, L> Disjoint<M, &L> for UnknownCoverage
where
    Self: Disjoint<M, L>,
{
    fn check(layout: &&L) -> Result<(), M> {
        <Self as Disjoint<M, L>>::check(layout)
    }
}
