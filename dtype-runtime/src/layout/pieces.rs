//! The builders of regions: [`FixedPieces`] in constants, and [`Pieces`] at run time.
//!
//! Both have the same methods and report the same mistakes in the same words. `layout!` uses both, and the
//! ready-made shapes use [`Pieces`].

use std::{marker::PhantomData, sync::Arc};

use dtype_core::{
    ArrayOrder, Item, MOST_ARRAYS, MOST_BYTES, MOST_DIMENSIONS, MOST_FIXED_PIECES, MOST_PIECES, Progression,
    SelectionError, Share,
};

use super::{
    indices::Indices,
    integer::Integer,
    list::List,
    part::{Leaf, Part},
    region::{Axis, Region},
    shape::Memory,
};
use crate::{
    Error,
    types::{MpiDatatype, runtime::Runtime},
};

/// A path from an element `T` to values within it. The entries of arrays on the path are selected later.
pub struct Path<T> {
    offset: usize,
    /// The length of each array on the path, and the size of its entries in bytes.
    arrays: [(usize, usize); MOST_ARRAYS],
    depth: usize,
    leaf: &'static Leaf,
    element: PhantomData<fn() -> T>,
}

impl<T: MpiDatatype> Path<T> {
    /// Returns the path to the whole element.
    pub const fn whole() -> Self {
        Self::at::<T>(0)
    }

    /// Returns the path to a field, or to the first entry of an array in the field. The argument of type
    /// [`Runtime`] proves that the caller has used the functions of that type, and not other functions of the
    /// same names.
    ///
    /// # Safety
    /// `field` points into the value that `element` points to.
    pub const unsafe fn to<F: MpiDatatype>(_: Runtime, element: *const T, field: *const F) -> Self {
        // SAFETY: the caller guarantees that both point into one value.
        let offset = unsafe { field.cast::<u8>().offset_from(element.cast::<u8>()) };
        Self::at::<F>(offset as usize)
    }
}

impl Path<Memory> {
    /// Returns the path to a value of a type map, `displacement` bytes from the start of the source.
    ///
    /// # Panics
    /// If the displacement is negative or too large. In a constant, the panic is a compile error.
    pub const fn displaced<F: MpiDatatype>(displacement: i128) -> Self {
        assert!(
            displacement >= 0 && displacement < MOST_BYTES - size_of::<F>() as i128,
            "a displacement of a type map must be 0 or more, in bytes from the start of the source, and its \
             value must end within isize::MAX bytes"
        );
        Self::at::<F>(displacement as usize)
    }

    /// Returns the end of the values of these paths: one past their last byte, from the start of the source.
    pub const fn end(paths: &[Self]) -> usize {
        let (mut end, mut i) = (0, 0);
        while i < paths.len() {
            let last = paths[i].offset + paths[i].leaf.of.size;
            end = if last > end { last } else { end };
            i += 1;
        }
        end
    }
}

impl<T> Path<T> {
    const fn at<F: MpiDatatype>(offset: usize) -> Self {
        Self { offset, arrays: [(1, 0); _], depth: 0, leaf: Leaf::of::<F>(), element: PhantomData }
    }

    /// Adds an array whose entries are to be selected. Outer arrays are added before inner ones.
    ///
    /// # Safety
    /// The array is on the path, and the path continues from the first entry of the array.
    #[must_use]
    pub const unsafe fn through<E, const N: usize>(mut self, _array: *const [E; N]) -> Self {
        self.arrays[self.depth] = (N, size_of::<E>());
        self.depth += 1;
        self
    }

    /// Returns the length of the `k`-th array on the path.
    pub const fn length(&self, k: usize) -> usize {
        self.arrays[k].0
    }

    /// Returns the part that selects these entries of each array on the path. They must be at equal
    /// distances.
    const fn part(&self, entries: &[Axis]) -> Part {
        let mut part = Part::first(self.offset, self.leaf);
        let mut k = 0;
        while k < entries.len() {
            if let Axis::Regular(progression) = &entries[k] {
                part = part.through(k, progression, self.arrays[k].1);
            }
            k += 1;
        }
        part
    }
}

impl<T> Clone for Path<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Path<T> {}

/// A builder of a region that is known at compile time: up to `PIECES` pieces of an array of `D` dimensions.
///
/// # Panics
/// Every method panics at a mistake, with a message that describes it. In a constant, the panic is a compile
/// error.
pub struct FixedPieces<T, const PIECES: usize, const D: usize> {
    shape: [usize; D],
    element: usize,
    axes: [[Axis; D]; PIECES],
    parts: [Part; PIECES],
    pushed: usize,
    of: PhantomData<fn() -> T>,
}

