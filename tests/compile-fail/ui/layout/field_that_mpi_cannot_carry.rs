use dtype_runtime::{MpiDatatype, layout};

#[derive(MpiDatatype)]
struct Node {
    value: f64,
    #[mpi(skip)]
    name: String,
}

fn main() {
    let _ = layout!(Node[10] => [..].name);
}
