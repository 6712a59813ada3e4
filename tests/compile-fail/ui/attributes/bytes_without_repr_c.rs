use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[mpi(wire = "bytes")]
struct Cell {
    value: f64,
    level: u8,
}

fn main() {}
