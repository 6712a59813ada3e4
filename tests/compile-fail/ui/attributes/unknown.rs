use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(C)]
#[mpi(ordering = "memory")]
struct Cell {
    value: f64,
}

fn main() {}
