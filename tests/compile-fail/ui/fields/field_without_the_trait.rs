use dtype_runtime::MpiDatatype;

struct Inner {
    value: f64,
}

#[derive(MpiDatatype)]
struct Outer {
    inner: Inner,
}

fn main() {}
