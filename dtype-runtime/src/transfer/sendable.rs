//! Messages: values, slices, views, and any layout of bytes.

use std::{ops::Range, os::raw::c_void};

use ::mpi::Count;

use dtype_engine::{Error as PackError, Packing, Plan, Spacing};

use super::blocks::MemoryBlocks;
use crate::{
    Error, Layout, View, ViewMut,
    layout::{LayoutDatatype, entry::Entry},
    message::Encoded,
    pack::{Data, DataMut, PackBuffer, plan_of},
};

/// A message as arguments of an MPI call: `count` elements of a datatype at an address.
pub struct Typed {
    pub(crate) place: *mut c_void,
    pub(crate) count: Count,
    pub(crate) datatype: LayoutDatatype,
}

impl Typed {
    pub(super) fn new(place: *mut u8, count: usize, entry: Entry) -> Result<Self, Error> {
        // If the count exceeds an MPI count, the message is one element of a datatype of all copies.
        let (count, entry) = match Count::try_from(count) {
            Ok(count) => (count, entry),
            Err(_) => (1, entry.repeated(count)),
        };
        Ok(Self { place: place.cast(), count, datatype: entry.datatype()? })
    }
}

/// Contiguous memory that consists of exactly the packed bytes of a message, in their order.
#[derive(Clone, Copy)]
pub struct Span {
    pub(crate) place: *mut u8,
    /// The size in bytes.
    pub(crate) size: usize,
}

pub(crate) mod sealed {
    use super::{Error, Plan, Range, Spacing, Span, Typed};

    /// A message that a wire reads. *Packed bytes* here are the transferred bytes: packed field by field,
    /// except for parts that are transferred [as bytes](super::super::blocks).
    ///
    /// # Safety
    /// 1. `packed_size` is always the same, and `pack` writes exactly that number of bytes.
    /// 2. `span` and `typed` name memory that the message borrows for reading; `span` names exactly the
    ///    packed bytes.
    pub unsafe trait Read {
        /// Returns the packed size of the message in bytes.
        fn packed_size(&self) -> usize;

        /// Packs the whole message.
        ///
        /// # Safety
        /// At `packed` there is room for [`packed_size`](Self::packed_size) bytes, which do not overlap the
        /// message.
        unsafe fn pack(&self, packed: *mut u8) -> Result<(), Error> {
            // SAFETY: the caller has room for `packed_size` bytes, which are only written.
            let packed = unsafe { std::slice::from_raw_parts_mut(packed, self.packed_size()) };
            self.pack_range(0..packed.len(), packed)
        }

        /// Packs a range of the packed bytes, which should begin and end at a multiple of
        /// [`step`](Self::step).
        fn pack_range(&self, bytes: Range<usize>, packed: &mut [u8]) -> Result<(), Error>;

        /// Returns the packed size in bytes of one value of a slice; 1 for a message that can be divided
        /// anywhere.
        fn step(&self) -> usize {
            1
        }

        /// Returns the memory of the message, if it consists of exactly the packed bytes.
        fn span(&self) -> Option<Span>;

        /// Returns the spacing of the contiguous blocks; `None` if there are no blocks, or if the message has
        /// only one datatype that may receive it.
        fn spacing(&self) -> Option<Spacing> {
            None
        }

        /// Returns the message as arguments of an MPI call.
        fn typed(&self) -> Result<Typed, Error>;

        /// Returns the plan of the message, or of a part that is repeated. Its signature describes the packed
        /// bytes.
        fn plan(&self) -> Plan;
    }

    /// A message that can be received into.
    ///
    /// # Safety
    /// 1. `unpack` and `unpack_range` write only memory that the message borrows.
    /// 2. `span_mut` and `typed_mut` name the same memory as `span` and `typed`. It is borrowed mutably, and
    ///    no byte of it is named twice.
    /// 3. If `any_pattern` returns `true`, any bytes may be written there.
    pub unsafe trait Write: Read {
        /// Returns `true` if every pattern of the packed bytes is a valid value.
        fn any_pattern(&self) -> bool;

