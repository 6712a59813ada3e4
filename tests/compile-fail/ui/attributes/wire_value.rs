use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(C)]
#[mpi(wire = "packed")]
struct Cell {
    value: f64,
}

fn main() {}
