use dtype_runtime::layout;

fn main() {
    let _ = layout!(f64[100][100] => [7..3, ..]);
    let _ = layout!(f64[100] => [-1..1;-1]);
    let _ = layout!(f64[100] => [9..=7]);
}
