use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Loose(u8, f64);

#[derive(MpiDatatype)]
#[repr(C)]
#[mpi(wire = "bytes")]
struct Cell {
    loose: Loose,
    value: f64,
}

fn main() {}
