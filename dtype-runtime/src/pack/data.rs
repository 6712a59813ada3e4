//! Plans joined to memory.

use std::{
    borrow::Cow,
    fmt,
    io::{IoSlice, IoSliceMut},
    marker::PhantomData,
    ops::Range,
    slice,
};

use super::{
    plan::plan_of,
    stream::{Packer, Unpacker},
    values::written,
};
use crate::{
    Error,
    engine::{
        Direction, Packing, Plan, Unpacking,
        blocks::{Block, Count, Joined, LeafVisitor, visit_turns},
        sides::{CHUNK, Sides},
        signature::Signature,
        transpack::Transpack,
    },
    types::{
        MpiDatatype,
        check::{Valid, restricted},
    },
};

/// A layout joined to memory that is read: `count` copies of a plan (MPI's buffer, count and
/// datatype).
///
/// Of values there is [`Data::of`], of views [`View::data`](crate::View::data), and of bytes with any tree
/// [`Data::new`]. Offsets of blocks are counted from displacement 0 of the first copy: the first value, or
/// the first element of the array.
#[derive(Clone)]
pub struct Data<'a> {
    /// Borrowed where that is possible: to count references takes longer than to pack a few bytes.
    plan: Cow<'a, Plan>,
    count: usize,
    /// Where displacement 0 of the first copy is.
    origin: *mut u8,
    memory: PhantomData<&'a [u8]>,
}

/// A layout joined to memory that is written. What lies beside it is not touched.
///
/// Where a layout covers a byte twice, one of the values for it arrives.
pub struct DataMut<'a> {
    data: Data<'a>,
    /// For values of restricted types.
    check: Option<&'a dyn Valid>,
    memory: PhantomData<&'a mut [u8]>,
}

// SAFETY: a shared borrow of numbers. Nothing that a plan leads to has interior mutability: base types have
// none.
unsafe impl Send for Data<'_> {}
// SAFETY: a shared borrow of numbers, without interior mutability.
unsafe impl Sync for Data<'_> {}
// SAFETY: a mutable borrow of numbers, and a shared one of what checks them, which is `Sync`.
unsafe impl Send for DataMut<'_> {}
// SAFETY: a mutable borrow of numbers, and a shared one of what checks them, which is `Sync`.
unsafe impl Sync for DataMut<'_> {}

impl<'a> Data<'a> {
    /// Joins `count` copies of a plan to `memory`; displacement 0 of the first one is byte `origin`.
    ///
    /// # Errors
    /// [`Error::Reach`] where the layout leaves the memory.
    #[inline]
    pub fn new(plan: &'a Plan, count: usize, memory: &'a [u8], origin: usize) -> Result<Self, Error> {
        reach(plan, count, memory.len(), origin)?;
        let first = memory.as_ptr().cast_mut().wrapping_add(origin);
        // SAFETY: the layout lies within the memory, as has just been found.
        Ok(unsafe { Self::from_raw(Cow::Borrowed(plan), count, first) })
    }

    /// Joins `count` copies of a plan to memory that only an address is known of, as C code has it:
    /// displacement 0 of the first copy is `origin`. That may be beside the memory, where a lower bound is
    /// not 0, or null, where displacements are addresses (`MPI_BOTTOM`).
    ///
    /// ```
    /// use dtype_runtime::{
    ///     dtype_core::{BaseType, TypeTree},
    ///     pack::{Data, Plan},
    /// };
    ///
    /// let memory = [7u8, 8, 9];
    /// // Bytes 10 and 12 from a place that is 10 before the memory.
    /// let plan = Plan::new(&TypeTree::index([10, 12], TypeTree::Leaf(BaseType::U8)))?;
    /// // SAFETY: the two bytes are in `memory`, which is not written.
    /// let data = unsafe { Data::from_raw_parts(&plan, 1, memory.as_ptr().wrapping_sub(10)) };
    /// assert_eq!(data.pack(), [7, 9]);
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Safety
    /// For `'a`, all bytes that `count` copies of the plan name from `origin` on are 1. readable, 2.
    /// initialized, and 3. written by nobody.
    #[inline]
    pub unsafe fn from_raw_parts(plan: &'a Plan, count: usize, origin: *const u8) -> Self {
        // SAFETY: 1 to 3 are those of the caller.
        unsafe { Self::from_raw(Cow::Borrowed(plan), count, origin.cast_mut()) }
    }

