use dtype_runtime::MpiDatatype;
use std::ops::Range;

#[derive(MpiDatatype)]
struct Slab {
    rows: Range<usize>,
}

fn main() {}