        /// Like [`span`](Read::span), for writing.
        fn span_mut(&mut self) -> Option<Span>;

        /// Like [`typed`](Read::typed), for writing.
        fn typed_mut(&mut self) -> Result<Typed, Error>;

        /// Unpacks the whole message. The packed bytes are checked before anything is written.
        fn unpack(&mut self, packed: &[u8]) -> Result<(), Error>;

        /// Unpacks some of the packed bytes of a message for which every pattern is valid.
        fn unpack_range(&mut self, position: usize, packed: &[u8]) -> Result<(), Error>;
    }
}

/// Packs a range of the transferred bytes of a message with parts that are transferred as bytes.
/// `pack_copies` packs a range of the message's copies field by field.
pub(super) fn copy_blocks(
    blocks: &MemoryBlocks,
    bytes: &Range<usize>,
    packed: &mut [u8],
    pack_copies: impl FnOnce(Range<usize>) -> Vec<u8>,
) -> Result<(), Error> {
    let copies = blocks.copies(bytes);
    let start = bytes.start - blocks.size(copies.start);
    let wire = blocks.to_wire(&pack_copies(copies))?;
    packed.copy_from_slice(&wire[start..start + packed.len()]);
    Ok(())
}

/// Implements the traits for a type that contains another message, to which all calls are forwarded.
macro_rules! the_same_as {
    (read [$($generics:tt)*] $type:ty, |$message:ident| $read:expr) => {
        // SAFETY: 1 and 2, since all calls are forwarded to another message, which this one borrows.
        unsafe impl<$($generics)*> sealed::Read for $type {
            #[inline]
            unsafe fn pack(&self, packed: *mut u8) -> Result<(), Error> {
                let $message = self;
                // SAFETY: the other message has the same packed size, for which the caller has room.
                unsafe { sealed::Read::pack($read, packed) }
            }
            the_same_as! { Read, |$message| $read,
                packed_size() -> usize;
                pack_range(bytes: Range<usize>, packed: &mut [u8]) -> Result<(), Error>;
                step() -> usize;
                span() -> Option<Span>;
                spacing() -> Option<Spacing>;
                typed() -> Result<Typed, Error>;
                plan() -> Plan;
            }
        }
    };
    ($trait:ident, |$message:ident| $to:expr,
        $($name:ident($($argument:ident: $of:ty),*) -> $result:ty;)*) => {$(
        #[inline]
        fn $name(&self $(, $argument: $of)*) -> $result {
            let $message = self;
            sealed::$trait::$name($to $(, $argument)*)
        }
    )*};
    (write [$($generics:tt)*] $type:ty, |$message:ident| $read:expr, $write:expr) => {
        the_same_as!(write [$($generics)*] $type, |$message| $read, $write, {
            sealed::Write::any_pattern($read)
        });
    };
    (write [$($generics:tt)*] $type:ty, |$message:ident| $read:expr, $write:expr, $any_pattern:expr) => {
        the_same_as!(read [$($generics)*] $type, |$message| $read);

        // SAFETY: 1 to 3, since all calls are forwarded to another message, which this one borrows mutably.
        unsafe impl<$($generics)*> sealed::Write for $type {
            #[inline]
            #[allow(unused_variables)]
            fn any_pattern(&self) -> bool {
                let $message = self;
                $any_pattern
            }
            #[inline]
            fn span_mut(&mut self) -> Option<Span> {
                let $message = self;
                sealed::Write::span_mut($write)
            }
            fn typed_mut(&mut self) -> Result<Typed, Error> {
                let $message = self;
                sealed::Write::typed_mut($write)
            }
            #[inline]
            fn unpack(&mut self, packed: &[u8]) -> Result<(), Error> {
                let $message = self;
                sealed::Write::unpack($write, packed)
            }
            fn unpack_range(&mut self, position: usize, packed: &[u8]) -> Result<(), Error> {
                let $message = self;
                sealed::Write::unpack_range($write, position, packed)
            }
        }
    };
}

