//! Views: the part of a source that a layout selects, to be sent, received, packed or unpacked.

use std::{borrow::Cow, fmt};

use dtype_engine::{Direction, Error as PackError, Packing, Plan, Unpacking, Valid, written};

#[cfg(feature = "mpi")]
use super::datatype::LayoutDatatype;
use super::{
    entry::Entry,
    explain::explain,
    nest::copy_nest,
    region::{FEW_NESTS, Strides},
    source::Place,
    traits::{Layout, ValuesOf, View, ViewMut},
};
use crate::{
    Error,
    pack::{Data, DataMut},
};

impl<'a, L: Layout> View<'a, L> {
    /// Returns the layout of the part.
    pub fn layout(&self) -> &L {
        &self.layout
    }

    /// Packs the values into bytes, in the order of the layout; see [`pack`](crate::pack()).
    ///
    /// ```
    /// let matrix = [[1u8, 2, 3], [4, 5, 6]];
    /// let columns = dtype_runtime::layout!(u8[2][3] => [.., 0..3;2]);
    /// assert_eq!(columns.of(&matrix).pack(), [1, 3, 4, 6]);
    /// ```
    pub fn pack(&self) -> Vec<u8> {
        // SAFETY: packing the part writes exactly `packed_size` bytes.
        unsafe { written(self.packed_size(), |packed| self.copy::<Packing>(packed)) }
    }

    /// Packs the values into the front of `packed` and returns the number of bytes written.
    ///
    /// # Errors
    /// `Size` if `packed` is too short; then nothing is written.
    pub fn pack_into(&self, packed: &mut [u8]) -> Result<usize, Error> {
        let expected = self.packed_size();
        PackError::unless_room("the layout", expected, packed.len())?;
        // SAFETY: `packed` has room for the bytes. It is borrowed mutably, so it cannot overlap the source.
        unsafe { self.copy::<Packing>(packed.as_mut_ptr()) };
        Ok(expected)
    }

    /// Returns the address of the part, if it is contiguous.
    #[cfg(feature = "mpi")]
    pub(crate) fn contiguous(&self) -> Option<*mut u8> {
        let start = self.with_plan(|plan| plan.contiguous(self.place.copies))?;
        Some(self.place.first.wrapping_offset(start))
    }

    /// Returns the number of arrays of the source.
    #[cfg(feature = "mpi")]
    pub(crate) fn copies(&self) -> usize {
        self.place.copies
    }

    /// Returns `true` if values of restricted types are selected.
    pub(crate) fn is_restricted(&self) -> bool {
        self.layout.is_restricted()
    }

    /// Returns the number of bytes that [`pack`](Self::pack) returns.
    pub fn packed_size(&self) -> usize {
        self.layout.packed_size().saturating_mul(self.place.copies)
    }

    /// Copies between the part and its packed bytes. If the compiler knows the layout and the source has no
    /// gaps, the copy runs compiled loops, otherwise the plan.
    ///
    /// # Safety
    /// 1 to 3 of [`Direction::copy`], for the part and `packed_size` bytes from `packed` on; 4. the side that
    /// is read holds valid values.
    #[inline]
    pub(crate) unsafe fn copy<D: Direction>(&self, mut packed: *mut u8) {
        let (Some(nests), None) = (&L::NESTS, self.place.strides) else {
            let (Place { first, copies, .. }, all) = (self.place, 0..self.packed_size());
            // SAFETY: 1 to 3 are those of the caller, for all packed bytes of the plan.
            return self.with_plan(|plan| unsafe { plan.copy::<D>(copies, first, all, packed) });
        };
        const { assert!(FEW_NESTS == 8, "as many as are listed below") };
        macro_rules! one_by_one {
            ($array:ident, $($i:literal)*) => {
                $(if let Some(nest) = &nests[$i] {
                    // SAFETY: by the contract of `ArrayLike`, the place is that of an array of the region's
                    // shape.
                    packed = unsafe { copy_nest::<D>(nest, $array, packed) };
                })*
            };
        }
        for array in self.arrays() {
            one_by_one!(array, 0 1 2 3 4 5 6 7);
        }
    }

