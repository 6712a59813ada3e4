//! Layouts: what `layout!` and the ready-made shapes give, and what can be asked of them.

use std::{
    convert::Infallible,
    fmt,
    marker::PhantomData,
    ops::Deref,
    sync::{Arc, OnceLock},
};

use dtype_core::{Bounds, Optimality, Program, SelectionError, TypeTree};

use crate::{
    Error, MpiDatatype,
    cache::cached,
    expansion::Runtime,
    explain::explain,
    lazy::{LayoutOrigin, LazyDatatype},
    pack::Plan,
    pieces::{Path, Pieces},
    region::{ArrayOrder, Axis, FEW_NESTS, Nest, Part, Region, Strides},
    source::{Mismatch, Outcome, Source, SourceMut},
    view::{View, ViewMut},
};

/// A part of an array: what [`layout!`](crate::layout) and the ready-made shapes give.
///
/// There are two kinds. A [`StaticLayout`] is known at compile time and takes no space; a [`DynamicLayout`] is worked out
/// while the program runs. A reference to a layout is one, too. Both have these methods as their own, so that the trait is
/// needed for generic code only:
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
/// `region` is always the same, selects within an array of its shape, and values of `Element` only; `NESTS`, if there
/// are any, are its loop nests, and `plan` is its plan. `Shape` says the same shape as nested arrays in memory have it, from the
/// outermost, or is a [`Rank`] of so many dimensions. `entry` describes the region for an array without gaps. `Coverage` is
/// [`Disjoint`] only if the region selects no byte twice, or its check finds that out.
pub unsafe trait Layout: Clone + Sync {
    /// The elements of the array.
    type Element: MpiDatatype;
    /// The shape of the array, as far as the compiler knows it: nested arrays of `()`, or [`Rank`].
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
    /// A source is whatever has elements of the right type in the right shape: nested arrays; slices and `Vec`s of as many
    /// elements; with features, `ndarray`'s arrays and views and `nalgebra`'s matrices, with strides of their own. Where the
    /// types say that the shape is right this is the view, and otherwise a `Result`:
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
        S: Source<Self::Element, Self::Shape> + ?Sized,
    {
        S::Mismatch::outcome(source.place(&self.region()).map(|place| View::new(place, self.clone())))
    }

