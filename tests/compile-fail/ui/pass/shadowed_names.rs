//! Where the names of base types, and of our helpers, mean something else.
#![deny(warnings)]
#![allow(non_camel_case_types, dead_code)]

use dtype_runtime::{MpiDatatype, layout::LayoutOrigin};

type u8 = i16;
type usize = f32;
type bool = char;
struct Facts;
struct RunBuffer;
mod core {}
mod std {}
mod layout {
    pub fn diagonal() -> Vec<i16> {
        let matrix = [[1i16, 2], [3, 4]];
        let packed = dtype_runtime::layout!(i16[2][2] => [i, i] for i in 0..2).of(&matrix).pack();
        packed.chunks(2).map(|number| i16::from_ne_bytes([number[0], number[1]])).collect()
    }
}

#[derive(MpiDatatype)]
#[repr(C)]
struct Shadowed {
    visitor: u8,
    field: usize,
    offsets: bool,
    next: f64,
}

#[derive(MpiDatatype)]
#[mpi(order = "memory")]
struct InMemory {
    field: u8,
    next: f64,
    visitor: usize,
}

#[derive(MpiDatatype)]
#[repr(i32)]
enum Kind {
    packed,
    V,
}

#[derive(MpiDatatype)]
struct Parameters<V, __V, T, Self_> {
    v: V,
    w: __V,
    t: T,
    s: Self_,
}

fn main() {
    assert_eq!(Shadowed::type_map().unwrap().to_string(), "i16 @ 0, f32 @ 4, u32 @ 8, f64 @ 16");
    assert_eq!(Shadowed::layout_origin(), LayoutOrigin::ConstantEvaluation);
    assert_eq!(Kind::type_map().unwrap().to_string(), "i32 @ 0");
    assert_eq!(Parameters::<f64, f64, f64, f64>::cost(), 8);
    assert_eq!(layout::diagonal(), [1, 4]);
    let _ = InMemory::cost();
}
