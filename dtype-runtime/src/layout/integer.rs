//! Integers, as bounds and indices of a layout.

use std::hash::Hash;

/// Checks that a constant is an integer: with any other type, the call does not compile.
pub const fn is_integer<I: Integer>(_: I) {}

/// An integer type, for the lengths, bounds and indices of a layout.
#[diagnostic::on_unimplemented(
    message = "a length, bound or index of a layout must be an integer, not a `{Self}`",
    label = "not an integer",
    note = "a list of indices stands in braces, as in `f64[n] => {{indices}}`; a step stands behind a \
            semicolon, as in `0..10;2`"
)]
pub trait Integer: Copy + Eq + Hash + Send + Sync + 'static {
    /// Returns the number as an `i128`.
    fn wide(self) -> i128;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Integer for $type {
            #[inline]
            #[allow(clippy::cast_lossless)] // `i128` does not implement `From` for `isize` and `usize`
            fn wide(self) -> i128 {
                self as i128
            }
        }
    )*};
}

integers! { i8 i16 i32 i64 i128 isize u8 u16 u32 u64 usize }
