use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(C)]
#[mpi(crate = "1 + 1")]
struct Cell {
    value: f64,
}

fn main() {}
