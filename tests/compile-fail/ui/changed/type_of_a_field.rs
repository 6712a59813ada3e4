use dtype_runtime::MpiDatatype;
use dtype_test_attribute::becomes;

#[derive(MpiDatatype)]
#[becomes(struct Flag { a: u8, flag: bool })]
struct Flag {
    a: u8,
    flag: u8,
}

fn main() {}
