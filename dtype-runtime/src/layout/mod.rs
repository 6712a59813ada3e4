//! Layouts: parts of arrays, what they are taken of, and views of them.
//!
//! [`layout!`](crate::layout!) gives a [`StaticLayout`] or a [`DynamicLayout`]. Ready-made are [`Subarray`]
//! and [`Darray`], with MPI's own arguments, [`Halo`], [`Band`] and [`Tile`]. `of` and `of_mut` take them of
//! whatever is [`ArrayLike`]: nested arrays, slices, `Vec`s, and with features the arrays of `ndarray` and
//! `nalgebra`. What they give is a [`View`] or a [`ViewMut`]; [`split`] gives several of one source.
//!
//! ```
//! use dtype_runtime::layout::{ArrayOrder, Halo};
//!
//! // 6 × 6 cells, and a ring of ghost cells around them.
//! let halo = Halo { sizes: [8, 8], width: 1, order: ArrayOrder::RowMajor };
//! let up = halo.exchange::<f64>([-1, 0])?;
//! let mut cells = vec![0.5; 8 * 8];
//! let packed = up.send.of(&cells)?.pack(); // the first row of cells
//! up.receive.of_mut(&mut cells)?.unpack(&packed)?; // the ghost cells above it
//! # Ok::<(), dtype_runtime::Error>(())
//! ```

// The files: `region`, what is selected, as numbers, with `part`, `list` and `nest`; `overlap`, what is
// selected twice; `pieces`, how it is written down; `fixed` and `dynamic`, the two kinds of layouts;
// `shapes`, ready-made ones; `source`, what layouts are taken of, whose `shape` they have; `view`, what is
// taken; `explain`, a layout in words; `entry`, what is worked out of a layout once; `datatype`, `buffers`,
// what rsmpi asks of layouts and views. The room builds on `types`, `engine` and `pack`.

use std::convert::Infallible;

#[cfg(feature = "mpi")]
use dtype_core::Bounds;
use dtype_core::{Optimality, Program, Runs, TypeTree};

#[cfg(feature = "mpi")]
use crate::types::{
    cache::cached,
    entry::{Purpose, Wanted},
};
use crate::{
    Error,
    engine::Plan,
    types::{MpiDatatype, check::Valid},
};

#[cfg(feature = "mpi")]
pub(crate) mod buffers;
#[cfg(feature = "mpi")]
mod datatype;
#[cfg(feature = "picture")]
mod draw;
mod dynamic;
pub(crate) mod entry;
mod explain;
pub(crate) mod fixed;
pub(crate) mod list;
pub(crate) mod nest;
mod overlap;
pub(crate) mod part;
pub(crate) mod pieces;
pub(crate) mod region;
mod shape;
pub(crate) mod shapes;
pub(crate) mod source;
pub(crate) mod view;

#[cfg(feature = "mpi")]
pub use datatype::LayoutDatatype;
pub use dtype_core::{ArrayOrder, Distribution};
pub use dynamic::DynamicLayout;
use entry::Entry;
use explain::explain;
pub use fixed::{Selection, StaticLayout};
use nest::Nest;
use region::{FEW_NESTS, Region};
pub use shape::{Dimensions, Memory};
pub use shapes::{Band, Darray, Halo, HaloExchange, Subarray, Tile};
pub use source::{ArrayLike, ArrayLikeMut, Mismatch, Outcome};
pub use view::{Split, View, ViewMut, split};

pub use crate::types::{
    cache::{LayoutCache, layout_cache},
    entry::LayoutOrigin,
};

/// A part of an array: what [`layout!`](crate::layout!) and the ready-made shapes give.
///
/// There are two kinds. A [`StaticLayout`] is known at compile time and takes no space; a [`DynamicLayout`]
/// is worked out while the program runs. A reference to a layout is one, too. Both have these methods as
/// their own, so that the trait is needed for generic code only:
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
/// `region` is always the same, selects within an array of its shape, and values of `Element` only; `NESTS`,
/// if there are any, are its loop nests, and `plan` is its plan. `Shape` says the same shape as nested arrays
/// in memory have it, from the outermost, or is a [`Dimensions`] of that number of dimensions. `entry`
/// describes the region for an array without gaps. `Coverage` is [`Disjoint`] only if the region selects no
/// byte twice, or its check finds that out.
pub unsafe trait Layout: Clone + Sync {
    /// The elements of the array.
    type Element: MpiDatatype;
    /// The shape of the array, as far as the compiler knows it: nested arrays of `()`, or [`Dimensions`].
    type Shape: ?Sized;
    /// What is known of whether bytes are selected twice. Where they are not it is [`Disjoint`].
    type Coverage;

