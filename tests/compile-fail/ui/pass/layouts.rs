//! `layout!` in a crate that is strict about everything, and in odd places.
#![no_implicit_prelude]
#![deny(warnings, missing_docs)]
#![forbid(unsafe_code)]

use ::dtype_runtime::{MpiDatatype, layout};
use ::std::{assert_eq, result::Result::Ok, vec, vec::Vec};

/// Names that the expansion uses itself.
pub mod names {
    ::dtype_runtime::layout!(
        /// Public, and so documented.
        pub type Column = f64[N][N] => [.., 1]
    );
    ::dtype_runtime::layout!(pub(crate) type Pair = <u8 @ 0, f64 @ OFFSET>;);

    const N: usize = 4;
    const OFFSET: u16 = 3;
}

/// An element.
#[derive(MpiDatatype, Clone, Copy)]
#[repr(C, packed)]
pub struct Element {
    /// A field.
    pub r#type: u8,
    /// Arrays of arrays.
    pub values: [[f64; 3]; 2],
}

/// A type that shadows one of the compiler's, and constants of other types.
mod shadowed {
    #[allow(non_camel_case_types)]
    pub type f64 = u8;
    pub const LENGTH: i8 = 3;
}

/// A value of a type parameter, in a method.
pub struct Grid<T> {
    rows: usize,
    columns: usize,
    cells: Vec<T>,
}

impl<T: MpiDatatype> Grid<T> {
    const WIDTH: usize = 1;

    /// The bytes of a column.
    pub fn column(&self, j: usize) -> Vec<u8> {
        let layout = layout!(T[self.rows][self.columns] => [.., j]).unwrap();
        layout.of(&self.cells).unwrap().pack()
    }

    /// A constant of a generic type is a value.
    pub fn rim(&self) -> usize {
        let width = Self::WIDTH;
        layout!(T[self.rows][self.columns] => [..width, ..] + [-1, ..]).unwrap().count()
    }
}

fn rows(n: usize) -> ::std::result::Result<usize, ::dtype_runtime::Error> {
    let pieces = 2;
    // Expressions of all kinds, each evaluated where it stands.
    let layout = layout!(f64[n][if n > 3 { n } else { 3 }] => [pieces - 1..{ n }, (|x| x)(1usize)])?;
    let labelled = layout!(f64[n][5] => ['found: { break 'found pieces - 1 }, 0..;2])?;
    Ok(layout.count() + labelled.count() - 3)
}

fn main() {
    assert_eq!(names::Column.of(&[[0.5; 4]; 4]).pack().len(), 32);
    assert_eq!(names::Pair.of(&[0u8; 11]).unwrap().pack(), [0; 9]);
    let elements = [Element { r#type: 7, values: [[0.5; 3]; 2] }; 3];
    assert_eq!(layout!(Element[3] => [..].r#type).of(&elements).pack(), [7; 3]);
    assert_eq!(layout!(Element[3] => [..].values[1][..2]).count(), 6);
    let shadowed = layout!(shadowed::f64[shadowed::LENGTH] => [1..]);
    assert_eq!(shadowed.of(&[1, 2, 3]).pack(), [2, 3]);
    {
        #[allow(non_camel_case_types)]
        type f64 = u8;
        assert_eq!(layout!(f64[3] => [1..]).packed_size(), 2);
        let _: f64 = 1;
    }
    let grid = Grid { rows: 2, columns: 3, cells: vec![1u8, 2, 3, 4, 5, 6] };
    assert_eq!(grid.column(1), [2, 5]);
    assert_eq!(grid.rim(), 6);
    assert_eq!(rows(4).unwrap(), 3);
    let squares = [0, 1, 2].map(|i| layout!(u8[8][8] => [..i, ..i]).unwrap().count());
    assert_eq!(squares, [0, 1, 4]);
}
