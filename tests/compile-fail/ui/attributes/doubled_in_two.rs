use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[mpi(wire = "typed")]
#[mpi(wire = "bytes")]
#[repr(C)]
struct Cell {
    value: f64,
}

fn main() {}
