//! Types of several crates in one struct, named by paths with equal tokens.
#![forbid(unsafe_code)]

use dtype_edition_2018::Unit as Side;
use dtype_runtime::{pack, unpack_into, MpiDatatype};

#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Unit(pub u64);

macro_rules! with_units {
    ($name:ident) => {
        dtype_edition_2018::with_units! { $crate $name }
    };
}

with_units!(Quantity);

/// Defines a struct with two fields whose types have equal tokens: the caller writes one, and the macro the
/// other.
macro_rules! with_numbers {
    ($name:ident, $ty:ty) => {
        #[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
        #[repr(C)]
        pub struct $name {
            pub a: $ty,
            pub b: [f64; 3],
        }
    };
}

with_numbers!(Numbers, [f64; 3]);

#[test]
fn a_path_of_another_crate_is_another_type() {
    assert_eq!(
        Quantity::type_map().unwrap().to_string(),
        "2 × u64 @ 0 stride 8, 2 × u8 @ 16 stride 1, u64 @ 24, u8 @ 32"
    );
    let value = Quantity {
        theirs: [Unit(3), Unit(4)],
        ours: [Side::Foot, Side::Metre],
        one: Unit(5),
        other: Side::Foot,
    };
    let packed = pack(&[value]);
    assert_eq!(packed.len(), 27);
    let mut copy = [Quantity { theirs: [Unit(0); 2], ours: [Side::Metre; 2], one: Unit(0), ..value }];
    unpack_into(&packed, &mut copy).unwrap();
    assert_eq!(copy, [value]);
    assert!(unpack_into(&[255; 27], &mut copy).is_err());
}

#[test]
fn a_type_is_that_of_whoever_wrote_it() {
    let numbers = Numbers { a: [1.0; 3], b: [2.0; 3] };
    assert_eq!(pack(&[numbers]), pack(&[[1.0f64, 1.0, 1.0, 2.0, 2.0, 2.0]]));
}
