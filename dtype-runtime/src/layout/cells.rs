//! The cells of an array of which parts are under way.

use std::{
    array, fmt,
    marker::PhantomData,
    ops::{Index, IndexMut, Range},
    slice,
};

use dtype_core::ArrayOrder;

use super::{halo::Halo, region::Strides, source::Place};

/// The cells of an array while its ghost cells are under way. Own cells can be read. Those that no neighbour
/// needs can be written, too.
///
/// Indices are those of the array, ghost cells included. The operator `[]` panics where
/// [`get`](Self::get) and [`get_mut`](Self::get_mut) return `None`.
pub struct Cells<'a, T, const D: usize> {
    first: *mut T,
    /// The bytes from one element to the next along each dimension.
    strides: [isize; D],
    order: ArrayOrder,
    own: [Range<usize>; D],
    interior: [Range<usize>; D],
    array: PhantomData<&'a mut [T]>,
}

impl<T, const D: usize> Cells<'_, T, D> {
    /// Returns the cells of one of the arrays at a place. `contiguous` are the strides of an array without
    /// gaps, and `size` is its size in bytes.
    ///
    /// # Safety
    /// 1. The place is that of arrays of the halo's sizes, with elements `T`, and has an array `copy`.
    /// 2. The array is borrowed mutably as long as the cells, and nobody else uses it meanwhile.
    pub(crate) unsafe fn new(
        halo: &Halo<D>,
        place: Place,
        copy: usize,
        (contiguous, size): (Strides, usize),
    ) -> Self {
        let strides = place.strides.unwrap_or(contiguous);
        Self {
            first: place.first.wrapping_add(copy * size).cast(),
            strides: array::from_fn(|k| strides[k]),
            order: halo.order,
            own: halo.own(),
            interior: halo.interior(),
            array: PhantomData,
        }
    }

    /// Returns the indices of the own cells, which can be read.
    pub fn own(&self) -> [Range<usize>; D] {
        self.own.clone()
    }

    /// Returns the indices of the cells that can be written: the own cells that are not sent.
    pub fn interior(&self) -> [Range<usize>; D] {
        self.interior.clone()
    }

    /// Returns an own cell, or `None` if the index is not that of an own cell.
    #[inline]
    pub fn get(&self, index: [usize; D]) -> Option<&T> {
        // SAFETY: 1 and 2 of `new`; the index lies within the array.
        contains(&self.own, &index).then(|| unsafe { &*self.at(index) })
    }

    /// Returns a cell of the interior, or `None` if the index is not that of a cell of the interior.
    #[inline]
    pub fn get_mut(&mut self, index: [usize; D]) -> Option<&mut T> {
        // SAFETY: 1 and 2 of `new`; the index lies within the array.
        contains(&self.interior, &index).then(|| unsafe { &mut *self.at(index) })
    }

    /// Returns the own cells from `index` to the end of its row, along the dimension in which elements are
    /// adjacent. Returns `None` if the index is not that of an own cell, or if the elements of the array are
    /// not adjacent in memory.
    #[inline]
    pub fn row(&self, index: [usize; D]) -> Option<&[T]> {
        let length = self.length(&self.own, &index)?;
        // SAFETY: 1 and 2 of `new`; all cells of the row lie within the array, one after another.
        Some(unsafe { slice::from_raw_parts(self.at(index), length) })
    }

    /// Like [`row`](Self::row), for writing: the cells of the interior from `index` to the end of its row.
    #[inline]
    pub fn row_mut(&mut self, index: [usize; D]) -> Option<&mut [T]> {
        let length = self.length(&self.interior, &index)?;
        // SAFETY: 1 and 2 of `new`; all cells of the row lie within the array, one after another.
        Some(unsafe { slice::from_raw_parts_mut(self.at(index), length) })
    }

    /// Returns the number of cells from an index to the end of its row within a box.
    #[inline]
    fn length(&self, within: &[Range<usize>; D], index: &[usize; D]) -> Option<usize> {
        let adjacent = match self.order {
            ArrayOrder::RowMajor => D.checked_sub(1)?,
            ArrayOrder::ColumnMajor => 0,
        };
        let is_row = contains(within, index) && self.strides[adjacent] == size_of::<T>() as isize;
        is_row.then(|| within[adjacent].end - index[adjacent])
    }

    /// Returns the address of an element.
    #[inline]
    fn at(&self, index: [usize; D]) -> *mut T {
        let bytes = index.iter().zip(&self.strides).map(|(i, stride)| *i as isize * stride);
        self.first.wrapping_byte_offset(bytes.sum())
    }
}

#[inline]
fn contains<const D: usize>(within: &[Range<usize>; D], index: &[usize; D]) -> bool {
    within.iter().zip(index).all(|(within, i)| within.contains(i))
}

impl<T, const D: usize> Index<[usize; D]> for Cells<'_, T, D> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, index: [usize; D]) -> &T {
        match self.get(index) {
            Some(cell) => cell,
            None => outside("the own cells", index, &self.own),
        }
    }
}

impl<T, const D: usize> IndexMut<[usize; D]> for Cells<'_, T, D> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, index: [usize; D]) -> &mut T {
        let interior = self.interior();
        match self.get_mut(index) {
            Some(cell) => cell,
            None => outside("the interior, which can be written", index, &interior),
        }
    }
}

#[cold]
#[track_caller]
fn outside<const D: usize>(what: &str, index: [usize; D], within: &[Range<usize>; D]) -> ! {
    panic!("the index {index:?} is outside of {what}: the indices {within:?}")
}

// SAFETY: cells are like a mutable slice of elements.
unsafe impl<T: Send, const D: usize> Send for Cells<'_, T, D> {}
// SAFETY: cells are like a mutable slice of elements.
unsafe impl<T: Sync, const D: usize> Sync for Cells<'_, T, D> {}

impl<T, const D: usize> fmt::Debug for Cells<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cells").field("own", &self.own).field("interior", &self.interior).finish()
    }
}
