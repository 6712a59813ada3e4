use dtype_runtime::layout;

const X: f64 = 3.0;

fn main() {
    let _ = layout!(f64[10] => [X]);
}
