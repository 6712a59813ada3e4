use dtype_runtime::layout;

fn main() {
    let _ = layout!(f64[8] => [i..5] for i in 0..8);
}
