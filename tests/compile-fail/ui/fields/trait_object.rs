use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Tail {
    length: usize,
    tail: dyn Send,
}

fn main() {}
