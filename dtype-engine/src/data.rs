//! Plans joined to memory.

use std::{
    borrow::Cow,
    fmt,
    io::{IoSlice, IoSliceMut},
    marker::PhantomData,
    ops::Range,
    slice,
};

use crate::{
    Direction, Error, Packing, Plan, Unpacking,
    blocks::{Block, Count, Joined, LeafVisitor, visit_turns},
    sides::{CHUNK, Sides},
    signature::Signature,
    transpack::Transpack,
};

/// A check that packed bytes are valid values.
pub trait Valid: Sync {
    /// Checks `packed`, a part of the packed bytes that begins at byte `start`.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if a value that lies wholly in this part is invalid.
    fn check(&self, packed: &[u8], start: usize) -> Result<(), Error>;
}

/// Returns a vector of `size` bytes that `write` has written.
///
/// # Safety
/// 1. `write` initializes `size` bytes from its argument on.
#[inline]
pub unsafe fn written(size: usize, write: impl FnOnce(*mut u8)) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size);
    write(bytes.as_mut_ptr());
    // SAFETY: there is room for `size` bytes, and by 1 all of them have been initialized.
    unsafe { bytes.set_len(size) };
    bytes
}

/// A layout joined to memory that is read: `count` copies of a plan (the buffer, count and datatype of an MPI
/// call).
///
/// [`Data::new`] joins bytes and any plan. Offsets of blocks are relative to displacement 0 of the first
/// copy: the first value, or the first element of the array.
#[derive(Clone)]
pub struct Data<'a> {
    /// The plan, borrowed if possible: counting references takes longer than packing a few bytes.
    plan: Cow<'a, Plan>,
    count: usize,
    /// The address of displacement 0 of the first copy.
    origin: *mut u8,
    memory: PhantomData<&'a [u8]>,
}

/// A layout joined to memory that is written. Bytes that the layout does not cover are never written.
///
/// If a layout covers a byte twice, the byte is unpacked from one of the two values.
pub struct DataMut<'a> {
    data: Data<'a>,
    /// The check of values; `None` if every byte pattern is valid.
    check: Option<&'a dyn Valid>,
    memory: PhantomData<&'a mut [u8]>,
}

// SAFETY: `Data` is a shared borrow of numbers. No byte that a plan covers has interior mutability, since
// base types have none.
unsafe impl Send for Data<'_> {}
// SAFETY: `Data` is a shared borrow of numbers, without interior mutability.
unsafe impl Sync for Data<'_> {}
// SAFETY: `DataMut` is a mutable borrow of numbers, and a shared borrow of their check, which is `Sync`.
unsafe impl Send for DataMut<'_> {}
// SAFETY: `DataMut` is a mutable borrow of numbers, and a shared borrow of their check, which is `Sync`.
unsafe impl Sync for DataMut<'_> {}

impl<'a> Data<'a> {
    /// Joins `count` copies of a plan to `memory`. Displacement 0 of the first copy is at byte `origin`.
    ///
    /// # Errors
    /// [`Error::Reach`] if the layout is not within the memory, and [`Error::Tree`] if its packed size
    /// overflows.
    #[inline]
    pub fn new(plan: &'a Plan, count: usize, memory: &'a [u8], origin: usize) -> Result<Self, Error> {
        reach(plan, count, memory.len(), origin)?;
        let first = memory.as_ptr().cast_mut().wrapping_add(origin);
        // SAFETY: `reach` has found that the layout lies within the memory.
        Ok(unsafe { Self::from_raw(Cow::Borrowed(plan), count, first) })
    }

