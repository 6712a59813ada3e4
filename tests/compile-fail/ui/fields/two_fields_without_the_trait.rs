use dtype_runtime::MpiDatatype;

struct Inner;

#[derive(MpiDatatype)]
struct Outer {
    first: Inner,
    second: [Inner; 2],
}

fn main() {}
