//! What can travel on a wire: values, slices, views, and any layout of bytes.

use std::{ops::Range, os::raw::c_void};

use ::mpi::{Count, ffi::MPI_Datatype, raw::AsRaw};

use crate::{
    Error, Layout, MpiDatatype, Values, ValuesMut, View, ViewMut,
    layout::Entry,
    mpi::LayoutDatatype,
    pack::{Data, DataMut, Packing, Plan, Spacing, pack_into, pack_raw, packed_size, unpack_into},
};

/// What can be sent on a [`Wire`](crate::Wire): a value or slice of a type with [`MpiDatatype`], fields that are skipped or not; a `Vec`;
/// [`Values`]; a [`View`]; and [`Data`], which is any layout of any memory, that of a [decoded](crate::decode) datatype for example.
///
/// This trait is implemented here only.
pub trait Message: sealed::Read {}

/// What can be received into from a wire: see [`Message`].
pub trait MessageMut: Message + sealed::Write {}

impl<M: sealed::Read + ?Sized> Message for M {}
impl<M: sealed::Write + ?Sized> MessageMut for M {}

/// What MPI takes for a message: so many of a datatype at a place.
pub struct Typed {
    pub(super) place: *mut c_void,
    pub(super) count: Count,
    datatype: LayoutDatatype,
}

impl Typed {
    fn new(place: *mut u8, count: usize, entry: Entry) -> Result<Self, Error> {
        // Beyond an MPI count, it is one of a datatype of all of them.
        let (count, entry) = match Count::try_from(count) {
            Ok(count) => (count, entry),
            Err(_) => (1, entry.repeated(count)),
        };
        Ok(Self { place: place.cast(), count, datatype: entry.datatype()? })
    }

    pub(super) fn datatype(&self) -> MPI_Datatype {
        self.datatype.as_raw()
    }
}

/// Contiguous memory in which a message lies.
#[derive(Clone, Copy)]
pub struct Span {
    pub(super) place: *mut u8,
    /// Bytes.
    pub(super) size: usize,
}

/// How a message lies in memory.
#[derive(Clone, Copy)]
pub enum Lies {
    /// As its packed bytes.
    Contiguous(Span),
    /// With padding, which may travel.
    Padded(Span),
    /// In several places.
    Scattered,
}

impl Lies {
    /// The memory of the message, if it may travel as it lies.
    pub(super) fn span(self) -> Option<Span> {
        match self {
            Self::Contiguous(span) | Self::Padded(span) => Some(span),
            Self::Scattered => None,
        }
    }

    /// Where so many bytes are, if they are contiguous.
    fn at(place: Option<*mut u8>, size: usize) -> Self {
        place.map_or(Self::Scattered, |place| Self::Contiguous(Span { place, size }))
    }
}

pub(crate) mod sealed {
    use super::{Error, Lies, Range, Spacing, Typed};

    /// What a message is for a wire.
    ///
    /// # Safety
    /// `packed_size` is always the same, and `pack` writes just so many bytes. `lies` and `typed` name what the message borrows, to be read.
    pub unsafe trait Read {
        /// Bytes of all of it, packed.
        fn packed_size(&self) -> usize;

        /// Packs all of it.
        ///
        /// # Safety
        /// There is room for the packed bytes.
        unsafe fn pack(&self, packed: *mut u8);

        /// Packs some of the packed bytes. They begin and end where a multiple of [`step`](Self::step) does.
        fn pack_range(&self, bytes: Range<usize>, packed: &mut [u8]) -> Result<(), Error>;

        /// The most bytes that a message which fits may have: packed, or as it lies in memory.
        fn most_bytes(&self) -> usize {
            self.packed_size()
        }

        /// Packed bytes that are best not divided.
        fn step(&self) -> usize {
            1
        }

        /// How it lies in memory.
        fn lies(&self) -> Lies;

        /// How the blocks of numbers of one type lie, if it is scattered and MPI can be told of it.
        fn spacing(&self) -> Option<Spacing> {
            None
        }

        /// The same for MPI.
        fn typed(&self) -> Result<Typed, Error>;
    }

    /// What a message is that is received into.
    ///
    /// # Safety
    /// As for `Read`; and any bytes may be written to what `lies` and `typed` name, from `place` on, where `any_pattern` says so.
    pub unsafe trait Write: Read {
        /// Whether every pattern of the packed bytes is a value.
        fn any_pattern(&self) -> bool;

        /// Where the memory begins that `lies` and `typed` name, to be written.
        fn place(&mut self) -> *mut u8;

        /// Unpacks all of it; checked before anything is written.
        fn unpack(&mut self, packed: &[u8]) -> Result<(), Error>;

        /// Unpacks some of the packed bytes of a message of which any pattern is a value.
        fn unpack_range(&mut self, position: usize, packed: &[u8]) -> Result<(), Error>;
    }
}