    /// Joins `count` copies of a plan to memory of which only an address is known, as in C code. Displacement
    /// 0 of the first copy is at `origin`. This address may lie outside the memory if a lower bound is not 0,
    /// and may be null if displacements are addresses (`MPI_BOTTOM`).
    ///
    /// ```
    /// use dtype_runtime::{pack::{Data, Plan}, tree::{BaseType, TypeTree}};
    ///
    /// let memory = [7u8, 8, 9];
    /// // Bytes 10 and 12, counted from an address that is 10 bytes before the memory.
    /// let plan = Plan::new(&TypeTree::index([10, 12], TypeTree::Leaf(BaseType::U8)))?;
    /// // SAFETY: the two bytes are in `memory`, which is not written.
    /// let data = unsafe { Data::from_raw_parts(&plan, 1, memory.as_ptr().wrapping_sub(10)) };
    /// assert_eq!(data.pack(), [7, 9]);
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Safety
    /// For `'a`, all bytes that `count` copies of the plan at `origin` cover are
    /// 1. readable,
    /// 2. initialized, and
    /// 3. written by nobody.
    #[inline]
    pub unsafe fn from_raw_parts(plan: &'a Plan, count: usize, origin: *const u8) -> Self {
        // SAFETY: the caller guarantees 1 to 3.
        unsafe { Self::from_raw(Cow::Borrowed(plan), count, origin.cast_mut()) }
    }

