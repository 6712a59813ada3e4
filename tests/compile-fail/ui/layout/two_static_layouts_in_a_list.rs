//! Each static layout is a type of its own; as dynamic ones they have one.

use dtype_runtime::{DynamicLayout, layout};

fn main() {
    let (first, second) = (layout!(f64[9][9] => [.., 1]), layout!(f64[9][9] => [.., 2]));
    let _columns: Vec<DynamicLayout<f64, 2>> = vec![first.into(), second.into()];
    let _columns = vec![first, second];
}
