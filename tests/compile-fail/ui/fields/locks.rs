use dtype_runtime::MpiDatatype;
use std::sync::{Mutex, RwLock};

#[derive(MpiDatatype)]
struct Guarded {
    state: Mutex<u64>,
    table: RwLock<[f64; 4]>,
}

fn main() {}
