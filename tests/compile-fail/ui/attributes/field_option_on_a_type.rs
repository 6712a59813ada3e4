use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(C)]
#[mpi(skip)]
struct Cell {
    value: f64,
}

fn main() {}