    /// Joins the plan of their type to values.
    ///
    /// ```
    /// let values = [(1u8, 2u16.to_be()), (3, 4u16.to_be())];
    /// let data = dtype_runtime::pack::Data::of(&values);
    /// let mut part = [0; 3];
    /// data.pack_range(2..5, &mut part)?;
    /// assert_eq!(part, [2, 3, 0]);
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    pub fn of<T: MpiDatatype>(values: &'a [T]) -> Self {
        // SAFETY: the plan of a type names fields of its values, which are borrowed.
        unsafe {
            Self::from_raw(Cow::Borrowed(plan_of::<T>()), values.len(), values.as_ptr().cast_mut().cast())
        }
    }

    /// # Safety
    /// For `'a`, all that `count` copies of the plan name from `origin` on is there, initialized, and not
    /// written by others.
    #[inline]
    pub(crate) unsafe fn from_raw(plan: Cow<'a, Plan>, count: usize, origin: *mut u8) -> Self {
        Self { plan, count, origin, memory: PhantomData }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Bytes of all of it, packed; `usize::MAX` where that number cannot exist.
    #[inline]
    pub fn packed_size(&self) -> usize {
        self.plan.packed_size().saturating_mul(self.count)
    }

    /// Packs all of it.
    pub fn pack(&self) -> Vec<u8> {
        // SAFETY: packing all of it writes exactly `packed_size` bytes.
        unsafe { written(self.packed_size(), |packed| self.copy::<Packing>(packed)) }
    }

    /// Copies all of it between the memory and where it is packed.
    ///
    /// # Safety
    /// 1 to 3 of [`Direction::copy`], for all of it and `packed_size` bytes from `packed` on.
    #[inline]
    pub(crate) unsafe fn copy<D: Direction>(&self, packed: *mut u8) {
        // SAFETY: 1 to 3 are those of the caller, for the same bytes.
        unsafe { self.plan.copy_all::<D>(self.count, self.origin, packed) };
    }

    /// Packs all of it into the front of `packed` and returns how many bytes that took.
    ///
    /// # Errors
    /// [`Error::Length`] where `packed` is too short; nothing is written then.
    #[inline]
    pub fn pack_into(&self, packed: &mut [u8]) -> Result<usize, Error> {
        let expected = self.packed_size();
        Error::unless_room("the layout", expected, packed.len())?;
        // SAFETY: `packed` has room for the bytes, and cannot overlap what is read, being borrowed mutably.
        unsafe { self.copy::<Packing>(packed.as_mut_ptr()) };
        Ok(expected)
    }

    /// Packs some of the packed bytes: those of this range, into `packed`, which is as long. Finding where
    /// they begin takes a step for each level of the layout (MPITypes's `MPIT_Type_memcpy`).
    ///
    /// # Errors
    /// [`Error::Range`], and [`Error::Length`] where `packed` has another length; nothing is written then.
    pub fn pack_range(&self, bytes: Range<usize>, packed: &mut [u8]) -> Result<(), Error> {
        self.check_range(&bytes)?;
        Error::unless_exactly("the range", bytes.len(), packed.len())?;
        // SAFETY: `packed` has room for the bytes, and cannot overlap what is read, being borrowed mutably.
        unsafe { self.plan.copy::<Packing>(self.count, self.origin, bytes, packed.as_mut_ptr()) };
        Ok(())
    }

    /// Where all of it is, if it is one contiguous block.
    #[cfg(feature = "mpi")]
    pub(crate) fn contiguous(&self) -> Option<*mut u8> {
        self.plan.contiguous(self.count).map(|start| self.origin.wrapping_offset(start))
    }

    /// What the packed bytes are, again and again.
    pub(super) fn signature(&self) -> &Signature {
        &self.plan.compiled().signature
    }

    pub(super) fn check_range(&self, bytes: &Range<usize>) -> Result<(), Error> {
        check_range(bytes, self.packed_size())
    }

    /// Bytes of all of it, packed as this machine has it or in `external32`.
    pub(super) fn size_in(&self, external: bool) -> usize {
        if external { self.count * self.signature().size_in(true) } else { self.packed_size() }
    }

    /// Packs one part after the other, from any position on.
    pub fn packer(&self) -> Packer<'a> {
        Packer::new(self.clone())
    }

