use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(u8)]
enum Color {
    Red,
    Green,
}

fn main() {}
