//! Whatever a module says of base types, the datatype is that of the type.
#![forbid(unsafe_code)]
#![allow(non_camel_case_types)]

use dtype_runtime::MpiDatatype;

mod fake {
    pub mod __private {
        pub use dtype_runtime::__private::*;

        #[allow(non_snake_case)]
        pub mod BaseType {
            pub const F64: dtype_runtime::tree::BaseType = dtype_runtime::tree::BaseType::U8;
        }
    }
}

type f64 = u8;

/// The second field has its place where a longer number would have its bytes.
#[derive(dtype_runtime::MpiDatatype)]
#[mpi(crate = "fake")]
#[repr(C, align(16))]
struct Kept {
    number: f64,
    #[mpi(skip)]
    home: bool,
}

fn main() {
    assert_eq!(Kept::type_map().unwrap().to_string(), "u8 @ 0");
    assert!(Kept::constructor_calls().to_string().contains("MPI_UINT8_T"));
    assert!(!Kept { number: 1, home: false }.home);
}
