use dtype_runtime::MpiMessage;

#[derive(MpiMessage)]
#[mpi(bound = "T")]
struct Bad<T> {
    values: Vec<T>,
}

fn main() {}
