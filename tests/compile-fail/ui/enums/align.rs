use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(u8, align(8))]
enum Padded {
    One,
    Two,
}

fn main() {}
