//! Prints the explanation of a layout.
//!
//! The example needs no MPI: `cargo run -p dtype-examples --bin explain --no-default-features`.

use dtype_runtime::layout;

fn main() {
    print!("{}", layout!(f64[8][8] => [i, i..] for i in 0..8).explain());
}
