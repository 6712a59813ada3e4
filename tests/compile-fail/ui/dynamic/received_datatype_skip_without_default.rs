use dtype_runtime::{MpiDatatype, message::from_bytes};

struct Handle(u8);

#[derive(MpiDatatype)]
struct Node {
    value: f64,
    #[mpi(skip)]
    handle: Handle,
}

fn main() {
    let _ = from_bytes::<Vec<Node>>(&[]);
}
