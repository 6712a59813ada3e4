//! The elements of views: iteration, access by position, and copies into arrays.

use std::{fmt, iter::FusedIterator, marker::PhantomData, ops::Range, ptr};

use dtype_core::{MOST_ARRAYS, MOST_DIMENSIONS};

use super::{
    nest::{Loop, Nest},
    region::{FEW_NESTS, Region, Strides},
    shape::WholeElements,
    shapes::refused,
    source::Place,
    traits::{Layout, View, ViewMut},
};
use crate::Error;

impl<'a, L: Layout> View<'a, L> {
    /// Returns the element at a position of the packing order, or `None` if fewer elements are selected. For
    /// a layout of many pieces, this takes time in proportion to their number.
    ///
    /// ```
    /// let matrix = [[1, 2, 3], [4, 5, 6]];
    /// let column = dtype_runtime::layout!(i32[2][3] => [.., 1]);
    /// assert_eq!(column.of(&matrix).get(1), Some(&5));
    /// assert_eq!(column.of(&matrix).get(2), None);
    /// ```
    pub fn get(&self, position: usize) -> Option<&'a L::Element>
    where
        L::Selects: WholeElements,
    {
        // SAFETY: the address is that of an element of the source, which is borrowed for `'a`.
        self.address(position).map(|at| unsafe { &*at.cast() })
    }

    /// Returns an iterator over the selected elements, in packing order. Its `for_each`, `sum` and `fold` run
    /// loops over the dimensions, which is faster than calling `next`.
    ///
    /// ```
    /// let matrix = [[1, 2, 3], [4, 5, 6]];
    /// let column = dtype_runtime::layout!(i32[2][3] => [.., 1]);
    /// assert_eq!(column.of(&matrix).iter().sum::<i32>(), 7);
    /// ```
    pub fn iter(&self) -> Iter<'_, 'a, L::Element>
    where
        L::Selects: WholeElements,
    {
        Iter { runs: self.runs(), run: Run::EMPTY, left: self.elements(), elements: PhantomData }
    }

