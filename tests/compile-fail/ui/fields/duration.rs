use dtype_runtime::MpiDatatype;
use std::time::Duration;

#[derive(MpiDatatype)]
struct Timer {
    elapsed: Duration,
}

fn main() {}
