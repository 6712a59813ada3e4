use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Cell {
    #[mpi(skip, skip)]
    value: f64,
}

fn main() {}
