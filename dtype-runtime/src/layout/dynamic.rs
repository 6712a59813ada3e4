//! Layouts that are known only at run time.

use std::{
    fmt,
    marker::PhantomData,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use dtype_core::{ArrayOrder, Optimality, Program, SelectionError, TypeTree};
use dtype_engine::{Error as PackError, Plan};

use super::{
    entry::{Entry, entry_of},
    fixed::{Selection, StaticLayout},
    list::List,
    own_methods::own_methods,
    part::Part,
    pieces::Pieces,
    region::{Axis, Region, Totals},
    shape::{Dimensions, Elements, Fields},
    source::{ArrayLike, ArrayLikeMut, Outcome},
    traits::{Disjoint, Layout, UnknownCoverage, View, ViewMut},
};
use crate::{
    Error,
    types::{MpiDatatype, cache::note_hit, entry::LayoutOrigin},
};

/// A layout that is computed at run time, of elements `T` in an array of `D` dimensions. Clones share its
/// tree, plan and MPI datatype.
///
/// ```
/// use dtype_runtime::{Error, layout, layout::LayoutOrigin};
///
/// let (n, m) = (3, 4);
/// let j = 1;
/// let column = layout!(u8[n][m] => [.., j])?;
/// let matrix: Vec<u8> = (0..12).collect();
/// assert_eq!(column.of(&matrix)?.pack(), [1, 5, 9]);
/// assert_eq!(column.layout_origin(), LayoutOrigin::RunTime);
///
/// let error = layout!(u8[n][m] => [.., m]).unwrap_err();
/// let message = "index 4 is out of bounds: dimension 1 has length 4, so valid values are -4 to 3";
/// assert_eq!(error.to_string(), message);
/// # Ok::<(), Error>(())
/// ```
///
/// `S` is [`Elements`], or [`Fields`](super::Fields) for a layout of parts of elements:
///
/// ```
/// use dtype_runtime::{DynamicLayout, Error, MpiDatatype, layout, layout::Fields};
///
/// #[derive(MpiDatatype, Clone, Copy)]
/// struct Cell { pressure: f64, kind: u8 }
///
/// fn pressures(n: usize) -> Result<DynamicLayout<Cell, 1, Fields>, Error> {
///     layout!(Cell[n] => [..].pressure)
/// }
/// assert_eq!(pressures(3)?.packed_size(), 24);
/// # Ok::<(), Error>(())
/// ```
pub struct DynamicLayout<T, const D: usize, S = Elements>(Arc<Dynamic>, PhantomData<fn() -> (T, S)>);

struct Dynamic {
    region: OwnRegion,
    /// Every message needs them, and summing them over many pieces is slow.
    totals: Totals,
    // Not part of the entry. Layouts of different element types may share an entry, but not a plan: a type
    // that MPI carries as bytes is packed field by field.
    plan: OnceLock<Plan>,
    entry: OnceLock<Entry>,
    disjoint: OnceLock<bool>,
}

/// A region with lists of its own.
#[derive(PartialEq)]
struct OwnRegion {
    shape: Box<[usize]>,
    order: ArrayOrder,
    element: usize,
    axes: Box<[Axis]>,
    parts: Box<[Part]>,
    lists: Box<[Arc<List>]>,
}

impl OwnRegion {
    fn borrowed(&self) -> Region<'_> {
        Region {
            shape: &self.shape,
            order: self.order,
            element: self.element,
            axes: &self.axes,
            parts: &self.parts,
            lists: &self.lists,
        }
    }

    /// Returns the number of indices that all lists hold one by one.
    fn indices(&self) -> usize {
        self.lists.iter().map(|list| list.held()).sum()
    }
}

/// The cached layouts with long lists, in the order of their last use.
static OF_LISTS: Mutex<Vec<Arc<Dynamic>>> = Mutex::new(Vec::new());

/// The largest number of layouts in [`OF_LISTS`].
const MOST_OF_LISTS: usize = 64;

/// The largest number of indices in all lists of the layouts in [`OF_LISTS`].
const MOST_INDICES: usize = 1 << 22;

impl Dynamic {
    /// Returns an equal layout from the cache, with all its results. If there is none, caches and returns
    /// this layout. A layout with fewer than [`List::FROM`] or more than [`MOST_INDICES`] listed indices is
    /// not cached.
    fn remembered(self) -> Arc<Self> {
        if !(List::FROM..=MOST_INDICES).contains(&self.region.indices()) {
            return Arc::new(self);
        }
        // No call that can panic leaves the list inconsistent, so a poisoned lock can be used.
        let mut all = OF_LISTS.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().rposition(|known| known.region == self.region);
        let layout = known.map_or_else(|| Arc::new(self), |known| all.remove(known));
        all.push(Arc::clone(&layout));
        let (mut first, mut indices) = (all.len(), 0);
        while first > 0 && all.len() - first < MOST_OF_LISTS {
            indices += all[first - 1].region.indices();
            if indices > MOST_INDICES {
                break;
            }
            first -= 1;
        }
        let forgotten: Vec<_> = all.drain(..first).collect();
        drop(all);
        drop(forgotten);
        if layout.entry.get().is_some() {
            note_hit();
        }
        layout
    }
}

