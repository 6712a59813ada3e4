//! Arrays of any size, and structs of many fields.
#![deny(warnings)]

use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(C)]
#[allow(dead_code)]
struct Matrix {
    rows: [[f64; 1000]; 1000],
    names: [[u8; 64]; 1000],
}

macro_rules! many {
    ($($field:ident)*) => {
        #[derive(MpiDatatype)]
        #[repr(C)]
        #[allow(dead_code)]
        struct Many { $($field: (u8, f64),)* }
    };
}
many! { a b c d e f g h i j k l m n o p q r s t u v w x y z aa bb cc dd ee ff gg hh ii jj kk ll mm nn }

fn main() {
    assert_eq!(Matrix::cost(), 25);
    assert_eq!(Many::cost(), 20);
}