    /// Calls `visit` with each selected element, in packing order. If the compiler knows the layout, this
    /// compiles to a loop for each dimension.
    #[inline]
    pub fn for_each(&self, mut visit: impl FnMut(&'a L::Element))
    where
        L::Selects: WholeElements,
    {
        // SAFETY: the elements are those of the source, which is borrowed for `'a`.
        self.for_each_address(|at| visit(unsafe { &*at.cast() }));
    }

    /// Copies the selected elements into an array, in packing order.
    ///
    /// ```
    /// let matrix = [[1, 2, 3], [4, 5, 6]];
    /// let corners = dtype_runtime::layout!(i32[2][3] => [..;1, ..;2]);
    /// assert_eq!(corners.of(&matrix).to_array()?, [1, 3, 4, 6]);
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Argument` if `N` is not the number of selected elements.
    pub fn to_array<const N: usize>(&self) -> Result<[L::Element; N], Error>
    where
        L::Element: Clone,
        L::Selects: WholeElements,
    {
        let count = self.elements();
        let wrong = || refused("to_array", "N", N, format!("{count}, the number of selected elements"));
        if count != N {
            return Err(wrong());
        }
        self.to_vec().try_into().map_err(|_| wrong())
    }

    /// Copies the selected elements into a `Vec`, in packing order.
    pub fn to_vec(&self) -> Vec<L::Element>
    where
        L::Element: Clone,
        L::Selects: WholeElements,
    {
        let mut elements = Vec::with_capacity(self.elements());
        self.for_each(|element| elements.push(element.clone()));
        elements
    }

    /// Returns the number of selected elements of all arrays.
    fn elements(&self) -> usize {
        self.layout.count().saturating_mul(self.place.copies)
    }

    fn runs(&self) -> Runs<'_> {
        Runs::new(self.layout.region(), self.place)
    }

    /// Calls `visit` with the address of each selected element.
    #[inline]
    fn for_each_address(&self, mut visit: impl FnMut(*mut u8)) {
        let size = size_of::<L::Element>();
        let (Some(nests), None) = (&L::NESTS, self.place.strides) else {
            return self.runs().fold((), |(), run| run.fold(size, (), |(), at| visit(at)));
        };
        const { assert!(FEW_NESTS == 8, "as many as are listed below") };
        macro_rules! one_by_one {
            ($array:ident, $($i:literal)*) => {
                $(if let Some(nest) = &nests[$i] {
                    fold_runs(nest, $array, (), &mut |(), run: Run| run.fold(size, (), |(), at| visit(at)));
                })*
            };
        }
        for array in self.arrays() {
            one_by_one!(array, 0 1 2 3 4 5 6 7);
        }
    }

    /// Returns the address of the element at a position.
    fn address(&self, position: usize) -> Option<*mut u8> {
        let (region, strides) = (self.layout.region(), self.strides());
        let (array, mut position) = match self.layout.count() {
            0 => return None,
            count if position / count < self.place.copies => {
                let offset = position / count * region.array_size();
                (self.place.first.wrapping_add(offset), position % count)
            }
            _ => return None,
        };
        for nest in region.nests(&strides) {
            let count = nest.count();
            if position >= count {
                position -= count;
                continue;
            }
            let mut at = nest.start;
            for level in nest.loops().iter().rev() {
                at += level.offset(position % level.count);
                position /= level.count;
            }
            return Some(array.wrapping_offset(at));
        }
        None
    }
}

impl<L: Layout> ViewMut<'_, L> {
    /// Returns the element at a position of the packing order, or `None` if fewer elements are selected.
    pub fn get_mut(&mut self, position: usize) -> Option<&mut L::Element>
    where
        L::Selects: WholeElements,
    {
        // SAFETY: the address is that of an element of the source, which is borrowed mutably.
        self.view.address(position).map(|at| unsafe { &mut *at.cast() })
    }

    /// Returns an iterator over the selected elements, in packing order, for writing. The view that
    /// [`as_view`](Self::as_view) returns has the methods for reading.
    ///
    /// ```
    /// let mut matrix = [[1, 2, 3], [4, 5, 6]];
    /// let column = dtype_runtime::layout!(i32[2][3] => [.., 1]);
    /// for (row, value) in column.of_mut(&mut matrix).iter_mut().enumerate() {
    ///     *value = 10 * row as i32;
    /// }
    /// assert_eq!(matrix, [[1, 0, 3], [4, 10, 6]]);
    /// ```
    pub fn iter_mut(&mut self) -> IterMut<'_, L::Element>
    where
        L::Selects: WholeElements,
    {
        let (runs, left) = (self.view.runs(), self.view.elements());
        IterMut { runs, run: Run::EMPTY, left, elements: PhantomData }
    }

    /// Calls `visit` with each selected element, in packing order, for writing. If the compiler knows the
    /// layout, this compiles to a loop for each dimension.
    #[inline]
    pub fn for_each_mut(&mut self, mut visit: impl FnMut(&mut L::Element))
    where
        L::Selects: WholeElements,
    {
        // SAFETY: the elements are those of the source, which is borrowed mutably; no element is selected
        // twice.
        self.view.for_each_address(|at| visit(unsafe { &mut *at.cast() }));
    }

    /// Writes clones of `value` to all selected elements.
    ///
    /// ```
    /// let mut matrix = [[1u8; 4]; 4];
    /// let inner = dtype_runtime::layout!(u8[4][4] => [1..3, 1..3]);
    /// inner.of_mut(&mut matrix).fill(0);
    /// assert_eq!(matrix, [[1, 1, 1, 1], [1, 0, 0, 1], [1, 0, 0, 1], [1, 1, 1, 1]]);
    /// ```
    pub fn fill(&mut self, value: L::Element)
    where
        L::Element: Clone,
        L::Selects: WholeElements,
    {
        self.for_each_mut(|element| element.clone_from(&value));
    }
}

/// Elements at equal distances.
#[derive(Clone, Copy)]
struct Run {
    first: *mut u8,
    count: usize,
    /// The bytes from one element to the next.
    stride: isize,
}

impl Run {
    const EMPTY: Self = Self { first: ptr::null_mut(), count: 0, stride: 0 };

    #[inline(always)]
    fn next(&mut self) -> Option<*mut u8> {
        let at = self.first;
        self.count = self.count.checked_sub(1)?;
        self.first = at.wrapping_offset(self.stride);
        Some(at)
    }

    /// Folds the addresses of the elements, which have `size` bytes.
    #[inline(always)]
    fn fold<B>(self, size: usize, start: B, mut next: impl FnMut(B, *mut u8) -> B) -> B {
        let mut folded = start;
        // The compiler vectorizes a loop at a stride that it knows.
        if self.stride == size as isize {
            for i in 0..self.count {
                folded = next(folded, self.first.wrapping_add(i * size));
            }
        } else {
            for i in 0..self.count {
                folded = next(folded, self.first.wrapping_offset(i as isize * self.stride));
            }
        }
        folded
    }
}

/// Folds the runs of a nest over the array at `array`, in packing order.
#[inline(always)]
fn fold_runs<B>(nest: &Nest<'_>, array: *mut u8, start: B, next: &mut impl FnMut(B, Run) -> B) -> B {
    let (Loop { count, stride, .. }, loops) = nest.innermost();
    fold_places(array.wrapping_offset(nest.start), loops, start, &mut |folded, first| {
        next(folded, Run { first, count, stride })
    })
}

/// Folds the addresses of all iterations of the loops. The first one is `at`.
#[inline(always)]
fn fold_places<B>(at: *mut u8, loops: &[Loop<'_>], start: B, next: &mut impl FnMut(B, *mut u8) -> B) -> B {
    let once = Loop { count: 1, stride: 0, list: None };
    let (outer, a, b) = match loops {
        [] => (loops, &once, &once),
        [b] => (&loops[1..], &once, b),
        [outer @ .., a, b] => (outer, a, b),
    };
    // No recursion: a closure that is passed to a function which is not inlined keeps its values in memory.
    let (mut folded, mut turns) = (start, Turns::default());
    loop {
        let at = at.wrapping_offset(turns.offset(outer));
        for i in 0..a.count {
            let at = at.wrapping_offset(a.offset(i));
            for j in 0..b.count {
                folded = next(folded, at.wrapping_offset(b.offset(j)));
            }
        }
        if !turns.go_on(outer) {
            return folded;
        }
    }
}

/// The iteration of each loop of a nest.
#[derive(Clone, Default)]
struct Turns([usize; MOST_DIMENSIONS + MOST_ARRAYS]);

impl Turns {
    /// Returns the number of bytes from the first iteration to this one.
    #[inline(always)]
    fn offset(&self, loops: &[Loop<'_>]) -> isize {
        loops.iter().zip(&self.0).map(|(level, i)| level.offset(*i)).sum()
    }

    /// Moves to the next iteration: the innermost loop that has another one goes on, and those within it
    /// begin again. Returns `false` after the last one.
    #[inline(always)]
    fn go_on(&mut self, loops: &[Loop<'_>]) -> bool {
        loops.iter().zip(&mut self.0).rev().any(|(level, i)| {
            *i = if *i + 1 < level.count { *i + 1 } else { 0 };
            *i > 0
        })
    }
}

/// An iterator over the runs of selected elements, in packing order.
#[derive(Clone)]
struct Runs<'l> {
    region: Region<'l>,
    strides: Strides,
    /// The first element of the first array.
    first: *mut u8,
    /// The first element of the present array.
    array: *mut u8,
    /// The arrays after the present one.
    arrays: Range<usize>,
    /// The next piece.
    piece: usize,
    /// The present piece, and the iterations of the loops around its runs.
    present: Option<(Nest<'l>, Turns)>,
}

impl<'l> Runs<'l> {
    fn new(region: Region<'l>, Place { first, copies, strides }: Place) -> Self {
        let strides = strides.unwrap_or_else(|| region.contiguous());
        let piece = region.pieces();
        Self { region, strides, first, array: first, arrays: 0..copies, piece, present: None }
    }

    /// Returns the loop nest of the next piece that is not empty, and moves to its array.
    fn next_nest(&mut self) -> Option<Nest<'l>> {
        loop {
            if self.piece >= self.region.pieces() {
                self.array = self.first.wrapping_add(self.arrays.next()? * self.region.array_size());
                self.piece = 0;
                continue;
            }
            self.piece += 1;
            if let Some(nest) = self.region.nest(self.piece - 1, &self.strides) {
                return Some(nest);
            }
        }
    }
}

impl Iterator for Runs<'_> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        if self.present.is_none() {
            self.present = Some((self.next_nest()?, Turns::default()));
        }
        let (nest, turns) = self.present.as_mut()?;
        let (Loop { count, stride, .. }, loops) = nest.innermost();
        let at = nest.start + turns.offset(loops);
        if !turns.go_on(loops) {
            self.present = None;
        }
        Some(Run { first: self.array.wrapping_offset(at), count, stride })
    }

    #[inline]
    fn fold<B, F: FnMut(B, Run) -> B>(mut self, start: B, mut next: F) -> B {
        let mut folded = start;
        while self.present.is_some() {
            let Some(run) = self.next() else { return folded };
            folded = next(folded, run);
        }
        while let Some(nest) = self.next_nest() {
            folded = fold_runs(&nest, self.array, folded, &mut next);
        }
        folded
    }
}

/// An iterator over the elements of a view: see [`View::iter`].
pub struct Iter<'l, 'a, T> {
    runs: Runs<'l>,
    run: Run,
    /// The number of elements after the present run.
    left: usize,
    elements: PhantomData<&'a [T]>,
}

/// An iterator over the elements of a mutable view: see [`ViewMut::iter_mut`].
pub struct IterMut<'a, T> {
    runs: Runs<'a>,
    run: Run,
    /// The number of elements after the present run.
    left: usize,
    elements: PhantomData<&'a mut [T]>,
}

