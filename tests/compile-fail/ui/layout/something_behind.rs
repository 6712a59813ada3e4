use dtype_runtime::layout;

fn main() {
    let _ = layout!(f64[10][10] => [.., 3] [3, ..]);
    let _ = layout!(f64[10][10] => [.., 3], [3, ..]);
}
