use dtype_runtime::MpiDatatype;

trait Scalar {
    type Number;
}

#[derive(MpiDatatype)]
struct Numbers<S: Scalar> {
    numbers: [S::Number; 2],
}

fn main() {}
