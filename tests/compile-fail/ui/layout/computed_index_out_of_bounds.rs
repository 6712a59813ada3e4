use dtype_runtime::layout;

fn main() {
    let _ = layout!(f64[8 * 2] => [3 * 5 + 1]);
}
