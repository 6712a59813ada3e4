use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[mpi(bound = "T: Copy + 'static")]
struct Cell<T> {
    value: T,
}

fn main() {}