    #[doc(hidden)]
    fn region(&self) -> Region<'_>;

    /// The loop nests over it in an array without gaps, if they are few that the compiler knows.
    #[doc(hidden)]
    const NESTS: Option<[Option<Nest<'static>>; FEW_NESTS]> = None;

    /// The region compiled for packing, in an array without gaps.
    #[doc(hidden)]
    fn plan(&self) -> &Plan;

    /// The datatype of the region in an array without gaps.
    #[doc(hidden)]
    fn entry(&self) -> &Entry;

    /// The part of `source`, to be read: an rsmpi `Buffer`.
    ///
    /// A source is whatever has elements of the right type in the right shape: nested arrays; slices and
    /// `Vec`s of as many elements; with features, `ndarray`'s arrays and views and `nalgebra`'s matrices,
    /// with strides of their own. Where the types say that the shape is right this is the view, and otherwise
    /// a `Result`:
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
    /// An array or slice of sources is a source, too: as many elements of the datatype.
    ///
    /// # Errors
    /// [`Error::Shape`].
    fn of<'a, S>(&self, source: &'a S) -> Outcome<S::Mismatch, View<'a, Self>>
    where
        S: ArrayLike<Self::Element, Self::Shape> + ?Sized,
    {
        S::Mismatch::outcome(source.place(&self.region()).map(|place| View::new(place, self.clone())))
    }