impl<T: MpiDatatype, const D: usize> DynamicLayout<T, D> {
    /// Returns the layout of these pieces, which are whole elements.
    ///
    /// # Errors
    /// The first mistake in the pieces; [`SelectionError::TooLarge`] if the packed size exceeds `isize::MAX`.
    ///
    /// # Panics
    /// If a piece is a part of an element. Neither `layout!` nor a ready-made shape does that.
    #[doc(hidden)]
    pub fn new(pieces: Pieces<T, D>, order: ArrayOrder) -> Result<Self, Error> {
        let layout = Self::checked(pieces, order)?;
        assert!(layout.region().selects_elements(), "all pieces are whole elements");
        Ok(layout)
    }
}

impl<T: MpiDatatype, const D: usize> DynamicLayout<T, D, Fields> {
    /// Returns the layout of these pieces, which may be parts of elements.
    ///
    /// # Errors
    /// The first mistake in the pieces; [`SelectionError::TooLarge`] if the packed size exceeds `isize::MAX`.
    #[doc(hidden)]
    pub fn of_fields(pieces: Pieces<T, D>, order: ArrayOrder) -> Result<Self, Error> {
        Self::checked(pieces, order)
    }
}

impl<T: MpiDatatype, const D: usize, S> DynamicLayout<T, D, S> {
    fn checked(pieces: Pieces<T, D>, order: ArrayOrder) -> Result<Self, Error> {
        pieces.check()?;
        let layout = Self::of_pieces(pieces, order);
        if isize::try_from(layout.0.totals.packed_size).is_err() {
            return Err(SelectionError::TooLarge.into());
        }
        Ok(layout)
    }

    /// Returns the layout of pieces that have been checked.
    fn of_pieces(Pieces { shape, axes, parts, lists, .. }: Pieces<T, D>, order: ArrayOrder) -> Self {
        let region = OwnRegion {
            shape: shape.into(),
            order,
            element: size_of::<T>(),
            axes: axes.into(),
            parts: parts.into(),
            lists: lists.into(),
        };
        let known = Dynamic {
            totals: region.borrowed().totals(),
            region,
            plan: OnceLock::new(),
            entry: OnceLock::new(),
            disjoint: OnceLock::new(),
        };
        Self(known.remembered(), PhantomData)
    }

    own_methods!(T, Dimensions<D>, UnknownCoverage);
}

// SAFETY: `Pieces` has checked that the region selects within its shape, and all other items are computed
// from that region; `UnknownCoverage` checks that the region is disjoint.
unsafe impl<T: MpiDatatype, const D: usize, S> Layout for DynamicLayout<T, D, S> {
    type Element = T;
    type Shape = Dimensions<D>;
    type Coverage = UnknownCoverage;
    type Selects = S;

    fn region(&self) -> Region<'_> {
        self.0.region.borrowed()
    }

    fn totals(&self) -> Totals {
        self.0.totals
    }

    fn plan(&self) -> &Plan {
        self.0.plan.get_or_init(|| {
            let region = self.region();
            region.plan(&region.contiguous())
        })
    }

    fn entry(&self) -> &Entry {
        self.0.entry.get_or_init(|| {
            let region = self.region();
            entry_of(&region, &region.contiguous(), 1)
        })
    }
}

impl<T, const D: usize, S> Clone for DynamicLayout<T, D, S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0), PhantomData)
    }
}

impl<T, const D: usize, S> fmt::Debug for DynamicLayout<T, D, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.region.borrowed().debug("DynamicLayout", f)
    }
}

/// Converts a static layout to a dynamic one. All dynamic layouts with the same element type and number of
/// dimensions have one type, so that a list can hold them:
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
/// If `D` is not the number of dimensions of the layout, the conversion does not compile.
impl<S: Selection, const D: usize> From<StaticLayout<S>> for DynamicLayout<S::Element, D, S::Selects> {
    fn from(_: StaticLayout<S>) -> Self {
        const { assert!(S::REGION.shape.len() == D, "the layout does not have `D` dimensions") };
        Self::of_pieces(Pieces::of_region(&S::REGION), S::REGION.order)
    }
}

impl<T: MpiDatatype, const D: usize, S> Disjoint<Error, DynamicLayout<T, D, S>> for UnknownCoverage {
    fn check(layout: &DynamicLayout<T, D, S>) -> Result<(), Error> {
        /// The largest number of pieces that are compared with one another.
        const FEW: usize = 64;
        let is_disjoint = layout.0.disjoint.get_or_init(|| {
            let region = layout.region();
            let ascend = region.lists.iter().all(|list| list.ascends());
            if region.lists.is_empty() && region.parts.len() <= FEW || ascend && region.parts.len() < 2 {
                region.is_disjoint()
            } else {
                region.is_disjoint_marked()
            }
        });
        if *is_disjoint { Ok(()) } else { Err(PackError::Overlap.into()) }
    }
}