    /// The part of `source`, to be written: an rsmpi `BufferMut`. What lies beside the part is not touched.
    ///
    /// A layout that selects something twice has no such view. That is found by the compiler, or with a dynamic layout when
    /// this is called.
    ///
    /// # Errors
    /// [`Error::Shape`]; [`Error::Overlap`] for dynamic layouts.
    fn of_mut<'a, S>(&self, source: &'a mut S) -> Outcome<S::Mismatch, ViewMut<'a, Self>>
    where
        S: SourceMut<Self::Element, Self::Shape> + ?Sized,
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

    /// Whether there are values of which not every pattern is one.
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

    /// The type map in short, relative to the first value selected.
    fn type_map(&self) -> String {
        self.entry().type_map()
    }

    /// The cost of the tree in the storage model.
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

    /// All of it to be read: what is selected, drawn as cells where the array has one or two dimensions, beside the
    /// tree; its cost, and the calls that build it.
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

    /// The committed MPI datatype, relative to the first value selected, in an array without gaps; see
    /// [`MpiDatatype::datatype`](crate::MpiDatatype::datatype).
    ///
    /// # Errors
    /// Before `MPI_Init` and after `MPI_Finalize`, and where MPI refuses a call.
    #[cfg(feature = "mpi")]
    fn datatype(&self) -> Result<crate::LayoutDatatype, Error> {
        self.entry().clone().datatype()
    }

    /// The committed MPI datatype of the part within its array, without gaps: displacement 0 is the first element, and the extent is
    /// that of the array, as with `MPI_Type_create_subarray` (MPI 4.1 section 5.1.3). Files and windows are divided with such types.
    ///
    /// # Errors
    /// As [`datatype`](Self::datatype).
    #[cfg(feature = "mpi")]
    fn array_datatype(&self) -> Result<crate::LayoutDatatype, Error> {
        let region = self.region();
        let extent = (region.array_elements() * region.element) as i64;
        let tree = TypeTree::structure([self.offset() as i64], [region.tree(&region.contiguous())]);
        Entry::Shared(cached(tree, Some(Bounds::of_extent(extent)))).datatype()
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

/// The shape of an array that only the running program knows: so many dimensions.
#[derive(Debug)]
pub struct Rank<const D: usize>(Infallible);

/// The shape of a type map: any memory that is long enough.
#[derive(Debug)]
pub struct Memory(Infallible);

/// Whether a layout that is known at compile time selects no byte twice.
#[derive(Debug)]
pub struct Coverage<const DISJOINT: bool>(Infallible);

/// That it has to be found out.
#[derive(Debug)]
pub struct UnknownCoverage(Infallible);

/// What the [coverage](Layout::Coverage) of a layout `L` is if it selects no byte twice, or that may turn out.
///
/// Code that receives into parts of any source of any layout asks for it:
///
/// ```
/// use std::convert::Infallible;
/// use dtype_runtime::{Disjoint, Layout, SourceMut, layout};
///
/// fn clear<L, A>(layout: &L, array: &mut A)
/// where
///     L: Layout<Coverage: Disjoint<Infallible, L>>,
///     A: SourceMut<L::Element, L::Shape, Mismatch = Infallible>,
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
    note = "what arrives there would depend on the order in which it is written; such a layout can be sent, with `of`"
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

impl<T: MpiDatatype, const D: usize> Disjoint<Error, DynamicLayout<T, D>> for UnknownCoverage {
    fn check(layout: &DynamicLayout<T, D>) -> Result<(), Error> {
        if layout.is_disjoint() { Ok(()) } else { Err(Error::Overlap) }
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

/// A datatype of a layout: one of the program's own, or one that is shared as long as it is used.
#[derive(Clone)]
pub enum Entry {
    /// Of a static layout.
    Fixed(&'static LazyDatatype),
    /// Of any other.
    Shared(Arc<LazyDatatype>),
}

impl Deref for Entry {
    type Target = LazyDatatype;

    fn deref(&self) -> &LazyDatatype {
        match self {
            Self::Fixed(entry) => entry,
            Self::Shared(entry) => entry,
        }
    }
}

#[cfg(feature = "mpi")]
impl Entry {
    /// Of so many of it, an extent apart.
    pub(crate) fn repeated(&self, copies: usize) -> Self {
        let extent = self.bounds().map_or(0, |bounds| bounds.extent);
        let tree = TypeTree::vector(copies as u64, extent, self.solution().tree.clone());
        Self::Shared(cached(tree, None))
    }
}

/// The datatype of a region of an array with these strides; for `copies` of them in a row, if they are not just one.
pub(crate) fn entry_of(region: &Region<'_>, strides: &Strides, copies: usize) -> Entry {
    let extent = || (region.array_elements() * region.element) as i64;
    Entry::Shared(cached(region.tree(strides), (copies != 1).then(|| Bounds::of_extent(extent()))))
}

/// The methods of [`Layout`] as methods of the type itself, so that nobody needs to import the trait.
macro_rules! own_methods {
    ($element:ty, $shape:ty, $coverage:ty) => {
        /// The part of `source`, to be read: see [`Layout::of`].
        ///
        /// # Errors
        /// [`Error::Shape`], where the types do not say that the shape is right.
        pub fn of<'a, A>(&self, source: &'a A) -> Outcome<A::Mismatch, View<'a, Self>>
        where
            A: Source<$element, $shape> + ?Sized,
        {
            Layout::of(self, source)
        }

        /// The part of `source`, to be written: see [`Layout::of_mut`].
        ///
        /// # Errors
        /// [`Error::Shape`], where the types do not say that the shape is right; [`Error::Overlap`] for dynamic layouts.
        pub fn of_mut<'a, A>(&self, source: &'a mut A) -> Outcome<A::Mismatch, ViewMut<'a, Self>>
        where
            A: SourceMut<$element, $shape> + ?Sized,
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

        /// The type map in short, relative to the first value selected.
        pub fn type_map(&self) -> String {
            Layout::type_map(self)
        }

        /// The cost of the tree in the storage model.
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

        /// All of it to be read: see [`Layout::explain`].
        pub fn explain(&self) -> String {
            Layout::explain(self)
        }

        /// The committed MPI datatype: see [`Layout::datatype`].
        ///
        /// # Errors
        /// Before `MPI_Init` and after `MPI_Finalize`, and where MPI refuses a call.
        #[cfg(feature = "mpi")]
        pub fn datatype(&self) -> Result<crate::LayoutDatatype, Error> {
            Layout::datatype(self)
        }

        /// The committed MPI datatype of the part within its array: see [`Layout::array_datatype`].
        ///
        /// # Errors
        /// Before `MPI_Init` and after `MPI_Finalize`, and where MPI refuses a call.
        #[cfg(feature = "mpi")]
        pub fn array_datatype(&self) -> Result<crate::LayoutDatatype, Error> {
            Layout::array_datatype(self)
        }
    };
}

/// A layout that [`layout!`](crate::layout) worked out at compile time. Takes no space.
///
/// Its datatype begins at the first value selected, which is where views of it point; so two layouts of the same
/// shape have the same type map wherever they lie. A layout with a name is a type of its own:
///
/// ```
/// use dtype_runtime::{View, layout};
///
/// layout!(
///     /// The last column of a small matrix.
///     pub type Last = u8[2][3] => [.., -1];
/// );
///
/// fn bytes(view: View<'_, Last>) -> Vec<u8> {
///     view.pack()
/// }
/// assert_eq!(bytes(Last.of(&[[1, 2, 3], [4, 5, 6]])), [3, 6]);
/// ```
pub struct StaticLayout<S>(PhantomData<fn() -> S>);

/// What a [`StaticLayout`] selects. Types that implement it are written by [`layout!`](crate::layout).
///
/// # Safety
/// As for [`Layout`], whose items these are. `entry` is always the same, made of this type.
pub unsafe trait Selection: 'static {
    /// The elements of the array.
    type Element: MpiDatatype;
    /// The shape of the array, nested in memory.
    type Shape: ?Sized;
    /// Whether bytes are selected twice.
    type Coverage;
    /// See [`Runtime`].
    #[doc(hidden)]
    const RUNTIME: Runtime;
    /// What is selected.
    #[doc(hidden)]
    const REGION: Region<'static>;

    // The element is named once, so that the compiler says only once that it is none.
    #[doc(hidden)]
    const WHOLE: Path<Self::Element> = Path::whole();

    #[doc(hidden)]
    fn entry() -> &'static Entry;
}

impl<S: Selection> StaticLayout<S> {
    /// The layout.
    pub const fn new() -> Self {
        Self(PhantomData)
    }

    own_methods!(S::Element, S::Shape, S::Coverage);
}

// SAFETY: as its selection promises.
unsafe impl<S: Selection> Layout for StaticLayout<S> {
    type Element = S::Element;
    type Shape = S::Shape;
    type Coverage = S::Coverage;

    const NESTS: Option<[Option<Nest<'static>>; FEW_NESTS]> = S::REGION.few_nests();
    const RECEIVABLE: Option<bool> = Some(S::REGION.is_receivable());

    #[inline(always)]
    fn region(&self) -> Region<'_> {
        S::REGION
    }

    fn packed_size(&self) -> usize {
        const { S::REGION.packed_size() }
    }

    fn is_restricted(&self) -> bool {
        const { S::REGION.is_restricted() }
    }

    fn has_blocks(&self) -> bool {
        const { S::REGION.has_blocks() }
    }

    fn plan(&self) -> &Plan {
        S::entry().plan(|| S::REGION.plan(&S::REGION.contiguous()))
    }

    fn entry(&self) -> &Entry {
        S::entry()
    }
}

/// As a layout of the one type that all of its element and number of dimensions have, so that several can be in one list:
///
/// ```
/// use dtype_runtime::{DynamicLayout, layout};
///
/// let first = layout!(u8[2][3] => [.., 0]);
/// let last = layout!(u8[2][3] => [.., -1]);
/// let columns: [DynamicLayout<u8, 2>; 2] = [first.into(), last.into()];
/// let packed = columns.map(|column| column.of(&[[1, 2, 3], [4, 5, 6]]).unwrap().pack());
/// assert_eq!(packed, [[1, 4], [3, 6]]);
/// ```
///
/// Another number of dimensions than the layout has does not compile.
impl<S: Selection, const D: usize> From<StaticLayout<S>> for DynamicLayout<S::Element, D> {
    fn from(_: StaticLayout<S>) -> Self {
        const { assert!(S::REGION.shape.len() == D, "the layout has another number of dimensions") };
        let Region { shape, order, element, axes, parts, lists } = S::REGION;
        let (shape, axes, parts, lists) = (shape.to_vec(), axes.to_vec(), parts.to_vec(), lists.to_vec());
        Self(Arc::new(Dynamic::new(shape, order, element, axes, parts, lists)), PhantomData)
    }
}

impl<S> Clone for StaticLayout<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for StaticLayout<S> {}

impl<S: Selection> Default for StaticLayout<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Selection> fmt::Debug for StaticLayout<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug("StaticLayout", S::REGION, f)
    }
}