    /// Calls back for the contiguous blocks of some of the packed bytes, in order.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn visit(&self, bytes: Range<usize>, visitor: &mut impl LeafVisitor) -> Result<(), Error> {
        self.check_range(&bytes)?;
        let compiled = self.plan.compiled();
        visit_turns(&compiled.part.node, &compiled.extent, bytes, compiled.part.a, visitor);
        Ok(())
    }

    /// Counts the contiguous blocks of some of the packed bytes; blocks that are adjacent in memory are one
    /// (MPITypes's `MPIT_Type_blockct`).
    ///
    /// ```
    /// let column = dtype_runtime::layout!(u8[3][3] => [.., 1]);
    /// assert_eq!(column.of(&[[0; 3]; 3]).data().blocks(0..3)?, 3);
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn blocks(&self, bytes: Range<usize>) -> Result<usize, Error> {
        let mut count = Count::default();
        self.visit(bytes, &mut count)?;
        Ok(count.blocks)
    }

    /// The contiguous blocks of some of the packed bytes (MPITypes's `MPIT_Type_flatten`).
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn flatten(&self, bytes: Range<usize>) -> Result<Vec<Block>, Error> {
        let mut blocks = Vec::new();
        let mut joined = Joined::new(|block| blocks.push(block));
        self.visit(bytes, &mut joined)?;
        joined.finish();
        Ok(blocks)
    }

    /// The contiguous blocks of some of the packed bytes, for vectored output.
    ///
    /// ```
    /// use std::io::Write;
    ///
    /// let column = dtype_runtime::layout!(u8[3][3] => [.., 1]);
    /// let mut file = Vec::new();
    /// file.write_vectored(&column.of(&[[0, 1, 2], [3, 4, 5], [6, 7, 8]]).data().io_slices(0..3)?)?;
    /// assert_eq!(file, [1, 4, 7]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn io_slices(&self, bytes: Range<usize>) -> Result<Vec<IoSlice<'a>>, Error> {
        let blocks = self.flatten(bytes)?.into_iter().map(|Block { offset, size }| {
            // SAFETY: a block of the layout, all of which is there for `'a`, as `from_raw` was promised.
            IoSlice::new(unsafe { slice::from_raw_parts(self.origin.wrapping_offset(offset), size) })
        });
        Ok(blocks.collect())
    }
}

impl<'a> DataMut<'a> {
    /// Joins `count` copies of a plan to `memory`; displacement 0 of the first one is byte `origin`.
    ///
    /// # Errors
    /// [`Error::Reach`] where the layout leaves the memory.
    #[inline]
    pub fn new(plan: &'a Plan, count: usize, memory: &'a mut [u8], origin: usize) -> Result<Self, Error> {
        reach(plan, count, memory.len(), origin)?;
        let first = memory.as_mut_ptr().wrapping_add(origin);
        // SAFETY: the layout lies within the memory, as has just been found, and bytes have any pattern.
        Ok(unsafe { Self::from_raw(Cow::Borrowed(plan), count, first, None) })
    }

    /// Joins `count` copies of a plan to memory that only an address is known of: see
    /// [`Data::from_raw_parts`].
    ///
    /// # Safety
    /// For `'a`, all bytes that `count` copies of the plan name from `origin` on are 1. writable, 2.
    /// initialized, and 3. used by nobody else; and 4. they may be any bytes.
    #[inline]
    pub unsafe fn from_raw_parts(plan: &'a Plan, count: usize, origin: *mut u8) -> Self {
        // SAFETY: 1 to 4 are those of the caller.
        unsafe { Self::from_raw(Cow::Borrowed(plan), count, origin, None) }
    }

    /// Joins the plan of their type to values.
    ///
    /// ```
    /// let mut values = [(0u8, false); 2];
    /// dtype_runtime::pack::DataMut::of(&mut values).unpack_range(2, &[7, 1])?;
    /// assert_eq!(values, [(0, false), (7, true)]);
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    pub fn of<T: MpiDatatype>(values: &'a mut [T]) -> Self {
        // SAFETY: the plan of a type names fields of its values, which are borrowed, and are checked if need
        // be.
        unsafe {
            Self::from_raw(
                Cow::Borrowed(plan_of::<T>()),
                values.len(),
                values.as_mut_ptr().cast(),
                restricted::<T>(),
            )
        }
    }

    /// # Safety
    /// For `'a`, all that `count` copies of the plan name from `origin` on is there, initialized, and used by
    /// nobody else. Any bytes that pass the check may be written there.
    #[inline]
    pub(crate) unsafe fn from_raw(
        plan: Cow<'a, Plan>,
        count: usize,
        origin: *mut u8,
        check: Option<&'a dyn Valid>,
    ) -> Self {
        // SAFETY: all that the copies name is there, by the caller's condition.
        let data = unsafe { Data::from_raw(plan, count, origin) };
        Self { data, check, memory: PhantomData }
    }