/// Whether values may travel with their padding: if that is no more than the data, all fields are sent, and every pattern is a
/// value, since what arrives is not looked at.
const fn may_travel_padded<T: MpiDatatype>() -> bool {
    let facts = T::FACTS;
    facts.complete && facts.any_pattern && size_of::<T>() <= 2 * facts.packed_size
}

/// Values between two bytes of the packed ones, if none is divided.
fn whole_values<T: MpiDatatype>(bytes: &Range<usize>) -> Option<Range<usize>> {
    let size = packed_size::<T>(1);
    let whole = size > 0 && bytes.start % size == 0 && bytes.end % size == 0;
    whole.then(|| bytes.start / size..bytes.end / size)
}

// SAFETY: packing values writes their packed bytes; the slice is what is named.
unsafe impl<T: MpiDatatype> sealed::Read for [T] {
    #[inline]
    fn packed_size(&self) -> usize {
        packed_size::<T>(self.len())
    }

    #[inline]
    unsafe fn pack(&self, packed: *mut u8) {
        // SAFETY: there is room, as the caller says.
        unsafe { pack_raw(self, packed) };
    }

    fn pack_range(&self, bytes: Range<usize>, packed: &mut [u8]) -> Result<(), Error> {
        match whole_values::<T>(&bytes) {
            Some(values) if values.end <= self.len() => pack_into(&self[values], packed).map(|_| ()),
            _ => Data::of(self).pack_range(bytes, packed),
        }
    }

    fn step(&self) -> usize {
        packed_size::<T>(1).max(1)
    }

    #[inline]
    fn most_bytes(&self) -> usize {
        if const { may_travel_padded::<T>() } { size_of_val(self) } else { packed_size::<T>(self.len()) }
    }

    #[inline]
    fn lies(&self) -> Lies {
        let span = Span { place: self.as_ptr().cast_mut().cast(), size: size_of_val(self) };
        match const { (T::FACTS.dense, may_travel_padded::<T>()) } {
            (true, _) => Lies::Contiguous(span),
            (_, true) => Lies::Padded(span),
            _ => Lies::Scattered,
        }
    }

    fn typed(&self) -> Result<Typed, Error> {
        let place = self.as_ptr().cast_mut().cast();
        Typed::new(place, self.len(), Entry::Fixed(T::lazy()))
    }
}

// SAFETY: as above; the slice is borrowed mutably.
unsafe impl<T: MpiDatatype> sealed::Write for [T] {
    #[inline]
    fn any_pattern(&self) -> bool {
        T::FACTS.any_pattern
    }

    #[inline]
    fn place(&mut self) -> *mut u8 {
        self.as_mut_ptr().cast()
    }

    #[inline]
    fn unpack(&mut self, packed: &[u8]) -> Result<(), Error> {
        unpack_into(packed, self)
    }

    fn unpack_range(&mut self, position: usize, packed: &[u8]) -> Result<(), Error> {
        match whole_values::<T>(&(position..position + packed.len())) {
            Some(values) if values.end <= self.len() => unpack_into(packed, &mut self[values]),
            _ => DataMut::of(self).unpack_range(position, packed),
        }
    }
}

