use dtype_runtime::MpiDatatype;
use dtype_test_attribute::becomes;

#[derive(MpiDatatype)]
#[becomes(struct Node { value: f64 })]
struct Node {
    value: f64,
    level: u8,
}

fn main() {}
