use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(C)]
#[mpi(cost = "storages")]
struct Cell {
    value: f64,
}

fn main() {}
