use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Tail {
    length: usize,
    text: str,
}

fn main() {}
