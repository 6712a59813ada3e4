//! The parts of a file that layouts select, as datatypes.

use dtype_core::{BaseType, Bounds, Purpose, TypeTree};

use crate::{
    Error, Layout, MpiDatatype, Result,
    layout::{LayoutDatatype, entry::Entry, region::Region},
    types::{cache::cached, entry::Wanted},
};

/// The largest number of contiguous blocks of an array in a view. Libraries list them when the view is set:
/// 2²⁷ blocks take 2 GiB and some seconds. Beyond, libraries end the program, or never return.
const MOST_BLOCKS: usize = 1 << 27;

/// The bytes that a rank sees of each array in a file.
pub(super) struct Selection {
    tree: TypeTree,
    /// The number of bytes of an array in the file.
    extent: i64,
}

impl Selection {
    /// Returns the view of a rank that sees nothing, among ranks that see elements `T`.
    pub fn nothing<T: MpiDatatype>() -> Self {
        let size = T::FACTS.wire_size.max(1) as u64;
        // MPI has no views without bytes.
        Self { tree: bytes(size), extent: size as i64 }
    }

    /// Returns the view of the whole elements that a layout selects, in packed form.
    ///
    /// # Errors
    /// `Argument` if the elements do not ascend, or are in too many blocks.
    pub fn of<L: Layout>(layout: &L) -> Result<Self> {
        let blocks = blocks_of(layout);
        if blocks > MOST_BLOCKS {
            return Err(Error::Parameter {
                shape: "a view of a file",
                parameter: "the number of contiguous blocks".to_owned(),
                value: blocks as i128,
                requirement: format!("at most {MOST_BLOCKS}: MPI libraries list them"),
            });
        }
        let size = L::Element::FACTS.wire_size;
        let region = Region { element: size, ..layout.region() };
        let strides = region.contiguous();
        let mut displacements = Vec::new();
        let mut children = Vec::new();
        let mut end = 0;
        for nest in region.nests(&strides) {
            let (mut tree, mut reach) = (bytes(size as u64), size as i64);
            for level in nest.loops().iter().rev() {
                let (count, stride) = (level.count, level.stride as i64);
                let ascends = match level.list {
                    Some(list) if !list.ascends() => {
                        let mut places = (0..count).map(|i| level.offset(i) as i64);
                        let first = places.next().unwrap_or(0);
                        places.try_fold(first, |last, next| (next - last >= reach).then_some(next)).is_some()
                    }
                    // No distance is shorter than this one.
                    _ => count < 2 || stride >= reach,
                };
                if !ascends {
                    return Err(Error::Ascending);
                }
                reach += level.offset(count - 1) as i64;
                tree = match level.list {
                    Some(list) => list.tree(level.stride, tree),
                    None => TypeTree::vector(count as u64, stride, tree),
                };
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
        Ok(Self { tree: TypeTree::structure(displacements, children), extent })
    }

    /// Returns the number of bytes of an array in the file.
    pub fn extent(&self) -> u64 {
        self.extent as u64
    }

    /// Returns the committed datatype of the view.
    pub fn datatype(self) -> Result<LayoutDatatype> {
        let wanted = Wanted::new(self.tree, Some(Bounds::of_extent(self.extent)));
        Entry::Shared(cached(Wanted { purpose: Purpose::Files, ..wanted })).datatype()
    }
}

/// Returns the number of contiguous blocks of a layout.
fn blocks_of<L: Layout>(layout: &L) -> usize {
    let size = L::Element::FACTS.wire_size;
    let region = Region { element: size, ..layout.region() };
    let strides = region.contiguous();
    region.nests(&strides).fold(0, |blocks: usize, nest| {
        let (_, outer) = nest.contiguous_of(size);
        blocks.saturating_add(outer.iter().fold(1usize, |blocks, level| blocks.saturating_mul(level.count)))
    })
}

/// Returns the tree of adjacent bytes.
fn bytes(count: u64) -> TypeTree {
    TypeTree::vector(count, 1, TypeTree::Leaf(BaseType::U8))
}