    /// Joins `count` copies of a plan to memory at `origin`.
    ///
    /// # Safety
    /// For `'a`, all bytes that `count` copies of the plan at `origin` cover are readable, initialized, and
    /// not written by others.
    #[inline]
    pub unsafe fn from_raw(plan: Cow<'a, Plan>, count: usize, origin: *mut u8) -> Self {
        Self { plan, count, origin, memory: PhantomData }
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the packed size of all copies in bytes, or `usize::MAX` if it overflows.
    #[inline]
    pub fn packed_size(&self) -> usize {
        self.plan.packed_size().saturating_mul(self.count)
    }

    /// Packs all copies.
    pub fn pack(&self) -> Vec<u8> {
        // SAFETY: packing all copies writes exactly `packed_size` bytes.
        unsafe { written(self.packed_size(), |packed| self.copy::<Packing>(packed)) }
    }

    /// Copies all bytes between the memory and a packed buffer.
    ///
    /// # Safety
    /// Conditions 1 to 3 of [`Direction::copy`] hold for all bytes that the copies cover, and for
    /// `packed_size` bytes from `packed` on.
    #[inline]
    pub unsafe fn copy<D: Direction>(&self, packed: *mut u8) {
        // SAFETY: the caller guarantees 1 to 3 for the same bytes.
        unsafe { self.plan.copy_all::<D>(self.count, self.origin, packed) };
    }

    /// Packs all copies into the beginning of `packed`, and returns their packed size in bytes.
    ///
    /// # Errors
    /// [`Error::Length`] if `packed` is too short. Nothing is written then.
    #[inline]
    pub fn pack_into(&self, packed: &mut [u8]) -> Result<usize, Error> {
        let expected = self.packed_size();
        Error::unless_room("the layout", expected, packed.len())?;
        // SAFETY: `packed` has room for the bytes. Being borrowed mutably, it does not overlap the bytes that
        // are read.
        unsafe { self.copy::<Packing>(packed.as_mut_ptr()) };
        Ok(expected)
    }

    /// Packs a range of the packed bytes into `packed`, which has the length of the range. Finding the first
    /// byte takes one step for each level of the layout (MPITypes's `MPIT_Type_memcpy`).
    ///
    /// # Errors
    /// [`Error::Range`] if the range exceeds the packed bytes, and [`Error::Length`] if `packed` has another
    /// length. Nothing is written then.
    pub fn pack_range(&self, bytes: Range<usize>, packed: &mut [u8]) -> Result<(), Error> {
        self.check_range(&bytes)?;
        Error::unless_exactly("the range", bytes.len(), packed.len())?;
        // SAFETY: `packed` has room for the bytes. Being borrowed mutably, it does not overlap the bytes that
        // are read.
        unsafe { self.plan.copy::<Packing>(self.count, self.origin, bytes, packed.as_mut_ptr()) };
        Ok(())
    }

    /// Returns the address of the data, if the data are one contiguous block.
    pub fn contiguous(&self) -> Option<*mut u8> {
        self.plan.contiguous(self.count).map(|start| self.origin.wrapping_offset(start))
    }

    /// Returns the type signature of one copy.
    pub(crate) fn signature(&self) -> &Signature {
        &self.plan.compiled().signature
    }

    pub(crate) fn check_range(&self, bytes: &Range<usize>) -> Result<(), Error> {
        check_range(bytes, self.packed_size())
    }

    /// Returns the packed size of all copies in bytes, in `external32` or as on this machine.
    pub(crate) fn size_in(&self, external: bool) -> usize {
        if external { self.count * self.signature().size_in(true) } else { self.packed_size() }
    }

    /// Returns the greatest position up to `byte` that does not lie within a number: in `external32`, or as
    /// on this machine. It is at most the size.
    pub(crate) fn floor(&self, byte: usize, external: bool) -> usize {
        let size = self.size_in(external);
        if byte < size { self.signature().unit_at(byte, external).bytes.start } else { size }
    }

    /// Calls `visitor` for the contiguous blocks of a range of the packed bytes, in order.
    ///
    /// # Errors
    /// [`Error::Range`] if the range exceeds the packed bytes.
    pub fn visit(&self, bytes: Range<usize>, visitor: &mut impl LeafVisitor) -> Result<(), Error> {
        self.check_range(&bytes)?;
        let compiled = self.plan.compiled();
        visit_turns(&compiled.part.node, &compiled.extent, bytes, compiled.part.a, visitor);
        Ok(())
    }

    /// Returns the number of contiguous blocks of a range of the packed bytes. Blocks that are adjacent in
    /// memory count as one (MPITypes's `MPIT_Type_blockct`).
    ///
    /// ```
    /// let column = dtype_runtime::layout!(u8[3][3] => [.., 1]);
    /// assert_eq!(column.of(&[[0; 3]; 3]).data().blocks(0..3)?, 3);
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Range`] if the range exceeds the packed bytes.
    pub fn blocks(&self, bytes: Range<usize>) -> Result<usize, Error> {
        let mut count = Count::default();
        self.visit(bytes, &mut count)?;
        Ok(count.blocks)
    }

    /// Returns the contiguous blocks of a range of the packed bytes (MPITypes's `MPIT_Type_flatten`).
    ///
    /// # Errors
    /// [`Error::Range`] if the range exceeds the packed bytes.
    pub fn flatten(&self, bytes: Range<usize>) -> Result<Vec<Block>, Error> {
        let mut blocks = Vec::new();
        let mut joined = Joined::new(|block| blocks.push(block));
        self.visit(bytes, &mut joined)?;
        joined.finish();
        Ok(blocks)
    }

    /// Returns the contiguous blocks of a range of the packed bytes as slices, for vectored output.
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
    /// [`Error::Range`] if the range exceeds the packed bytes.
    pub fn io_slices(&self, bytes: Range<usize>) -> Result<Vec<IoSlice<'a>>, Error> {
        let blocks = self.flatten(bytes)?.into_iter().map(|Block { offset, size }| {
            // SAFETY: the block belongs to the layout, all bytes of which are readable for `'a`, by the
            // condition of `from_raw`.
            IoSlice::new(unsafe { slice::from_raw_parts(self.origin.wrapping_offset(offset), size) })
        });
        Ok(blocks.collect())
    }
}

impl<'a> DataMut<'a> {
    /// Joins `count` copies of a plan to `memory`. Displacement 0 of the first copy is at byte `origin`.
    ///
    /// # Errors
    /// [`Error::Reach`] if the layout is not within the memory, and [`Error::Tree`] if its packed size
    /// overflows.
    #[inline]
    pub fn new(plan: &'a Plan, count: usize, memory: &'a mut [u8], origin: usize) -> Result<Self, Error> {
        reach(plan, count, memory.len(), origin)?;
        let first = memory.as_mut_ptr().wrapping_add(origin);
        // SAFETY: `reach` has found that the layout lies within the memory, and every byte pattern is valid.
        Ok(unsafe { Self::from_raw(Cow::Borrowed(plan), count, first, None) })
    }

