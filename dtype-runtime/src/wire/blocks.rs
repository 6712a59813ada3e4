//! Messages in which something has `#[mpi(wire = "bytes")]` and padding. MPI carries that padding, so all
//! wires do: what travels are the bytes of the datatype, which a plain call may receive. Our packed bytes
//! have none, so they are put together in an image of the memory, with zeros for padding.

use std::ops::Range;

use crate::{
    Error, Layout, MpiDatatype,
    pack::{Data, DataMut, Plan},
};

/// How packed bytes become those that travel, and back.
pub(super) struct Blocks {
    /// By field, as everything is packed.
    by_field: Plan,
    /// By block, as MPI carries it.
    by_block: Plan,
    /// Where displacement 0 of `by_block` is in the image of one copy.
    origin: usize,
    /// Bytes of the image of one copy.
    extent: usize,
}

impl Blocks {
    /// Those of values of a type.
    pub fn of_values<T: MpiDatatype>() -> Result<Self, Error> {
        let by_block = Plan::new(T::tree())?;
        Ok(Self { by_field: Plan::of::<T>(), by_block, origin: 0, extent: size_of::<T>() })
    }

    /// Those of what a layout selects of an array.
    pub fn of_layout<L: Layout>(layout: &L) -> Result<Self, Error> {
        let region = layout.region();
        Ok(Self {
            by_field: layout.plan().clone(),
            by_block: Plan::new(layout.tree())?,
            origin: region.first(&region.contiguous()) as usize,
            extent: region.array_elements() * region.element,
        })
    }

    /// The plan of what travels.
    pub fn into_plan(self) -> Plan {
        self.by_block
    }

    /// Packed bytes of `copies` copies.
    pub fn size(&self, copies: usize) -> usize {
        self.by_block.packed_size().saturating_mul(copies)
    }

    /// Which copies some of the bytes that travel belong to.
    pub fn copies(&self, bytes: &Range<usize>) -> Range<usize> {
        let size = self.size(1).max(1);
        bytes.start / size..bytes.end.div_ceil(size)
    }

    /// What is packed, as it travels.
    pub fn to_wire(&self, packed: &[u8]) -> Result<Vec<u8>, Error> {
        let from =
            |image: &mut [u8], packed: &[u8]| DataMut::new(&self.by_field, 1, image, 0)?.unpack(packed);
        self.through_images(packed, self.by_field.packed_size(), from, |image| {
            Ok(Data::new(&self.by_block, 1, image, self.origin)?.pack())
        })
    }

    /// What has come, packed.
    pub fn to_packed(&self, wire: &[u8]) -> Result<Vec<u8>, Error> {
        let from =
            |image: &mut [u8], wire: &[u8]| DataMut::new(&self.by_block, 1, image, self.origin)?.unpack(wire);
        self.through_images(wire, self.by_block.packed_size(), from, |image| {
            Ok(Data::new(&self.by_field, 1, image, 0)?.pack())
        })
    }

    /// Copy by copy.
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
