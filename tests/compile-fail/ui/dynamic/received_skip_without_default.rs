use dtype_runtime::{MpiMessage, message::from_bytes};

struct Handle(u8);

#[derive(MpiMessage)]
struct Task {
    input: Vec<f64>,
    #[mpi(skip)]
    handle: Handle,
}

fn main() {
    let _ = from_bytes::<Task>(&[]);
}
