use dtype_runtime::MpiDatatype;
use std::ptr::NonNull;

#[derive(MpiDatatype)]
struct Handle {
    context: NonNull<u8>,
}

fn main() {}
