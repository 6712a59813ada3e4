use dtype_runtime::layout;

fn main() {
    let _ = layout!(f64[2][2][2][2][2][2][2][2][2] => [0, 0, 0, 0, 0, 0, 0, 0, 0]);
}
