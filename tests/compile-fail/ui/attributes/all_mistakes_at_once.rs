use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[mpi(wire = "packed", order = "memory", sorted, order = "memory")]
struct Cell {
    #[mpi(ignore)]
    value: f64,
    name: String,
    #[mpi(skip)]
    cache: Vec<u8>,
}

fn main() {}
