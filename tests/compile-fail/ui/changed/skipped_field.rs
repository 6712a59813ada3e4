use dtype_runtime::MpiDatatype;
use dtype_test_attribute::becomes;

#[derive(MpiDatatype)]
#[becomes(struct Node { value: f64, names: String })]
struct Node {
    value: f64,
    #[mpi(skip)]
    names: Vec<u8>,
}

fn main() {}