    /// The same layout and memory, to be read.
    pub fn as_data(&self) -> &Data<'_> {
        &self.data
    }

    /// Bytes of all of it, packed.
    #[inline]
    pub fn packed_size(&self) -> usize {
        self.data.packed_size()
    }

    /// Unpacks all of it.
    ///
    /// # Errors
    /// [`Error::Length`] where these are not just the bytes of all of it, and [`Error::InvalidValue`].
    /// Nothing is written in either case.
    #[inline]
    pub fn unpack(&mut self, packed: &[u8]) -> Result<(), Error> {
        Error::unless_exactly("the layout", self.packed_size(), packed.len())?;
        self.validate(0, packed)?;
        // SAFETY: 1, the bytes are borrowed, and valid; 2, the memory is borrowed mutably; 3, both are
        // borrowed, so apart.
        unsafe { self.data.copy::<Unpacking>(packed.as_ptr().cast_mut()) };
        Ok(())
    }

    /// Unpacks some of the packed bytes: those from a position on.
    ///
    /// # Errors
    /// [`Error::Range`]; [`Error::InvalidValue`]; and [`Error::Torn`] where a `bool`, `char`, `NonZero` or
    /// enum is there only in part, which an [`Unpacker`] can wait for. Nothing is written then.
    pub fn unpack_range(&mut self, position: usize, packed: &[u8]) -> Result<(), Error> {
        let end = position.saturating_add(packed.len());
        self.data.check_range(&(position..end))?;
        if self.is_restricted() {
            let torn = [position, end].into_iter().find(|at| self.floor(*at) < *at);
            torn.map_or(Ok(()), |position| Err(Error::Torn { position }))?;
        }
        self.validate(position, packed)?;
        // SAFETY: no value is torn, all of them are valid, and the range has been checked.
        unsafe { self.write(position, packed) };
        Ok(())
    }

    /// Whether there are values of restricted types.
    pub(crate) fn is_restricted(&self) -> bool {
        self.check.is_some()
    }

    /// Checks bytes in which no value is torn.
    #[inline]
    pub(super) fn validate(&self, position: usize, packed: &[u8]) -> Result<(), Error> {
        self.check.map_or(Ok(()), |values| values.check(packed, position))
    }

    /// Writes bytes that are among the packed ones.
    ///
    /// # Safety
    /// They have been validated, and `position..position + packed.len()` is a range of the packed bytes.
    pub(super) unsafe fn write(&mut self, position: usize, packed: &[u8]) {
        let bytes = position..position + packed.len();
        // SAFETY: 1, the bytes are borrowed, and valid by the caller's condition; 2, the memory is borrowed
        // mutably; 3, both are borrowed, so apart; 4, they are checked to be among the packed ones.
        unsafe {
            let Self { data: Data { plan, count, origin, .. }, .. } = self;
            plan.copy::<Unpacking>(*count, *origin, bytes, packed.as_ptr().cast_mut());
        }
    }

    /// The last place up to this packed byte, or the end, where no value is torn.
    pub(super) fn floor(&self, byte: usize) -> usize {
        let last = || self.data.signature().unit_at(byte, false).native.start;
        if byte < self.packed_size() { last() } else { self.packed_size() }
    }

    /// Unpacks parts in any order.
    pub fn unpacker(self) -> Unpacker<'a> {
        Unpacker::new(self)
    }

    /// Copies from another layout with the same base types, straight into this one. What is done for the
    /// two layouts can be done once, with [`Transpack`].
    ///
    /// # Errors
    /// As [`Transpack::new`] and [`Transpack::copy`].
    pub fn copy_from(&mut self, from: &Data<'_>) -> Result<(), Error> {
        Transpack::new(&from.plan, from.count, &self.data.plan, self.data.count)?.copy(from, self)
    }

    /// The contiguous blocks of some of the packed bytes, for vectored input.
    ///
    /// # Errors
    /// [`Error::Range`]; [`Error::Overlap`]; and [`Error::Restricted`] where there are values of restricted
    /// types, since nobody looks at what is written.
    pub fn io_slices_mut(&mut self, bytes: Range<usize>) -> Result<Vec<IoSliceMut<'_>>, Error> {
        if self.is_restricted() {
            return Err(Error::Restricted);
        }
        let blocks = self.data.flatten(bytes)?;
        let mut sorted = blocks.clone();
        sorted.sort_unstable_by_key(|block| block.offset);
        if sorted.windows(2).any(|pair| pair[0].offset + pair[0].size as isize > pair[1].offset) {
            return Err(Error::Overlap);
        }
        let blocks = blocks.into_iter().map(|Block { offset, size }| {
            // SAFETY: a block of the layout, borrowed mutably as `self` is; no two of them overlap, and any
            // pattern may be written.
            IoSliceMut::new(unsafe {
                slice::from_raw_parts_mut(self.data.origin.wrapping_offset(offset), size)
            })
        });
        Ok(blocks.collect())
    }
}

