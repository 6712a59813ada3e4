use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Borrowed<'a, 'b> {
    first: &'a f64,
    second: &'b [f64],
}

fn main() {}
