use dtype_runtime::MpiDatatype;
use dtype_test_attribute::becomes;

#[derive(MpiDatatype)]
#[becomes(struct Node { value: f64, name: &'static str })]
struct Node {
    value: f64,
}

fn main() {}