    /// Joins `count` copies of a plan to memory of which only an address is known, like
    /// [`Data::from_raw_parts`].
    ///
    /// # Safety
    /// For `'a`, all bytes that `count` copies of the plan at `origin` cover
    /// 1. are writable,
    /// 2. are initialized,
    /// 3. are used by nobody else, and
    /// 4. may have any values.
    #[inline]
    pub unsafe fn from_raw_parts(plan: &'a Plan, count: usize, origin: *mut u8) -> Self {
        // SAFETY: the caller guarantees 1 to 4.
        unsafe { Self::from_raw(Cow::Borrowed(plan), count, origin, None) }
    }

    /// Joins `count` copies of a plan to memory at `origin`.
    ///
    /// # Safety
    /// For `'a`, all bytes that `count` copies of the plan at `origin` cover are writable, initialized, and
    /// used by nobody else. Any bytes that pass the check may be written to them.
    #[inline]
    pub unsafe fn from_raw(
        plan: Cow<'a, Plan>,
        count: usize,
        origin: *mut u8,
        check: Option<&'a dyn Valid>,
    ) -> Self {
        // SAFETY: the caller guarantees that the bytes of all copies are readable, initialized, and not used
        // by others.
        let data = unsafe { Data::from_raw(plan, count, origin) };
        Self { data, check, memory: PhantomData }
    }

    /// Returns the layout and its memory, for reading.
    pub fn as_data(&self) -> &Data<'_> {
        &self.data
    }

    /// Returns the packed size of all copies in bytes, or `usize::MAX` if it overflows.
    #[inline]
    pub fn packed_size(&self) -> usize {
        self.data.packed_size()
    }

    /// Unpacks all copies.
    ///
    /// # Errors
    /// [`Error::Length`] if `packed` does not have exactly the packed size, and [`Error::InvalidValue`] if a
    /// value is invalid. Nothing is written in either case.
    #[inline]
    pub fn unpack(&mut self, packed: &[u8]) -> Result<(), Error> {
        Error::unless_exactly("the layout", self.packed_size(), packed.len())?;
        self.validate(0, packed)?;
        // SAFETY: 1: the packed bytes are borrowed, and have been validated; 2: the memory is borrowed
        // mutably; 3: a mutable borrow does not overlap another borrow.
        unsafe { self.data.copy::<Unpacking>(packed.as_ptr().cast_mut()) };
        Ok(())
    }

    /// Unpacks a range of the packed bytes, which begins at `position`.
    ///
    /// # Errors
    /// [`Error::Range`] if the range exceeds the packed bytes, and [`Error::InvalidValue`] if a value is
    /// invalid. [`Error::Torn`] if the layout has values of restricted types (`bool`, `char`, `NonZero` or
    /// enum), and the range begins or ends within a value; an [`Unpacker`](crate::Unpacker) can wait
    /// for the rest. Nothing is written in any of these cases.
    pub fn unpack_range(&mut self, position: usize, packed: &[u8]) -> Result<(), Error> {
        let end = position.saturating_add(packed.len());
        self.data.check_range(&(position..end))?;
        if self.is_restricted() {
            let torn = [position, end].into_iter().find(|at| self.data.floor(*at, false) < *at);
            torn.map_or(Ok(()), |position| Err(Error::Torn { position }))?;
        }
        self.validate(position, packed)?;
        // SAFETY: no value of a restricted type is torn, all values are valid, and the range has been
        // checked.
        unsafe { self.write(position, packed) };
        Ok(())
    }

    /// Returns `true` if there are values of restricted types.
    pub fn is_restricted(&self) -> bool {
        self.check.is_some()
    }

    /// Checks the values in packed bytes that begin at `position` and consist of whole values.
    #[inline]
    pub(crate) fn validate(&self, position: usize, packed: &[u8]) -> Result<(), Error> {
        self.check.map_or(Ok(()), |values| values.check(packed, position))
    }

    /// Unpacks a range of the packed bytes, which begins at `position`.
    ///
    /// # Safety
    /// The bytes have been validated, and `position..position + packed.len()` is a range of the packed bytes.
    pub(crate) unsafe fn write(&mut self, position: usize, packed: &[u8]) {
        let bytes = position..position + packed.len();
        // SAFETY: 1: the packed bytes are borrowed, and validated by the caller's condition; 2: the memory is
        // borrowed mutably; 3: a mutable borrow does not overlap another borrow; 4: by the caller's
        // condition, the range is one of the packed bytes.
        unsafe {
            let Self { data: Data { plan, count, origin, .. }, .. } = self;
            plan.copy::<Unpacking>(*count, *origin, bytes, packed.as_ptr().cast_mut());
        }
    }

    /// Copies from another layout with the same base types directly into this one. The preparation for the
    /// two layouts can be done once, with [`Transpack`].
    ///
    /// # Errors
    /// The errors of [`Transpack::new`] and [`Transpack::copy`].
    pub fn copy_from(&mut self, from: &Data<'_>) -> Result<(), Error> {
        Transpack::new(&from.plan, from.count, &self.data.plan, self.data.count)?.copy(from, self)
    }

    /// Returns the contiguous blocks of a range of the packed bytes as slices, for vectored input.
    ///
    /// # Errors
    /// [`Error::Range`] if the range exceeds the packed bytes; [`Error::Overlap`] if two blocks overlap; and
    /// [`Error::Restricted`] if there are values of restricted types, since writes through the slices are not
    /// checked.
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
            // SAFETY: the block belongs to the layout, and is borrowed mutably, as `self` is. No two blocks
            // overlap, and any byte pattern may be written.
            IoSliceMut::new(unsafe {
                slice::from_raw_parts_mut(self.data.origin.wrapping_offset(offset), size)
            })
        });
        Ok(blocks.collect())
    }
}

