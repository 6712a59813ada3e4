use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(C)]
#[mpi(wire = "bytes")]
struct Cell {
    pair: (u8, f64),
}

fn main() {}
