use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Cell {
    #[mpi(order = "memory")]
    value: f64,
}

fn main() {}
