use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(u8)]
#[mpi(wire = "bytes")]
enum Color {
    Red,
    Green,
}

fn main() {}