impl Transpack {
    /// Copies from one memory to the other.
    ///
    /// ```
    /// use dtype_runtime::{layout, pack::Transpack};
    ///
    /// let (column, row) = (layout!(u8[2][2] => [.., 1]), layout!(u8[2][2] => [0, ..]));
    /// let (from, mut to) = ([[1, 2], [3, 4]], [[0; 2]; 2]);
    /// let (from, mut into) = (column.of(&from), row.of_mut(&mut to));
    /// let (from, mut into) = (from.data(), into.data());
    /// Transpack::new(from.plan(), 1, into.as_data().plan(), 1)?.copy(&from, &mut into)?;
    /// assert_eq!(to, [[2, 4], [0, 0]]);
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Plan`] where this was made for other plans or counts, and [`Error::InvalidValue`] where a
    /// value is not valid in the destination. Nothing is written then.
    pub fn copy(&self, from: &Data<'_>, to: &mut DataMut<'_>) -> Result<(), Error> {
        if !self.is_for((&from.plan, from.count), (&to.data.plan, to.data.count)) {
            return Err(Error::Plan);
        }
        if to.is_restricted() {
            // Looked at before anything is written, a cache full at a time.
            let (size, mut position, mut some) = (from.packed_size(), 0, vec![0; CHUNK]);
            while position < size {
                let end = to.floor(position + CHUNK);
                let some = &mut some[..end - position];
                from.pack_range(position..end, some)?;
                to.validate(position, some)?;
                position = end;
            }
        }
        // SAFETY: the nodes have been made of these two plans; the destination is borrowed mutably, so it is
        // not the source; its values are valid.
        unsafe { self.run(Sides { a: from.origin, b: to.data.origin }) };
        Ok(())
    }
}

/// Checks that `count` copies of a plan lie within memory of `found` bytes.
#[inline]
fn reach(plan: &Plan, count: usize, found: usize, origin: usize) -> Result<(), Error> {
    let lies_within = || {
        let (lower, upper) = plan.compiled().bounds?;
        isize::try_from(plan.packed_size().checked_mul(count)?).ok()?;
        let last = isize::try_from(count).ok()?.checked_sub(1)?.checked_mul(plan.extent())?;
        let origin = isize::try_from(origin).ok()?;
        let first = origin.checked_add(lower)?.checked_add(last.min(0))?;
        let end = origin.checked_add(upper)?.checked_add(last.max(0))?;
        Some(count > 0 && first >= 0 && end as usize <= found)
    };
    if lies_within() == Some(true) { Ok(()) } else { reach_of_any(plan, count, found, origin) }
}

/// The same where there is nothing, the numbers are large, or the layout leaves the memory.
#[cold]
fn reach_of_any(plan: &Plan, count: usize, found: usize, origin: usize) -> Result<(), Error> {
    let Some((lower, upper)) = plan.compiled().bounds.filter(|_| count > 0) else { return Ok(()) };
    if plan.packed_size().checked_mul(count).is_none_or(|size| isize::try_from(size).is_err()) {
        return Err(dtype_core::Error::Overflow { node: "layout" }.into());
    }
    let last = (count as i128 - 1) * plan.extent() as i128;
    let (first, end) =
        (origin as i128 + lower as i128 + last.min(0), origin as i128 + upper as i128 + last.max(0));
    if first < 0 || end > found as i128 {
        return Err(Error::Reach { first, end, found });
    }
    Ok(())
}

impl fmt::Debug for Data<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Data").field("plan", &self.plan).field("count", &self.count).finish_non_exhaustive()
    }
}

impl fmt::Debug for DataMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataMut").field("data", &self.data).finish_non_exhaustive()
    }
}

/// Checks that a range is one of `size` bytes.
pub(super) fn check_range(bytes: &Range<usize>, size: usize) -> Result<(), Error> {
    if bytes.start > bytes.end || bytes.end > size {
        return Err(Error::Range { start: bytes.start, end: bytes.end, size });
    }
    Ok(())
}
