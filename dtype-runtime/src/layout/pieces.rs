//! How regions are written down: through [`FixedPieces`] in constants, and through [`Pieces`] in the running
//! program.
//!
//! Both are told the same, by `layout!` and by the ready-made shapes, and refuse the same in the same words.

use std::{hash::Hash, marker::PhantomData, mem::MaybeUninit, sync::Arc};

use dtype_core::{
    ArrayOrder, Item, MOST_ARRAYS, MOST_BYTES, MOST_DIMENSIONS, MOST_FIXED_PIECES, MOST_PIECES,
    SelectionError,
};

use super::{
    list::List,
    part::{Leaf, Part},
    region::{Axis, Region},
    shape::Memory,
};
use crate::{
    Error,
    types::{MpiDatatype, runtime::Runtime},
};

/// A path from an element `T` to values within it, before it is said which entries of arrays are selected.
pub struct Path<T> {
    offset: usize,
    /// Of each array on the way, its length and the size of its entries, in bytes.
    arrays: [(usize, usize); MOST_ARRAYS],
    depth: usize,
    leaf: &'static Leaf,
    element: PhantomData<fn() -> T>,
}

impl<T: MpiDatatype> Path<T> {
    /// All of an element.
    pub const fn whole() -> Self {
        Self::at::<T>(0)
    }

    /// A field, or the first entry of an array in it. Who calls this has called the functions of [`Runtime`],
    /// and nobody else's.
    ///
    /// # Safety
    /// `field` points into the value that `element` points to.
    pub const unsafe fn to<F: MpiDatatype>(_: Runtime, element: *const T, field: *const F) -> Self {
        // SAFETY: both point into one value, which is the caller's condition.
        let offset = unsafe { field.cast::<u8>().offset_from(element.cast::<u8>()) };
        Self::at::<F>(offset as usize)
    }
}

impl Path<Memory> {
    /// A value of a type map, `offset` bytes from its start.
    ///
    /// # Panics
    /// With a message where the displacement is none: the compiler refuses it.
    pub const fn displaced<F: MpiDatatype>(displacement: i128) -> Self {
        assert!(
            displacement >= 0 && displacement < MOST_BYTES - size_of::<F>() as i128,
            "a displacement of a type map is counted in bytes from the start of the source, so it must be 0 \
             or more, and what lies there within isize::MAX"
        );
        Self::at::<F>(displacement as usize)
    }