    /// The part of `source`, to be written: an rsmpi `BufferMut`. What lies beside the part is not touched.
    ///
    /// A layout that selects something twice has no such view. That is found by the compiler, or with a
    /// dynamic layout when this is called.
    ///
    /// # Errors
    /// [`Error::Shape`]; [`Error::Overlap`] for dynamic layouts.
    fn of_mut<'a, S>(&self, source: &'a mut S) -> Outcome<S::Mismatch, ViewMut<'a, Self>>
    where
        S: ArrayLikeMut<Self::Element, Self::Shape> + ?Sized,
        Self::Coverage: Disjoint<S::Mismatch, Self>,
    {
        // In this order: finding out takes memory in proportion to the array, of which there is one then.
        let place = source.place_mut(&self.region());
        let place = place.and_then(|place| Self::Coverage::check(self).map(|()| place));
        S::Mismatch::outcome(place.map(|place| ViewMut::new(place, self.clone())))
    }

    /// Number of values selected: elements, or what is selected of them.
    fn count(&self) -> usize {
        self.region().count()
    }

    /// Bytes of what is selected, packed.
    fn packed_size(&self) -> usize {
        self.region().packed_size()
    }

    /// Whether there are values of restricted types.
    #[doc(hidden)]
    fn is_restricted(&self) -> bool {
        self.region().is_restricted()
    }

    /// Whether MPI may write what is selected itself, where the compiler knows.
    #[doc(hidden)]
    const RECEIVABLE: Option<bool> = None;

    /// Whether MPI carries padding in what is selected.
    #[doc(hidden)]
    fn has_blocks(&self) -> bool {
        self.region().has_blocks()
    }

    /// Bytes from the first element of an array without gaps to the first value selected; 0 if there is none.
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

    /// The least-cost type tree, relative to the first value selected, in an array without gaps.
    fn tree(&self) -> &TypeTree {
        &self.entry().solution().tree
    }

    /// The type map, in runs of equal base types at equal distances; displacements are bytes from the first
    /// value selected.
    ///
    /// # Errors
    /// [`Error::Tree`] where the runs are too many to be listed.
    fn type_map(&self) -> Result<Runs, Error> {
        self.entry().type_map()
    }

    /// The cost of the tree: how many words describe it (`NodeCosts` of `dtype_core`).
    fn cost(&self) -> u64 {
        self.entry().cost()
    }

    /// Whether that cost is known to be the least.
    fn optimality(&self) -> Optimality {
        self.entry().solution().optimality
    }

    /// The calls that build the MPI datatype.
    fn constructor_calls(&self) -> &Program {
        self.entry().program()
    }

    /// Where the layout was solved.
    fn layout_origin(&self) -> LayoutOrigin {
        self.entry().origin()
    }

    /// Explains the layout: what is selected, drawn as cells where the array has one or two dimensions,
    /// beside the tree; its cost, and the calls that build it.
    ///
    /// ```
    /// use dtype_runtime::layout;
    ///
    /// let triangle = layout!(f64[4][4] => [i, i..] for i in 0..4);
    /// println!("{}", triangle.explain());
    /// # assert!(triangle.explain().contains("· · ■ ■"), "{}", triangle.explain());
    /// ```
    fn explain(&self) -> String {
        explain(&self.region(), self.entry())
    }

    /// A picture of the layout in an array without gaps: as a grid in up to three dimensions, byte by byte,
    /// and the least-cost tree. See [`MpiDatatype::draw`].
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
    /// [`Error::Tree`] where displacements leave what can be counted.
    #[cfg(feature = "picture")]
    fn draw(&self) -> Result<dtype_core::picture::Picture, Error> {
        draw::draw(&self.region(), self.offset(), self.entry())
    }

    /// The committed MPI datatype, relative to the first value selected, in an array without gaps; see
    /// [`MpiDatatype::datatype`].
    ///
    /// # Errors
    /// Before `MPI_Init` and after `MPI_Finalize`, and where MPI refuses a call.
    #[cfg(feature = "mpi")]
    fn datatype(&self) -> Result<LayoutDatatype, Error> {
        self.entry().clone().datatype()
    }

    /// The committed MPI datatype of the part within its array, without gaps: displacement 0 is the first
    /// element, and the extent is that of the array, as with `MPI_Type_create_subarray` (MPI 4.1 section
    /// 5.1.3). Files and windows are divided with such types.
    ///
    /// # Errors
    /// As [`datatype`](Self::datatype).
    #[cfg(feature = "mpi")]
    fn array_datatype(&self) -> Result<LayoutDatatype, Error> {
        let region = self.region();
        let extent = (region.array_elements() * region.element) as i64;
        let tree = TypeTree::structure([self.offset() as i64], [region.tree(&region.contiguous())]);
        let wanted = Wanted::new(tree, Some(Bounds::of_extent(extent)));
        Entry::Shared(cached(Wanted { purpose: Purpose::Any, ..wanted })).datatype()
    }
}

// SAFETY: all of it is the layout's own.
unsafe impl<L: Layout> Layout for &L {
    type Element = L::Element;
    type Shape = L::Shape;
    type Coverage = L::Coverage;

    const NESTS: Option<[Option<Nest<'static>>; FEW_NESTS]> = L::NESTS;
    const RECEIVABLE: Option<bool> = L::RECEIVABLE;

    fn region(&self) -> Region<'_> {
        L::region(self)
    }

    fn packed_size(&self) -> usize {
        L::packed_size(self)
    }

    fn is_restricted(&self) -> bool {
        L::is_restricted(self)
    }

    fn has_blocks(&self) -> bool {
        L::has_blocks(self)
    }

    fn plan(&self) -> &Plan {
        L::plan(self)
    }

    fn entry(&self) -> &Entry {
        L::entry(self)
    }
}

impl<L: Layout> Valid for L {
    fn check(&self, packed: &[u8], start: usize) -> Result<(), Error> {
        self.region().check(packed, start)
    }
}

/// Whether a layout that is known at compile time selects no byte twice.
#[derive(Debug)]
pub struct Coverage<const DISJOINT: bool>(Infallible);

/// The coverage of a layout that is known only at run time: `of_mut` looks for overlap.
#[derive(Debug)]
pub struct UnknownCoverage(Infallible);

