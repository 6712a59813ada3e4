#![forbid(unsafe_code)]

/// With a function of its own among ours, which refuses nothing.
mod fake {
    pub mod __private {
        pub use dtype_runtime::__private::*;

        pub struct Runtime;

        impl Runtime {
            pub const OURS: dtype_runtime::__private::Runtime = dtype_runtime::__private::Runtime::OURS;

            pub const fn is_carried<T>(_: *const T) {}

            pub const fn unwritten<T>(_: &std::mem::MaybeUninit<T>) -> &T {
                panic!()
            }
        }
    }
}

union Bits {
    nothing: (),
    number: u64,
}

#[derive(dtype_runtime::MpiDatatype)]
struct Node {
    #[mpi(skip)]
    bits: Bits,
}

fn main() {
    let n = 1;
    let _ = dtype_runtime::__private::layout! { crate::fake; Node[1] => [0].bits.number };
    let _ = dtype_runtime::__private::layout! { crate::fake; Node[n] => [0].bits.number };
}
