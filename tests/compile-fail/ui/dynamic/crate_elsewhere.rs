use dtype_runtime::MpiMessage;

#[derive(MpiMessage)]
#[mpi(crate = "std")]
struct Bad {
    name: String,
}

fn main() {}