pub(crate) use the_same_as;

// SAFETY: 1, since a layout does not change; 2, since the view borrows the source.
unsafe impl<L: Layout> sealed::Read for View<'_, L> {
    fn packed_size(&self) -> usize {
        match MemoryBlocks::of_layout(self.layout()) {
            Ok(Some(blocks)) => blocks.size(self.copies()),
            _ => View::packed_size(self),
        }
    }

    unsafe fn pack(&self, packed: *mut u8) -> Result<(), Error> {
        if let Some(blocks) = MemoryBlocks::of_layout(self.layout())? {
            let wire = blocks.to_wire(&View::pack(self))?;
            // SAFETY: the caller has room for `packed_size` bytes, which these are.
            unsafe { packed.copy_from_nonoverlapping(wire.as_ptr(), wire.len()) };
            return Ok(());
        }
        // SAFETY: the caller has room for `packed_size` bytes, which do not overlap the source.
        unsafe { self.copy::<Packing>(packed) };
        Ok(())
    }

    fn pack_range(&self, bytes: Range<usize>, packed: &mut [u8]) -> Result<(), Error> {
        let Some(blocks) = MemoryBlocks::of_layout(self.layout())? else {
            return Ok(self.data().pack_range(bytes, packed)?);
        };
        let pack_copies = |copies: Range<usize>| {
            let (mut all, size) = (View::pack(self), self.layout().packed_size());
            all.truncate(copies.end * size);
            all.split_off(copies.start * size)
        };
        copy_blocks(&blocks, &bytes, packed, pack_copies)
    }

    fn span(&self) -> Option<Span> {
        if self.layout().has_blocks() {
            return None;
        }
        self.contiguous().map(|place| Span { place, size: View::packed_size(self) })
    }

    fn spacing(&self) -> Option<Spacing> {
        self.with_plan(Plan::spacing)
    }

    fn typed(&self) -> Result<Typed, Error> {
        Typed::new(self.first(), self.copies(), self.entry())
    }

    fn plan(&self) -> Plan {
        match MemoryBlocks::of_layout(self.layout()) {
            Ok(Some(blocks)) => blocks.into_plan(),
            _ => self.with_plan(Plan::clone),
        }
    }
}

the_same_as!(read [L: Layout] ViewMut<'_, L>, |view| view.as_view());

// SAFETY: 1 and 2, since the source is borrowed mutably, and mutable views cover no byte twice; 3, since
// `any_pattern` follows the layout.
unsafe impl<L: Layout> sealed::Write for ViewMut<'_, L> {
    fn any_pattern(&self) -> bool {
        !self.as_view().is_restricted() && !self.as_view().layout().has_blocks()
    }

    // The view was made from a mutable borrow.
    fn span_mut(&mut self) -> Option<Span> {
        sealed::Read::span(self.as_view())
    }

    fn typed_mut(&mut self) -> Result<Typed, Error> {
        sealed::Read::typed(self.as_view())
    }

    fn unpack(&mut self, packed: &[u8]) -> Result<(), Error> {
        match MemoryBlocks::of_layout(self.as_view().layout())? {
            Some(blocks) => ViewMut::unpack(self, &blocks.to_packed(packed)?),
            None => ViewMut::unpack(self, packed),
        }
    }

    fn unpack_range(&mut self, position: usize, packed: &[u8]) -> Result<(), Error> {
        Ok(self.data().unpack_range(position, packed)?)
    }
}

