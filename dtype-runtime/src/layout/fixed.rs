//! Layouts that are known at compile time.

use std::{fmt, marker::PhantomData};

use dtype_core::{Optimality, Program, TypeTree, constant::Solved};
use dtype_engine::Plan;

use super::{
    entry::Entry,
    nest::Nest,
    own_methods::own_methods,
    pieces::Path,
    region::{FEW_NESTS, Region, Totals},
    source::{ArrayLike, ArrayLikeMut, Outcome},
    traits::{Disjoint, Layout, View, ViewMut},
};
#[cfg(feature = "mpi")]
use crate::Error;
use crate::types::{
    MpiDatatype,
    entry::{COSTS, Description, Expansion, LayoutOrigin, LazyDatatype, unsolved},
    runtime::{Ours, Runtime},
};

/// A layout that [`layout!`](crate::layout!) computed at compile time. It takes no space.
///
/// Its datatype begins at the first selected value, to which its views point. So layouts that differ only in
/// their position, such as two columns of a matrix, have the same type map. Each layout is a type of its own.
/// For several in one list or variable, convert them to [`DynamicLayout`](super::DynamicLayout), which is one
/// type for all:
///
/// ```
/// use dtype_runtime::{DynamicLayout, layout};
///
/// let (first, second) = (layout!(f64[9][9] => [.., 1]), layout!(f64[9][9] => [.., 2]));
/// let columns: Vec<DynamicLayout<f64, 2>> = vec![first.into(), second.into()];
/// assert_eq!(columns.iter().map(|column| column.count()).sum::<usize>(), 18);
/// ```
///
/// A layout may have a name:
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

/// The selection of a [`StaticLayout`]. [`layout!`](crate::layout!) writes the types that implement it.
///
/// # Safety
/// The conditions of [`Layout`] hold for the items that both traits have. `entry` always returns the same
/// entry, made for this type.
#[doc(hidden)]
pub unsafe trait Selection: 'static {
    /// The element type of the array.
    type Element: MpiDatatype;
    /// The shape of the array, nested as in memory.
    type Shape: ?Sized;
    /// A type that tells whether bytes are selected twice.
    type Coverage;
    /// The kind of the layout: whole elements, or parts of them.
    type Selects;
    /// See [`Ours`].
    #[doc(hidden)]
    type DtypeRuntime: Ours;
    /// The selected region.
    #[doc(hidden)]
    const REGION: Region<'static>;

    // Expansions name the element type only here, so that the compiler reports an invalid type only once.
    #[doc(hidden)]
    const WHOLE: Path<Self::Element> = Path::whole();

    #[doc(hidden)]
    fn entry() -> &'static Entry;
}

impl<S: Selection> StaticLayout<S> {
    /// Returns the layout.
    pub const fn new() -> Self {
        Self(PhantomData)
    }

    own_methods!(S::Element, S::Shape, S::Coverage);
}

// SAFETY: the items are those of the selection, whose contract demands the same.
unsafe impl<S: Selection> Layout for StaticLayout<S> {
    type Element = S::Element;
    type Shape = S::Shape;
    type Coverage = S::Coverage;
    type Selects = S::Selects;

    const NESTS: Option<[Option<Nest<'static>>; FEW_NESTS]> = S::REGION.few_nests();
    const RECEIVABLE: Option<bool> = Some(S::REGION.totals().is_receivable);

    #[inline(always)]
    fn region(&self) -> Region<'_> {
        S::REGION
    }

    fn totals(&self) -> Totals {
        const { S::REGION.totals() }
    }

    fn plan(&self) -> &Plan {
        S::entry().plan(&|| S::REGION.plan(&S::REGION.contiguous()))
    }

    fn entry(&self) -> &Entry {
        S::entry()
    }
}

impl Runtime {
    /// Returns the entry of a selection in an array without gaps. Its datatype may have any bounds.
    pub const fn entry_of_selection<S: Selection>(expansion: Option<Expansion>) -> LazyDatatype {
        let solved = if expansion.is_some() { unsolved } else { solved::<S> };
        LazyDatatype::of(Description::Listed(tree::<S>), COSTS, None, expansion, solved)
    }
}

/// Returns the tree of a selection before it is solved.
fn tree<S: Selection>() -> TypeTree {
    S::REGION.tree(&S::REGION.contiguous())
}

/// Returns the solution that constant evaluation finds for a selection. The compiler evaluates it once, when
/// it generates code for this function.
fn solved<S: Selection>() -> Option<&'static Solved> {
    const { &S::REGION.solved() }.as_ref()
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
        S::REGION.debug("StaticLayout", f)
    }
}