/// A [coverage](Layout::Coverage) that permits writing: the compiler knows that the layout `L` selects no
/// byte twice, or `check` finds it out.
///
/// Code that receives into parts of any source of any layout asks for it:
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
    note = "what arrives there would depend on the order in which it is written; such a layout can be sent, \
            with `of`"
)]
pub trait Disjoint<M, L> {
    /// Finds it out, if it is not known.
    ///
    /// # Errors
    /// Where bytes are covered twice.
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

/// The methods of [`Layout`] as methods of the type itself, so that nobody needs to import the trait.
macro_rules! own_methods {
    ($element:ty, $shape:ty, $coverage:ty) => {
        /// The part of `source`, to be read: see [`Layout::of`].
        ///
        /// # Errors
        /// [`Error::Shape`](crate::Error::Shape), where the types do not say that the shape is right.
        pub fn of<'a, A>(&self, source: &'a A) -> Outcome<A::Mismatch, View<'a, Self>>
        where
            A: ArrayLike<$element, $shape> + ?Sized,
        {
            Layout::of(self, source)
        }

        /// The part of `source`, to be written: see [`Layout::of_mut`].
        ///
        /// # Errors
        /// [`Error::Shape`](crate::Error::Shape), where the types do not say that the shape is right;
        /// [`Error::Overlap`](crate::Error::Overlap) for dynamic layouts.
        pub fn of_mut<'a, A>(&self, source: &'a mut A) -> Outcome<A::Mismatch, ViewMut<'a, Self>>
        where
            A: ArrayLikeMut<$element, $shape> + ?Sized,
            $coverage: Disjoint<A::Mismatch, Self>,
        {
            Layout::of_mut(self, source)
        }

        /// Number of values selected: see [`Layout::count`].
        pub fn count(&self) -> usize {
            Layout::count(self)
        }

        /// Bytes of what is selected, packed.
        pub fn packed_size(&self) -> usize {
            Layout::packed_size(self)
        }

        /// Bytes from the array's first element to the first value selected: see [`Layout::offset`].
        pub fn offset(&self) -> usize {
            Layout::offset(self)
        }

        /// The least-cost type tree: see [`Layout::tree`].
        pub fn tree(&self) -> &TypeTree {
            Layout::tree(self)
        }

        /// The type map, in runs: see [`Layout::type_map`].
        ///
        /// # Errors
        /// [`Error::Tree`](crate::Error::Tree) where the runs are too many to be listed.
        pub fn type_map(&self) -> Result<$crate::dtype_core::Runs, $crate::Error> {
            Layout::type_map(self)
        }

        /// The cost of the tree: how many words describe it (`NodeCosts` of `dtype_core`).
        pub fn cost(&self) -> u64 {
            Layout::cost(self)
        }

        /// Whether that cost is known to be the least.
        pub fn optimality(&self) -> Optimality {
            Layout::optimality(self)
        }

        /// The calls that build the MPI datatype.
        pub fn constructor_calls(&self) -> &Program {
            Layout::constructor_calls(self)
        }

        /// Where the layout was solved.
        pub fn layout_origin(&self) -> LayoutOrigin {
            Layout::layout_origin(self)
        }

        /// Explains the layout: see [`Layout::explain`].
        pub fn explain(&self) -> String {
            Layout::explain(self)
        }

        /// A picture of the layout: see [`Layout::draw`].
        ///
        /// # Errors
        /// [`Error::Tree`] where displacements leave what can be counted.
        #[cfg(feature = "picture")]
        pub fn draw(&self) -> Result<dtype_core::picture::Picture, $crate::Error> {
            Layout::draw(self)
        }

        /// The committed MPI datatype: see [`Layout::datatype`].
        ///
        /// # Errors
        /// Before `MPI_Init` and after `MPI_Finalize`, and where MPI refuses a call.
        #[cfg(feature = "mpi")]
        pub fn datatype(&self) -> Result<$crate::layout::LayoutDatatype, Error> {
            Layout::datatype(self)
        }

        /// The committed MPI datatype of the part within its array: see [`Layout::array_datatype`].
        ///
        /// # Errors
        /// Before `MPI_Init` and after `MPI_Finalize`, and where MPI refuses a call.
        #[cfg(feature = "mpi")]
        pub fn array_datatype(&self) -> Result<$crate::layout::LayoutDatatype, Error> {
            Layout::array_datatype(self)
        }
    };
}
pub(crate) use own_methods;
