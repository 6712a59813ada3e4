use dtype_runtime::MpiDatatype;
use std::cell::{self, RefCell};

#[derive(MpiDatatype)]
struct Cache {
    hits: cell::Cell<u64>,
    last: RefCell<f64>,
}

fn main() {}
