use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(u8)]
#[mpi(order = "memory")]
enum Color {
    Red,
    Green,
}

fn main() {}
