//! Messages in which a part has `#[mpi(wire = "bytes")]` and padding. MPI transfers that padding, so all
//! wires do: the transferred bytes are those of the datatype, and a plain call may receive them. Packed bytes
//! have no padding. They are unpacked into an image of the memory, with zeros for padding, from which the
//! blocks are packed.

use std::ops::Range;

use crate::{
    Error, Layout,
    pack::{Data, DataMut, Plan},
    types::ValueType,
};

/// Returns the plan of the transferred bytes of a layout.
pub(crate) fn wire_plan<L: Layout>(layout: &L) -> Result<Plan, Error> {
    Ok(MemoryBlocks::of_layout(layout)?.map_or_else(|| layout.plan().clone(), MemoryBlocks::into_plan))
}

/// Returns the number of transferred bytes of a layout.
pub(crate) fn wire_size<L: Layout>(layout: &L) -> Result<usize, Error> {
    Ok(MemoryBlocks::of_layout(layout)?.map_or_else(|| layout.packed_size(), |blocks| blocks.size(1)))
}

/// The conversion between packed bytes and transferred bytes.
pub(crate) struct MemoryBlocks {
    /// The plan of packed bytes: field by field.
    by_field: Plan,
    /// The plan of transferred bytes: block by block.
    by_block: Plan,
    /// The position of displacement 0 of `by_block` in the image of one copy, in bytes.
    origin: usize,
    /// The size of the image of one copy in bytes.
    extent: usize,
}

impl MemoryBlocks {
    /// Returns the conversion for values of a type; `None` if no part of them is transferred as bytes.
    #[inline]
    pub fn of_values(of: &ValueType) -> Result<Option<Self>, Error> {
        if !of.facts.has_blocks() {
            return Ok(None);
        }
        let by_block = Plan::new(&(of.lazy)().solution().tree)?;
        Ok(Some(Self { by_field: (of.plan)().clone(), by_block, origin: 0, extent: of.size }))
    }

    /// Returns the conversion for the part of an array that a layout selects; `None` if no part of it is
    /// transferred as bytes.
    #[inline]
    pub fn of_layout<L: Layout>(layout: &L) -> Result<Option<Self>, Error> {
        if layout.has_blocks() { Self::new(layout).map(Some) } else { Ok(None) }
    }

    #[cold]
    fn new<L: Layout>(layout: &L) -> Result<Self, Error> {
        let region = layout.region();
        Ok(Self {
            by_field: layout.plan().clone(),
            by_block: Plan::new(layout.tree())?,
            origin: region.first(&region.contiguous()) as usize,
            extent: region.array_elements() * region.element,
        })
    }

    /// Returns the plan of transferred bytes.
    pub fn into_plan(self) -> Plan {
        self.by_block
    }

    /// Returns the number of transferred bytes of `copies` copies.
    pub fn size(&self, copies: usize) -> usize {
        self.by_block.packed_size().saturating_mul(copies)
    }

    /// Returns the range of copies to which a range of transferred bytes belongs.
    pub fn copies(&self, bytes: &Range<usize>) -> Range<usize> {
        let size = self.size(1).max(1);
        bytes.start / size..bytes.end.div_ceil(size)
    }

    /// Converts packed bytes to transferred bytes.
    pub fn to_wire(&self, packed: &[u8]) -> Result<Vec<u8>, Error> {
        let from =
            |image: &mut [u8], packed: &[u8]| Ok(DataMut::new(&self.by_field, 1, image, 0)?.unpack(packed)?);
        self.through_images(packed, self.by_field.packed_size(), from, |image| {
            Ok(Data::new(&self.by_block, 1, image, self.origin)?.pack())
        })
    }

    /// Converts transferred bytes to packed bytes.
    pub fn to_packed(&self, wire: &[u8]) -> Result<Vec<u8>, Error> {
        let from = |image: &mut [u8], wire: &[u8]| {
            Ok(DataMut::new(&self.by_block, 1, image, self.origin)?.unpack(wire)?)
        };
        self.through_images(wire, self.by_block.packed_size(), from, |image| {
            Ok(Data::new(&self.by_field, 1, image, 0)?.pack())
        })
    }

    /// Converts copies of `size` bytes one by one: `from` fills the image, and `to` reads it.
    fn through_images(
        &self,
        bytes: &[u8],
        size: usize,
        from: impl Fn(&mut [u8], &[u8]) -> Result<(), Error>,
        to: impl Fn(&[u8]) -> Result<Vec<u8>, Error>,
    ) -> Result<Vec<u8>, Error> {
        let (mut image, mut all) = (vec![0; self.extent], Vec::new());
        for copy in bytes.chunks_exact(size.max(1)) {
            from(&mut image, copy)?;
            all.extend(to(&image)?);
        }
        Ok(all)
    }
}
