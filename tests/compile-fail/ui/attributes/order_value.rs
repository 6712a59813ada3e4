use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(C)]
#[mpi(order = "sorted")]
struct Cell {
    value: f64,
}

fn main() {}
