use dtype_runtime::{MpiDatatype, pack};
use dtype_test_attribute::becomes;

#[derive(MpiDatatype)]
#[becomes(#[repr(u16)] enum Phase { Solid, Liquid })]
#[repr(u8)]
enum Phase {
    Solid,
    Liquid,
}

fn main() {
    pack(&[Phase::Solid, Phase::Liquid]);
}
