//! The parts of a file that layouts select: as datatypes, and as runs of bytes.

use std::ops::Range;

use dtype_core::{BaseType, Bounds, Purpose, TypeTree};

use crate::{
    Error, Layout, MpiDatatype, Result,
    layout::{LayoutDatatype, entry::Entry, nest::for_each_place, region::Region},
    types::{cache::cached, entry::Wanted},
};

/// The largest number of bytes in one call: a library counts them by `int`.
pub(super) const MOST: usize = 1 << 30;

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
        let blocks = Runs::of(layout).count;
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

/// Adjacent bytes of a file, and their packed bytes.
pub(super) struct Run {
    /// The offset of the first byte in the file.
    pub at: u64,
    /// The range of the packed bytes.
    pub bytes: Range<usize>,
}

impl Run {
    /// The size in bytes from which a run is long: then a call for each run is faster than a view.
    const LONG: usize = 1 << 10;

    /// The number of runs that are few enough for a call each, however short they are.
    const FEW: usize = 8;

    /// Returns `true` if the elements of a layout, in packed form, lie in many short runs of the array.
    pub fn are_short<L: Layout>(layout: &L) -> bool {
        let Runs { count, bytes } = Runs::of(layout);
        count > Self::FEW && bytes / count < Self::LONG
    }

    /// Returns the runs of the elements of a layout, in packing order, in an array at an offset of the file.
    pub fn all<L: Layout>(layout: &L, offset: u64) -> Vec<Self> {
        let size = L::Element::FACTS.wire_size;
        let region = Region { element: size, ..layout.region() };
        let strides = region.contiguous();
        let (mut runs, mut packed) = (Vec::new(), 0);
        for nest in region.nests(&strides) {
            let (count, outer) = nest.contiguous_of(size);
            for_each_place(nest.start, outer, &mut |at| {
                let bytes = packed..packed + count * size;
                packed = bytes.end;
                runs.push(Self { at: offset.saturating_add_signed(at as i64), bytes });
            });
        }
        runs
    }

    /// Divides a very long run into parts that fit an MPI call.
    pub fn parts(self) -> impl Iterator<Item = Self> {
        let Self { at, bytes } = self;
        (bytes.start..bytes.end).step_by(MOST).map(move |start| {
            let end = bytes.end.min(start + MOST);
            Self { at: at.saturating_add((start - bytes.start) as u64), bytes: start..end }
        })
    }
}

/// The number of runs of a layout, and of their bytes.
struct Runs {
    count: usize,
    bytes: usize,
}

impl Runs {
    fn of<L: Layout>(layout: &L) -> Self {
        let size = L::Element::FACTS.wire_size;
        let region = Region { element: size, ..layout.region() };
        let strides = region.contiguous();
        region.nests(&strides).fold(Self { count: 0, bytes: 0 }, |Self { count, bytes }, nest| {
            let (elements, outer) = nest.contiguous_of(size);
            let runs = outer.iter().fold(1usize, |runs, level| runs.saturating_mul(level.count));
            Self {
                count: count.saturating_add(runs),
                bytes: bytes.saturating_add(runs.saturating_mul(elements.saturating_mul(size))),
            }
        })
    }
}

/// Returns the tree of adjacent bytes.
fn bytes(count: u64) -> TypeTree {
    TypeTree::vector(count, 1, TypeTree::Leaf(BaseType::U8))
}