impl<T, const PIECES: usize, const D: usize> FixedPieces<T, PIECES, D> {
    /// Returns a builder without pieces, for an array of these lengths with elements of `element` bytes.
    pub(crate) const fn new(lengths: [i128; D], element: usize) -> Self {
        if PIECES > MOST_FIXED_PIECES {
            refuse(&SelectionError::TooManyPieces { limit: MOST_FIXED_PIECES });
        }
        let shape = match shape(lengths, element) {
            Ok(shape) => shape,
            Err(error) => refuse(&error),
        };
        Self {
            shape,
            element,
            axes: [[Axis::EMPTY; D]; PIECES],
            parts: [Part::EMPTY; PIECES],
            pushed: 0,
            of: PhantomData,
        }
    }

    /// Returns the length of a dimension.
    pub const fn length(&self, dimension: usize) -> usize {
        self.shape[dimension]
    }

    /// Returns the indices that an item selects in a dimension, or in an array on a path.
    pub const fn select(&self, dimension: usize, length: usize, item: Item) -> Axis {
        match item.select(dimension, length) {
            Ok(progression) => Axis::Regular(progression),
            Err(error) => refuse(&error),
        }
    }

    /// Adds a piece: the indices of each dimension, and the entries of each array on the path.
    pub const fn push<const N: usize>(&mut self, axes: [Axis; D], path: &Path<T>, entries: [Axis; N]) {
        self.axes[self.pushed] = axes;
        self.parts[self.pushed] = path.part(&entries);
        self.pushed += 1;
    }

    /// Returns the region.
    pub const fn region(&'static self, order: ArrayOrder) -> Region<'static> {
        let region = Region {
            shape: &self.shape,
            order,
            element: self.element,
            axes: self.axes.as_flattened(),
            parts: &self.parts,
            lists: &[],
        };
        if region.totals().packed_size > isize::MAX as usize {
            refuse(&SelectionError::TooLarge);
        }
        region
    }
}

/// Counts one more iteration of a loop that is known at compile time. Iterations without a piece are limited,
/// too: the compiler takes seconds for millions of them.
///
/// # Panics
/// If there are more than twice [`MOST_FIXED_PIECES`] iterations. In a constant, the panic is a compile
/// error.
pub(crate) const fn turn(turns: usize) -> usize {
    if turns == 2 * MOST_FIXED_PIECES {
        refuse(&SelectionError::TooManyPieces { limit: MOST_FIXED_PIECES });
    }
    turns + 1
}

const fn refuse(error: &SelectionError) -> ! {
    panic!("{}", error.message().as_str())
}

/// Returns the lengths of the dimensions of an array, if memory can hold the array.
const fn shape<const D: usize>(lengths: [i128; D], element: usize) -> Result<[usize; D], SelectionError> {
    if D > MOST_DIMENSIONS {
        return Err(SelectionError::TooManyDimensions { given: D });
    }
    // Arrays without bytes are limited, too, so that their elements can be counted.
    let size = if element > 0 { element as i128 } else { 1 };
    let mut shape = [0; D];
    let mut bytes = size;
    let mut k = 0;
    while k < D {
        if lengths[k] < 0 || lengths[k] > MOST_BYTES {
            return Err(SelectionError::Length { dimension: k, given: lengths[k] });
        }
        shape[k] = lengths[k] as usize;
        bytes *= if lengths[k] > 0 { lengths[k] } else { 1 };
        if bytes > MOST_BYTES {
            return Err(SelectionError::TooLarge);
        }
        k += 1;
    }
    Ok(shape)
}

/// A builder of a region that is known only at run time: pieces of an array of elements `T`. It keeps the
/// first mistake, which `check` returns.
pub struct Pieces<T, const D: usize> {
    pub(crate) shape: [usize; D],
    pub(crate) axes: Vec<Axis>,
    pub(crate) parts: Vec<Part>,
    pub(crate) lists: Vec<Arc<List>>,
    /// The number of iterations of loops since the last piece.
    idle_turns: usize,
    error: Option<SelectionError>,
    element: PhantomData<fn() -> T>,
}

impl<T: MpiDatatype, const D: usize> Pieces<T, D> {
    /// Returns a builder without pieces, for an array of these lengths.
    pub fn new(lengths: [i128; D]) -> Self {
        let (shape, error) = match shape(lengths, size_of::<T>()) {
            Ok(shape) => (shape, None),
            Err(error) => ([0; D], Some(error)),
        };
        Self {
            shape,
            axes: Vec::new(),
            parts: Vec::new(),
            lists: Vec::new(),
            idle_turns: 0,
            error,
            element: PhantomData,
        }
    }