/// Implements the traits of an iterator over the elements of runs.
macro_rules! iterator {
    ([$($lifetime:lifetime),*] $type:ty, $item:ty, |$at:ident| $element:expr) => {
        impl<$($lifetime,)* T> Iterator for $type {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<$item> {
                loop {
                    if let Some($at) = self.run.next() {
                        // SAFETY: the address is that of an element of the source, which is borrowed as long
                        // as the iterator's elements. If they can be written, the source is borrowed mutably,
                        // and no element is selected twice.
                        return Some(unsafe { $element });
                    }
                    self.run = self.runs.next()?;
                    self.left -= self.run.count;
                }
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                let left = self.left + self.run.count;
                (left, Some(left))
            }

            #[inline]
            fn fold<B, F: FnMut(B, $item) -> B>(self, start: B, mut next: F) -> B {
                // SAFETY: as in `next`.
                let mut next = |folded, $at: *mut u8| next(folded, unsafe { $element });
                let folded = self.run.fold(size_of::<T>(), start, &mut next);
                self.runs.fold(folded, |folded, run| run.fold(size_of::<T>(), folded, &mut next))
            }
        }

        impl<$($lifetime,)* T> ExactSizeIterator for $type {}
        impl<$($lifetime,)* T> FusedIterator for $type {}

        impl<$($lifetime,)* T> fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an iterator over {} elements", self.len())
            }
        }
    };
}

