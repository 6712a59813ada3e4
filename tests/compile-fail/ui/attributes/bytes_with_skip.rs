use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(C)]
#[mpi(wire = "bytes")]
struct Cell {
    value: f64,
    #[mpi(skip)]
    cache: Vec<u8>,
}

fn main() {}
