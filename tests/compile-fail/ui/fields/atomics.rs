use dtype_runtime::MpiDatatype;
use std::sync::atomic::{AtomicBool, AtomicU64};

#[derive(MpiDatatype)]
struct Counters {
    ready: AtomicBool,
    counts: [AtomicU64; 4],
}

fn main() {}