// SAFETY: 1, since the parts do not change; 2, since they are borrowed.
unsafe impl sealed::Read for Encoded<'_> {
    fn packed_size(&self) -> usize {
        self.size()
    }

    fn pack_range(&self, bytes: Range<usize>, packed: &mut [u8]) -> Result<(), Error> {
        let (blocks, rest) = self.parts();
        let (mut start, mut packed) = (0, packed);
        for part in blocks.iter().copied().chain([rest]) {
            let within =
                bytes.start.clamp(start, start + part.len())..bytes.end.clamp(start, start + part.len());
            let (here, behind) = packed.split_at_mut(within.len());
            here.copy_from_slice(&part[within.start - start..within.end - start]);
            (start, packed) = (start + part.len(), behind);
        }
        Ok(())
    }

    fn span(&self) -> Option<Span> {
        let (blocks, rest) = self.parts();
        blocks.is_empty().then_some(Span { place: rest.as_ptr().cast_mut(), size: rest.len() })
    }

    fn typed(&self) -> Result<Typed, Error> {
        Err(Error::Wire { wire: "typed", reason: "an owned message has no datatype" })
    }

    fn plan(&self) -> Plan {
        plan_of::<u8>().clone()
    }
}

// SAFETY: 1, since a plan does not change; 2, since the memory is borrowed.
unsafe impl sealed::Read for Data<'_> {
    fn packed_size(&self) -> usize {
        Data::packed_size(self)
    }

    unsafe fn pack(&self, packed: *mut u8) -> Result<(), Error> {
        // SAFETY: the caller has room for `packed_size` bytes, which do not overlap the memory.
        unsafe { self.copy::<Packing>(packed) };
        Ok(())
    }

    fn pack_range(&self, bytes: Range<usize>, packed: &mut [u8]) -> Result<(), Error> {
        Ok(Data::pack_range(self, bytes, packed)?)
    }

    fn span(&self) -> Option<Span> {
        self.contiguous().map(|place| Span { place, size: Data::packed_size(self) })
    }

    fn typed(&self) -> Result<Typed, Error> {
        let reason =
            "`Data` has a plan, but no MPI datatype: send it packed, or use the datatype of its layout";
        Err(Error::Wire { wire: "typed", reason })
    }

    fn plan(&self) -> Plan {
        Data::plan(self).clone()
    }
}

the_same_as!(read [] DataMut<'_>, |data| data.as_data());

// SAFETY: 1 and 2, since the memory is borrowed mutably; 3, since `any_pattern` follows `is_restricted`.
unsafe impl sealed::Write for DataMut<'_> {
    fn any_pattern(&self) -> bool {
        !self.is_restricted()
    }

    // The data was made from a mutable borrow.
    fn span_mut(&mut self) -> Option<Span> {
        sealed::Read::span(self.as_data())
    }

    fn typed_mut(&mut self) -> Result<Typed, Error> {
        sealed::Read::typed(self.as_data())
    }

    fn unpack(&mut self, packed: &[u8]) -> Result<(), Error> {
        Ok(DataMut::unpack(self, packed)?)
    }

    fn unpack_range(&mut self, position: usize, packed: &[u8]) -> Result<(), Error> {
        Ok(DataMut::unpack_range(self, position, packed)?)
    }
}

/// Packs a message into a buffer of its packed size.
///
/// # Errors
/// `Size` if the buffer has another size.
pub(crate) fn pack_exactly(message: &dyn sealed::Read, packed: &mut [u8]) -> Result<(), Error> {
    PackError::unless_exactly("a prepared message", packed.len(), message.packed_size())?;
    // SAFETY: the buffer has room for the whole message, and is borrowed mutably.
    unsafe { message.pack(packed.as_mut_ptr()) }
}

/// Packs a message into a buffer with room for at least `room` bytes.
pub(crate) fn pack_with_room<M: sealed::Read + ?Sized>(
    message: &M,
    room: usize,
) -> Result<PackBuffer, Error> {
    let mut packed = PackBuffer::with_room(room.max(message.packed_size()))?;
    // SAFETY: the new buffer has room for the whole message, and does not overlap it.
    unsafe { message.pack(packed.as_mut_ptr()) }?;
    Ok(packed)
}
