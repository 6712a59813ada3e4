use dtype_runtime::MpiDatatype;
use dtype_test_attribute::becomes;

#[derive(MpiDatatype)]
#[becomes(union Flag { flag: bool })]
struct Flag {
    flag: bool,
}

fn main() {}
