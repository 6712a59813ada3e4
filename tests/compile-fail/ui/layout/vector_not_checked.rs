use dtype_runtime::layout;

fn main() {
    let values = vec![0.0f64; 100];
    let _ = layout!(f64[10][10] => [.., 1]).of(&values).pack();
}
