use dtype_runtime::MpiDatatype;
use std::cell::{Cell, RefCell};

#[derive(MpiDatatype)]
struct Cache {
    hits: Cell<u64>,
    last: RefCell<f64>,
}

fn main() {}
