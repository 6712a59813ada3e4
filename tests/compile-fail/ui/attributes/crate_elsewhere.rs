use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(C)]
#[mpi(crate = "::somewhere_else")]
struct Cell {
    value: f64,
}

fn main() {}
