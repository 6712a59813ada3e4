use dtype_runtime::MpiDatatype;
use dtype_test_attribute::becomes;

#[derive(MpiDatatype)]
#[becomes(#[repr(u8)] enum Phase { Solid, Liquid, Gas })]
#[repr(u8)]
enum Phase {
    Solid,
    Liquid,
}

fn main() {}
