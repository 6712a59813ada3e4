//! Parts of arrays at their places: as packed bytes, and copied to other parts.

use super::{
    blocks::MemoryBlocks,
    sendable::sealed::{Read, Write},
};
use crate::{DynamicLayout, Error, Layout, MpiDatatype, View, ViewMut, layout::source::Place};

/// Packs a part of each array, one after another.
pub(crate) fn pack<T: MpiDatatype, const D: usize>(
    layout: &DynamicLayout<T, D>,
    places: &[Place],
    mut packed: &mut [u8],
) -> Result<(), Error> {
    for place in places {
        let view = View::new(*place, layout);
        let size = Read::packed_size(&view);
        let (this, rest) = packed.split_at_mut(size);
        // SAFETY: there are `size` bytes, in a buffer of this crate.
        unsafe { Read::pack(&view, this.as_mut_ptr()) }?;
        packed = rest;
    }
    Ok(())
}

/// Checks that the packed parts of arrays hold valid values.
pub(crate) fn check<T: MpiDatatype, const D: usize>(
    layout: &DynamicLayout<T, D>,
    places: &[Place],
    mut packed: &[u8],
) -> Result<(), Error> {
    if !layout.is_restricted() {
        return Ok(());
    }
    let blocks = MemoryBlocks::of_layout(layout)?;
    for place in places {
        let (this, rest) = packed.split_at(Read::packed_size(&View::new(*place, layout)));
        let converted = blocks.as_ref().map(|blocks| blocks.to_packed(this)).transpose()?;
        layout.region().check(converted.as_deref().unwrap_or(this), 0)?;
        packed = rest;
    }
    Ok(())
}

/// Unpacks a part of each array.
///
/// # Safety
/// 1. The arrays at the places are borrowed mutably.
pub(crate) unsafe fn unpack<T: MpiDatatype, const D: usize>(
    layout: &DynamicLayout<T, D>,
    places: &[Place],
    mut packed: &[u8],
) -> Result<(), Error> {
    for place in places {
        let mut view = ViewMut::new(*place, layout);
        let (this, rest) = packed.split_at(Read::packed_size(&view));
        Write::unpack(&mut view, this)?;
        packed = rest;
    }
    Ok(())
}

/// Copies a part of each array to a part of another one, or of the same one.
///
/// # Safety
/// 1. The arrays at the places `to` are borrowed mutably.
/// 2. The parts have no element in common.
pub(crate) unsafe fn copy<T: MpiDatatype, const D: usize>(
    (from, sources): (&DynamicLayout<T, D>, &[Place]),
    (to, destinations): (&DynamicLayout<T, D>, &[Place]),
) -> Result<(), Error> {
    sources.iter().zip(destinations).try_for_each(|(source, destination)| {
        let view = View::new(*source, from);
        let mut into = ViewMut::new(*destination, to);
        Ok(into.data().copy_from(&view.data())?)
    })
}
