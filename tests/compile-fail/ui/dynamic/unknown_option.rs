use dtype_runtime::MpiMessage;

#[derive(MpiMessage)]
#[mpi(order = "memory")]
struct Bad {
    name: String,
}

fn main() {}
