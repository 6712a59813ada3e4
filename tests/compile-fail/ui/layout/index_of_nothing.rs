use dtype_runtime::layout;

fn main() {
    let _ = layout!(f64[10][0] => [.., 0]);
}
