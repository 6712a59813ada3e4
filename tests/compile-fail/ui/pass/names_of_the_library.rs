//! Types of the user's, with names that the standard library has types of.
#![deny(warnings)]

use dtype_runtime::{MpiDatatype, pack};

#[derive(MpiDatatype, Clone, Copy)]
#[repr(C)]
pub struct Cell<const D: usize> {
    pub corner: [f64; D],
}

mod geometry {
    use dtype_runtime::MpiDatatype;

    #[derive(MpiDatatype, Clone, Copy)]
    #[repr(C)]
    pub struct Box<T> {
        pub from: T,
        pub to: T,
    }

    #[derive(MpiDatatype, Clone, Copy)]
    #[repr(C)]
    pub struct String {
        pub tension: f32,
    }
}

mod simulation {
    use dtype_runtime::{MpiDatatype, MpiMessage};

    #[derive(MpiDatatype, Clone, Copy)]
    #[repr(C)]
    pub struct Cell<T> {
        pub value: T,
    }

    #[derive(MpiDatatype, Clone, Copy)]
    #[repr(C)]
    pub struct Row {
        pub cells: [Cell<f64>; 4],
    }

    #[derive(MpiMessage)]
    pub struct Rows {
        pub cells: Vec<Cell<f64>>,
    }
}

#[derive(MpiDatatype, Clone, Copy)]
#[repr(C)]
pub struct Grid {
    pub cell: Cell<3>,
    pub cells: [Cell<2>; 2],
    pub bounds: (geometry::Box<f64>, geometry::String),
}

fn main() {
    let bounds = geometry::Box { from: 0.0, to: 1.0 };
    let string = geometry::String { tension: 2.0 };
    let (cell, cells) = (Cell { corner: [0.0; 3] }, [Cell { corner: [1.0; 2] }; 2]);
    assert_eq!(pack(&[Grid { cell, cells, bounds: (bounds, string) }]).len(), 76);
    let cells = [simulation::Cell { value: 1.0 }; 4];
    assert_eq!(pack(&[simulation::Row { cells }]).len(), 32);
    assert!(dtype_runtime::message::to_bytes(&simulation::Rows { cells: cells.to_vec() }).is_ok());
}
