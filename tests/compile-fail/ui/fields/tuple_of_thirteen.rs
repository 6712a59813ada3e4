use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Wide {
    all: (u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8),
}

fn main() {}