/// Messages that are another one.
macro_rules! the_same_as {
    (read [$($generics:tt)*] $type:ty, |$message:ident| $read:expr) => {
        // SAFETY: as for the other.
        unsafe impl<$($generics)*> sealed::Read for $type {
            #[inline]
            fn packed_size(&self) -> usize {
                let $message = self;
                sealed::Read::packed_size($read)
            }
            #[inline]
            unsafe fn pack(&self, packed: *mut u8) {
                let $message = self;
                // SAFETY: as the caller promises.
                unsafe { sealed::Read::pack($read, packed) };
            }
            fn pack_range(&self, bytes: Range<usize>, packed: &mut [u8]) -> Result<(), Error> {
                let $message = self;
                sealed::Read::pack_range($read, bytes, packed)
            }
            fn step(&self) -> usize {
                let $message = self;
                sealed::Read::step($read)
            }
            #[inline]
            fn most_bytes(&self) -> usize {
                let $message = self;
                sealed::Read::most_bytes($read)
            }
            #[inline]
            fn lies(&self) -> Lies {
                let $message = self;
                sealed::Read::lies($read)
            }
            #[inline]
            fn typed(&self) -> Result<Typed, Error> {
                let $message = self;
                sealed::Read::typed($read)
            }
        }
    };
    (write [$($generics:tt)*] $type:ty, |$message:ident| $read:expr, $write:expr) => {
        the_same_as!(read [$($generics)*] $type, |$message| $read);

        // SAFETY: as for the other.
        unsafe impl<$($generics)*> sealed::Write for $type {
            #[inline]
            fn any_pattern(&self) -> bool {
                T::FACTS.any_pattern
            }
            #[inline]
            fn place(&mut self) -> *mut u8 {
                let $message = self;
                sealed::Write::place($write)
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

the_same_as!(write [T: MpiDatatype] T, |value| std::slice::from_ref(value), std::slice::from_mut(value));
the_same_as!(write [T: MpiDatatype] Vec<T>, |values| values.as_slice(), values.as_mut_slice());
the_same_as!(read [T: MpiDatatype] Values<'_, T>, |values| values.0);
the_same_as!(write [T: MpiDatatype] ValuesMut<'_, T>, |values| &*values.0, &mut *values.0);

// SAFETY: packing a view writes its packed bytes; its source is borrowed.
unsafe impl<L: Layout> sealed::Read for View<'_, L> {
    fn packed_size(&self) -> usize {
        View::packed_size(self)
    }

    unsafe fn pack(&self, packed: *mut u8) {
        // SAFETY: there is room, as the caller says.
        unsafe { self.pack_raw(packed) };
    }

    fn pack_range(&self, bytes: Range<usize>, packed: &mut [u8]) -> Result<(), Error> {
        self.data().pack_range(bytes, packed)
    }

    fn lies(&self) -> Lies {
        Lies::at(self.contiguous(), View::packed_size(self))
    }

    fn spacing(&self) -> Option<Spacing> {
        self.with_plan(Plan::spacing)
    }

    fn typed(&self) -> Result<Typed, Error> {
        Typed::new(self.first(), self.copies(), self.entry())
    }
}

// SAFETY: as above.
unsafe impl<L: Layout> sealed::Read for ViewMut<'_, L> {
    fn packed_size(&self) -> usize {
        self.as_view().packed_size()
    }

    unsafe fn pack(&self, packed: *mut u8) {
        // SAFETY: there is room, as the caller says.
        unsafe { self.as_view().pack_raw(packed) };
    }

    fn pack_range(&self, bytes: Range<usize>, packed: &mut [u8]) -> Result<(), Error> {
        self.as_view().pack_range(bytes, packed)
    }

    fn lies(&self) -> Lies {
        self.as_view().lies()
    }

    fn spacing(&self) -> Option<Spacing> {
        self.as_view().spacing()
    }

    fn typed(&self) -> Result<Typed, Error> {
        self.as_view().typed()
    }
}

// SAFETY: as above; the source is borrowed mutably.
unsafe impl<L: Layout> sealed::Write for ViewMut<'_, L> {
    fn any_pattern(&self) -> bool {
        !self.as_view().is_restricted()
    }

    fn place(&mut self) -> *mut u8 {
        // The view was made of a mutable borrow.
        self.as_view().first()
    }

    fn unpack(&mut self, packed: &[u8]) -> Result<(), Error> {
        ViewMut::unpack(self, packed)
    }

    fn unpack_range(&mut self, position: usize, packed: &[u8]) -> Result<(), Error> {
        self.data().unpack_range(position, packed)
    }
}

/// Data is known by its plan only, of which MPI knows nothing.
const NO_DATATYPE: &str = "this is known by its plan only: send it packed, or take a datatype of its layout";

// SAFETY: packing data writes its packed bytes; it is borrowed.
unsafe impl sealed::Read for Data<'_> {
    fn packed_size(&self) -> usize {
        Data::packed_size(self)
    }

    unsafe fn pack(&self, packed: *mut u8) {
        // SAFETY: there is room, as the caller says; a buffer of one's own is elsewhere.
        unsafe { self.copy::<Packing>(packed) };
    }

    fn pack_range(&self, bytes: Range<usize>, packed: &mut [u8]) -> Result<(), Error> {
        Data::pack_range(self, bytes, packed)
    }

    fn lies(&self) -> Lies {
        Lies::at(self.contiguous(), Data::packed_size(self))
    }

    fn typed(&self) -> Result<Typed, Error> {
        Err(Error::Wire { wire: "typed", reason: NO_DATATYPE })
    }
}

// SAFETY: as above.
unsafe impl sealed::Read for DataMut<'_> {
    fn packed_size(&self) -> usize {
        DataMut::packed_size(self)
    }

    unsafe fn pack(&self, packed: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe { sealed::Read::pack(self.as_data(), packed) };
    }

    fn pack_range(&self, bytes: Range<usize>, packed: &mut [u8]) -> Result<(), Error> {
        self.as_data().pack_range(bytes, packed)
    }

    fn lies(&self) -> Lies {
        self.as_data().lies()
    }

    fn typed(&self) -> Result<Typed, Error> {
        self.as_data().typed()
    }
}

// SAFETY: as above; it is borrowed mutably.
unsafe impl sealed::Write for DataMut<'_> {
    fn any_pattern(&self) -> bool {
        !self.is_restricted()
    }

    fn place(&mut self) -> *mut u8 {
        // The data was made of a mutable borrow.
        self.as_data().contiguous().unwrap_or(std::ptr::null_mut())
    }

    fn unpack(&mut self, packed: &[u8]) -> Result<(), Error> {
        DataMut::unpack(self, packed)
    }

    fn unpack_range(&mut self, position: usize, packed: &[u8]) -> Result<(), Error> {
        DataMut::unpack_range(self, position, packed)
    }
}
