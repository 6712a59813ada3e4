//! The shapes of arrays and the kinds of layouts, as types.

use std::convert::Infallible;

/// The shape of an array of `D` dimensions whose lengths are known only at run time.
#[derive(Debug)]
pub struct Dimensions<const D: usize>(Infallible);

/// The shape of a type map: any memory that is long enough.
#[derive(Debug)]
pub struct Memory(Infallible);

/// The [kind](super::Layout::Selects) of a layout that selects whole elements of its array.
#[derive(Debug)]
pub enum Elements {}

/// The [kind](super::Layout::Selects) of a layout that selects parts of elements, such as one field of each,
/// or the values of a type map.
#[derive(Debug)]
pub enum Fields {}

/// A [kind](super::Layout::Selects) of layouts that select whole elements. Their views have iterators and
/// other access to elements.
///
/// # Safety
/// Each layout of this kind selects whole elements only.
#[diagnostic::on_unimplemented(
    message = "this layout selects parts of its elements, so its views have no elements to lend",
    label = "selects parts of elements",
    note = "compute on the array itself, or copy the selected values with `pack` and `unpack`"
)]
#[doc(hidden)]
pub unsafe trait WholeElements {}

// SAFETY: `DynamicLayout::new` checks this, and `layout!` names this kind only for layouts without paths.
unsafe impl WholeElements for Elements {}
