use dtype_runtime::layout;

fn main() {
    let n = 5;
    let _ = layout!(f64[10][n] => [10, ..]);
}
