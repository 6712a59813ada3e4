//! A layout of a matrix, as one of an array of one dimension.

use dtype_runtime::{DynamicLayout, layout};

fn main() {
    let _column: DynamicLayout<f64, 1> = layout!(f64[9][9] => [.., 1]).into();
}