    /// One past the last byte of these values.
    pub const fn end(paths: &[Self]) -> usize {
        let (mut end, mut i) = (0, 0);
        while i < paths.len() {
            let last = paths[i].offset + paths[i].leaf.size;
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

    /// Notes that entries of this array are to be selected, those of outer arrays first.
    ///
    /// # Safety
    /// The array is on the path, which leads on from its first entry.
    #[must_use]
    pub const unsafe fn through<E, const N: usize>(mut self, _array: *const [E; N]) -> Self {
        self.arrays[self.depth] = (N, size_of::<E>());
        self.depth += 1;
        self
    }

    /// The length of the k-th array on the path.
    pub const fn length(&self, k: usize) -> usize {
        self.arrays[k].0
    }

    /// The part for these entries of the arrays, which are at equal distances.
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

/// Memory as if there were an element in it, so that its parts can be named. While constants are evaluated
/// only.
///
/// # Safety
/// Nothing is read through the reference.
pub(crate) const unsafe fn unwritten<T>(memory: &MaybeUninit<T>) -> &T {
    // SAFETY: the caller reads nothing through it: all that comes of it is a place.
    unsafe { &*memory.as_ptr() }
}

/// What a region that is known at compile time is written down with: up to `N` pieces of an array of `D`
/// dimensions.
///
/// # Panics
/// All of it, with the message of what is wrong: the compiler refuses it.
pub struct FixedPieces<T, const PIECES: usize, const D: usize> {
    shape: [usize; D],
    element: usize,
    axes: [[Axis; D]; PIECES],
    parts: [Part; PIECES],
    pushed: usize,
    of: PhantomData<fn() -> T>,
}

impl<T, const PIECES: usize, const D: usize> FixedPieces<T, PIECES, D> {
    /// No piece yet, of an array with these lengths and elements of that size.
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

    /// The length of a dimension.
    pub const fn length(&self, dimension: usize) -> usize {
        self.shape[dimension]
    }

    /// What an item selects of a dimension, or of an array on a path.
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

    /// The region.
    pub const fn region(&'static self, order: ArrayOrder) -> Region<'static> {
        let region = Region {
            shape: &self.shape,
            order,
            element: self.element,
            axes: self.axes.as_flattened(),
            parts: &self.parts,
            lists: &[],
        };
        if region.packed_size() > isize::MAX as usize {
            refuse(&SelectionError::TooLarge);
        }
        region
    }
}

/// Counts one more turn of a loop that is known at compile time. Turns without a piece are limited, too: the
/// compiler takes seconds for millions of them.
///
/// # Panics
/// With too many of them: the compiler refuses the layout.
pub(crate) const fn turn(turns: usize) -> usize {
    if turns == 2 * MOST_FIXED_PIECES {
        refuse(&SelectionError::TooManyPieces { limit: MOST_FIXED_PIECES });
    }
    turns + 1
}

const fn refuse(error: &SelectionError) -> ! {
    panic!("{}", error.message().as_str())
}

/// The lengths of the dimensions of an array, if memory can hold it.
const fn shape<const D: usize>(lengths: [i128; D], element: usize) -> Result<[usize; D], SelectionError> {
    if D > MOST_DIMENSIONS {
        return Err(SelectionError::TooManyDimensions { given: D });
    }
    // Arrays of nothing, too, are limited, so that elements can be counted.
    let size = if element > 0 { element as i128 } else { 1 };
    let (mut shape, mut bytes, mut k) = ([0; D], size, 0);
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

/// What a region that is known at run time is written down with: pieces of an array of elements `T`. The
/// first mistake is kept until the end.
pub struct Pieces<T, const D: usize> {
    pub(crate) shape: [usize; D],
    pub(crate) axes: Vec<Axis>,
    pub(crate) parts: Vec<Part>,
    pub(crate) lists: Vec<Arc<List>>,
    /// Turns of loops since the last piece.
    idle_turns: usize,
    error: Option<SelectionError>,
    element: PhantomData<fn() -> T>,
}

impl<T: MpiDatatype, const D: usize> Pieces<T, D> {
    /// No piece yet, of an array with these lengths.
    pub fn new(lengths: [i128; D]) -> Self {
        let (shape, error) = match shape(lengths, size_of::<T>()) {
            Ok(shape) => (shape, None),
            Err(error) => ([0; D], Some(error)),
        };
        let (axes, parts, lists) = (Vec::new(), Vec::new(), Vec::new());
        Self { shape, axes, parts, lists, idle_turns: 0, error, element: PhantomData }
    }

    /// Those of a region of as many dimensions.
    pub(super) fn of_region(region: &Region<'_>) -> Self {
        let (axes, parts, lists) = (region.axes.to_vec(), region.parts.to_vec(), region.lists.to_vec());
        let shape = std::array::from_fn(|k| region.shape[k]);
        Self { shape, axes, parts, lists, idle_turns: 0, error: None, element: PhantomData }
    }

    /// The length of a dimension.
    pub fn length(&self, dimension: usize) -> usize {
        self.shape[dimension]
    }

    /// The path to all of an element.
    pub fn whole(&self) -> Path<T> {
        Path::whole()
    }

    /// What an item selects of a dimension, or of an array on a path.
    pub fn select(&mut self, dimension: usize, length: usize, item: Item) -> Axis {
        item.select(dimension, length).map_or_else(|error| self.refuse(error), Axis::Regular)
    }

    /// What a list of indices selects of a dimension.
    pub fn list<I: Integer>(&mut self, dimension: usize, indices: &(impl AsRef<[I]> + ?Sized)) -> Axis {
        let (indices, length) = (indices.as_ref(), self.shape[dimension]);
        let list = match List::of(indices, length) {
            Ok(list) => list,
            Err(entry) => {
                let given = indices[entry].wide();
                return self.refuse(SelectionError::ListedOutOfBounds { entry, dimension, length, given });
            }
        };
        let first = list.indices().first().copied().unwrap_or_default();
        let count = indices.len();
        self.lists.push(list);
        Axis::Listed { list: self.lists.len() - 1, first, count }
    }

    /// Begins a turn of a loop, and says whether it is worth while: not after a mistake, nor after as many
    /// turns without a piece as there may be pieces.
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
    /// Where these have been selected of other dimensions or arrays, which neither `layout!` nor a shape
    /// does.
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

    /// Whether what is selected lies within a dimension of this length.
    fn lies_within(&self, axis: &Axis, length: usize) -> bool {
        match axis {
            Axis::Regular(progression) => progression.bounds().is_none_or(|(_, last)| last < length),
            Axis::Listed { list, first, count } => self.lists.get(*list).is_some_and(|list| {
                let indices = list.indices();
                let is_this =
                    (indices.first().copied().unwrap_or_default(), indices.len()) == (*first, *count);
                is_this && list.limit() <= length
            }),
        }
    }

    /// Notes a mistake. The answer selects nothing.
    fn refuse(&mut self, error: SelectionError) -> Axis {
        self.error.get_or_insert(error);
        Axis::EMPTY
    }

    /// Whether there is no mistake so far.
    pub(crate) fn is_right(&self) -> bool {
        self.error.is_none()
    }

    /// The mistake, if there is any.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.error.map_or(Ok(()), |error| Err(error.into()))
    }
}

/// Refuses a constant that is no integer, where constants are evaluated.
pub const fn is_integer<I: Integer>(_: I) {}

/// Integers, as bounds of a layout.
#[diagnostic::on_unimplemented(
    message = "a length, bound or index of a layout is an integer, not a `{Self}`",
    label = "not an integer"
)]
pub trait Integer: Copy + Eq + Hash + Send + Sync + 'static {
    /// The same number.
    fn wide(self) -> i128;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Integer for $type {
            #[inline]
            #[allow(clippy::cast_lossless)] // which of them are is not said by `From`
            fn wide(self) -> i128 {
                self as i128
            }
        }
    )*};
}

integers! { i8 i16 i32 i64 i128 isize u8 u16 u32 u64 usize }
