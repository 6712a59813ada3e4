use dtype_runtime::MpiDatatype;
use dtype_test_attribute::becomes;

#[derive(MpiDatatype)]
#[becomes(#[repr(C, packed)] struct Pair<T>(u8, [bool; 2], T);)]
#[repr(C, packed)]
struct Pair<T>(u8, [u8; 2], T);

fn main() {}