    /// Returns the part as [`Data`] for the [pack engine](mod@crate::pack): for ranges of the packed bytes,
    /// contiguous blocks, other byte orders, and copies into other layouts.
    ///
    /// ```
    /// let matrix = [[1u8, 2, 3], [4, 5, 6]];
    /// let column = dtype_runtime::layout!(u8[2][3] => [.., 1]);
    /// let mut second = [0];
    /// column.of(&matrix).data().pack_range(1..2, &mut second)?;
    /// assert_eq!(second, [5]);
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    pub fn data(&self) -> Data<'a> {
        // SAFETY: the place is that of `place.copies` arrays of the region's shape, borrowed for as long.
        unsafe {
            Data::from_raw(Cow::Owned(self.with_plan(Plan::clone)), self.place.copies, self.place.first)
        }
    }

    /// Calls `call` with the plan of one array. For a source with gaps, it first compiles a plan.
    pub(crate) fn with_plan<R>(&self, call: impl FnOnce(&Plan) -> R) -> R {
        match self.place.strides {
            None => call(self.layout.plan()),
            Some(strides) => call(&self.layout.region().plan(&strides)),
        }
    }

    /// Returns the address of the first element of each array.
    pub(super) fn arrays(&self) -> impl Iterator<Item = *mut u8> + use<L> {
        let (Place { first, copies, .. }, region) = (self.place, self.layout.region());
        let size = region.array_size();
        (0..copies).map(move |i| first.wrapping_add(i * size))
    }

    pub(super) fn strides(&self) -> Strides {
        self.place.strides(&self.layout.region())
    }

    /// Returns the entry of the part: that of the layout, unless the source has gaps or several arrays.
    pub(crate) fn entry(&self) -> Entry {
        if self.place.is_plain() {
            return self.layout.entry().clone();
        }
        self.place.entry(&self.layout.region())
    }

    /// Returns the address of the first value of the part.
    #[cfg(feature = "mpi")]
    pub(crate) fn first(&self) -> *mut u8 {
        self.place.first_value(&self.layout.region())
    }

    /// Returns the least-cost type tree of the part, relative to its first value: that of the layout, with
    /// the strides of the source.
    ///
    /// ```
    /// let column = dtype_runtime::layout!(f64[100][100] => [.., 3]);
    /// let matrix = [[0.5; 100]; 100];
    /// assert_eq!(column.of(&matrix).tree().to_string(), "vec 100, stride 800\n└─ f64\n");
    /// ```
    pub fn tree(&self) -> dtype_core::TypeTree {
        self.entry().solution().tree.clone()
    }

    /// Returns the cost of the tree: the number of words that describe it.
    pub fn cost(&self) -> u64 {
        self.entry().cost()
    }

    /// Returns a description of the part, like [`Layout::explain`], but with the tree, the calls and the
    /// predicted times for this source.
    pub fn explain(&self) -> String {
        self.with_plan(|plan| explain(&self.layout.region(), &self.entry(), plan, self.place.copies))
    }

    /// Returns the committed MPI datatype of the part, relative to its first value.
    ///
    /// # Errors
    /// An error before `MPI_Init` and after `MPI_Finalize`, and if an MPI call fails.
    #[cfg(feature = "mpi")]
    pub fn datatype(&self) -> Result<LayoutDatatype, Error> {
        self.entry().datatype()
    }
}

impl<L: Layout> ViewMut<'_, L> {
    /// Returns a read-only view of the same part.
    pub fn as_view(&self) -> &View<'_, L> {
        &self.view
    }

    /// Unpacks bytes from [`View::pack`], of this layout or of any layout with the same type signature.
    ///
    /// ```
    /// let mut matrix = [[0u8; 3]; 2];
    /// let column = dtype_runtime::layout!(u8[2][3] => [.., 1]);
    /// column.of_mut(&mut matrix).unpack(&[7, 8])?;
    /// assert_eq!(matrix, [[0, 7, 0], [0, 8, 0]]);
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`unpack_into`](crate::unpack_into); then nothing is written.
    pub fn unpack(&mut self, packed: &[u8]) -> Result<(), Error> {
        PackError::unless_exactly("the layout", self.view.packed_size(), packed.len())?;
        if self.view.is_restricted() {
            self.view.layout.region().check(packed, 0)?;
        }
        // SAFETY: the bytes have been checked; the part is borrowed mutably.
        unsafe { self.view.copy::<Unpacking>(packed.as_ptr().cast_mut()) };
        Ok(())
    }

    /// Returns the part as [`DataMut`] for the [pack engine](mod@crate::pack), for writing.
    ///
    /// ```
    /// let mut matrix = [[0u8; 3]; 2];
    /// let column = dtype_runtime::layout!(u8[2][3] => [.., 1]);
    /// column.of_mut(&mut matrix).data().unpack_range(1, &[5])?;
    /// assert_eq!(matrix, [[0, 0, 0], [0, 5, 0]]);
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    pub fn data(&mut self) -> DataMut<'_> {
        let check = self.view.is_restricted().then_some(ValuesOf::layout(&self.view.layout) as &dyn Valid);
        let Place { first, copies, .. } = self.view.place;
        // SAFETY: the place is that of `place.copies` arrays of the region's shape, borrowed mutably.
        unsafe { DataMut::from_raw(Cow::Owned(self.view.with_plan(Plan::clone)), copies, first, check) }
    }
}

impl<L: Layout + fmt::Debug> fmt::Debug for View<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").field("layout", &self.layout).finish_non_exhaustive()
    }
}

impl<L: Layout + fmt::Debug> fmt::Debug for ViewMut<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewMut").field("layout", &self.view.layout).finish_non_exhaustive()
    }
}
