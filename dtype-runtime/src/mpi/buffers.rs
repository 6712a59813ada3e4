//! Views as rsmpi buffers: as many copies of one datatype at the first value selected.

use std::{fmt, os::raw::c_void};

use ::mpi::{
    Count,
    datatype::{
        AsDatatype, Buffer, BufferMut, Collection, Datatype, DatatypeRef, Pointer, PointerMut,
        UncommittedDatatype, UserDatatype,
    },
    ffi::MPI_Datatype,
    raw::AsRaw,
};

use super::Handle;
use crate::{
    Error, MpiDatatype, View, ViewMut,
    layout::{Entry, Layout},
};

/// The datatype for rsmpi's `Equivalence`, which cannot return an error.
///
/// # Panics
/// With the text of the error that [`MpiDatatype::datatype`] returns: before `MPI_Init`, after `MPI_Finalize`, and
/// where MPI refuses a constructor call.
pub fn equivalent_datatype<T: MpiDatatype>() -> DatatypeRef<'static> {
    // Whatever bounds an implementation of `Equivalence` was written with.
    const {
        assert!(
            T::FACTS.complete && T::FACTS.receivable,
            "rsmpi's own calls cannot take a type with `#[mpi(skip)]`, or of which not all bytes are a value"
        );
    }
    or_panic(T::lazy().datatype(), std::any::type_name::<T>())
}

pub(crate) fn or_panic<D>(datatype: Result<D, Error>, of: &str) -> D {
    datatype.unwrap_or_else(|error| panic!("no MPI datatype for `{of}`: {error}"))
}

/// A number of things as MPI's count.
///
/// # Panics
/// Beyond the largest count, as rsmpi's own slices do.
pub(crate) fn number_of(number: usize, things: &str, of: &str) -> Count {
    Count::try_from(number).unwrap_or_else(|_| {
        panic!(
            "{number} {things} of `{of}` are more than an MPI count: send them with `send_over`, or in pieces"
        )
    })
}

/// The committed datatype of a layout or a view: what rsmpi takes for one.
///
/// Of a layout that is known at run time it keeps the MPI datatype alive, which is freed when nobody has it any more.
pub struct LayoutDatatype(Entry, Handle);

impl Entry {
    pub(crate) fn datatype(self) -> Result<LayoutDatatype, Error> {
        let handle = self.handle()?;
        Ok(LayoutDatatype(self, handle))
    }
}

// SAFETY: the handle is of a committed datatype, which the entry keeps alive.
unsafe impl AsRaw for LayoutDatatype {
    type Raw = MPI_Datatype;

    fn as_raw(&self) -> MPI_Datatype {
        self.1.raw
    }
}

impl UncommittedDatatype for LayoutDatatype {
    type DuplicatedDatatype = UserDatatype;
}

impl Datatype for LayoutDatatype {}

impl Clone for LayoutDatatype {
    fn clone(&self) -> Self {
        Self(self.0.clone(), self.1)
    }
}

impl fmt::Debug for LayoutDatatype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LayoutDatatype").field(self.0.program()).finish()
    }
}

// SAFETY, for all of them: by the contracts of `Layout` and `Source`, the pointer is that of the first value selected, and
// the datatype covers selected values of the borrowed source only; of one borrowed mutably, no byte twice, and MPI may write what it
// receives there.

// SAFETY: see above.
unsafe impl<L: Layout> AsDatatype for View<'_, L> {
    type Out = LayoutDatatype;
    fn as_datatype(&self) -> Self::Out {
        or_panic(View::datatype(self), std::any::type_name::<Self>())
    }
}

// SAFETY: see above.
unsafe impl<L: Layout> Collection for View<'_, L> {
    fn count(&self) -> Count {
        number_of(self.place.copies, "arrays", std::any::type_name::<Self>())
    }
}

// SAFETY: see above.
unsafe impl<L: Layout> Pointer for View<'_, L> {
    fn pointer(&self) -> *const c_void {
        self.first().cast()
    }
}

// SAFETY: see above.
unsafe impl<L: Layout> Buffer for View<'_, L> {}

// SAFETY: see above.
unsafe impl<L: Layout> AsDatatype for ViewMut<'_, L> {
    type Out = LayoutDatatype;
    fn as_datatype(&self) -> Self::Out {
        self.as_view().as_datatype()
    }
}

// SAFETY: see above.
unsafe impl<L: Layout> Collection for ViewMut<'_, L> {
    fn count(&self) -> Count {
        self.as_view().count()
    }
}

// SAFETY: see above.
unsafe impl<L: Layout> PointerMut for ViewMut<'_, L> {
    fn pointer_mut(&mut self) -> *mut c_void {
        const UNSEEN: &str = "rsmpi's own calls cannot receive into this layout: MPI does not look at what it receives, and not \
                              all bytes are a value of each type in it. Use `receive_packed_into`, or another call of \
                              `dtype_runtime::traits`; or vouch for what others send, with `#[mpi(unsafe_equivalence)]` on a \
                              type that derives `MpiDatatype`";
        const { assert!(!matches!(L::RECEIVABLE, Some(false)), "{}", UNSEEN) };
        assert!(L::RECEIVABLE.is_some() || self.as_view().layout().region().is_receivable(), "{UNSEEN}");
        self.as_view().first().cast()
    }
}

// SAFETY: see above; the source is borrowed mutably.
unsafe impl<L: Layout> BufferMut for ViewMut<'_, L> {}

/// What no view is that was made with `of`, to be read. The compiler shows the line that asks for it to whoever receives into one.
pub trait MadeWithOfMut {}

// SAFETY: there is no such view.
unsafe impl<L: Layout> BufferMut for View<'_, L> where Self: MadeWithOfMut {}

// SAFETY: there is no such view.
unsafe impl<L: Layout> PointerMut for View<'_, L>
where
    Self: MadeWithOfMut,
{
    fn pointer_mut(&mut self) -> *mut c_void {
        std::ptr::null_mut()
    }
}

#[cfg(test)]
mod tests {
    use ::mpi::datatype::PointerMut;

    use crate::layout;

    #[test]
    fn mpi_receives_numbers_into_layouts_itself() {
        let (mut numbers, n) = ([0u8; 3], 3);
        let middle = layout!(u8[n] => [1]).unwrap();
        let expected = numbers.as_ptr().wrapping_add(1).cast();
        assert_eq!(middle.of_mut(&mut numbers).unwrap().pointer_mut().cast_const(), expected);
        let mut pairs = [('a', true); 3];
        let flags = layout!((char, bool)[n] => [..].1).unwrap();
        assert!(!flags.of_mut(&mut pairs).unwrap().pointer_mut().is_null());
    }

    #[test]
    #[should_panic(expected = "cannot receive into this layout")]
    fn mpi_does_not_receive_characters_itself() {
        let n = 3;
        let _ = layout!(char[n] => [1]).unwrap().of_mut(&mut ['a'; 3]).unwrap().pointer_mut();
    }
}