/// A layout of which something is known only while the program runs: elements `T` of an array of `D` dimensions. Copies
/// share what is worked out.
///
/// ```
/// use dtype_runtime::{Error, LayoutOrigin, layout};
///
/// let (n, m, j) = (3, 4, 1);
/// let column = layout!(u8[n][m] => [.., j])?;
/// let matrix: Vec<u8> = (0..12).collect();
/// assert_eq!(column.of(&matrix)?.pack(), [1, 5, 9]);
/// assert_eq!(column.layout_origin(), LayoutOrigin::RunTime);
///
/// let error = layout!(u8[n][m] => [.., m]).unwrap_err();
/// assert_eq!(error.to_string(), "index 4 is out of bounds: dimension 1 has length 4, so it can be -4 to 3");
/// # Ok::<(), Error>(())
/// ```
pub struct DynamicLayout<T, const D: usize>(Arc<Dynamic>, PhantomData<fn() -> T>);

struct Dynamic {
    shape: Vec<usize>,
    order: ArrayOrder,
    element: usize,
    axes: Vec<Axis>,
    parts: Vec<Part>,
    lists: Vec<Vec<usize>>,
    /// What is asked for with every message: of many pieces it takes a while.
    packed_size: usize,
    is_restricted: bool,
    has_blocks: bool,
    // Not in the entry, which layouts of other types may share: such as travel as bytes are packed field by field.
    plan: OnceLock<Plan>,
    entry: OnceLock<Entry>,
    disjoint: OnceLock<bool>,
}

