use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Cell {
    #[mpi(ignore)]
    value: f64,
}

fn main() {}
