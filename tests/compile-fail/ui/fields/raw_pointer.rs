use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(C)]
struct Node {
    value: f64,
    next: *const Node,
}

fn main() {}
