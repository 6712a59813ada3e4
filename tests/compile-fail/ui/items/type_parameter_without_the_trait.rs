use dtype_runtime::{MpiDatatype, pack};

#[derive(MpiDatatype)]
struct Pair<T> {
    first: T,
    second: T,
}

fn main() {
    pack(&[Pair { first: "a", second: "b" }]);
}
