use dtype_runtime::MpiDatatype;
use std::mem::MaybeUninit;

#[derive(MpiDatatype)]
struct Buffer {
    length: usize,
    bytes: [MaybeUninit<u8>; 64],
}

fn main() {}
