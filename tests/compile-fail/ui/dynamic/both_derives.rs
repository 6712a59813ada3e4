use dtype_runtime::{MpiDatatype, MpiMessage};

#[derive(MpiDatatype, MpiMessage)]
struct Bad {
    value: f64,
}

fn main() {}
