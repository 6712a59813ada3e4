//! The parts of files that layouts select, as datatypes.

use dtype_core::{BaseType, Bounds, TypeTree};

use crate::{
    Error, Layout, MpiDatatype,
    layout::{LayoutDatatype, entry::Entry, region::Region},
    types::{
        cache::cached,
        entry::{Purpose, Wanted},
    },
};

/// The bytes that a rank sees of each array in a file.
pub(super) struct Selection {
    tree: TypeTree,
    /// The number of bytes of an array in the file.
    extent: i64,
    is_empty: bool,
}

impl Selection {
    /// Returns the view of a rank that sees nothing, among ranks that see elements `T`.
    pub fn nothing<T: MpiDatatype>() -> Self {
        let size = T::FACTS.wire_size.max(1) as u64;
        // MPI has no views without bytes.
        Self { tree: bytes(size), extent: size as i64, is_empty: true }
    }

    /// Returns the view of the whole elements that a layout selects, in packed form.
    ///
    /// # Errors
    /// [`Error::Ascending`] if the elements do not ascend.
    pub fn of<L: Layout>(layout: &L) -> Result<Self, Error> {
        let size = L::Element::FACTS.wire_size;
        let region = Region { element: size, ..layout.region() };
        let strides = region.contiguous();
        let (mut displacements, mut children, mut end) = (Vec::new(), Vec::new(), 0);
        for nest in region.nests(&strides) {
            let (mut tree, mut reach) = (bytes(size as u64), size as i64);
            for level in nest.loops().iter().rev() {
                let places: Vec<i64> = match level.list {
                    None => {
                        // All distances are equal.
                        if level.count > 1 && (level.stride as i64) < reach {
                            return Err(Error::Ascending);
                        }
                        reach += (level.count as i64 - 1) * level.stride as i64;
                        tree = TypeTree::vector(level.count as u64, level.stride as i64, tree);
                        continue;
                    }
                    Some(_) => (0..level.count).map(|i| level.offset(i) as i64).collect(),
                };
                if places.windows(2).any(|pair| pair[1] - pair[0] < reach) {
                    return Err(Error::Ascending);
                }
                reach += places.last().copied().unwrap_or(0);
                tree = TypeTree::index(places, tree);
            }
            if (nest.start as i64) < end {
                return Err(Error::Ascending);
            }
            end = nest.start as i64 + reach;
            displacements.push(nest.start as i64);
            children.push(tree);
        }
        if children.is_empty() || size == 0 {
            return Ok(Self::nothing::<L::Element>());
        }
        let extent = (region.array_elements() * size) as i64;
        Ok(Self { tree: TypeTree::structure(displacements, children), extent, is_empty: false })
    }

    /// Returns `true` if the rank sees nothing.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Returns the committed datatype of the view.
    pub fn datatype(self) -> Result<LayoutDatatype, Error> {
        let wanted = Wanted::new(self.tree, Some(Bounds::of_extent(self.extent)));
        Entry::Shared(cached(Wanted { purpose: Purpose::Any, ..wanted })).datatype()
    }
}

/// Returns the tree of adjacent bytes.
fn bytes(count: u64) -> TypeTree {
    TypeTree::vector(count, 1, TypeTree::Leaf(BaseType::U8))
}
