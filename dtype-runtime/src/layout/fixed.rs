//! Layouts that are known at compile time.

use std::{fmt, marker::PhantomData};

use dtype_core::{Optimality, Program, TypeTree, constant::Solved};

use super::{
    Disjoint, Layout,
    entry::Entry,
    nest::Nest,
    own_methods,
    pieces::Path,
    region::{FEW_NESTS, Region},
    source::{ArrayLike, ArrayLikeMut, Outcome},
    view::{View, ViewMut},
};
#[cfg(feature = "mpi")]
use crate::Error;
use crate::{
    engine::Plan,
    types::{
        MpiDatatype,
        entry::{COSTS, Description, Expansion, LayoutOrigin, LazyDatatype, unsolved},
        runtime::Ours,
    },
};

/// A layout that [`layout!`](crate::layout!) worked out at compile time. Takes no space.
///
/// Its datatype begins at the first value selected, which is where views of it point; so two layouts of the
/// same shape have the same type map wherever they lie. A layout with a name is a type of its own:
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

/// What a [`StaticLayout`] selects. Types that implement it are written by [`layout!`](crate::layout!).
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
    /// See [`Ours`].
    #[doc(hidden)]
    type DtypeRuntime: Ours;
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

/// The entry of a selection of an array without gaps. Its bounds do not matter.
pub const fn entry_of_selection<S: Selection>(expansion: Option<Expansion>) -> LazyDatatype {
    let solved = if expansion.is_some() { unsolved } else { solved::<S> };
    let describe = || S::REGION.tree(&S::REGION.contiguous());
    LazyDatatype::of(Description::Listed(describe), COSTS, None, expansion, solved)
}

/// The layout of a selection as constant evaluation solves it: done once, when code for this function is
/// made.
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
