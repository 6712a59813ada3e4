use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[mpi(bound = "T is good")]
struct Cell<T> {
    value: T,
}

fn main() {}
