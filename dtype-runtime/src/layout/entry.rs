//! What is worked out of a layout once.

use std::{ops::Deref, sync::Arc};

use dtype_core::Bounds;
#[cfg(feature = "mpi")]
use dtype_core::TypeTree;

use super::region::{Region, Strides};
use crate::types::{
    cache::cached,
    entry::{LazyDatatype, Wanted},
};

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
    /// Of `copies` copies, an extent apart.
    pub(crate) fn repeated(&self, copies: usize) -> Self {
        let extent = self.bounds().map_or(0, |bounds| bounds.extent);
        let tree = TypeTree::vector(copies as u64, extent, self.solution().tree.clone());
        Self::Shared(cached(Wanted::new(tree, None)))
    }
}

/// The datatype of a region of an array with these strides; for `copies` of them in a row, if they are not
/// just one.
pub(crate) fn entry_of(region: &Region<'_>, strides: &Strides, copies: usize) -> Entry {
    let extent = || (region.array_elements() * region.element) as i64;
    let bounds = (copies != 1).then(|| Bounds::of_extent(extent()));
    Entry::Shared(cached(Wanted::new(region.tree(strides), bounds)))
}
