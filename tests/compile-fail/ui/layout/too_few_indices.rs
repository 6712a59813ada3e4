use dtype_runtime::layout;

fn main() {
    let _ = layout!(f64[100][50][20] => [1, ..]);
}
