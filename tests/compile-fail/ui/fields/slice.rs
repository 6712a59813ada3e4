use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Tail {
    length: usize,
    values: [f64],
}

fn main() {}
