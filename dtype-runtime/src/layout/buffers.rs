//! Views as rsmpi buffers: copies of one datatype, one for each array of the view, from the first selected
//! value on.

use std::os::raw::c_void;

use ::mpi::{
    Count,
    datatype::{AsDatatype, Buffer, BufferMut, Collection, Pointer, PointerMut},
};

use super::{
    datatype::LayoutDatatype,
    traits::{Layout, View, ViewMut},
};
use crate::types::rsmpi::number_of;

// The conditions of rsmpi's traits for buffers. The contracts of `Layout` and `ArrayLike` meet them:
// 1. the datatype is committed, and lives as long as MPI is usable, or as long as its owner;
// 2. the pointer leads to the first selected value, and `count` copies of the datatype from there on cover
//    only selected values of the borrowed source;
// 3. memory that is received into is borrowed mutably and covered once, and whatever MPI writes there is a
//    valid value.

// SAFETY: 1: the datatype is the view's own.
unsafe impl<L: Layout> AsDatatype for View<'_, L> {
    type Out = LayoutDatatype;
    fn as_datatype(&self) -> Self::Out {
        self.entry().datatype_or_panic(std::any::type_name::<Self>())
    }
}

// SAFETY: 2: the count is the number of arrays in the source.
unsafe impl<L: Layout> Collection for View<'_, L> {
    fn count(&self) -> Count {
        number_of(self.place.copies, "arrays", std::any::type_name::<Self>())
    }
}

// SAFETY: 2: the pointer leads to the first selected value.
unsafe impl<L: Layout> Pointer for View<'_, L> {
    fn pointer(&self) -> *const c_void {
        self.first().cast()
    }
}

// SAFETY: 1 and 2 hold by the three implementations above.
unsafe impl<L: Layout> Buffer for View<'_, L> {}

// SAFETY: 1: the datatype is the view's own.
unsafe impl<L: Layout> AsDatatype for ViewMut<'_, L> {
    type Out = LayoutDatatype;
    fn as_datatype(&self) -> Self::Out {
        self.as_view().as_datatype()
    }
}

// SAFETY: 2: the count is the number of arrays in the source.
unsafe impl<L: Layout> Collection for ViewMut<'_, L> {
    fn count(&self) -> Count {
        self.as_view().count()
    }
}

// SAFETY: 2: the pointer leads to the first selected value; 3: for a layout that MPI must not receive into,
// the call does not compile or panics.
unsafe impl<L: Layout> PointerMut for ViewMut<'_, L> {
    fn pointer_mut(&mut self) -> *mut c_void {
        const UNSEEN: &str = "rsmpi's own calls cannot receive into this layout: MPI does not check the \
                              bytes that it receives, and the layout holds values of a restricted type. Use \
                              `world.peer(…).receive_into(…)` of `dtype_runtime::Comm`. If all \
                              senders send valid values, put `#[mpi(unsafe_equivalence)]` on the type that \
                              derives `MpiDatatype`";
        const { assert!(!matches!(L::RECEIVABLE, Some(false)), "{}", UNSEEN) };
        assert!(L::RECEIVABLE.is_some() || self.as_view().layout().totals().is_receivable, "{UNSEEN}");
        self.as_view().first().cast()
    }
}

// SAFETY: 1 and 2 hold by the three implementations above; 3, since mutable views cover no byte twice.
unsafe impl<L: Layout> BufferMut for ViewMut<'_, L> {}

/// A bound that no type satisfies. Its name explains an error: if a program receives into a view made with
/// `of`, the compiler prints the line that requires this bound.
pub trait MadeWithOfMut {}

// SAFETY: no view implements `MadeWithOfMut`.
unsafe impl<L: Layout> BufferMut for View<'_, L> where Self: MadeWithOfMut {}

// SAFETY: no view implements `MadeWithOfMut`.
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
