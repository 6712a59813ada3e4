use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Cell {
    #[mpi(skip = true)]
    value: f64,
}

fn main() {}
