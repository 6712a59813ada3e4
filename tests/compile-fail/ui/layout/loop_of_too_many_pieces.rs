use dtype_runtime::layout;

fn main() {
    let _ = layout!(f64[100][100] => [i, j] for i in 0..100, j in 0..100);
}
