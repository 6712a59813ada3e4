//! Views of several parts of one source at a time.

use std::{fmt, marker::PhantomData};

use super::{
    region::Region,
    source::{ArrayLikeMut, Place},
    traits::{Disjoint, Layout, View, ViewMut},
};
use crate::Error;

/// The result of [`split`]: the views to read from, and the views to write to.
pub type Split<'a, R, W> = (Vec<View<'a, R>>, Vec<ViewMut<'a, W>>);

/// The result of [`split_mut`]: the rest of the source, and the views to write to.
pub type SplitMut<'a, A, W> = (Rest<'a, A, W>, Vec<ViewMut<'a, W>>);

/// Returns views of several parts of one source to write to, and the rest of the source to read from. The
/// parts must not overlap.
///
/// ```
/// use dtype_runtime::{layout, layout::split_mut};
///
/// let n = 4;
/// let mut cells = vec![1u8, 2, 3, 4];
/// let (rest, mut ends) = split_mut(&mut cells, &[layout!(u8[n] => [0])?, layout!(u8[n] => [-1])?])?;
/// let inner = rest.of(&layout!(u8[n] => [1..3])?)?;
/// for (end, cell) in ends.iter_mut().zip(&inner) {
///     end.fill(*cell);
/// }
/// assert_eq!(cells, [2, 2, 3, 3]);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # Errors
/// `Argument` if the source or a layout differs from the first layout in shape or order, if a layout covers a
/// byte twice, or if two layouts overlap.
pub fn split_mut<'a, A, W>(source: &'a mut A, writes: &[W]) -> Result<SplitMut<'a, A, W>, Error>
where
    A: ArrayLikeMut<W::Element, W::Shape, Mismatch: Into<Error>> + ?Sized,
    W: Layout,
    W::Coverage: Disjoint<Error, W>,
{
    let Some(first) = writes.first() else {
        return Ok((Rest { source: Source::Whole(source), writes: Vec::new() }, Vec::new()));
    };
    // All parts share one pointer: borrowing the source again would end the views made before.
    let place = source.place_mut(&first.region()).map_err(Into::into)?;
    for (i, layout) in writes.iter().enumerate() {
        same_shape(&first.region(), &layout.region())?;
        W::Coverage::check(layout)?;
        if let Some(other) = writes[..i].iter().position(|other| layout.region().meets(&other.region())) {
            return Err(Error::Meet { write: i, other, is_read: false });
        }
    }
    let views = writes.iter().map(|layout| ViewMut::new(place, layout.clone())).collect();
    Ok((Rest { source: Source::Divided(place, PhantomData), writes: writes.to_vec() }, views))
}

/// The rest of a source: everything but the parts that [`split_mut`] has lent for writing.
pub struct Rest<'a, A: ?Sized, W> {
    source: Source<'a, A>,
    writes: Vec<W>,
}

/// A source of which parts are lent for writing.
enum Source<'a, A: ?Sized> {
    /// The place of the source. Its parts are lent.
    Divided(Place, PhantomData<&'a A>),
    /// The source itself. No part is lent.
    Whole(&'a A),
}

impl<'a, A: ?Sized, W: Layout> Rest<'a, A, W> {
    /// Returns a read-only view of a part of the rest.
    ///
    /// # Errors
    /// `Argument` if the layout has another shape or order, or if the part overlaps one that is lent for
    /// writing.
    pub fn of<R>(&self, layout: &R) -> Result<View<'a, R>, Error>
    where
        R: Layout<Element = W::Element, Shape = W::Shape>,
        A: ArrayLikeMut<W::Element, W::Shape, Mismatch: Into<Error>>,
    {
        self.at(0, layout)
    }

    /// Returns a view of the part, which is number `number` of those to be read.
    fn at<R>(&self, number: usize, layout: &R) -> Result<View<'a, R>, Error>
    where
        R: Layout<Element = W::Element, Shape = W::Shape>,
        A: ArrayLikeMut<W::Element, W::Shape, Mismatch: Into<Error>>,
    {
        let region = layout.region();
        for (write, lent) in self.writes.iter().map(Layout::region).enumerate() {
            same_shape(&lent, &region)?;
            if region.meets(&lent) {
                return Err(Error::Meet { write, other: number, is_read: true });
            }
        }
        let place = match &self.source {
            Source::Divided(place, _) => *place,
            Source::Whole(source) => source.place(&region).map_err(Into::into)?,
        };
        Ok(View::new(place, layout.clone()))
    }
}

/// Checks that two layouts are of arrays of one shape.
fn same_shape(first: &Region<'_>, other: &Region<'_>) -> Result<(), Error> {
    if (other.shape, other.order) == (first.shape, first.order) {
        return Ok(());
    }
    Err(Error::Shape { expected: first.shape.to_vec(), found: other.shape.to_vec() })
}

/// Returns views of several parts of one source at a time, some to read from and some to write to, as a halo
/// exchange needs them. No part to write to may overlap another part. See also [`split_mut`].
///
/// ```
/// use dtype_runtime::{layout, layout::split};
///
/// let mut cells = [1u8, 2, 3, 4];
/// let (inner, outer) = (layout!(u8[4] => [1..3]), layout!(u8[4] => [..;3]));
/// let (reads, mut writes) = split(&mut cells, &[inner], &[outer])?;
/// writes[0].unpack(&reads[0].pack())?;
/// assert_eq!(cells, [2, 2, 3, 3]);
///
/// assert!(split(&mut cells, &[layout!(u8[4] => [..])], &[outer]).is_err());
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # Errors
/// The errors of [`split_mut`]; `Argument` if a layout to write to overlaps one to read from.
pub fn split<'a, A, R, W>(source: &'a mut A, reads: &[R], writes: &[W]) -> Result<Split<'a, R, W>, Error>
where
    A: ArrayLikeMut<W::Element, W::Shape, Mismatch: Into<Error>> + ?Sized,
    R: Layout<Element = W::Element, Shape = W::Shape>,
    W: Layout,
    W::Coverage: Disjoint<Error, W>,
{
    let (rest, writes) = split_mut(source, writes)?;
    let reads = reads.iter().enumerate().map(|(number, layout)| rest.at(number, layout));
    Ok((reads.collect::<Result<_, _>>()?, writes))
}

impl<A: ?Sized, W: fmt::Debug> fmt::Debug for Rest<'_, A, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rest").field("writes", &self.writes).finish_non_exhaustive()
    }
}
