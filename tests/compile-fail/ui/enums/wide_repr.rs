use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[repr(u128)]
enum Wide {
    One = 1,
}

fn main() {}
