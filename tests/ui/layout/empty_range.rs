use dtype_runtime::layout;

fn main() {
    let _ = layout!(f64[100] => [5..5]);
    let _ = layout!(f64[100][100] => [7..3, ..]);
    let _ = layout!(f64[100] => [100..]);
}