iterator!(['l, 'a] Iter<'l, 'a, T>, &'a T, |at| &*at.cast::<T>());
iterator!(['a] IterMut<'a, T>, &'a mut T, |at| &mut *at.cast::<T>());

impl<T> Clone for Iter<'_, '_, T> {
    fn clone(&self) -> Self {
        Self { runs: self.runs.clone(), run: self.run, left: self.left, elements: PhantomData }
    }
}

// SAFETY: an iterator is like one over a shared slice.
unsafe impl<T: Sync> Send for Iter<'_, '_, T> {}
// SAFETY: an iterator is like one over a shared slice.
unsafe impl<T: Sync> Sync for Iter<'_, '_, T> {}
// SAFETY: an iterator is like one over a mutable slice.
unsafe impl<T: Send> Send for IterMut<'_, T> {}
// SAFETY: an iterator is like one over a mutable slice.
unsafe impl<T: Sync> Sync for IterMut<'_, T> {}

impl<'l, 'a, L: Layout<Selects: WholeElements>> IntoIterator for &'l View<'a, L> {
    type Item = &'a L::Element;
    type IntoIter = Iter<'l, 'a, L::Element>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'l, L: Layout<Selects: WholeElements>> IntoIterator for &'l mut ViewMut<'_, L> {
    type Item = &'l mut L::Element;
    type IntoIter = IterMut<'l, L::Element>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
