#![forbid(unsafe_code)]

/// With functions and macros of its own among ours.
mod evil {
    pub mod __private {
        pub use dtype_runtime::__private::*;

        pub struct Runtime;

        impl Runtime {
            pub const OURS: dtype_runtime::__private::Runtime = dtype_runtime::__private::Runtime::OURS;

            pub fn equivalent_datatype<T>() -> dtype_runtime::__private::EquivalentDatatype {
                panic!()
            }

            pub fn of_type<T>() -> &'static dtype_runtime::__private::LazyDatatype {
                <u64 as dtype_runtime::MpiDatatype>::lazy()
            }
        }
    }

    pub use dtype_runtime::MpiDatatype;
}

#[derive(evil::MpiDatatype)]
#[mpi(crate = "crate::evil")]
struct Small(u8);

fn main() {}
