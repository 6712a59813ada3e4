use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Borrowed<'a> {
    value: &'a f64,
}

fn main() {}