impl Transpack {
    /// Copies from the memory of `from` to the memory of `to`.
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
    /// [`Error::Plan`] if this `Transpack` was made for other plans or counts, and [`Error::InvalidValue`] if
    /// a value is invalid in the destination. Nothing is written then.
    pub fn copy(&self, from: &Data<'_>, to: &mut DataMut<'_>) -> Result<(), Error> {
        if !self.is_for((&from.plan, from.count), (&to.data.plan, to.data.count)) {
            return Err(Error::Plan);
        }
        if to.is_restricted() {
            // All values are checked before any is written, one chunk at a time.
            let size = from.packed_size();
            let mut position = 0;
            let mut some = vec![0; CHUNK];
            while position < size {
                let end = to.data.floor(position + CHUNK, false);
                let some = &mut some[..end - position];
                from.pack_range(position..end, some)?;
                to.validate(position, some)?;
                position = end;
            }
        }
        // SAFETY: the nodes have been made of these two plans. The destination is borrowed mutably, so it
        // does not overlap the source. The values are valid in the destination.
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

/// Checks like [`reach`], for layouts without bytes, for large numbers, and for layouts that leave the
/// memory.
#[cold]
fn reach_of_any(plan: &Plan, count: usize, found: usize, origin: usize) -> Result<(), Error> {
    let Some((lower, upper)) = plan.compiled().bounds.filter(|_| count > 0) else { return Ok(()) };
    plan.checked_size(count)?;
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

/// Checks that a range lies within `size` bytes.
///
/// # Errors
/// [`Error::Range`].
pub fn check_range(bytes: &Range<usize>, size: usize) -> Result<(), Error> {
    if bytes.start > bytes.end || bytes.end > size {
        return Err(Error::Range { start: bytes.start, end: bytes.end, size });
    }
    Ok(())
}
