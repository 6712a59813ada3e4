//! In functions, closures, blocks, constants and macros.
#![deny(warnings)]

use dtype_runtime::{MpiDatatype, pack};

macro_rules! point {
    ($name:ident { $($field:ident: $type:ty),* }) => {
        #[derive(MpiDatatype, Clone, Copy)]
        #[repr(C)]
        struct $name {
            $($field: $type),*
        }
    };
}

point!(Point { x: f64, y: f64, tag: [u8; 2] });

const SIZE: usize = {
    #[derive(MpiDatatype)]
    #[allow(dead_code)]
    struct Inside(u8, f32);
    std::mem::size_of::<Inside>()
};

fn generic<T: MpiDatatype + Copy>(value: T) -> usize {
    #[derive(MpiDatatype)]
    struct Wrapper<T>(T, u8);
    pack(&[Wrapper(value, 1)]).len()
}

fn main() {
    let length = || {
        #[derive(MpiDatatype)]
        #[repr(transparent)]
        struct Meters(f64);
        pack(&[Meters(1.0)]).len()
    };
    assert_eq!(length(), 8);
    assert_eq!(generic(Point { x: 0.0, y: 1.0, tag: [2; 2] }), 19);
    assert_eq!(SIZE, 8);
}
