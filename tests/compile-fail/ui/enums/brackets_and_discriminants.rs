use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(u8)]
enum Mixed {
    One() = 1,
    Two = 2,
}

fn main() {}
