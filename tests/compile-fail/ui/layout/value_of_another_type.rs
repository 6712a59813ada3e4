use dtype_runtime::layout;

fn main() {
    let x = 0.5;
    let _ = layout!(f64[10] => [x]);
}
