use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(C)]
#[mpi(order = "memory", order = "declared")]
struct Cell {
    value: f64,
}

fn main() {}
