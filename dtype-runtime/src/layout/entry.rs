//! Entries: the solution, the plan and the MPI datatype of a layout, each computed once.

use std::{ops::Deref, sync::Arc};

use dtype_core::Bounds;
#[cfg(feature = "mpi")]
use dtype_core::TypeTree;

use super::region::{Region, Strides};
use crate::types::{
    cache::cached,
    entry::{LazyDatatype, Wanted},
};

/// The entry of a layout: a `static` of the program, or shared by all its users.
#[derive(Clone)]
pub enum Entry {
    /// The entry of a static layout.
    Fixed(&'static LazyDatatype),
    /// The entry of any other layout, or of a view.
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
    /// Returns the entry of `copies` copies, one extent apart.
    pub(crate) fn repeated(&self, copies: usize) -> Self {
        let extent = self.bounds().map_or(0, |bounds| bounds.extent);
        let tree = TypeTree::vector(copies as u64, extent, self.solution().tree.clone());
        Self::Shared(cached(Wanted::new(tree, None)))
    }
}

/// Returns the entry of a region in an array with these strides. If `copies` is not 1, the datatype has the
/// extent of the array, so that a message can hold several arrays in a row.
pub(crate) fn entry_of(region: &Region<'_>, strides: &Strides, copies: usize) -> Entry {
    let extent = || region.array_size() as i64;
    let bounds = (copies != 1).then(|| Bounds::of_extent(extent()));
    Entry::Shared(cached(Wanted::new(region.tree(strides), bounds)))
}
