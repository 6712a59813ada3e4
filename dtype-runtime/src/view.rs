//! Static layouts and their views: a piece of an array as a value that can be sent, received, packed.

use std::{fmt, marker::PhantomData};

use dtype_core::{Optimality, Program, TypeTree};

use crate::{
    Error,
    lazy::LayoutOrigin,
    pack::{pack_selection, pack_selection_into, packed_size, unpack_selection},
    selection::Selection,
};

/// A layout that [`layout!`](crate::layout) worked out at compile time. Takes no space.
///
/// Its datatype begins at the first element selected, which is where views of it point; so two layouts of the same
/// shape have the same type map wherever they lie.
pub struct StaticLayout<S>(PhantomData<S>);

impl<S: Selection> StaticLayout<S> {
    /// The layout of a selection, which is checked here, at compile time.
    #[doc(hidden)]
    pub const fn new() -> Self {
        const { S::VALID };
        Self(PhantomData)
    }

    /// The piece of `source`, to be read: an rsmpi `Buffer`.
    pub fn of<'a>(&self, source: &'a S::Source) -> View<'a, S> {
        View { source, layout: *self }
    }

    /// The piece of `source`, to be written: an rsmpi `BufferMut`. What lies beside the piece is not touched.
    pub fn of_mut<'a>(&self, source: &'a mut S::Source) -> ViewMut<'a, S> {
        ViewMut { source, layout: *self }
    }

    /// Number of elements selected.
    pub const fn count(&self) -> usize {
        S::COUNT
    }

    /// Bytes from the start of the source to the first element selected.
    pub const fn start(&self) -> usize {
        S::START * size_of::<S::Element>()
    }

    /// The least-cost type tree, relative to the first element selected.
    pub fn tree(&self) -> &'static TypeTree {
        &S::lazy().solution().tree
    }

    /// The type map in short, relative to the first element selected.
    pub fn type_map(&self) -> String {
        S::lazy().type_map()
    }

    /// The cost of the tree in the storage model.
    pub fn cost(&self) -> u64 {
        S::lazy().cost()
    }

    /// Whether that cost is known to be the least.
    pub fn optimality(&self) -> Optimality {
        S::lazy().solution().optimality
    }

    /// The calls that build the MPI datatype.
    pub fn constructor_calls(&self) -> &'static Program {
        S::lazy().program()
    }

    /// Where the layout was solved.
    pub fn layout_origin(&self) -> LayoutOrigin {
        S::lazy().origin()
    }

    /// The committed MPI datatype, relative to the first element selected; see
    /// [`MpiDatatype::datatype`](crate::MpiDatatype::datatype).
    ///
    /// # Errors
    /// Before `MPI_Init` and after `MPI_Finalize`, and where MPI refuses a call.
    #[cfg(feature = "mpi")]
    pub fn datatype(&self) -> Result<mpi::datatype::DatatypeRef<'static>, Error> {
        S::lazy().datatype()
    }
}

impl<S> Clone for StaticLayout<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for StaticLayout<S> {}

impl<S: Selection> fmt::Debug for StaticLayout<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticLayout")
            .field("start", &S::START)
            .field("dimensions", &S::DIMENSIONS)
            .finish_non_exhaustive()
    }
}

/// A piece of an array, to be read.
#[derive(Clone, Copy)]
pub struct View<'a, S: Selection> {
    pub(crate) source: &'a S::Source,
    layout: StaticLayout<S>,
}

impl<S: Selection> View<'_, S> {
    /// The layout of the piece.
    pub fn layout(&self) -> StaticLayout<S> {
        self.layout
    }

    /// Packs the elements into bytes, in the order of the selection; see [`pack`](crate::pack()).
    ///
    /// ```
    /// let matrix = [[1u8, 2, 3], [4, 5, 6]];
    /// let columns = dtype_runtime::layout!(u8[2][3] => [.., 0..3;2]);
    /// assert_eq!(columns.of(&matrix).pack(), [1, 3, 4, 6]);
    /// ```
    pub fn pack(&self) -> Vec<u8> {
        pack_selection::<S>(self.source)
    }

    /// Packs the elements into the front of `packed` and returns how many bytes they took.
    ///
    /// # Errors
    /// [`Error::Length`] where `packed` is too short; nothing is written then.
    pub fn pack_into(&self, packed: &mut [u8]) -> Result<usize, Error> {
        pack_selection_into::<S>(self.source, packed)
    }

    /// Bytes that [`pack`](Self::pack) gives.
    pub fn packed_size(&self) -> usize {
        packed_size::<S::Element>(S::COUNT)
    }
}

/// A piece of an array, to be written.
pub struct ViewMut<'a, S: Selection> {
    pub(crate) source: &'a mut S::Source,
    layout: StaticLayout<S>,
}

impl<S: Selection> ViewMut<'_, S> {
    /// The same piece, to be read.
    pub fn as_view(&self) -> View<'_, S> {
        View { source: self.source, layout: self.layout }
    }

    /// Unpacks bytes that [`View::pack`] made, of this or of any layout with the same elements in all.
    ///
    /// ```
    /// let mut matrix = [[0u8; 3]; 2];
    /// let column = dtype_runtime::layout!(u8[2][3] => [.., 1]);
    /// column.of_mut(&mut matrix).unpack(&[7, 8])?;
    /// assert_eq!(matrix, [[0, 7, 0], [0, 8, 0]]);
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`unpack_into`](crate::unpack_into); nothing is written then.
    pub fn unpack(&mut self, packed: &[u8]) -> Result<(), Error> {
        unpack_selection::<S>(packed, self.source)
    }
}

impl<S: Selection> fmt::Debug for View<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("View").field(&self.layout).finish()
    }
}

impl<S: Selection> fmt::Debug for ViewMut<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ViewMut").field(&self.layout).finish()
    }
}