    /// Returns a builder with the pieces of a region of `D` dimensions.
    pub(super) fn of_region(region: &Region<'_>) -> Self {
        Self {
            shape: std::array::from_fn(|k| region.shape[k]),
            axes: region.axes.to_vec(),
            parts: region.parts.to_vec(),
            lists: region.lists.to_vec(),
            ..Self::new([0; D])
        }
    }

    /// Returns the length of a dimension.
    pub fn length(&self, dimension: usize) -> usize {
        self.shape[dimension]
    }

    /// Returns the path to the whole element.
    pub fn whole(&self) -> Path<T> {
        Path::whole()
    }

    /// Returns the indices that an item selects in a dimension, or in an array on a path.
    pub fn select(&mut self, dimension: usize, length: usize, item: Item) -> Axis {
        item.select(dimension, length).map_or_else(|error| self.refuse(error), Axis::Regular)
    }

    /// Returns the indices that a list selects in a dimension.
    pub fn list<I: Integer>(&mut self, dimension: usize, indices: &(impl AsRef<[I]> + ?Sized)) -> Axis {
        let (indices, length) = (indices.as_ref(), self.shape[dimension]);
        let list = match List::of(indices, length) {
            Ok(list) => list,
            Err(entry) => {
                let given = indices[entry].wide();
                return self.refuse(SelectionError::ListedOutOfBounds { entry, dimension, length, given });
            }
        };
        self.listed(list)
    }

    /// Returns the indices of a dimension, in closed form.
    pub(super) fn indices(&mut self, dimension: usize, indices: Indices) -> Axis {
        let (length, limit) = (self.shape[dimension], indices.limit());
        if limit > length {
            let (given, greatest) = (limit as i128 - 1, length as i128 - 1);
            return self.refuse(SelectionError::OutOfBounds {
                what: "index",
                dimension,
                length,
                given,
                greatest,
            });
        }
        match indices {
            Indices::Once(Share { start, block, count, .. }) if count <= block => {
                Axis::Regular(Progression { start, count, step: 1 })
            }
            Indices::Once(Share { start, block: 1, step, count }) => {
                Axis::Regular(Progression { start, count, step: step as isize })
            }
            _ => self.listed(Arc::new(List::from(indices))),
        }
    }

    fn listed(&mut self, list: Arc<List>) -> Axis {
        let (first, count) = (list.first(), list.count());
        self.lists.push(list);
        Axis::Listed { list: self.lists.len() - 1, first, count }
    }

    /// Begins an iteration of a loop. Returns `false` after a mistake: the loops can end. More than
    /// [`MOST_PIECES`] iterations in a row without a piece are a mistake.
    pub fn turn(&mut self) -> bool {
        self.idle_turns += 1;
        if self.idle_turns > MOST_PIECES {
            self.refuse(SelectionError::TooManyPieces { limit: MOST_PIECES });
        }
        self.is_right()
    }

    /// Adds a piece: the indices of each dimension, and the entries of each array on the path.
    ///
    /// # Panics
    /// If an axis was selected for another dimension, or entries for another array. Neither `layout!` nor a
    /// ready-made shape does that.
    pub fn push<const N: usize>(&mut self, axes: [Axis; D], path: &Path<T>, entries: [Axis; N]) {
        let lie_within = (0..D).all(|k| self.lies_within(&axes[k], self.shape[k]))
            && N == path.depth
            && entries.iter().zip(&path.arrays).all(|(entries, (length, _))| {
                matches!(entries, Axis::Regular(_)) && self.lies_within(entries, *length)
            });
        assert!(lie_within || !self.is_right(), "what is selected of a dimension lies within it");
        if self.parts.len() == MOST_PIECES {
            self.refuse(SelectionError::TooManyPieces { limit: MOST_PIECES });
        }
        self.idle_turns = 0;
        if self.is_right() {
            self.axes.extend(axes);
            self.parts.push(path.part(&entries));
        }
    }

    /// Returns `true` if the indices of an axis lie within a dimension of this length.
    fn lies_within(&self, axis: &Axis, length: usize) -> bool {
        match axis {
            Axis::Regular(progression) => progression.bounds().is_none_or(|(_, last)| last < length),
            Axis::Listed { list, first, count } => self.lists.get(*list).is_some_and(|list| {
                (list.first(), list.count()) == (*first, *count) && list.limit() <= length
            }),
        }
    }

    /// Records a mistake, unless there is one already. Returns an axis without indices.
    fn refuse(&mut self, error: SelectionError) -> Axis {
        self.error.get_or_insert(error);
        Axis::EMPTY
    }

    /// Returns `true` if there is no mistake so far.
    pub(crate) fn is_right(&self) -> bool {
        self.error.is_none()
    }

    /// Returns the first mistake, if there is any, as an error.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.error.map_or(Ok(()), |error| Err(error.into()))
    }
}
