use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(C)]
enum Color {
    Red,
    Green,
}

fn main() {}