impl Dynamic {
    fn new(
        shape: Vec<usize>,
        order: ArrayOrder,
        element: usize,
        axes: Vec<Axis>,
        parts: Vec<Part>,
        lists: Vec<Vec<usize>>,
    ) -> Self {
        let region = Region { shape: &shape, order, element, axes: &axes, parts: &parts, lists: &lists };
        let (packed_size, is_restricted, has_blocks) =
            (region.packed_size(), region.is_restricted(), region.has_blocks());
        let (plan, entry, disjoint) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self {
            shape,
            order,
            element,
            axes,
            parts,
            lists,
            packed_size,
            is_restricted,
            has_blocks,
            plan,
            entry,
            disjoint,
        }
    }

    fn region(&self) -> Region<'_> {
        Region {
            shape: &self.shape,
            order: self.order,
            element: self.element,
            axes: &self.axes,
            parts: &self.parts,
            lists: &self.lists,
        }
    }
}

impl<T: MpiDatatype, const D: usize> DynamicLayout<T, D> {
    /// The layout of these pieces.
    ///
    /// # Errors
    /// The first mistake in them.
    #[doc(hidden)]
    pub fn new(pieces: Pieces<T, D>, order: ArrayOrder) -> Result<Self, Error> {
        pieces.check()?;
        let Pieces { shape, axes, parts, lists, .. } = pieces;
        let layout = Dynamic::new(shape.to_vec(), order, size_of::<T>(), axes, parts, lists);
        if isize::try_from(layout.packed_size).is_err() {
            return Err(SelectionError::TooLarge.into());
        }
        Ok(Self(Arc::new(layout), PhantomData))
    }

    own_methods!(T, Rank<D>, UnknownCoverage);

    fn is_disjoint(&self) -> bool {
        /// Pieces that are compared with one another.
        const FEW: usize = 64;
        *self.0.disjoint.get_or_init(|| {
            let region = self.0.region();
            if region.lists.is_empty() && region.parts.len() <= FEW {
                region.is_disjoint()
            } else {
                region.is_disjoint_marked()
            }
        })
    }
}

// SAFETY: `Pieces` has checked the region against its shape, and all of it is of that shape; `UnknownCoverage` finds out
// whether it is disjoint.
unsafe impl<T: MpiDatatype, const D: usize> Layout for DynamicLayout<T, D> {
    type Element = T;
    type Shape = Rank<D>;
    type Coverage = UnknownCoverage;

    fn region(&self) -> Region<'_> {
        self.0.region()
    }

    fn packed_size(&self) -> usize {
        self.0.packed_size
    }

    fn is_restricted(&self) -> bool {
        self.0.is_restricted
    }

    fn has_blocks(&self) -> bool {
        self.0.has_blocks
    }

    fn plan(&self) -> &Plan {
        self.0.plan.get_or_init(|| {
            let region = self.0.region();
            region.plan(&region.contiguous())
        })
    }

    fn entry(&self) -> &Entry {
        self.0.entry.get_or_init(|| {
            let region = self.0.region();
            entry_of(&region, &region.contiguous(), 1)
        })
    }
}

impl<T, const D: usize> Clone for DynamicLayout<T, D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0), PhantomData)
    }
}

impl<T, const D: usize> fmt::Debug for DynamicLayout<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug("DynamicLayout", self.0.region(), f)
    }
}

fn debug(name: &str, region: Region<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Region { shape, order, parts, .. } = region;
    f.debug_struct(name)
        .field("shape", &shape)
        .field("order", &order)
        .field("pieces", &parts.len())
        .field("count", &region.count())
        .finish_non_exhaustive()
}
