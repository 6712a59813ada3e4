use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Handle {
    context: *mut u8,
}

fn main() {}
