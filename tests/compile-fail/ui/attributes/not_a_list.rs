use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[mpi = "skip"]
struct Cell {
    value: f64,
}

fn main() {}
