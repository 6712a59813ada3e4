use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(u8)]
enum Color {
    Red,
    #[mpi(skip)]
    Green,
}

fn main() {}
