use dtype_runtime::{MpiDatatype, layout};

struct Inner {
    number: u64,
}

#[derive(MpiDatatype)]
struct Node {
    value: f64,
    #[mpi(skip)]
    inner: Box<Inner>,
    #[mpi(skip)]
    reference: &'static Inner,
}

fn main() {
    let _ = layout!(Node[1] => [0].inner.number);
    let _ = layout!(Node[1] => [0].reference.number);
}
